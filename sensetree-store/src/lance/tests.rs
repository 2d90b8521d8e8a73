use std::{collections::BTreeSet, sync::Arc};

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use sensetree_core::{PathRules, Scope, testing};

use super::*;

fn fingerprint(dimension: usize) -> Fingerprint {
    Fingerprint::new("test", dimension)
}

fn vector(cosine: f32) -> Embedding {
    Embedding::new(vec![cosine, (1.0 - cosine * cosine).sqrt(), 0.0, 0.0]).expect("a unit vector")
}

fn document(path: &str, text: &str) -> Document {
    Document { key: DocumentKey::new(path, PathRules::Posix), ..Document::new(path).with_chunk(Chunk::new(text, vector(0.5))) }
}

/// A store that takes its folder with it.
struct Temporary {
    store: LanceStore,
    folder: tempfile::TempDir,
}

async fn temporary() -> Temporary {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = LanceStore::open(folder.path(), &fingerprint(4)).await.expect("a new store opens");
    Temporary { store, folder }
}

async fn again(temporary: &Temporary) -> LanceStore {
    LanceStore::open(temporary.folder.path(), &fingerprint(4)).await.expect("the store opens again")
}

async fn found(store: &LanceStore, query: &str) -> Vec<(String, f32)> {
    let hits = store.retrieve(query, &Filter::everything(), 400).await.expect("a search by words works");
    hits.into_iter().map(|hit| (hit.id.key.to_string(), hit.score)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_the_store_suite() {
    // The folders outlive their stores: they go when the test ends.
    let folders = std::sync::Mutex::new(Vec::new());
    testing::store_suite(|| async {
        let Temporary { store, folder } = temporary().await;
        folders.lock().expect("no panic holds it").push(folder);
        store
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_the_sparse_suite() {
    let folders = std::sync::Mutex::new(Vec::new());
    testing::sparse_suite(4, |documents| async {
        let Temporary { store, folder } = temporary().await;
        store.commit(documents, &[]).await.expect("the documents are stored");
        folders.lock().expect("no panic holds it").push(folder);
        store
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_inside_identifiers_and_scripts_without_spaces_are_found() {
    let Temporary { store, folder: _folder } = temporary().await;
    let texts = [
        ("/code.rs", "fn openLedgerFile(path: &Path)"),
        ("/ledger.md", "the ledger of the club"),
        ("/fridge", "新しい冷蔵庫の保証書です"),
        ("/thai", "ใบรับประกันตู้เย็นใหม่"),
    ];
    store.commit(texts.map(|(path, text)| document(path, text)).to_vec(), &[]).await.expect("stored");
    let names = async |query: &str| found(&store, query).await.into_iter().map(|f| f.0).collect::<Vec<_>>();
    assert_eq!(names("ledger").await.into_iter().collect::<BTreeSet<_>>(), ["/code.rs", "/ledger.md"].map(String::from).into());
    assert_eq!(names("openLedgerFile").await[0], "/code.rs");
    assert_eq!(names("保証書").await, ["/fridge"]);
    assert_eq!(names("ตู้เย็น").await, ["/thai"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_found_alike_before_and_after_they_are_folded_in() {
    let temporary = temporary().await;
    let store = &temporary.store;
    assert_eq!(found(store, "night ferry").await, [], "an empty store can be searched");
    let text = |i: usize| {
        format!("{} number {i}", if i.is_multiple_of(3) { "the night ferry timetable" } else { "a day train to the coast" })
    };
    let documents = |range: std::ops::Range<usize>| range.map(|i| document(&format!("/{i:03}"), &text(i))).collect::<Vec<_>>();
    store.commit(documents(0..10), &[]).await.expect("stored");
    assert_eq!(found(store, "night ferry").await.len(), 4, "the same handle finds what came after its first search");
    store.commit(documents(10..300), &[]).await.expect("stored");
    assert_eq!(store.stats().await.expect("counts").unindexed, 290);
    let before = found(store, "night ferry").await;
    assert_eq!(before.len(), 100);
    store.maintain().await.expect("maintained");
    assert_eq!(store.stats().await.expect("counts").unindexed, 0);
    store.commit(documents(300..320), &[]).await.expect("stored");
    assert_eq!(found(store, "night ferry").await.len(), 107, "a few new rows are found before they are folded in");
    assert_eq!(store.stats().await.expect("counts").unindexed, 20);
    store
        .remove(&Filter::everything().documents((300..320).map(|i| DocumentKey::new(&format!("/{i}"), PathRules::Posix))))
        .await
        .expect("removed");
    let after = found(store, "night ferry").await;
    assert_eq!(before.iter().map(|f| &f.0).collect::<Vec<_>>(), after.iter().map(|f| &f.0).collect::<Vec<_>>());
    for ((name, before), (_, after)) in before.iter().zip(&after) {
        assert!((before - after).abs() < 1e-4 * after, "{name}: {before} before, {after} after");
    }
    assert_eq!(found(store, "\"night ferry timetable\"").await.len(), 100, "quotes are no operators");
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_see_each_other_and_build_one_index() {
    let one = temporary().await;
    let other = again(&one).await;
    one.store.commit(vec![document("/a", "lamp"), document("/b", "lamp")], &[]).await.expect("stored");
    let (first, second) = tokio::join!(found(&one.store, "lamp"), found(&other, "lamp"));
    assert_eq!((first.len(), second.len()), (2, 2));
    assert_eq!(one.store.table.list_indices().await.expect("indexes").len(), 1);
    other.commit(vec![], &[DocumentKey::new("/a", PathRules::Posix)]).await.expect("removed");
    assert_eq!(found(&one.store, "lamp").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_wait_for_each_other_and_leave_no_doubles() {
    let first = temporary().await;
    let mut tasks = Vec::new();
    for task in 0..8 {
        // Four handles, two tasks each, all over the same documents.
        let store = Arc::new(again(&first).await);
        tasks.push(tokio::spawn(async move {
            for round in 0..3 {
                let documents = (0..6).map(|i| document(&format!("/{i}"), &format!("task {task} round {round}"))).collect();
                store.commit(documents, &[]).await.expect("a commit waits its turn");
                let key = DocumentKey::new(&format!("/{}", task % 6), PathRules::Posix);
                store.commit(vec![], &[key]).await.expect("a removal waits its turn");
            }
        }));
    }
    for task in tasks {
        task.await.expect("no task panics");
    }
    first.store.commit((0..6).map(|i| document(&format!("/{i}"), "last")).collect(), &[]).await.expect("stored");
    let stats = first.store.stats().await.expect("counts");
    assert_eq!((stats.documents, stats.chunks), (6, 6));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_all_the_time_does_not_fill_the_disk() {
    let temporary = temporary().await;
    let store = &temporary.store;
    let others: Vec<Document> = (0..50).map(|i| document(&format!("/{i}"), "unchanging")).collect();
    store.commit(others, &[]).await.expect("stored");
    let mut sizes = Vec::new();
    for round in 0..120 {
        store.commit(vec![document("/changing", &format!("round {round}"))], &[]).await.expect("stored");
        store.maintain().await.expect("maintained");
        if round % 30 == 29 {
            tokio::time::sleep(KEPT_FOR).await;
            store.maintain().await.expect("maintained");
            let stats = store.stats().await.expect("counts");
            assert!(stats.versions <= 21, "{} versions after {round} rounds", stats.versions);
            sizes.push(stats.bytes);
        }
    }
    assert!(sizes[3] < 2 * sizes[0], "the store grew with every round: {sizes:?}");
}

/// A little longer than maintenance keeps old versions for readers.
const KEPT_FOR: Duration = Duration::from_millis(10_200);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_a_store_of_this_version_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = LanceStore::open_existing(folder.path().join("nothing")).await.expect_err("there is no folder");
    assert!(missing.to_string().contains("index a folder first"), "{missing}");
    let empty = LanceStore::open_existing(folder.path()).await.expect_err("there is no table");
    assert!(empty.to_string().contains("index a folder first"), "{empty}");

    let store = LanceStore::open(folder.path(), &fingerprint(4)).await.expect("a new store opens");
    let other = LanceStore::open(folder.path(), &fingerprint(6)).await.expect_err("the dimension differs");
    assert!(matches!(other, Error::FingerprintMismatch { .. }), "{other}");
    assert_eq!(LanceStore::open_existing(folder.path()).await.expect("it is there").fingerprint(), &fingerprint(4));

    let native = store.table.as_native().expect("a local table");
    let mut metadata = store.table.schema().await.expect("a schema").metadata().clone();
    metadata.insert("sensetree.format".into(), "99".into());
    native.replace_schema_metadata(metadata).await.expect("the metadata is written");
    let newer = LanceStore::open(folder.path(), &fingerprint(4)).await.expect_err("the format is another");
    assert!(matches!(&newer, Error::Format { found, .. } if found == "99"), "{newer}");

    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").expect("a file is written");
    assert!(matches!(LanceStore::open(&file, &fingerprint(4)).await, Err(Error::Io { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_filter_in_the_database_is_the_filter_of_the_core() {
    let temporary = temporary().await;
    let part =
        || prop::sample::select(vec!["a", "a0", "a/", "a-b", "A", "%", "_", "'", "''", "\"", "\\", "a'b", "é", "\n", "*", "?"]);
    let path = || prop::collection::vec(part(), 1..4).prop_map(|parts| format!("/{}", parts.join("/")));
    let mut runner = TestRunner::deterministic();
    let mut sample = |count: usize| -> BTreeSet<String> {
        let paths = prop::collection::vec(path(), count);
        let tree = paths.new_tree(&mut runner).expect("the strategy makes paths");
        tree.current().iter().map(|path| DocumentKey::new(path, PathRules::Posix).to_string()).collect()
    };
    let stored = sample(300);
    temporary.store.commit(stored.iter().map(|path| document(path, "x")).collect(), &[]).await.expect("any name is stored");
    for scope in sample(60).iter().chain([&"/".to_owned()]) {
        let filter = Filter::everything().under(Scope::new(scope, PathRules::Posix));
        let expected: Vec<&String> =
            stored.iter().filter(|path| filter.matches(&DocumentKey::new(path, PathRules::Posix))).collect();
        let documents = temporary.store.documents(&filter).await.expect("any scope can be listed");
        let found: Vec<String> = documents.into_iter().map(|d| d.key.to_string()).collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "under {scope:?}");
    }
}
