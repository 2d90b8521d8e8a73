//! Embedders behind a service that is down, or has a bad moment.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use sensetree_core::{Embedding, Error, Fingerprint, Result};

use super::*;
use crate::Status;

fn timed_out() -> Error {
    Error::Remote { doing: "embed texts", endpoint: "http://localhost".into(), reason: "it timed out".into(), transient: true }
}

/// Times out for texts with a word, and for everything while it is down.
#[derive(Debug, Default)]
pub(super) struct Service {
    word: &'static str,
    /// Calls that work before it goes down.
    calls_left: AtomicUsize,
    calls: AtomicUsize,
}

impl Service {
    pub(super) fn up() -> Self {
        Self { calls_left: usize::MAX.into(), word: "zebra", ..Self::default() }
    }

    fn down_after(calls: usize) -> Self {
        Self { calls_left: calls.into(), word: "zebra", ..Self::default() }
    }

    #[cfg(feature = "watch")]
    pub(super) fn set_up(&self, is_up: bool) {
        self.calls_left.store(if is_up { usize::MAX } else { 0 }, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Remote(Arc<RecordingEmbedder<MockEmbedder>>, Arc<Service>);

#[async_trait]
impl Embedder for Remote {
    fn fingerprint(&self) -> &Fingerprint {
        self.0.fingerprint()
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.0.embed_query(text).await
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        self.1.calls.fetch_add(1, Ordering::Relaxed);
        let is_up = self.1.calls_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        if !is_up || texts.iter().any(|text| text.contains(self.1.word)) {
            return Err(timed_out());
        }
        self.0.embed_passages(texts).await
    }
}

pub(super) fn remote(desk: &Desk, service: &Arc<Service>) -> Arc<dyn Embedder> {
    Arc::new(Remote(desk.embedder.clone(), service.clone()))
}

fn sync_by(desk: &Desk, service: &Arc<Service>) -> Report {
    let indexer = Indexer::builder(remote(desk, service), desk.store.clone()).build().expect("good settings");
    block_on(indexer.sync(&[desk.folder.path()], |_| {})).expect("what may pass is no error")
}

#[test]
fn a_service_that_is_down_is_asked_three_times_and_the_files_stay_pending() {
    let desk = Desk::new();
    (0..500).for_each(|number| desk.write(format!("f{number}.md"), format!("content number{number}")));
    let service = Arc::new(Service::down_after(0));
    let report = sync_by(&desk, &service);
    assert_eq!(service.calls.load(Ordering::Relaxed), 3);
    assert_eq!((counts(&report), report.pending, report.failed.len()), ((0, 0, 0, 0), 500, 0));
    assert!(report.stopped.as_ref().is_some_and(|reason| reason.contains("it timed out")), "{report}");
    assert!(report.to_string().contains("500 files pending"), "{report}");
    assert_eq!(counts(&sync_by(&desk, &Arc::new(Service::up()))), (500, 0, 0, 0));
}

#[test]
fn what_was_embedded_before_the_service_went_down_is_committed() {
    let desk = Desk::new();
    (0..500).for_each(|number| desk.write(format!("f{number}.md"), format!("content number{number}")));
    let report = sync_by(&desk, &Arc::new(Service::down_after(3)));
    assert_eq!((report.new, report.pending), (3 * 64, 500 - 3 * 64));
    assert_eq!(desk.stored().len(), 3 * 64);
    let again = sync_by(&desk, &Arc::new(Service::up()));
    assert_eq!((again.new, again.pending, again.stopped), (500 - 3 * 64, 0, None));
}

#[test]
fn a_changed_or_removed_file_of_a_service_that_is_down_stays_as_it_was_or_leaves() {
    let desk = Desk::with(&[("a.md", "apple"), ("b.md", "banana"), ("c.md", "cherry")]);
    desk.sync();
    desk.write("a.md", "avocado");
    desk.remove("b.md");
    fs::rename(desk.path("c.md"), desk.path("d.md")).expect("a rename");
    let report = sync_by(&desk, &Arc::new(Service::down_after(0)));
    assert_eq!(report.pending + report.moved, 2);
    assert_eq!(desk.found("apple"), ["a.md"]);
    assert!(desk.found("cherry").len() == 1, "under the old name or the new one");
    let report = sync_by(&desk, &Arc::new(Service::up()));
    assert_eq!(report.stopped, None);
    assert_eq!((desk.stored(), desk.found("avocado")), (vec!["a.md".to_owned(), "d.md".to_owned()], vec!["a.md".to_owned()]));
}

#[test]
fn a_text_that_times_out_is_tried_in_three_syncs_and_then_left_alone() {
    let desk = Desk::with(&[("a.md", "alpha"), ("z.md", "a zebra")]);
    let service = Arc::new(Service::up());
    let indexer = desk.builder().build().expect("good settings");
    for tries in 1..=3 {
        let report = sync_by(&desk, &service);
        assert_eq!((report.failed.len(), report.failed[0].tries, report.pending), (1, tries, 0));
        let status = block_on(indexer.status(desk.path("z.md"))).expect("the store answers");
        assert!(matches!(status, Status::Failed { tries: said, is_final, .. } if said == tries && is_final == (tries == 3)));
        assert_eq!(desk.found("zebra").len(), 0);
    }
    let calls = service.calls.load(Ordering::Relaxed);
    let report = sync_by(&desk, &service);
    assert_eq!((report.failed.len(), report.failed[0].tries), (1, 3));
    assert_eq!(service.calls.load(Ordering::Relaxed), calls);
    desk.write("z.md", "a horse");
    assert_eq!(counts(&sync_by(&desk, &service)), (0, 1, 1, 0));
}

#[test]
fn a_text_that_timed_out_once_is_indexed_by_the_next_sync() {
    let desk = Desk::with(&[("a.md", "alpha"), ("z.md", "a zebra")]);
    assert_eq!(sync_by(&desk, &Arc::new(Service::up())).failed.len(), 1);
    assert_eq!(counts(&desk.sync()), (0, 1, 1, 0));
    assert_eq!(desk.found("zebra"), ["z.md"]);
}
