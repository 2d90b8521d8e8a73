//! From candidates to what a person sees.

use std::{collections::HashSet, sync::Arc, time::Instant};

use sensetree_core::{Candidate, Leg, Query, ScoreScale};

use super::{Parts, Retrieved, guard, legs, rerank};
use crate::{Page, ScoreKind, SearchResult, Snippet, StageReport, StageStatus};

impl Parts {
    pub(super) fn blank_page(&self) -> Page {
        let own = self.stages.iter().map(|stage| stage.name());
        let names = ["dense", "sparse", "fusion", rerank::NAME].into_iter().chain(own).chain(["dedup"]);
        let stages = names.map(|name| StageReport::skipped(name, "blank query")).collect();
        Page { results: Vec::new(), stages, complete: true }
    }

    /// The page before reranking.
    pub(super) fn fused_page(&self, query: &Query, retrieved: &Retrieved) -> Page {
        let own = self.stages.iter().map(|stage| stage.name());
        let later = [rerank::NAME].into_iter().chain(own).map(|name| StageReport::skipped(name, "not yet"));
        let stages = retrieved.stages.iter().cloned().chain(later).collect();
        Page { complete: false, ..self.page(query, retrieved.candidates.clone(), stages) }
    }

    /// One result for each file: its first chunk in the order of the candidates.
    pub(super) fn page(&self, query: &Query, candidates: Vec<Candidate>, mut stages: Vec<StageReport>) -> Page {
        let span = guard::span("dedup");
        let _entered = span.enter();
        let started = Instant::now();
        let before = candidates.len();
        let best_fused = self.fusion.best(&legs_that_ran(&stages));
        let scale = self.rerank.as_ref().map(rerank::Rerank::scale);
        let mut seen = HashSet::new();
        let results: Vec<SearchResult> = (candidates.into_iter())
            .filter(|candidate| seen.insert(candidate.id.key.clone()))
            .map(|candidate| (score(&candidate, scale, best_fused), candidate))
            .filter(|((score, kind), _)| self.least.iter().all(|(of, least)| of != kind || score >= least))
            .take(query.page_size())
            .map(|((score, kind), candidate)| result(candidate, query.text(), score, kind))
            .collect();
        let report = StageReport::ran("dedup", before, results.len(), started.elapsed());
        guard::record(&span, &report);
        stages.push(report);
        Page { results, stages, complete: true }
    }
}

fn legs_that_ran(stages: &[StageReport]) -> Vec<Leg> {
    // Theirs come first; a stage of the caller may have the same name.
    let ran = |leg: &Leg| stages.iter().take(2).any(|s| s.name == legs::name(*leg) && s.status == StageStatus::Ran);
    [Leg::Dense, Leg::Sparse].into_iter().filter(ran).collect()
}

fn result(candidate: Candidate, query: &str, score: f64, score_kind: ScoreKind) -> SearchResult {
    let Candidate { id, passage, evidence } = candidate;
    SearchResult {
        key: id.key,
        path: passage.path.clone(),
        score,
        score_kind,
        snippet: Snippet::of(&passage.text, &passage.location, query),
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
        return (dense.score.clamp(0.0, 1.0), ScoreKind::Cosine);
    }
    let share = evidence.fused.map_or(0.0, |fused| if best_fused > 0.0 { fused.score / best_fused } else { 0.0 });
    (share.clamp(0.0, 1.0), ScoreKind::FusedShare)
}
