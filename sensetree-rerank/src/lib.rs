//! Rerankers of sensetree: they read the question and a passage and say how well they fit.
//!
//! - [`CrossEncoder`]: a model trained for it, such as `bge-reranker-v2-m3`; answers logits;
//! - [`LateInteraction`]: compares the token states of the embedding model that is loaded anyway; answers in [0, 1];
//! - [`LazyReranker`]: any of them, loaded when it is first asked.
//!
//! ```no_run
//! use sensetree_core::Reranker;
//! use sensetree_rerank::CrossEncoder;
//!
//! # async fn example() -> sensetree_core::Result<()> {
//! let reranker = CrossEncoder::open("models/bge-reranker-v2-m3").await?;
//! let scores = reranker.score("boiler service", &["The boiler was serviced in May.", "A recipe for bread."]).await?;
//! assert!(scores[0] > scores[1]);
//! # Ok(()) }
//! ```

mod cross_encoder;
mod late_interaction;
mod lazy;

pub use cross_encoder::CrossEncoder;
pub use late_interaction::LateInteraction;
pub use lazy::LazyReranker;
#[cfg(feature = "hub")]
pub use sensetree_onnx::hub;
pub use sensetree_onnx::{ModelFolder, ModelOptions, Precision};
