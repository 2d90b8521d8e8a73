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
//! On by default: `embed` (ONNX embedders), `rerank` (ONNX rerankers), `store` (LanceDB), `index` (folders) and `code` (source
//! code cut at syntax boundaries). Off: `watch` (following the file system), `http` (models behind an API), `hub` (fetching
//! models), `tantivy` (a text index of its own), `eval` (metrics) and `testing` (mocks and conformance suites). Features only
//! add.

mod chat;
#[cfg(all(feature = "embed", feature = "rerank", feature = "store"))]
mod engine;
mod existence;
mod page;
mod pipeline;
mod settings;
mod snippet;
mod tree;

pub use chat::{Budget, Citation, Citations, Grounding, SearchFilesTool, Source, Sources, ToolReply};
#[cfg(all(feature = "embed", feature = "rerank", feature = "store"))]
pub use engine::Engine;
pub use existence::{Existence, OnDisk};
pub use page::{Page, ScoreKind, SearchResult, StageReport, StageStatus};
pub use pipeline::{Pipeline, PipelineBuilder, RerankOrder};
pub use settings::{EmbeddingSettings, IndexingSettings, RetrievalSettings, Settings, SummarySettings};
pub use snippet::Snippet;
pub use tree::{Colours, MeaningTree, TextOptions, TreeFile, TreeNode, TreeOptions};

#[cfg(feature = "testing")]
pub use sensetree_core::testing;
pub use sensetree_core::{
    Candidate, Chunk, ChunkId, ChunkUnit, Document, DocumentInfo, DocumentKey, Embedder, Embedding, Error, Evidence, FileStamp,
    Filter, Fingerprint, Fused, Fusion, Hit, Leg, Location, Passage, PathRules, Query, Ranked, RankedList, Reranker, Result,
    Scope, ScoreScale, SparseRetriever, Stage, Store, StoreStats, TokenCounter, memory, text,
};
pub use sensetree_fusion as fusion;

#[cfg(any(feature = "embed", feature = "http"))]
pub use sensetree_embed as embed;
#[cfg(feature = "eval")]
pub use sensetree_eval as eval;
#[cfg(feature = "http")]
pub use sensetree_http as http;
#[cfg(feature = "index")]
pub use sensetree_index as index;
#[cfg(any(feature = "rerank", feature = "http"))]
pub use sensetree_rerank as rerank;
#[cfg(any(feature = "store", feature = "tantivy"))]
pub use sensetree_store as store;
