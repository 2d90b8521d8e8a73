//! What plug-ins return is checked here, once; their panics end here, and so does their time.

use std::{any::Any, collections::HashMap, future::Future, panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use sensetree_core::{Candidate, ChunkId, Error, Filter, Hit, Query, Result, Stage};
use tokio::time::Instant;
use tracing::{Instrument, Span, field};

use crate::StageReport;

/// Runs the parts of one query, each within its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guard {
    /// What each part may take.
    stage: Option<Duration>,
    /// What the whole query may take, and when that ends.
    query: Option<(Duration, Instant)>,
}

impl Guard {
    /// The query's time starts now.
    pub(super) fn new(stage: Option<Duration>, query: Option<Duration>) -> Self {
        // A budget that no clock can count to is none.
        let end = |budget: Duration| Instant::now().checked_add(budget).map(|end| (budget, end));
        Self { stage, query: query.and_then(end) }
    }

    /// Runs a part. A panic becomes an error, and so does running out of time, by which the work is dropped.
    pub(super) async fn run<T, W: Future<Output = Result<T>>>(&self, part: &str, begin: impl FnOnce() -> W) -> Result<T> {
        // A part that is written by hand may panic before there is a future.
        let work = catch(part, async { begin().await });
        let left = self.query.map(|(budget, end)| (budget, end.saturating_duration_since(Instant::now())));
        let (whose, budget, time) = match (self.stage, left) {
            (None, None) => return work.await,
            (Some(stage), Some((_, left))) if stage <= left => ("stage", stage, stage),
            (_, Some((query, left))) => ("query", query, left),
            (Some(stage), None) => ("stage", stage, stage),
        };
        let out_of_time = || Error::OutOfTime { part: part.to_owned(), budget, of: whose };
        if time.is_zero() {
            return Err(out_of_time());
        }
        tokio::time::timeout(time, work).await.unwrap_or_else(|_| Err(out_of_time()))
    }

    /// Runs a stage. If it fails, or answers with candidates that it was not given, its input stands.
    pub(super) async fn stage(
        &self,
        stage: &dyn Stage,
        query: &Query,
        candidates: Vec<Candidate>,
    ) -> (Vec<Candidate>, StageReport) {
        let started = Instant::now();
        let before = candidates.len();
        let span = span(stage.name());
        // Candidates share their texts, so keeping the input costs little.
        let outcome = self.run(stage.name(), || stage.apply(query, candidates.clone())).instrument(span.clone()).await;
        let checked = outcome.and_then(|out| known_once(stage.name(), &candidates, out));
        let (out, report) = match checked {
            Ok(out) => {
                let report = StageReport::ran(stage.name(), before, out.len(), started.elapsed());
                (out, report)
            }
            Err(e @ Error::ModelUnavailable { .. }) => {
                let report = StageReport::skipped(stage.name(), e.chain());
                (candidates, StageReport { input: before, output: before, ..report })
            }
            Err(e) => (candidates, StageReport::failed(stage.name(), e.chain(), before, started.elapsed())),
        };
        record(&span, &report);
        (out, report)
    }
}

/// The span of a stage; what it did is recorded when it is known.
pub(super) fn span(stage: &str) -> Span {
    let (status, input, output, ms, reason) = (field::Empty, field::Empty, field::Empty, field::Empty, field::Empty);
    tracing::info_span!("stage", name = stage, status, input, output, ms, reason)
}

pub(super) fn record(span: &Span, report: &StageReport) {
    span.record("status", field::debug(report.status));
    span.record("input", report.input).record("output", report.output).record("ms", report.ms);
    if let Some(reason) = &report.reason {
        span.record("reason", reason.as_str());
    }
}

async fn catch<T>(part: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => Err(Error::contract(part, format!("it panicked: {}", message(&*panic)))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

fn known_once(name: &str, given: &[Candidate], out: Vec<Candidate>) -> Result<Vec<Candidate>> {
    let mut left: HashMap<&ChunkId, bool> = given.iter().map(|c| (&c.id, true)).collect();
    for candidate in &out {
        match left.get_mut(&candidate.id) {
            Some(unused) if *unused => *unused = false,
            Some(_) => return Err(Error::contract(name, format!("it returned {:?} twice", candidate.id))),
            None => return Err(Error::contract(name, format!("it returned {:?}, which it was not given", candidate.id))),
        }
    }
    Ok(out)
}

/// Checks a leg's list: finite scores, no more than asked for. What lies outside the filter is dropped, should a retriever
/// not filter by itself.
pub(super) fn checked(part: &str, mut hits: Vec<Hit>, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
    if hits.len() > limit {
        return Err(Error::contract(part, format!("it returned {} hits for a limit of {limit}", hits.len())));
    }
    if let Some(hit) = hits.iter().find(|hit| !hit.score.is_finite()) {
        return Err(Error::contract(part, format!("it gave {:?} the score {}", hit.id, hit.score)));
    }
    hits.retain(|hit| filter.matches(&hit.id.key, hit.passage.modified));
    Ok(hits)
}
