//! Budgets, progressive pages, cancelling, spans.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures::StreamExt;

use super::*;

/// On a clock that goes on by itself as soon as everybody waits for it: what can be done at once is done in no time.
fn paused<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime starts")
        .block_on(test)
}

/// Scores nothing, forever; counts the calls that began and those that were dropped.
#[derive(Debug, Default)]
struct Endless {
    begun: AtomicUsize,
    dropped: Arc<AtomicUsize>,
}

struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Endless {
    async fn forever<T>(&self) -> T {
        let _counted = CountDrop(self.dropped.clone());
        self.begun.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }

    fn counts(&self) -> (usize, usize) {
        (self.begun.load(Ordering::SeqCst), self.dropped.load(Ordering::SeqCst))
    }
}

#[async_trait]
impl Reranker for Endless {
    fn name(&self) -> &str {
        "endless"
    }
    fn scale(&self) -> ScoreScale {
        ScoreScale::Logit
    }
    async fn score(&self, _: &str, _: &[&str]) -> Result<Vec<f32>> {
        self.forever().await
    }
}

#[async_trait]
impl SparseRetriever for Endless {
    async fn retrieve(&self, _: &str, _: &Filter, _: usize) -> Result<Vec<Hit>> {
        self.forever().await
    }
}

#[test]
fn a_reranker_that_never_returns_leaves_the_fused_order_when_its_time_is_up() {
    paused(async {
        let (embedder, store) = filled(NOTES).await;
        let builder = || Pipeline::builder(embedder.clone(), store.clone()).sparse(store.clone()).without_existence_check();
        let fused = builder().build().expect("the parts fit").search(Query::new("boiler")).await.expect("the search runs");
        let endless = Arc::new(Endless::default());
        let pipeline =
            builder().reranker(endless.clone()).stage_budget(Duration::from_millis(50)).build().expect("the parts fit");
        let page = pipeline.search(Query::new("boiler")).await.expect("the search goes on");
        assert_eq!(page.results, fused.results);
        assert_eq!(status(&page, "rerank"), StageStatus::Failed);
        assert!(reason(&page, "rerank").contains("within the stage's time budget of 50ms"), "{}", reason(&page, "rerank"));
        assert_eq!(endless.counts(), (1, 1), "the work was dropped");
    });
}

#[test]
fn a_leg_that_never_returns_is_left_behind_and_the_query_ends_in_time() {
    paused(async {
        let (embedder, store) = filled(NOTES).await;
        let endless = Arc::new(Endless::default());
        let pipeline = Pipeline::builder(embedder, store)
            .sparse(endless.clone())
            .reranker(endless.clone())
            .without_existence_check()
            .build()
            .expect("the parts fit");
        let page = pipeline.search(Query::new("boiler").within(Duration::from_millis(50))).await.expect("dense answered");
        assert_eq!(page.results.len(), 3);
        for stage in ["sparse", "rerank"] {
            assert_eq!(status(&page, stage), StageStatus::Failed);
            assert!(reason(&page, stage).contains("query's time budget of 50ms"), "{}", reason(&page, stage));
        }
        assert_eq!(endless.counts(), (1, 1), "no time was left to begin reranking");
    });
}

#[test]
fn the_fused_page_comes_first_and_the_reranked_one_follows() {
    paused(async {
        let (embedder, store) = filled(NOTES).await;
        let builder = || Pipeline::builder(embedder.clone(), store.clone()).sparse(store.clone()).without_existence_check();
        let by_word = || MockReranker::new(ScoreScale::Logit, |_, passage| if passage.contains("warranty") { 2.0 } else { -2.0 });
        let pipeline = builder().reranker(by_word()).build().expect("the parts fit");
        let pages: Vec<Page> =
            pipeline.search_progressively(Query::new("boiler")).map(|page| page.expect("the search runs")).collect().await;
        let fused = builder().build().expect("the parts fit").search(Query::new("boiler")).await.expect("the search runs");
        let last = pipeline.search(Query::new("boiler")).await.expect("the search runs");
        assert_eq!(pages.iter().map(|page| page.complete).collect::<Vec<_>>(), [false, true]);
        assert_eq!((&pages[0].results, &pages[1].results), (&fused.results, &last.results));
        assert_ne!(fused.results, last.results);
        assert_eq!(reason(&pages[0], "rerank"), "not yet");

        let plain = builder().build().expect("the parts fit");
        for (query, results) in [("boiler", 3), ("  ", 0)] {
            let pages: Vec<_> = plain.search_progressively(Query::new(query)).collect().await;
            assert_eq!(pages.len(), 1);
            assert!(pages[0].as_ref().is_ok_and(|page| page.complete && page.results.len() == results));
        }
    });
}

#[test]
fn dropping_a_search_drops_the_work() {
    paused(async {
        let (embedder, store) = filled(NOTES).await;
        let endless = Arc::new(Endless::default());
        let pipeline = Pipeline::builder(embedder, store).reranker(endless.clone()).without_existence_check();
        let pipeline = pipeline.build().expect("the parts fit");

        let mut pages = pipeline.search_progressively(Query::new("boiler"));
        let first = pages.next().await.expect("there is a page").expect("the search runs");
        assert_eq!((first.results.len(), endless.counts()), (3, (0, 0)), "whoever takes one page pays for one");
        let second = tokio::time::timeout(Duration::from_millis(50), pages.next()).await;
        assert!(second.is_err() && endless.counts() == (1, 0), "the reranker is at work");
        drop(pages);
        assert_eq!(endless.counts(), (1, 1));

        let search = pipeline.search(Query::new("boiler"));
        assert!(tokio::time::timeout(Duration::from_millis(50), search).await.is_err());
        assert_eq!(endless.counts(), (2, 2));
    });
}

#[test]
fn every_stage_has_a_span_with_counts_and_times() {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("nobody panicked").extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .finish();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    // With one subscriber, `tracing` asks that of whatever thread comes to a span first, which in other tests has none.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    tracing::subscriber::with_default(subscriber, || {
        runtime.block_on(async {
            let (embedder, store) = filled(NOTES).await;
            let pipeline = Pipeline::builder(embedder, store.clone())
                .sparse(store)
                .reranker(PanickingReranker)
                .without_existence_check()
                .build()
                .expect("the parts fit");
            pipeline.search(Query::new("boiler")).await.expect("the search runs");
        });
    });
    let log = String::from_utf8(log.0.lock().expect("nobody panicked").clone()).expect("text");
    for stage in ["dense", "sparse", "fusion", "rerank", "dedup"] {
        let line = log.lines().find(|line| line.contains(&format!("stage{{name=\"{stage}\" status=")) && line.contains("close"));
        let line = line.unwrap_or_else(|| panic!("{stage} has a span:\n{log}"));
        for field in ["input=", "output=", "ms=", "status=", "search{characters=6 limit=20}"] {
            assert!(line.contains(field), "{field} in {line}");
        }
    }
    assert!(!log.contains("boiler"), "what was asked is not logged");
}
