use std::{collections::BTreeSet, sync::Mutex, time::SystemTime};

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use sensetree_core::{FileStamp, PathRules, Scope, testing};
use tempfile::TempDir;

use super::*;

mod approximate;

fn fingerprint(dimension: usize) -> Fingerprint {
    Fingerprint::new("test", dimension)
}

fn key(path: &str) -> DocumentKey {
    DocumentKey::new(path, PathRules::Posix)
}

fn under(path: &str) -> Filter {
    Filter::everything().under(Scope::new(path, PathRules::Posix))
}

fn vector(cosine: f32) -> Embedding {
    Embedding::new(vec![cosine, (1.0 - cosine * cosine).sqrt(), 0.0, 0.0]).expect("a unit vector")
}

fn document(path: &str, text: &str) -> Document {
    Document { key: key(path), ..Document::new(path).with_chunk(Chunk::new(text, vector(0.5))) }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

async fn open(folder: &TempDir) -> LanceStore {
    LanceStore::open(folder.path(), &fingerprint(4)).await.expect("the store opens")
}

async fn commit(store: &LanceStore, documents: Vec<Document>) {
    store.commit(documents, &[]).await.expect("the documents are stored");
}

async fn hits(store: &LanceStore, query: &str) -> Vec<Hit> {
    store.retrieve(query, &Filter::everything(), 500).await.expect("a search by words works")
}

async fn found(store: &LanceStore, query: &str) -> Vec<String> {
    hits(store, query).await.into_iter().map(|hit| hit.id.key.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_the_store_suite() {
    // The folders must outlive the stores, and the suite drops those when it likes.
    let folders = Mutex::new(Vec::new());
    testing::store_suite(|| async {
        let folder = folder();
        let store = open(&folder).await;
        folders.lock().expect("nothing panics with it").push(folder);
        store
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_the_sparse_suite_with_and_without_an_index() {
    let folders = Mutex::new(Vec::new());
    for index in [false, true] {
        testing::sparse_suite(4, |documents| async {
            let folder = folder();
            let store = open(&folder).await;
            commit(&store, documents).await;
            if index {
                store.maintain().await.expect("maintenance works");
                assert_eq!(store.stats().await.expect("counts").unindexed, 0);
            }
            folders.lock().expect("nothing panics with it").push(folder);
            store
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reopening_keeps_everything() {
    let folder = folder();
    let mut sent = document("/a", "lamp");
    sent.note = "a note".into();
    let first = open(&folder).await;
    commit(&first, vec![sent.clone(), document("/b", "lamps")]).await;
    drop(first);
    let again = open(&folder).await;
    assert_eq!(again.chunks(&sent.key).await.expect("chunks"), sent.chunks);
    assert_eq!(again.documents(&under("/a")).await.expect("documents")[0].note, "a note");
    assert_eq!(found(&again, "lamp").await, ["/a", "/b"]);
    let existing = LanceStore::open_existing(folder.path()).await.expect("the store opens without a fingerprint");
    assert_eq!(existing.fingerprint(), &fingerprint(4));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_this_store_is_refused() {
    let folder = folder();
    let missing = folder.path().join("missing");
    let nothing = LanceStore::open_existing(&missing).await.expect_err("there is no folder");
    assert!(matches!(&nothing, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound), "{nothing:?}");
    assert!(!missing.exists(), "looking creates nothing");
    LanceStore::open_existing(folder.path()).await.expect_err("the folder holds no store");
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 0, "looking writes nothing");

    let file = folder.path().join("file");
    std::fs::write(&file, "not a folder").expect("a file can be written");
    let refused = LanceStore::open(&file, &fingerprint(4)).await.expect_err("a file is not a folder");
    assert!(matches!(refused, Error::Io { .. }), "{refused:?}");

    let store = open(&folder).await;
    commit(&store, vec![document("/a", "lamp")]).await;
    for other in [fingerprint(6), fingerprint(4).with("pooling", "cls"), Fingerprint::new("other", 4)] {
        let refused = LanceStore::open(folder.path(), &other).await.expect_err("the vectors are of another model");
        assert!(matches!(refused, Error::FingerprintMismatch { .. }), "{refused:?}");
    }
    let none = LanceStore::open(folder.path().join("flat"), &fingerprint(0)).await.expect_err("vectors have a dimension");
    assert!(matches!(none, Error::InvalidInput(_)), "{none:?}");

    let native = store.table.as_native().expect("the table is on this machine");
    let written = store.table.schema().await.expect("a schema").metadata().clone();
    for (name, value) in
        [("sensetree.format", "1"), ("sensetree.format", "4"), ("sensetree.analyser", "other/1"), ("sensetree.fingerprint", "{}")]
    {
        let mut metadata = written.clone();
        metadata.insert(name.into(), value.into());
        native.replace_schema_metadata(metadata).await.expect("metadata can be replaced");
        let refused = LanceStore::open(folder.path(), &fingerprint(4)).await.expect_err(name);
        assert!(matches!(&refused, Error::Format { supported: 3, .. }), "{name}: {refused:?}");
    }
    native.replace_schema_metadata(written).await.expect("metadata can be replaced");
    assert_eq!(found(&open(&folder).await, "lamp").await, ["/a"], "nothing was lost on the way");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_may_lie_in_a_folder_of_any_name() {
    let folder = folder();
    for name in ["a b", "Bea's 100% #1?", "per%20cent", "日本", "a;b&c=d", "[x]", "back\\slash", "file:x", "s3:"] {
        let path = folder.path().join(name).join("index");
        let store = LanceStore::open(&path, &fingerprint(4)).await.unwrap_or_else(|e| panic!("{name}: {}", e.chain()));
        commit(&store, vec![document("/a", "lamp")]).await;
        assert_eq!(store.path(), path);
        assert!(path.join("chunks.lance").is_dir(), "{name}: the store is where it was asked for");
        let again = LanceStore::open_existing(&path).await.unwrap_or_else(|e| panic!("{name}: {}", e.chain()));
        assert_eq!(found(&again, "lamp").await, ["/a"], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_that_make_a_store_at_once_make_one() {
    let folder = folder();
    let path = folder.path().join("new").join("store");
    let opened = futures::future::join_all((0..8).map(|i| {
        let path = path.clone();
        tokio::spawn(async move {
            let store = LanceStore::open(path, &fingerprint(4)).await.unwrap_or_else(|e| panic!("{}", e.chain()));
            commit(&store, vec![document(&format!("/{i}"), "lamp")]).await;
            store
        })
    }))
    .await;
    for store in opened {
        assert_eq!(store.expect("no task panics").stats().await.expect("counts").documents, 8, "all see the same store");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_on_the_same_documents_leave_each_chunk_once() {
    let folder = folder();
    let mut tasks = Vec::new();
    for handle in 0..4 {
        let store = Arc::new(open(&folder).await);
        for task in 0..2 {
            let store = store.clone();
            tasks.push(tokio::spawn(async move {
                for round in 0..4 {
                    let text = format!("handle {handle} task {task} round {round}");
                    let documents =
                        (0..4).map(|i| document(&format!("/{i}"), &text).with_chunk(Chunk::new(&text, vector(0.1)))).collect();
                    store.commit(documents, &[key("/gone")]).await.unwrap_or_else(|e| panic!("{}", e.chain()));
                    store
                        .commit(vec![], &[key(&format!("/{}", (task + round) % 4))])
                        .await
                        .unwrap_or_else(|e| panic!("{}", e.chain()));
                    store.remove(&under("/3")).await.unwrap_or_else(|e| panic!("{}", e.chain()));
                    store.maintain().await.unwrap_or_else(|e| panic!("{}", e.chain()));
                }
            }));
        }
    }
    for task in tasks {
        task.await.expect("every write is repeated until it is done");
    }
    let store = open(&folder).await;
    let documents = store.documents(&Filter::everything()).await.expect("documents");
    for document in &documents {
        let chunks = store.chunks(&document.key).await.expect("chunks");
        assert_eq!(chunks.len(), 2, "{}", document.key);
        assert_eq!(chunks[0].text, chunks[1].text, "both chunks of {} are from one commit", document.key);
    }
    assert_eq!(store.stats().await.expect("counts").chunks, 2 * documents.len() as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_see_each_other_and_build_one_index() {
    let folder = folder();
    let (one, other) = (open(&folder).await, open(&folder).await);
    assert_eq!(found(&one, "lamp").await, [""; 0], "a search before anything is there");
    commit(&one, (0..40).map(|i| document(&format!("/{i:02}"), "lamp")).collect()).await;
    let before = hits(&other, "lamp").await;
    assert_eq!(before.len(), 40, "without an index, in the handle that didn't write");
    let (first, second) = tokio::join!(one.maintain(), other.maintain());
    first.and(second).expect("both can maintain at once");
    for store in [&one, &other] {
        assert_eq!(store.indexes().await.expect("indexes").len(), 2, "one of words, one of keys");
        assert_eq!(hits(store, "lamp").await, before, "the index changes no result");
    }
    other.commit(vec![document("/new", "lamp lamp")], &[key("/07")]).await.expect("a commit by the other");
    let after = found(&one, "lamp").await;
    assert_eq!((after.len(), after[0].as_str()), (40, "/new"), "the first handle sees it at once");
    assert!(!after.contains(&"/07".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_rows_are_found_as_they_are_after_folding() {
    let folder = folder();
    let store = open(&folder).await;
    let text = |i: usize| {
        let subject = if i.is_multiple_of(3) { "the night ferry timetable" } else { "a day train to the coast" };
        format!("{subject} {}", "and more ".repeat(i % 7))
    };
    let documents = |range: std::ops::Range<usize>| range.map(|i| document(&format!("/{i:03}"), &text(i))).collect::<Vec<_>>();
    commit(&store, documents(0..300)).await;
    assert_eq!(store.stats().await.expect("counts").unindexed, 300);
    let flat = hits(&store, "\"night ferry\"").await;
    assert_eq!(flat.len(), 100);
    store.maintain().await.expect("maintenance works");
    assert_eq!(store.stats().await.expect("counts").unindexed, 0);
    let indexed = hits(&store, "\"night ferry\"").await;
    let ids = |hits: &[Hit]| hits.iter().map(|hit| hit.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&flat), ids(&indexed), "everything outside the index, or everything inside: the same list");
    for (flat, indexed) in flat.iter().zip(&indexed) {
        assert!((flat.score - indexed.score).abs() <= 1e-5 * indexed.score, "{flat:?} {indexed:?}");
    }

    // Fewer new rows than are folded in: found at once, and their scores are near what folding would make of them.
    commit(&store, documents(300..315)).await;
    store.maintain().await.expect("maintenance works");
    assert_eq!(store.stats().await.expect("counts").unindexed, 15, "5 % of the rows are not worth the work yet");
    let mixed = hits(&store, "night ferry").await;
    assert_eq!(mixed.len(), 105);
    commit(&store, documents(315..330)).await;
    store.maintain().await.expect("maintenance works");
    assert_eq!(store.stats().await.expect("counts").unindexed, 0);
    for hit in hits(&store, "night ferry").await {
        if let Some(mixed) = mixed.iter().find(|mixed| mixed.id == hit.id) {
            assert!((mixed.score / hit.score - 1.0).abs() < 0.1, "{mixed:?} {hit:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_scores_are_cut_by_identity_wherever_the_rows_lie() {
    let folder = folder();
    let store = open(&folder).await;
    // Keys in descending order over several files, so that the order of storage is not the order of keys.
    for batch in (0..4).rev() {
        let documents = (0..50).rev().map(|i| document(&format!("/{:03}", batch * 50 + i), "tin")).collect();
        commit(&store, documents).await;
    }
    let expected: Vec<String> = (0..9).map(|i| format!("/{i:03}")).collect();
    for round in ["outside an index", "in the index"] {
        let ids = |hits: Vec<Hit>| hits.into_iter().map(|hit| hit.id.key.to_string()).collect::<Vec<_>>();
        let words = store.retrieve("tin", &Filter::everything(), 9).await.expect("a search by words works");
        assert_eq!(ids(words), expected, "words {round}");
        let near = store.nearest(&vector(1.0), &Filter::everything(), 9).await.expect("a search by vector works");
        assert_eq!(ids(near), expected, "vectors {round}");
        let all = store.nearest(&vector(1.0), &Filter::everything(), usize::MAX).await.expect("any limit works");
        assert_eq!(all.len(), 200, "everything {round}");
        store.maintain().await.expect("maintenance works");
    }
    assert_eq!(store.nearest(&vector(1.0), &Filter::everything(), 0).await.expect("a limit of none"), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_many_kinds_are_found() {
    let folder = folder();
    let store = open(&folder).await;
    let texts = [
        ("/code.rs", "fn openLedgerFile(path: &Path) -> Result<Ledger>"),
        ("/club.md", "the ledger file of the club is open to all members"),
        ("/fridge", "新しい冷蔵庫の保証書です"),
        ("/thai", "ใบรับประกันตู้เย็นใหม่"),
        ("/minutes", "Minutes 2031-04-09"),
        ("/hash", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
    ];
    commit(&store, texts.map(|(path, text)| document(path, text)).to_vec()).await;
    for index in ["without", "with"] {
        for (query, expected) in [
            ("ledger", vec!["/club.md", "/code.rs"]),
            ("保証書", vec!["/fridge"]),
            ("庫", vec!["/fridge"]),
            ("ตู้เย็น", vec!["/thai"]),
            ("2031-04-09", vec!["/minutes"]),
            ("members'", vec!["/club.md"]),
            (texts[5].1, vec!["/hash"]),
            ("the of to", vec![]),
        ] {
            let mut names = found(&store, query).await;
            names.sort();
            assert_eq!(names, expected, "{query} {index} an index");
        }
        assert_eq!(found(&store, "openLedgerFile").await[0], "/code.rs", "the very name first, {index} an index");
        let long = format!("{} ledger", "an unrelated sentence about cheese, ".repeat(20));
        assert_eq!(found(&store, &long).await.len(), 2, "a long query, {index} an index");
        store.maintain().await.expect("maintenance works");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_all_the_time_stays_small() {
    let folder = folder();
    let store = open(&folder).await;
    let reader = open(&folder).await;
    commit(&store, (0..50).map(|i| document(&format!("/{i}"), "unchanging")).collect()).await;
    assert_eq!(found(&reader, "unchanging").await.len(), 50);
    let mut bytes = Vec::new();
    for round in 1..=200 {
        commit(&store, vec![document("/changing", &format!("round {round}"))]).await;
        if round % 20 == 0 {
            store.tidy(maintain::Duration::zero()).await.expect("maintenance works");
            let stats = store.stats().await.expect("counts");
            assert!(stats.versions <= 16, "{} versions after {round} rounds", stats.versions);
            assert_eq!((stats.documents, stats.chunks), (51, 51));
            bytes.push(stats.bytes);
        }
    }
    assert!(bytes[9] < 2 * bytes[0], "the store grew with every round: {bytes:?}");
    for store in [&store, &reader] {
        assert_eq!(found(store, "200").await, ["/changing"], "also through a handle that last read a version long forgotten");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn maintenance_merges_files_and_keeps_versions_that_a_reader_may_be_on() {
    let folder = folder();
    let store = open(&folder).await;
    for i in 0..40 {
        commit(&store, vec![document(&format!("/{i:02}"), "lamp")]).await;
    }
    let before = hits(&store, "lamp").await;
    let reader = store.table.query_snapshot().await.expect("a version can be held");
    store.maintain().await.expect("maintenance works");
    let files = store.table.stats().await.expect("counts").fragment_stats.num_fragments;
    assert!(files <= 2, "{files} files");
    assert_eq!(hits(&store, "lamp").await, before);
    store.remove(&under("/00")).await.expect("a document can be removed");
    assert_eq!(reader.count_rows(Some("words LIKE 'lamp%'".into())).await.expect("the old version is readable"), 40);
    let versions = store.stats().await.expect("counts").versions;
    store.maintain().await.expect("maintenance works");
    assert_eq!(store.stats().await.expect("counts").versions, versions, "nothing to do costs nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_filter_in_the_database_is_the_filter_of_the_core() {
    let parts = vec![
        "a", "a0", "a/b", "a-b", "A", "%", "_", "'", "''", "\"", "\\", "\\'", "a'b", "é", "\n", "*", "--", "0", "保", "a.md",
        "é.MD", ".md", "a.m'd",
    ];
    let path = prop::collection::vec(prop::sample::select(parts), 0..4).prop_map(|parts| format!("/{}", parts.join("/")));
    let mut runner = TestRunner::deterministic();
    let mut sample = |count: usize| -> BTreeSet<String> {
        let paths = prop::collection::vec(path.clone(), count).new_tree(&mut runner).expect("the strategy makes paths");
        paths.current().iter().map(|path| key(path).to_string()).collect()
    };
    // One in five has no known time.
    let modified = |path: &str| i64::try_from(path.len() % 5).expect("a small number") * 10;
    let file = |path: &String| {
        let stamp = FileStamp { modified: modified(path), ..FileStamp::default() };
        document(path, "x").with_stamp(stamp)
    };
    let time = |nanoseconds| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    let folder = folder();
    let store = open(&folder).await;
    let mut stored = sample(200);
    commit(&store, stored.iter().map(file).collect()).await;
    for round in ["without an index", "with rows in the index and outside it"] {
        let asked: Vec<String> = sample(60).into_iter().chain(["/".into(), String::new()]).collect();
        for names in asked.windows(2) {
            let scoped = under(&names[0]);
            let listed = Filter::everything().documents(names.iter().map(|name| key(name)));
            let both =
                scoped.clone().under(Scope::new(&names[1], PathRules::Posix)).documents(stored.iter().take(90).map(|k| key(k)));
            let typed = scoped.clone().extensions([".md", "m'd"]);
            let dated = Filter::everything().modified(time(10)..time(30));
            let all = typed.clone().modified(time(20)..);
            for filter in [scoped, listed, both, typed, dated, all] {
                let expected: Vec<&String> = stored.iter().filter(|path| filter.matches(&key(path), modified(path))).collect();
                let documents = store.documents(&filter).await.expect("any filter can be listed");
                assert_eq!(documents.iter().map(|d| d.key.as_str()).collect::<Vec<_>>(), expected, "{filter:?} {round}");
                let mut near: Vec<String> = store
                    .nearest(&vector(1.0), &filter, 500)
                    .await
                    .expect("any filter can be searched")
                    .into_iter()
                    .map(|hit| hit.id.key.to_string())
                    .collect();
                near.sort();
                assert_eq!(near.iter().collect::<Vec<_>>(), expected, "nearest {filter:?} {round}");
            }
        }
        store.maintain().await.expect("maintenance works");
        let new: Vec<String> = sample(8).into_iter().filter(|path| !stored.contains(path)).collect();
        commit(&store, new.iter().map(file).collect()).await;
        stored.extend(new);
    }
    // Removing by each filter removes exactly what it lets through.
    for name in sample(40) {
        let filter = under(&name);
        let (inside, outside): (BTreeSet<String>, _) =
            stored.into_iter().partition(|path| filter.matches(&key(path), modified(path)));
        assert_eq!(store.remove(&filter).await.expect("any filter can be removed"), inside.len() as u64, "{filter:?}");
        stored = outside;
    }
    assert_eq!(store.documents(&Filter::everything()).await.expect("documents").len(), stored.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_written_says_so_and_loses_nothing() {
    let folder = folder();
    let store = open(&folder).await;
    commit(&store, vec![document("/a", "lamp")]).await;
    // A folder where LanceDB wants to write a file fails for every user, root included.
    let data = folder.path().join("chunks.lance").join("_transactions");
    std::fs::rename(&data, folder.path().join("away")).expect("a folder can be moved");
    std::fs::write(&data, "in the way").expect("a file can be written");
    let refused =
        store.commit(vec![document("/a", "changed"), document("/b", "new")], &[]).await.expect_err("it cannot be written");
    assert!(matches!(refused, Error::Store { doing: "write to", .. }), "{refused:?}");
    std::fs::remove_file(&data).expect("a file can be removed");
    std::fs::rename(folder.path().join("away"), &data).expect("a folder can be moved");
    assert_eq!(found(&store, "lamp").await, ["/a"]);
    assert_eq!(store.stats().await.expect("counts").documents, 1);
    commit(&store, vec![document("/b", "new")]).await;
}

#[tokio::test]
async fn one_store_takes_the_place_of_another_in_one_commit() {
    let (folder, beside) = (folder(), folder());
    let old = open(&folder).await;
    commit(&old, vec![document("/lamp", "lamp"), document("/boat", "boat")]).await;
    old.maintain().await.expect("maintenance works");
    let other_handle = open(&folder).await;

    let fingerprint = Fingerprint::new("other", 6);
    let new = LanceStore::open(beside.path(), &fingerprint).await.expect("a store is made");
    let vector = Embedding::new(vec![1.0; 6]).expect("a vector");
    commit(&new, vec![Document::new("/tree").with_chunk(Chunk::new("tree", vector.clone()))]).await;

    let taken = old.take_over(&new).await.expect("it takes over");
    for store in [taken, LanceStore::open(folder.path(), &fingerprint).await.expect("it is the other model's now")] {
        let near = store.nearest(&vector, &Filter::everything(), 9).await.expect("a search by meaning works");
        assert_eq!(near.iter().map(|hit| hit.id.key.as_str()).collect::<Vec<_>>(), ["/tree"]);
        assert_eq!((found(&store, "tree").await, found(&store, "lamp").await), (vec!["/tree".to_owned()], vec![]));
        store.maintain().await.expect("maintenance works");
    }
    let refused = other_handle.nearest(&self::vector(1.0), &Filter::everything(), 9).await.expect_err("another model's vectors");
    assert!(matches!(refused, Error::FingerprintMismatch { .. }), "{refused:?}");
    let refused = other_handle.commit(vec![document("/late", "late")], &[]).await.expect_err("another model's store");
    assert!(matches!(refused, Error::FingerprintMismatch { .. }), "{refused:?}");
    assert_eq!(found(&other_handle, "tree").await, ["/tree"], "words are words");
}
