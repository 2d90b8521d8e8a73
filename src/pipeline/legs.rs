//! The two retrievers, asked at the same time, and their fusion.

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use sensetree_core::{
    Candidate, ChunkId, Embedding, Error, Evidence, Fused, Fusion, Hit, Leg, Query, Ranked, RankedList, Result, text,
};
use sensetree_fusion::Rrf;
use tracing::{Instrument, Span};

use super::{
    Parts,
    guard::{self, Guard},
};
use crate::StageReport;

/// The name of a leg in reports.
pub(super) fn name(leg: Leg) -> &'static str {
    match leg {
        Leg::Dense => "dense",
        Leg::Sparse => "sparse",
    }
}

/// Asks the legs, as often as the pool grows; the question is embedded once.
pub(super) struct Legs<'a> {
    parts: &'a Parts,
    query: &'a Query,
    guard: &'a Guard,
    vector: Option<Embedding>,
    dense: Progress,
    sparse: Progress,
}

/// How far a leg got.
struct Progress {
    span: Span,
    skipped: Option<&'static str>,
    /// The longest list so far.
    list: Option<Vec<Hit>>,
    /// What the last question to the leg asked for, and whether it got that many, so that there may be more.
    asked: usize,
    full: bool,
    failure: Option<String>,
    took: Duration,
}

impl<'a> Legs<'a> {
    pub(super) fn new(parts: &'a Parts, query: &'a Query, guard: &'a Guard) -> Self {
        let dense = Progress::new(Leg::Dense, parts.why_not_dense());
        let sparse = Progress::new(Leg::Sparse, parts.why_not_sparse(query));
        Self { parts, query, guard, vector: None, dense, sparse }
    }

    /// Asks each leg for `pool` chunks, unless it has no more to give.
    ///
    /// A leg that answered before and fails now keeps what it gave, and the reason is told.
    ///
    /// # Errors
    /// [`Error::AllLegsFailed`] when no leg has given anything.
    pub(super) async fn ask(&mut self, pool: usize) -> Result<()> {
        let Self { parts, query, guard, vector, dense, sparse } = self;
        let filter = query.restriction();
        let find_near = async {
            let vector = match vector {
                Some(vector) => vector,
                None => {
                    let embed = guard.run("embedder", || parts.embedder.embed_query(query.text()));
                    vector.insert(embed.instrument(tracing::info_span!("embed")).await?)
                }
            };
            guard.run("store", || parts.store.nearest(vector, filter, pool)).instrument(tracing::info_span!("nearest")).await
        };
        let find_words = async {
            match &parts.sparse {
                Some(retriever) => guard.run("sparse retriever", || retriever.retrieve(query.text(), filter, pool)).await,
                None => Ok(Vec::new()),
            }
        };
        let check = |part: &'static str, hits: Vec<Hit>| {
            let full = hits.len() == pool;
            guard::checked(part, hits, filter, pool).map(|hits| (hits, full))
        };
        let dense = dense.ask(pool, async { check("store", find_near.await?) });
        let sparse = sparse.ask(pool, async { check("sparse retriever", find_words.await?) });
        futures::join!(dense, sparse);
        let failures: Vec<String> =
            self.both().filter_map(|(leg, it)| Some(format!("{}: {}", name(leg), it.failure.as_ref()?))).collect();
        if !failures.is_empty() && self.both().all(|(_, it)| it.list.is_none()) {
            return Err(Error::AllLegsFailed(failures.join("; ")));
        }
        Ok(())
    }

    fn both(&self) -> impl Iterator<Item = (Leg, &Progress)> {
        [(Leg::Dense, &self.dense), (Leg::Sparse, &self.sparse)].into_iter()
    }

    /// What the legs have found. Hits share their passages, so copying them costs little.
    pub(super) fn lists(&self) -> Vec<RankedList> {
        self.both().filter_map(|(leg, it)| it.list.clone().map(|hits| RankedList::new(leg, hits))).collect()
    }

    /// Whether a leg gave as much as it was asked for, so that it may have more.
    pub(super) fn have_more(&self) -> bool {
        self.both().any(|(_, it)| it.may_have_more())
    }

    /// What the legs did.
    pub(super) fn reports(&self) -> Vec<StageReport> {
        let report = |(leg, it): (Leg, &Progress)| {
            let report = it.report(name(leg));
            let report = if leg == Leg::Dense { report.by(self.parts.embedder.fingerprint().model()) } else { report };
            guard::record(&it.span, &report);
            report
        };
        self.both().map(report).collect()
    }
}

impl Progress {
    fn new(leg: Leg, skipped: Option<&'static str>) -> Self {
        // A leg that is not asked has no span.
        let span = if skipped.is_some() { Span::none() } else { guard::span(name(leg)) };
        Self { span, skipped, list: None, asked: 0, full: true, failure: None, took: Duration::ZERO }
    }

    fn may_have_more(&self) -> bool {
        self.skipped.is_none() && self.failure.is_none() && self.full
    }

    async fn ask(&mut self, pool: usize, work: impl Future<Output = Result<(Vec<Hit>, bool)>>) {
        if !self.may_have_more() {
            return;
        }
        let started = Instant::now();
        let answer = work.instrument(self.span.clone()).await;
        self.took += started.elapsed();
        self.asked = pool;
        match answer {
            Ok((hits, full)) => (self.list, self.full) = (Some(hits), full),
            Err(e) => self.failure = Some(e.chain()),
        }
    }

    fn report(&self, name: &str) -> StageReport {
        match (self.skipped, &self.list, &self.failure) {
            (Some(why), ..) => StageReport::skipped(name, why),
            (None, Some(list), None) => StageReport::ran(name, self.asked, list.len(), self.took),
            (None, Some(list), Some(failure)) => {
                let reason = format!("asked for {} chunks it failed, so what it gave before stands: {failure}", self.asked);
                StageReport { reason: Some(reason), ..StageReport::ran(name, self.asked, list.len(), self.took) }
            }
            (None, None, failure) => {
                let reason = failure.clone().unwrap_or_default();
                StageReport { output: 0, ..StageReport::failed(name, reason, self.asked, self.took) }
            }
        }
    }
}

impl Parts {
    fn why_not_dense(&self) -> Option<&'static str> {
        (self.fusion.weight(Leg::Dense) <= 0.0).then_some(NO_WEIGHT)
    }

    fn why_not_sparse(&self, query: &Query) -> Option<&'static str> {
        if self.sparse.is_none() {
            return Some(self.sparse_off);
        }
        if self.fusion.weight(Leg::Sparse) <= 0.0 {
            return Some(NO_WEIGHT);
        }
        (!text::has_word(query.text())).then_some("the query has no word")
    }
}

const NO_WEIGHT: &str = "the fusion gives it no weight";

/// Merges the lists. For a rule that panics or invents chunks, plain reciprocal rank fusion stands in, and the reason is told.
pub(super) fn fuse(fusion: &dyn Fusion, lists: &[RankedList]) -> (Vec<Candidate>, Option<String>) {
    let mut found: HashMap<&ChunkId, Candidate> = HashMap::new();
    for list in lists {
        for (rank, hit) in (1u32..).zip(&list.hits) {
            let candidate = found.entry(&hit.id).or_insert_with(|| Candidate {
                id: hit.id.clone(),
                passage: hit.passage.clone(),
                evidence: Evidence::default(),
            });
            let place = match list.leg {
                Leg::Dense => &mut candidate.evidence.dense,
                Leg::Sparse => &mut candidate.evidence.sparse,
            };
            // A repeat counts once, at its best rank.
            place.get_or_insert(Ranked { rank, score: f64::from(hit.score) });
        }
    }
    let fused = catch_unwind(AssertUnwindSafe(|| fusion.fuse(lists)))
        .map_err(|_| "it panicked".to_owned())
        .and_then(|fused| known_once(fused, &found));
    let (order, failure) = match fused {
        Ok(fused) => (fused, None),
        Err(reason) => {
            let stand_in = Rrf::default();
            (stand_in.fuse(lists), Some(format!("{}: {reason}; {} stands in", fusion.name(), stand_in.name())))
        }
    };
    let mut candidates = Vec::with_capacity(order.len());
    for (rank, fused) in (1u32..).zip(order) {
        if let Some(mut candidate) = found.remove(&fused.id) {
            candidate.evidence.fused = failure.is_none().then_some(Ranked { rank, score: fused.score });
            candidates.push(candidate);
        }
    }
    (candidates, failure)
}

fn known_once(fused: Vec<Fused>, found: &HashMap<&ChunkId, Candidate>) -> std::result::Result<Vec<Fused>, String> {
    let mut seen = HashSet::new();
    for item in &fused {
        if !found.contains_key(&item.id) {
            return Err(format!("it returned {:?}, which no leg found", item.id));
        }
        if !seen.insert(&item.id) || !item.score.is_finite() {
            return Err(format!("it returned {:?} twice or with the score {}", item.id, item.score));
        }
    }
    Ok(fused)
}
