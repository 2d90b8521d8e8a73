//! Embedders of sensetree:
//!
//! - `OnnxEmbedder` (feature `onnx`): any sentence-transformers-like ONNX model, from a folder or the hub. Pooling, normalisation,
//!   prefixes and lengths are read from the model's own files; a small catalogue says the rest;
//! - `HttpEmbedder` (feature `http`): a model behind an OpenAI-compatible API;
//! - [`LazyEmbedder`]: any of them, loaded when it is first asked, and released when nobody asks.
#![cfg_attr(
    feature = "onnx",
    doc = r#"
```no_run
use sensetree_core::Embedder;
use sensetree_embed::OnnxEmbedder;

# async fn example() -> sensetree_core::Result<()> {
let embedder = OnnxEmbedder::open("models/all-MiniLM-L6-v2").await?;
let question = embedder.embed_query("when was the boiler serviced?").await?;
assert_eq!(question.dimension(), 384);
# Ok(()) }
```
"#
)]

#[cfg(feature = "http")]
mod http;
mod lazy;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "onnx")]
mod pooling;
#[cfg(feature = "onnx")]
mod recipe;

#[cfg(feature = "http")]
pub use http::{HttpEmbedder, HttpEmbedderBuilder};
pub use lazy::LazyEmbedder;
#[cfg(feature = "onnx")]
pub use onnx::OnnxEmbedder;
#[cfg(feature = "onnx")]
pub use pooling::Pooling;
#[cfg(feature = "onnx")]
pub use recipe::{KnownModel, Recipe};
#[cfg(feature = "http")]
pub use sensetree_http::{ApiKey, HttpClient, Retry};
#[cfg(feature = "hub")]
pub use sensetree_onnx::hub;
#[cfg(feature = "onnx")]
pub use sensetree_onnx::{ModelFolder, ModelOptions, Precision, runtime};
