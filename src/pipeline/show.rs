//! From a candidate to what a person sees.

use std::sync::Arc;

use sensetree_core::{Candidate, ScoreScale};

use crate::{ScoreKind, SearchResult, Snippet};

pub(super) fn result(candidate: Candidate, query: &str, scale: Option<ScoreScale>, best_fused: f64) -> SearchResult {
    let (score, score_kind) = score(&candidate, scale, best_fused);
    let Candidate { id, passage, evidence } = candidate;
    SearchResult {
        key: id.key,
        path: passage.path.clone(),
        score,
        score_kind,
        snippet: Snippet::of(&passage.text, query),
        chunk: id.index,
        location: passage.location.clone(),
        text: Arc::unwrap_or_clone(passage).text,
        evidence,
    }
}

/// The reranker's score when it gave one; else cosine relevance; else the share of the best fused score.
fn score(candidate: &Candidate, scale: Option<ScoreScale>, best_fused: f64) -> (f64, ScoreKind) {
    let evidence = &candidate.evidence;
    if let Some((rerank, scale)) = evidence.rerank.zip(scale) {
        return (scale.display(rerank.score), ScoreKind::Rerank);
    }
    if let Some(dense) = evidence.dense {
        return (dense.score, ScoreKind::Cosine);
    }
    let share = evidence.fused.map_or(0.0, |fused| if best_fused > 0.0 { fused.score / best_fused } else { 0.0 });
    (share.clamp(0.0, 1.0), ScoreKind::FusedShare)
}
