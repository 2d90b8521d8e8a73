//! What the examples have in common: the model, the reranker, the parts of a pipeline, and text for a terminal.

// Each example uses a part of this.
#![allow(dead_code)]

use std::{num::NonZero, path::PathBuf, time::Duration};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use sensetree::{
    Engine, Error, Page, Result, Settings, StageStatus, embed::runtime::cache_folder, index::Event, store::LanceStore,
};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const PATH: Style = AnsiColor::Cyan.on_default().bold();

/// What every program that opens an index can be told.
#[derive(clap::Args)]
pub(crate) struct StoreArguments {
    /// Where the index is kept [default: in the cache folder]
    #[arg(long, global = true, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Threads for the models [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Settings in TOML or JSON, instead of the examples' own; what other options say comes first
    #[arg(long, global = true, value_name = "FILE")]
    settings: Option<PathBuf>,
}

impl StoreArguments {
    /// The settings, with the folder of the store.
    pub(crate) fn settings(self) -> Result<Settings> {
        let mut settings = match self.settings {
            Some(file) => Settings::read(file)?,
            None => settings(),
        };
        settings.embedding.threads = self.threads.or(settings.embedding.threads);
        settings.store = self.store.or(settings.store);
        settings.store = Some(settings.store_folder()?);
        Ok(settings)
    }
}

/// For a question, which does not make a store.
pub(crate) async fn open_existing(settings: &Settings) -> Result<Engine> {
    drop(LanceStore::open_existing(settings.store_folder()?).await?);
    Engine::open(settings).await
}

/// Where models, the ONNX Runtime library and the examples' stores are.
pub(crate) fn cache() -> Result<PathBuf> {
    cache_folder().ok_or_else(|| Error::InvalidInput("there is no home folder; set SENSETREE_CACHE to a folder of yours".into()))
}

/// The settings that all examples start from: late interaction reranks, since it needs no second model, and the embedding model
/// is that in `SENSETREE_MODEL_DIR`, if it is set.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.retrieval.reranker_model = "late".into();
    if let Some(folder) = std::env::var("SENSETREE_MODEL_DIR").ok().filter(|folder| !folder.is_empty()) {
        settings.embedding.model = folder;
    }
    settings
}

/// Opens a store that an example keeps only to be faster next time: one of another version is made anew.
pub(crate) async fn open_kept(settings: &Settings) -> Result<Engine> {
    match Engine::open(settings).await {
        Err(Error::Format { path, .. }) => {
            std::fs::remove_dir_all(&path).map_err(Error::io("remove", &path))?;
            Engine::open(settings).await
        }
        engine => engine,
    }
}

/// A bar on standard error that follows an indexing run; nothing when that is not a terminal.
pub(crate) fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:24!} [{bar:24}] {pos}/{len} files, {per_sec}")
        .expect("the template is fixed and right")
        .progress_chars("=> ");
    let bar = ProgressBar::new(0).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

pub(crate) fn follow(bar: &ProgressBar, event: &Event) {
    match event {
        Event::Found { .. } => bar.set_message("looking at the folder"),
        Event::Started { files, .. } => bar.set_length(*files),
        Event::Read { path, .. } => bar.set_message(path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        Event::Finished { .. } => bar.inc(1),
        Event::Maintaining => bar.set_message("tidying up"),
        _ => {}
    }
}

/// Prints what each stage did, one line for each.
pub(crate) fn print_stages(page: &Page) {
    for stage in &page.stages {
        let (style, status) = match stage.status {
            StageStatus::Ran => (GOOD, "ran"),
            StageStatus::Skipped => (DIM, "skipped"),
            StageStatus::Failed => (BAD, "failed"),
        };
        anstream::print!("  {:<8} {style}{status:<8}{style:#}", stage.name);
        if stage.status == StageStatus::Ran {
            anstream::print!("{:>5} -> {:<5}{:>8.1} ms", stage.input, stage.output, stage.ms);
        }
        match &stage.reason {
            None => anstream::println!(),
            Some(reason) => {
                let lines = wrap(reason, 59);
                anstream::println!("{DIM}{}{DIM:#}", lines.join("\n                   "));
            }
        }
    }
}

/// Lines of at most `width` characters, broken at spaces.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
