//! What plug-ins return is checked here, once, and their panics end here.

use std::{any::Any, collections::HashMap, future::Future, panic::AssertUnwindSafe, time::Instant};

use futures::FutureExt;
use sensetree_core::{Candidate, ChunkId, Error, Filter, Hit, Query, Result, Stage};

use crate::StageReport;

/// Runs a part; a panic becomes an error.
pub(super) async fn catch<T>(part: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => Err(Error::contract(part, format!("it panicked: {}", message(&*panic)))),
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Runs a stage. If it fails, or answers with candidates that it was not given, its input stands.
pub(super) async fn run(stage: &dyn Stage, query: &Query, candidates: Vec<Candidate>) -> (Vec<Candidate>, StageReport) {
    let started = Instant::now();
    let before = candidates.len();
    // Candidates share their texts, so keeping the input costs little.
    let outcome = catch(stage.name(), stage.apply(query, candidates.clone())).await;
    let checked = outcome.and_then(|out| known_once(stage.name(), &candidates, out));
    match checked {
        Ok(out) => {
            let report = StageReport::ran(stage.name(), before, out.len(), started.elapsed());
            (out, report)
        }
        Err(e @ Error::ModelUnavailable { .. }) => {
            let report = StageReport::skipped(stage.name(), e.chain());
            (candidates, StageReport { input: before, output: before, ..report })
        }
        Err(e) => (candidates, StageReport::failed(stage.name(), e.chain(), before, started.elapsed())),
    }
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
    hits.retain(|hit| filter.matches(&hit.id.key));
    Ok(hits)
}
