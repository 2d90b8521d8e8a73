//! What the ONNX embedder and the ONNX rerankers of sensetree share, written once:
//!
//! - [`runtime`]: finding and loading the ONNX Runtime library;
//! - [`ModelFolder`]: a model's files, and what they say about lengths and shapes;
//! - `hub` (feature): fetching such a folder from the Hugging Face hub;
//! - [`TextTokenizer`]: raw tokenizers, with one truncation rule and no padding;
//! - [`Model`]: inference threads with a queue, on which questions overtake passages.
//!
//! Texts are run one at a time, each on a session of one or few threads. On CPUs this is as fast as the best batching (no
//! padding, small working sets), and a dynamically quantised graph gives the same vector whatever else is in the queue.
//!
//! ```no_run
//! use sensetree_onnx::{Model, ModelFolder, ModelOptions, Urgency};
//!
//! # async fn example() -> sensetree_core::Result<()> {
//! let folder = ModelFolder::open("models/all-MiniLM-L6-v2")?;
//! let model = Model::load(&folder, &ModelOptions::default())?;
//! let states = model.run(Urgency::Query, |graph, tokenizer| graph.run(&tokenizer.encode("a lamp")?)).await?;
//! assert_eq!(states.ndim(), 3); // 1, tokens, dimension
//! # Ok(()) }
//! ```

mod folder;
mod graph;
#[cfg(feature = "hub")]
pub mod hub;
mod model;
pub mod runtime;
mod tokenizer;
mod workers;

pub use folder::{ModelFolder, Precision};
pub use graph::Graph;
pub use model::{Model, ModelOptions, Urgency};
pub use tokenizer::{TextTokenizer, Tokens};
