use std::{fmt::Debug, future::Future, pin::Pin, sync::Arc};

use async_trait::async_trait;
use futures::lock::Mutex;
use sensetree_core::{Reranker, Result, ScoreScale};

type Loading = Pin<Box<dyn Future<Output = Result<Arc<dyn Reranker>>> + Send>>;

/// A reranker that is loaded when it is first asked, so that a program starts, and searches, without it.
///
/// While loading fails, every search reports why and keeps the fused order; the next search tries again.
pub struct LazyReranker {
    name: String,
    scale: ScoreScale,
    load: Box<dyn Fn() -> Loading + Send + Sync>,
    loaded: Mutex<Option<Arc<dyn Reranker>>>,
}

impl LazyReranker {
    /// A reranker of this name and scale, had from `load`.
    ///
    /// ```no_run
    /// use sensetree_core::ScoreScale;
    /// use sensetree_rerank::{CrossEncoder, LazyReranker};
    ///
    /// let reranker = LazyReranker::new("bge-reranker-v2-m3", ScoreScale::Logit, || CrossEncoder::open("models/bge-reranker-v2-m3"));
    /// ```
    pub fn new<R, F>(name: impl Into<String>, scale: ScoreScale, load: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        R: Reranker,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        let load = move || -> Loading {
            let loading = load();
            Box::pin(async move { Ok(Arc::new(loading.await?) as Arc<dyn Reranker>) })
        };
        Self { name: name.into(), scale, load: Box::new(load), loaded: Mutex::new(None) }
    }

    async fn reranker(&self) -> Result<Arc<dyn Reranker>> {
        // Held while loading: searches that come meanwhile wait for the one load.
        let mut loaded = self.loaded.lock().await;
        if let Some(reranker) = &*loaded {
            return Ok(reranker.clone());
        }
        let reranker = (self.load)().await?;
        Ok(loaded.insert(reranker).clone())
    }
}

impl Debug for LazyReranker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyReranker").field("name", &self.name).field("scale", &self.scale).finish_non_exhaustive()
    }
}

#[async_trait]
impl Reranker for LazyReranker {
    fn name(&self) -> &str {
        &self.name
    }

    fn scale(&self) -> ScoreScale {
        self.scale
    }

    async fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        self.reranker().await?.score(query, passages).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use sensetree_core::{Error, testing::MockReranker};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_failed_load_is_told_and_tried_again() {
        let tries = Arc::new(AtomicUsize::new(0));
        let counter = tries.clone();
        let reranker = LazyReranker::new("late", ScoreScale::Unit, move || {
            let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
            async move {
                let missing = || Error::ModelUnavailable { model: "late".into(), hint: "fetch it".into() };
                if first { Err(missing()) } else { Ok(MockReranker::word_overlap()) }
            }
        });
        assert!(matches!(block_on(reranker.score("a", &["a"])), Err(Error::ModelUnavailable { .. })));
        assert_eq!(block_on(reranker.score("a", &["a", "b"])).expect("the second load works"), [1.0, 0.0]);
        assert_eq!(block_on(reranker.score("a", &["a"])).expect("it stays loaded"), [1.0]);
        assert_eq!(tries.load(Ordering::SeqCst), 2);
    }
}
