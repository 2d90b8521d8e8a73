use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Chunk, Document, DocumentInfo, DocumentKey, Embedding, Filter, Fingerprint, Hit, Result};

/// What a store holds at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StoreStats {
    /// Documents.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Chunks that the text index does not cover yet. They are found all the same, more slowly.
    pub unindexed: u64,
    /// Versions kept by the storage engine, 0 when it has none.
    pub versions: u64,
    /// Bytes on disk, 0 when it is in memory.
    pub bytes: u64,
}

/// Keeps documents with their vectors and finds the nearest.
///
/// Writes are atomic: a reader sees a document's old chunks or its new ones, and a killed process leaves whole commits.
/// What was committed is visible to every search that starts afterwards.
#[async_trait]
pub trait Store: Debug + Send + Sync + 'static {
    /// What the vectors in this store were made by. Constant for the life of the store.
    fn fingerprint(&self) -> &Fingerprint;

    /// The `limit` chunks nearest to `vector` by cosine among those that `filter` lets through, best first, ties by
    /// [`ChunkId`](crate::ChunkId). Scores are `1 − cosine distance`, clamped to [0, 1], raw. Fewer only when there are no more.
    ///
    /// A store may search large numbers of chunks approximately, and says from which size on; then one of the nearest may be missing,
    /// but scores are true ones.
    ///
    /// # Errors
    /// [`Error::InvalidEmbedding`](crate::Error::InvalidEmbedding) when the dimension differs from the store's.
    async fn nearest(&self, vector: &Embedding, filter: &Filter, limit: usize) -> Result<Vec<Hit>>;

    /// In one commit, makes the store hold exactly these chunks for these documents, and nothing for the `removed` ones.
    ///
    /// Chunks that a document had and no longer has are gone. A document that stands both in `documents` and in `removed`
    /// is kept, so a rename is one commit. Doing it twice changes nothing. Nothing for nothing.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](crate::Error::InvalidInput) for a document without chunks or named twice,
    /// [`Error::InvalidEmbedding`](crate::Error::InvalidEmbedding) for a vector of another dimension. Nothing is written then.
    async fn commit(&self, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()>;

    /// Removes the documents that `filter` lets through, in one commit; says how many there were.
    async fn remove(&self, filter: &Filter) -> Result<u64>;

    /// The documents that `filter` lets through, by key.
    async fn documents(&self, filter: &Filter) -> Result<Vec<DocumentInfo>>;

    /// The chunks of one document in order, with their vectors; none when it is not there.
    async fn chunks(&self, key: &DocumentKey) -> Result<Vec<Chunk>>;

    /// Counts.
    async fn stats(&self) -> Result<StoreStats>;

    /// Folds new rows into the indexes, compacts, forgets old versions: whatever keeps searches fast. Changes no result.
    ///
    /// Cheap when there is nothing to do. Never called by a search.
    async fn maintain(&self) -> Result<()>;
}

/// Finds chunks by their words.
#[async_trait]
pub trait SparseRetriever: Debug + Send + Sync + 'static {
    /// The `limit` best chunks by BM25 over the stored text among those that `filter` lets through, best first, ties by
    /// [`ChunkId`](crate::ChunkId). Scores are positive and unbounded. Fewer only when there are no more.
    ///
    /// The query is plain words: no character of it is an operator, and none of it can cause an error. A query without a
    /// searchable word finds nothing.
    ///
    /// # Errors
    /// Only when the index cannot be read or built.
    async fn retrieve(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>>;
}

#[async_trait]
impl<T: Store + ?Sized> Store for Arc<T> {
    fn fingerprint(&self) -> &Fingerprint {
        (**self).fingerprint()
    }

    async fn nearest(&self, vector: &Embedding, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        (**self).nearest(vector, filter, limit).await
    }

    async fn commit(&self, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()> {
        (**self).commit(documents, removed).await
    }

    async fn remove(&self, filter: &Filter) -> Result<u64> {
        (**self).remove(filter).await
    }

    async fn documents(&self, filter: &Filter) -> Result<Vec<DocumentInfo>> {
        (**self).documents(filter).await
    }

    async fn chunks(&self, key: &DocumentKey) -> Result<Vec<Chunk>> {
        (**self).chunks(key).await
    }

    async fn stats(&self) -> Result<StoreStats> {
        (**self).stats().await
    }

    async fn maintain(&self) -> Result<()> {
        (**self).maintain().await
    }
}

#[async_trait]
impl<T: SparseRetriever + ?Sized> SparseRetriever for Arc<T> {
    async fn retrieve(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        (**self).retrieve(query, filter, limit).await
    }
}
