use sensetree_core::{Fused, Fusion, Leg, RankedList, Result};

use crate::{alpha, scaled::Scaling};

/// Distribution-based score fusion: `score(chunk) = Σ weight · (score − (μ − 3σ)) / 6σ`, clipped to [0, 1], over the lists that hold
/// the chunk, with the mean μ and the standard deviation σ of the scores of each list.
///
/// Like [`MinMax`](crate::MinMax), but one hit far from the others does not press them together. A chunk that a list does not hold
/// has 0 there. σ is that of the list as it is, not an estimate for a larger one: the squares are divided by the number of hits.
/// The dense leg weighs [`alpha`](DistributionBased::alpha), the sparse one the rest of 1; both 0.5, unless told otherwise.
///
/// In a list without a spread (one hit, or all scores equal) every hit is at the mean and has 0.5. A score that is not a number
/// counts as the least, an infinite one as the end of the range on its side; neither is part of μ and σ. Hits of one list that
/// would be equal, as clipping makes them, differ by a rounding error, in the order of the list.
///
/// From Mazzeschi: *Distribution-Based Score Fusion (DBSF), a new approach to Vector Search Ranking*, 2023.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistributionBased {
    alpha: f64,
}

const SCALING: Scaling = Scaling { range: within_three_deviations, flat: 0.5 };

impl Default for DistributionBased {
    fn default() -> Self {
        Self { alpha: alpha::EVEN }
    }
}

impl DistributionBased {
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

impl Fusion for DistributionBased {
    fn name(&self) -> &str {
        "distribution-based"
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

fn within_three_deviations(scores: &[f64]) -> (f64, f64) {
    let count = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / count;
    let deviation = (scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / count).sqrt();
    (mean - 3.0 * deviation, mean + 3.0 * deviation)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{dense, is_the_sum, numbers, some_lists, sparse, table};

    fn weighted(alpha: f64) -> DistributionBased {
        DistributionBased::default().alpha(alpha).expect("the weight is in range")
    }

    #[test]
    fn scores_are_the_sums_of_the_formula() {
        // Means 4 and 10, deviations 1 and 2: ranges from 1 to 7 and from 4 to 16.
        let lists = [dense(&[("a", 5.0), ("b", 3.0)]), sparse(&[("b", 12.0), ("c", 8.0)])];
        let expected = [("b", 0.5 * (2.0 / 6.0) + 0.5 * (8.0 / 12.0)), ("a", 0.5 * (4.0 / 6.0)), ("c", 0.5 * (4.0 / 12.0))];
        assert_eq!(table(&DistributionBased::default().fuse(&lists)), expected);
    }

    #[test]
    fn a_list_without_a_spread_gives_half_its_weight_to_each_hit() {
        let lists = [dense(&[("a", 0.3)]), sparse(&[("b", 0.1), ("c", 0.1), ("d", 0.1)])];
        let fused = DistributionBased::default().fuse(&lists);
        assert_eq!(table(&fused)[..2], [("a", 0.25), ("b", 0.25)]);
        assert!(fused.iter().all(|f| (f.score - 0.25).abs() < 1e-12), "{fused:?}");
    }

    #[test]
    fn what_lies_beyond_three_deviations_is_clipped_and_keeps_its_order() {
        let mut hits = vec![("far", 100.0), ("near", 90.0)];
        let names: Vec<String> = (0..60).map(|i| format!("m{i:02}")).collect();
        hits.extend(names.iter().zip(0u8..).map(|(name, i)| (name.as_str(), 0.5 - f32::from(i) / 200.0)));
        let fused = weighted(1.0).fuse(&[dense(&hits)]);
        assert_eq!(table(&fused)[..2], [("far", 1.0), ("near", 1.0 - f64::EPSILON)]);
        assert_eq!(weighted(1.0).best(&[Leg::Dense]), 1.0);
    }

    #[test]
    fn the_best_score_is_the_sum_of_the_weights_of_the_legs_that_ran() {
        assert_eq!(weighted(0.75).best(&[Leg::Dense, Leg::Sparse]), 1.0);
        assert_eq!(weighted(0.75).best(&[Leg::Sparse]), 0.25);
    }

    proptest! {
        #[test]
        fn it_is_the_formula(lists in some_lists(), alpha in 0.0f64..=1.0) {
            is_the_sum(&weighted(alpha), &lists, |list, id| {
                let (all, score) = numbers(list, id);
                let count = all.len() as f64;
                let mean = all.iter().sum::<f64>() / count;
                let deviation = all.iter().map(|score| (score - mean) * (score - mean) / count).sum::<f64>().sqrt();
                Some(match score? {
                    score if score.is_nan() => 0.0,
                    _ if all.iter().all(|score| *score == all[0]) => 0.5,
                    score => ((score - mean + 3.0 * deviation) / (6.0 * deviation)).clamp(0.0, 1.0),
                })
            });
        }
    }
}
