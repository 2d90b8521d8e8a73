//! What goes into one commit, and when.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use sensetree_core::DocumentKey;

use crate::draft::Draft;

/// A commit is due when so many chunks are ready,
pub(crate) const CHUNKS: usize = 256;
/// or so many documents,
const DOCUMENTS: usize = 64;
/// or when the first document has been there so long, so that a killed run loses little.
const TIME: Duration = Duration::from_secs(5);

/// Documents that leave in one commit: a store is asked for all of them in one sentence, which must stay of a readable length.
pub(crate) const REMOVALS: usize = 4096;

/// The documents of the next commit.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Some chunks have no vector yet.
    pub(crate) waiting: Vec<Draft>,
    /// Embedded, or failed.
    pub(crate) ready: Vec<Draft>,
    /// Vanished after the walk.
    pub(crate) gone: Vec<(DocumentKey, PathBuf)>,
    since: Option<Instant>,
}

impl Batch {
    /// Chunks without a vector.
    pub(crate) fn waiting_chunks(&self) -> usize {
        self.waiting.iter().map(|draft| draft.open().count()).sum()
    }

    /// To be called after something came in.
    pub(crate) fn note_time(&mut self) {
        if self.waiting.len() + self.ready.len() + self.gone.len() > 0 {
            self.since.get_or_insert_with(Instant::now);
        }
    }

    /// Whether what is ready is enough for a commit. What waits goes into the next one, with calls that are full.
    pub(crate) fn is_full(&self) -> bool {
        let chunks: usize = self.ready.iter().map(|draft| draft.chunks.len()).sum();
        self.ready.len() + self.gone.len() >= DOCUMENTS || chunks >= CHUNKS
    }

    /// Whether everything should be embedded and committed, however little it is.
    pub(crate) fn is_old(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= TIME)
    }

    /// Takes what a commit can write.
    pub(crate) fn take_ready(&mut self) -> (Vec<Draft>, Vec<(DocumentKey, PathBuf)>) {
        self.since = (!self.waiting.is_empty()).then(Instant::now);
        (std::mem::take(&mut self.ready), std::mem::take(&mut self.gone))
    }
}
