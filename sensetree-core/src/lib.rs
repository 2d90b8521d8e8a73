//! The contracts of sensetree, and nothing that needs a model, a database or an executor.
//!
//! A search takes a [`Query`], asks two retrievers at the same time, and merges their lists:
//!
//! ```text
//! query ─┬─ Embedder → Store::nearest ──┐
//!        └─ SparseRetriever::retrieve ──┴─ Fusion → Stage, Stage, … → results
//! ```
//!
//! - the traits: [`Embedder`], [`Store`], [`SparseRetriever`], [`Reranker`], [`Fusion`], [`Stage`];
//! - what they exchange: [`Document`], [`Chunk`], [`Embedding`], [`Hit`], [`Candidate`];
//! - identity and scope: [`DocumentKey`], [`ChunkId`], [`Scope`], [`Filter`];
//! - [`memory`]: an exact store with BM25, the reference that other stores are tested against;
//! - `testing` (feature): mocks, and one conformance suite for each trait.
//!
//! Identity is always ([`DocumentKey`], chunk index). Order is always total: ties fall to the key, then the index.
//!
//! ```
//! use sensetree_core::{memory::MemoryStore, Chunk, Document, Embedding, Filter, Fingerprint, SparseRetriever, Store};
//!
//! # futures::executor::block_on(async {
//! let store = MemoryStore::new(Fingerprint::new("by-hand", 2));
//! let note = Document::new("/notes/boiler.md")
//!     .with_chunk(Chunk::new("The boiler was serviced in May.", Embedding::new(vec![0.8, 0.6])?));
//! store.commit(vec![note], &[]).await?;
//!
//! let hits = store.retrieve("boiler serviced", &Filter::everything(), 10).await?;
//! assert_eq!(hits[0].id.key.as_str(), "/notes/boiler.md");
//! # Ok::<(), sensetree_core::Error>(()) }).unwrap();
//! ```

mod candidate;
mod document;
mod embedder;
mod embedding;
mod error;
mod filter;
mod fusion;
mod key;
pub mod memory;
pub mod order;
mod query;
mod reranker;
mod stage;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;

pub use candidate::{Candidate, Evidence, Hit, Leg, Passage, Ranked, RankedList};
pub use document::{Chunk, Document, DocumentInfo, FileStamp, Location};
pub use embedder::{ChunkUnit, Embedder, TokenCounter};
pub use embedding::{Embedding, Fingerprint};
pub use error::{BoxError, Error, Result};
pub use filter::{Filter, Scope};
pub use fusion::{Fused, Fusion};
pub use key::{ChunkId, DocumentKey, PathRules};
pub use query::{MAX_LIMIT, Query};
pub use reranker::{Reranker, ScoreScale, sigmoid};
pub use stage::Stage;
pub use store::{SparseRetriever, Store, StoreStats};
