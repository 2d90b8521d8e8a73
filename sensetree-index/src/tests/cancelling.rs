//! A run that stops in the middle.

use std::{
    collections::HashMap,
    future::pending,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use sensetree_core::{Embedding, Fingerprint, Result};

use super::*;

/// Never returns from a call after so many.
#[derive(Debug)]
struct Stuck {
    inner: Arc<RecordingEmbedder<MockEmbedder>>,
    calls_left: AtomicUsize,
}

#[async_trait]
impl Embedder for Stuck {
    fn fingerprint(&self) -> &Fingerprint {
        self.inner.fingerprint()
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.inner.embed_query(text).await
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        if self.calls_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err() {
            return pending().await;
        }
        self.inner.embed_passages(texts).await
    }
}

#[test]
fn a_cancelled_run_keeps_what_it_committed_and_goes_on_from_there() {
    let desk = Desk::new();
    for file in 0..40 {
        let parts: Vec<String> = (0..10).map(|part| format!("file{file} part{part} {}", "word ".repeat(150))).collect();
        desk.write(format!("f{file}.txt"), parts.join("\n\n"));
    }
    let stuck = Stuck { inner: desk.embedder.clone(), calls_left: 6.into() };
    let indexer = Indexer::builder(Arc::new(stuck), desk.store.clone()).build().expect("good settings");

    let roots = [desk.folder.path()];
    let mut sync = Box::pin(indexer.sync(&roots, |_| {}));
    let started = Instant::now();
    while desk.embedder.passages().len() < 6 * 64 {
        assert!(started.elapsed() < Duration::from_secs(60), "it never got so far");
        assert!(matches!(sync.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = sync.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    drop(sync);

    // The reading threads hold the settings as long as they run.
    while Arc::strong_count(&indexer.config) > 1 {
        assert!(started.elapsed() < Duration::from_secs(60), "a thread goes on for nobody");
        std::thread::sleep(Duration::from_millis(1));
    }
    let kept = desk.stored().len() as u64;
    assert!((20..40).contains(&kept), "{kept} documents were committed");
    assert!(desk.stored().iter().all(|name| desk.chunks(name).len() == 10), "only whole documents");

    assert_eq!(counts(&desk.sync()), (40 - kept, 0, kept, 0));
    let mut times: HashMap<String, usize> = HashMap::new();
    for text in desk.embedder.passages() {
        *times.entry(text).or_default() += 1;
    }
    assert_eq!(times.len(), 400, "everything is embedded");
    let twice = times.values().filter(|&&count| count > 1).count();
    assert!(twice <= 256, "{twice} chunks were embedded twice");
    assert!(times.values().all(|&count| count <= 2));
    assert_eq!(desk.stored().len(), 40);
}

#[test]
fn a_sync_can_run_on_any_thread() {
    fn can_be_sent<T: Send>(value: T) -> T {
        value
    }
    let desk = Desk::with(&[("a.md", "alpha")]);
    let indexer = desk.builder().build().expect("good settings");
    let roots = vec![desk.folder.path().to_owned()];
    let report = block_on(can_be_sent(indexer.sync(&roots, |_| {}))).expect("a sync");
    assert_eq!(report.new, 1);
}
