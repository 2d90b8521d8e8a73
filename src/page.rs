//! What a search answers.

use std::{path::PathBuf, sync::Arc, time::Duration};

use sensetree_core::{DocumentKey, Evidence, Location};
use serde::{Deserialize, Serialize};

use crate::Snippet;

/// The answer to a query: results, best first, and what every stage did.
///
/// The same index and query give the same results in every process; only the times differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Page {
    /// One result for each file, best first, at most the query's limit.
    pub results: Vec<SearchResult>,
    /// What ran, in the order of the flow: dense, sparse, fusion, rerank, your stages, dedup.
    pub stages: Vec<StageReport>,
    /// Whether the order is final. False only for the first page of
    /// [`search_progressively`](crate::Pipeline::search_progressively), which a reranked one follows.
    pub complete: bool,
}

/// A file, with the chunk that answers best.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SearchResult {
    /// Identity of the file.
    pub key: DocumentKey,
    /// For opening the file: the path with its own bytes.
    #[serde(serialize_with = "lossy")]
    pub path: Arc<PathBuf>,
    /// For showing, in [0, 1], on the scale that [`score_kind`](Self::score_kind) names. Not what the order follows.
    pub score: f64,
    /// What the score is.
    pub score_kind: ScoreKind,
    /// The part of the chunk that matches.
    pub snippet: Snippet,
    /// Which chunk of the file.
    pub chunk: u32,
    /// Where the chunk stands in the file's text.
    pub location: Location,
    /// The chunk's stored text, whole.
    pub text: String,
    /// Rank and score in every list that held the chunk.
    pub evidence: Evidence,
}

pub(crate) fn lossy<S: serde::Serializer>(path: &Arc<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// What a displayed score is. Scores of different kinds do not compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScoreKind {
    /// The reranker's: the sigmoid of its logit, or its own number when that is in [0, 1] already.
    Rerank,
    /// Cosine relevance.
    Cosine,
    /// Found by words only: the share of the best fused score that was possible.
    FusedShare,
}

/// What a stage did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageReport {
    /// dense, sparse, fusion, rerank, dedup, or the name of a stage of yours.
    pub name: String,
    /// Which part did it: the embedding model, the fusion rule, the reranker. None where the stage is the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How it ended.
    pub status: StageStatus,
    /// Why it did not run or failed, or something about the run worth knowing.
    pub reason: Option<String>,
    /// For a leg the number of chunks asked for, otherwise the candidates that went in.
    #[serde(rename = "in")]
    pub input: usize,
    /// Candidates that came out.
    #[serde(rename = "out")]
    pub output: usize,
    /// Wall-clock time in milliseconds. The legs run at the same time.
    pub ms: f64,
}

/// How a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageStatus {
    /// It did its work.
    Ran,
    /// It was not asked, or could not be had; the reason says why.
    Skipped,
    /// It was asked and failed; its input stands, the reason says why.
    Failed,
}

impl StageReport {
    pub(crate) fn ran(name: &str, input: usize, output: usize, took: Duration) -> Self {
        let ms = took.as_secs_f64() * 1e3;
        Self { name: name.to_owned(), by: None, status: StageStatus::Ran, reason: None, input, output, ms }
    }

    pub(crate) fn skipped(name: &str, reason: impl Into<String>) -> Self {
        let report = Self::ran(name, 0, 0, Duration::ZERO);
        Self { status: StageStatus::Skipped, reason: Some(reason.into()), ..report }
    }

    pub(crate) fn failed(name: &str, reason: impl Into<String>, input: usize, took: Duration) -> Self {
        let report = Self::ran(name, input, input, took);
        Self { status: StageStatus::Failed, reason: Some(reason.into()), ..report }
    }

    pub(crate) fn by(self, part: &str) -> Self {
        Self { by: Some(part.to_owned()), ..self }
    }
}

impl Page {
    /// The report of a stage, by name.
    pub fn stage(&self, name: &str) -> Option<&StageReport> {
        self.stages.iter().find(|stage| stage.name == name)
    }
}
