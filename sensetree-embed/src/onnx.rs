use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use ndarray::{ArrayD, Ix2, Ix3};
use sensetree_core::{Embedder, Embedding, Error, Fingerprint, Result, TokenCounter};
use sensetree_onnx::{Graph, Model, ModelFolder, ModelOptions, TextTokenizer, Urgency};

use crate::Recipe;

/// A sentence-transformers-like model on ONNX Runtime.
///
/// Texts run one at a time on threads of its own, questions first. Long texts are cut at the model's length.
#[derive(Debug)]
pub struct OnnxEmbedder {
    model: Arc<Model>,
    recipe: Recipe,
    fingerprint: Fingerprint,
}

impl OnnxEmbedder {
    /// Loads the model in a folder with default options.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::load(&ModelFolder::open(path)?, &ModelOptions::default()).await
    }

    /// Loads a model, with a thread for queries. The weights are read on a thread of their own.
    ///
    /// # Errors
    /// [`Error::Runtime`] without a usable ONNX Runtime, [`Error::Model`] naming the file that is missing or damaged.
    pub async fn load(folder: &ModelFolder, options: &ModelOptions) -> Result<Self> {
        let recipe = Recipe::read(folder)?;
        let model = Arc::new(Model::load_elsewhere(folder, &options.clone().with_query_thread()).await?);
        // The graph's declaration often leaves the dimension open; its output does not.
        let probe = embed(&model, &recipe, Urgency::Query, vec![String::from("dimension")]).await?;
        let fingerprint = Fingerprint::new(model.name(), probe[0].dimension())
            .with("graph", model.hash())
            .with("precision", model.precision().name())
            .with("pooling", recipe.pooling.name())
            .with("normalize", recipe.normalize.to_string())
            .with("query prefix", &recipe.query_prefix)
            .with("passage prefix", &recipe.passage_prefix)
            .with("max tokens", model.tokenizer().max_tokens().to_string());
        Ok(Self { model, recipe, fingerprint })
    }

    /// The loaded model, for a late-interaction reranker that reads its token states.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// Pooling and prefixes in use.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }
}

#[async_trait]
impl Embedder for OnnxEmbedder {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        let text = format!("{}{text}", self.recipe.query_prefix);
        Ok(embed(&self.model, &self.recipe, Urgency::Query, vec![text]).await?.remove(0))
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        let texts = texts.iter().map(|text| format!("{}{text}", self.recipe.passage_prefix)).collect();
        embed(&self.model, &self.recipe, Urgency::Passage, texts).await
    }

    async fn token_counter(&self) -> Result<Option<TokenCounter>> {
        let tokenizer = self.model.tokenizer().clone();
        // A text that the tokenizer cannot read is refused when it is embedded, with the reason; no text has more tokens than bytes.
        Ok(Some(TokenCounter::new(move |text| tokenizer.count(text).unwrap_or(text.len()))))
    }
}

async fn embed(model: &Model, recipe: &Recipe, urgency: Urgency, texts: Vec<String>) -> Result<Vec<Embedding>> {
    let recipe = recipe.clone();
    let name = model.name().to_owned();
    let work = move |text: String, graph: &mut Graph, tokenizer: &TextTokenizer| {
        let tokens = tokenizer.encode(&text)?;
        let output = graph.run(&tokens)?;
        let pooled = vector(output, &recipe).ok_or_else(|| {
            let reason = format!("its output {} is neither token states nor a vector", graph.output());
            Error::Model { model: name.clone(), reason, source: None }
        })?;
        Embedding::new(pooled)
    };
    model.run_each(urgency, texts, work).await
}

/// One text's vector from (1, tokens, dimension) or (1, dimension). There is no padding, so every token counts.
fn vector(output: ArrayD<f32>, recipe: &Recipe) -> Option<Vec<f32>> {
    let mut vector = match output.ndim() {
        3 => {
            let states = output.into_dimensionality::<Ix3>().ok()?;
            let states = states.index_axis(ndarray::Axis(0), 0);
            recipe.pooling.pool(states, &vec![1; states.nrows()])?
        }
        2 => output.into_dimensionality::<Ix2>().ok()?.row(0).to_vec(),
        _ => return None,
    };
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    // A zero vector stays one, for the check that refuses it.
    if recipe.normalize && length > 0.0 {
        vector.iter_mut().for_each(|v| *v /= length);
    }
    Some(vector)
}
