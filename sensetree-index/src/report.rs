//! What a sync tells while it runs, and what it says when it is done.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Serialize, Serializer};

/// Reasons that a printed report tells of each kind.
const REASONS: usize = 5;

/// What a finished sync did. Every regular file that was found is counted once: as new, changed, moved, unchanged, failed or
/// pending; so is every folder that is indexed as one. Printed, it is a summary of a few lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Documents that the store did not hold before.
    pub new: u64,
    /// Documents that replaced an older state of the same file.
    pub changed: u64,
    /// Documents whose file moved or was renamed. They keep their vectors, which were made with the name that the file had; the
    /// new one is found by its words.
    pub moved: u64,
    /// Files whose content is the one that the store holds. Nothing was embedded for them.
    pub unchanged: u64,
    /// Documents that left the store because their file is gone, or no longer meant to be indexed.
    pub removed: u64,
    /// What cannot be searched by its content, and why, in this run or an earlier one. A regular file in this list is still
    /// found by its name, folder and type, and counted above like any other; a link or a device is not indexed at all.
    pub skipped: Vec<FileNote>,
    /// Files and folders that could not be read or embedded, in this run or an earlier one. What the store held for them stays.
    ///
    /// What could not be read is tried again by the next sync. A file that took too long to read is tried in three syncs. A text that
    /// could not be embedded, or summarised, is tried in three syncs when the reason may pass, and once otherwise. Then the file is left
    /// alone until it changes.
    pub failed: Vec<FileNote>,
    /// Files that were left for the next sync, because the run was [stopped](Self::stopped). What the store held for them stays.
    pub pending: u64,
    /// Why the run ended early: a service is down, which may pass.
    pub stopped: Option<String>,
    /// What a person should know about the roots or the store as a whole.
    pub warnings: Vec<String>,
    /// Chunks committed, for new, changed and moved documents.
    pub chunks: u64,
    /// Those of them that were embedded in this run.
    pub chunks_embedded: u64,
    /// Those of them whose vector was in the store already.
    pub chunks_reused: u64,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// Where the time went.
    pub timings: Timings,
}

impl Report {
    /// Whether the store holds something else than before.
    pub fn has_changes(&self) -> bool {
        self.new + self.changed + self.moved + self.removed > 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { new, changed, moved, removed, unchanged, pending, chunks_embedded, chunks_reused, timings, .. } = self;
        write!(f, "{new} new, {changed} changed, {moved} moved, {removed} removed, {unchanged} unchanged")?;
        write!(f, "\n{chunks_embedded} chunks embedded, {chunks_reused} reused, {} bytes read", self.bytes)?;
        let Timings { walk, read, qualify, embed, commit, maintain } = timings;
        let seconds = |duration: &Duration| duration.as_secs_f64();
        write!(f, "\nwalk {:.1} s, read {:.1} s, embed {:.1} s, ", seconds(walk), seconds(read), seconds(embed))?;
        if !qualify.is_zero() {
            write!(f, "qualify {:.1} s, ", seconds(qualify))?;
        }
        write!(f, "store {:.1} s", seconds(&(*commit + *maintain)))?;
        if let Some(reason) = &self.stopped {
            write!(f, "\nstopped with {pending} files pending: {reason}")?;
        }
        self.warnings.iter().try_for_each(|warning| write!(f, "\nwarning: {warning}"))?;
        notes(f, "failed", &self.failed)?;
        notes(f, "not searched by content", &self.skipped)
    }
}

/// A count for each reason, the most frequent first.
fn notes(f: &mut fmt::Formatter<'_>, what: &str, notes: &[FileNote]) -> fmt::Result {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    notes.iter().for_each(|note| *reasons.entry(&note.reason).or_default() += 1);
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    for (reason, count) in reasons.iter().take(REASONS) {
        write!(f, "\n{what}: {count} × {reason}")?;
    }
    match reasons.len().saturating_sub(REASONS) {
        0 => Ok(()),
        more => write!(f, "\n{what}: {more} more reasons"),
    }
}

/// Time by stage. Stages overlap, so they add up to more than what passed on the wall.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Timings {
    /// Walking the roots and comparing them with the store.
    pub walk: Duration,
    /// Reading files, extracting and chunking their text: the sum over all reading threads.
    pub read: Duration,
    /// Waiting for the qualifier.
    pub qualify: Duration,
    /// Waiting for the embedder.
    pub embed: Duration,
    /// Waiting for the store: to write, and for the vectors that it has already.
    pub commit: Duration,
    /// Waiting for the store's maintenance.
    pub maintain: Duration,
}

/// A file or folder, and what happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileNote {
    /// Which file, with its own bytes. Serialised as text, where bytes that are no UTF-8 show as U+FFFD.
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// Why, for a person.
    pub reason: String,
    /// How often it was tried; 0 when that is not counted.
    pub tries: u32,
}

impl FileNote {
    pub(crate) fn new(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into(), tries: 0 }
    }

    pub(crate) fn tried(self, tries: u32) -> Self {
        Self { tries, ..self }
    }
}

/// One file name that is no UTF-8 must not make the whole report impossible to serialise.
fn path_as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// What happens during a sync, in order; enough for a progress bar with counts, bytes, rate and the current file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The walk goes on; so many regular files so far.
    Found {
        /// Files so far.
        files: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The walk is over. So much has to be read; the unchanged rest needs nothing.
    Started {
        /// Files to read and folders to look into. Each gives one [`Event::Finished`], unless the run is stopped.
        files: u64,
        /// Their bytes.
        bytes: u64,
        /// Files that are plainly unchanged.
        unchanged: u64,
        /// Documents whose file is gone. Some may turn out to have moved.
        removed: u64,
    },
    /// A file has been read and its chunks wait for the embedder.
    Read {
        /// Which file.
        path: PathBuf,
        /// How many chunks it has.
        chunks: usize,
    },
    /// The embedder returned vectors; a large file gives many of these.
    Embedded {
        /// Chunks since the last such event.
        chunks: usize,
    },
    /// Nothing more will happen to this file.
    Finished {
        /// Which file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// What became of it.
        outcome: Outcome,
    },
    /// A document has left the store: its file is gone, or no longer meant to be indexed.
    Removed {
        /// Which file it was.
        path: PathBuf,
    },
    /// A commit succeeded. Whatever happens from here on, the store holds these documents.
    Committed {
        /// Documents written.
        documents: u64,
        /// Their chunks.
        chunks: u64,
        /// Documents removed.
        removed: u64,
    },
    /// Everything is committed; the store tidies up.
    Maintaining,
}

/// What became of a file that had to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Stored for the first time.
    New,
    /// Stored in place of an older state.
    Changed,
    /// Stored with the vectors that it had under another name.
    Moved {
        /// Where it was.
        from: PathBuf,
    },
    /// Read, and found to be the same.
    Unchanged,
    /// It vanished after the walk.
    Removed,
    /// It could not be read or embedded; what the store held stays.
    Failed {
        /// The error with its causes.
        reason: String,
    },
}
