mod damage;
mod processes;
mod properties;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use sensetree_core::{
    Chunk, Embedding, FileStamp, Fingerprint, Location, Passage, PathRules, Scope, memory::MemoryStore, testing,
};
use tempfile::TempDir;

use super::*;

fn key(path: &str) -> DocumentKey {
    DocumentKey::new(path, PathRules::Posix)
}

fn under(path: &str) -> Filter {
    Filter::everything().under(Scope::new(path, PathRules::Posix))
}

fn chunk(text: &str) -> Chunk {
    Chunk::new(text, Embedding::new(vec![0.6, 0.8]).expect("a unit vector"))
}

fn document(path: &str, texts: &[&str]) -> Document {
    Document { key: key(path), chunks: texts.iter().map(|text| chunk(text)).collect(), ..Document::new(path) }
}

fn stamped(document: Document, read: i64) -> Document {
    document.with_stamp(FileStamp { read, ..FileStamp::default() })
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

async fn open(folder: &TempDir) -> TantivyRetriever {
    TantivyRetriever::open(folder.path()).await.unwrap_or_else(|e| panic!("{}", e.chain()))
}

async fn commit(index: &TantivyRetriever, documents: Vec<Document>) {
    index.commit(documents, &[]).await.unwrap_or_else(|e| panic!("{}", e.chain()));
}

async fn hits(index: &dyn SparseRetriever, query: &str) -> Vec<Hit> {
    index.retrieve(query, &Filter::everything(), 1000).await.unwrap_or_else(|e| panic!("{}", e.chain()))
}

async fn found(index: &dyn SparseRetriever, query: &str) -> Vec<String> {
    hits(index, query).await.into_iter().map(|hit| hit.id.key.to_string()).collect()
}

async fn counts(index: &TantivyRetriever) -> (u64, u64) {
    let stats = index.stats().await.expect("counts");
    (stats.documents, stats.chunks)
}

async fn segments(index: &TantivyRetriever) -> usize {
    index.snapshot("inspect").await.expect("the index can be read").segments()
}

/// Runs a future of a property test, which tokio cannot wait for by itself.
fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(work)
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 0..12).prop_map(|words| words.join(" "))
}

#[tokio::test(flavor = "multi_thread")]
async fn it_passes_the_sparse_suite_in_memory_and_in_a_folder() {
    testing::sparse_suite(2, |documents| async {
        let index = TantivyRetriever::in_memory();
        commit(&index, documents).await;
        index
    })
    .await;
    // The folders must outlive the indexes, and the suite drops those when it likes.
    let folders = Mutex::new(Vec::new());
    let keep = &folders;
    testing::sparse_suite(2, |documents| async move {
        let folder = folder();
        let index = open(&folder).await;
        // Several segments, with chunks that are gone.
        commit(&index, vec![document("/tin-gone", &["tin pepper minutes"])]).await;
        for documents in documents.chunks(4) {
            commit(&index, documents.to_vec()).await;
        }
        index.remove(&under("/tin-gone")).await.expect("a document can be removed");
        keep.lock().expect("nothing panics with it").push(folder);
        index
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_replaces_whole_documents() {
    for index in [TantivyRetriever::in_memory(), TantivyRetriever::in_memory().with_threads(4).with_memory(0)] {
        index.commit(vec![], &[]).await.expect("nothing is a commit");
        assert_eq!(index.remove(&Filter::everything()).await.expect("removing nothing is fine"), 0);
        assert_eq!(counts(&index).await, (0, 0));
        commit(&index, vec![document("/a", &["lamp one", "lamp two", "lamp three"]), document("/b", &["lamp kept"])]).await;
        for _ in 0..2 {
            commit(&index, vec![document("/a", &["lamp new"])]).await;
            assert_eq!(counts(&index).await, (2, 2), "chunks that the new version lacks are gone, also when it is repeated");
        }
        assert_eq!(found(&index, "one two three").await, [""; 0]);
        index.commit(vec![document("/c", &["lamp new"])], &[key("/a"), key("/nowhere")]).await.expect("a rename is one commit");
        assert_eq!(found(&index, "lamp").await, ["/b", "/c"]);
        index.commit(vec![document("/b", &["lamp boat"])], &[key("/b")]).await.expect("kept when also removed");
        assert_eq!(found(&index, "boat").await, ["/b"]);
        index.commit(vec![], &[key("/b")]).await.expect("only removals are a commit");
        assert_eq!(found(&index, "lamp").await, ["/c"]);
        assert_eq!(index.remove(&under("/c")).await.expect("a document can be removed"), 1);
        assert_eq!(counts(&index).await, (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_cannot_be_held_writes_nothing() {
    let index = TantivyRetriever::in_memory();
    let good = || document("/good", &["lamp"]);
    let long = format!("/{}", "x".repeat(70_000));
    for (documents, named) in [
        (vec![good(), document("/empty", &[])], "/empty"),
        (vec![good(), good()], "/good"),
        (vec![good(), document(&long, &["lamp"])], "/xxxx"),
    ] {
        let refused = index.commit(documents, &[]).await.expect_err(named);
        assert!(matches!(&refused, Error::InvalidInput(why) if why.contains(named)), "{refused:?}");
        assert_eq!(counts(&index).await, (0, 0));
    }
    // A word that Tantivy has no room for is left out, the rest of the chunk is found.
    commit(&index, vec![document("/long", &[&format!("lamp {}", "x".repeat(70_000))])]).await;
    assert_eq!(found(&index, "lamp").await, ["/long"]);
    assert_eq!(found(&index, &"x".repeat(70_000)).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_is_asked_twice_counts_twice() {
    let index = TantivyRetriever::in_memory();
    commit(&index, vec![document("/lamp", &["lamp"]), document("/boat", &["boat"])]).await;
    let score =
        async |query: &str| hits(&index, query).await.into_iter().find(|hit| hit.id.key == key("/lamp")).map(|hit| hit.score);
    let once = score("lamp").await.expect("it has the word");
    assert_eq!(score("lamp boat lamp").await, Some(2.0 * once));
    assert_eq!(found(&index, "boat lamp lamp").await, ["/lamp", "/boat"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_carries_its_whole_passage() {
    let folder = folder();
    let index = open(&folder).await;
    let mut sent = document("/a", &["lamp one", "lamp two"]);
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        sent.path = PathBuf::from(std::ffi::OsStr::from_bytes(b"/A\xff\n"));
    }
    sent.chunks[1] = chunk("lamp\0 ünï two").with_location(Location { bytes: 7..u64::MAX, lines: (3, u32::MAX) });
    for modified in [0, -5, i64::MIN, i64::MAX] {
        sent.stamp.modified = modified;
        commit(&index, vec![sent.clone()]).await;
        let hit = hits(&index, "two").await.remove(0);
        let expected = Passage {
            text: sent.chunks[1].text.clone(),
            path: Arc::new(sent.path.clone()),
            location: sent.chunks[1].location.clone(),
            modified,
        };
        assert_eq!((hit.id, &*hit.passage), (sensetree_core::ChunkId::new(key("/a"), 1), &expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_scores_are_cut_by_identity_wherever_the_rows_lie() {
    let index = TantivyRetriever::in_memory();
    // Keys in descending order over several segments, so that the order of storage is not the order of keys.
    for batch in (0..4).rev() {
        let documents = (0..50).rev().map(|i| document(&format!("/{:03}", batch * 50 + i), &["tin", "tin"])).collect();
        commit(&index, documents).await;
    }
    assert_eq!(segments(&index).await, 4);
    let all: Vec<_> = (0..200).flat_map(|i| [(format!("/{i:03}"), 0), (format!("/{i:03}"), 1)]).collect();
    for limit in [0, 1, 2, 9, 100, 399, 400, 401, usize::MAX] {
        let hits = index.retrieve("tin", &Filter::everything(), limit).await.expect("any limit works");
        let ids: Vec<_> = hits.into_iter().map(|hit| (hit.id.key.to_string(), hit.id.index)).collect();
        assert_eq!(ids, all[..limit.min(400)], "a limit of {limit}");
    }
}

/// Words that the analyser leaves as they are.
const WORDS: [&str; 8] = ["lamp", "boat", "salt", "corn", "wolf", "drum", "harp", "mint"];

#[tokio::test(flavor = "multi_thread")]
async fn reopening_gives_the_same_answers_to_the_bit() {
    let folder = folder();
    let mut runner = TestRunner::deterministic();
    let texts = prop::collection::vec(text(), 200).new_tree(&mut runner).expect("the strategy makes texts").current();
    let first = open(&folder).await;
    for (batch, texts) in texts.chunks(20).enumerate() {
        let document = |(i, text): (usize, &String)| document(&format!("/{batch}/{i}"), &[text, "harp", text]);
        commit(&first, texts.iter().enumerate().map(document).collect()).await;
        first.remove(&under(&format!("/{batch}/7"))).await.expect("a document can be removed");
    }
    let queries = ["lamp", "boat salt salt", "corn wolf drum harp mint", "nowhere"];
    let before = [hits(&first, queries[0]).await, hits(&first, queries[1]).await, hits(&first, queries[2]).await];
    assert!(before.iter().all(|hits| hits.len() > 50));
    let stats = first.stats().await.expect("counts");
    assert!(stats.bytes > 0);
    drop(first);
    let again = open(&folder).await;
    for (query, before) in queries.iter().zip(&before) {
        let after = hits(&again, query).await;
        assert_eq!(&after, before, "{query}");
        assert!(after.iter().zip(before).all(|(a, b)| a.score.to_bits() == b.score.to_bits()), "{query}");
    }
    assert_eq!(counts(&again).await, (stats.documents, stats.chunks));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handles_see_each_other_and_write_in_turns() {
    let folder = folder();
    let path = folder.path().join("new").join("index");
    let opened = futures::future::join_all((0..6).map(|handle| {
        let path = path.clone();
        tokio::spawn(async move {
            let index = TantivyRetriever::open(path).await.unwrap_or_else(|e| panic!("{}", e.chain()));
            for round in 0..4 {
                commit(&index, vec![document(&format!("/{handle}"), &[&format!("lamp {round}")])]).await;
                assert_eq!(hits(&index, "lamp").await.iter().filter(|hit| hit.id.key == key(&format!("/{handle}"))).count(), 1);
            }
            index
        })
    }))
    .await;
    let handles: Vec<TantivyRetriever> = opened.into_iter().map(|index| index.expect("no task panics")).collect();
    for index in &handles {
        assert_eq!(found(index, "lamp").await.len(), 6, "all see the same index");
    }
    handles[0].commit(vec![document("/new", &["lamp lamp"])], &[key("/3")]).await.expect("a commit by one");
    assert_eq!(found(&handles[5], "lamp").await, ["/new", "/0", "/1", "/2", "/4", "/5"], "the others see it at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_all_the_time_stays_small() {
    let folder = folder();
    let (one, other) = (open(&folder).await, open(&folder).await);
    commit(&one, (0..50).map(|i| document(&format!("/{i}"), &["unchanging"])).collect()).await;
    let mut bytes = Vec::new();
    for round in 1..=200 {
        // Two handles write by turns: neither leaves files that only it knows of.
        let writer = if round % 2 == 0 { &one } else { &other };
        commit(writer, vec![document("/changing", &[&format!("round {round}")])]).await;
        assert_eq!(counts(&one).await, (51, 51));
        assert!(segments(&one).await <= 8, "{} segments after {round} rounds", segments(&one).await);
        if round % 20 == 0 {
            bytes.push(one.stats().await.expect("counts").bytes);
        }
    }
    assert!(bytes.iter().max() < bytes.iter().min().map(|least| 3 * least).as_ref(), "the folder grew: {bytes:?}");
    let files = std::fs::read_dir(folder.path()).expect("the folder is there").count();
    assert!(files < 8 * 8 + 8, "{files} files");
    for index in [&one, &other] {
        assert_eq!(found(index, "200").await, ["/changing"]);
        assert_eq!(found(index, "199").await, [""; 0]);
    }
    // Removing everything leaves no segment behind.
    assert_eq!(one.remove(&Filter::everything()).await.expect("everything can be removed"), 51);
    assert_eq!((counts(&other).await, segments(&other).await), ((0, 0), 0));
}

/// How often another task of the same thread runs while `work` is not done.
async fn ticks_during(work: impl Future<Output = ()>) -> usize {
    let mut ticks = 0;
    let tick = async {
        loop {
            tokio::task::yield_now().await;
            ticks += 1;
        }
    };
    futures::future::select(std::pin::pin!(work), std::pin::pin!(tick)).await;
    ticks
}

#[tokio::test(flavor = "current_thread")]
async fn the_executor_is_free_while_the_index_works() {
    let folder = folder();
    let index = open(&folder).await;
    let documents: Vec<Document> = (0..300).map(|i| document(&format!("/{i}"), &[&"lamp boat salt ".repeat(50)])).collect();
    assert!(ticks_during(commit(&index, documents)).await > 20, "other tasks ran while a commit was written");
    let searching = async {
        for _ in 0..20 {
            assert_eq!(hits(&index, "lamp salt").await.len(), 300);
        }
    };
    assert!(ticks_during(searching).await > 20, "other tasks ran while a search was read");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_nobody_waits_for_is_whole_or_not_there() {
    let folder = folder();
    let index = open(&folder).await;
    for round in 0..30u64 {
        let texts = [format!("lamp round{round}")];
        let documents = (0..20).map(|i| document(&format!("/{i}"), &[&texts[0], &texts[0]])).collect();
        let dropped = tokio::time::timeout(Duration::from_micros(round * round * 60), index.commit(documents, &[])).await;
        // The next writer waits for what was begun, and finds all or nothing of it.
        commit(&index, vec![document("/other", &["other"])]).await;
        let hits = hits(&index, "lamp").await;
        let texts: BTreeSet<&str> = hits.iter().map(|hit| hit.passage.text.as_str()).collect();
        assert!(texts.len() <= 1 && [0, 40].contains(&hits.len()), "round {round}: {} hits of {texts:?}", hits.len());
        if dropped.is_ok() {
            assert_eq!(texts, BTreeSet::from([format!("lamp round{round}").as_str()]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filling_copies_what_differs_and_nothing_else() {
    let store = MemoryStore::new(Fingerprint::new("by-hand", 2));
    let file = |path: &str, text: &str, read| stamped(document(path, &[text, "second lamp"]), read);
    store
        .commit(vec![file("/a", "lamp", 1), file("/b", "lamp", 1), file("/c", "lamp", 1), document("/no-stamp", &["lamp"])], &[])
        .await
        .expect("the store takes it");
    let folder = folder();
    let index = TantivyRetriever::beside(folder.path(), &store).await.expect("an index beside the store");
    assert_eq!(counts(&index).await, (4, 7));
    let filled = async |index: &TantivyRetriever| index.fill(&store).await.expect("the index can be filled");
    assert_eq!(
        filled(&index).await,
        Filled { copied: 1, removed: 0, kept: 3 },
        "nothing tells whether the one without stamp changed"
    );

    let mut noted = file("/c", "lamp", 1);
    noted.note = "read by another extractor".into();
    store
        .commit(vec![file("/a", "boat", 2), noted, file("/d", "lamp", 1)], &[key("/b"), key("/no-stamp")])
        .await
        .expect("a change");
    assert_eq!(filled(&index).await, Filled { copied: 3, removed: 2, kept: 0 });
    assert_eq!(filled(&index).await, Filled { copied: 0, removed: 0, kept: 3 });
    assert_eq!(found(&index, "boat").await, ["/a"]);
    assert_eq!(hits(&index, "lamp boat").await.len(), 6);

    drop(index);
    let again = TantivyRetriever::beside(folder.path(), &store).await.expect("opened again");
    assert_eq!(filled(&again).await, Filled { copied: 0, removed: 0, kept: 3 }, "what was copied is remembered");
    let fresh = TantivyRetriever::in_memory();
    filled(&fresh).await;
    assert_eq!(hits(&again, "second lamp boat").await, hits(&fresh, "second lamp boat").await);
    store.remove(&Filter::everything()).await.expect("the store can be emptied");
    assert_eq!(filled(&again).await, Filled { copied: 0, removed: 3, kept: 0 });
    assert_eq!(counts(&again).await, (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn filling_takes_many_commits_for_many_chunks() {
    let store = MemoryStore::new(Fingerprint::new("by-hand", 2));
    let texts: Vec<String> = (0..3000).map(|i| format!("lamp {i}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let documents = ["/a", "/b", "/c"].map(|path| stamped(document(path, &texts), 1)).to_vec();
    store.commit(documents, &[]).await.expect("the store takes it");
    let index = TantivyRetriever::in_memory();
    assert_eq!(index.fill(&store).await.expect("the index can be filled"), Filled { copied: 3, removed: 0, kept: 0 });
    assert_eq!((counts(&index).await, segments(&index).await), ((3, 9000), 2));
    assert_eq!(found(&index, "2999").await, ["/a", "/b", "/c"]);
}
