//! Indexes a folder and asks it a question: `cargo run --example quickstart -- FOLDER "QUESTION"`.

use std::{env, path::PathBuf, sync::Arc};

use sensetree::{
    Embedder, Pipeline, Query, RerankOrder, embed::OnnxEmbedder, embed::runtime::cache_folder, index::Indexer,
    rerank::LateInteraction, store::LanceStore,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or("demo/files".into()));
    let question = arguments.next().unwrap_or("when is the submission deadline of the tender?".into());

    let cache = cache_folder().ok_or("no home folder")?;
    let embedder = Arc::new(OnnxEmbedder::open(cache.join("models/all-MiniLM-L6-v2")).await?);
    let store = Arc::new(LanceStore::open(cache.join("quickstart"), embedder.fingerprint()).await?);

    let report = Indexer::builder(embedder.clone(), store.clone()).build()?.sync(&[&folder], |_| {}).await?;
    println!("{} files are new, {} unchanged", report.new, report.unchanged);

    let pipeline = Pipeline::builder(embedder.clone(), store.clone())
        .sparse(store)
        .reranker(LateInteraction::new(embedder.model().clone()))
        .rerank_order(RerankOrder::Blend)
        .build()?;
    let page = pipeline.search(Query::new(question).under(folder)?.limit(5)).await?;
    for result in &page.results {
        println!("{:.2}  {}\n      {}", result.score, result.path.display(), result.snippet.text);
    }
    Ok(())
}
