use std::{
    fmt::Debug,
    sync::{Mutex, PoisonError},
};

use async_trait::async_trait;

use crate::{Embedder, Embedding, Error, Fingerprint, Reranker, Result, ScoreScale, TokenCounter, text::fold};

/// Embeds by the words of a text: texts that share words are near each other. Deterministic, no model.
#[derive(Debug, Clone)]
pub struct MockEmbedder {
    fingerprint: Fingerprint,
    counts_words: bool,
}

impl MockEmbedder {
    /// An embedder with vectors of `dimension` values; at least 2.
    pub fn new(dimension: usize) -> Self {
        Self { fingerprint: Fingerprint::new("mock-embedder", dimension.max(2)), counts_words: false }
    }

    /// The same under another name, so with another fingerprint.
    #[must_use]
    pub fn named(self, model: &str) -> Self {
        Self { fingerprint: Fingerprint::new(model, self.fingerprint.dimension()), ..self }
    }

    /// The same with a [`token_counter`](Embedder::token_counter), to which every word between white space is a token.
    #[must_use]
    pub fn counting_words(self) -> Self {
        Self { counts_words: true, ..self }
    }

    fn embed(&self, text: &str) -> Result<Embedding> {
        let mut values = vec![0.0f32; self.fingerprint.dimension()];
        // The first value keeps a text without words from being all zero.
        values[0] = 0.01;
        for word in fold(text).split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
            // FNV-1a: stable across processes, unlike the standard hasher.
            let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
            let at = 1 + (hash % (values.len() as u64 - 1)) as usize;
            values[at] += 1.0;
        }
        Embedding::new(values)
    }
}

#[async_trait]
impl Embedder for MockEmbedder {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.embed(text)
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        texts.iter().map(|text| self.embed(text)).collect()
    }

    async fn token_counter(&self) -> Result<Option<TokenCounter>> {
        Ok(self.counts_words.then(|| TokenCounter::new(|text| text.split_whitespace().count())))
    }
}

/// Passes everything on to another embedder and remembers what it was asked.
#[derive(Debug)]
pub struct RecordingEmbedder<E> {
    inner: E,
    queries: Mutex<Vec<String>>,
    passages: Mutex<Vec<String>>,
}

impl<E: Embedder> RecordingEmbedder<E> {
    /// Records what goes to `inner`.
    pub fn new(inner: E) -> Self {
        Self { inner, queries: Mutex::default(), passages: Mutex::default() }
    }

    /// The queries so far.
    pub fn queries(&self) -> Vec<String> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The passages so far, in the order in which they came.
    pub fn passages(&self) -> Vec<String> {
        self.passages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl<E: Embedder> Embedder for RecordingEmbedder<E> {
    fn fingerprint(&self) -> &Fingerprint {
        self.inner.fingerprint()
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
        self.inner.embed_query(text).await
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        self.passages.lock().unwrap_or_else(PoisonError::into_inner).extend(texts.iter().map(|&text| text.to_owned()));
        self.inner.embed_passages(texts).await
    }

    async fn token_counter(&self) -> Result<Option<TokenCounter>> {
        self.inner.token_counter().await
    }
}

/// Behaves like another embedder, but fails for every text that contains a given word.
#[derive(Debug)]
pub struct FailingEmbedder<E> {
    inner: E,
    word: String,
}

impl<E: Embedder> FailingEmbedder<E> {
    /// Fails where `word` occurs; everywhere when it is empty.
    pub fn new(inner: E, word: impl Into<String>) -> Self {
        Self { inner, word: word.into() }
    }

    fn refuse(&self, text: &str) -> Result<()> {
        if text.contains(&self.word) {
            return Err(Error::InvalidEmbedding(format!("the mock fails for texts with {:?}", self.word)));
        }
        Ok(())
    }
}

#[async_trait]
impl<E: Embedder> Embedder for FailingEmbedder<E> {
    fn fingerprint(&self) -> &Fingerprint {
        self.inner.fingerprint()
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.refuse(text)?;
        self.inner.embed_query(text).await
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        texts.iter().try_for_each(|text| self.refuse(text))?;
        self.inner.embed_passages(texts).await
    }

    async fn token_counter(&self) -> Result<Option<TokenCounter>> {
        self.inner.token_counter().await
    }
}

type Scoring = Box<dyn Fn(&str, &str) -> f32 + Send + Sync>;

/// A reranker with scores of your choice.
pub struct MockReranker {
    scale: ScoreScale,
    score: Scoring,
}

impl MockReranker {
    /// Scores each (query, passage) by a function.
    pub fn new(scale: ScoreScale, score: impl Fn(&str, &str) -> f32 + Send + Sync + 'static) -> Self {
        Self { scale, score: Box::new(score) }
    }

    /// The share of the query's words that the passage has, in [0, 1].
    pub fn word_overlap() -> Self {
        Self::new(ScoreScale::Unit, |query, passage| {
            let words = |text: &str| {
                fold(text).split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect::<Vec<_>>()
            };
            let (wanted, had) = (words(query), words(passage));
            wanted.iter().filter(|word| had.contains(word)).count() as f32 / wanted.len().max(1) as f32
        })
    }
}

impl Debug for MockReranker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MockReranker").field("scale", &self.scale).finish_non_exhaustive()
    }
}

#[async_trait]
impl Reranker for MockReranker {
    fn name(&self) -> &str {
        "mock-reranker"
    }

    fn scale(&self) -> ScoreScale {
        self.scale
    }

    async fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        Ok(passages.iter().map(|passage| (self.score)(query, passage)).collect())
    }
}

/// A reranker that panics.
#[derive(Debug, Clone, Copy, Default)]
pub struct PanickingReranker;

#[async_trait]
impl Reranker for PanickingReranker {
    fn name(&self) -> &str {
        "panicking-reranker"
    }

    fn scale(&self) -> ScoreScale {
        ScoreScale::Logit
    }

    async fn score(&self, _query: &str, _passages: &[&str]) -> Result<Vec<f32>> {
        panic!("the mock reranker panics, as it was asked to")
    }
}
