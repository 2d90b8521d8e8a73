use std::{collections::HashSet, future::Future, sync::Arc};

use crate::{
    Candidate, Chunk, ChunkId, Document, DocumentKey, Embedder, Embedding, Error, Evidence, Filter, Fingerprint, Fusion, Hit,
    Leg, Location, Passage, PathRules, Query, RankedList, Reranker, Result, Scope, SparseRetriever, Stage, Store,
    memory::MemoryStore,
};

fn key(path: &str) -> DocumentKey {
    DocumentKey::new(path, PathRules::Posix)
}

fn scope(path: &str) -> Filter {
    Filter::everything().under(Scope::new(path, PathRules::Posix))
}

/// A vector with a given cosine to the first axis; `dimension` must be at least 2.
fn vector(dimension: usize, cosine: f32) -> Embedding {
    let mut values = vec![0.0; dimension];
    values[0] = cosine;
    values[1] = (1.0 - cosine * cosine).max(0.0).sqrt();
    Embedding::new(values).expect("a unit vector can be ranked")
}

fn document(dimension: usize, path: &str, chunks: &[(&str, f32)]) -> Document {
    let chunks = (chunks.iter().zip(1u32..))
        .map(|((text, cosine), line)| {
            Chunk::new(*text, vector(dimension, *cosine))
                .with_context(format!("context {line}"))
                .with_location(Location { bytes: 0..text.len() as u64, lines: (line, line + 1) })
        })
        .collect();
    Document { key: key(path), path: path.into(), chunks, ..Document::new(path) }
}

fn ids(hits: &[Hit]) -> Vec<(String, u32)> {
    hits.iter().map(|hit| (hit.id.key.to_string(), hit.id.index)).collect()
}

/// What every [`Store`] keeps. `open` gives a new empty store of at least 2 dimensions at each call.
///
/// # Panics
/// When the store breaks a rule; the message names it.
pub async fn store_suite<S, F>(open: impl Fn() -> F)
where
    S: Store,
    F: Future<Output = S>,
{
    empty_store(&open().await).await;
    nearest_is_exact_ordered_and_filtered(&open().await).await;
    commit_replaces_whole_documents(&open().await).await;
    commit_refuses_what_it_cannot_hold(&open().await).await;
    names_are_only_data(&open().await).await;
    chunks_come_back_as_they_went(&open().await).await;
}

async fn empty_store(store: &dyn Store) {
    let dimension = store.fingerprint().dimension();
    let everything = Filter::everything();
    assert_eq!(store.nearest(&vector(dimension, 1.0), &everything, 10).await.expect("an empty store can be searched"), []);
    store.commit(vec![], &[]).await.expect("committing nothing is fine");
    assert_eq!(store.remove(&everything).await.expect("removing nothing is fine"), 0);
    assert_eq!(store.stats().await.expect("an empty store has counts").chunks, 0);
    store.maintain().await.expect("an empty store can be maintained");
}

async fn nearest_is_exact_ordered_and_filtered(store: &dyn Store) {
    let dimension = store.fingerprint().dimension();
    let mut documents: Vec<Document> =
        (0..200).map(|i| document(dimension, &format!("/near/{i:03}"), &[("near", 0.9)])).collect();
    documents.extend((0..3).map(|i| document(dimension, &format!("/far/{i}"), &[("far", 0.3 - 0.1 * i as f32)])));
    documents.push(document(dimension, "/far-away", &[("other", -0.5)]));
    store.commit(documents, &[]).await.expect("a commit of whole documents works");
    let query = vector(dimension, 1.0);

    let inside = store.nearest(&query, &scope("/far"), 3).await.expect("a search in a folder works");
    assert_eq!(
        ids(&inside),
        [("/far/0".into(), 0), ("/far/1".into(), 0), ("/far/2".into(), 0)],
        "the folder is searched, not the best of all"
    );
    assert!((inside[0].score - 0.3).abs() < 1e-3, "the score is the cosine, got {}", inside[0].score);

    let near = store.nearest(&query, &Filter::everything(), 5).await.expect("a search works");
    assert_eq!(ids(&near), (0..5).map(|i| (format!("/near/{i:03}"), 0)).collect::<Vec<_>>(), "equal scores are ordered by key");

    let away = store.nearest(&query, &scope("/far-away"), 1).await.expect("a search for one file works");
    assert_eq!(away[0].score, 0.0, "scores below zero are clamped");

    let wrong = store.nearest(&vector(dimension + 1, 1.0), &Filter::everything(), 5).await;
    assert!(matches!(wrong, Err(Error::InvalidEmbedding(_))), "another dimension is a typed error, got {wrong:?}");
    let listed = Filter::everything().documents([key("/far/1"), key("/nowhere")]);
    assert_eq!(ids(&store.nearest(&query, &listed, 9).await.expect("a list of documents is a filter")), [("/far/1".into(), 0)]);
    let none = Filter::everything().documents([]);
    assert_eq!(
        store.nearest(&query, &none, 9).await.expect("an empty list is a filter"),
        [],
        "an empty list lets nothing through"
    );
}

async fn commit_replaces_whole_documents(store: &dyn Store) {
    let dimension = store.fingerprint().dimension();
    let long = document(dimension, "/a", &[("one", 0.5), ("two", 0.5), ("three", 0.5), ("four", 0.5), ("five", 0.5)]);
    store.commit(vec![long, document(dimension, "/b", &[("kept", 0.4)])], &[]).await.expect("a first version is stored");
    let short = document(dimension, "/a", &[("one", 0.5), ("new", 0.6)]);
    for _ in 0..2 {
        store.commit(vec![short.clone()], &[]).await.expect("a second version replaces it, also when repeated");
        assert_eq!(store.stats().await.expect("counts").chunks, 3, "chunks that the new version lacks are gone");
    }
    let texts: Vec<String> = store.chunks(&key("/a")).await.expect("chunks").into_iter().map(|c| c.text).collect();
    assert_eq!(texts, ["one", "new"]);

    let moved = document(dimension, "/c", &[("one", 0.5), ("new", 0.6)]);
    store.commit(vec![moved], &[key("/a"), key("/never-there")]).await.expect("a rename is one commit");
    let keys = |documents: Vec<crate::DocumentInfo>| documents.into_iter().map(|d| d.key.to_string()).collect::<Vec<_>>();
    assert_eq!(keys(store.documents(&Filter::everything()).await.expect("documents")), ["/b", "/c"]);
    store.commit(vec![document(dimension, "/b", &[("again", 0.2)])], &[key("/b")]).await.expect("kept when also removed");
    assert_eq!(store.chunks(&key("/b")).await.expect("chunks").len(), 1);
    store.commit(vec![], &[key("/b")]).await.expect("only removals are a commit");
    assert_eq!(keys(store.documents(&Filter::everything()).await.expect("documents")), ["/c"]);
    store.maintain().await.expect("maintenance works");
    assert_eq!(store.stats().await.expect("counts").chunks, 2, "maintenance changes no result");
}

async fn commit_refuses_what_it_cannot_hold(store: &dyn Store) {
    let dimension = store.fingerprint().dimension();
    let good = || document(dimension, "/good", &[("good", 0.5)]);
    let empty = store.commit(vec![good(), document(dimension, "/empty", &[])], &[]).await;
    assert!(matches!(&empty, Err(Error::InvalidInput(why)) if why.contains("/empty")), "the document is named, got {empty:?}");
    let wide = store.commit(vec![good(), document(dimension + 1, "/wide", &[("wide", 0.5)])], &[]).await;
    assert!(matches!(&wide, Err(Error::InvalidEmbedding(why)) if why.contains("/wide")), "the document is named, got {wide:?}");
    let twice = store.commit(vec![good(), good()], &[]).await;
    assert!(matches!(&twice, Err(Error::InvalidInput(why)) if why.contains("/good")), "the document is named, got {twice:?}");
    assert_eq!(store.stats().await.expect("counts").chunks, 0, "a refused commit writes nothing");
}

/// Names that break SQL, patterns and ranges when they are not treated as data.
const NAMES: [&str; 12] = [
    "Bea's plans",
    "\"draft\"",
    "100%_x",
    "[a-z]",
    "back\\slash",
    "line\nbreak",
    "; DROP TABLE",
    "Prüfung",
    "保証書",
    "a b",
    "0",
    "🚲",
];

async fn names_are_only_data(store: &dyn Store) {
    let dimension = store.fingerprint().dimension();
    let path = |folder: &str| format!("/n/{folder}/don't.md");
    let documents = NAMES.iter().flat_map(|name| {
        [document(dimension, &path(name), &[("in", 0.5)]), document(dimension, &path(&format!("{name}x")), &[("out", 0.5)])]
    });
    store.commit(documents.collect(), &[]).await.expect("names of any characters are stored");
    for name in NAMES {
        let found =
            store.nearest(&vector(dimension, 1.0), &scope(&format!("/n/{name}")), 9).await.expect("any folder can be searched");
        assert_eq!(ids(&found), [(path(name), 0)], "the folder {name:?} holds its own file only");
        assert_eq!(*found[0].passage.path, std::path::PathBuf::from(path(name)), "the path comes back as it was given");
    }
    for (gone, name) in (1..).zip(NAMES) {
        assert_eq!(store.remove(&scope(&format!("/n/{name}"))).await.expect("any folder can be removed"), 1, "{name:?}");
        let left = store.stats().await.expect("counts").documents;
        assert_eq!(left, 2 * NAMES.len() as u64 - gone, "removing {name:?} removed one document");
    }
}

async fn chunks_come_back_as_they_went(store: &dyn Store) {
    let dimension = store.fingerprint().dimension();
    let mut sent = document(dimension, "/a", &[("one", 0.5), ("two", 0.25)]);
    sent.note = "a note".into();
    sent.stamp = crate::FileStamp { size: 7, modified: -5, changed: 3, read: 1_700_000_000_123_456_789, hash: "c0ffee".into() };
    store.commit(vec![sent.clone()], &[]).await.expect("a document is stored");
    assert_eq!(store.chunks(&sent.key).await.expect("chunks"), sent.chunks);
    let info = store.documents(&Filter::everything()).await.expect("documents").remove(0);
    assert_eq!((info.key, &*info.path, info.stamp, info.note), (sent.key, &sent.path, sent.stamp, sent.note));
    let hit = store.nearest(&vector(dimension, 1.0), &Filter::everything(), 1).await.expect("a search works").remove(0);
    assert_eq!((hit.passage.text.as_str(), &hit.passage.location), ("one", &sent.chunks[0].location));
    assert_eq!(store.chunks(&key("/nowhere")).await.expect("chunks of a stranger"), []);
}

/// What every [`SparseRetriever`] keeps. `fill` gives a retriever over exactly these documents, whose vectors have `dimension` values.
///
/// # Panics
/// When the retriever breaks a rule; the message names it.
pub async fn sparse_suite<R, F>(dimension: usize, fill: impl Fn(Vec<Document>) -> F)
where
    R: SparseRetriever,
    F: Future<Output = R>,
{
    let texts =
        |texts: &[(&str, &str)]| texts.iter().map(|(path, text)| document(dimension, path, &[(text, 0.5)])).collect::<Vec<_>>();
    let everything = Filter::everything();

    let retriever = fill(texts(&[
        ("/backup", r"Backup job halted: code={7}, path (E:\vault)"),
        ("/soup", "salt and pepper or not sugar"),
        ("/budget", "R&D - budget"),
        ("/minutes", "Minutes 2031-04-09 of the board"),
        ("/sweets", "crème brûlée"),
        ("/boat", "łódka"),
    ]))
    .await;
    let first = async |query: &str| -> Option<String> {
        let hits =
            retriever.retrieve(query, &everything, 10).await.unwrap_or_else(|e| panic!("the query {query:?} is an error: {e:?}"));
        hits.first().map(|hit| hit.id.key.to_string())
    };
    for (query, path) in [
        (r"Backup job halted: code={7}, path (E:\vault)", "/backup"),
        ("salt AND pepper OR NOT sugar", "/soup"),
        ("-pepper", "/soup"),
        ("R&D - budget", "/budget"),
        ("\"board minutes\"", "/minutes"),
        ("2031-04-09", "/minutes"),
        ("creme brulee", "/sweets"),
        ("cre\u{300}me", "/sweets"),
        ("CRÈME", "/sweets"),
        ("lodka", "/boat"),
        ("łódka", "/boat"),
    ] {
        assert_eq!(first(query).await.as_deref(), Some(path), "the query {query:?}");
    }
    for nothing in ["", "   ", "!!!", "\u{200B}", "'", "\"", "\\", "🚲"] {
        assert_eq!(first(nothing).await, None, "{nothing:?} has no word to find");
    }
    first(&"pepper (\"a: ".repeat(1000)).await;

    let mut many: Vec<Document> =
        (0..50).map(|i| document(dimension, &format!("/out/{i:02}"), &[("tin tin tin", 0.5)])).collect();
    many.extend((0..10).map(|i| document(dimension, &format!("/in/{i:02}"), &[("one tin among many other words", 0.5)])));
    let retriever = fill(many).await;
    let inside = retriever.retrieve("tin", &scope("/in"), 10).await.expect("a folder can be searched by words");
    let expected: Vec<_> = (0..10).map(|i| (format!("/in/{i:02}"), 0)).collect();
    assert_eq!(ids(&inside), expected, "the folder fills the page, equal scores by key");
    assert!(inside.iter().all(|hit| hit.score > 0.0));
    assert_eq!(retriever.retrieve("tin", &everything, 7).await.expect("a search works").len(), 7, "the limit holds");
}

/// What every [`Embedder`] keeps.
///
/// # Panics
/// When the embedder breaks a rule; the message names it.
pub async fn embedder_suite(embedder: &dyn Embedder) {
    let dimension = embedder.fingerprint().dimension();
    assert_eq!(embedder.embed_passages(&[]).await.expect("nothing for nothing"), []);
    let long = "a long text about nothing much ".repeat(400);
    let texts = ["lamp", "", "Crème brûlée 保証書 🚲", &long, "lamp"];
    let together = embedder.embed_passages(&texts).await.expect("any text can be embedded");
    assert_eq!(together.len(), texts.len(), "as many vectors as texts");
    assert!(together.iter().all(|v| v.dimension() == dimension), "the dimension is the fingerprint's");
    assert!(together[0].cosine(&together[4]) > 0.99999, "the same text has the same vector");
    for (text, vector) in texts.iter().zip(&together) {
        let alone = embedder.embed_passages(&[text]).await.expect("any text can be embedded").remove(0);
        assert!(alone.cosine(vector) >= 0.9999, "the vector of {text:.20?} depends on what it shares a call with");
    }
    let query = embedder.embed_query("lamp").await.expect("a query can be embedded");
    assert_eq!(query.dimension(), dimension);
}

/// What every [`Reranker`] keeps.
///
/// # Panics
/// When the reranker breaks a rule; the message names it.
pub async fn reranker_suite(reranker: &dyn Reranker) {
    assert_eq!(reranker.score("lamp", &[]).await.expect("nothing for nothing"), Vec::<f32>::new());
    let query = "where is the lamp ".repeat(175);
    let long = "a long passage about a lamp ".repeat(200);
    let passages = ["a lamp", "", "Crème brûlée 保証書 🚲", &long];
    for query in ["lamp", &query] {
        let scores = reranker.score(query, &passages).await.expect("any passage can be scored");
        assert_eq!(scores.len(), passages.len(), "as many scores as passages");
        assert!(scores.iter().all(|s| s.is_finite()), "scores are finite, got {scores:?}");
        if reranker.scale() == crate::ScoreScale::Unit {
            assert!(scores.iter().all(|s| (-1e-4..=1.0001).contains(s)), "unit scores are in [0, 1], got {scores:?}");
        }
        let reversed: Vec<&str> = passages.iter().rev().copied().collect();
        let again = reranker.score(query, &reversed).await.expect("any order can be scored");
        for (a, b) in scores.iter().zip(again.iter().rev()) {
            assert!((a - b).abs() < 1e-3, "a passage's score depends on its place: {scores:?} and {again:?}");
        }
    }
}

/// What every [`Fusion`] keeps.
///
/// # Panics
/// When the rule breaks one of these; the message names it.
pub fn fusion_suite(fusion: &dyn Fusion) {
    let list = |leg, ids: &[&str]| {
        let hits = ids.iter().zip(0u8..).map(|(id, at)| hit(id, 1.0 - f32::from(at) / 64.0));
        RankedList::new(leg, hits.collect())
    };
    let order = |lists: &[RankedList]| fusion.fuse(lists).into_iter().map(|f| f.id.key.to_string()).collect::<Vec<_>>();

    assert_eq!(fusion.fuse(&[]), []);
    let alone = list(Leg::Dense, &["c", "a", "b"]);
    if fusion.weight(Leg::Dense) > 0.0 {
        assert_eq!(order(&[alone.clone(), list(Leg::Sparse, &[])]), ["c", "a", "b"], "an empty list changes nothing");
    }
    let (dense, sparse) = (list(Leg::Dense, &["x", "a", "y"]), list(Leg::Sparse, &["b", "c", "y"]));
    let fused = fusion.fuse(&[dense.clone(), sparse.clone()]);
    assert_eq!(fused, fusion.fuse(&[sparse, dense]), "the order of the lists does not matter");
    assert_eq!(fused.iter().map(|f| &f.id).collect::<HashSet<_>>().len(), fused.len(), "each chunk once");
    assert_eq!(fused.len(), 5, "no chunk is lost");
    let best = fusion.best(&[Leg::Dense, Leg::Sparse]);
    assert!(fused.iter().all(|f| f.score.is_finite() && f.score <= best + 1e-12), "no score is above the best possible, {best}");
    for pair in fused.windows(2) {
        assert!(
            pair[0].score > pair[1].score || (pair[0].score == pair[1].score && pair[0].id < pair[1].id),
            "best first, ties by id"
        );
    }
    let repeated = fusion.fuse(&[list(Leg::Dense, &["a", "a", "b"]), list(Leg::Sparse, &["b"])]);
    assert_eq!(repeated.len(), 2, "a repeat counts once");
}

fn hit(path: &str, score: f32) -> Hit {
    Hit { id: ChunkId::new(key(path), 0), score, passage: Arc::new(Passage::new(path, path)) }
}

/// What every [`Stage`] keeps.
///
/// # Panics
/// When the stage breaks a rule; the message names it.
pub async fn stage_suite(stage: &dyn Stage) {
    let query = Query::new("lamp");
    assert_eq!(stage.apply(&query, vec![]).await.expect("nothing for nothing"), []);
    let candidates: Vec<Candidate> = (["a", "b", "c"].iter())
        .map(|id| hit(id, 0.5))
        .map(|hit| Candidate { id: hit.id, passage: hit.passage, evidence: Evidence::default() })
        .collect();
    let known: HashSet<ChunkId> = candidates.iter().map(|c| c.id.clone()).collect();
    let out = stage.apply(&query, candidates).await.expect("plain candidates pass");
    let ids: HashSet<ChunkId> = out.iter().map(|c| c.id.clone()).collect();
    assert_eq!(ids.len(), out.len(), "no candidate is repeated");
    assert!(ids.is_subset(&known), "no candidate is invented");
}

/// Fills an in-memory store; what callers' tests start from.
///
/// # Errors
/// As [`Store::commit`].
pub async fn memory_store(fingerprint: Fingerprint, documents: Vec<Document>) -> Result<MemoryStore> {
    let store = MemoryStore::new(fingerprint);
    store.commit(documents, &[]).await?;
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MockEmbedder, MockReranker};
    use futures::executor::block_on;

    #[test]
    fn the_memory_store_passes_its_suites() {
        block_on(store_suite(|| async { MemoryStore::new(Fingerprint::new("test", 4)) }));
        block_on(sparse_suite(4, |documents| async {
            memory_store(Fingerprint::new("test", 4), documents).await.expect("the documents are whole")
        }));
    }

    #[test]
    fn the_mocks_pass_their_suites() {
        block_on(embedder_suite(&MockEmbedder::new(64)));
        block_on(reranker_suite(&MockReranker::word_overlap()));
    }
}
