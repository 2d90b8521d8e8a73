//! The flow of a query. Read [`Pipeline::search`] first.

mod builder;
mod guard;
mod legs;
mod rerank;
mod show;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

use sensetree_core::{Candidate, DocumentKey, Embedder, Fusion, Leg, Query, Result, SparseRetriever, Stage, Store, text};

use crate::{Existence, Page, SearchResult, StageReport, StageStatus};
pub use builder::PipelineBuilder;
pub use rerank::RerankOrder;

/// Chunks that each leg is asked for at first: `limit` times this, within [`POOL_RANGE`].
const POOL_PER_RESULT: usize = 6;
const POOL_RANGE: (usize, usize) = (30, 160);
/// The pool never grows beyond this, however few live files it holds.
const LARGEST_POOL: usize = 2560;

/// A search over one store, assembled from parts. Cheap to clone, can be used from any number of tasks.
#[derive(Debug, Clone)]
pub struct Pipeline {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    embedder: Arc<dyn Embedder>,
    store: Arc<dyn Store>,
    sparse: Option<Arc<dyn SparseRetriever>>,
    /// Why a leg or the reranker is not asked, when it was switched off rather than left out.
    sparse_off: &'static str,
    rerank_off: &'static str,
    fusion: Arc<dyn Fusion>,
    rerank: Option<rerank::Rerank>,
    stages: Vec<Arc<dyn Stage>>,
    existence: Option<Arc<dyn Existence>>,
}

impl Pipeline {
    /// Starts from the two parts that every search needs. See [`PipelineBuilder`] for the others and their defaults.
    pub fn builder(embedder: impl Embedder, store: impl Store) -> PipelineBuilder {
        PipelineBuilder::new(Arc::new(embedder), Arc::new(store))
    }

    /// Searches.
    ///
    /// A blank query (white space, control and zero-width characters only) gives an empty page without asking any part.
    /// A leg, a reranker or a stage that fails is reported on the page and the search goes on without it. Dropping the
    /// future stops the work.
    ///
    /// # Errors
    /// [`Error::AllLegsFailed`](sensetree_core::Error::AllLegsFailed) when no leg could answer.
    pub async fn search(&self, query: Query) -> Result<Page> {
        let parts = &*self.parts;
        if text::is_blank(query.text()) {
            return Ok(parts.blank_page());
        }
        let (mut candidates, mut stages) = parts.retrieve(&query).await?;
        match &parts.rerank {
            None => stages.push(StageReport::skipped(rerank::NAME, parts.rerank_off)),
            Some(rerank) => {
                let (reranked, report) = guard::run(rerank, &query, candidates).await;
                candidates = reranked;
                stages.push(report);
            }
        }
        for stage in &parts.stages {
            let (staged, report) = guard::run(stage, &query, candidates).await;
            candidates = staged;
            stages.push(report);
        }
        let started = Instant::now();
        let before = candidates.len();
        let results = parts.best_of_each_file(candidates, &query, &legs_that_ran(&stages));
        stages.push(StageReport::ran("dedup", before, results.len(), started.elapsed()));
        for stage in &stages {
            tracing::debug!(stage = stage.name, status = ?stage.status, input = stage.input, output = stage.output, ms = stage.ms);
        }
        Ok(Page { results, stages })
    }
}

impl Parts {
    fn blank_page(&self) -> Page {
        let own = self.stages.iter().map(|stage| stage.name());
        let names = ["dense", "sparse", "fusion", rerank::NAME].into_iter().chain(own).chain(["dedup"]);
        Page { results: Vec::new(), stages: names.map(|name| StageReport::skipped(name, "blank query")).collect() }
    }

    /// Fused candidates that are in scope and alive, best first.
    ///
    /// The pool doubles until it holds enough files for a full page or the legs have no more to give.
    async fn retrieve(&self, query: &Query) -> Result<(Vec<Candidate>, Vec<StageReport>)> {
        let limit = query.page_size();
        let mut pool = (limit * POOL_PER_RESULT).clamp(POOL_RANGE.0, POOL_RANGE.1);
        let mut legs = legs::Legs::new(self, query);
        let mut alive = HashMap::new();
        loop {
            let found = legs.ask(pool).await?;
            let started = Instant::now();
            let before = found.lists.iter().map(|list| list.hits.len()).sum();
            let (fused, failure) = legs::fuse(&*self.fusion, &found.lists);
            let (candidates, doubt) = self.keep_alive(fused, &mut alive).await;
            let files = candidates.iter().map(|c| &c.id.key).collect::<HashSet<_>>().len();
            if files < limit && found.more && pool < LARGEST_POOL {
                pool = (pool * 2).min(LARGEST_POOL);
                continue;
            }
            let mut stages = found.reports;
            stages.push(match failure.or(doubt) {
                Some(reason) => {
                    StageReport { output: candidates.len(), ..StageReport::failed("fusion", reason, before, started.elapsed()) }
                }
                None => StageReport::ran("fusion", before, candidates.len(), started.elapsed()),
            });
            return Ok((candidates, stages));
        }
    }

    /// Drops candidates whose file is gone. When that cannot be found out, all stay, and the doubt is told.
    async fn keep_alive(
        &self,
        candidates: Vec<Candidate>,
        known: &mut HashMap<DocumentKey, bool>,
    ) -> (Vec<Candidate>, Option<String>) {
        let Some(existence) = &self.existence else { return (candidates, None) };
        let mut unknown: Vec<&Candidate> = Vec::new();
        let mut asked = HashSet::new();
        for candidate in &candidates {
            if !known.contains_key(&candidate.id.key) && asked.insert(&candidate.id.key) {
                unknown.push(candidate);
            }
        }
        let paths = unknown.iter().map(|c| c.passage.path.clone()).collect();
        match guard::catch("existence check", existence.exist(paths)).await {
            Ok(answers) if answers.len() == unknown.len() => {
                known.extend(unknown.iter().zip(answers).map(|(c, alive)| (c.id.key.clone(), alive)));
            }
            Ok(answers) => {
                let reason = format!("the existence check answered {} times for {} files", answers.len(), unknown.len());
                return (candidates, Some(reason));
            }
            Err(e) => return (candidates, Some(e.chain())),
        }
        (candidates.into_iter().filter(|c| known.get(&c.id.key).copied().unwrap_or(true)).collect(), None)
    }

    /// One result for each file: its first chunk in the final order.
    fn best_of_each_file(&self, candidates: Vec<Candidate>, query: &Query, legs: &[Leg]) -> Vec<SearchResult> {
        let mut seen = HashSet::new();
        let best = candidates.into_iter().filter(|candidate| seen.insert(candidate.id.key.clone()));
        let scale = self.rerank.as_ref().map(rerank::Rerank::scale);
        let best_fused = self.fusion.best(legs);
        best.take(query.page_size()).map(|candidate| show::result(candidate, query.text(), scale, best_fused)).collect()
    }
}

fn legs_that_ran(stages: &[StageReport]) -> Vec<Leg> {
    let ran = |leg: &Leg| stages.iter().any(|s| s.name == legs::name(*leg) && s.status == StageStatus::Ran);
    [Leg::Dense, Leg::Sparse].into_iter().filter(ran).collect()
}
