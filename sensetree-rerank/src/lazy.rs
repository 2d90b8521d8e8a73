use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use sensetree_core::{Reranker, Result, ScoreScale};
use sensetree_lazy::Lazy;

/// A reranker that is loaded when it is first asked, so that a program starts, and searches, without it, and that can be
/// released when idle.
///
/// Searches that come while it loads wait for that one load, which goes on when their time is over. While loading fails, every
/// search reports why and keeps the fused order; the next search tries again. Must be asked within a tokio runtime.
#[derive(Debug)]
pub struct LazyReranker {
    scale: ScoreScale,
    lazy: Lazy<dyn Reranker>,
}

impl LazyReranker {
    /// A reranker of this name and scale, had from `load`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use sensetree_core::{ScoreScale, testing::MockReranker};
    /// use sensetree_rerank::LazyReranker;
    ///
    /// let load = || async { Ok(MockReranker::word_overlap()) }; // `|| CrossEncoder::open("models/bge-reranker-v2-m3")`
    /// let reranker = LazyReranker::new("word overlap", ScoreScale::Unit, load).release_after(Duration::from_secs(600));
    /// ```
    pub fn new<R, F>(name: impl Into<String>, scale: ScoreScale, load: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        R: Reranker,
        F: Future<Output = Result<R>> + Send + 'static,
    {
        let load = move || {
            let loading = load();
            async move { Ok(Arc::new(loading.await?) as Arc<dyn Reranker>) }
        };
        Self { scale, lazy: Lazy::new(name, load) }
    }

    /// Drops the model when nobody has asked it for `idle`; the next use loads it again. Default: it stays.
    #[must_use]
    pub fn release_after(mut self, idle: Duration) -> Self {
        self.lazy = self.lazy.release_after(idle);
        self
    }

    /// Starts loading, unless it is loaded, and returns at once. If it fails, the next use tries again and tells.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](sensetree_core::Error::InvalidInput) outside a tokio runtime.
    pub fn preload(&self) -> Result<()> {
        self.lazy.preload()
    }

    /// Whether the model is in memory now.
    pub fn is_loaded(&self) -> bool {
        self.lazy.is_loaded()
    }
}

#[async_trait]
impl Reranker for LazyReranker {
    fn name(&self) -> &str {
        self.lazy.name()
    }

    fn scale(&self) -> ScoreScale {
        self.scale
    }

    async fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        self.lazy.get().await?.score(query, passages).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sensetree_core::{
        Error,
        testing::{MockReranker, reranker_suite},
    };
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Fails at the first load; and how often it was loaded.
    fn failing_once() -> (LazyReranker, Arc<AtomicUsize>) {
        let tries = Arc::new(AtomicUsize::new(0));
        let counter = tries.clone();
        let reranker = LazyReranker::new("late", ScoreScale::Unit, move || {
            let first = counter.fetch_add(1, SeqCst) == 0;
            async move {
                let missing = || Error::ModelUnavailable { model: "late".into(), hint: "fetch it".into() };
                if first { Err(missing()) } else { Ok(MockReranker::word_overlap()) }
            }
        });
        (reranker, tries)
    }

    #[tokio::test]
    async fn a_failed_load_is_told_and_tried_again() {
        let (reranker, tries) = failing_once();
        assert!(matches!(reranker.score("a", &["a"]).await, Err(Error::ModelUnavailable { .. })));
        assert_eq!(reranker.score("a", &["a", "b"]).await.expect("the second load works"), [1.0, 0.0]);
        assert_eq!(reranker.score("a", &["a"]).await.expect("it stays loaded"), [1.0]);
        assert_eq!(tries.load(SeqCst), 2);
    }

    #[tokio::test]
    async fn it_passes_the_suite() {
        let reranker = LazyReranker::new("late", ScoreScale::Unit, || async { Ok(MockReranker::word_overlap()) });
        assert_eq!((reranker.name(), reranker.scale()), ("late", ScoreScale::Unit));
        assert_eq!(reranker.score("lamp", &[]).await.expect("nothing for nothing"), Vec::<f32>::new());
        assert!(!reranker.is_loaded(), "nothing needs no model");
        reranker_suite(&reranker).await;
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_preloaded_and_released() {
        let (reranker, tries) = failing_once();
        let reranker = reranker.release_after(Duration::from_secs(60));
        for loaded in [false, true] {
            reranker.preload().expect("within a runtime");
            tokio::time::sleep(Duration::from_secs(30)).await;
            assert_eq!(reranker.is_loaded(), loaded, "the first load fails");
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!reranker.is_loaded());
        reranker.score("a", &["a"]).await.expect("it loads again");
        assert_eq!(tries.load(SeqCst), 3);
    }
}
