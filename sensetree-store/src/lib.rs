//! The store of sensetree on disk: [`LanceStore`] keeps vectors and texts in one LanceDB table, and searches both.
//!
//! ```
//! use sensetree_core::{Chunk, Document, Embedding, Filter, Fingerprint, SparseRetriever, Store};
//! use sensetree_store::LanceStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let store = LanceStore::open(folder, &Fingerprint::new("by-hand", 2)).await?;
//! let note = Document::new("/notes/boiler.md")
//!     .with_chunk(Chunk::new("The boiler was serviced in May.", Embedding::new(vec![0.8, 0.6])?));
//! store.commit(vec![note], &[]).await?;
//!
//! let hits = store.retrieve("boiler services", &Filter::everything(), 10).await?;
//! assert_eq!(hits[0].id.key.as_str(), "/notes/boiler.md");
//! # Ok(())
//! # }
//! ```
//!
//! - `lance`: the store, one file for each concern: rows, filter, writing, searching, maintenance;
//! - `analyser`: the words of a text, as BM25 sees them.

mod analyser;
mod lance;

pub use lance::LanceStore;
