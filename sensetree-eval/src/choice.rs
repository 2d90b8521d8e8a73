use sensetree_core::{Error, Result};
use serde::Serialize;

use crate::{Metric, Scores};

/// Which of several settings is the best one, and what choosing it is worth.
///
/// The best of many settings looks better on the questions it was chosen on than it is: some of its lead is luck. So the choice
/// is made again on every other question, in the order of their identifiers, and measured on those between, and the other way
/// round (twofold cross-validation); [`held_out`](Choice::held_out) is the mean of what was measured. It is the figure to expect
/// from the same choice on new questions, or a little less, since each half has fewer questions to choose by.
///
/// ```
/// use sensetree_eval::{Choice, Judgements, Metric, Run};
///
/// let mut judgements = Judgements::default();
/// let (mut dense, mut hybrid) = (Run::default(), Run::default());
/// for query in ["boiler", "lamp", "roof", "soup"] {
///     judgements.insert(query, "right.md", 1);
///     dense.insert(query, vec![("wrong.md".to_owned(), 0.9), ("right.md".to_owned(), 0.8)]);
///     hybrid.insert(query, vec![("right.md".to_owned(), 0.9)]);
/// }
/// let scores = [&dense, &hybrid].map(|run| Metric::Ndcg(10).evaluate(run, &judgements));
/// let choice = Choice::new(&[&scores])?;
/// assert_eq!((choice.best, choice.mean, choice.held_out), (1, 1.0, Some(1.0)));
/// # Ok::<(), sensetree_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Choice {
    /// What was compared.
    pub metric: Metric,
    /// The place of the best setting in the lists given; the first of equals.
    pub best: usize,
    /// Its mean on all questions, those it was chosen on. Each collection counts the same.
    pub mean: f64,
    /// The mean of what was chosen on one half of the questions and measured on the other. None when a collection has one question only.
    pub held_out: Option<f64>,
}

impl Choice {
    /// Chooses one setting for all collections: of each collection the scores of every setting, in one order.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when there is no collection, no setting or no question, the collections differ in their number of
    /// settings, or the scores of one are not of one metric and the same questions.
    pub fn new(collections: &[&[Scores]]) -> Result<Self> {
        let metric = check(collections)?;
        let (best, mean) = best_on(collections, Part::All);
        let smallest = collections.iter().map(|scores| scores[0].per_query.len()).min();
        let held_out = (smallest > Some(1)).then(|| {
            let halves = [(Part::Even, Part::Odd), (Part::Odd, Part::Even)];
            let chosen = halves.map(|(choose, measure)| (best_on(collections, choose).0, measure));
            let of = |scores: &&[Scores]| {
                let sum: f64 = chosen.iter().flat_map(|(setting, part)| part.of(&scores[*setting])).sum();
                sum / scores[0].per_query.len() as f64
            };
            collections.iter().map(of).sum::<f64>() / collections.len() as f64
        });
        Ok(Self { metric, best, mean, held_out })
    }
}

/// Questions by their place in the order of their identifiers.
#[derive(Debug, Clone, Copy)]
enum Part {
    All,
    Even,
    Odd,
}

impl Part {
    fn of(self, scores: &Scores) -> impl Iterator<Item = f64> {
        let (skip, step) = match self {
            Self::All => (0, 1),
            Self::Even => (0, 2),
            Self::Odd => (1, 2),
        };
        scores.per_query.values().copied().skip(skip).step_by(step)
    }
}

/// The setting with the greatest mean on this part, and the mean.
fn best_on(collections: &[&[Scores]], part: Part) -> (usize, f64) {
    let mean = |setting: usize| {
        let of = |scores: &&[Scores]| {
            let values: Vec<f64> = part.of(&scores[setting]).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        collections.iter().map(of).sum::<f64>() / collections.len() as f64
    };
    // The first of equals: what stands earlier is the simpler one.
    (0..collections[0].len())
        .map(|setting| (setting, mean(setting)))
        .fold((0, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best })
}

fn check(collections: &[&[Scores]]) -> Result<Metric> {
    let refused = |what: &str| Err(Error::invalid(format!("cannot choose a setting: {what}")));
    let Some(first) = collections.first().and_then(|scores| scores.first()) else {
        return refused("no setting was measured");
    };
    if collections.iter().any(|scores| scores.len() != collections[0].len()) {
        return refused("the collections were measured with different numbers of settings");
    }
    for scores in collections {
        if scores.iter().any(|of| of.metric != first.metric) {
            return refused("the settings were measured in different metrics");
        }
        if scores.iter().any(|of| !of.per_query.keys().eq(scores[0].per_query.keys())) {
            return refused("the settings of a collection were measured on different queries; use the same judgements for all");
        }
        if scores[0].per_query.is_empty() {
            return refused("no query has a relevant document");
        }
    }
    Ok(first.metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(values: &[f64]) -> Scores {
        let per_query = values.iter().enumerate().map(|(query, value)| (format!("{query:02}"), *value)).collect();
        Scores { metric: Metric::Ndcg(10), mean: values.iter().sum::<f64>() / values.len() as f64, per_query }
    }

    #[test]
    fn the_best_is_that_of_the_greatest_mean_and_the_first_of_equals() {
        let settings = [scores(&[0.2, 0.4]), scores(&[0.6, 0.4]), scores(&[0.4, 0.6])];
        let choice = Choice::new(&[&settings]).expect("one collection");
        assert_eq!((choice.best, choice.mean), (1, 0.5));
    }

    #[test]
    fn what_was_chosen_on_one_half_is_measured_on_the_other() {
        // The second setting is best on even questions, the third on odd ones, by luck: each is bad where it was not chosen.
        let settings = [scores(&[0.5; 4]), scores(&[1.0, 0.1, 1.0, 0.1]), scores(&[0.2, 0.9, 0.2, 0.9])];
        let choice = Choice::new(&[&settings]).expect("one collection");
        assert!((choice.mean - 0.55).abs() < 1e-12);
        let held_out = choice.held_out.expect("four questions have two halves");
        assert!((held_out - (0.1 + 0.1 + 0.2 + 0.2) / 4.0).abs() < 1e-12, "{held_out}");
    }

    #[test]
    fn a_setting_that_is_best_everywhere_loses_nothing() {
        let settings = [scores(&[0.5, 0.4, 0.3]), scores(&[0.7, 0.6, 0.5])];
        let choice = Choice::new(&[&settings]).expect("one collection");
        assert!((choice.held_out.expect("two halves") - choice.mean).abs() < 1e-12);
        let single = [scores(&[0.5])];
        assert_eq!(
            Choice::new(&[&settings[..1], &single]).expect("two collections").held_out,
            None,
            "one question has no halves"
        );
    }

    #[test]
    fn each_collection_counts_the_same() {
        let many = [scores(&[0.5; 10]), scores(&[0.6; 10])];
        let few = [scores(&[0.9; 2]), scores(&[0.5; 2])];
        let choice = Choice::new(&[&many, &few]).expect("two collections");
        assert_eq!((choice.best, choice.mean), (0, 0.7));
    }

    #[test]
    fn what_cannot_be_compared_is_refused_with_the_reason() {
        let (two, three) = (scores(&[0.5, 0.5]), scores(&[0.5; 3]));
        let mut recall = two.clone();
        recall.metric = Metric::Recall(5);
        let nothing = Metric::Ndcg(10).evaluate(&Default::default(), &Default::default());
        for (collections, said) in [
            (vec![], "no setting"),
            (vec![vec![]], "no setting"),
            (vec![vec![two.clone()], vec![two.clone(), two.clone()]], "different numbers"),
            (vec![vec![two.clone(), three]], "different queries"),
            (vec![vec![two, recall]], "different metrics"),
            (vec![vec![nothing]], "no query"),
        ] {
            let collections: Vec<&[Scores]> = collections.iter().map(Vec::as_slice).collect();
            let error = Choice::new(&collections).expect_err("there is nothing to choose by");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains(said)), "{error}");
        }
    }
}
