//! The LanceDB store of sensetree: vectors and BM25 over one table in a folder.
//!
//! - [`LanceStore`]: [`Store`](sensetree_core::Store) and [`SparseRetriever`](sensetree_core::SparseRetriever);
//! - [`search_form`]: what BM25 sees of a text.
//!
//! ```
//! use sensetree_core::{Chunk, Document, Embedding, Filter, Fingerprint, SparseRetriever, Store};
//! use sensetree_store::LanceStore;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let store = LanceStore::open(folder.path(), &Fingerprint::new("by-hand", 2)).await?;
//! let chunk = Chunk::new("The boiler was serviced in May.", Embedding::new(vec![0.8, 0.6])?);
//! store.commit(vec![Document::new("/notes/boiler.md").with_chunk(chunk)], &[]).await?;
//!
//! let hits = store.retrieve("boiler", &Filter::everything(), 10).await?;
//! assert_eq!(hits[0].id.key.as_str(), "/notes/boiler.md");
//! # Ok(()) }
//! ```

mod analysis;
mod lance;

pub use analysis::search_form;
pub use lance::LanceStore;
