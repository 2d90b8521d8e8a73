//! Copying from a store.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use sensetree_core::{Document, DocumentInfo, DocumentKey, FileStamp, Filter, Result, Store};

use super::{TantivyRetriever, rows};

/// Chunks that are copied in one commit, or a document more.
const CHUNKS_PER_COMMIT: usize = 4096;
/// Documents whose chunks are read at once.
const READ_AT_ONCE: usize = 4;

/// What [`TantivyRetriever::fill`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filled {
    /// Documents copied: new ones, and those that had changed.
    pub copied: u64,
    /// Documents removed, because the store no longer has them.
    pub removed: u64,
    /// Documents that were the same.
    pub kept: u64,
}

impl TantivyRetriever {
    pub(super) async fn fill_from(&self, store: &dyn Store) -> Result<Filled> {
        let mut ours: BTreeMap<DocumentKey, String> = self.read(|snapshot, fields| snapshot.states(fields)).await?;
        let mut filled = Filled::default();
        let mut changed: Vec<DocumentInfo> = Vec::new();
        for document in store.documents(&Filter::everything()).await? {
            // Without a stamp nothing tells a new text from an old one.
            let known = ours.remove(&document.key).filter(|_| document.stamp != FileStamp::default());
            if known == Some(rows::state(&document)?) { filled.kept += 1 } else { changed.push(document) }
        }
        let mut gone: Vec<DocumentKey> = ours.into_keys().collect();
        filled.removed = gone.len() as u64;
        self.write_documents(Vec::new(), &gone).await?;
        gone.clear();

        let read = |document: DocumentInfo| async move {
            Ok::<_, sensetree_core::Error>((store.chunks(&document.key).await?, document))
        };
        let mut documents = stream::iter(changed).map(read).buffered(READ_AT_ONCE);
        let (mut batch, mut chunks_in_batch) = (Vec::new(), 0);
        while let Some((chunks, document)) = documents.try_next().await? {
            let DocumentInfo { key, path, stamp, note } = document;
            if chunks.is_empty() {
                // It left the store meanwhile.
                gone.push(key);
                continue;
            }
            chunks_in_batch += chunks.len();
            batch.push(Document { key, path: path.to_path_buf(), stamp, note, chunks });
            filled.copied += 1;
            if chunks_in_batch >= CHUNKS_PER_COMMIT {
                self.write_documents(std::mem::take(&mut batch), &[]).await?;
                chunks_in_batch = 0;
            }
        }
        self.write_documents(batch, &gone).await?;
        Ok(filled)
    }
}
