use std::{num::NonZero, sync::Arc, time::Duration};

use sensetree_core::{Embedder, Error, Fusion, Leg, Reranker, Result, SparseRetriever, Stage, Store};
use sensetree_fusion::Rrf;

use super::{Parts, Pipeline, RerankOrder, rerank::Rerank, shortlist::CHUNKS_PER_FILE};
use crate::{Existence, OnDisk, ScoreKind, Settings};

/// Assembles a [`Pipeline`]. Every part but embedder and store has a default, stated at its setter.
#[derive(Debug)]
#[must_use = "call build()"]
pub struct PipelineBuilder {
    embedder: Arc<dyn Embedder>,
    store: Arc<dyn Store>,
    sparse: Option<Arc<dyn SparseRetriever>>,
    /// Or why the settings name none.
    fusion: Result<Arc<dyn Fusion>>,
    reranker: Option<Arc<dyn Reranker>>,
    order: RerankOrder,
    stages: Vec<Arc<dyn Stage>>,
    existence: Option<Arc<dyn Existence>>,
    chunks_per_file: NonZero<usize>,
    least: Vec<(ScoreKind, f64)>,
    stage_budget: Option<Duration>,
    hybrid: bool,
    rerank: bool,
}

impl PipelineBuilder {
    pub(super) fn new(embedder: Arc<dyn Embedder>, store: Arc<dyn Store>) -> Self {
        Self {
            embedder,
            store,
            sparse: None,
            fusion: Ok(Arc::new(Rrf::default())),
            reranker: None,
            order: RerankOrder::default(),
            stages: Vec::new(),
            existence: Some(Arc::new(OnDisk)),
            chunks_per_file: CHUNKS_PER_FILE,
            least: Vec::new(),
            stage_budget: None,
            hybrid: true,
            rerank: true,
        }
    }

    /// Adds the leg that finds exact words. Default: none, dense only.
    pub fn sparse(mut self, retriever: impl SparseRetriever) -> Self {
        self.sparse = Some(Arc::new(retriever));
        self
    }

    /// How the legs are merged. Default: reciprocal rank fusion, k = 60, both legs alike.
    pub fn fusion(mut self, fusion: impl Fusion) -> Self {
        self.fusion = Ok(Arc::new(fusion));
        self
    }

    /// Adds a reranker for the best `clamp(limit × 3, 20, 100)` candidates. Default: none, fused order.
    pub fn reranker(mut self, reranker: impl Reranker) -> Self {
        self.reranker = Some(Arc::new(reranker));
        self
    }

    /// What the reranker's scores do to the order. Default: [`RerankOrder::Score`].
    pub fn rerank_order(mut self, order: RerankOrder) -> Self {
        self.order = order;
        self
    }

    /// Adds a stage between reranking and the final page; several run in the order in which they were added. Default: none.
    pub fn stage(mut self, stage: impl Stage) -> Self {
        self.stages.push(Arc::new(stage));
        self
    }

    /// How many chunks of one file may be reranked while other files wait. Default: 3.
    pub fn chunks_per_file(mut self, chunks: NonZero<usize>) -> Self {
        self.chunks_per_file = chunks;
        self
    }

    /// Leaves out results whose displayed score is of this kind and below `least`. Results with a score of another kind stay:
    /// scores of different kinds do not compare. Called again: every condition must hold. Default: none.
    pub fn least_score(mut self, kind: ScoreKind, least: f64) -> Self {
        self.least.push((kind, least));
        self
    }

    /// What embedding the query, each leg's search, reranking, each stage and the existence check may take. What does not finish
    /// is dropped and reported as failed. Default: as long as it takes. [`Query::within`](sensetree_core::Query::within) bounds
    /// a whole search.
    pub fn stage_budget(mut self, budget: Duration) -> Self {
        self.stage_budget = Some(budget);
        self
    }

    /// How to find out whether a document is still there. Default: [`OnDisk`].
    pub fn existence(mut self, existence: impl Existence) -> Self {
        self.existence = Some(Arc::new(existence));
        self
    }

    /// For documents that are not files: takes all of them to be there.
    pub fn without_existence_check(mut self) -> Self {
        self.existence = None;
        self
    }

    /// Applies what the settings say of retrieval: the fusion rule, the shares and budgets, and the switches, by which a part
    /// that was added is not asked after all, and the page says so. Which models to load is for whoever loads them.
    pub fn settings(mut self, settings: &Settings) -> Self {
        let retrieval = &settings.retrieval;
        (self.hybrid, self.rerank) = (retrieval.hybrid, retrieval.rerank);
        self.fusion = retrieval.fusion.build();
        self.order = retrieval.rerank_order.unwrap_or(self.order);
        self.chunks_per_file = retrieval.chunks_per_file;
        self.stage_budget = retrieval.stage_budget();
        self
    }

    /// Checks that the parts fit together.
    ///
    /// # Errors
    /// [`Error::FingerprintMismatch`] when the store was filled by another embedder, [`Error::InvalidInput`] when no leg is left or
    /// a number in the settings is out of range.
    pub fn build(self) -> Result<Pipeline> {
        self.store.fingerprint().expect(self.embedder.fingerprint())?;
        let fusion = self.fusion?;
        const OFF: &str = "switched off in the settings";
        let sparse_off = if self.hybrid { "no sparse retriever" } else { OFF };
        let rerank_off = if self.rerank { "no reranker" } else { OFF };
        let sparse = self.sparse.filter(|_| self.hybrid);
        let reranker = self.reranker.filter(|_| self.rerank);
        let sparse_counts = sparse.is_some() && fusion.weight(Leg::Sparse) > 0.0;
        if fusion.weight(Leg::Dense) <= 0.0 && !sparse_counts {
            return Err(Error::invalid(
                "no leg is left: the fusion gives dense no weight and there is no sparse retriever; add one",
            ));
        }
        Ok(Pipeline {
            parts: Arc::new(Parts {
                embedder: self.embedder,
                store: self.store,
                sparse,
                sparse_off,
                rerank_off,
                fusion,
                rerank: reranker.map(|reranker| Rerank::new(reranker, self.order, self.chunks_per_file)),
                stages: self.stages,
                existence: self.existence,
                least: self.least,
                stage_budget: self.stage_budget,
            }),
        })
    }
}
