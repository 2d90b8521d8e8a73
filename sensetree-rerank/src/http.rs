//! Rerankers behind an HTTP API.

mod dialect;
#[cfg(test)]
mod tests;

use std::num::NonZero;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use sensetree_core::{Error, Reranker, Result, ScoreScale, text::is_blank};
use sensetree_http::{BLANK, HttpClient};

pub use dialect::Dialect;

/// Requests at once when one call needs several.
const CONCURRENCY: usize = 4;

/// A reranking model behind an HTTP API.
///
/// Each [`Dialect`] answers scores in [0, 1]. Lists longer than one request may be are scored in parts, several at once; this
/// keeps the scores of models that judge each passage alone, which is all but a few. A blank text is sent as a full stop.
///
/// ```no_run
/// use sensetree_core::Reranker;
/// use sensetree_rerank::{ApiKey, Dialect, HttpClient, HttpReranker};
///
/// # async fn example() -> sensetree_core::Result<()> {
/// let client = HttpClient::new("https://api.cohere.com")?.with_key(ApiKey::from_env("CO_API_KEY")?);
/// let reranker = HttpReranker::new(client, Dialect::Cohere);
/// let scores = reranker.score("boiler service", &["The boiler was serviced in May.", "A recipe for bread."]).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct HttpReranker {
    client: HttpClient,
    dialect: Dialect,
    model: Option<String>,
    batch: NonZero<usize>,
    scale: ScoreScale,
}

impl HttpReranker {
    /// A reranker on the server of `client`, whose base URL ends before the path that the dialect names, with or without its version.
    pub fn new(client: HttpClient, dialect: Dialect) -> Self {
        let model = dialect.default_model().map(str::to_owned);
        Self { client, dialect, model, batch: dialect.default_batch(), scale: ScoreScale::Unit }
    }

    /// The model's name. Default: [`Dialect::default_model`]; without one, the server's only model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Passages in one request at most. Default: [`Dialect::default_batch`].
    #[must_use]
    pub fn with_batch(mut self, passages: NonZero<usize>) -> Self {
        self.batch = passages;
        self
    }

    /// What the scores mean. Default: [`ScoreScale::Unit`]; set [`ScoreScale::Logit`] for a server of one of these dialects that
    /// answers the model's bare logits, as llama.cpp does.
    #[must_use]
    pub fn with_scale(mut self, scale: ScoreScale) -> Self {
        self.scale = scale;
        self
    }

    async fn score_batch(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let scored = self.dialect.ask(&self.client, self.model.as_deref(), query, passages).await?;
        let broken = |reason: String| Error::contract(format!("reranker {}", self.name()), reason);
        if scored.len() != passages.len() {
            return Err(broken(format!("it gave {} scores for {} passages", scored.len(), passages.len())));
        }
        let mut scores = vec![None; passages.len()];
        for (index, score) in scored {
            let place = usize::try_from(index).ok().and_then(|index| scores.get_mut(index));
            let place = place.ok_or_else(|| broken(format!("it scored passage {index} of {}", passages.len())))?;
            if !score.is_finite() {
                return Err(broken(format!("its score of passage {index} is {score}")));
            }
            if place.replace(score).is_some() {
                return Err(broken(format!("it scored passage {index} twice")));
            }
        }
        // As many as passages, in range and without repeats: none is missing.
        Ok(scores.into_iter().flatten().collect())
    }
}

#[async_trait]
impl Reranker for HttpReranker {
    fn name(&self) -> &str {
        self.model.as_deref().unwrap_or(self.dialect.name())
    }

    fn scale(&self) -> ScoreScale {
        self.scale
    }

    async fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let sendable = |text| if is_blank(text) { BLANK } else { text };
        let query = sendable(query);
        let passages: Vec<&str> = passages.iter().map(|&text| sendable(text)).collect();
        let batches = passages.chunks(self.batch.get()).map(|batch| self.score_batch(query, batch));
        stream::iter(batches.collect::<Vec<_>>()).buffered(CONCURRENCY).try_concat().await
    }
}
