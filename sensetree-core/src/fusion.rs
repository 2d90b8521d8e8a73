use std::{fmt::Debug, sync::Arc};

use crate::{ChunkId, Leg, RankedList};

/// A chunk with its fused score.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// Which chunk.
    pub id: ChunkId,
    /// Higher is better; on the rule's own scale.
    pub score: f64,
}

/// Merges several ranked lists into one. Pure and synchronous.
pub trait Fusion: Debug + Send + Sync + 'static {
    /// A name for reports.
    fn name(&self) -> &str;

    /// The merged list, best first, each chunk once, ties by [`ChunkId`]. The order of `lists` does not matter.
    ///
    /// A chunk that stands twice in one list counts at its best rank. Empty lists add nothing: with one list left, its order stands.
    fn fuse(&self, lists: &[RankedList]) -> Vec<Fused>;

    /// The best score that a chunk can have when these legs ran; what a fused score is shown as a share of.
    fn best(&self, legs: &[Leg]) -> f64;

    /// How much a leg counts, in [0, 1] relative to the others; a leg of weight 0 is not asked at all.
    fn weight(&self, leg: Leg) -> f64;
}

impl<T: Fusion + ?Sized> Fusion for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn fuse(&self, lists: &[RankedList]) -> Vec<Fused> {
        (**self).fuse(lists)
    }

    fn best(&self, legs: &[Leg]) -> f64 {
        (**self).best(legs)
    }

    fn weight(&self, leg: Leg) -> f64 {
        (**self).weight(leg)
    }
}
