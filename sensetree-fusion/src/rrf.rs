use sensetree_core::{Error, Fused, Fusion, Leg, RankedList, Result};

use crate::{
    alpha,
    shares::{add_up, best_ranks},
};

/// The rank constant k of the literature: how slowly a rank loses weight.
pub const RRF_K: f64 = 60.0;

/// Reciprocal rank fusion: `score(chunk) = Σ weight / (k + rank)` over the lists that hold the chunk, ranks from 1.
///
/// Only ranks count, so cosines and BM25 scores need no common scale, and a score that is not a number does no harm. `k` is
/// [`RRF_K`] and both legs weigh 1, unless told otherwise.
///
/// From Cormack, Clarke, Büttcher: *Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods*, SIGIR 2009.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rrf {
    k: f64,
    /// The weight of the dense leg; the sparse one has the rest of 1. None: both weigh 1.
    alpha: Option<f64>,
}

impl Default for Rrf {
    fn default() -> Self {
        Self { k: RRF_K, alpha: None }
    }
}

impl Rrf {
    /// With another rank constant: a smaller one favours the top ranks more.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when `k` is not a finite number above 0.
    pub fn new(k: f64) -> Result<Self> {
        if !(k.is_finite() && k > 0.0) {
            return Err(Error::invalid(format!(
                "the rank constant k of RRF must be a finite number above 0, and {k} is not; {RRF_K} is usual"
            )));
        }
        Ok(Self { k, ..Self::default() })
    }

    /// The dense leg weighs `alpha`, the sparse one `1 − alpha`. Default: both weigh 1.
    ///
    /// At 1 the sparse leg is not asked at all, at 0 the dense one.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when `alpha` is not in [0, 1].
    pub fn alpha(self, alpha: f64) -> Result<Self> {
        Ok(Self { alpha: Some(alpha::checked(alpha)?), ..self })
    }
}

impl Fusion for Rrf {
    fn name(&self) -> &str {
        if self.alpha.is_some() { "weighted rrf" } else { "rrf" }
    }

    fn fuse(&self, lists: &[RankedList]) -> Vec<Fused> {
        let mut shares = Vec::with_capacity(lists.iter().map(|list| list.hits.len()).sum());
        for list in lists {
            let weight = self.weight(list.leg);
            if weight > 0.0 {
                shares.extend(best_ranks(list).map(|(rank, hit)| (&hit.id, weight / (self.k + f64::from(rank)))));
            }
        }
        add_up(shares)
    }

    fn best(&self, legs: &[Leg]) -> f64 {
        legs.iter().map(|leg| self.weight(*leg) / (self.k + 1.0)).sum()
    }

    fn weight(&self, leg: Leg) -> f64 {
        self.alpha.map_or(1.0, |alpha| alpha::weight(alpha, leg))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{dense, hit, is_the_sum, some_lists, sparse, table};

    fn weighted(alpha: f64) -> Rrf {
        Rrf::default().alpha(alpha).expect("the weight is in range")
    }

    #[test]
    fn scores_are_the_sums_of_the_formula() {
        let lists = [dense(&[("X", 0.9), ("a", 0.5), ("Y", 0.1)]), sparse(&[("b", 9.0), ("c", 5.0), ("Y", 1.0)])];
        let expected = [("Y", 2.0 / 63.0), ("X", 1.0 / 61.0), ("b", 1.0 / 61.0), ("a", 1.0 / 62.0), ("c", 1.0 / 62.0)];
        assert_eq!(table(&Rrf::default().fuse(&lists)), expected);
    }

    #[test]
    fn alpha_weighs_the_dense_leg() {
        let lists = [dense(&[("a", 0.9), ("b", 0.5)]), sparse(&[("b", 9.0), ("c", 5.0)])];
        let fused = weighted(0.6).fuse(&lists);
        assert_eq!(table(&fused), [("b", 0.6 / 62.0 + 0.4 / 61.0), ("a", 0.6 / 61.0), ("c", 0.4 / 62.0)]);
        assert_eq!(weighted(0.6).best(&[Leg::Dense, Leg::Sparse]), 0.6 / 61.0 + 0.4 / 61.0);
        assert_eq!(weighted(0.6).best(&[Leg::Sparse]), 0.4 / 61.0, "a leg that did not run gives nothing");
    }

    #[test]
    fn a_repeat_counts_once_at_its_best_rank() {
        let fused = Rrf::default().fuse(&[dense(&[("A", 0.9), ("A", 0.8), ("B", 0.7)]), sparse(&[("B", 9.0)])]);
        assert_eq!(table(&fused), [("B", 1.0 / 61.0 + 1.0 / 63.0), ("A", 1.0 / 61.0)], "what follows a repeat keeps its place");
    }

    #[test]
    fn chunks_of_one_document_are_told_apart() {
        let mut second = hit("a", 0.4);
        second.id.index = 1;
        let fused = Rrf::default().fuse(&[RankedList::new(Leg::Dense, vec![second, hit("a", 0.5)])]);
        assert_eq!(fused.iter().map(|f| f.id.index).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn disjoint_lists_interleave() {
        let fused = Rrf::default().fuse(&[sparse(&[("s0", 9.0), ("s1", 5.0)]), dense(&[("d0", 0.5), ("d1", 0.4)])]);
        assert_eq!(table(&fused), [("d0", 1.0 / 61.0), ("s0", 1.0 / 61.0), ("d1", 1.0 / 62.0), ("s1", 1.0 / 62.0)]);
    }

    #[test]
    fn a_rank_constant_that_makes_no_sense_is_refused_by_name() {
        for k in [0.0, -60.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Rrf::new(k).expect_err("k makes no sense");
            assert!(
                matches!(&error, Error::InvalidInput(what) if what.contains('k') && what.contains(&k.to_string())),
                "{error}"
            );
        }
    }

    #[test]
    fn reports_tell_the_weighted_rule_from_the_plain_one() {
        assert_eq!(Rrf::default().name(), "rrf");
        assert_eq!(weighted(0.6).name(), "weighted rrf");
    }

    proptest! {
        #[test]
        fn it_is_the_formula(lists in some_lists(), k in 0.5f64..200.0, alpha in prop::option::of(0.0f64..=1.0)) {
            let plain = Rrf::new(k).expect("k is in range");
            let rule = alpha.map_or(plain, |alpha| plain.alpha(alpha).expect("alpha is in range"));
            is_the_sum(&rule, &lists, |list, id| {
                let before = list.hits.iter().position(|hit| hit.id == *id)?;
                Some(1.0 / (k + before as f64 + 1.0))
            });
        }
    }
}
