//! Files that cannot be read, embedders that fail, stores that cannot tidy up.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use sensetree_core::{Embedding, Error, Fingerprint, Hit, Result, StoreStats, testing::FailingEmbedder};

use super::*;

fn files(count: usize) -> Desk {
    let desk = Desk::new();
    (0..count).for_each(|number| desk.write(format!("f{number:03}.md"), format!("content number{number}")));
    desk
}

fn sync_by(desk: &Desk, embedder: impl Embedder) -> Result<Report> {
    let indexer = Indexer::builder(Arc::new(embedder), desk.store.clone()).build()?;
    block_on(indexer.sync(&[desk.folder.path()], |_| {}))
}

#[test]
fn a_text_that_cannot_be_embedded_costs_its_file_only() {
    let desk = files(100);
    desk.write("f050.md", "a zebra");
    desk.write("f051.md", "first\n\n".to_owned() + &"filler words ".repeat(1000) + "and a zebra");
    let report = sync_by(&desk, FailingEmbedder::new(MockEmbedder::new(64), "zebra")).expect("the others are fine");
    assert_eq!((counts(&report), report.failed.len()), ((98, 0, 0, 0), 2));
    assert!(reason(&report.failed, "f050.md").contains("cannot be used"));
    assert!(desk.found("zebra").is_empty());
    assert!(desk.found("f050").contains(&"f050.md".to_owned()), "its name is all that is known of it");
}

#[test]
fn a_changed_file_that_cannot_be_embedded_stays_as_it_was() {
    let desk = Desk::with(&[("a.md", "apple"), ("b.md", "banana")]);
    desk.sync();
    desk.write("a.md", "a zebra");
    let report = sync_by(&desk, FailingEmbedder::new(MockEmbedder::new(64), "zebra")).expect("it is one file only");
    assert_eq!((counts(&report), report.failed.len()), ((0, 0, 1, 0), 1));
    assert_eq!(desk.found("apple"), ["a.md"]);
}

#[test]
fn an_embedder_that_can_do_nothing_ends_the_run() {
    let desk = files(10);
    let error = sync_by(&desk, FailingEmbedder::new(MockEmbedder::new(64), "")).expect_err("there is no model");
    assert!(matches!(error, Error::InvalidEmbedding(_)));
    assert!(desk.stored().is_empty());
}

/// Embeds so many texts and nothing after that, as when a server goes away.
#[derive(Debug)]
struct Dying {
    inner: MockEmbedder,
    left: AtomicUsize,
}

#[async_trait]
impl Embedder for Dying {
    fn fingerprint(&self) -> &Fingerprint {
        self.inner.fingerprint()
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.inner.embed_query(text).await
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        let alive = |left: usize| left.checked_sub(texts.len());
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, alive).is_err() {
            self.left.store(0, Ordering::Relaxed);
            return Err(Error::ModelUnavailable { model: "m".into(), hint: "start the server".into() });
        }
        self.inner.embed_passages(texts).await
    }
}

#[test]
fn what_was_embedded_before_the_model_went_away_is_committed() {
    let desk = Desk::new();
    // Three chunks each, so that the first full call finishes 21 files, too few for a commit.
    (0..40).for_each(|file| desk.write(format!("f{file}.txt"), format!("file{file} {}", "word ".repeat(500))));
    let dying = Dying { inner: MockEmbedder::new(64), left: 70.into() };
    assert!(matches!(sync_by(&desk, dying), Err(Error::ModelUnavailable { .. })));
    assert_eq!(desk.stored().len(), 21);
    assert_eq!(counts(&desk.sync()), (19, 0, 21, 0));
}

/// Breaks the contract in one way or another.
#[derive(Debug)]
struct Odd(MockEmbedder, fn(Vec<Embedding>) -> Vec<Embedding>);

#[async_trait]
impl Embedder for Odd {
    fn fingerprint(&self) -> &Fingerprint {
        self.0.fingerprint()
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.0.embed_query(text).await
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        Ok((self.1)(self.0.embed_passages(texts).await?))
    }
}

#[test]
fn an_embedder_that_breaks_its_contract_is_named_and_nothing_is_stored() {
    let short = |_| vec![Embedding::new(vec![1.0]).expect("finite")];
    let wrong: [fn(Vec<Embedding>) -> Vec<Embedding>; 4] =
        [|_| Vec::new(), |vectors| [vectors.clone(), vectors].concat(), short, |_| panic!("seven is not a number")];
    for odd in wrong {
        let desk = files(1);
        let error = sync_by(&desk, Odd(MockEmbedder::new(64), odd)).expect_err("it cannot be used");
        assert!(matches!(&error, Error::Contract { part, .. } if part == "embedder"), "{error}");
        assert!(desk.stored().is_empty());
    }
}

/// Remembers how large the calls were.
#[derive(Debug)]
struct Measuring(MockEmbedder, std::sync::Mutex<Vec<usize>>);

#[async_trait]
impl Embedder for Measuring {
    fn fingerprint(&self) -> &Fingerprint {
        self.0.fingerprint()
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.0.embed_query(text).await
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        self.1.lock().expect("no test panics here").push(texts.len());
        self.0.embed_passages(texts).await
    }
}

#[test]
fn calls_and_commits_are_bounded_and_small_files_share_a_call() {
    let desk = files(200);
    desk.write("large.txt", "many words in one file. ".repeat(20_000));
    let embedder = Arc::new(Measuring(MockEmbedder::new(64), Default::default()));
    let indexer = Indexer::builder(embedder.clone(), desk.store.clone()).build().expect("good settings");
    let mut commits = Vec::new();
    let progress = |event| {
        if let Event::Committed { documents, .. } = event {
            commits.push(documents)
        }
    };
    block_on(indexer.sync(&[desk.folder.path()], progress)).expect("a sync");
    let calls = embedder.1.lock().expect("no test panics here").clone();
    assert!(calls.iter().all(|&texts| texts <= 64), "{calls:?}");
    assert!(calls.len() < 30, "{calls:?}");
    assert!(commits.iter().all(|&documents| documents < 128), "{commits:?}");
    assert_eq!(commits.iter().sum::<u64>(), 201);
}

/// `/proc/self/mem` is a regular file that nobody, root included, can read from its start.
#[cfg(target_os = "linux")]
#[test]
fn an_unreadable_file_is_reported_and_stays_as_it_was() {
    let desk = Desk::with(&[("a.md", "apple"), ("b.md", "banana")]);
    desk.sync();
    desk.remove("a.md");
    std::os::unix::fs::symlink("/proc/self/mem", desk.path("a.md")).expect("a link");
    desk.write("b.md", "blueberry");
    let report = desk.sync_with(desk.builder().follow_links(true));
    assert!(reason(&report.failed, "a.md").contains("cannot read"));
    assert_eq!((desk.found("apple"), desk.found("blueberry")), (vec!["a.md".to_owned()], vec!["b.md".to_owned()]));
}

#[cfg(unix)]
#[test]
fn a_file_and_a_folder_without_permission_keep_what_is_stored_and_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::with(&[("a.md", "apple"), ("locked/b.md", "banana"), ("c.md", "cherry")]);
    desk.sync();
    desk.write("a.md", "avocado");
    let allow = |name: &str, mode| fs::set_permissions(desk.path(name), fs::Permissions::from_mode(mode)).expect("it is ours");
    allow("a.md", 0o000);
    allow("locked", 0o000);
    if fs::File::open(desk.path("a.md")).is_ok() {
        eprintln!("not run: this user may read everything, so no permission can be denied");
        allow("locked", 0o755);
        return;
    }
    let report = desk.sync();
    allow("locked", 0o755);
    assert_eq!((counts(&report), report.failed.len()), ((0, 0, 1, 0), 2), "{report}");
    assert!(reason(&report.failed, "a.md").contains("ermission denied"), "{report}");
    assert!(reason(&report.failed, "locked").contains("ermission denied"), "{report}");
    assert_eq!((desk.found("apple"), desk.found("banana")), (vec!["a.md".to_owned()], vec!["locked/b.md".to_owned()]));
    allow("a.md", 0o644);
    assert_eq!(counts(&desk.sync()), (0, 1, 2, 0));
}

/// Passes on everything but the tidying.
#[derive(Debug)]
struct Untidy(Arc<MemoryStore>);

#[async_trait]
impl Store for Untidy {
    fn fingerprint(&self) -> &Fingerprint {
        self.0.fingerprint()
    }

    async fn nearest(&self, vector: &Embedding, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        self.0.nearest(vector, filter, limit).await
    }

    async fn commit(&self, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()> {
        self.0.commit(documents, removed).await
    }

    async fn remove(&self, filter: &Filter) -> Result<u64> {
        self.0.remove(filter).await
    }

    async fn documents(&self, filter: &Filter) -> Result<Vec<DocumentInfo>> {
        self.0.documents(filter).await
    }

    async fn chunks(&self, key: &DocumentKey) -> Result<Vec<Chunk>> {
        self.0.chunks(key).await
    }

    async fn stats(&self) -> Result<StoreStats> {
        self.0.stats().await
    }

    async fn maintain(&self) -> Result<()> {
        Err(Error::other("compact the store", std::io::Error::other("disk full")))
    }
}

#[test]
fn a_store_that_cannot_tidy_up_is_a_warning_and_is_not_asked_without_changes() {
    let desk = files(2);
    let store = Arc::new(Untidy(desk.store.clone()));
    let indexer = Indexer::builder(desk.embedder.clone(), store).build().expect("good settings");
    let report = block_on(indexer.sync(&[desk.folder.path()], |_| {})).expect("everything is stored");
    assert!(report.warnings[0].contains("disk full"), "{:?}", report.warnings);
    let report = block_on(indexer.sync(&[desk.folder.path()], |_| {})).expect("nothing to do");
    assert!(report.warnings.is_empty());
}
