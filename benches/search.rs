//! What a fused search costs beyond its parts: `make bench ARGS=CHUNKS`.
//!
//! Asks the demo's questions of a store that holds the demo's texts many times over, each copy with its words in another order
//! and its vector a little turned. In each round the parts and the whole are timed after one another, so that whatever else the
//! machine does hits both.

use std::{path::Path, sync::Arc, time::Instant};

use sensetree::{
    Chunk, Document, Embedder, Embedding, Engine, Filter, Query, Result, Settings, SparseRetriever, Store,
    embed::runtime::cache_folder, eval::read_questions, fusion::FusionRule,
};

/// Chunks that each leg gives for a page of 20.
const POOL: usize = 120;
const BATCH: usize = 1000;

#[tokio::main]
async fn main() {
    // Cargo passes `--bench` as well.
    let chunks = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(5000);
    if let Err(e) = bench(chunks).await {
        eprintln!("error: {}", e.chain());
        std::process::exit(2);
    }
}

async fn bench(chunks: usize) -> Result<()> {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let mut settings = Settings::default();
    settings.retrieval.rerank = false;
    settings.store = cache_folder().map(|cache| cache.join(format!("bench/search-{chunks}")));
    let engine = Engine::open(&settings).await?;
    fill(&engine, &demo, chunks).await?;
    let (embedder, store) = (engine.embedder(), engine.store());
    let fused = engine.pipeline().without_existence_check().build()?;
    settings.retrieval.fusion = FusionRule::MinMax { alpha: 0.6 };
    let min_max = engine.pipeline().settings(&settings).without_existence_check().build()?;

    let everything = Filter::everything();
    let mut rows: Vec<[f64; 5]> = Vec::new();
    for round in 0..4 {
        for (question, _) in read_questions(demo.join("questions.tsv"))? {
            let (vector, embed) = timed(embedder.embed_query(&question)).await?;
            let (_, nearest) = timed(store.nearest(&vector, &everything, POOL)).await?;
            let (_, words) = timed(store.retrieve(&question, &everything, POOL)).await?;
            let (_, whole) = timed(fused.search(Query::new(&question))).await?;
            let (_, other) = timed(min_max.search(Query::new(&question))).await?;
            // The first round fills caches.
            if round > 0 {
                rows.push([embed, nearest, words, whole, other]);
            }
        }
    }
    let column = |of: fn(&[f64; 5]) -> f64| median(rows.iter().map(of).collect());
    let slower = column(|[embed, nearest, words, ..]| embed + nearest.max(*words));
    println!("{} chunks, {} searches, medians in ms", store.stats().await?.chunks, rows.len());
    println!("  query embedding         {:>7.2}", column(|row| row[0]));
    println!("  dense leg               {:>7.2}", column(|row| row[1]));
    println!("  sparse leg              {:>7.2}", column(|row| row[2]));
    println!("  embedding + slower leg  {slower:>7.2}");
    println!("  one after the other     {:>7.2}", column(|[embed, nearest, words, ..]| embed + nearest + words));
    for (name, whole) in [("search, RRF", column(|row| row[3])), ("search, min-max", column(|row| row[4]))] {
        println!("  {name:<22}  {whole:>7.2}   {:.2} of embedding + slower leg", whole / slower);
    }
    Ok(())
}

async fn timed<T>(work: impl Future<Output = Result<T>>) -> Result<(T, f64)> {
    let started = Instant::now();
    let result = work.await?;
    Ok((result, started.elapsed().as_secs_f64() * 1e3))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Fills the store with the demo's chunks, until there are as many as wanted.
async fn fill(engine: &Engine, demo: &Path, chunks: usize) -> Result<()> {
    let store = engine.store();
    if store.stats().await?.chunks >= chunks as u64 {
        return Ok(());
    }
    let originals = Arc::new(sensetree::memory::MemoryStore::new(engine.embedder().fingerprint().clone()));
    sensetree::index::Indexer::builder(engine.embedder().clone(), originals.clone())
        .build()?
        .sync(&[demo.join("files")], |_| {})
        .await?;
    let mut texts: Vec<Chunk> = Vec::new();
    for document in originals.documents(&Filter::everything()).await? {
        texts.extend(originals.chunks(&document.key).await?);
    }
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let numbers: Vec<usize> = (0..chunks).collect();
    for batch in numbers.chunks(BATCH) {
        let documents = batch.iter().map(|&number| {
            let original = &texts[number % texts.len()];
            let mut words: Vec<&str> = original.text.split_whitespace().collect();
            for at in (1..words.len()).rev() {
                words.swap(at, next(&mut random) as usize % (at + 1));
            }
            let turned = original.embedding.as_slice().iter().map(|v| v + (next(&mut random) % 2001) as f32 / 1e5 - 0.01);
            let chunk = Chunk::new(words.join(" "), Embedding::new(turned.collect::<Vec<f32>>())?);
            Ok(Document::new(format!("/bench/{:03}/{number}.md", number % 200)).with_chunk(chunk))
        });
        store.commit(documents.collect::<Result<Vec<_>>>()?, &[]).await?;
    }
    store.maintain().await
}

/// Xorshift: the same numbers in every run.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
