//! Rules that merge the ranked lists of the two legs into one.
//!
//! - [`Rrf`]: reciprocal rank fusion, by ranks alone; the default;
//! - [`MinMax`]: by scores, each list scaled from its least to its greatest;
//! - [`DistributionBased`]: by scores, each list scaled by its mean and deviation.
//!
//! With each, `alpha` weighs the dense leg against the sparse one. Which is best depends on the files; the example `evaluate`
//! tells. [`FusionRule`] names a rule in a settings file or on a command line.
//!
//! Each rule is one file, `impl` [`Fusion`](sensetree_core::Fusion), and passes `sensetree_core::testing::fusion_suite`; what the
//! rules share, walking a list and adding up, is in `shares.rs`, and scaling scores in `scaled.rs`.
//!
//! ```
//! use std::sync::Arc;
//! use sensetree_core::{ChunkId, DocumentKey, Fusion, Hit, Leg, Passage, RankedList};
//! use sensetree_fusion::Rrf;
//!
//! let hit = |path: &str, score| Hit {
//!     id: ChunkId::new(DocumentKey::from_path(path), 0),
//!     score,
//!     passage: Arc::new(Passage::new("", path)),
//! };
//! let dense = RankedList::new(Leg::Dense, vec![hit("heating.md", 0.71), hit("boiler.md", 0.64)]);
//! let sparse = RankedList::new(Leg::Sparse, vec![hit("boiler.md", 11.2)]);
//!
//! let fused = Rrf::default().fuse(&[dense, sparse]);
//! assert_eq!(fused[0].id.key.as_str(), "boiler.md"); // found by both legs
//! assert_eq!(fused[0].score, 1.0 / 62.0 + 1.0 / 61.0);
//! ```

mod alpha;
mod distribution_based;
mod min_max;
mod rrf;
mod rule;
mod scaled;
mod shares;
#[cfg(test)]
mod tests;

pub use distribution_based::DistributionBased;
pub use min_max::MinMax;
pub use rrf::{RRF_K, Rrf};
pub use rule::FusionRule;
