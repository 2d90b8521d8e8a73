//! Embedders of sensetree: any sentence-transformers-like ONNX model, from a folder or the hub.
//!
//! Pooling, normalisation, prefixes and lengths are read from the model's own files; a small catalogue says the rest.
//!
//! ```no_run
//! use sensetree_core::Embedder;
//! use sensetree_embed::OnnxEmbedder;
//!
//! # async fn example() -> sensetree_core::Result<()> {
//! let embedder = OnnxEmbedder::open("models/all-MiniLM-L6-v2").await?;
//! let question = embedder.embed_query("when was the boiler serviced?").await?;
//! assert_eq!(question.dimension(), 384);
//! # Ok(()) }
//! ```

mod onnx;
mod pooling;
mod recipe;

pub use onnx::OnnxEmbedder;
pub use pooling::Pooling;
pub use recipe::Recipe;
#[cfg(feature = "hub")]
pub use sensetree_onnx::hub;
pub use sensetree_onnx::{ModelFolder, ModelOptions, Precision, runtime};
