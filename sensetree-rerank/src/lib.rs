//! Rerankers of sensetree: they read the question and a passage and say how well they fit.
//!
//! - `CrossEncoder` (feature `onnx`): a model trained for it, such as `bge-reranker-v2-m3`; answers logits;
//! - `LateInteraction` (feature `onnx`): compares the token states of the embedding model that is loaded anyway; answers in [0, 1];
//! - `HttpReranker` (feature `http`): a model behind the API of Cohere, Jina, TEI or vLLM; answers in [0, 1];
//! - [`LazyReranker`]: any of them, loaded when it is first asked, and released when nobody asks.
#![cfg_attr(
    feature = "onnx",
    doc = r#"
```no_run
use sensetree_core::Reranker;
use sensetree_rerank::CrossEncoder;

# async fn example() -> sensetree_core::Result<()> {
let reranker = CrossEncoder::open("models/bge-reranker-v2-m3").await?;
let scores = reranker.score("boiler service", &["The boiler was serviced in May.", "A recipe for bread."]).await?;
assert!(scores[0] > scores[1]);
# Ok(()) }
```
"#
)]

#[cfg(feature = "onnx")]
mod cross_encoder;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "onnx")]
mod late_interaction;
mod lazy;

#[cfg(feature = "onnx")]
pub use cross_encoder::CrossEncoder;
#[cfg(feature = "http")]
pub use http::{Dialect, HttpReranker};
#[cfg(feature = "onnx")]
pub use late_interaction::LateInteraction;
pub use lazy::LazyReranker;
#[cfg(feature = "http")]
pub use sensetree_http::{ApiKey, HttpClient, Retry};
#[cfg(feature = "hub")]
pub use sensetree_onnx::hub;
#[cfg(feature = "onnx")]
pub use sensetree_onnx::{ModelFolder, ModelOptions, Precision};
