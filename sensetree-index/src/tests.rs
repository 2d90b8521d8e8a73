//! Whole syncs of real folders into the in-memory store.

mod blocks;
mod cancelling;
mod changes;
#[cfg(feature = "http")]
mod chat;
mod content;
mod failures;
mod formats;
mod moves;
mod names;
mod parts;
mod qualifying;
mod rebuilding;
mod roots;
mod services;
mod statuses;
mod tokens;
#[cfg(feature = "watch")]
mod watching;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::executor::block_on;
use sensetree_core::{
    Chunk, Document, DocumentInfo, DocumentKey, Embedder, Filter, SparseRetriever, Store,
    memory::MemoryStore,
    testing::{MockEmbedder, RecordingEmbedder},
};
use tempfile::TempDir;

use crate::{Event, Indexer, IndexerBuilder, Report};

/// A temporary folder, a store, and an embedder that remembers what it was asked.
struct Desk {
    folder: TempDir,
    store: Arc<MemoryStore>,
    embedder: Arc<RecordingEmbedder<MockEmbedder>>,
}

impl Desk {
    fn new() -> Self {
        let embedder = Arc::new(RecordingEmbedder::new(MockEmbedder::new(64)));
        let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
        Self { folder: tempfile::tempdir().expect("a temporary folder"), store, embedder }
    }

    /// With these files, each a path and its content.
    fn with(files: &[(&str, &str)]) -> Self {
        let desk = Self::new();
        files.iter().for_each(|(path, content)| desk.write(path, content));
        desk
    }

    fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(relative)
    }

    fn write(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("it is below the folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }

    fn remove(&self, relative: &str) {
        fs::remove_file(self.path(relative)).expect("it was there");
    }

    fn builder(&self) -> IndexerBuilder {
        Indexer::builder(self.embedder.clone(), self.store.clone())
    }

    fn sync(&self) -> Report {
        self.sync_with(self.builder())
    }

    fn sync_with(&self, builder: IndexerBuilder) -> Report {
        self.sync_roots(builder, &[self.folder.path().to_owned()])
    }

    fn sync_roots(&self, builder: IndexerBuilder, roots: &[PathBuf]) -> Report {
        block_on(builder.build().expect("good settings").sync(roots, |_| {})).expect("a sync")
    }

    /// Like [`sync`](Self::sync), with something done when an event arrives.
    fn sync_watched(&self, progress: impl FnMut(Event) + Send) -> Report {
        let indexer = self.builder().build().expect("good settings");
        block_on(indexer.sync(&[self.folder.path()], progress)).expect("a sync")
    }

    /// The files whose text has all these words, by name within the folder.
    fn found(&self, words: &str) -> Vec<String> {
        let mut found: Vec<String> = block_on(self.store.retrieve(words, &Filter::everything(), 1000))
            .expect("a search")
            .iter()
            .map(|hit| self.name(&hit.passage.path))
            .collect();
        found.sort();
        found.dedup();
        found
    }

    fn documents(&self) -> Vec<DocumentInfo> {
        block_on(self.store.documents(&Filter::everything())).expect("a list")
    }

    /// What is stored, by name within the folder.
    fn stored(&self) -> Vec<String> {
        self.documents().iter().map(|document| self.name(&document.path)).collect()
    }

    fn chunks(&self, relative: &str) -> Vec<Chunk> {
        block_on(self.store.chunks(&DocumentKey::from_path(self.path(relative)))).expect("a list")
    }

    /// Texts embedded since the last call to this.
    fn embedded_after(&self, before: usize) -> Vec<String> {
        self.embedder.passages()[before..].to_vec()
    }

    /// Makes the store believe that the file was read long after its last change.
    fn settle(&self, relative: &str) {
        let path = self.path(relative);
        let info = self.documents().into_iter().find(|info| *info.path == path).expect("it is stored");
        let mut stamp = info.stamp.clone();
        stamp.read += 3600 * 1_000_000_000;
        let document = Document { chunks: self.chunks(relative), note: info.note, ..Document::new(path) }.with_stamp(stamp);
        block_on(self.store.commit(vec![document], &[])).expect("a commit");
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(self.folder.path()).unwrap_or(path).display().to_string()
    }
}

fn counts(report: &Report) -> (u64, u64, u64, u64) {
    (report.new, report.changed, report.unchanged, report.removed)
}

/// The reason given for a file, which must stand in the list exactly once.
fn reason(list: &[crate::FileNote], name: &str) -> String {
    let notes: Vec<_> = list.iter().filter(|note| note.path.ends_with(name)).collect();
    assert_eq!(notes.len(), 1, "{name} in {list:?}");
    notes[0].reason.clone()
}
