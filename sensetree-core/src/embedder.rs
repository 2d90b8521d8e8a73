use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;

use crate::{Embedding, Fingerprint, Result};

/// Turns text into vectors.
///
/// Queries and passages are told apart because many models want a different prefix for each; the implementation applies the
/// prefix, exactly once, and callers pass the bare text. A text longer than the model's window is cut by the implementation.
///
/// Implementations must not block the executor: inference belongs on threads of its own.
#[async_trait]
pub trait Embedder: Debug + Send + Sync + 'static {
    /// What makes the vectors; equal fingerprints mean comparable vectors. Constant for the life of the embedder.
    fn fingerprint(&self) -> &Fingerprint;

    /// The vector of a question, ahead of any passages that are waiting.
    ///
    /// # Errors
    /// [`Error::InvalidEmbedding`](crate::Error::InvalidEmbedding) when the model gave something that cannot be ranked, otherwise
    /// whatever kept the model from running.
    async fn embed_query(&self, text: &str) -> Result<Embedding>;

    /// The vectors of `texts`: as many, in the same order. Nothing for nothing.
    ///
    /// All or none: one text that fails fails the call.
    ///
    /// # Errors
    /// As [`embed_query`](Self::embed_query).
    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>>;
}

#[async_trait]
impl<T: Embedder + ?Sized> Embedder for Arc<T> {
    fn fingerprint(&self) -> &Fingerprint {
        (**self).fingerprint()
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        (**self).embed_query(text).await
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        (**self).embed_passages(texts).await
    }
}
