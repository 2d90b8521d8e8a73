//! Models behind an OpenAI-compatible API.

mod batches;
#[cfg(test)]
mod tests;
mod wire;

use std::num::NonZero;

use async_trait::async_trait;
use futures::future::try_join_all;
use sensetree_core::{
    Embedder, Embedding, Error, Fingerprint, Result,
    text::{first_chars, is_blank},
};
use sensetree_http::{BLANK, HttpClient};
use tokio::sync::Semaphore;

use batches::batches;
use wire::Api;

/// An embedding model behind `POST {base}/embeddings`, as OpenAI, Ollama, TEI, vLLM, llama.cpp and others serve it.
///
/// - A blank text is sent as a full stop, since servers refuse empty input; texts are cut at a settable length.
/// - Of the requests that may run at once, one is kept for questions, so they do not wait behind passages.
/// - The fingerprint is the model's name, the dimension and the prefixes. The base URL is no part of it: the same model behind
///   another address (a proxy, another port, a server of one's own) fills the same space. Two servers that give one name to
///   two models would be taken for one; name the model by its full name and revision where the server allows it.
///
/// ```no_run
/// use sensetree_embed::{ApiKey, HttpClient, HttpEmbedder};
///
/// # async fn example() -> sensetree_core::Result<()> {
/// let client = HttpClient::new("https://api.openai.com/v1")?.with_key(ApiKey::from_env("OPENAI_API_KEY")?);
/// let embedder = HttpEmbedder::builder(client, "text-embedding-3-small").connect().await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct HttpEmbedder {
    api: Api,
    config: Config,
    fingerprint: Fingerprint,
    requests: Semaphore,
    /// Held in addition by passages: one fewer than `requests`.
    passages: Semaphore,
}

/// Settings of an [`HttpEmbedder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct HttpEmbedderBuilder {
    client: HttpClient,
    model: String,
    config: Config,
}

#[derive(Debug, Clone)]
struct Config {
    dimension: Option<NonZero<usize>>,
    shorten_to: Option<NonZero<usize>>,
    query_prefix: String,
    passage_prefix: String,
    batch_texts: NonZero<usize>,
    batch_chars: NonZero<usize>,
    text_chars: NonZero<usize>,
    concurrency: NonZero<usize>,
}

impl Default for Config {
    fn default() -> Self {
        let number = |n| NonZero::new(n).unwrap_or(NonZero::<usize>::MIN);
        Self {
            dimension: None,
            shorten_to: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            batch_texts: number(32),
            batch_chars: number(64_000),
            text_chars: number(8_000),
            concurrency: number(4),
        }
    }
}

impl HttpEmbedder {
    /// The model of this name on the server of `client`, whose base URL ends before `/embeddings`.
    pub fn builder(client: HttpClient, model: impl Into<String>) -> HttpEmbedderBuilder {
        HttpEmbedderBuilder { client, model: model.into(), config: Config::default() }
    }

    fn prepare(&self, prefix: &str, text: &str) -> String {
        let text = if is_blank(text) { BLANK } else { first_chars(text, self.config.text_chars.get()) };
        format!("{prefix}{text}")
    }

    async fn passages(&self, texts: &[String]) -> Result<Vec<Embedding>> {
        // Taken first: at most one fewer than all requests are ever sent, or stand in the other queue, for passages.
        let _turn = self.passages.acquire().await.map_err(closed)?;
        let _request = self.requests.acquire().await.map_err(closed)?;
        self.api.embed(texts, Some(self.fingerprint.dimension())).await
    }
}

impl HttpEmbedderBuilder {
    /// Values in each vector. Default: one text is embedded when connecting, to see.
    pub fn dimension(mut self, dimension: NonZero<usize>) -> Self {
        self.config.dimension = Some(dimension);
        self
    }

    /// Asks the server for shorter vectors (its parameter `dimensions`), which some models can give. Default: whole ones.
    pub fn shorten_to(mut self, dimension: NonZero<usize>) -> Self {
        self.config.shorten_to = Some(dimension);
        self
    }

    /// Put before every question, such as `"query: "` for E5 models. Default: nothing, which is right for servers that add it.
    pub fn query_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.config.query_prefix = prefix.into();
        self
    }

    /// Put before every passage, such as `"passage: "` for E5 models. Default: nothing.
    pub fn passage_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.config.passage_prefix = prefix.into();
        self
    }

    /// Texts in one request at most. Default: 32, which is what TEI takes.
    pub fn batch_texts(mut self, texts: NonZero<usize>) -> Self {
        self.config.batch_texts = texts;
        self
    }

    /// Characters in one request at most, prefixes included; a single longer text goes alone. Default: 64,000.
    pub fn batch_chars(mut self, chars: NonZero<usize>) -> Self {
        self.config.batch_chars = chars;
        self
    }

    /// Longer texts are cut to this many characters, the prefix not counted. Default: 8,000, about 2,000 tokens of English.
    ///
    /// Set it to what the model takes when its server refuses longer texts instead of cutting them.
    pub fn text_chars(mut self, chars: NonZero<usize>) -> Self {
        self.config.text_chars = chars;
        self
    }

    /// Requests at once, of which one is kept for questions; with 1, a question waits for the request that is running.
    /// Default: 4.
    pub fn concurrency(mut self, requests: NonZero<usize>) -> Self {
        self.config.concurrency = requests;
        self
    }

    /// The embedder. Asks the server for the dimension if it was not given; otherwise nothing is sent.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when the two dimensions given differ, and what [`Embedder::embed_query`] fails with.
    pub async fn connect(self) -> Result<HttpEmbedder> {
        let Self { client, model, config } = self;
        let dimension = match (config.dimension, config.shorten_to) {
            (Some(whole), Some(short)) if whole != short => {
                let reason = format!("vectors shortened to {short} values do not have {whole}; leave `dimension` out, or equal");
                return Err(Error::invalid(reason));
            }
            (given, short) => given.or(short).map(NonZero::get),
        };
        let api = Api::new(client, model, config.shorten_to);
        let dimension = match dimension {
            Some(dimension) => dimension,
            None => {
                let probe = format!("{}dimension", config.query_prefix);
                api.embed(&[probe], None).await?[0].dimension()
            }
        };
        let fingerprint = Fingerprint::new(api.model(), dimension)
            .with("query prefix", &config.query_prefix)
            .with("passage prefix", &config.passage_prefix);
        let requests = config.concurrency.get().min(Semaphore::MAX_PERMITS);
        let passages = Semaphore::new((requests - 1).max(1));
        Ok(HttpEmbedder { api, config, fingerprint, requests: Semaphore::new(requests), passages })
    }
}

#[async_trait]
impl Embedder for HttpEmbedder {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        let text = self.prepare(&self.config.query_prefix, text);
        let _request = self.requests.acquire().await.map_err(closed)?;
        Ok(self.api.embed(&[text], Some(self.fingerprint.dimension())).await?.remove(0))
    }

    async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Embedding>> {
        let texts: Vec<String> = texts.iter().map(|text| self.prepare(&self.config.passage_prefix, text)).collect();
        let requests = batches(&texts, self.config.batch_texts, self.config.batch_chars).into_iter();
        Ok(try_join_all(requests.map(|batch| self.passages(batch))).await?.concat())
    }
}

/// The semaphores are closed by nobody; should that change, it is told.
fn closed(error: tokio::sync::AcquireError) -> Error {
    Error::other("wait for a free request", error)
}
