use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use sensetree_core::{Embedder, Embedding, Fingerprint, Result, TokenCounter};
use sensetree_lazy::Lazy;

/// An embedder that is loaded when it is first asked, so that a program starts without it, and that can be released when idle.
///
/// Searches that come while it loads wait for that one load; while loading fails, each is told why, and the next one tries again.
/// Must be asked within a tokio runtime.
#[derive(Debug)]
pub struct LazyEmbedder {
    fingerprint: Fingerprint,
    lazy: Lazy<dyn Embedder>,
}

impl LazyEmbedder {
    /// An embedder with this fingerprint, had from `load`.
    ///
    /// A store keeps the fingerprint that it was filled with, so the model that filled it need not be loaded to open it:
    ///
    /// ```
    /// use sensetree_core::{Store, memory::MemoryStore, testing::MockEmbedder};
    /// use sensetree_embed::LazyEmbedder;
    ///
    /// fn embedder_of(store: &dyn Store) -> LazyEmbedder {
    ///     LazyEmbedder::new(store.fingerprint().clone(), || async { Ok(MockEmbedder::new(64)) })
    /// }
    /// ```
    ///
    /// What is loaded is compared with it: an embedder of another fingerprint is refused with
    /// [`Error::FingerprintMismatch`](sensetree_core::Error::FingerprintMismatch) by every call.
    pub fn new<E, F>(fingerprint: Fingerprint, load: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        E: Embedder,
        F: Future<Output = Result<E>> + Send + 'static,
    {
        let expected = fingerprint.clone();
        let load = move || {
            let (loading, expected) = (load(), expected.clone());
            async move {
                let embedder = loading.await?;
                expected.expect(embedder.fingerprint())?;
                Ok(Arc::new(embedder) as Arc<dyn Embedder>)
            }
        };
        let lazy = Lazy::new(fingerprint.model(), load);
        Self { fingerprint, lazy }
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
impl Embedder for LazyEmbedder {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.lazy.get().await?.embed_query(text).await
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        self.lazy.get().await?.embed_passages(texts).await
    }

    async fn token_counter(&self) -> Result<Option<TokenCounter>> {
        self.lazy.get().await?.token_counter().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sensetree_core::{Error, testing::MockEmbedder};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Loads a mock of 64 dimensions for the given fingerprint; and how often it did.
    fn lazy(fingerprint: Fingerprint) -> (LazyEmbedder, Arc<AtomicUsize>) {
        let loads = Arc::new(AtomicUsize::new(0));
        let counter = loads.clone();
        let embedder = LazyEmbedder::new(fingerprint, move || {
            counter.fetch_add(1, SeqCst);
            async { Ok(MockEmbedder::new(64)) }
        });
        (embedder, loads)
    }

    #[tokio::test]
    async fn it_passes_the_suite_and_loads_once() {
        let (embedder, loads) = lazy(MockEmbedder::new(64).fingerprint().clone());
        assert_eq!(embedder.fingerprint().dimension(), 64);
        assert_eq!(embedder.embed_passages(&[]).await.expect("nothing for nothing"), []);
        assert_eq!(loads.load(SeqCst), 0, "neither its fingerprint nor nothing needs the model");
        sensetree_core::testing::embedder_suite(&embedder).await;
        assert_eq!(loads.load(SeqCst), 1);
    }

    #[tokio::test]
    async fn tokens_are_counted_by_what_it_loads() {
        let (without, loads) = lazy(MockEmbedder::new(64).fingerprint().clone());
        assert!(without.token_counter().await.expect("it loads").is_none());
        assert_eq!(loads.load(SeqCst), 1);
        let fingerprint = MockEmbedder::new(64).fingerprint().clone();
        let with = Arc::new(LazyEmbedder::new(fingerprint, || async { Ok(MockEmbedder::new(64).counting_words()) }));
        let counter = with.token_counter().await.expect("it loads").expect("it counts");
        assert_eq!(counter.count("the boiler was serviced"), 4);
    }

    #[tokio::test]
    async fn an_embedder_of_another_space_is_refused_by_every_call() {
        let (embedder, loads) = lazy(Fingerprint::new("mock-embedder", 32));
        for _ in 0..2 {
            let error = embedder.embed_query("lamp").await.expect_err("32 is not 64");
            assert!(
                matches!(&error, Error::FingerprintMismatch { stored, given } if stored.dimension() == 32 && given.dimension() == 64),
                "{error:?}"
            );
        }
        assert!(!embedder.is_loaded());
        assert_eq!(loads.load(SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_preloaded_and_released() {
        let (embedder, loads) = lazy(MockEmbedder::new(64).fingerprint().clone());
        let embedder = embedder.release_after(Duration::from_secs(60));
        embedder.preload().expect("within a runtime");
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert!(embedder.is_loaded());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!embedder.is_loaded());
        embedder.embed_query("lamp").await.expect("it loads again");
        assert_eq!(loads.load(SeqCst), 2);
    }

    /// Run it alone: it shows what the whole process holds in memory.
    #[cfg(all(feature = "onnx", target_os = "linux"))]
    #[tokio::test]
    #[ignore = "measures the memory of a real model"]
    async fn a_released_model_gives_its_memory_back() {
        /// Resident memory of this process, in MiB.
        fn resident() -> usize {
            let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells");
            line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") / 1024
        }
        let named = std::env::var_os("SENSETREE_MODEL_DIR").map(std::path::PathBuf::from);
        let folder = named.or_else(|| Some(crate::runtime::cache_folder()?.join("models/all-MiniLM-L6-v2")));
        let folder = folder.filter(|f| f.is_dir()).expect("no model: run `make setup`, or set SENSETREE_MODEL_DIR");
        let folder = crate::ModelFolder::open(folder).expect("a model's folder");
        let open = move || {
            let folder = folder.clone();
            async move {
                let options = crate::ModelOptions::default().with_precision(crate::Precision::Fp32);
                crate::OnnxEmbedder::load(&folder, &options).await
            }
        };
        // Once before, so that the runtime library and the first pages of every allocator are no part of the figures.
        let fingerprint = open().await.expect("the model loads").fingerprint().clone();
        let embedder = LazyEmbedder::new(fingerprint, open).release_after(Duration::from_millis(100));
        for round in 0..3 {
            let before = resident();
            embedder.embed_query("when was the boiler serviced?").await.expect("the model loads");
            let loaded = resident();
            while embedder.is_loaded() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            // It is dropped on another thread.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let after = resident();
            println!("round {round}: {before} MiB before, {loaded} MiB loaded, {after} MiB after its release");
            assert!(after.saturating_sub(before) < loaded.saturating_sub(before) / 4, "most of it came back");
        }
    }
}
