//! What several tests need.

use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::Arc,
};

use sensetree::{
    Chunk, Document, DocumentKey, Embedder, Filter, Hit, Location, Passage, PathRules, Result, SparseRetriever, Store,
    embed::OnnxEmbedder, memory::MemoryStore, testing::MockEmbedder,
};

pub(super) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts").block_on(test)
}

pub(super) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn fixture_model(name: &str) -> PathBuf {
    repository().join("tests/fixtures/models").join(name)
}

/// The folder of the real model. Tests that need it fail without it, and say what to do.
pub(super) fn minilm_folder() -> PathBuf {
    let named = std::env::var_os("SENSETREE_MODEL_DIR").map(PathBuf::from);
    let folder = named.or_else(|| Some(sensetree::embed::runtime::cache_folder()?.join("models/all-MiniLM-L6-v2")));
    folder.filter(|f| f.is_dir()).expect("all-MiniLM-L6-v2 is not there: run `make setup`, or set SENSETREE_MODEL_DIR")
}

pub(super) async fn minilm() -> Arc<OnnxEmbedder> {
    Arc::new(OnnxEmbedder::open(minilm_folder()).await.expect("the model loads"))
}

pub(super) fn key(path: &str) -> DocumentKey {
    DocumentKey::new(path, PathRules::Posix)
}

/// A store filled with (path, chunks) by the mock embedder; neighbours share words.
pub(super) async fn filled(documents: &[(&str, &[&str])]) -> (Arc<MockEmbedder>, Arc<MemoryStore>) {
    let embedder = Arc::new(MockEmbedder::new(512));
    let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
    store.commit(embedded(&embedder, documents).await, &[]).await.expect("whole documents are stored");
    (embedder, store)
}

pub(super) async fn embedded(embedder: &dyn Embedder, documents: &[(&str, &[&str])]) -> Vec<Document> {
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
pub(super) struct Canned(pub(super) Vec<Hit>);

#[async_trait::async_trait]
impl SparseRetriever for Canned {
    async fn retrieve(&self, _query: &str, _filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        Ok(self.0.iter().take(limit).cloned().collect())
    }
}

pub(super) fn hit(path: &str, index: u32, score: f32) -> Hit {
    let passage = Passage::new(format!("chunk {index} of {path}"), path);
    Hit { id: sensetree::ChunkId::new(key(path), index), score, passage: Arc::new(passage) }
}
