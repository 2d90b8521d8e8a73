//! What the examples have in common: the model, the reranker, the parts of a pipeline, and text for a terminal.

// Each example uses a part of this.
#![allow(dead_code)]

use std::{num::NonZero, path::PathBuf, sync::Arc, time::Duration};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use sensetree::{
    Error, Page, PipelineBuilder, RerankOrder, Result, ScoreScale, StageStatus,
    embed::{ModelFolder, ModelOptions, OnnxEmbedder, Precision, hub, runtime::cache_folder},
    index::Event,
    rerank::{CrossEncoder, LateInteraction, LazyReranker},
};

pub(crate) const MODEL: &str = "all-MiniLM-L6-v2";

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const PATH: Style = AnsiColor::Cyan.on_default().bold();

/// Where models, the ONNX Runtime library and the examples' stores are.
pub(crate) fn cache() -> Result<PathBuf> {
    cache_folder().ok_or_else(|| Error::InvalidInput("there is no home folder; set SENSETREE_CACHE to a folder of yours".into()))
}

/// The model in `SENSETREE_MODEL_DIR`, in the cache, or from the hub.
pub(crate) async fn embedder(precision: Precision, threads: Option<NonZero<usize>>) -> Result<Arc<OnnxEmbedder>> {
    let folder = match std::env::var_os("SENSETREE_MODEL_DIR").filter(|dir| !dir.is_empty()) {
        Some(named) => ModelFolder::open(named)?,
        None => {
            let cached = cache()?.join("models").join(MODEL);
            if cached.is_dir() {
                ModelFolder::open(cached)?
            } else {
                let repository = format!("sentence-transformers/{MODEL}");
                hub::fetch(&repository, precision, hub::Access::Online).await?
            }
        }
    };
    let mut options = ModelOptions::default().with_precision(precision);
    if let Some(threads) = threads {
        options = options.with_threads(threads);
    }
    Ok(Arc::new(OnnxEmbedder::load(&folder, &options).await?))
}

/// Adds a reranker: `late` reads the embedding model's token states; anything else is a cross-encoder in a folder, in the
/// cache, or on the hub, loaded when it is first asked. One that cannot be had is reported on every page.
pub(crate) fn with_reranker(builder: PipelineBuilder, name: &str, embedder: &OnnxEmbedder) -> PipelineBuilder {
    if name == "late" {
        let recipe = embedder.recipe();
        let late = LateInteraction::new(embedder.model().clone()).with_prefixes(&recipe.query_prefix, &recipe.passage_prefix);
        return builder.reranker(late).rerank_order(RerankOrder::Blend);
    }
    let wanted = name.to_owned();
    builder.reranker(LazyReranker::new(name, ScoreScale::Logit, move || cross_encoder(wanted.clone())))
}

async fn cross_encoder(name: String) -> Result<CrossEncoder> {
    let options = ModelOptions::default();
    let here = [Some(PathBuf::from(&name)), cache().ok().map(|cache| cache.join("models").join(&name))];
    if let Some(folder) = here.into_iter().flatten().find(|folder| folder.is_dir()) {
        return CrossEncoder::load(&ModelFolder::open(folder)?, &options).await;
    }
    let repository = match name.as_str() {
        "bge-reranker-v2-m3" => "onnx-community/bge-reranker-v2-m3-ONNX",
        "bge-reranker-base" => "BAAI/bge-reranker-base",
        "jina-reranker-v2-base-multilingual" => "jinaai/jina-reranker-v2-base-multilingual",
        other => other,
    };
    CrossEncoder::load(&hub::fetch(repository, Precision::Auto, hub::Access::Online).await?, &options).await
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
