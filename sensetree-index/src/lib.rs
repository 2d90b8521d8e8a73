//! The indexing side of sensetree: keeps a store in step with files on disk.
//!
//! ```text
//! roots ─ walk ─ plan ─┬─ read → extract → chunk ─┐   (threads)
//!                      └─ read → extract → chunk ─┴─ embed → commit → maintain
//! ```
//!
//! - [`Indexer`], its [builder](IndexerBuilder) and [`Indexer::sync`], the one way in;
//! - [`Report`] and [`Event`]: what a sync did, and what it is doing;
//! - [`embedded_text`]: what a chunk's vector is made from.
//!
//! Nothing here needs a certain executor: files are read on threads of the indexer's own.
//!
//! # What is indexed
//!
//! Regular files under the roots, except hidden ones and what `.gitignore` and `.ignore` files in the roots say. Text of any
//! encoding, Markdown and HTML are searched by content. Whatever has no readable text (pictures, archives, empty or very large
//! files) is found by name, folder and type, and the [`Report`] says why.
//!
//! # What a chunk looks like
//!
//! The stored text of a document's first chunk starts with its qualification, so that words find it:
//! `boiler-warranty.md · Boiler warranty · home/insurance`. All other chunks are stored clean, and embedded with the
//! qualification and the headings above them as [`Chunk::context`](sensetree_core::Chunk::context). Locations are those of the
//! document's own text in both cases.
//!
//! ```
//! use std::{fs, sync::Arc};
//! use sensetree_core::{Embedder, Filter, SparseRetriever, memory::MemoryStore, testing::MockEmbedder};
//! use sensetree_index::Indexer;
//!
//! # futures::executor::block_on(async {
//! let folder = tempfile::tempdir()?;
//! fs::write(folder.path().join("boiler.md"), "# Boiler\n\nServiced in May.")?;
//! fs::write(folder.path().join("photo.png"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")?;
//!
//! let embedder = MockEmbedder::new(64);
//! let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
//! let indexer = Indexer::builder(Arc::new(embedder), store.clone()).chunk_size(800).build()?;
//!
//! let report = indexer.sync(&[folder.path()], |event| eprintln!("{event:?}")).await?;
//! assert_eq!(report.new, 2);
//! assert_eq!(report.skipped[0].reason, "it is a binary file");
//!
//! let hits = store.retrieve("png image", &Filter::everything(), 10).await?;
//! assert!(hits[0].passage.path.ends_with("photo.png"));
//!
//! let again = indexer.sync(&[folder.path()], |_| {}).await?;
//! assert_eq!((again.unchanged, again.new, again.changed), (2, 0, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```

mod batch;
mod chunk;
mod context;
mod draft;
mod embed;
mod extract;
mod headings;
mod indexer;
mod plan;
mod read;
mod report;
mod stamp;
mod sync;
mod walk;

pub use context::embedded_text;
pub use indexer::{Indexer, IndexerBuilder};
pub use report::{Event, FileNote, Outcome, Report, Timings};

#[cfg(test)]
mod tests;
