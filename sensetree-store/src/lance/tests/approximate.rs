//! Stores above the size up to which every vector is compared.

use std::sync::Arc;

use super::*;

const DIMENSION: usize = 16;
/// Small, so that a test of seconds has an index.
const EXACT_UP_TO: u64 = 300;

/// Directions that differ by number, the same in every run.
fn direction(number: usize) -> Embedding {
    let value = |at: usize| ((number * DIMENSION + at + 1) as f32 * 12.9898).sin() * 43_758.547;
    Embedding::new((0..DIMENSION).map(|at| value(at).fract() - 0.5).collect::<Vec<f32>>()).expect("a vector")
}

fn numbered(number: usize, text: &str) -> Document {
    let path = format!("/{:02}/{number:05}.md", number % 20);
    Document { key: key(&path), ..Document::new(&path).with_chunk(Chunk::new(text, direction(number))) }
}

async fn open_small(folder: &TempDir) -> LanceStore {
    let store = LanceStore::open(folder.path(), &fingerprint(DIMENSION)).await.expect("the store opens");
    store.exact_up_to(EXACT_UP_TO)
}

async fn open_exact(folder: &TempDir) -> LanceStore {
    LanceStore::open(folder.path(), &fingerprint(DIMENSION)).await.expect("the store opens").exact_up_to(u64::MAX)
}

async fn nearest(store: &LanceStore, number: usize, filter: &Filter, limit: usize) -> Vec<Hit> {
    store.nearest(&direction(number), filter, limit).await.expect("a search by meaning works")
}

async fn vector_index(store: &LanceStore) -> Option<lancedb::index::IndexConfig> {
    let indexes = store.indexes().await.expect("the indexes can be listed");
    indexes.into_iter().find(|index| index.columns == [rows::VECTOR])
}

/// Of the ten truly nearest, how many an approximate search finds, over some questions that no document is the answer to.
async fn recall(store: &LanceStore, exact: &LanceStore, filter: &Filter) -> f64 {
    let (mut found, mut expected) = (0, 0);
    for question in 50_000..50_040 {
        let truth = nearest(exact, question, filter, 10).await;
        let hits = nearest(store, question, filter, 10).await;
        assert_eq!(hits.len(), truth.len(), "never fewer than there are");
        assert!(hits.is_sorted_by(|a, b| a.score >= b.score), "{hits:?}");
        for hit in &hits {
            let same = truth.iter().find(|other| other.id == hit.id);
            found += usize::from(same.is_some());
            assert!(same.is_none_or(|same| (same.score - hit.score).abs() < 1e-5), "true similarities: {hit:?} {same:?}");
        }
        expected += truth.len();
    }
    f64::from(found as u32) / f64::from(expected as u32)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_store_gets_an_index_that_finds_what_comparing_everything_finds() {
    let folder = folder();
    let (store, exact) = (open_small(&folder).await, open_exact(&folder).await);
    commit(&store, (0..300).map(|number| numbered(number, "lamp")).collect()).await;
    store.maintain().await.expect("maintenance works");
    assert!(vector_index(&store).await.is_none(), "comparing everything is cheap");
    for batch in 1..10 {
        commit(&store, (batch * 300..(batch + 1) * 300).map(|number| numbered(number, "lamp")).collect()).await;
    }
    exact.maintain().await.expect("maintenance works");
    assert!(vector_index(&store).await.is_none(), "this handle compares everything");
    store.maintain().await.expect("maintenance works");
    assert_eq!(vector_index(&store).await.and_then(|index| index.num_indexed_rows), Some(3000));
    let everything = Filter::everything();
    assert!(recall(&store, &exact, &everything).await >= 0.95);
    // 150 chunks are compared one by one; 900 are not.
    let folders = |names: std::ops::Range<u32>| {
        names.fold(Filter::everything(), |filter, n| filter.under(Scope::new(&format!("/{n:02}"), PathRules::Posix)))
    };
    assert_eq!(recall(&store, &exact, &folders(3..4)).await, 1.0);
    assert!(recall(&store, &exact, &folders(3..9)).await >= 0.95);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_index_does_not_cover_is_found_all_the_same() {
    let folder = folder();
    let store = open_small(&folder).await;
    commit(&store, (0..1000).map(|number| numbered(number, "lamp")).collect()).await;
    store.maintain().await.expect("maintenance works");
    commit(&store, vec![numbered(7_000, "boat")]).await;
    assert_eq!(vector_index(&store).await.and_then(|index| index.num_unindexed_rows), Some(1));
    let hits = nearest(&store, 7_000, &Filter::everything(), 3).await;
    assert_eq!(hits[0].id.key.as_str(), "/00/07000.md");
    // Replaced and removed documents are gone at once, though the index still has them.
    let replaced = Document { key: key("/00/07000.md"), ..numbered(7_001, "tree") };
    commit(&store, vec![replaced]).await;
    store.remove(&Filter::everything().documents([numbered(40, "").key])).await.expect("a document can be removed");
    assert!(nearest(&store, 7_000, &Filter::everything(), 1).await[0].score < 0.99);
    assert!(nearest(&store, 40, &Filter::everything(), 1).await[0].score < 0.99);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_grows_with_the_store_in_a_bounded_number_of_parts() {
    let folder = folder();
    let (store, exact) = (open_small(&folder).await, open_exact(&folder).await);
    commit(&store, (0..1000).map(|number| numbered(number, "lamp")).collect()).await;
    store.maintain().await.expect("maintenance works");
    for round in 0..20 {
        let first = 1000 + round * 150;
        commit(&store, (first..first + 150).map(|number| numbered(number, "lamp")).collect()).await;
        store.maintain().await.expect("maintenance works");
        for index in store.indexes().await.expect("the indexes can be listed") {
            assert!(index.num_segments.is_some_and(|parts| parts <= 9), "{index:?}");
        }
    }
    let covered = vector_index(&store).await.and_then(|index| index.num_unindexed_rows).expect("it tells");
    assert!(covered <= 4000 / 20, "{covered} rows are outside");
    assert!(recall(&store, &exact, &Filter::everything()).await >= 0.95);
}

#[tokio::test(flavor = "multi_thread")]
async fn searches_and_writes_go_on_while_it_is_maintained() {
    let folder = folder();
    let store = Arc::new(open_small(&folder).await);
    let other = Arc::new(open_small(&folder).await);
    commit(&store, (0..2000).map(|number| numbered(number, "lamp")).collect()).await;
    let maintained = tokio::spawn({
        let (store, other) = (store.clone(), other.clone());
        async move {
            for round in 0..6 {
                // Two at once, through two handles.
                let (one, two) = tokio::join!(store.maintain(), other.tidy(maintain::Duration::minutes(1)));
                one.unwrap_or_else(|e| panic!("round {round}: {}", e.chain()));
                two.unwrap_or_else(|e| panic!("round {round}: {}", e.chain()));
            }
        }
    });
    let mut writes = 0;
    while !maintained.is_finished() || writes < 20 {
        // New documents, a changed one and a removed one in one commit.
        let first = 10_000 + writes * 50;
        let mut documents: Vec<Document> = (first..first + 50).map(|number| numbered(number, "boat")).collect();
        documents.push(numbered(writes, &format!("changed {writes}")));
        store.commit(documents, &[numbered(1000 + writes, "").key]).await.expect("it can be written");
        writes += 1;
        let hits = nearest(&other, first + 7, &Filter::everything(), 5).await;
        assert_eq!(hits[0].id.key, numbered(first + 7, "").key, "what was committed is found");
        assert_eq!(found(&other, &format!("{}", writes - 1)).await, [numbered(writes - 1, "").key.to_string()]);
    }
    maintained.await.expect("maintenance works");
    let stats = store.stats().await.expect("counts");
    assert_eq!(stats.documents as usize, 2000 + writes * 50 - writes);
    assert_eq!(stats.chunks, stats.documents);
    for number in 0..writes {
        assert_eq!(nearest(&store, number, &Filter::everything(), 1).await[0].passage.text, format!("changed {number}"));
    }
}
