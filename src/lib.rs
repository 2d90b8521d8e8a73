//! Search of a person's own files by meaning and by exact words, inside your program.
//!
//! ```text
//! index:   folder → walk → extract → chunk → contextualise → Embedder → Store
//!
//! query:   text ─┬─ Embedder → Store::nearest ──────┐
//!                │        (both legs at once)       ├─ Fusion → rerank → your stages → dedup → page
//!                └─ SparseRetriever::retrieve ──────┘
//! ```
//!
//! Every part is a trait and can be swapped: [`Embedder`], [`Store`], [`SparseRetriever`], [`Fusion`], [`Reranker`], [`Stage`],
//! [`Existence`]. Nothing leaves the machine unless a part that you plug in sends it.
//!
//! A [`Page`] says for every stage whether it ran, how long it took and how many candidates went in and out, and for every
//! result which leg found it at which rank. One leg that fails does not fail the search; it is reported.
//!
//! ```
//! use std::sync::Arc;
//! use sensetree::{Chunk, Document, Pipeline, Query, Store, memory::MemoryStore};
//! # use sensetree::{Embedder, testing::MockEmbedder};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> sensetree::Result<()> {
//! # let embedder = Arc::new(MockEmbedder::new(256));
//! let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
//! let text = "The boiler was serviced in May.";
//! let vector = embedder.embed_passages(&[text]).await?.remove(0);
//! store.commit(vec![Document::new("/notes/boiler.md").with_chunk(Chunk::new(text, vector))], &[]).await?;
//!
//! let pipeline = Pipeline::builder(embedder, store.clone()).sparse(store).without_existence_check().build()?;
//! let page = pipeline.search(Query::new("when was the boiler serviced?")).await?;
//! assert_eq!(page.results[0].path.to_str(), Some("/notes/boiler.md"));
//! # Ok(()) }
//! ```
//!
//! # Features
//!
//! `embed` (ONNX embedders), `rerank` (ONNX rerankers), `store` (LanceDB) and `index` (folders) are on by default; `eval`
//! (metrics), `hub` (fetching models) and `testing` (mocks and conformance suites) are off. Features only add.

mod existence;
mod page;
mod pipeline;
mod settings;
mod snippet;

pub use existence::{Existence, OnDisk};
pub use page::{Page, ScoreKind, SearchResult, StageReport, StageStatus};
pub use pipeline::{Pipeline, PipelineBuilder, RerankOrder};
pub use settings::{IndexingSettings, RetrievalSettings, Settings};
pub use snippet::Snippet;

#[cfg(feature = "testing")]
pub use sensetree_core::testing;
pub use sensetree_core::{
    Candidate, Chunk, ChunkId, Document, DocumentInfo, DocumentKey, Embedder, Embedding, Error, Evidence, FileStamp, Filter,
    Fingerprint, Fused, Fusion, Hit, Leg, Location, Passage, PathRules, Query, Ranked, RankedList, Reranker, Result, Scope,
    ScoreScale, SparseRetriever, Stage, Store, StoreStats, memory, text,
};
pub use sensetree_fusion as fusion;

#[cfg(feature = "embed")]
pub use sensetree_embed as embed;
#[cfg(feature = "eval")]
pub use sensetree_eval as eval;
#[cfg(feature = "index")]
pub use sensetree_index as index;
#[cfg(feature = "rerank")]
pub use sensetree_rerank as rerank;
#[cfg(feature = "store")]
pub use sensetree_store as store;
