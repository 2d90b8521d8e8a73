//! What retrievers find and what the rest of the pipeline hands on.

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{ChunkId, Location};

/// The stored part of a chunk that a result needs. Shared, so that lists can be merged without copying texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The stored text.
    pub text: String,
    /// The file, with its own bytes.
    pub path: Arc<PathBuf>,
    /// Where the text stands in the file.
    pub location: Location,
    /// When the file's content was last written, in nanoseconds since 1970, 0 when unknown.
    pub modified: i64,
}

impl Passage {
    /// A text of a file, without a place or a time.
    pub fn new(text: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { text: text.into(), path: Arc::new(path.into()), location: Location::default(), modified: 0 }
    }
}

/// A chunk that a retriever found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which chunk.
    pub id: ChunkId,
    /// Higher is better. Dense: `1 − cosine distance` clamped to [0, 1]. Sparse: BM25, unbounded.
    pub score: f32,
    /// The chunk's text and place.
    pub passage: Arc<Passage>,
}

/// Which retriever a list came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leg {
    /// Nearest vectors.
    Dense,
    /// BM25.
    Sparse,
}

/// One retriever's list, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedList {
    /// Where it came from.
    pub leg: Leg,
    /// Best first. A chunk that stands twice counts once, at its best rank.
    pub hits: Vec<Hit>,
}

impl RankedList {
    /// A list of `leg`, best first.
    pub fn new(leg: Leg, hits: Vec<Hit>) -> Self {
        Self { leg, hits }
    }
}

/// A place in one list.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ranked {
    /// From 1.
    pub rank: u32,
    /// On the scale of that list.
    pub score: f64,
}

/// Why a chunk stands where it stands: its place in every list that held it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Cosine relevance in [0, 1].
    pub dense: Option<Ranked>,
    /// BM25.
    pub sparse: Option<Ranked>,
    /// The fusion rule's score.
    pub fused: Option<Ranked>,
    /// What the reranker answered: a logit or a value in [0, 1], as its [`ScoreScale`](crate::ScoreScale) says.
    pub rerank: Option<Ranked>,
}

impl Evidence {
    /// The place in one leg's list.
    pub fn leg(&self, leg: Leg) -> Option<Ranked> {
        match leg {
            Leg::Dense => self.dense,
            Leg::Sparse => self.sparse,
        }
    }
}

/// A chunk on its way through the stages. Its place in the list is its rank; the evidence is for showing, not for sorting.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Which chunk.
    pub id: ChunkId,
    /// Its text and place.
    pub passage: Arc<Passage>,
    /// Its place in every list so far.
    pub evidence: Evidence,
}
