//! Gates: does a search reach a level? Each computes its numbers itself, from runs and judgements, and says what it saw.
//!
//! Which stages made an answer is read from the run ([`Run::insert_stages`](crate::Run::insert_stages)), query by query: a leg that
//! is switched on and fails on the way is seen.

use std::fmt;

use serde::Serialize;

use crate::{Coverage, Judgements, Metric, Run};

/// The least Recall@5 of RMM-1.
pub const RMM1_RECALL: f64 = 0.7;
/// The least nDCG@10 of RMM-2, as a multiple of the baseline's.
pub const RMM2_GAIN: f64 = 1.1;

/// The names of stages in reports of a pipeline.
const DENSE: &str = "dense";
const SPARSE: &str = "sparse";
const RERANK: &str = "rerank";

/// Means that should be equal can differ by rounding.
const ROUNDING: f64 = 1e-12;

/// What a gate found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// Its name: "RMM-1", "RMM-2".
    pub gate: &'static str,
    /// Whether every check passed. A program that acts as a gate exits non-zero when not.
    pub passed: bool,
    /// What was checked.
    pub checks: Vec<Check>,
    /// Which queries the numbers are of.
    pub coverage: Coverage,
}

/// One condition of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// What is asked for.
    pub asked: String,
    /// What was seen.
    pub seen: String,
    /// Whether that is enough.
    pub passed: bool,
}

/// RMM-1: hybrid search is on, and Recall@5 is at least 70 %.
///
/// Hybrid search is on when the stages "dense" and "sparse" made the answer to every query that is measured.
pub fn rmm1(run: &Run, judgements: &Judgements) -> Verdict {
    verdict("RMM-1", run, judgements, rmm1_checks("", run, judgements))
}

/// RMM-2: a reranker is on, and nDCG@10 is at least 10 % above that of the RMM-1 baseline.
///
/// A reranker is on when the stage "rerank" had part in the answer to every query that is measured. The baseline is the same search
/// without a reranker: it must pass RMM-1, and no reranker may have had part in it.
pub fn rmm2(run: &Run, baseline: &Run, judgements: &Judgements) -> Verdict {
    let mut checks = rmm1_checks("baseline: ", baseline, judgements);
    let reranked = ran(baseline, judgements, &[RERANK]);
    checks.push(Check {
        asked: "baseline: no reranker".to_owned(),
        seen: format!("rerank ran for {reranked} queries"),
        passed: reranked == 0,
    });
    checks.push(on("the reranker is on", run, judgements, &[RERANK]));
    let ndcg = |run| Metric::Ndcg(10).evaluate(run, judgements).mean;
    let (least, reached) = (RMM2_GAIN * ndcg(baseline), ndcg(run));
    checks.push(Check {
        asked: format!("nDCG@10 of at least {least:.4}, {RMM2_GAIN} times the baseline's {:.4}", ndcg(baseline)),
        seen: format!("{reached:.4}"),
        passed: reached > 0.0 && reached >= least - ROUNDING,
    });
    verdict("RMM-2", run, judgements, checks)
}

fn rmm1_checks(of: &str, run: &Run, judgements: &Judgements) -> Vec<Check> {
    let recall = Metric::Recall(5).evaluate(run, judgements).mean;
    let enough = Check {
        asked: format!("{of}Recall@5 of at least {RMM1_RECALL:.4}"),
        seen: format!("{recall:.4}"),
        passed: recall >= RMM1_RECALL - ROUNDING,
    };
    vec![on(&format!("{of}hybrid search is on"), run, judgements, &[DENSE, SPARSE]), enough]
}

/// Whether these stages ran for every measured query.
fn on(asked: &str, run: &Run, judgements: &Judgements, stages: &[&str]) -> Check {
    let (ran, all) = (ran(run, judgements, stages), judgements.queries().count());
    let seen = format!("{} ran for {ran} of {all} queries", stages.join(" and "));
    Check { asked: asked.to_owned(), seen, passed: all > 0 && ran == all }
}

fn ran(run: &Run, judgements: &Judgements, stages: &[&str]) -> usize {
    let all_ran = |query: &&str| stages.iter().all(|stage| run.stages(query).any(|ran| ran == *stage));
    judgements.queries().filter(all_ran).count()
}

fn verdict(gate: &'static str, run: &Run, judgements: &Judgements, checks: Vec<Check>) -> Verdict {
    Verdict { gate, passed: checks.iter().all(|check| check.passed), checks, coverage: run.coverage(judgements) }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.gate, if self.passed { "reached" } else { "not reached" })?;
        for Check { asked, seen, passed } in &self.checks {
            writeln!(f, "  {} {asked}: {seen}", if *passed { "ok " } else { "NOT" })?;
        }
        write!(f, "  {}", self.coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten queries with one relevant document each.
    fn judgements() -> Judgements {
        let mut judgements = Judgements::default();
        for query in 0..10 {
            judgements.insert(query.to_string(), "right", 1);
        }
        judgements
    }

    /// The right document at this rank in each query, or not at all.
    fn run(ranks: [Option<usize>; 10], stages: &[&str]) -> Run {
        let mut run = Run::default();
        for (query, rank) in ranks.into_iter().enumerate() {
            let document = |at| if Some(at) == rank { "right".to_owned() } else { format!("wrong{at}") };
            run.insert(query.to_string(), (1..=10).map(|at| (document(at), 1.0 / at as f64)).collect());
            run.insert_stages(query.to_string(), stages.iter().copied());
        }
        run
    }

    fn with(right: usize, rank: usize) -> [Option<usize>; 10] {
        std::array::from_fn(|query| (query < right).then_some(rank))
    }

    const HYBRID: [&str; 3] = [DENSE, SPARSE, "fusion"];
    const RERANKED: [&str; 4] = [DENSE, SPARSE, "fusion", RERANK];

    #[test]
    fn seventy_per_cent_is_enough_and_less_is_not() {
        assert!(rmm1(&run(with(7, 5), &HYBRID), &judgements()).passed);
        let verdict = rmm1(&run(with(6, 1), &HYBRID), &judgements());
        assert!(!verdict.passed);
        assert_eq!(
            verdict.to_string(),
            "RMM-1 not reached\n  ok  hybrid search is on: dense and sparse ran for 10 of 10 queries\n  \
             NOT Recall@5 of at least 0.7000: 0.6000\n  10 queries measured"
        );
        assert!(!rmm1(&run(with(10, 6), &HYBRID), &judgements()).passed, "rank 6 is not among the first 5");
    }

    #[test]
    fn a_leg_that_failed_once_closes_the_gate() {
        let mut once = run(with(10, 1), &HYBRID);
        once.insert_stages("3", [DENSE]);
        let verdict = rmm1(&once, &judgements());
        assert!(!verdict.passed && verdict.to_string().contains("ran for 9 of 10 queries"), "{verdict}");
        assert!(!rmm1(&run(with(10, 1), &[DENSE]), &judgements()).passed);
    }

    #[test]
    fn a_missing_query_counts_and_is_told() {
        let mut judgements = judgements();
        judgements.insert("missing", "right", 1);
        let verdict = rmm1(&run(with(10, 1), &HYBRID), &judgements);
        assert!(!verdict.passed && verdict.to_string().contains("11 queries measured; 1 missing"), "{verdict}");
        let verdict = rmm1(&run(with(10, 1), &HYBRID), &Judgements::default());
        assert!(!verdict.passed, "what cannot be measured is not reached: {verdict}");
    }

    #[test]
    fn ten_per_cent_above_the_baseline_is_enough_and_less_is_not() {
        // nDCG@10 with one relevant document at rank 1 in n of 10 queries is n / 10: 0.77 is 1.1 times 0.7.
        let mut judgements = Judgements::default();
        let (mut baseline, mut better) = (Run::default(), Run::default());
        for query in 0..100 {
            judgements.insert(query.to_string(), "right", 1);
            let answer = |right: bool| vec![(if right { "right" } else { "wrong" }.to_owned(), 1.0)];
            for (run, right, stages) in [(&mut baseline, query < 70, &HYBRID[..]), (&mut better, query < 77, &RERANKED)] {
                run.insert(query.to_string(), answer(right));
                run.insert_stages(query.to_string(), stages.iter().copied());
            }
        }
        let verdict = rmm2(&better, &baseline, &judgements);
        assert!(verdict.passed, "{verdict}");
        assert!(verdict.to_string().contains("nDCG@10 of at least 0.7700, 1.1 times the baseline's 0.7000: 0.7700"), "{verdict}");
        better.insert("76", vec![("wrong".to_owned(), 1.0)]);
        assert!(!rmm2(&better, &baseline, &judgements).passed);
    }

    #[test]
    fn a_reranker_that_is_off_or_a_baseline_that_is_none_closes_the_gate() {
        let (better, baseline) = (with(10, 1), with(10, 5));
        let passes = |stages: &[&str], ranks, baseline_stages: &[&str]| {
            rmm2(&run(better, stages), &run(ranks, baseline_stages), &judgements()).passed
        };
        assert!(passes(&RERANKED, baseline, &HYBRID));
        assert!(!passes(&HYBRID, baseline, &HYBRID), "no reranker");
        assert!(!passes(&RERANKED, baseline, &RERANKED), "the baseline is reranked");
        assert!(!passes(&RERANKED, baseline, &[DENSE]), "the baseline is not hybrid");
        assert!(!passes(&RERANKED, with(6, 1), &HYBRID), "the baseline is below RMM-1");
    }
}
