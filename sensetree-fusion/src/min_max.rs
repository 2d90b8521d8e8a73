use sensetree_core::{Fused, Fusion, Leg, RankedList, Result};

use crate::{
    alpha,
    scaled::{Scaling, extremes},
};

/// Min-max score fusion: `score(chunk) = Σ weight · (score − min) / (max − min)` over the lists that hold the chunk, with the least
/// and the greatest score of each list.
///
/// How far apart the scores of a list are counts, not only their order: a leg that is sure of its first hit says so. The first of
/// each list has 1, the last 0, as has a chunk that the list does not hold. The dense leg weighs [`alpha`](MinMax::alpha), the
/// sparse one the rest of 1; both 0.5, unless told otherwise.
///
/// In a list without a range (one hit, or all scores equal) every hit has 1. A score that is not a number counts as the least, an
/// infinite one as the end of the range on its side. Hits of one list that would be equal differ by a rounding error, in the
/// order of the list.
///
/// The normalisation is that of Lee: *Analyses of Multiple Evidence Combination*, SIGIR 1997; the sum is CombSUM of Fox, Shaw:
/// *Combination of Multiple Searches*, TREC-2, 1994; the weights are those of Bruch, Gai, Ingber: *An Analysis of Fusion Functions
/// for Hybrid Retrieval*, ACM TOIS 42(1), 2023. Vector databases call it relative score fusion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MinMax {
    alpha: f64,
}

const SCALING: Scaling = Scaling { range: extremes, flat: 1.0 };

impl Default for MinMax {
    fn default() -> Self {
        Self { alpha: alpha::EVEN }
    }
}

impl MinMax {
    /// The dense leg weighs `alpha`, the sparse one `1 − alpha`. Default: 0.5.
    ///
    /// At 1 the sparse leg is not asked at all, at 0 the dense one.
    ///
    /// # Errors
    /// [`Error::InvalidInput`](sensetree_core::Error::InvalidInput) when `alpha` is not in [0, 1].
    pub fn alpha(self, alpha: f64) -> Result<Self> {
        Ok(Self { alpha: alpha::checked(alpha)? })
    }
}

impl Fusion for MinMax {
    fn name(&self) -> &str {
        "min-max"
    }

    fn fuse(&self, lists: &[RankedList]) -> Vec<Fused> {
        SCALING.fuse(self.alpha, lists)
    }

    fn best(&self, legs: &[Leg]) -> f64 {
        legs.iter().map(|leg| self.weight(*leg)).sum()
    }

    fn weight(&self, leg: Leg) -> f64 {
        alpha::weight(self.alpha, leg)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{dense, is_the_sum, numbers, some_lists, sparse, table};

    fn weighted(alpha: f64) -> MinMax {
        MinMax::default().alpha(alpha).expect("the weight is in range")
    }

    #[test]
    fn scores_are_the_sums_of_the_formula() {
        let lists = [dense(&[("a", 0.75), ("b", 0.5), ("c", 0.25)]), sparse(&[("c", 12.0), ("d", 6.0), ("b", 4.0)])];
        assert_eq!(table(&MinMax::default().fuse(&lists)), [("a", 0.5), ("c", 0.5), ("b", 0.25), ("d", 0.125)]);
        assert_eq!(table(&weighted(0.75).fuse(&lists)), [("a", 0.75), ("b", 0.375), ("c", 0.25), ("d", 0.0625)]);
    }

    #[test]
    fn a_list_without_a_range_gives_its_whole_weight_to_each_hit() {
        let lists = [dense(&[("a", 0.3)]), sparse(&[("b", 5.0), ("c", 5.0)])];
        let fused = MinMax::default().fuse(&lists);
        assert_eq!(table(&fused)[..2], [("a", 0.5), ("b", 0.5)]);
        assert!((fused[2].score - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_best_score_is_that_of_a_chunk_that_leads_every_list() {
        let lists = [dense(&[("a", 0.75), ("b", 0.5)]), sparse(&[("a", 12.0), ("d", 6.0)])];
        let rule = weighted(0.6);
        assert_eq!(rule.fuse(&lists)[0].score, rule.best(&[Leg::Dense, Leg::Sparse]));
        assert_eq!(rule.fuse(&lists[..1])[0].score, rule.best(&[Leg::Dense]), "a leg that did not run gives nothing");
    }

    #[test]
    fn endless_scores_are_the_ends_of_the_range() {
        let hits = [("a", f32::INFINITY), ("b", 3.0), ("c", 2.0), ("d", 1.0), ("e", f32::NEG_INFINITY), ("f", f32::NAN)];
        let fused = weighted(1.0).fuse(&[dense(&hits)]);
        assert!(fused.iter().zip([1.0, 1.0, 0.5, 0.0, 0.0, 0.0]).all(|(f, near)| (f.score - near).abs() < 1e-12), "{fused:?}");
        assert!(fused.iter().map(|f| f.id.key.as_str()).eq(hits.map(|(id, _)| id)));
    }

    proptest! {
        #[test]
        fn it_is_the_formula(lists in some_lists(), alpha in 0.0f64..=1.0) {
            is_the_sum(&weighted(alpha), &lists, |list, id| {
                let (all, score) = numbers(list, id);
                let least = all.iter().copied().fold(f64::INFINITY, f64::min);
                let greatest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Some(match score? {
                    score if score.is_nan() => 0.0,
                    _ if least == greatest => 1.0,
                    score => (score - least) / (greatest - least),
                })
            });
        }
    }
}
