use std::{
    fmt::{self, Debug},
    sync::Arc,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

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

    /// What counts the tokens of texts as the model reads them, for chunks that are measured in tokens. `None`, which is the default:
    /// this embedder cannot count.
    ///
    /// # Errors
    /// Whatever kept the model's tokenizer from being loaded.
    async fn token_counter(&self) -> Result<Option<TokenCounter>> {
        Ok(None)
    }
}

/// Counts the tokens of a bare text: without special tokens, without the model's prefixes, and however long the text is. Cheap to clone.
///
/// It is called from many threads, and often: for every place where a text may be cut. The empty text has no token.
#[derive(Clone)]
pub struct TokenCounter {
    count: Arc<dyn Fn(&str) -> usize + Send + Sync>,
}

impl TokenCounter {
    /// Counts as `count` does, which must give the same number for the same text.
    ///
    /// ```
    /// use sensetree_core::TokenCounter;
    ///
    /// let words = TokenCounter::new(|text| text.split_whitespace().count());
    /// assert_eq!(words.count("the boiler was serviced"), 4);
    /// ```
    pub fn new(count: impl Fn(&str) -> usize + Send + Sync + 'static) -> Self {
        Self { count: Arc::new(count) }
    }

    /// How many tokens the text has.
    pub fn count(&self, text: &str) -> usize {
        (self.count)(text)
    }
}

impl Debug for TokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCounter").finish_non_exhaustive()
    }
}

/// What the sizes of chunks are counted in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChunkUnit {
    /// Characters: Unicode scalar values.
    #[default]
    Characters,
    /// Tokens of the embedder, as its [`token_counter`](Embedder::token_counter) counts them.
    Tokens,
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

    async fn token_counter(&self) -> Result<Option<TokenCounter>> {
        (**self).token_counter().await
    }
}
