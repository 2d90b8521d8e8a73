use sensetree_core::{Error, Fused, Fusion, Leg, RankedList, Result};

use crate::shares::{add_up, best_ranks};

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
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Error::invalid(format!("alpha, the weight of the dense leg, must be in [0, 1], and {alpha} is not")));
        }
        Ok(Self { alpha: Some(alpha), ..self })
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
        match (self.alpha, leg) {
            (None, _) => 1.0,
            (Some(alpha), Leg::Dense) => alpha,
            (Some(alpha), Leg::Sparse) => 1.0 - alpha,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, sync::Arc};

    use proptest::prelude::*;
    use sensetree_core::{ChunkId, DocumentKey, Hit, Location, Passage, testing::fusion_suite};

    use super::*;

    fn hit(id: &str, score: f32) -> Hit {
        let passage = Passage::new(id, id);
        Hit { id: ChunkId::new(DocumentKey::from_stored(id), 0), score, passage: Arc::new(passage) }
    }

    fn list(leg: Leg, ids: &[&str]) -> RankedList {
        RankedList::new(leg, ids.iter().map(|id| hit(id, 0.5)).collect())
    }

    fn dense(ids: &[&str]) -> RankedList {
        list(Leg::Dense, ids)
    }

    fn sparse(ids: &[&str]) -> RankedList {
        list(Leg::Sparse, ids)
    }

    fn table(fused: &[Fused]) -> Vec<(&str, f64)> {
        fused.iter().map(|f| (f.id.key.as_str(), f.score)).collect()
    }

    fn weighted(alpha: f64) -> Rrf {
        Rrf::default().alpha(alpha).expect("the weight is in range")
    }

    #[test]
    fn the_rule_keeps_the_contract() {
        for rule in [Rrf::default(), Rrf::new(1.0).expect("1 is above 0"), weighted(0.6), weighted(0.5), weighted(0.1)] {
            fusion_suite(&rule);
        }
    }

    #[test]
    fn scores_are_the_sums_of_the_formula() {
        let fused = Rrf::default().fuse(&[dense(&["X", "a", "Y"]), sparse(&["b", "c", "Y"])]);
        let expected = [("Y", 2.0 / 63.0), ("X", 1.0 / 61.0), ("b", 1.0 / 61.0), ("a", 1.0 / 62.0), ("c", 1.0 / 62.0)];
        assert_eq!(table(&fused), expected);
    }

    #[test]
    fn alpha_weighs_the_dense_leg() {
        let lists = [dense(&["a", "b"]), sparse(&["b", "c"])];
        let fused = weighted(0.6).fuse(&lists);
        assert_eq!(table(&fused), [("b", 0.6 / 62.0 + 0.4 / 61.0), ("a", 0.6 / 61.0), ("c", 0.4 / 62.0)]);
        assert_eq!(weighted(0.6).best(&[Leg::Dense, Leg::Sparse]), 0.6 / 61.0 + 0.4 / 61.0);
        assert_eq!(weighted(0.6).best(&[Leg::Sparse]), 0.4 / 61.0, "a leg that did not run gives nothing");
    }

    #[test]
    fn a_leg_without_weight_adds_nothing() {
        let lists = [dense(&["a", "b"]), sparse(&["b", "c"])];
        assert_eq!(weighted(1.0).weight(Leg::Sparse), 0.0);
        assert_eq!(table(&weighted(1.0).fuse(&lists)), [("a", 1.0 / 61.0), ("b", 1.0 / 62.0)]);
        assert_eq!(weighted(0.0).weight(Leg::Dense), 0.0);
        assert_eq!(table(&weighted(0.0).fuse(&lists)), [("b", 1.0 / 61.0), ("c", 1.0 / 62.0)]);
    }

    #[test]
    fn an_empty_sparse_list_leaves_the_dense_order() {
        let order = ["m", "z", "a", "k"];
        for rule in [Rrf::default(), weighted(0.6)] {
            let fused = rule.fuse(&[dense(&order), sparse(&[])]);
            assert_eq!(fused.iter().map(|f| f.id.key.as_str()).collect::<Vec<_>>(), order);
        }
    }

    #[test]
    fn a_repeat_counts_once_at_its_best_rank() {
        let fused = Rrf::default().fuse(&[dense(&["A", "A", "B"]), sparse(&["B"])]);
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
    fn disjoint_lists_interleave_alike_every_time() {
        let names = |prefix: char| (0..20).map(|i| format!("{prefix}{i:02}")).collect::<Vec<_>>();
        let (d, s) = (names('d'), names('s'));
        let lists =
            [sparse(&s.iter().map(String::as_str).collect::<Vec<_>>()), dense(&d.iter().map(String::as_str).collect::<Vec<_>>())];
        // The standard hasher is seeded anew for each set, as in another process.
        for _ in 0..20 {
            let fused = Rrf::default().fuse(&lists);
            assert_eq!(fused.len(), 40);
            let first = table(&fused[..7]);
            let [one, two, three, four] = [61.0, 62.0, 63.0, 64.0].map(|below| 1.0 / below);
            assert_eq!(
                first,
                [("d00", one), ("s00", one), ("d01", two), ("s01", two), ("d02", three), ("s02", three), ("d03", four)]
            );
        }
    }

    #[test]
    fn the_scores_of_the_lists_do_not_matter() {
        let odd = [f32::NAN, 0.9, f32::INFINITY, f32::NAN, -1.0];
        let hits = (0..50).map(|i| hit(&format!("{:02}", (i * 7) % 50), odd[i % odd.len()])).collect::<Vec<_>>();
        let calm = hits.iter().map(|h| Hit { score: 0.5, ..h.clone() }).collect();
        let fuse = |hits| Rrf::default().fuse(&[RankedList::new(Leg::Dense, hits), sparse(&["03", "17"])]);
        assert_eq!(fuse(hits), fuse(calm));
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused_by_name() {
        for k in [0.0, -60.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Rrf::new(k).expect_err("k makes no sense");
            assert!(
                matches!(&error, Error::InvalidInput(what) if what.contains('k') && what.contains(&k.to_string())),
                "{error}"
            );
        }
        for alpha in [-0.01, 1.01, f64::NAN, f64::INFINITY] {
            let error = Rrf::default().alpha(alpha).expect_err("alpha is out of range");
            assert!(
                matches!(&error, Error::InvalidInput(what) if what.contains("alpha") && what.contains(&alpha.to_string())),
                "{error}"
            );
        }
    }

    #[test]
    fn reports_tell_the_weighted_rule_from_the_plain_one() {
        assert_eq!(Rrf::default().name(), "rrf");
        assert_eq!(weighted(0.6).name(), "weighted rrf");
    }

    /// The formula, word by word: one chunk, one list at a time.
    fn by_the_formula(k: f64, weight: impl Fn(Leg) -> f64, lists: &[RankedList], id: &ChunkId) -> f64 {
        let mut score = 0.0;
        for list in lists {
            if let Some(before) = list.hits.iter().position(|hit| hit.id == *id) {
                score += weight(list.leg) / (k + before as f64 + 1.0);
            }
        }
        score
    }

    fn some_lists() -> impl Strategy<Value = Vec<RankedList>> {
        let leg = prop_oneof![Just(Leg::Dense), Just(Leg::Sparse)];
        // Few names, so that chunks repeat inside a list and stand in several.
        let one = (leg, prop::collection::vec((0u8..12, any::<f32>()), 0..15)).prop_map(|(leg, hits)| {
            let hits = hits.into_iter().map(|(name, score)| hit(&format!("{name:02}"), score));
            RankedList::new(leg, hits.collect())
        });
        prop::collection::vec(one, 0..6)
    }

    proptest! {
        #[test]
        fn it_is_the_formula(lists in some_lists(), k in 0.5f64..200.0, alpha in prop::option::of(0.0f64..=1.0)) {
            let plain = Rrf::new(k).expect("k is in range");
            let rule = alpha.map_or(plain, |alpha| plain.alpha(alpha).expect("alpha is in range"));
            let weight = |leg| match (alpha, leg) {
                (None, _) => 1.0,
                (Some(alpha), Leg::Dense) => alpha,
                (Some(alpha), Leg::Sparse) => 1.0 - alpha,
            };

            let fused = rule.fuse(&lists);
            let expected: BTreeSet<&ChunkId> =
                lists.iter().filter(|l| weight(l.leg) > 0.0).flat_map(|l| &l.hits).map(|hit| &hit.id).collect();
            prop_assert_eq!(fused.iter().map(|f| &f.id).collect::<BTreeSet<_>>(), expected.clone());
            prop_assert_eq!(fused.len(), expected.len());
            for f in &fused {
                prop_assert!((f.score - by_the_formula(k, weight, &lists, &f.id)).abs() < 1e-12);
            }
            prop_assert!(fused.windows(2).all(|w| w[0].score > w[1].score || (w[0].score == w[1].score && w[0].id < w[1].id)));

            let best = rule.best(&lists.iter().map(|list| list.leg).collect::<Vec<_>>());
            prop_assert!(fused.iter().all(|f| f.score <= best + 1e-12));
        }

        #[test]
        fn the_order_of_the_lists_shows_in_no_bit(
            (lists, mixed) in some_lists().prop_flat_map(|lists| (Just(lists.clone()), Just(lists).prop_shuffle())),
        ) {
            prop_assert_eq!(weighted(0.6).fuse(&lists), weighted(0.6).fuse(&mixed));
        }
    }
}
