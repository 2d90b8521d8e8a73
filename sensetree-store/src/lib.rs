//! The stores of sensetree on disk: `LanceStore` keeps vectors and texts in one LanceDB table, and searches both;
//! `TantivyRetriever` is a text index alone.
//!
//! ```
//! # #[cfg(not(feature = "lance"))]
//! # fn main() {}
//! # #[cfg(feature = "lance")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use sensetree_core::{Chunk, Document, Embedding, Filter, Fingerprint, SparseRetriever, Store};
//! use sensetree_store::LanceStore;
//!
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
//! - `lance` (feature, on by default): the store, one file for each concern: rows, filter, writing, searching, maintenance;
//! - `tantivy` (feature): the text index, in the same way;
//! - `analyser`: the words of a text, as BM25 sees them;
//! - `turn`, `files`: writing in turns, and what a folder on disk takes.

#[cfg(any(feature = "lance", feature = "tantivy"))]
mod analyser;
#[cfg(any(feature = "lance", feature = "tantivy"))]
mod files;
#[cfg(feature = "lance")]
mod lance;
#[cfg(feature = "tantivy")]
mod tantivy;
#[cfg(any(feature = "lance", feature = "tantivy"))]
mod turn;

#[cfg(feature = "lance")]
pub use lance::LanceStore;

#[cfg(feature = "tantivy")]
pub use self::tantivy::{Filled, TantivyRetriever};
