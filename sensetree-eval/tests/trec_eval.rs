//! The metrics give what `trec_eval` gives: a fixture made with it, see `fixtures/make_trec_eval.py`.

use std::collections::BTreeMap;

use sensetree_eval::{Judgements, Metric, Run};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    judgements: BTreeMap<String, BTreeMap<String, i32>>,
    run: BTreeMap<String, Vec<(String, f64)>>,
    expected: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct Expected {
    mean: f64,
    per_query: BTreeMap<String, f64>,
}

#[test]
fn every_metric_agrees_with_trec_eval() {
    let fixture: Fixture = serde_json::from_str(include_str!("fixtures/trec_eval.json")).expect("the fixture is whole");
    let (mut judgements, mut run) = (Judgements::default(), Run::default());
    for (query, grades) in fixture.judgements {
        for (document, grade) in grades {
            judgements.insert(&query, document, grade);
        }
    }
    for (query, ranking) in fixture.run {
        run.insert(query, ranking);
    }

    let with_cut: [fn(usize) -> Metric; 5] = [Metric::Ndcg, Metric::Recall, Metric::Precision, Metric::HitRate, Metric::Mrr];
    let mut metrics: Vec<Metric> = with_cut.iter().flat_map(|metric| [1, 3, 5, 10].map(metric)).collect();
    metrics.push(Metric::Map);
    assert_eq!(metrics.len(), fixture.expected.len(), "every expected metric is compared");
    for metric in metrics {
        let scores = metric.evaluate(&run, &judgements);
        let expected = &fixture.expected[&metric.to_string()];
        assert!((scores.mean - expected.mean).abs() < 1e-9, "{metric}: {} where trec_eval has {}", scores.mean, expected.mean);
        assert!(scores.per_query.keys().eq(expected.per_query.keys()), "{metric}: other queries");
        for (query, value) in &expected.per_query {
            let ours = scores.per_query[query];
            assert!((ours - value).abs() < 1e-9, "{metric} of {query}: {ours} where trec_eval has {value}");
        }
    }
}
