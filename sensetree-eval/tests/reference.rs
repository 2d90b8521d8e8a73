//! The numbers are those of the field's tools: `pytrec_eval`, `ir_measures`, `ranx`, `scipy` and `statsmodels`. The fixture is made
//! with them by `scripts/reference_metrics.py`.

use std::collections::BTreeMap;

use sensetree_eval::{Judgements, Metric, PairedTest, Run, holm};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    judgements: BTreeMap<String, BTreeMap<String, i32>>,
    run: BTreeMap<String, Vec<(String, f64)>>,
    /// Metric → tool → query → value.
    expected: BTreeMap<Metric, BTreeMap<String, BTreeMap<String, f64>>>,
    paired: Vec<Pair>,
    holm: Corrected,
}

#[derive(Deserialize)]
struct Pair {
    baseline: Vec<f64>,
    other: Vec<f64>,
    exact: bool,
    p: f64,
    interval: (f64, f64),
}

#[derive(Deserialize)]
struct Corrected {
    given: Vec<f64>,
    corrected: Vec<f64>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("fixtures/reference.json")).expect("the fixture is whole")
}

fn judgements_and_run(fixture: &Fixture) -> (Judgements, Run) {
    let (mut judgements, mut run) = (Judgements::default(), Run::default());
    for (query, grades) in &fixture.judgements {
        for (document, grade) in grades {
            judgements.insert(query, document, *grade);
        }
    }
    for (query, ranking) in &fixture.run {
        run.insert(query, ranking.clone());
    }
    (judgements, run)
}

#[test]
fn every_metric_agrees_with_three_other_tools() {
    let fixture = fixture();
    let (judgements, run) = judgements_and_run(&fixture);
    let with_cut: [fn(usize) -> Metric; 5] = [Metric::Ndcg, Metric::Recall, Metric::Precision, Metric::HitRate, Metric::Mrr];
    assert_eq!(fixture.expected.len(), with_cut.len() * 4 + 2, "each at four cut-offs, and MRR and MAP");
    for metric in with_cut.iter().flat_map(|metric| [1, 3, 5, 10].map(metric)).chain([Metric::MRR, Metric::Map]) {
        let scores = metric.evaluate(&run, &judgements);
        let tools = &fixture.expected[&metric];
        assert_eq!(tools.len(), 3);
        for (tool, expected) in tools {
            assert!(scores.per_query.keys().eq(expected.keys()), "{metric}: other queries than {tool}");
            for (query, value) in expected {
                let ours = scores.per_query[query];
                assert!((ours - value).abs() < 1e-9, "{metric} of {query}: {ours} where {tool} has {value}");
            }
            let mean = expected.values().sum::<f64>() / expected.len() as f64;
            assert!((scores.mean - mean).abs() < 1e-9, "{metric}: {} where {tool} has {mean}", scores.mean);
        }
    }
}

#[test]
fn the_fixture_has_what_tools_disagree_about() {
    let fixture = fixture();
    let ties = |ranking: &[(String, f64)]| ranking.windows(2).any(|pair| pair[0].1 == pair[1].1);
    assert!(fixture.run.values().filter(|ranking| ties(ranking)).count() > 10, "equal scores");
    assert!(fixture.run.values().any(|ranking| ranking.len() < 10), "rankings shorter than the cut-offs");
    for grade in [-1, 0, 1, 2, 3] {
        let has_grade = |query: &&String| fixture.judgements[*query].values().any(|given| *given == grade);
        let counts = |query: &&String| fixture.expected[&Metric::Map]["pytrec_eval"].contains_key(*query);
        assert!(fixture.judgements.keys().filter(has_grade).any(|query| counts(&query)), "grade {grade} in a query that counts");
    }
    for (query, grades) in &fixture.judgements {
        let Some(ranking) = fixture.run.get(query) else { continue };
        let found =
            |wanted: fn(i32) -> bool| ranking.iter().any(|(document, _)| grades.get(document).is_some_and(|g| wanted(*g)));
        if found(|grade| grade < 0) && found(|grade| grade == 0) && found(|grade| grade > 0) {
            return;
        }
    }
    panic!("no ranking has documents of a grade below, at and above 0");
}

/// The tools take each document once or refuse the run, so what they say of the run without repetitions is what counts.
#[test]
fn a_document_that_stands_twice_counts_once_at_its_first_place() {
    let fixture = fixture();
    let (judgements, run) = judgements_and_run(&fixture);
    let mut repeated = Run::default();
    for query in run.queries() {
        let ranking = run.ranking(query);
        // After each document, one of those before it once more.
        let again = ranking.iter().enumerate().flat_map(|(at, pair)| [pair.clone(), (ranking[at / 2].0.clone(), pair.1)]);
        repeated.insert(query, again.collect());
    }
    for (metric, tools) in &fixture.expected {
        let scores = metric.evaluate(&repeated, &judgements);
        for (query, value) in &tools["pytrec_eval"] {
            let ours = scores.per_query[query];
            assert!((ours - value).abs() < 1e-9, "{metric} of {query}: {ours} where pytrec_eval has {value}");
        }
    }
}

#[test]
fn queries_are_counted_as_trec_eval_counts_them() {
    let fixture = fixture();
    let (judgements, run) = judgements_and_run(&fixture);
    let coverage = run.coverage(&judgements);
    assert_eq!(coverage.missing, ["q5", "q8"]);
    assert_eq!(coverage.unjudged, ["q18", "q19"]);
    assert_eq!(coverage.without_relevant, ["q15", "q3"]);
    assert_eq!(coverage.measured, 16);
}

#[test]
fn a_run_that_went_through_a_file_has_the_same_values() {
    let (judgements, run) = judgements_and_run(&fixture());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (run_file, judgements_file) = (folder.path().join("run.trec"), folder.path().join("qrels"));
    run.write_trec(&run_file).expect("plain names");
    judgements.write_trec(&judgements_file).expect("plain names");
    let (read_run, read_judgements) = (Run::read_trec(&run_file), Judgements::read_trec(&judgements_file));
    let (read_run, read_judgements) = (read_run.expect("what was written"), read_judgements.expect("what was written"));
    assert_eq!(read_judgements, judgements);
    let order = |run: &Run, query: &str| run.ranking(query).iter().map(|(document, _)| document.clone()).collect::<Vec<_>>();
    for query in run.queries() {
        assert_eq!(order(&read_run, query), order(&run, query), "equal scores stay in the order given");
    }
    for metric in Metric::USUAL {
        assert_eq!(metric.evaluate(&read_run, &read_judgements), metric.evaluate(&run, &judgements));
    }
}

#[test]
fn paired_tests_agree_with_scipy() {
    let pairs = fixture().paired;
    assert!(pairs.iter().any(|pair| pair.exact) && pairs.iter().any(|pair| !pair.exact));
    for Pair { baseline, other, exact, p, interval } in pairs {
        let mut judgements = Judgements::default();
        (0..baseline.len()).for_each(|query| judgements.insert(format!("{query:03}"), "right", 1));
        let scores = |values: &[f64]| {
            let mut scores = Metric::Ndcg(10).evaluate(&Run::default(), &judgements);
            scores.per_query.values_mut().zip(values).for_each(|(score, value)| *score = *value);
            scores
        };
        let ours = PairedTest::default().compare(&scores(&baseline), &scores(&other)).expect("the same queries");
        assert_eq!(ours.exact, exact);
        // Exact values differ by rounding only; a sampled one by five standard errors of 20,000 draws.
        let allowed = if exact { 1e-12 } else { 5.0 * (p * (1.0 - p) / 20_000.0).sqrt() + 1e-4 };
        assert!((ours.p_value - p).abs() <= allowed, "p = {} where scipy has {p}", ours.p_value);
        // An end of the interval is one of few values when there are few queries; it varies by far less than the spread.
        let allowed = 0.04 * (interval.1 - interval.0) + 1e-3;
        for (ours, theirs) in [(ours.interval.0, interval.0), (ours.interval.1, interval.1)] {
            assert!((ours - theirs).abs() <= allowed, "{ours} where scipy has {theirs}");
        }
    }
}

#[test]
fn corrected_p_values_agree_with_statsmodels() {
    let Corrected { given, corrected } = fixture().holm;
    for (ours, theirs) in holm(&given).iter().zip(&corrected) {
        assert!((ours - theirs).abs() < 1e-12, "{ours} where statsmodels has {theirs}");
    }
}
