use std::{fmt, iter};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};
use sensetree_core::{Error, Result};
use serde::Serialize;

use crate::{Metric, Scores};

/// Compares two runs query by query: is the difference of their means more than chance?
///
/// - The p-value is that of the paired randomisation test with the difference of the means as its statistic, two-sided: if the two
///   runs were equally good, each query's difference could as well have the other sign; p is the share of all ways to choose the
///   signs that make the difference at least as large as the one seen. With up to 16 queries that differ, all ways are tried;
///   with more, as many as [`resamples`](PairedTest::resamples) says, drawn at random, and `p = (as large + 1) / (drawn + 1)`.
/// - The interval is the bootstrap's: queries are drawn with replacement, and the middle part of the mean differences is given
///   (percentile method).
///
/// The same scores give the same numbers on every machine: the random numbers are those of xoshiro256++ from the seed.
///
/// From Smucker, Allan, Carterette: *A Comparison of Statistical Significance Tests for Information Retrieval Evaluation*, CIKM 2007;
/// Phipson, Smyth: *Permutation P-values Should Never Be Zero*, 2010; Efron, Tibshirani: *An Introduction to the Bootstrap*, 1993.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedTest {
    resamples: u32,
    confidence: f64,
    seed: u64,
}

impl Default for PairedTest {
    fn default() -> Self {
        Self { resamples: 20_000, confidence: 0.95, seed: 0 }
    }
}

/// So many queries that differ are compared in all 2^16 ways.
const EXACT: usize = 16;
/// Differences up to this are rounding, not a difference.
const ROUNDING: f64 = 1e-12;

/// What the comparison of two runs gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What was compared.
    pub metric: Metric,
    /// The mean of the baseline.
    pub baseline: f64,
    /// The mean of the other run.
    pub mean: f64,
    /// The other's mean minus the baseline's.
    pub difference: f64,
    /// The confidence interval of the difference, from its lower to its upper end.
    pub interval: (f64, f64),
    /// Queries on which the other is better.
    pub wins: usize,
    /// Queries on which both have the same value.
    pub ties: usize,
    /// Queries on which the baseline is better.
    pub losses: usize,
    /// How likely a difference this large would be if the two were equally good; in (0, 1].
    pub p_value: f64,
    /// Whether the p-value counts all ways to choose the signs, not a sample of them.
    pub exact: bool,
}

impl PairedTest {
    /// How many random draws the p-value and the interval are made of. Default: 20,000.
    #[must_use]
    pub fn resamples(self, resamples: u32) -> Self {
        Self { resamples, ..self }
    }

    /// How sure the interval is, between 0 and 1. Default: 0.95.
    #[must_use]
    pub fn confidence(self, confidence: f64) -> Self {
        Self { confidence, ..self }
    }

    /// Where the random numbers start. Default: 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    pub(crate) fn percent(&self) -> f64 {
        // 0.95 has no exact form, and 100 × 0.95 must not show it.
        (self.confidence * 1e4).round() / 100.0
    }

    /// Compares the scores of two runs in one metric.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when the scores are not of one metric and the same queries, or of no query; when there are no
    /// resamples, or the confidence is not between 0 and 1.
    pub fn compare(&self, baseline: &Scores, other: &Scores) -> Result<Comparison> {
        self.check(baseline, other)?;
        let pairs = baseline.per_query.values().zip(other.per_query.values());
        let differences: Vec<f64> = pairs.map(|(a, b)| b - a).map(|d| if d.abs() <= ROUNDING { 0.0 } else { d }).collect();
        let count = |holds: fn(f64) -> bool| differences.iter().filter(|d| holds(**d)).count();
        let (p_value, exact) = self.p_value(&differences);
        Ok(Comparison {
            metric: other.metric,
            baseline: baseline.mean,
            mean: other.mean,
            difference: mean(&differences),
            interval: self.interval(&differences),
            wins: count(|d| d > 0.0),
            ties: count(|d| d == 0.0),
            losses: count(|d| d < 0.0),
            p_value,
            exact,
        })
    }

    fn check(&self, baseline: &Scores, other: &Scores) -> Result<()> {
        let refused = |what: String| Err(Error::invalid(format!("cannot compare two runs query by query: {what}")));
        if baseline.metric != other.metric {
            return refused(format!("one was measured in {}, the other in {}", baseline.metric, other.metric));
        }
        if !baseline.per_query.keys().eq(other.per_query.keys()) {
            return refused("they were measured on different queries; use the same judgements for both".to_owned());
        }
        if baseline.per_query.is_empty() {
            return refused("no query has a relevant document".to_owned());
        }
        if self.resamples == 0 {
            return refused("without resamples there is nothing to count; thousands are usual".to_owned());
        }
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return refused(format!("the confidence must be between 0 and 1, and {} is not; 0.95 is usual", self.confidence));
        }
        Ok(())
    }

    /// The p-value, and whether it is exact.
    fn p_value(&self, differences: &[f64]) -> (f64, bool) {
        // A difference of 0 has no sign to choose.
        let differing: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
        let seen = differing.iter().sum::<f64>().abs();
        // Sums in another order round differently, and the one that was seen must count as its own equal.
        let least = seen - ROUNDING * differing.iter().map(|d| d.abs()).sum::<f64>();
        let as_large = |signs: &mut dyn FnMut() -> u64| {
            let groups = differing.chunks(64).map(|group| signed_sum(group, signs()));
            groups.sum::<f64>().abs() >= least
        };
        if differing.len() <= EXACT {
            let ways = 1u64 << differing.len();
            let count = (0..ways).filter(|signs| as_large(&mut || *signs)).count();
            return (count as f64 / ways as f64, true);
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let count = (0..self.resamples).filter(|_| as_large(&mut || random.next_u64())).count();
        ((count as f64 + 1.0) / (f64::from(self.resamples) + 1.0), false)
    }

    fn interval(&self, differences: &[f64]) -> (f64, f64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let length = differences.len();
        // The upper half of a product is a place in the list; that some are more likely shows in none of 2^64 / length draws.
        let mut any = || differences[((u128::from(random.next_u64()) * length as u128) >> 64) as usize];
        let one = |any: &mut dyn FnMut() -> f64| iter::repeat_with(any).take(length).sum::<f64>() / length as f64;
        let mut means: Vec<f64> = (0..self.resamples).map(|_| one(&mut any)).collect();
        means.sort_by(f64::total_cmp);
        let outside = (1.0 - self.confidence) / 2.0;
        (quantile(&means, outside), quantile(&means, 1.0 - outside))
    }
}

impl fmt::Display for PairedTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "paired randomisation test and bootstrap, {} resamples, seed {}", self.resamples, self.seed)
    }
}

/// The sum with the sign of each term turned where its bit is set.
fn signed_sum(terms: &[f64], signs: u64) -> f64 {
    terms.iter().enumerate().map(|(bit, term)| if signs >> bit & 1 == 1 { -term } else { *term }).sum()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The value below which a share of the sorted values lies; between two of them in proportion.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// Corrects p-values for their number: with 20 comparisons, one is below 0.05 by chance alone. In the order given.
///
/// A set of comparisons whose corrected values are below 0.05 holds a single false one with a probability of at most 5 %.
///
/// From Holm: *A Simple Sequentially Rejective Multiple Test Procedure*, Scandinavian Journal of Statistics 6(2), 1979.
///
/// ```
/// let corrected = sensetree_eval::holm(&[0.01, 0.04, 0.03]);
/// assert_eq!(corrected, [0.03, 0.06, 0.06]);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut smallest_first: Vec<usize> = (0..p_values.len()).collect();
    smallest_first.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![1.0; p_values.len()];
    let mut least = 0.0f64;
    for (before, at) in smallest_first.into_iter().enumerate() {
        least = least.max((p_values[at] * (p_values.len() - before) as f64).min(1.0));
        corrected[at] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scores(values: &[f64]) -> Scores {
        let per_query = values.iter().enumerate().map(|(query, value)| (format!("{query:04}"), *value)).collect();
        Scores { metric: Metric::Ndcg(10), mean: mean(values), per_query }
    }

    fn compare(baseline: &[f64], other: &[f64]) -> Comparison {
        PairedTest::default().compare(&scores(baseline), &scores(other)).expect("the same queries")
    }

    #[test]
    fn a_small_case_counts_all_signs() {
        // 8 ways to sign 0.1, 0.2, 0.3; two have a sum of 0.6 or −0.6.
        let comparison = compare(&[0.5, 0.5, 0.5, 0.5], &[0.6, 0.7, 0.8, 0.5]);
        assert_eq!((comparison.p_value, comparison.exact), (0.25, true));
        assert_eq!((comparison.wins, comparison.ties, comparison.losses), (3, 1, 0));
        assert!((comparison.difference - 0.15).abs() < 1e-12);
        let (low, high) = comparison.interval;
        assert!((0.0..0.15).contains(&low) && high > 0.15 && high <= 0.3, "{low} to {high}");
    }

    #[test]
    fn equal_runs_do_not_differ() {
        let comparison = compare(&[0.1; 40], &[0.1; 40]);
        assert_eq!((comparison.p_value, comparison.ties, comparison.interval), (1.0, 40, (0.0, 0.0)));
        let rounding = compare(&[0.3], &[0.1 + 0.2]);
        assert_eq!((rounding.ties, rounding.p_value), (1, 1.0), "rounding is no difference");
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_seed_others() {
        let (a, b) =
            ((0..50).map(|i| f64::from(i % 7) / 7.0).collect::<Vec<_>>(), (0..50).map(|i| f64::from(i % 5) / 5.0).collect());
        let (a, b): (_, Vec<f64>) = (scores(&a), b);
        let b = scores(&b);
        let with = |seed| PairedTest::default().seed(seed).compare(&a, &b).expect("the same queries");
        assert_eq!(with(1), with(1));
        assert_ne!(with(1).p_value, with(2).p_value);
        assert!((with(1).p_value - with(2).p_value).abs() < 0.02, "but not far from each other");
        assert!(!with(1).exact);
    }

    #[test]
    fn what_cannot_be_compared_is_refused_with_the_reason() {
        let (test, one) = (PairedTest::default(), scores(&[0.5]));
        let other_metric = Scores { metric: Metric::Map, ..one.clone() };
        for (result, said) in [
            (test.compare(&one, &other_metric), "nDCG@10, the other in MAP"),
            (test.compare(&one, &scores(&[0.5, 0.5])), "different queries"),
            (test.compare(&scores(&[]), &scores(&[])), "no query"),
            (test.resamples(0).compare(&one, &one), "resamples"),
            (test.confidence(1.0).compare(&one, &one), "confidence"),
            (test.confidence(f64::NAN).compare(&one, &one), "NaN"),
        ] {
            let error = result.expect_err("it cannot be compared");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains(said)), "{error}");
        }
    }

    proptest! {
        #[test]
        fn turning_the_two_round_turns_the_difference_round(
            pairs in prop::collection::vec((0u8..5, 0u8..5), 1..40), seed: u64,
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(a, b)| (f64::from(*a) / 4.0, f64::from(*b) / 4.0)).unzip();
            let test = PairedTest::default().resamples(200).seed(seed);
            let there = test.compare(&scores(&a), &scores(&b)).expect("the same queries");
            let back = test.compare(&scores(&b), &scores(&a)).expect("the same queries");
            prop_assert_eq!(there.p_value, back.p_value);
            prop_assert!(there.p_value > 0.0 && there.p_value <= 1.0);
            prop_assert_eq!((there.wins, there.ties, there.losses), (back.losses, back.ties, back.wins));
            prop_assert_eq!(there.wins + there.ties + there.losses, pairs.len());
            prop_assert!((there.difference + back.difference).abs() < 1e-12);
            prop_assert!((there.interval.0 + back.interval.1).abs() < 1e-9 && there.interval.0 <= there.interval.1);
        }

        #[test]
        fn the_sampled_test_agrees_with_the_exact_one(differences in prop::collection::vec((-20i8..20).prop_map(|d| f64::from(d) / 20.0), 1..12)) {
            // Forty queries without a difference change nothing; neither does asking the sample where all ways could be tried.
            let exact = PairedTest::default().p_value(&differences);
            let padded: Vec<f64> = differences.iter().copied().chain(iter::repeat_n(0.0, 40)).collect();
            prop_assert_eq!(PairedTest::default().p_value(&padded), exact);
            // Terms that vanish in any sum make it too many for the exact test.
            prop_assume!(differences.iter().any(|d| *d != 0.0));
            let many: Vec<f64> = differences.iter().copied().chain(iter::repeat_n(1e-300, 20)).collect();
            let (sampled, is_exact) = PairedTest::default().p_value(&many);
            prop_assert!(!is_exact);
            // Five standard errors of a share of 20,000, at most 0.018.
            let error = (exact.0 * (1.0 - exact.0) / 20_000.0).sqrt();
            prop_assert!((sampled - exact.0).abs() < 5.0 * error + 1e-4, "{} against {}", sampled, exact.0);
        }

        #[test]
        fn corrected_values_keep_the_order_and_are_no_smaller(p_values in prop::collection::vec(0.0f64..=1.0, 0..12)) {
            let corrected = holm(&p_values);
            for (p, c) in p_values.iter().zip(&corrected) {
                prop_assert!(c >= p && *c <= 1.0 && *c <= p * p_values.len() as f64 + 1e-12);
                prop_assert!(p_values.iter().zip(&corrected).all(|(other, oc)| other > p || oc <= c));
            }
        }
    }
}
