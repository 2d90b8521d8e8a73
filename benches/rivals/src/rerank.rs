//! Reranking 60 passages of 800 characters: seconds of `CrossEncoder` and of fastembed's `TextRerank` on the same graph.

use std::path::Path;

use fastembed::{OnnxSource, RerankInitOptionsUserDefined, TextRerank, UserDefinedRerankingModel};
use sensetree_core::Reranker;
use sensetree_rerank::{CrossEncoder, ModelFolder, ModelOptions};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::{
    Result,
    embed::{graph, parsed, tokenizer_files},
    serve as serve_work, threads,
};

const PASSAGES: usize = 60;
const PASSAGE_CHARS: usize = 800;
const QUESTION: &str = "which treatment lowers the risk of a second heart attack?";
/// Scores that the driver compares, to see that both sides compute the same.
const PROBES: usize = 4;

pub fn serve(side: &str, precision: &str, model: &Path, texts: &[String]) -> Result {
    // Texts shorter than a passage are put together.
    let all = texts.join(" ");
    let characters: Vec<char> = all.chars().take(PASSAGES * PASSAGE_CHARS).collect();
    let passages: Vec<String> = characters.chunks_exact(PASSAGE_CHARS).map(|chunk| chunk.iter().collect()).collect();
    if passages.len() < PASSAGES {
        return Err("the texts have too few characters for 60 passages".into());
    }
    let mut score: Box<dyn FnMut(&[&str]) -> Result<Vec<f32>>> = match side {
        "sensetree" => {
            let runtime = Runtime::new()?;
            let options = ModelOptions::default().with_precision(parsed(precision)?);
            let reranker = runtime.block_on(CrossEncoder::load(&ModelFolder::open(model)?, &options))?;
            Box::new(move |passages| Ok(runtime.block_on(reranker.score(QUESTION, passages))?))
        }
        "fastembed" => {
            let source = OnnxSource::File(graph(precision, model));
            let defined = UserDefinedRerankingModel::new(source, tokenizer_files(model)?);
            let mut options = RerankInitOptionsUserDefined::default();
            options.intra_threads = Some(threads());
            let mut reranker = TextRerank::try_new_from_user_defined(defined, options)?;
            Box::new(move |passages| {
                let mut scores = vec![0.0; passages.len()];
                reranker.rerank(QUESTION, passages, false, None)?.iter().for_each(|found| scores[found.index] = found.score);
                Ok(scores)
            })
        }
        _ => return Err(format!("there is no side {side}").into()),
    };
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let probes = score(&passages[..PROBES])?;
    serve_work(&json!({ "probes": probes }), || Ok(json!({ "count": score(&passages)?.len() })))
}
