//! Embedding chunks: texts per second of `OnnxEmbedder`, of fastembed, and of what one would write by hand on the same runtime.
//!
//! Each side embeds the same texts with the same graph, on all cores, and cuts them at the same number of tokens.

mod by_hand;

use std::{fs, path::Path, sync::Arc, time::Duration, time::Instant};

use fastembed::{InitOptionsUserDefined, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use sensetree_core::Embedder;
use sensetree_embed::{ModelFolder, ModelOptions, OnnxEmbedder, Precision};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{Result, serve as serve_work, threads};

/// What the driver compares, to see that all sides compute the same.
const PROBES: usize = 4;

pub fn serve(side: &str, precision: &str, model: &Path, texts: &[String]) -> Result {
    let mut embed: Box<dyn FnMut(&[String]) -> Result<Vec<Vec<f32>>>> = match side {
        "sensetree" => {
            let (runtime, embedder) = ours(precision, model)?;
            Box::new(move |texts| {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let vectors = runtime.block_on(embedder.embed_passages(&texts))?;
                Ok(vectors.into_iter().map(|vector| vector.as_slice().to_vec()).collect())
            })
        }
        "fastembed" => {
            let mut embedder = fastembed(precision, model)?;
            Box::new(move |texts| Ok(embedder.embed(texts, None)?))
        }
        "by-hand-singles" => {
            let mut by_hand = by_hand::ByHand::load(&graph(precision, model), model, max_tokens(model)?, threads(), 1, 1)?;
            Box::new(move |texts| by_hand.embed(texts))
        }
        "by-hand-batches" => {
            let mut by_hand = by_hand::ByHand::load(&graph(precision, model), model, max_tokens(model)?, 1, threads(), 8)?;
            Box::new(move |texts| by_hand.embed(texts))
        }
        _ => return Err(format!("there is no side {side}").into()),
    };
    let probes = embed(&texts[..PROBES.min(texts.len())])?;
    serve_work(&json!({ "probes": probes }), || Ok(json!({ "count": embed(texts)?.len() })))
}

/// Questions in one round, alone and again while passages are embedded.
const QUESTIONS: usize = 50;
const QUESTION_WORDS: usize = 10;
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(40);
/// Passages that an indexing run hands over at once.
const BATCH: usize = 256;

/// How long a question waits, alone and while passages are embedded; in milliseconds.
pub fn serve_questions(precision: &str, model: &Path, texts: &[String]) -> Result {
    let (runtime, embedder) = ours(precision, model)?;
    let words = |text: &String| text.split_whitespace().take(QUESTION_WORDS).collect::<Vec<_>>().join(" ");
    let questions: Vec<String> = texts.iter().take(QUESTIONS).map(words).collect();
    let passages: Arc<Vec<String>> = Arc::new(texts.to_vec());
    serve_work(&json!({}), || {
        runtime.block_on(async {
            let idle = ask(&*embedder, &questions).await?;
            let (indexer, passages) = (embedder.clone(), passages.clone());
            let indexing = tokio::spawn(async move {
                let batches = passages.chunks(BATCH).cycle().map(|batch| batch.iter().map(String::as_str).collect::<Vec<_>>());
                for batch in batches {
                    indexer.embed_passages(&batch).await?;
                }
                sensetree_core::Result::<()>::Ok(())
            });
            tokio::time::sleep(BETWEEN_QUESTIONS * 5).await;
            let busy = ask(&*embedder, &questions).await?;
            if indexing.is_finished() {
                return Err("the passages ended before the questions".into());
            }
            indexing.abort();
            // What runs is finished; what waits is taken out of the queue.
            let _ = indexing.await;
            embedder.embed_query("the last passage is done").await?;
            Ok::<Value, Box<dyn std::error::Error + Send + Sync>>(json!({ "idle": idle, "busy": busy }))
        })
    })
}

async fn ask(embedder: &OnnxEmbedder, questions: &[String]) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for question in questions {
        let started = Instant::now();
        embedder.embed_query(question).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(BETWEEN_QUESTIONS).await;
    }
    Ok(times)
}

fn ours(precision: &str, model: &Path) -> Result<(Runtime, Arc<OnnxEmbedder>)> {
    let runtime = Runtime::new()?;
    let options = ModelOptions::default().with_precision(parsed(precision)?);
    let embedder = runtime.block_on(OnnxEmbedder::load(&ModelFolder::open(model)?, &options))?;
    Ok((runtime, Arc::new(embedder)))
}

/// As its documentation loads a model of one's own. For the 8-bit graph it would take all texts as one batch, were it told that it is
/// quantised dynamically; batches of 256, its default, are faster.
fn fastembed(precision: &str, model: &Path) -> Result<TextEmbedding> {
    let defined = UserDefinedEmbeddingModel::new(fs::read(graph(precision, model))?, tokenizer_files(model)?)
        .with_pooling(fastembed::Pooling::Mean);
    let options = InitOptionsUserDefined::new().with_max_length(max_tokens(model)?).with_intra_threads(threads());
    Ok(TextEmbedding::try_new_from_user_defined(defined, options)?)
}

pub fn tokenizer_files(model: &Path) -> Result<TokenizerFiles> {
    let read = |name: &str| fs::read(model.join(name)).map_err(|e| format!("{name} of the model: {e}"));
    Ok(TokenizerFiles {
        tokenizer_file: read("tokenizer.json")?,
        config_file: read("config.json")?,
        special_tokens_map_file: read("special_tokens_map.json").unwrap_or_else(|_| b"{}".to_vec()),
        tokenizer_config_file: read("tokenizer_config.json")?,
    })
}

pub fn parsed(precision: &str) -> Result<Precision> {
    match precision {
        "fp32" => Ok(Precision::Fp32),
        "int8" => Ok(Precision::Int8),
        _ => Err(format!("there is no precision {precision}").into()),
    }
}

pub fn graph(precision: &str, model: &Path) -> std::path::PathBuf {
    model.join(if precision == "int8" { "onnx/model_int8.onnx" } else { "onnx/model.onnx" })
}

fn max_tokens(model: &Path) -> Result<usize> {
    Ok(ModelFolder::open(model)?.max_tokens()?)
}
