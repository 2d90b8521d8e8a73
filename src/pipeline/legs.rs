//! The two retrievers, asked at the same time, and their fusion.

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use sensetree_core::{
    Candidate, ChunkId, Embedding, Error, Evidence, Fused, Fusion, Leg, Query, Ranked, RankedList, Result, text,
};

use super::{Parts, guard};
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
    vector: Option<Embedding>,
    /// What the rounds before the last one took.
    spent: HashMap<&'static str, Duration>,
}

/// What the legs found.
pub(super) struct Found {
    pub(super) lists: Vec<RankedList>,
    pub(super) reports: Vec<StageReport>,
    /// Whether a leg returned as much as it was asked for, so that it may have more.
    pub(super) more: bool,
}

/// A leg's answer: None when it was not asked.
type Answer = std::result::Result<Option<RankedList>, Error>;

impl<'a> Legs<'a> {
    pub(super) fn new(parts: &'a Parts, query: &'a Query) -> Self {
        Self { parts, query, vector: None, spent: HashMap::new() }
    }

    /// Asks each leg for `pool` chunks.
    pub(super) async fn ask(&mut self, pool: usize) -> Result<Found> {
        let vector = self.vector.take();
        let dense = timed(async {
            if self.parts.fusion.weight(Leg::Dense) <= 0.0 {
                return (Ok(None), None);
            }
            let vector = match vector {
                Some(vector) => Ok(vector),
                None => guard::catch("embedder", self.parts.embedder.embed_query(self.query.text())).await,
            };
            match vector {
                Err(e) => (Err(e), None),
                Ok(vector) => (self.dense(&vector, pool).await.map(Some), Some(vector)),
            }
        });
        let sparse = timed(self.sparse(pool));
        let (((dense, vector), dense_took), (sparse, sparse_took)) = futures::join!(dense, sparse);
        self.vector = vector;

        let mut found = Found { lists: Vec::new(), reports: Vec::new(), more: false };
        let mut failures = Vec::new();
        for (leg, answer, took) in [(Leg::Dense, dense, dense_took), (Leg::Sparse, sparse, sparse_took)] {
            let name = name(leg);
            let spent = self.spent.entry(name).or_default();
            *spent += took;
            found.reports.push(match answer {
                Ok(Some(list)) => {
                    found.more |= list.hits.len() == pool;
                    let report = StageReport::ran(name, pool, list.hits.len(), *spent);
                    found.lists.push(list);
                    report
                }
                Ok(None) => StageReport::skipped(name, self.why_not(leg)),
                Err(e) => {
                    failures.push(format!("{name}: {}", e.chain()));
                    StageReport { output: 0, ..StageReport::failed(name, e.chain(), pool, *spent) }
                }
            });
        }
        if found.lists.is_empty() && !failures.is_empty() {
            return Err(Error::AllLegsFailed(failures.join("; ")));
        }
        Ok(found)
    }

    async fn dense(&self, vector: &Embedding, pool: usize) -> Result<RankedList> {
        let filter = self.query.restriction();
        let hits = guard::catch("store", self.parts.store.nearest(vector, filter, pool)).await?;
        Ok(RankedList::new(Leg::Dense, guard::checked("store", hits, filter, pool)?))
    }

    async fn sparse(&self, pool: usize) -> Answer {
        let Some(retriever) = &self.parts.sparse else { return Ok(None) };
        if self.parts.fusion.weight(Leg::Sparse) <= 0.0 || !text::has_word(self.query.text()) {
            return Ok(None);
        }
        let filter = self.query.restriction();
        let hits = guard::catch("sparse retriever", retriever.retrieve(self.query.text(), filter, pool)).await?;
        Ok(Some(RankedList::new(Leg::Sparse, guard::checked("sparse retriever", hits, filter, pool)?)))
    }

    fn why_not(&self, leg: Leg) -> &'static str {
        match leg {
            Leg::Sparse if self.parts.sparse.is_none() => self.parts.sparse_off,
            leg if self.parts.fusion.weight(leg) <= 0.0 => "the fusion gives it no weight",
            _ => "the query has no word",
        }
    }
}

async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let started = Instant::now();
    let result = work.await;
    (result, started.elapsed())
}

/// Merges the lists. A rule that panics or invents chunks leaves the first leg's order, and the reason is told.
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
            let first = lists.first().map(|list| list.hits.as_slice()).unwrap_or_default();
            let order = first.iter().map(|hit| Fused { id: hit.id.clone(), score: f64::from(hit.score) }).collect();
            (order, Some(format!("{}: {reason}; the first leg's order stands", fusion.name())))
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
