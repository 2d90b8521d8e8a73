//! Measures search on questions with known answers, so that settings are chosen by numbers.
//!
//! ```text
//! evaluate COLLECTION…                        # folders in BEIR form: corpus.jsonl, queries.jsonl, qrels/test.tsv
//! evaluate --questions QUESTIONS.tsv FOLDER   # your own files: question<TAB>file, relative to the folder
//! ```
//!
//! A document of a collection is one chunk, title and text, unless `--chunk-size` says otherwise; a folder is indexed as
//! `search index` would. Exit code 0, 1 when a gate that was asked for fails, 2 on an error.

mod shared;

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use clap::{Parser, ValueEnum};
use sensetree::{
    Chunk, Document, DocumentKey, Embedder, Engine, Error, Page, Pipeline, Query, Result, Settings, StageReport, StageStatus,
    Store,
    eval::{Collection, Judgements, Metric, Overview, PairedTest, Run, Table, gate, read_questions},
    fusion::FusionRule,
};
use shared::{BAD, BOLD, DIM, GOOD};

/// nDCG@10, Recall@5, MRR@10 and MAP of dense, sparse, hybrid and hybrid+rerank, compared query by query.
#[derive(Parser)]
struct Arguments {
    /// Folders in BEIR form; with --questions, a folder of files
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// Questions about the files of a folder: lines of question, tab, file
    #[arg(long, value_name = "FILE")]
    questions: Option<PathBuf>,
    /// Which judgements of a collection: qrels/NAME.tsv
    #[arg(long, default_value = "test")]
    split: String,
    /// Only the first so many queries of each collection
    #[arg(long, value_name = "N")]
    queries: Option<usize>,
    /// fp32, or int8 as the library chooses on CPUs
    #[arg(long, default_value = "fp32", value_parser = ["fp32", "fp16", "int8"])]
    precision: String,
    /// Fusion rules to compare: rrf, rrf:0.6, min-max:0.6, dbsf:0.5. The first one is used for hybrid and for reranking
    #[arg(long, value_delimiter = ' ', num_args = 1.., default_value = "rrf")]
    fusion: Vec<FusionRule>,
    /// Sizes of chunks to compare, in characters, for --questions [default: the indexer's]
    #[arg(long, value_delimiter = ',', requires = "questions")]
    chunk_size: Vec<usize>,
    /// late, or a cross-encoder: a folder or a name
    #[arg(long, default_value = "late")]
    reranker: String,
    /// Leave out the row hybrid+rerank, which takes most of the time
    #[arg(long)]
    no_rerank: bool,
    /// Write each run in TREC form into this folder
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Fail when a level is not reached: rmm1 is hybrid search with Recall@5 of 70 %, rmm2 a reranker with nDCG@10 10 % above that
    #[arg(long, value_enum, value_delimiter = ',')]
    gate: Vec<Gate>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Gate {
    Rmm1,
    Rmm2,
}

/// Results of a page; the pool of each leg is six times this.
const LIMIT: usize = 20;
/// Documents of one commit.
const BATCH: usize = 512;
const HYBRID: &str = "hybrid";
const RERANKED: &str = "hybrid+rerank";

#[tokio::main]
async fn main() -> ExitCode {
    match evaluate(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            anstream::eprintln!("{BAD}error:{BAD:#} {}", e.chain());
            ExitCode::from(2)
        }
    }
}

/// Whether every gate was passed.
async fn evaluate(arguments: &Arguments) -> Result<bool> {
    let mut tables = Vec::new();
    let mut passed = true;
    for folder in &arguments.folders {
        let subject = Subject::read(arguments, folder)?;
        let mut runs = Vec::new();
        let sizes = arguments.chunk_size.iter().copied().map(Some);
        let sizes: Vec<Option<usize>> = if arguments.chunk_size.is_empty() { vec![None] } else { sizes.collect() };
        for &size in &sizes {
            let engine = subject.engine(arguments, size).await?;
            let suffix = if sizes.len() > 1 { size.map(|size| format!(" {size}")).unwrap_or_default() } else { String::new() };
            for (row, settings) in rows(arguments) {
                // Documents of a collection are not files, so their existence is not checked.
                let pipeline = engine.pipeline().settings(&settings).without_existence_check().build()?;
                runs.push((format!("{row}{suffix}"), subject.ask(&row, &pipeline).await?));
            }
        }
        anstream::println!("\n{BOLD}{}{BOLD:#}", subject.name);
        let named: Vec<(&str, &Run)> = runs.iter().map(|(name, run)| (name.as_str(), run)).collect();
        let table = Table::new(&subject.judgements, &named, &Metric::USUAL, &PairedTest::default())?;
        println!("{table}");
        passed &= gates(arguments, &subject, &runs);
        if let Some(folder) = &arguments.runs {
            std::fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
            for (name, run) in &runs {
                run.write_trec(folder.join(format!("{}.{}.run", subject.name, name.replace([':', '+', ' '], "-"))))?;
            }
        }
        tables.push((subject.name, table));
    }
    let named: Vec<(&str, &Table)> = tables.iter().map(|(name, table)| (name.as_str(), table)).collect();
    if named.len() > 1 {
        anstream::println!("\n{BOLD}all{BOLD:#}");
        println!("{}", Overview::new(&named)?);
    }
    let mean = |row: usize| tables.iter().map(|(_, table)| table.rows[row].values[0]).sum::<f64>() / tables.len() as f64;
    if let Some(best) = (0..tables[0].1.rows.len()).max_by(|&a, &b| mean(a).total_cmp(&mean(b)).then(b.cmp(&a))) {
        println!("\nBest by mean nDCG@10: {} ({:.4})", tables[0].1.rows[best].name, mean(best));
    }
    Ok(passed)
}

/// The rows of a table: what they are called, and the settings that make them.
fn rows(arguments: &Arguments) -> Vec<(String, Settings)> {
    let row = |hybrid, rerank, fusion| {
        let mut settings = shared::settings();
        settings.retrieval.hybrid = hybrid;
        settings.retrieval.rerank = rerank;
        settings.retrieval.fusion = fusion;
        settings
    };
    let first = arguments.fusion[0];
    let sparse_only = FusionRule::Rrf { k: sensetree::fusion::RRF_K, alpha: Some(0.0) };
    let mut rows = vec![
        ("dense".to_owned(), row(false, false, first)),
        ("sparse".to_owned(), row(true, false, sparse_only)),
        (HYBRID.to_owned(), row(true, false, first)),
    ];
    rows.extend(arguments.fusion[1..].iter().map(|&rule| (format!("{HYBRID} {rule}"), row(true, false, rule))));
    if !arguments.no_rerank {
        rows.push((RERANKED.to_owned(), row(true, true, first)));
    }
    rows
}

fn gates(arguments: &Arguments, subject: &Subject, runs: &[(String, Run)]) -> bool {
    let run = |name: &str| runs.iter().find(|(row, _)| row == name || row.starts_with(&format!("{name} "))).map(|(_, run)| run);
    let Some(hybrid) = run(HYBRID) else { return true };
    let mut passed = true;
    for gate in &arguments.gate {
        let verdict = match (gate, run(RERANKED)) {
            (Gate::Rmm1, _) => gate::rmm1(hybrid, &subject.judgements),
            (Gate::Rmm2, reranked) => gate::rmm2(reranked.unwrap_or(hybrid), hybrid, &subject.judgements),
        };
        let style = if verdict.passed { GOOD } else { BAD };
        anstream::println!("{style}{verdict}{style:#}");
        passed &= verdict.passed;
    }
    passed
}

/// What is searched, and what should be found.
struct Subject {
    name: String,
    /// A folder of files, or the documents of a collection.
    files: Option<PathBuf>,
    documents: Vec<(String, String)>,
    queries: Vec<(String, String)>,
    judgements: Judgements,
}

impl Subject {
    fn read(arguments: &Arguments, folder: &Path) -> Result<Self> {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let most = arguments.queries.unwrap_or(usize::MAX);
        let mut judgements = Judgements::default();
        if let Some(file) = &arguments.questions {
            let mut queries = Vec::new();
            for (question, files) in read_questions(file)?.into_iter().take(most) {
                files.into_iter().for_each(|file| judgements.insert(question.clone(), file, 1));
                queries.push((question.clone(), question));
            }
            let files = std::path::absolute(folder).map_err(Error::io("find", folder))?;
            return Ok(Self { name, files: Some(files), documents: Vec::new(), queries, judgements });
        }
        let collection = Collection::read(folder, &arguments.split)?;
        let queries: Vec<(String, String)> =
            collection.judged_queries().take(most).map(|(id, text)| (id.to_owned(), text.to_owned())).collect();
        for (query, _) in &queries {
            for document in collection.judgements().relevant(query) {
                judgements.insert(query, document, collection.judgements().grade(query, document));
            }
        }
        let documents = collection.documents().iter().map(|document| (document.id.clone(), document.full_text())).collect();
        Ok(Self { name, files: None, documents, queries, judgements })
    }

    /// The subject's store; what an earlier run stored is kept.
    async fn engine(&self, arguments: &Arguments, chunk_size: Option<usize>) -> Result<Engine> {
        let mut settings = shared::settings();
        settings.embedding.precision = arguments.precision.clone();
        settings.retrieval.reranker_model = arguments.reranker.clone();
        settings.indexing.chunk_size = chunk_size;
        // A smaller chunk shares less with its neighbour, in proportion.
        settings.indexing.overlap = chunk_size.map(|size| size * 3 / 20);
        let size = chunk_size.map(|size| format!("-{size}")).unwrap_or_default();
        let name = format!("{}-{:016x}-{}{size}", self.name, self.identity(), arguments.precision);
        settings.store = Some(shared::cache()?.join("evaluate").join(name));
        let engine = Engine::open(&settings).await?;
        match &self.files {
            Some(folder) => {
                let bar = shared::bar();
                engine.indexer()?.build()?.sync(&[folder], |event| shared::follow(&bar, &event)).await?;
                bar.finish_and_clear();
            }
            None => self.fill(&engine).await?,
        }
        Ok(engine)
    }

    /// Tells subjects of one name apart, and states of a collection.
    fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.files, &self.documents).hash(&mut hasher);
        hasher.finish()
    }

    async fn fill(&self, engine: &Engine) -> Result<()> {
        let (embedder, store) = (engine.embedder(), engine.store());
        let stored: HashSet<DocumentKey> =
            store.documents(&Default::default()).await?.into_iter().map(|document| document.key).collect();
        let missing: Vec<_> = self.documents.iter().filter(|(id, _)| !stored.contains(&key(id))).collect();
        let bar = shared::bar();
        bar.set_length(missing.len() as u64);
        bar.set_message("embedding");
        for batch in missing.chunks(BATCH) {
            let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
            let vectors = embedder.embed_passages(&texts).await?;
            let document = |((id, text), vector): (&&(String, String), _)| Document {
                key: key(id),
                ..Document::new(id).with_chunk(Chunk::new(text, vector))
            };
            store.commit(batch.iter().zip(vectors).map(document).collect(), &[]).await?;
            bar.inc(batch.len() as u64);
        }
        bar.finish_and_clear();
        store.maintain().await
    }

    async fn ask(&self, row: &str, pipeline: &Pipeline) -> Result<Run> {
        let mut run = Run::default();
        let started = Instant::now();
        for (id, text) in &self.queries {
            let mut query = Query::new(text).limit(LIMIT);
            if let Some(folder) = &self.files {
                query = query.under(folder)?;
            }
            let page = pipeline.search(query).await?;
            // What was skipped although it had something to do is no row of its own.
            let is_missing = |stage: &&StageReport| stage.status != StageStatus::Ran && stage.input > 0;
            if let Some(stage) = page.stages.iter().find(is_missing) {
                return Err(Error::contract(&stage.name, stage.reason.clone().unwrap_or_default()));
            }
            run.insert(id, self.ranking(&page));
            let ran = page.stages.iter().filter(|stage| stage.status == StageStatus::Ran);
            run.insert_stages(id, ran.map(|stage| stage.name.clone()));
        }
        let each = started.elapsed().as_secs_f64() * 1e3 / run.len().max(1) as f64;
        anstream::eprintln!("{DIM}{}: {row}, {each:.1} ms a query{DIM:#}", self.name);
        Ok(run)
    }

    /// The page's order, as scores: what a page shows is not what it is ordered by.
    fn ranking(&self, page: &Page) -> Vec<(String, f64)> {
        let name = |result: &sensetree::SearchResult| match &self.files {
            Some(folder) => result.path.strip_prefix(folder).unwrap_or(&result.path).to_string_lossy().into_owned(),
            None => result.key.to_string(),
        };
        page.results.iter().zip(1u32..).map(|(result, rank)| (name(result), 1.0 / f64::from(rank))).collect()
    }
}

/// Identifiers are not paths; they are kept as they are.
fn key(id: &str) -> DocumentKey {
    DocumentKey::from_stored(id)
}
