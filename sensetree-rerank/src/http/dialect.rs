use std::num::NonZero;

use sensetree_core::Result;
use sensetree_http::HttpClient;
use serde::{Deserialize, Serialize};

/// Whose API a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Dialect {
    /// Cohere: `POST {base}/v2/rerank`; base `https://api.cohere.com`.
    Cohere,
    /// Jina: `POST {base}/v1/rerank`; base `https://api.jina.ai`.
    Jina,
    /// Hugging Face's text-embeddings-inference: `POST {base}/rerank`.
    Tei,
    /// vLLM: `POST {base}/v1/rerank`.
    Vllm,
}

impl Dialect {
    /// The model that is asked when none is named: `rerank-v3.5` of Cohere, `jina-reranker-v2-base-multilingual` of Jina. TEI and
    /// vLLM serve one model each.
    pub fn default_model(self) -> Option<&'static str> {
        match self {
            Self::Cohere => Some("rerank-v3.5"),
            Self::Jina => Some("jina-reranker-v2-base-multilingual"),
            Self::Tei | Self::Vllm => None,
        }
    }

    /// Passages in one request at most: 32 for TEI (its `max_client_batch_size`), 1,000 for the others (what Cohere advises).
    pub fn default_batch(self) -> NonZero<usize> {
        let batch = if self == Self::Tei { 32 } else { 1000 };
        NonZero::new(batch).unwrap_or(NonZero::<usize>::MIN)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cohere => "cohere",
            Self::Jina => "jina",
            Self::Tei => "tei",
            Self::Vllm => "vllm",
        }
    }

    /// Indexes and scores as the server gives them; a score of `null` is not a number.
    pub(super) async fn ask(
        self,
        client: &HttpClient,
        model: Option<&str>,
        query: &str,
        passages: &[&str],
    ) -> Result<Vec<(i64, f32)>> {
        let scored = if self == Self::Tei {
            let request = TeiRequest { query, texts: passages, raw_scores: false, truncate: true };
            client.post::<Vec<Scored>>("rerank", "rerank", &request).await?
        } else {
            // Jina sends every passage back unless told not to; the others do not know the setting.
            let return_documents = (self == Self::Jina).then_some(false);
            let request = Request { model, query, documents: passages, top_n: passages.len(), return_documents };
            client.post::<Results>("rerank", &self.path(client.base()), &request).await?.results
        };
        Ok(scored.into_iter().map(|Scored { index, score }| (index, score.unwrap_or(f32::NAN))).collect())
    }

    /// Base URLs are written with the version at their end as often as without.
    fn path(self, base: &str) -> String {
        let version = if self == Self::Cohere { "v2" } else { "v1" };
        if base.ends_with(&format!("/{version}")) { "rerank".into() } else { format!("{version}/rerank") }
    }
}

#[derive(Serialize)]
struct Request<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    query: &'a str,
    documents: &'a [&'a str],
    top_n: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_documents: Option<bool>,
}

#[derive(Serialize)]
struct TeiRequest<'a> {
    query: &'a str,
    texts: &'a [&'a str],
    raw_scores: bool,
    truncate: bool,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<Scored>,
}

#[derive(Deserialize)]
struct Scored {
    index: i64,
    #[serde(alias = "relevance_score")]
    score: Option<f32>,
}
