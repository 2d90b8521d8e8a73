//! The flow of a query. Read [`Pipeline::search`] first.

mod builder;
mod guard;
mod legs;
mod nearest;
mod page;
mod rerank;
mod shortlist;
#[cfg(all(test, feature = "testing"))]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{Stream, stream};
use sensetree_core::{Candidate, DocumentKey, Embedder, Fusion, Query, Result, SparseRetriever, Stage, Store, text};
use tracing::Instrument;

use crate::{Existence, Page, ScoreKind, StageReport};
pub use builder::PipelineBuilder;
use guard::Guard;
pub use rerank::RerankOrder;
pub(crate) use shortlist::CHUNKS_PER_FILE;

/// Chunks that each leg is asked for at first: `limit` times this, within [`POOL_RANGE`].
const POOL_PER_RESULT: usize = 6;
const POOL_RANGE: (usize, usize) = (30, 160);
/// The pool never grows beyond this, however few live files it holds.
const LARGEST_POOL: usize = 2560;

/// A search over one store, assembled from parts. Cheap to clone, can be used from any number of tasks.
#[derive(Debug, Clone)]
pub struct Pipeline {
    pub(crate) parts: Arc<Parts>,
}

#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) existence: Option<Arc<dyn Existence>>,
    sparse: Option<Arc<dyn SparseRetriever>>,
    /// Why a leg or the reranker is not asked, when it was switched off rather than left out.
    sparse_off: &'static str,
    rerank_off: &'static str,
    fusion: Arc<dyn Fusion>,
    rerank: Option<rerank::Rerank>,
    stages: Vec<Arc<dyn Stage>>,
    least: Vec<(ScoreKind, f64)>,
    stage_budget: Option<Duration>,
}

/// What the first half of a search hands to the second.
struct Retrieved {
    /// Fused, in scope, alive; best first.
    candidates: Vec<Candidate>,
    stages: Vec<StageReport>,
}

impl Pipeline {
    /// Starts from the two parts that every search needs. See [`PipelineBuilder`] for the others and their defaults.
    pub fn builder(embedder: impl Embedder, store: impl Store) -> PipelineBuilder {
        PipelineBuilder::new(Arc::new(embedder), Arc::new(store))
    }

    /// Searches.
    ///
    /// A blank query (white space, control and zero-width characters only) gives an empty page without asking any part.
    /// A leg, a reranker or a stage that fails, or does not finish within its time budget, is reported on the page and the
    /// search goes on without it. Dropping the future stops the work.
    ///
    /// # Errors
    /// [`Error::AllLegsFailed`](sensetree_core::Error::AllLegsFailed) when no leg could answer.
    ///
    /// # Panics
    /// With a time budget, outside a tokio runtime that keeps time.
    pub async fn search(&self, query: Query) -> Result<Page> {
        let span = search_span(&query);
        async {
            if text::is_blank(query.text()) {
                return Ok(self.parts.blank_page());
            }
            let guard = self.parts.guard(&query);
            let retrieved = self.parts.retrieve(&query, &guard).await?;
            Ok(self.parts.finish(&query, &guard, retrieved).await)
        }
        .instrument(span)
        .await
    }

    /// Searches, and gives the fused page as soon as it is there; the final one follows.
    ///
    /// A time budget counts from the first page that is asked for to the last. One page when there is neither a reranker nor a stage of yours, and for a blank query; otherwise two, of which the first
    /// has [`Page::complete`] false. Dropping the stream stops the work: a caller who is content with the first page spends
    /// nothing on reranking.
    ///
    /// # Errors
    /// As [`search`](Self::search); an error is the last item.
    ///
    /// ```
    /// # use sensetree::{Embedder, Pipeline, Query, memory::MemoryStore, testing::{MockEmbedder, MockReranker}};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> sensetree::Result<()> {
    /// # let embedder = MockEmbedder::new(8);
    /// # let store = MemoryStore::new(embedder.fingerprint().clone());
    /// # let pipeline = Pipeline::builder(embedder, store).reranker(MockReranker::word_overlap()).build()?;
    /// use futures::StreamExt;
    ///
    /// let mut pages = pipeline.search_progressively(Query::new("when was the boiler serviced?"));
    /// while let Some(page) = pages.next().await {
    ///     let page = page?;
    ///     println!("{} results{}", page.results.len(), if page.complete { "" } else { ", still reranking" });
    /// }
    /// # Ok(()) }
    /// ```
    pub fn search_progressively(&self, query: Query) -> impl Stream<Item = Result<Page>> + Send + Unpin + use<> {
        let parts = self.parts.clone();
        let span = search_span(&query);
        let steps = stream::unfold(Step::Retrieve, move |step| {
            let (parts, query) = (parts.clone(), query.clone());
            async move {
                match step {
                    Step::Retrieve if text::is_blank(query.text()) => Some((Ok(parts.blank_page()), Step::End)),
                    Step::Retrieve => {
                        let guard = parts.guard(&query);
                        match parts.retrieve(&query, &guard).await {
                            Err(e) => Some((Err(e), Step::End)),
                            Ok(retrieved) if parts.rerank.is_none() && parts.stages.is_empty() => {
                                Some((Ok(parts.finish(&query, &guard, retrieved).await), Step::End))
                            }
                            Ok(retrieved) => Some((Ok(parts.fused_page(&query, &retrieved)), Step::Finish(guard, retrieved))),
                        }
                    }
                    Step::Finish(guard, retrieved) => Some((Ok(parts.finish(&query, &guard, retrieved).await), Step::End)),
                    Step::End => None,
                }
            }
            .instrument(span.clone())
        });
        Box::pin(steps)
    }
}

/// Where a progressive search stands.
enum Step {
    Retrieve,
    Finish(Guard, Retrieved),
    End,
}

/// The question itself is nobody's business but the caller's, so its length stands for it.
fn search_span(query: &Query) -> tracing::Span {
    tracing::info_span!("search", characters = query.text().chars().count(), limit = query.page_size())
}

impl Parts {
    fn guard(&self, query: &Query) -> Guard {
        Guard::new(self.stage_budget, query.budget())
    }

    /// Fused candidates that are in scope and alive, best first.
    ///
    /// The pool doubles until it holds enough files for a full page or the legs have no more to give.
    async fn retrieve(&self, query: &Query, guard: &Guard) -> Result<Retrieved> {
        let limit = query.page_size();
        let mut pool = (limit * POOL_PER_RESULT).clamp(POOL_RANGE.0, POOL_RANGE.1);
        let mut legs = legs::Legs::new(self, query, guard);
        let mut alive = HashMap::new();
        let span = guard::span("fusion");
        let mut took = Duration::ZERO;
        loop {
            legs.ask(pool).await?;
            let started = Instant::now();
            let lists = legs.lists();
            let before = lists.iter().map(|list| list.hits.len()).sum();
            let (fused, failure) = span.in_scope(|| legs::fuse(&*self.fusion, &lists));
            let (candidates, doubt) = self.keep_alive(fused, &mut alive, guard).instrument(span.clone()).await;
            took += started.elapsed();
            let files = candidates.iter().map(|c| &c.id.key).collect::<HashSet<_>>().len();
            if files < limit && legs.have_more() && pool < LARGEST_POOL {
                pool = (pool * 2).min(LARGEST_POOL);
                continue;
            }
            let report = match failure {
                Some(reason) => StageReport { output: candidates.len(), ..StageReport::failed("fusion", reason, before, took) },
                None => StageReport { reason: doubt, ..StageReport::ran("fusion", before, candidates.len(), took) },
            };
            let report = report.by(self.fusion.name());
            guard::record(&span, &report);
            let mut stages = legs.reports();
            stages.push(report);
            return Ok(Retrieved { candidates, stages });
        }
    }

    /// Reranking, the caller's stages, and one result for each file.
    async fn finish(&self, query: &Query, guard: &Guard, retrieved: Retrieved) -> Page {
        let Retrieved { mut candidates, mut stages } = retrieved;
        match &self.rerank {
            None => stages.push(StageReport::skipped(rerank::NAME, self.rerank_off)),
            Some(rerank) => {
                let (reranked, report) = guard.stage(rerank, query, candidates).await;
                candidates = reranked;
                stages.push(report.by(rerank.model()));
            }
        }
        for stage in &self.stages {
            let (staged, report) = guard.stage(stage, query, candidates).await;
            candidates = staged;
            stages.push(report);
        }
        self.page(query, candidates, stages)
    }

    /// Drops candidates whose file is gone. When that cannot be found out, all stay, and the doubt is told.
    async fn keep_alive(
        &self,
        candidates: Vec<Candidate>,
        known: &mut HashMap<DocumentKey, bool>,
        guard: &Guard,
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
        match guard.run("existence check", || existence.exist(paths)).await {
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
}
