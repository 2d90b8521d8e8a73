//! The flow of a query, with mocks where a fault cannot be had otherwise.

mod legs;
mod order;
mod page;
mod time;

use std::{future::Future, path::PathBuf, sync::Arc};

use async_trait::async_trait;

use super::*;
use crate::{
    Chunk, ChunkId, Document, Error, Filter, Hit, Passage, PathRules, RerankOrder, Reranker, ScoreScale, Settings, StageStatus,
    fusion::Rrf,
    memory::MemoryStore,
    testing::{FailingEmbedder, MockEmbedder, MockReranker, PanickingReranker, RecordingEmbedder},
};

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts").block_on(test)
}

fn key(path: &str) -> DocumentKey {
    DocumentKey::new(path, PathRules::Posix)
}

/// A store filled with (path, chunks) by the mock embedder; neighbours share words.
async fn filled(documents: &[(&str, &[&str])]) -> (Arc<MockEmbedder>, Arc<MemoryStore>) {
    let embedder = Arc::new(MockEmbedder::new(512));
    let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
    store.commit(embedded(&embedder, documents).await, &[]).await.expect("whole documents are stored");
    (embedder, store)
}

async fn embedded(embedder: &dyn Embedder, documents: &[(&str, &[&str])]) -> Vec<Document> {
    let mut whole = Vec::new();
    for (path, texts) in documents {
        let vectors = embedder.embed_passages(texts).await.expect("the texts are embedded");
        let chunks = texts.iter().zip(vectors).map(|(text, vector)| Chunk::new(*text, vector)).collect();
        whole.push(Document { key: key(path), chunks, ..Document::new(*path) });
    }
    whole
}

/// A retriever that returns the same hits whatever it is asked.
#[derive(Debug, Clone)]
struct Canned(Vec<Hit>);

#[async_trait]
impl SparseRetriever for Canned {
    async fn retrieve(&self, _query: &str, _filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        Ok(self.0.iter().take(limit).cloned().collect())
    }
}

fn hit(path: &str, index: u32, score: f32) -> Hit {
    let passage = Passage::new(format!("chunk {index} of {path}"), path);
    Hit { id: ChunkId::new(key(path), index), score, passage: Arc::new(passage) }
}

const NOTES: &[(&str, &[&str])] = &[
    ("/notes/boiler.md", &["the boiler was serviced in May by the plumber"]),
    ("/notes/freezer.md", &["the freezer has a warranty until March"]),
    ("/notes-old/boiler.md", &["an older boiler note about the chimney"]),
];

fn paths(page: &Page) -> Vec<&str> {
    page.results.iter().map(|result| result.path.to_str().expect("test paths are text")).collect()
}

fn status(page: &Page, stage: &str) -> StageStatus {
    page.stage(stage).unwrap_or_else(|| panic!("the page has a report of {stage}")).status
}

fn reason<'a>(page: &'a Page, stage: &str) -> &'a str {
    page.stage(stage).and_then(|s| s.reason.as_deref()).unwrap_or_else(|| panic!("the report of {stage} has a reason"))
}

/// A retriever whose index is gone.
#[derive(Debug)]
struct FailingRetriever;

#[async_trait]
impl SparseRetriever for FailingRetriever {
    async fn retrieve(&self, _: &str, _: &Filter, _: usize) -> Result<Vec<Hit>> {
        Err(Error::other("read the text index", "the disk is gone"))
    }
}
