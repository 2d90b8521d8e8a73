//! Vectors, and what they were made by.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A vector that can be ranked by cosine: at least one dimension, every value finite, not all zero.
///
/// The values are kept as the embedder gave them; cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding(Arc<[f32]>);

impl Embedding {
    /// Checks and wraps a vector.
    ///
    /// # Errors
    /// [`Error::InvalidEmbedding`] when it is empty, all zero (or so small that its length is), or has a value that is not finite.
    pub fn new(values: impl Into<Arc<[f32]>>) -> Result<Self> {
        let values = values.into();
        if values.is_empty() {
            return Err(Error::InvalidEmbedding("it has no dimension".into()));
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::InvalidEmbedding(format!("value {at} of {} is {}", values.len(), values[at])));
        }
        let norm = norm(&values);
        if norm == 0.0 || !norm.is_finite() {
            return Err(Error::InvalidEmbedding(format!("its length is {norm}")));
        }
        Ok(Self(values))
    }

    /// The values.
    pub fn as_slice(&self) -> &[f32] {
        &self.0
    }

    /// How many values.
    pub fn dimension(&self) -> usize {
        self.0.len()
    }

    /// Cosine similarity, in [−1, 1]. Both must have the same dimension.
    pub fn cosine(&self, other: &Self) -> f32 {
        let dot: f32 = self.0.iter().zip(other.0.iter()).map(|(a, b)| a * b).sum();
        dot / (norm(&self.0) * norm(&other.0))
    }
}

fn norm(values: &[f32]) -> f32 {
    values.iter().map(|v| v * v).sum::<f32>().sqrt()
}

/// What made a store's vectors: two embedders with equal fingerprints give comparable vectors.
///
/// The store carries the fingerprint it was filled with and refuses another one, so two embedding spaces never meet.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    model: String,
    dimension: usize,
    details: BTreeMap<String, String>,
}

impl Fingerprint {
    /// A model's name and the dimension of its vectors.
    pub fn new(model: impl Into<String>, dimension: usize) -> Self {
        Self { model: model.into(), dimension, details: BTreeMap::new() }
    }

    /// Adds something else that changes the vectors: a hash of the weights, the pooling, a prefix, the precision.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.details.insert(name.into(), value.into());
        self
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Values in each vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Everything else that changes the vectors, by name.
    pub fn details(&self) -> &BTreeMap<String, String> {
        &self.details
    }

    /// Refuses another embedding space.
    ///
    /// # Errors
    /// [`Error::FingerprintMismatch`] when anything differs.
    pub fn expect(&self, given: &Self) -> Result<()> {
        if self == given {
            return Ok(());
        }
        Err(Error::FingerprintMismatch { stored: Box::new(self.clone()), given: Box::new(given.clone()) })
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} dimensions", self.model, self.dimension)?;
        for (name, value) in &self.details {
            write!(f, ", {name} {value:?}")?;
        }
        write!(f, ")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_that_no_ranking_can_use_are_refused() {
        for bad in [vec![], vec![0.0, 0.0], vec![1.0, f32::NAN], vec![f32::INFINITY, 1.0], vec![f32::MAX, f32::MAX]] {
            assert!(matches!(Embedding::new(bad.clone()), Err(Error::InvalidEmbedding(_))), "{bad:?}");
        }
    }

    #[test]
    fn cosine_is_of_the_direction_not_the_length() {
        let embedding = |v: [f32; 2]| Embedding::new(v.to_vec()).expect("finite and not zero");
        let query = embedding([1.0, 0.0]);
        assert!((query.cosine(&embedding([10.0, 1.0])) - 0.9950).abs() < 1e-4);
        assert!((query.cosine(&embedding([0.9, 0.5])) - 0.8742).abs() < 1e-4);
    }
}
