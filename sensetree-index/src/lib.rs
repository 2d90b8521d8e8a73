//! The indexing side of sensetree: keeps a store in step with files on disk.
//!
//! ```text
//! roots ─ walk ─ plan ─┬─ read → extract → chunk ─┐   (threads)
//!                      └─ read → extract → chunk ─┴─ qualify → embed → commit → maintain
//! ```
//!
//! - [`Indexer`], its [builder](IndexerBuilder), [`Indexer::sync`] and [`Indexer::sync_paths`], the ways in;
//! - [`Report`] and [`Event`]: what a sync did, and what it is doing; [`Status`]: what is known about one file;
//! - [`Qualifier`]: summaries of documents, none by default; `ChatQualifier` asks a chat model (feature `http`);
//! - `Indexer::watch`: syncs that follow the file system (feature `watch`);
//! - [`rebuild`]: another model over the stored texts;
//! - [`embedded_text`]: what a chunk's vector is made from.
//!
//! Nothing here needs a certain executor, except `ChatQualifier`, which needs Tokio: files are read on threads of the indexer's own.
//!
//! # What is indexed
//!
//! Regular files under the roots, except hidden ones and what `.gitignore` and `.ignore` files in the roots say:
//!
//! | files | what is searched | read by |
//! |---|---|---|
//! | any text: `.txt`, `.json`, `.log`, … | all of it, in any encoding | `encoding_rs`, `chardetng` |
//! | `.md`, `.markdown`, `.mdown`, `.mdx`, `.qmd`, `.rmd` | all of it; headings are structure | `text-splitter` |
//! | `.csv`, `.tsv` | all of it; the header row stands over the others | |
//! | `.bash`, `.c`, `.cc`, `.cjs`, `.cpp`, `.cs`, `.cts`, `.cxx`, `.go`, `.h`, `.hh`, `.hpp`, `.hxx`, `.java`, `.js`, `.jsx`, `.mjs`, `.mts`, `.php`, `.py`, `.pyi`, `.rb`, `.rs`, `.sh`, `.ts`, `.tsx` | all of it, cut where the syntax allows (feature `code`) | `tree-sitter` |
//! | `.html`, `.htm`, `.xhtml` | title, text, tables, descriptions of pictures; no scripts, menus, addresses | `htmd` |
//! | `.pdf` | text, title, author; no scans, no forms | `pdf-extract` |
//! | `.docx`, `.docm`, `.dotx` | text, tables, headings, notes, comments, headers, footers, title, author; not what was deleted | `zip`, `quick-xml` |
//! | `.pptx`, `.pptm`, `.ppsx` | slides, tables, speaker notes, title, author; no charts | `zip`, `quick-xml` |
//! | `.xlsx`, `.xlsm` | names of sheets, values of cells, title, author | `calamine` |
//! | `.xls` | names of sheets, values of cells | `calamine`, `cfb` |
//! | `.odt`, `.ods`, `.odp` | as of the Office formats; values as they are shown | `zip`, `quick-xml` |
//! | `.epub` | chapters in reading order, title, author | `zip`, `quick-xml`, `htmd` |
//! | `.rtf` | text; no footnotes | `rtf-parser` |
//! | `.eml` | subject, sender, receivers, date, text, names of attachments | `mail-parser` |
//! | `.ipynb` | Markdown, code, the start of printed output | `serde_json` |
//!
//! PDF, packed documents and RTF are known by their first bytes, whatever their names. Whatever has no readable text (pictures,
//! archives, encrypted, damaged, empty or very large files) is found by name, folder and type, and the [`Report`] says why. So is a
//! file that costs too much, by [`ExtractLimits`]; a reader that panics or hangs costs its file only.
//!
//! Folders such as `node_modules` are indexed as one: a single document says what they are and what is directly in them. See
//! [`IndexerBuilder::block_folders`] and [`IndexerBuilder::classify_folders`].
//!
//! # What stays
//!
//! Unchanged files cost a look at their size and times. Of changed files only the chunks are embedded whose text or context is new.
//! Files that moved keep their vectors, although these were made with the old name before each chunk: the name is a small part of what
//! a vector says, and words find the new one at once. What a service cannot do at the moment stays pending.
//!
//! # What a chunk looks like
//!
//! The stored text of a document's first chunk starts with its qualification, so that words find it:
//! `boiler-warranty.md · Boiler warranty · home/insurance`. All other chunks are stored clean, and embedded with the
//! qualification and the headings above them as [`Chunk::context`](sensetree_core::Chunk::context). Locations leave out
//! what was put before the text:
//!
//! - Text, Markdown, CSV and source code are kept as they are. Lines are those of the file; so are bytes when it is UTF-8, while
//!   of other encodings they are those of the text as UTF-8, without a byte order mark.
//! - Of other formats, bytes and lines are those of the extracted text. They order the chunks and tell their distance; they say
//!   nothing about pages or the bytes of the file.
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
mod block;
mod chunk;
mod context;
mod draft;
mod embed;
mod extract;
mod headings;
mod indexer;
mod measure;
mod orphans;
mod plan;
mod qualify;
mod read;
mod rebuild;
mod report;
mod run;
mod stamp;
mod status;
mod stored;
mod sync;
mod touched;
mod walk;
#[cfg(feature = "watch")]
mod watch;

pub use block::{DEFAULT_BLOCK_FOLDERS, Folder};
pub use context::embedded_text;
pub use extract::ExtractLimits;
pub use indexer::{
    DEFAULT_CHUNK_SIZE, DEFAULT_CHUNK_TOKENS, DEFAULT_MAX_FILE_SIZE, DEFAULT_OVERLAP, DEFAULT_OVERLAP_TOKENS, Indexer,
    IndexerBuilder,
};
#[cfg(feature = "http")]
pub use qualify::ChatQualifier;
pub use qualify::{Qualifier, SUBJECT_CHARS, Subject};
pub use rebuild::{Rebuilt, rebuild};
pub use report::{Event, FileNote, Outcome, Report, Timings};
pub use status::Status;
#[cfg(feature = "watch")]
pub use watch::Watching;

#[cfg(test)]
mod tests;
