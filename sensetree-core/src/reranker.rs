use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::Result;

/// What a reranker's numbers mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreScale {
    /// Unbounded; shown through a sigmoid, once.
    Logit,
    /// Already in [0, 1]; shown as it is.
    Unit,
}

impl ScoreScale {
    /// The number that a person sees, in [0, 1].
    pub fn display(self, score: f64) -> f64 {
        match self {
            Self::Logit => sigmoid(score),
            Self::Unit => score.clamp(0.0, 1.0),
        }
    }
}

/// `1 / (1 + e^−x)`.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Reads the question and a passage together and says how well they fit.
///
/// The caller has cut the passages to a stated length and checks what comes back: as many scores as passages, all finite.
#[async_trait]
pub trait Reranker: Debug + Send + Sync + 'static {
    /// A name for reports: the model's.
    fn name(&self) -> &str;

    /// What the scores mean. Constant for the life of the reranker.
    fn scale(&self) -> ScoreScale;

    /// One score for each passage, in the order of `passages`; higher is better. Nothing for nothing.
    ///
    /// # Errors
    /// [`Error::ModelUnavailable`](crate::Error::ModelUnavailable) makes the pipeline report the stage as skipped, any other error as
    /// failed; the fused order stands in both cases.
    async fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>>;
}

#[async_trait]
impl<T: Reranker + ?Sized> Reranker for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn scale(&self) -> ScoreScale {
        (**self).scale()
    }

    async fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        (**self).score(query, passages).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logits_are_shown_through_one_sigmoid() {
        assert!((ScoreScale::Logit.display(2.0) - 0.8808).abs() < 1e-4);
        assert!((ScoreScale::Logit.display(-8.3) - 0.00025).abs() < 1e-5);
        assert_eq!(ScoreScale::Unit.display(0.73), 0.73);
    }
}
