//! The whole library over a real database in a real folder.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use sensetree::{
    Embedder, Error, Filter, Pipeline, Query, Scope, Store,
    index::Indexer,
    rerank::CrossEncoder,
    store::LanceStore,
    testing::{MockEmbedder, RecordingEmbedder},
};

use super::support::{fixture_model, run};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders are made");
    fs::write(path, text).expect("a file is written");
}

async fn open(folder: &Path, embedder: &dyn Embedder) -> Arc<LanceStore> {
    Arc::new(LanceStore::open(folder, embedder.fingerprint()).await.expect("the store opens"))
}

fn names(page: &sensetree::Page) -> Vec<String> {
    page.results.iter().map(|r| r.path.file_name().expect("a file has a name").to_string_lossy().into_owned()).collect()
}

#[test]
fn a_folder_is_indexed_searched_changed_and_searched_again() {
    run(async {
        let (files, place) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        for i in 0..40 {
            write(
                files.path(),
                &format!("notes/{i:02}.md"),
                &format!("# Note {i}\n\nSome lines about subject{i} and nothing else."),
            );
        }
        write(files.path(), "Bea's plans/don't.md", "a trip to the lighthouse");
        write(files.path(), "notes-old/lighthouse.md", "an old lighthouse");
        let embedder = Arc::new(RecordingEmbedder::new(MockEmbedder::new(256)));
        let store = open(place.path(), &embedder).await;
        let indexer = Indexer::builder(embedder.clone(), store.clone()).build().expect("the parts fit");
        let roots = [files.path().to_owned()];
        let report = indexer.sync(&roots, |_| {}).await.expect("the folder is indexed");
        assert_eq!(report.new, 42);

        let pipeline = Pipeline::builder(embedder.clone(), store.clone()).sparse(store.clone()).build().expect("the parts fit");
        let search = async |text: &str, under: &str| {
            let query = Query::new(text).under(files.path().join(under)).expect("the folder has a name");
            names(&pipeline.search(query).await.expect("the search runs"))
        };
        assert_eq!(search("lighthouse", "Bea's plans").await, ["don't.md"]);
        assert_eq!(search("subject7", "notes").await[0], "07.md");
        assert!(!search("lighthouse", "notes").await.contains(&"lighthouse.md".to_owned()), "a scope ends at a segment");

        let before = embedder.passages().len();
        write(files.path(), "notes/07.md", "# Note 7\n\nNow about zebras.");
        fs::remove_file(files.path().join("notes/08.md")).expect("a file is removed");
        fs::rename(files.path().join("notes/09.md"), files.path().join("notes/nine.md")).expect("a file is renamed");
        let report = indexer.sync(&roots, |_| {}).await.expect("the folder is indexed again");
        let counts = (report.changed, report.new, report.moved, report.removed, report.unchanged);
        assert_eq!(counts, (1, 0, 1, 1, 39));
        assert_eq!(embedder.passages().len() - before, 1, "only what is new was embedded");
        assert_eq!(search("zebras", "notes").await[0], "07.md");
        let everything: BTreeSet<String> = search("note subject", "notes").await.into_iter().collect();
        assert!(!everything.contains("08.md") && !everything.contains("09.md"));

        let before = embedder.passages().len();
        let report = indexer.sync(&roots, |_| {}).await.expect("an unchanged folder is indexed");
        assert_eq!((report.unchanged, embedder.passages().len()), (41, before), "an unchanged folder costs no embedding");
    });
}

#[test]
fn the_same_query_gives_the_same_bytes_in_every_process() {
    run(async {
        let (files, place) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        for i in 0..60 {
            // Many ties: ten texts, six times each.
            write(files.path(), &format!("{i:02}.md"), &format!("lamp number {}", i % 10));
        }
        let embedder = Arc::new(MockEmbedder::new(64));
        let store = open(place.path(), &embedder).await;
        let indexer = Indexer::builder(embedder.clone(), store).build().expect("the parts fit");
        indexer.sync(&[files.path().to_owned()], |_| {}).await.expect("the folder is indexed");
        let reranker = Arc::new(CrossEncoder::open(fixture_model("overlap-reranker")).await.expect("the model loads"));
        let mut pages = BTreeSet::new();
        for _ in 0..5 {
            // A handle of its own each time, as another process would have.
            let store = open(place.path(), &embedder).await;
            let pipeline = Pipeline::builder(embedder.clone(), store.clone()).sparse(store).reranker(reranker.clone());
            let page =
                pipeline.build().expect("the parts fit").search(Query::new("lamp number 3").limit(7)).await.expect("it runs");
            assert_eq!(page.results.len(), 7);
            pages.insert(serde_json::to_string(&page.results).expect("results are serialisable"));
        }
        assert_eq!(pages.len(), 1);
    });
}

#[test]
fn a_store_of_another_model_is_refused() {
    run(async {
        let place = tempfile::tempdir().expect("a folder");
        let first = MockEmbedder::new(8);
        drop(open(place.path(), &first).await);
        for other in [MockEmbedder::new(6), MockEmbedder::new(8).named("another")] {
            let error = LanceStore::open(place.path(), other.fingerprint()).await.expect_err("the spaces differ");
            assert!(matches!(&error, Error::FingerprintMismatch { stored, .. } if **stored == *first.fingerprint()), "{error}");
            assert!(error.to_string().contains("rebuild it for the second"), "the message says what to do: {error}");
        }
    });
}

#[test]
fn removing_a_folder_leaves_its_neighbour() {
    run(async {
        let (files, place) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        write(files.path(), "x/\"draft\".md", "a draft");
        write(files.path(), "x2/kept.md", "a draft that stays");
        let embedder = Arc::new(MockEmbedder::new(64));
        let store = open(place.path(), &embedder).await;
        let indexer = Indexer::builder(embedder.clone(), store.clone()).build().expect("the parts fit");
        indexer.sync(&[files.path().to_owned()], |_| {}).await.expect("the folder is indexed");
        let folder = Filter::everything().under(Scope::folder(files.path().join("x")).expect("the folder has a name"));
        assert_eq!(store.remove(&folder).await.expect("the folder is removed"), 1);
        let pipeline = Pipeline::builder(embedder, store.clone()).sparse(store).build().expect("the parts fit");
        assert_eq!(names(&pipeline.search(Query::new("draft")).await.expect("the search runs")), ["kept.md"]);
    });
}
