//! What a sync tells while it runs, and what it says when it is done.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Serialize, Serializer};

/// What a finished sync did. Every regular file that was found is counted once: as new, changed, unchanged or failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Documents that the store did not hold before.
    pub new: u64,
    /// Documents that replaced an older state of the same file.
    pub changed: u64,
    /// Files whose content is the one that the store holds. Nothing was embedded for them.
    pub unchanged: u64,
    /// Documents that left the store because their file is gone, or no longer meant to be indexed.
    pub removed: u64,
    /// What cannot be searched by its content, and why, in this run or an earlier one. A regular file in this list is still
    /// found by its name, folder and type, and counted above like any other; a link or a device is not indexed at all.
    pub skipped: Vec<FileNote>,
    /// Files and folders that could not be read or embedded. What the store held for them stays; the next sync tries again.
    pub failed: Vec<FileNote>,
    /// What a person should know about the roots or the store as a whole.
    pub warnings: Vec<String>,
    /// Chunks committed.
    pub chunks: u64,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// Where the time went.
    pub timings: Timings,
}

impl Report {
    /// Whether the store holds something else than before.
    pub fn has_changes(&self) -> bool {
        self.new + self.changed + self.removed > 0
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
    /// Waiting for the embedder.
    pub embed: Duration,
    /// Waiting for the store to write.
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
}

impl FileNote {
    pub(crate) fn new(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
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
        /// Files to read. Each gives one [`Event::Finished`].
        files: u64,
        /// Their bytes.
        bytes: u64,
        /// Files that are plainly unchanged.
        unchanged: u64,
        /// Documents to be removed.
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
