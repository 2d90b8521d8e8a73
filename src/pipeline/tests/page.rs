use proptest::prelude::*;

use super::*;
use crate::{Embedding, Fingerprint};

#[derive(Debug)]
struct OnlyEven;

#[async_trait]
impl Existence for OnlyEven {
    async fn exist(&self, paths: Vec<Arc<PathBuf>>) -> Result<Vec<bool>> {
        Ok(paths.iter().map(|p| p.to_string_lossy().bytes().last().is_some_and(|last| (last - b'0').is_multiple_of(2))).collect())
    }
}

async fn many(count: usize, chunks: usize) -> (Arc<MockEmbedder>, Arc<MemoryStore>) {
    let embedder = Arc::new(MockEmbedder::new(64));
    let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
    let paths: Vec<String> = (0..count).map(|i| format!("/m/{i:04}")).collect();
    let texts = vec!["lamp light"; chunks];
    let documents: Vec<(&str, &[&str])> = paths.iter().map(|path| (path.as_str(), &*texts)).collect();
    store.commit(embedded(&embedder, &documents).await, &[]).await.expect("whole documents are stored");
    (embedder, store)
}

#[test]
fn the_pool_widens_until_the_page_is_full_of_living_files() {
    run(async {
        let (embedder, store) = many(400, 1).await;
        let pipeline =
            Pipeline::builder(embedder, store.clone()).sparse(store).existence(OnlyEven).build().expect("the parts fit");
        let page = pipeline.search(Query::new("lamp").limit(100)).await.expect("the search runs");
        let expected: Vec<String> = (0..100).map(|i| format!("/m/{:04}", 2 * i)).collect();
        assert_eq!(paths(&page), expected, "160 chunks hold 80 living files, so the pool must grow");
        assert_eq!(page.stage("dense").map(|s| s.input), Some(320));
    });
}

#[test]
fn the_same_text_in_two_files_is_two_results() {
    run(async {
        let (embedder, store) = filled(&[("/a/LICENSE", &["the licence text"]), ("/b/LICENSE", &["the licence text"])]).await;
        let pipeline =
            Pipeline::builder(embedder, store.clone()).sparse(store).without_existence_check().build().expect("the parts fit");
        let page = pipeline.search(Query::new("licence")).await.expect("the search runs");
        assert_eq!(paths(&page), ["/a/LICENSE", "/b/LICENSE"]);
    });
}

#[test]
fn a_failing_existence_check_keeps_everything_and_is_told() {
    #[derive(Debug)]
    struct Unsure;
    #[async_trait]
    impl Existence for Unsure {
        async fn exist(&self, _: Vec<Arc<PathBuf>>) -> Result<Vec<bool>> {
            panic!("the network drive is away")
        }
    }
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let pipeline = Pipeline::builder(embedder, store).existence(Unsure).build().expect("the parts fit");
        let page = pipeline.search(Query::new("boiler")).await.expect("the search runs");
        assert_eq!(page.results.len(), 3);
        assert_eq!(status(&page, "fusion"), StageStatus::Ran);
        assert!(reason(&page, "fusion").contains("the network drive is away"));
    });
}

#[test]
fn files_that_are_gone_from_the_disk_are_not_shown() {
    run(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [kept, gone] = ["kept.md", "gone.md"].map(|name| folder.path().join(name));
        std::fs::write(&kept, "lamp").expect("a file is written");
        let names = [kept.to_str().expect("text"), gone.to_str().expect("text")];
        let (embedder, store) = filled(&[(names[0], &["lamp"]), (names[1], &["lamp"])]).await;
        let pipeline = Pipeline::builder(embedder, store).build().expect("the parts fit");
        let page = pipeline.search(Query::new("lamp")).await.expect("the search runs");
        assert_eq!(paths(&page), [names[0]]);
    });
}

#[test]
fn a_page_becomes_json_with_the_documented_names() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let pipeline = Pipeline::builder(embedder, store).without_existence_check().build().expect("the parts fit");
        let page = pipeline.search(Query::new("boiler").limit(1)).await.expect("the search runs");
        let json = serde_json::to_value(&page).expect("a page is serialisable");
        let stage = &json["stages"][0];
        assert_eq!((stage["name"].as_str(), stage["status"].as_str()), (Some("dense"), Some("ran")));
        assert_eq!((stage["in"].as_u64(), stage["out"].as_u64()), (Some(30), Some(3)));
        assert_eq!(json["results"][0]["score_kind"], "cosine");
        assert_eq!(json["results"][0]["evidence"]["dense"]["rank"], 1);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is dead, out of scope or crowded out, the page holds the best chunk of each of the best living files.
    #[test]
    fn a_page_is_what_sorting_everything_gives(
        files in prop::collection::vec((0usize..3, 1usize..120, any::<bool>(), 0u8..8), 1..24),
        limit in 1usize..30,
    ) {
        let folders = ["/in", "/in/deep", "/in-not"];
        let mut documents = Vec::new();
        let mut expected: Vec<(f32, DocumentKey)> = Vec::new();
        let query = vector(0);
        for (number, &(folder, chunks, alive, direction)) in files.iter().enumerate() {
            let path = format!("{}/{}{number}", folders[folder], if alive { "alive" } else { "dead" });
            let vectors = (0..chunks).map(|i| vector(u32::from(direction) * 7 + i as u32 % 11));
            let chunks: Vec<Chunk> = vectors.map(|vector| Chunk::new("lamp", vector)).collect();
            let best = chunks.iter().map(|chunk| query.cosine(&chunk.embedding)).fold(f32::MIN, f32::max);
            if alive && folder < 2 {
                expected.push((best.clamp(0.0, 1.0), key(&path)));
            }
            documents.push(Document { key: key(&path), chunks, ..Document::new(path) });
        }
        expected.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        expected.truncate(limit);

        let (dense, hybrid) = run(async {
            let embedder = Arc::new(Fixed(Fingerprint::new("fixed", 2)));
            let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
            store.commit(documents, &[]).await.expect("whole documents are stored");
            let builder = || Pipeline::builder(embedder.clone(), store.clone()).existence(NamedAlive);
            let query = || Query::new("lamp").limit(limit).under("/in").expect("the folder has a name");
            let dense = builder().build().expect("the parts fit").search(query()).await.expect("the search runs");
            let hybrid = builder().sparse(store.clone()).build().expect("the parts fit").search(query()).await;
            (dense, hybrid.expect("the search runs"))
        });
        let found: Vec<(f32, DocumentKey)> = dense.results.iter().map(|r| (r.score as f32, r.key.clone())).collect();
        prop_assert_eq!(&found, &expected);
        let files: HashSet<_> = hybrid.results.iter().map(|r| r.key.clone()).collect();
        prop_assert_eq!(hybrid.results.len(), expected.len(), "a hybrid page is as full");
        prop_assert!(files.len() == hybrid.results.len() && files.iter().all(|key| key.as_str().contains("/alive")));
    }
}

/// A direction between those of 0 and 90 degrees.
fn vector(step: u32) -> Embedding {
    let angle = f64::from(step) * 0.02;
    Embedding::new(vec![angle.cos() as f32, angle.sin() as f32]).expect("a unit vector")
}

#[derive(Debug)]
struct Fixed(Fingerprint);

#[async_trait]
impl Embedder for Fixed {
    fn fingerprint(&self) -> &Fingerprint {
        &self.0
    }
    async fn embed_query(&self, _: &str) -> Result<Embedding> {
        Ok(vector(0))
    }
    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        Ok(texts.iter().map(|_| vector(0)).collect())
    }
}

#[derive(Debug)]
struct NamedAlive;

#[async_trait]
impl Existence for NamedAlive {
    async fn exist(&self, paths: Vec<Arc<PathBuf>>) -> Result<Vec<bool>> {
        Ok(paths.iter().map(|path| path.to_string_lossy().contains("/alive")).collect())
    }
}

#[test]
fn a_filter_by_extension_and_time_holds_for_both_legs() {
    run(async {
        let embedder = Arc::new(MockEmbedder::new(64));
        let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
        let time = |seconds| std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut documents = embedded(&embedder, &[("/a.md", &["lamp"]), ("/b.MD", &["lamp"]), ("/c.txt", &["lamp"])]).await;
        for (document, seconds) in documents.iter_mut().zip([100, 200, 200]) {
            document.stamp.modified = crate::FileStamp::nanoseconds(time(seconds));
        }
        store.commit(documents, &[]).await.expect("whole documents are stored");
        let pipeline =
            Pipeline::builder(embedder, store.clone()).sparse(store).without_existence_check().build().expect("the parts fit");
        let found = async |filter: Filter| {
            let page = pipeline.search(Query::new("lamp").filter(filter)).await.expect("the search runs");
            assert_eq!(page.stage("dense").map(|s| s.output), page.stage("sparse").map(|s| s.output));
            paths(&page).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(found(Filter::everything().extensions(["md"])).await, ["/a.md", "/b.MD"]);
        assert_eq!(found(Filter::everything().modified(time(150)..)).await, ["/b.MD", "/c.txt"]);
        assert_eq!(found(Filter::everything().extensions([".md"]).modified(..time(200))).await, ["/a.md"]);
    });
}
