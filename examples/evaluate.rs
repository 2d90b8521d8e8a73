//! Measures search on questions with known answers, so that settings are chosen by numbers.
//!
//! ```text
//! evaluate COLLECTION…                               # folders in BEIR form: corpus.jsonl, queries.jsonl, qrels/test.tsv
//! evaluate --questions QUESTIONS.tsv FOLDER          # your own files: question<TAB>file, relative to the folder
//! evaluate --questions QUESTIONS.tsv FOLDER --grid   # which fusion rule, weight and chunk size suits them
//! ```
//!
//! Each row of a table is one setting; the best one is named, for each collection and for all of them, in the form in which it
//! stands in a settings file. Whoever tries many settings finds one that happens to suit these very questions, so what the choice is
//! worth on others is printed beside it.
//!
//! A folder is indexed as `search index` would. A document of a collection is one chunk, title and text; with `--chunk-size` it is
//! a text file that is indexed like any other. Exit code 0, 1 when a gate that was asked for fails, 2 on an error.

mod shared;
#[path = "evaluate/subject.rs"]
mod subject;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, ValueEnum};
use sensetree::{
    Error, Result, Settings,
    eval::{Choice, Metric, Overview, PairedTest, Run, Scores, Table, gate},
    fusion::{FusionRule, RRF_K},
};
use shared::{BAD, BOLD, GOOD};
use subject::Subject;

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
    #[arg(long, value_name = "NAME", default_value = "test")]
    split: String,
    /// Only the first so many queries of each collection
    #[arg(long, value_name = "N")]
    queries: Option<usize>,
    /// fp32, or int8 as the library chooses on CPUs
    #[arg(long, default_value = "fp32", value_parser = ["fp32", "fp16", "int8"])]
    precision: String,
    /// Fusion rules to compare: rrf, rrf:0.6, min-max:0.6, dbsf:0.5. The first one is that of the row hybrid [default: rrf]
    #[arg(long, value_name = "RULE", value_delimiter = ' ', num_args = 1..)]
    fusion: Vec<FusionRule>,
    /// Weights of the dense leg to compare: each rule with each of them, beside the rule as it was given
    #[arg(long, value_name = "WEIGHT", value_delimiter = ',')]
    alpha: Vec<f64>,
    /// Sizes of chunks to compare, in characters. The first one is that of the row hybrid [default: the indexer's, whole documents for collections]
    #[arg(long, value_name = "SIZE", value_delimiter = ',')]
    chunk_size: Vec<usize>,
    /// Where nothing else is said: --fusion rrf min-max dbsf --alpha 0.3,0.4,0.5,0.6,0.7, and with --questions --chunk-size 1000,500,2000
    #[arg(long)]
    grid: bool,
    /// late, or a cross-encoder: a folder or a name
    #[arg(long, value_name = "NAME", default_value = "late")]
    reranker: String,
    /// Leave out hybrid+rerank, which takes most of the time
    #[arg(long)]
    no_rerank: bool,
    /// Write each run in TREC form into this folder
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Fail when a level is not reached: rmm1 is hybrid search with Recall@5 of 70 %, rmm2 hybrid+rerank with nDCG@10 10 % above hybrid
    #[arg(long, value_enum, value_delimiter = ',')]
    gate: Vec<Gate>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Gate {
    Rmm1,
    Rmm2,
}

const HYBRID: &str = "hybrid";
const RERANKED: &str = "hybrid+rerank";
/// What settings are chosen by.
const METRIC: Metric = Metric::USUAL[0];

#[tokio::main]
async fn main() -> ExitCode {
    match evaluate(&Arguments::parse().with_grid()).await {
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
    let mut rows = rows(arguments)?;
    let mut measured = Vec::new();
    for folder in &arguments.folders {
        let subject = Subject::read(arguments, folder)?;
        let runs = subject.ask(&rows).await?;
        measured.push((subject, runs));
    }
    if !arguments.no_rerank {
        let reranked = reranked(&rows, &measured)?;
        for (subject, runs) in &mut measured {
            runs.extend(subject.ask(&reranked).await?);
        }
        rows.extend(reranked);
    }
    let mut tables = Vec::new();
    let mut passed = true;
    for one in &measured {
        let (subject, runs) = one;
        anstream::println!("\n{BOLD}{}{BOLD:#}", subject.name);
        let named: Vec<(&str, &Run)> = rows.iter().map(|row| row.name.as_str()).zip(runs).collect();
        let table = Table::new(&subject.judgements, &named, &Metric::USUAL, &PairedTest::default())?;
        print!("{table}");
        print_best(&rows, std::slice::from_ref(one))?;
        passed &= gates(arguments, subject, &named);
        if let Some(folder) = &arguments.runs {
            std::fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
            for (name, run) in named {
                run.write_trec(folder.join(format!("{}.{}.run", subject.name, name.replace([':', '+', ' ', ','], "-"))))?;
            }
        }
        tables.push((subject.name.as_str(), table));
    }
    if tables.len() > 1 {
        let named: Vec<(&str, &Table)> = tables.iter().map(|(name, table)| (*name, table)).collect();
        anstream::println!("\n{BOLD}all{BOLD:#}");
        print!("{}", Overview::new(&named)?);
        print_best(&rows, &measured)?;
    }
    Ok(passed)
}

/// A row of the tables.
struct Row {
    name: String,
    settings: Settings,
}

/// What was searched, with a run for each row.
type Measured = (Subject, Vec<Run>);

impl Arguments {
    /// What the grid sets where nothing else was said.
    fn with_grid(mut self) -> Self {
        if self.grid && self.fusion.is_empty() {
            self.fusion.extend(["rrf", "min-max", "dbsf"].map(|rule| rule.parse::<FusionRule>().expect("names of rules")));
        }
        if self.grid && self.alpha.is_empty() {
            self.alpha.extend([0.3, 0.4, 0.5, 0.6, 0.7]);
        }
        if self.grid && self.questions.is_some() && self.chunk_size.is_empty() {
            self.chunk_size.extend([1000, 500, 2000]);
        }
        if self.fusion.is_empty() {
            self.fusion.push(FusionRule::default());
        }
        self
    }

    /// The rules as they were given, each followed by itself with other weights.
    fn rules(&self) -> Result<Vec<FusionRule>> {
        let mut rules = Vec::new();
        for &given in &self.fusion {
            for rule in std::iter::once(given).chain(self.alpha.iter().map(|alpha| weighted(given, *alpha))) {
                rule.build()?;
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        Ok(rules)
    }
}

fn weighted(rule: FusionRule, alpha: f64) -> FusionRule {
    match rule {
        // Half and half is the order of the rule without weights.
        FusionRule::Rrf { k, .. } => FusionRule::Rrf { k, alpha: (alpha != 0.5).then_some(alpha) },
        FusionRule::MinMax { .. } => FusionRule::MinMax { alpha },
        FusionRule::DistributionBased { .. } => FusionRule::DistributionBased { alpha },
        other => other,
    }
}

/// All rows without reranking: for each size of chunks dense, sparse, and hybrid with each rule.
fn rows(arguments: &Arguments) -> Result<Vec<Row>> {
    let rules = arguments.rules()?;
    let sizes = arguments.chunk_size.iter().copied().map(Some);
    let sizes: Vec<Option<usize>> = if arguments.chunk_size.is_empty() { vec![None] } else { sizes.collect() };
    let mut rows: Vec<Row> = Vec::new();
    for &size in &sizes {
        let suffix = size.filter(|_| size != sizes[0]).map(|size| format!(", chunks of {size}")).unwrap_or_default();
        let mut add = |name: String, hybrid, fusion| {
            let mut settings = shared::settings();
            settings.embedding.precision = arguments.precision.clone();
            settings.retrieval.reranker_model = arguments.reranker.clone();
            settings.retrieval.hybrid = hybrid;
            settings.retrieval.rerank = false;
            settings.retrieval.fusion = fusion;
            settings.indexing.chunk_size = size;
            rows.push(Row { name: name + &suffix, settings });
        };
        add("dense".into(), false, FusionRule::default());
        add("sparse".into(), true, FusionRule::Rrf { k: RRF_K, alpha: Some(0.0) });
        add(HYBRID.into(), true, rules[0]);
        rules[1..].iter().for_each(|&rule| add(format!("{HYBRID} {rule}"), true, rule));
    }
    Ok(rows)
}

/// The row hybrid with reranking, and so the best of all hybrid ones: reranking each of them would take hours.
fn reranked(rows: &[Row], measured: &[Measured]) -> Result<Vec<Row>> {
    let (best, _) = choose(rows, measured, |row| row.name.starts_with(HYBRID))?;
    let chosen = rows.iter().filter(|row| row.name == HYBRID || row.name == best.name);
    let with_reranking = |row: &Row| {
        let mut settings = row.settings.clone();
        settings.retrieval.rerank = true;
        Row { name: row.name.replacen(HYBRID, RERANKED, 1), settings }
    };
    Ok(chosen.map(with_reranking).collect())
}

/// The best of some rows, over all collections.
fn choose<'a>(rows: &'a [Row], measured: &[Measured], among: impl Fn(&Row) -> bool) -> Result<(&'a Row, Choice)> {
    let candidates: Vec<usize> = (0..rows.len()).filter(|at| among(&rows[*at])).collect();
    let scores = |(subject, runs): &Measured| -> Vec<Scores> {
        candidates.iter().map(|at| METRIC.evaluate(&runs[*at], &subject.judgements)).collect()
    };
    let scores: Vec<Vec<Scores>> = measured.iter().map(scores).collect();
    let choice = Choice::new(&scores.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    Ok((&rows[candidates[choice.best]], choice))
}

/// The best row, what choosing it is worth, and its settings.
fn print_best(rows: &[Row], measured: &[Measured]) -> Result<()> {
    let (best, choice) = choose(rows, measured, |_| true)?;
    let (_, hybrid) = choose(rows, measured, |row| row.name == HYBRID)?;
    anstream::println!("{GOOD}Best: {}{GOOD:#}, {METRIC} {:.4} on the questions it was chosen on", best.name, choice.mean);
    match choice.held_out {
        Some(held_out) => println!(
            "chosen on one half of the questions and measured on the other: {held_out:.4}, {:+.4} against {HYBRID}",
            held_out - hybrid.mean
        ),
        None => println!("too few questions to measure it on others"),
    }
    println!("{}", in_toml(&best.settings));
    Ok(())
}

/// What differs from the defaults, as it stands in a settings file.
fn in_toml(settings: &Settings) -> String {
    let mut settings = settings.clone();
    if !settings.retrieval.rerank {
        settings.retrieval.reranker_model = Settings::default().retrieval.reranker_model;
    }
    let table = |settings: &Settings| toml::Table::try_from(settings).expect("settings can be written");
    let usual = table(&Settings::default());
    let mut text = String::new();
    for (section, keys) in table(&settings) {
        let differs = |key: &str, value| usual[&section].get(key) != Some(value);
        let keys = keys.as_table().into_iter().flatten().filter(|(key, value)| differs(key, value));
        let lines: String = keys.map(|(key, value)| format!("    {key} = {value}\n")).collect();
        if !lines.is_empty() {
            text += &format!("    [{section}]\n{lines}");
        }
    }
    text
}

fn gates(arguments: &Arguments, subject: &Subject, runs: &[(&str, &Run)]) -> bool {
    let run = |name: &str| runs.iter().find(|(row, _)| *row == name).map(|(_, run)| *run);
    let hybrid = run(HYBRID).expect("there is always a row of this name");
    let mut passed = true;
    for gate in &arguments.gate {
        let verdict = match gate {
            Gate::Rmm1 => gate::rmm1(hybrid, &subject.judgements),
            Gate::Rmm2 => gate::rmm2(run(RERANKED).unwrap_or(hybrid), hybrid, &subject.judgements),
        };
        let style = if verdict.passed { GOOD } else { BAD };
        anstream::println!("{style}{verdict}{style:#}");
        passed &= verdict.passed;
    }
    passed
}
