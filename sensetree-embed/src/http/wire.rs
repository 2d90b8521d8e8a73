use std::num::NonZero;

use sensetree_core::{Embedding, Error, Result};
use sensetree_http::HttpClient;
use serde::{Deserialize, Serialize};

/// One request of OpenAI's embeddings API, and the check of its answer.
#[derive(Debug)]
pub(super) struct Api {
    client: HttpClient,
    model: String,
    dimensions: Option<NonZero<usize>>,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<NonZero<usize>>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: usize,
    /// JSON has no NaN: servers write `null`.
    embedding: Vec<Option<f32>>,
}

impl Api {
    pub(super) fn new(client: HttpClient, model: String, dimensions: Option<NonZero<usize>>) -> Self {
        Self { client, model, dimensions }
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// The vectors of `texts`, in their order, of `dimension` values if that is known.
    pub(super) async fn embed(&self, texts: &[String], dimension: Option<usize>) -> Result<Vec<Embedding>> {
        let request = Request { model: &self.model, input: texts, encoding_format: "float", dimensions: self.dimensions };
        let answer: Answer = self.client.post("embed texts", "embeddings", &request).await?;
        let broken = |reason: String| Error::contract(format!("embedder {}", self.model), reason);
        if answer.data.len() != texts.len() {
            return Err(broken(format!("it gave {} vectors for {} texts", answer.data.len(), texts.len())));
        }
        let mut vectors = vec![None; texts.len()];
        for Item { index, embedding } in answer.data {
            let place = vectors.get_mut(index);
            let place = place.ok_or_else(|| broken(format!("it gave a vector for text {index} of {}", texts.len())))?;
            if let Some(expected) = dimension.filter(|&expected| expected != embedding.len()) {
                let reason = format!("{} gave one of {} values where {expected} were expected", self.model, embedding.len());
                return Err(Error::InvalidEmbedding(reason));
            }
            let values: Vec<f32> = embedding.into_iter().map(|value| value.unwrap_or(f32::NAN)).collect();
            if place.replace(Embedding::new(values)?).is_some() {
                return Err(broken(format!("it gave two vectors for text {index}")));
            }
        }
        // As many as texts, in range and without repeats: none is missing.
        Ok(vectors.into_iter().flatten().collect())
    }
}
