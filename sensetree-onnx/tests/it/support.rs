//! The generated models and what is expected of them.

use std::{fs, path::PathBuf};

use sensetree_onnx::{Model, ModelFolder, ModelOptions, Urgency};
use serde_json::Value;

pub(super) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/models").join(name)
}

/// The cases that the Python reference wrote for a generated model.
pub(super) fn cases(model: &str) -> Vec<Value> {
    let text = fs::read_to_string(fixture("expected.json")).expect("the fixtures are there");
    let expected: Value = serde_json::from_str(&text).expect("the fixture is JSON");
    expected["models"][model]["cases"].as_array().expect("cases").clone()
}

pub(super) fn numbers(value: &Value) -> Vec<f32> {
    value.as_array().expect("numbers").iter().map(|v| v.as_f64().expect("a number") as f32).collect()
}

/// The token states of a text, one row a token.
pub(super) async fn states(model: &Model, text: &str) -> Vec<Vec<f32>> {
    let text = text.to_owned();
    let states = model.run(Urgency::Query, move |graph, tokenizer| graph.run(&tokenizer.encode(&text)?)).await;
    let states = states.expect("the text is run");
    let rows = states.index_axis(ndarray::Axis(0), 0);
    rows.outer_iter().map(|row| row.iter().copied().collect()).collect()
}

pub(super) fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|v| v * v).sum::<f32>().sqrt();
    vector.iter().map(|v| v / length).collect()
}

pub(super) fn mean(rows: &[Vec<f32>]) -> Vec<f32> {
    let columns = 0..rows.first().map_or(0, Vec::len);
    columns.map(|c| rows.iter().map(|row| row[c]).sum::<f32>() / rows.len() as f32).collect()
}

pub(super) fn assert_close(ours: &[f32], theirs: &[f32], tolerance: f32, what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let worst = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst <= tolerance, "{what}: they differ by {worst}");
}

/// Runs a pair through a cross-encoder folder and compares with the reference.
#[cfg(feature = "hub")]
pub(super) async fn assert_scores_like_the_reference(folder: &ModelFolder, model: &str) {
    let loaded = Model::load_elsewhere(folder, &ModelOptions::default()).await.expect("the model loads");
    for case in cases(model) {
        let text = |field: &str| case[field].as_str().expect("a text").to_owned();
        let (query, passage) = (text("query"), text("passage"));
        let run = loaded.run(Urgency::Query, move |graph, tokenizer| graph.run(&tokenizer.encode_pair(&query, &passage)?));
        let logits = run.await.expect("the pair is scored");
        let expected = case["logit"].as_f64().expect("a logit") as f32;
        assert_close(logits.as_slice().expect("one row"), &[expected], 1e-4, model);
    }
}

pub(super) async fn load(folder: &ModelFolder, options: &ModelOptions) -> Model {
    Model::load_elsewhere(folder, options).await.expect("the model loads")
}
