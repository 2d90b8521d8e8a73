//! What a hybrid search without reranking takes, and what it is made of: `cargo bench --profile dev --all-features --bench search -- CHUNKS…`
//!
//! Corpus: the texts of `SENSETREE_BENCH_TEXTS` (else the demo's), many times over. Queries: those of the same collections. All
//! parts are timed after one another in each round, so that whatever else the machine does hits all of them; figures are in
//! milliseconds. For each size one line of JSON goes to standard output, and `queries.json` with texts and vectors into the store's
//! folder, from where a rival can read both.

mod corpus;

use std::{collections::HashSet, sync::Arc, time::Instant};

use corpus::{Known, Originals, folder, peak_mebibytes};
use sensetree::{
    Chunk, ChunkId, Document, Embedder, Embedding, Error, Filter, Hit, PathRules, Pipeline, Query, Result, Scope,
    SparseRetriever, Store, embed::OnnxEmbedder, store::LanceStore,
};
use serde_json::{Value, json};

/// Chunks that each leg gives for a page of 20.
const POOL: usize = 120;
/// The first round fills caches and is not counted.
const ROUNDS: usize = 3;
/// Files that change, one after another.
const CHANGES: usize = 10;

#[tokio::main]
async fn main() {
    // Cargo passes `--bench` as well.
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    if let Err(e) = bench(if sizes.is_empty() { &[5000] } else { &sizes }).await {
        eprintln!("error: {}", e.chain());
        std::process::exit(2);
    }
}

async fn bench(sizes: &[usize]) -> Result<()> {
    let embedder = corpus::embedder().await?;
    let originals = Originals::read(&embedder).await?;
    for &chunks in sizes {
        let (store, built) = originals.store(embedder.fingerprint(), chunks).await?;
        hand_over(&originals, chunks)?;
        let mut line = json!({ "chunks": chunks, "queries": originals.queries.len(), "built": built });
        let parts = [
            searches(&embedder, &store, &originals).await?,
            recall(&store, &embedder, &originals, chunks).await?,
            after_a_change(&embedder, &store, &originals).await?,
            json!({ "bytes": store.stats().await?.bytes, "peak_mebibytes": peak_mebibytes() }),
        ];
        for part in parts {
            if let (Value::Object(line), Value::Object(part)) = (&mut line, part) {
                line.extend(part);
            }
        }
        println!("{line}");
    }
    Ok(())
}

/// Each leg, the whole page, and the page within one folder of fifty.
async fn searches(embedder: &Arc<OnnxEmbedder>, store: &Arc<LanceStore>, originals: &Originals) -> Result<Value> {
    let whole = Pipeline::builder(embedder.clone(), store.clone()).sparse(store.clone()).without_existence_check().build()?;
    let known = known(embedder, store, originals)?;
    let (everything, scope) = (Filter::everything(), Filter::everything().under(Scope::new("/bench/007", PathRules::Posix)));
    let names = ["embedding", "dense", "sparse", "search", "search_with_embedding", "dense_scoped", "sparse_scoped"];
    let mut columns = vec![Vec::new(); names.len()];
    for round in 0..ROUNDS {
        for (text, vector) in &originals.queries {
            let times = [
                timed(embedder.embed_query(text)).await?,
                timed(store.nearest(vector, &everything, POOL)).await?,
                timed(store.retrieve(text, &everything, POOL)).await?,
                timed(known.search(Query::new(text))).await?,
                timed(whole.search(Query::new(text))).await?,
                timed(store.nearest(vector, &scope, POOL)).await?,
                timed(store.retrieve(text, &scope, POOL)).await?,
            ];
            if round > 0 {
                columns.iter_mut().zip(times).for_each(|(column, time)| column.push(time));
            }
        }
    }
    Ok(names.into_iter().zip(columns).map(|(name, column)| (name.to_owned(), spread(column))).collect())
}

/// The share of the ten truly nearest chunks that are among the ten found, everywhere and within one folder.
async fn recall(store: &Arc<LanceStore>, embedder: &Arc<OnnxEmbedder>, originals: &Originals, chunks: usize) -> Result<Value> {
    let exact = LanceStore::open(folder(&format!("chunks-{chunks}"))?, embedder.fingerprint()).await?.exact_up_to(u64::MAX);
    let scope = Filter::everything().under(Scope::new("/bench/007", PathRules::Posix));
    let mut recalls = Vec::new();
    for filter in [Filter::everything(), scope] {
        let mut shares = Vec::new();
        for (_, vector) in &originals.queries {
            let ids = |hits: Vec<Hit>| hits.into_iter().map(|hit| hit.id).collect::<HashSet<ChunkId>>();
            let truth = ids(exact.nearest(vector, &filter, 10).await?);
            // As a page asks: the first ten of a pool.
            let found = ids(store.nearest(vector, &filter, POOL).await?.into_iter().take(10).collect());
            shares.push(truth.intersection(&found).count() as f64 / truth.len().max(1) as f64);
        }
        recalls.push(shares.iter().sum::<f64>() / shares.len() as f64);
    }
    Ok(json!({ "recall_at_10": recalls[0], "recall_at_10_scoped": recalls[1] }))
}

/// The first search after one file has changed, and the commit of the change.
async fn after_a_change(embedder: &Arc<OnnxEmbedder>, store: &Arc<LanceStore>, originals: &Originals) -> Result<Value> {
    let known = known(embedder, store, originals)?;
    let (mut commits, mut firsts) = (Vec::new(), Vec::new());
    for (number, (text, vector)) in originals.queries.iter().take(CHANGES).enumerate() {
        let changed = Document::new(format!("/bench/changed/{number}.md")).with_chunk(Chunk::new(text, vector.clone()));
        commits.push(timed(store.commit(vec![changed], &[])).await?);
        let mut page = None;
        firsts.push(
            timed(async {
                page = Some(known.search(Query::new(text)).await?);
                Ok(())
            })
            .await?,
        );
        let expected = format!("/bench/changed/{number}.md");
        if !page.is_some_and(|page| page.results.iter().any(|result| result.key.as_str() == expected)) {
            return Err(Error::contract("search", format!("{expected}, which was just committed, is not on the page")));
        }
    }
    store.remove(&Filter::everything().under(Scope::new("/bench/changed", PathRules::Posix))).await?;
    Ok(json!({ "commit_of_one": spread(commits), "first_search_after": spread(firsts) }))
}

fn known(embedder: &Arc<OnnxEmbedder>, store: &Arc<LanceStore>, originals: &Originals) -> Result<Pipeline> {
    let vectors = originals.queries.iter().cloned().collect();
    let known = Known { fingerprint: embedder.fingerprint().clone(), vectors };
    Pipeline::builder(Arc::new(known), store.clone()).sparse(store.clone()).without_existence_check().build()
}

/// Writes what a rival needs beside the store.
fn hand_over(originals: &Originals, chunks: usize) -> Result<()> {
    let query = |(text, vector): &(String, Embedding)| json!({ "text": text, "vector": vector.as_slice() });
    let path = folder(&format!("chunks-{chunks}"))?.join("queries.json");
    let queries: Value = originals.queries.iter().map(query).collect();
    std::fs::write(&path, queries.to_string()).map_err(Error::io("write", &path))
}

async fn timed<T>(work: impl Future<Output = Result<T>>) -> Result<f64> {
    let started = Instant::now();
    work.await?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

fn spread(mut times: Vec<f64>) -> Value {
    times.sort_by(f64::total_cmp);
    json!({ "p50": times[times.len() / 2], "p95": times[times.len() * 95 / 100] })
}
