use std::path::PathBuf;

use async_trait::async_trait;
use sensetree_core::{Error, Reranker, Result, ScoreScale};
use sensetree_onnx::{Graph, Model, ModelFolder, ModelOptions, TextTokenizer, Urgency};

/// A cross-encoder on ONNX Runtime: question and passage go through the model together; it answers one logit.
///
/// Pairs run one at a time on threads of their own. Of a pair that is too long for the model the longer text is cut.
#[derive(Debug)]
pub struct CrossEncoder {
    model: Model,
}

impl CrossEncoder {
    /// Loads the model in a folder with default options.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::load(&ModelFolder::open(path)?, &ModelOptions::default()).await
    }

    /// Loads a model. The weights are read on a thread of their own.
    ///
    /// # Errors
    /// [`Error::ModelUnavailable`] when there is no such folder, [`Error::Runtime`] without a usable ONNX Runtime,
    /// [`Error::Model`] naming the file that is missing or damaged, or when the model does not answer with one logit.
    pub async fn load(folder: &ModelFolder, options: &ModelOptions) -> Result<Self> {
        let model = Model::load_elsewhere(folder, options).await?;
        let encoder = Self { model };
        encoder.score("one", &["logit"]).await?;
        Ok(encoder)
    }
}

#[async_trait]
impl Reranker for CrossEncoder {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn scale(&self) -> ScoreScale {
        ScoreScale::Logit
    }

    async fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let (query, name) = (query.to_owned(), self.model.name().to_owned());
        let work = move |passage: String, graph: &mut Graph, tokenizer: &TextTokenizer| {
            let output = graph.run(&tokenizer.encode_pair(&query, &passage)?)?;
            match output.len() {
                1 => Ok(output.iter().copied().sum()),
                n => Err(Error::Model {
                    model: name.clone(),
                    reason: format!("its output {} has {n} values for a pair; a reranker answers with one logit", graph.output()),
                    source: None,
                }),
            }
        };
        let passages = passages.iter().map(|&passage| passage.to_owned()).collect::<Vec<_>>();
        self.model.run_each(Urgency::Candidate, passages, work).await
    }
}
