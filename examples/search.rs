//! Search your own folders from a terminal.
//!
//! ```text
//! search index FOLDER…
//! search query "when is the submission deadline of the tender?"
//! search status
//! ```

mod shared;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand, ValueEnum};
use sensetree::{
    Engine, Page, Query, Result, SearchResult, Store,
    fusion::FusionRule,
    index::{Indexer, Report},
    store::LanceStore,
};
use shared::{BAD, BOLD, DIM, PATH, StoreArguments, WARN, wrap};

/// Find your own files by meaning and by exact words.
#[derive(Parser)]
#[command(name = "search", disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    common: StoreArguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Bring the index up to date with folders
    Index {
        /// Folders or files
        #[arg(required = true)]
        folders: Vec<PathBuf>,
        /// If another model filled the index: embed its texts anew first
        #[arg(long)]
        rebuild: bool,
    },
    /// Ask a question
    Query {
        /// The question, or the words to find
        text: String,
        /// Only files under this folder
        #[arg(long, value_name = "FOLDER")]
        under: Option<PathBuf>,
        /// Results at most (1 to 100)
        #[arg(long, value_name = "N", default_value_t = 10)]
        limit: usize,
        /// By meaning, by words, or both [default: hybrid]
        #[arg(long, value_enum)]
        mode: Option<Mode>,
        /// Keep the fused order
        #[arg(long)]
        no_rerank: bool,
        /// late, or a cross-encoder: a folder or a name, such as bge-reranker-v2-m3 [default: late]
        #[arg(long, value_name = "NAME", conflicts_with = "no_rerank")]
        reranker: Option<String>,
        /// How the legs are merged: rrf, rrf:0.6, min-max:0.6, dbsf:0.5 [default: rrf]
        #[arg(long, value_name = "RULE", conflicts_with = "mode")]
        fusion: Option<FusionRule>,
        /// Show where each leg ranked a result, and what every stage did
        #[arg(long)]
        explain: bool,
        /// One JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Say what the index holds
    Status,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Mode {
    Hybrid,
    Dense,
    Sparse,
}

const INTERRUPTED: u8 = 130;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments).await {
        Ok(code) => code,
        Err(e) => {
            anstream::eprintln!("{BAD}error:{BAD:#} {}", e.chain());
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Arguments) -> Result<ExitCode> {
    let mut settings = arguments.common.settings()?;
    match arguments.command {
        Command::Status => status(settings.store_folder()?).await,
        Command::Index { folders, rebuild } => {
            let engine = if rebuild {
                let bar = shared::bar();
                let engine = Engine::open_rebuilding(&settings, |event| shared::follow(&bar, &event)).await?;
                bar.finish_and_clear();
                engine
            } else {
                Engine::open(&settings).await?
            };
            index(&engine.indexer()?.build()?, &folders).await
        }
        Command::Query { text, under, limit, mode, no_rerank, reranker, fusion, explain, json } => {
            let retrieval = &mut settings.retrieval;
            if let Some(reranker) = reranker {
                (retrieval.rerank, retrieval.reranker_model) = (true, reranker);
            }
            retrieval.rerank &= !no_rerank;
            if let Some(mode) = mode {
                retrieval.hybrid = mode != Mode::Dense;
            }
            if mode == Some(Mode::Sparse) {
                retrieval.fusion = "rrf:0".parse()?;
            }
            retrieval.fusion = fusion.unwrap_or(retrieval.fusion);
            let pipeline = shared::open_existing(&settings).await?.pipeline().build()?;
            let mut query = Query::new(text).limit(limit);
            if let Some(folder) = under {
                query = query.under(folder)?;
            }
            let page = pipeline.search(query).await?;
            if json {
                print_json(&page)
            } else {
                print_page(&page, explain)
            }
            Ok(if page.results.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
        }
    }
}

async fn status(place: PathBuf) -> Result<ExitCode> {
    let store = LanceStore::open_existing(&place).await?;
    let stats = store.stats().await?;
    println!("store      {}", place.display());
    println!("model      {}", store.fingerprint());
    println!("documents  {}", stats.documents);
    println!("chunks     {} ({} not yet in the text index, searched all the same)", stats.chunks, stats.unindexed);
    println!("size       {:.1} MB in {} versions", stats.bytes as f64 / 1e6, stats.versions);
    Ok(ExitCode::SUCCESS)
}

async fn index(indexer: &Indexer, folders: &[PathBuf]) -> Result<ExitCode> {
    let bar = shared::bar();
    let run = indexer.sync(folders, |event| shared::follow(&bar, &event));
    let report = tokio::select! {
        report = run => report,
        _ = tokio::signal::ctrl_c() => {
            bar.abandon_with_message("stopped");
            eprintln!("Stopped. What was stored so far is kept; run the same command again to go on.");
            return Ok(ExitCode::from(INTERRUPTED));
        }
    };
    bar.finish_and_clear();
    print_report(&report?);
    Ok(ExitCode::SUCCESS)
}

fn print_report(report: &Report) {
    println!("{report}");
    for file in &report.failed {
        anstream::println!("{BAD}failed:{BAD:#} {} ({})", file.path.display(), file.reason);
    }
}

fn print_json(page: &Page) {
    let results: Vec<_> = page
        .results
        .iter()
        .map(|result| {
            serde_json::json!({
                "path": result.path.to_string_lossy(),
                "score": result.score,
                "score_kind": result.score_kind,
                "snippet": result.snippet.text,
                "chunk": { "index": result.chunk, "lines": [result.location.lines.0, result.location.lines.1] },
                "evidence": result.evidence,
            })
        })
        .collect();
    println!("{}", serde_json::json!({ "results": results, "stages": page.stages }));
}

fn print_page(page: &Page, explain: bool) {
    if page.results.is_empty() {
        println!("Nothing found.");
    }
    let here = std::env::current_dir().unwrap_or_default();
    for (place, result) in (1..).zip(&page.results) {
        let path = result.path.strip_prefix(&here).unwrap_or(&result.path);
        let (first, last) = result.location.lines;
        anstream::println!(
            "{BOLD}{place:>2}{BOLD:#}  {:.2}  {PATH}{}{PATH:#}{DIM}:{first}-{last}{DIM:#}",
            result.score,
            path.display()
        );
        for line in wrap(&result.snippet.text, 70) {
            println!("          {line}");
        }
        if explain {
            anstream::println!("          {DIM}{}{DIM:#}", evidence(result));
        }
    }
    if explain {
        println!();
    }
    if explain || page.results.is_empty() {
        shared::print_stages(page);
    } else {
        // Even a short answer tells when something did not work.
        // What was switched off was given nothing to do.
        for stage in page.stages.iter().filter(|stage| stage.input > 0) {
            if let Some(reason) = &stage.reason {
                anstream::eprintln!("{WARN}{}:{WARN:#} {reason}", stage.name);
            }
        }
    }
}

fn evidence(result: &SearchResult) -> String {
    let evidence = &result.evidence;
    let lists = [("dense", evidence.dense), ("sparse", evidence.sparse), ("fused", evidence.fused), ("rerank", evidence.rerank)];
    let places = lists.iter().filter_map(|(name, place)| place.map(|p| format!("{name} {} ({:.3})", p.rank, p.score)));
    places.collect::<Vec<_>>().join(" · ")
}
