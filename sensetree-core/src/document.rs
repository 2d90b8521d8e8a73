//! What a store holds.

use std::{
    ops::Range,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use crate::{DocumentKey, Embedding, Error, Fingerprint, Result};

/// Where a chunk stands in the text of its document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// Bytes of the extracted text, as UTF-8; for a plain text file in UTF-8 these are bytes of the file.
    pub bytes: Range<u64>,
    /// First and last line, counted from 1, both included. (0, 0) when there are no lines.
    pub lines: (u32, u32),
}

/// One searchable piece of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// What BM25 searches, snippets show and rerankers read.
    pub text: String,
    /// What was put before [`text`](Self::text) for the embedder only: file name, headings. May be empty.
    pub context: String,
    /// Where the text stands in the document.
    pub location: Location,
    /// The vector of context and text together.
    pub embedding: Embedding,
}

impl Chunk {
    /// A chunk without context or location.
    pub fn new(text: impl Into<String>, embedding: Embedding) -> Self {
        Self { text: text.into(), context: String::new(), location: Location::default(), embedding }
    }

    /// Sets what the embedder saw before the text.
    #[must_use]
    pub fn with_context(mut self, context: impl Into<String>) -> Self {
        self.context = context.into();
        self
    }

    /// Sets where the text stands.
    #[must_use]
    pub fn with_location(mut self, location: Location) -> Self {
        self.location = location;
        self
    }
}

/// What tells whether a file changed since it was indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileStamp {
    /// Bytes.
    pub size: u64,
    /// When the content was last written, in nanoseconds since 1970, 0 when unknown: what a file manager shows, and what
    /// [`Filter::modified`](crate::Filter::modified) looks at.
    pub modified: i64,
    /// The later of that and of the last change of the file's metadata, which no program can set back; 0 when unknown.
    pub changed: i64,
    /// When the file was read, on the same clock; a file that changed just before that may have changed again unseen.
    pub read: i64,
    /// Hash of the content, in hexadecimal; empty when the document is not a file.
    pub hash: String,
}

impl FileStamp {
    /// A time as stamps count it: nanoseconds since 1970, negative before; clamped to the years 1678 to 2262.
    pub fn nanoseconds(time: SystemTime) -> i64 {
        let clamp = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        time.duration_since(SystemTime::UNIX_EPOCH).map_or_else(|before| -clamp(before.duration()), clamp)
    }
}

/// A document with all its chunks, as it is written to a store in one commit.
#[derive(Debug, Clone)]
pub struct Document {
    /// Identity.
    pub key: DocumentKey,
    /// For opening the file: the path with its own bytes.
    pub path: PathBuf,
    /// State of the file when it was read.
    pub stamp: FileStamp,
    /// What the indexer notes about the document: how its text was had, why it has none.
    pub note: String,
    /// The chunks in order; their position is their index.
    pub chunks: Vec<Chunk>,
}

impl Document {
    /// A document without chunks at a path of this machine.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { key: DocumentKey::from_path(&path), path, stamp: FileStamp::default(), note: String::new(), chunks: Vec::new() }
    }

    /// Appends a chunk.
    #[must_use]
    pub fn with_chunk(mut self, chunk: Chunk) -> Self {
        self.chunks.push(chunk);
        self
    }

    /// Sets the file's state.
    #[must_use]
    pub fn with_stamp(mut self, stamp: FileStamp) -> Self {
        self.stamp = stamp;
        self
    }

    /// What every store checks before it writes.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] without chunks, [`Error::InvalidEmbedding`] for a vector of another dimension; both name the document.
    pub fn check(&self, fingerprint: &Fingerprint) -> Result<()> {
        if self.chunks.is_empty() {
            return Err(Error::invalid(format!("the document {} has no chunk; remove it instead of storing nothing", self.key)));
        }
        let wrong = self.chunks.iter().position(|chunk| chunk.embedding.dimension() != fingerprint.dimension());
        match wrong {
            None => Ok(()),
            Some(at) => Err(Error::InvalidEmbedding(format!(
                "chunk {at} of {} has {} dimensions, the store has {}",
                self.key,
                self.chunks[at].embedding.dimension(),
                fingerprint.dimension()
            ))),
        }
    }
}

/// A stored document without its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentInfo {
    /// Identity.
    pub key: DocumentKey,
    /// For opening the file.
    pub path: Arc<PathBuf>,
    /// State of the file when it was read.
    pub stamp: FileStamp,
    /// The indexer's note.
    pub note: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_and_far_away_are_numbers_too() {
        assert_eq!(FileStamp::nanoseconds(SystemTime::UNIX_EPOCH - Duration::from_nanos(5)), -5);
        assert_eq!(FileStamp::nanoseconds(SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40)), i64::MAX);
    }
}
