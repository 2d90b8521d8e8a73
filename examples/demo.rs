//! Indexes the folder that ships with the repository, asks it some questions, and counts how many of all its questions find
//! the right file: what `make demo` runs.

mod shared;

use std::{path::Path, process::ExitCode, time::Instant};

use sensetree::{
    Query, Result,
    eval::{Judgements, Metric, Run, read_questions},
};
use shared::{BAD, BOLD, DIM, PATH, wrap};

/// How many of the questions are asked aloud.
const SHOWN: usize = 5;
/// The page that Recall@5 needs.
const TOP: usize = 5;

#[tokio::main]
async fn main() -> ExitCode {
    match demo().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            anstream::eprintln!("{BAD}error:{BAD:#} {}", e.chain());
            ExitCode::from(2)
        }
    }
}

async fn demo() -> Result<()> {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let files = demo.join("files");
    let mut settings = shared::settings();
    settings.store = Some(shared::cache()?.join("demo"));
    let engine = shared::open_kept(&settings).await?;

    anstream::println!("{BOLD}Indexing{BOLD:#} demo/files with {}", engine.embedder().model().name());
    let started = Instant::now();
    let bar = shared::bar();
    let report = engine.indexer()?.build()?.sync(&[&files], |e| shared::follow(&bar, &e)).await?;
    bar.finish_and_clear();
    println!(
        "  {} new, {} changed, {} unchanged, {} by name only; {} chunks embedded in {:.1} s",
        report.new,
        report.changed,
        report.unchanged,
        report.skipped.len(),
        report.chunks_embedded,
        started.elapsed().as_secs_f64()
    );

    let reranked = engine.pipeline().build()?;
    settings.retrieval.rerank = false;
    let fused = engine.pipeline().settings(&settings).build()?;
    let questions = read_questions(demo.join("questions.tsv"))?;
    let step = questions.len().div_ceil(SHOWN).max(1);
    for (question, _) in questions.iter().step_by(step) {
        anstream::println!("\n{BOLD}{question}{BOLD:#}");
        let page = reranked.search(Query::new(question).under(&files)?.limit(3)).await?;
        for (place, result) in (1..).zip(&page.results) {
            let path = result.path.strip_prefix(&files).unwrap_or(&result.path);
            anstream::println!("  {place}  {:.2}  {PATH}{}{PATH:#}", result.score, path.display());
            if place == 1 {
                for line in wrap(&result.snippet.text, 70) {
                    println!("           {line}");
                }
            }
        }
        anstream::print!("{DIM}");
        shared::print_stages(&page);
        anstream::print!("{DIM:#}");
    }

    anstream::println!("\n{BOLD}Recall@5{BOLD:#} over all {} questions", questions.len());
    for (name, pipeline) in [("without reranking", &fused), ("with reranking", &reranked)] {
        let (mut run, mut judgements) = (Run::default(), Judgements::default());
        for (question, right) in &questions {
            let page = pipeline.search(Query::new(question).under(&files)?.limit(TOP)).await?;
            let found = page.results.iter().map(|result| {
                let path = result.path.strip_prefix(&files).unwrap_or(&result.path);
                (path.to_string_lossy().into_owned(), result.score)
            });
            run.insert(question.clone(), found.collect());
            right.iter().for_each(|file| judgements.insert(question.clone(), file.clone(), 1));
        }
        let recall = Metric::Recall(TOP).evaluate(&run, &judgements).mean;
        println!("  {name:<18} {:.1} %", recall * 100.0);
    }
    println!("\nAsk it yourself: cargo run --all-features --example search -- index demo/files");
    println!("                 cargo run --all-features --example search -- query \"…\"");
    Ok(())
}
