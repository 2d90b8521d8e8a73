use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    str::FromStr,
};

use sensetree_core::Error;
use serde::{Deserialize, Serialize};

use crate::{Judgements, Run, judgements::Grades};

/// A measure of how well a ranking agrees with the judgements: from 0, nothing right, to 1. The number is the cut-off k: only the
/// first k documents count.
///
/// A document that stands twice in a ranking counts once, at its first place; later ones move up. At k = 0 every value is 0.
///
/// Shown, read from text and serialised by its usual name: `nDCG@10`, `Recall@5`, `Precision@5`, `HitRate@1`, `MRR@10`, `MRR`, `MAP`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum Metric {
    /// Normalised discounted cumulative gain: `Σ grade / log2(rank + 1)` over the first k, divided by that of the best possible
    /// ranking. Grades below 0 gain nothing.
    ///
    /// From Järvelin, Kekäläinen: *Cumulated gain-based evaluation of IR techniques*, ACM TOIS 20(4), 2002; with the discount and
    /// the linear gain of `trec_eval`'s `ndcg_cut`.
    Ndcg(usize),
    /// The share of the relevant documents that are among the first k.
    Recall(usize),
    /// The share of k that relevant documents take, also when the ranking is shorter than k.
    Precision(usize),
    /// Whether a relevant document is among the first k; the mean is the share of the queries that found something.
    HitRate(usize),
    /// Reciprocal rank: 1 / the rank of the first relevant document, 0 when it is not among the first k; the mean over the queries
    /// is the mean reciprocal rank. [`Metric::MRR`] is that of the whole ranking.
    Mrr(usize),
    /// Average precision: the precision at the rank of each relevant document, 0 for those not found, averaged; the mean over the
    /// queries is the mean average precision. Of the whole ranking.
    Map,
}

/// The values of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Scores {
    /// Which metric.
    pub metric: Metric,
    /// Over all queries in `per_query`; 0 when there is none.
    pub mean: f64,
    /// Every query with a relevant document. A query that the run does not have counts 0; [`Run::coverage`] names them.
    pub per_query: BTreeMap<String, f64>,
}

impl Metric {
    /// The reciprocal rank in the whole ranking.
    pub const MRR: Self = Self::Mrr(usize::MAX);

    /// What is usually shown, the most telling first.
    pub const USUAL: [Self; 4] = [Self::Ndcg(10), Self::Recall(5), Self::Mrr(10), Self::Map];

    /// Measures a run. Queries without a relevant document cannot be measured and are left out.
    pub fn evaluate(self, run: &Run, judgements: &Judgements) -> Scores {
        let per_query: BTreeMap<String, f64> =
            judgements.measurable().map(|(query, grades)| (query.to_owned(), self.of(run.ranking(query), grades))).collect();
        let mean = per_query.values().sum::<f64>() / per_query.len().max(1) as f64;
        Scores { metric: self, mean, per_query }
    }

    /// The value of one ranking; the grades have a positive one.
    fn of(self, ranking: &[(String, f64)], grades: &Grades) -> f64 {
        let gains = gains(ranking, grades);
        let relevant = grades.values().filter(|grade| **grade > 0).count() as f64;
        let found = |k: usize| gains.iter().take(k).filter(|gain| **gain > 0.0).count() as f64;
        match self {
            Self::Ndcg(0) | Self::Precision(0) => 0.0,
            Self::Ndcg(k) => discounted(&gains, k) / discounted(&ideal(grades), k),
            Self::Recall(k) => found(k) / relevant,
            Self::Precision(k) => found(k) / k as f64,
            Self::HitRate(k) => found(k).min(1.0),
            Self::Mrr(k) => gains.iter().take(k).position(|gain| *gain > 0.0).map_or(0.0, |before| 1.0 / (before as f64 + 1.0)),
            Self::Map => {
                let ranks = (1..).zip(&gains).filter(|(_, gain)| **gain > 0.0).map(|(rank, _)| f64::from(rank));
                let precisions = (1..).zip(ranks).map(|(found, rank)| f64::from(found) / rank);
                precisions.sum::<f64>() / relevant
            }
        }
    }
}

/// What each document of a ranking gains, best first, each document once.
fn gains(ranking: &[(String, f64)], grades: &Grades) -> Vec<f64> {
    let mut seen = HashSet::new();
    let distinct = ranking.iter().filter(|(document, _)| seen.insert(document));
    distinct.map(|(document, _)| grades.get(document).map_or(0.0, |grade| gain(*grade))).collect()
}

/// The gains of the best possible ranking.
fn ideal(grades: &Grades) -> Vec<f64> {
    let mut gains: Vec<f64> = grades.values().map(|grade| gain(*grade)).collect();
    gains.sort_by(|a, b| b.total_cmp(a));
    gains
}

fn gain(grade: i32) -> f64 {
    f64::from(grade.max(0))
}

fn discounted(gains: &[f64], k: usize) -> f64 {
    gains.iter().take(k).zip(1..).map(|(gain, rank)| gain / f64::from(rank + 1).log2()).sum()
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::Ndcg(k) => format!("nDCG@{k}"),
            Self::Recall(k) => format!("Recall@{k}"),
            Self::Precision(k) => format!("Precision@{k}"),
            Self::HitRate(k) => format!("HitRate@{k}"),
            Self::MRR => "MRR".to_owned(),
            Self::Mrr(k) => format!("MRR@{k}"),
            Self::Map => "MAP".to_owned(),
        };
        // Through `pad`, so that a table can give it a width.
        f.pad(&name)
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.to_string()
    }
}

impl TryFrom<String> for Metric {
    type Error = Error;

    fn try_from(name: String) -> Result<Self, Error> {
        name.parse()
    }
}

impl FromStr for Metric {
    type Err = Error;

    /// Upper and lower case do not matter.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when no metric has this name.
    fn from_str(text: &str) -> Result<Self, Error> {
        let name = text.trim().to_lowercase();
        let (name, k) = match name.split_once('@') {
            Some((name, k)) => (name, k.parse().ok()),
            None if name == "mrr" => return Ok(Self::MRR),
            None if name == "map" => return Ok(Self::Map),
            None => (name.as_str(), None),
        };
        let with_cut: Option<fn(usize) -> Self> = match name {
            "ndcg" => Some(Self::Ndcg),
            "recall" => Some(Self::Recall),
            "precision" => Some(Self::Precision),
            "hitrate" => Some(Self::HitRate),
            "mrr" => Some(Self::Mrr),
            _ => None,
        };
        with_cut.zip(k).map(|(metric, k)| metric(k)).ok_or_else(|| {
            let known = "nDCG@10, Recall@5, Precision@5, HitRate@5, MRR@10, MRR, MAP";
            Error::invalid(format!("there is no metric {text:?}; there are, with any whole number after the @: {known}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Metric; 6] =
        [Metric::Ndcg(3), Metric::Recall(3), Metric::Precision(3), Metric::HitRate(3), Metric::Mrr(3), Metric::Map];

    fn judgements(grades: &[(&str, &str, i32)]) -> Judgements {
        let mut judgements = Judgements::default();
        for (query, document, grade) in grades {
            judgements.insert(*query, *document, *grade);
        }
        judgements
    }

    fn run(rankings: &[(&str, &[&str])]) -> Run {
        let mut run = Run::default();
        for (query, documents) in rankings {
            run.insert(*query, documents.iter().map(|document| ((*document).to_owned(), 0.0)).collect());
        }
        run
    }

    fn means(run: &Run, judgements: &Judgements) -> [f64; 6] {
        ALL.map(|metric| metric.evaluate(run, judgements).mean)
    }

    #[test]
    fn values_are_those_of_the_formulas() {
        let judgements = judgements(&[("q", "a", 3), ("q", "b", 1), ("q", "c", 0), ("q", "d", -2), ("q", "e", 1)]);
        let ndcg = (1.0 / 2f64.log2() + 3.0 / 4f64.log2()) / (3.0 / 2f64.log2() + 1.0 / 3f64.log2() + 1.0 / 4f64.log2());
        let expected = [ndcg, 2.0 / 3.0, 2.0 / 3.0, 1.0, 1.0, (1.0 + 2.0 / 3.0 + 3.0 / 5.0) / 3.0];
        assert_eq!(means(&run(&[("q", &["b", "d", "a", "x", "e"])]), &judgements), expected);
        assert_eq!(means(&run(&[("q", &["x", "c", "d"])]), &judgements), [0.0; 6]);
        assert_eq!(
            Metric::Precision(3).evaluate(&run(&[("q", &["a"])]), &judgements).mean,
            1.0 / 3.0,
            "k divides, not the length"
        );
    }

    #[test]
    fn the_mean_is_over_the_queries_that_can_be_measured() {
        let judgements = judgements(&[("found", "a", 1), ("missing", "a", 1), ("hopeless", "a", 0)]);
        let run = run(&[("found", &["a"]), ("hopeless", &["a"]), ("unjudged", &["a"])]);
        for metric in [Metric::Ndcg(10), Metric::Recall(1), Metric::HitRate(1), Metric::Mrr(1), Metric::Map] {
            let scores = metric.evaluate(&run, &judgements);
            assert_eq!(scores.per_query, BTreeMap::from([("found".to_owned(), 1.0), ("missing".to_owned(), 0.0)]), "{metric}");
            assert_eq!(scores.mean, 0.5, "{metric}");
        }
        assert_eq!(means(&run, &Judgements::default()), [0.0; 6], "without judgements");
    }

    #[test]
    fn a_repeat_in_a_ranking_counts_once() {
        let judgements = judgements(&[("q", "a", 2), ("q", "b", 1)]);
        let repeated = means(&run(&[("q", &["a", "a", "x", "a", "b"])]), &judgements);
        assert_eq!(repeated, means(&run(&[("q", &["a", "x", "b"])]), &judgements));
    }

    #[test]
    fn at_a_cut_off_of_0_every_value_is_0() {
        let (judgements, run) = (judgements(&[("q", "a", 1)]), run(&[("q", &["a"])]));
        for metric in [Metric::Ndcg(0), Metric::Recall(0), Metric::Precision(0), Metric::HitRate(0), Metric::Mrr(0)] {
            assert_eq!(metric.evaluate(&run, &judgements).mean, 0.0, "{metric}");
        }
    }

    #[test]
    fn names_are_the_usual_ones() {
        assert_eq!(ALL.map(|metric| metric.to_string()), ["nDCG@3", "Recall@3", "Precision@3", "HitRate@3", "MRR@3", "MAP"]);
        assert_eq!(format!("{:>8}|", Metric::Ndcg(10)), " nDCG@10|");
        for metric in ALL.into_iter().chain([Metric::MRR]) {
            assert_eq!(metric.to_string().parse::<Metric>().expect("what was shown"), metric);
            let json = serde_json::to_string(&metric).expect("a name");
            assert_eq!(serde_json::from_str::<Metric>(&json).expect("what was written"), metric);
        }
        assert_eq!("ndcg@10".parse::<Metric>().expect("in lower case"), Metric::Ndcg(10));
        for text in ["", "nDCG", "nDCG@", "nDCG@ten", "nDCG@-1", "MAP@5", "accuracy@1"] {
            let error = text.parse::<Metric>().expect_err("no metric");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains(&format!("{text:?}"))), "{error}");
        }
    }

    proptest! {
        #[test]
        fn values_lie_in_0_to_1_and_the_best_ranking_has_the_highest(
            grades in prop::collection::btree_map("[a-h]", -2i32..5, 1..8),
            ranking in prop::collection::vec("[a-k]", 0..15),
        ) {
            let mut judgements = Judgements::default();
            for (document, grade) in &grades {
                judgements.insert("q", document.clone(), *grade);
            }
            prop_assume!(judgements.queries().count() == 1);
            let mut best: Vec<(String, f64)> = grades.iter().map(|(document, grade)| (document.clone(), f64::from(*grade))).collect();
            best.sort_by(|a, b| b.1.total_cmp(&a.1));
            let (mut given, mut ideal) = (Run::default(), Run::default());
            given.insert("q", ranking.into_iter().map(|document| (document, 0.0)).collect());
            ideal.insert("q", best);

            for (metric, (value, highest)) in ALL.into_iter().zip(means(&given, &judgements).into_iter().zip(means(&ideal, &judgements))) {
                prop_assert!((0.0..=1.0).contains(&value) && value <= highest + 1e-12, "{metric}: {value}, at best {highest}");
            }
            prop_assert_eq!(Metric::Ndcg(3).evaluate(&ideal, &judgements).mean, 1.0);
            prop_assert_eq!(Metric::Map.evaluate(&ideal, &judgements).mean, 1.0);
        }
    }
}
