//! Measures search on a collection with judgements, so that a choice can be made by numbers:
//! `cargo run --all-features --example evaluate -- COLLECTION…`.
//!
//! A collection is a folder in BEIR form: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`. Each document is one chunk, title and
//! text; each leg gives 120 candidates.

mod shared;

use std::{collections::HashMap, path::PathBuf, process::ExitCode, sync::Arc, time::Instant};

use clap::Parser;
use sensetree::{
    Chunk, Document, DocumentKey, Embedder, Pipeline, PipelineBuilder, Query, Result, Store,
    embed::{OnnxEmbedder, Precision},
    eval::{Collection, Metric, Run},
    fusion::Rrf,
    store::LanceStore,
};
use shared::BAD;

/// nDCG@10, Recall@5 and MRR@10 of dense, sparse, hybrid and hybrid+rerank.
#[derive(Parser)]
struct Arguments {
    /// Folders in BEIR form
    #[arg(required = true)]
    collections: Vec<PathBuf>,
    /// Which judgements: qrels/NAME.tsv
    #[arg(long, default_value = "test")]
    split: String,
    /// fp32, or int8 as the library chooses on CPUs
    #[arg(long, default_value = "fp32", value_parser = ["fp32", "int8"])]
    precision: String,
    /// late, or a cross-encoder: a folder or a name
    #[arg(long, default_value = "late")]
    reranker: String,
    /// Leave out the row hybrid+rerank, which takes most of the time
    #[arg(long)]
    no_rerank: bool,
}

/// Results of a page; the pool of each leg is six times this.
const LIMIT: usize = 20;
/// Documents of one commit.
const BATCH: usize = 512;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match evaluate(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            anstream::eprintln!("{BAD}error:{BAD:#} {}", e.chain());
            ExitCode::from(2)
        }
    }
}

async fn evaluate(arguments: &Arguments) -> Result<()> {
    let precision = if arguments.precision == "int8" { Precision::Int8 } else { Precision::Fp32 };
    let embedder = shared::embedder(precision, None).await?;
    println!("{:<18} {:<14} {:>8} {:>9} {:>7} {:>10}", "collection", "", "nDCG@10", "Recall@5", "MRR@10", "ms/query");
    for folder in &arguments.collections {
        let collection = Collection::read(folder, &arguments.split)?;
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
        let place = shared::cache()?.join("evaluate").join(format!("{name}-{}", arguments.precision));
        let store = Arc::new(filled(&place, &collection, &embedder).await?);

        let with_sparse = || base(&embedder, &store).sparse(store.clone());
        let rows = [
            ("dense", base(&embedder, &store)),
            ("sparse", with_sparse().fusion(Rrf::default().alpha(0.0)?)),
            ("hybrid", with_sparse()),
            ("hybrid+rerank", shared::with_reranker(with_sparse(), &arguments.reranker, &embedder)),
        ];
        let rows = rows.into_iter().filter(|(row, _)| *row != "hybrid+rerank" || !arguments.no_rerank);
        for (row, builder) in rows {
            measure(&name, row, &builder.build()?, &collection).await?;
        }
    }
    Ok(())
}

/// Documents of a collection are not files, so their existence is not checked.
fn base(embedder: &Arc<OnnxEmbedder>, store: &Arc<LanceStore>) -> PipelineBuilder {
    Pipeline::builder(embedder.clone(), store.clone()).without_existence_check()
}

/// The collection's store; what an earlier run stored is kept.
async fn filled(place: &std::path::Path, collection: &Collection, embedder: &OnnxEmbedder) -> Result<LanceStore> {
    let store = LanceStore::open(place, embedder.fingerprint()).await?;
    let stored: HashMap<DocumentKey, ()> =
        store.documents(&Default::default()).await?.into_iter().map(|document| (document.key, ())).collect();
    let missing: Vec<_> = collection.documents().iter().filter(|d| !stored.contains_key(&key(&d.id))).collect();
    let bar = shared::bar();
    bar.set_length(missing.len() as u64);
    bar.set_message("embedding");
    for batch in missing.chunks(BATCH) {
        let texts: Vec<String> = batch.iter().map(|document| document.full_text()).collect();
        let vectors = embedder.embed_passages(&texts.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        let documents = (batch.iter().zip(texts).zip(vectors))
            .map(|((document, text), vector)| {
                let chunk = Chunk::new(text, vector);
                Document { key: key(&document.id), ..Document::new(&document.id).with_chunk(chunk) }
            })
            .collect();
        store.commit(documents, &[]).await?;
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    store.maintain().await?;
    Ok(store)
}

/// Identifiers are not paths; they are kept as they are.
fn key(id: &str) -> DocumentKey {
    DocumentKey::from_stored(id)
}

async fn measure(collection_name: &str, row: &str, pipeline: &Pipeline, collection: &Collection) -> Result<()> {
    let mut run = Run::default();
    let started = Instant::now();
    for (id, text) in collection.judged_queries() {
        let page = pipeline.search(Query::new(text).limit(LIMIT)).await?;
        if let Some(stage) = page.stages.iter().find(|stage| stage.status == sensetree::StageStatus::Failed) {
            return Err(sensetree::Error::contract(&stage.name, stage.reason.clone().unwrap_or_default()));
        }
        let ranking = page.results.iter().map(|result| (result.key.to_string(), result.score)).collect();
        run.insert(id.to_owned(), ranking);
    }
    let elapsed = started.elapsed().as_secs_f64() * 1e3 / run.len().max(1) as f64;
    let judgements = collection.judgements();
    let [ndcg, recall, mrr] = [Metric::Ndcg(10), Metric::Recall(5), Metric::Mrr(10)].map(|m| m.evaluate(&run, judgements).mean);
    println!("{collection_name:<18} {row:<14} {ndcg:>8.4} {recall:>9.4} {mrr:>7.4} {elapsed:>10.1}");
    Ok(())
}
