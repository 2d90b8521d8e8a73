//! For tests of code that uses the library: mocks. For tests of implementations: one suite per trait.
//!
//! A suite is an async function that panics with the broken rule; call it from a test of your own crate:
//!
//! ```
//! use sensetree_core::{Fingerprint, memory::MemoryStore, testing};
//!
//! # futures::executor::block_on(async {
//! testing::store_suite(|| async { MemoryStore::new(Fingerprint::new("by-hand", 4)) }).await;
//! # });
//! ```

mod mocks;
mod suites;

pub use mocks::{FailingEmbedder, MockEmbedder, MockReranker, PanickingReranker, RecordingEmbedder};
pub use suites::{embedder_suite, fusion_suite, memory_store, reranker_suite, sparse_suite, stage_suite, store_suite};
