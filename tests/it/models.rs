//! Real ONNX Runtime, real graphs: small generated ones for every shape, and all-MiniLM-L6-v2.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use sensetree::{
    ChunkUnit, DocumentKey, Embedder, Error, Reranker, Store,
    embed::{ModelFolder, ModelOptions, OnnxEmbedder, Precision},
    index::Indexer,
    memory::MemoryStore,
    rerank::{CrossEncoder, LateInteraction},
    testing::{embedder_suite, reranker_suite},
};
use serde_json::Value;

use super::support::{fixture_model, minilm, minilm_folder, run};

fn expected(file: &str) -> Value {
    let path = fixture_model(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).expect("the fixture is JSON")
}

fn vector(value: &Value) -> Vec<f32> {
    value.as_array().expect("a vector").iter().map(|v| v.as_f64().expect("a number") as f32).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn generated_embedders_agree_with_the_reference() {
    run(async {
        let expected = expected("expected.json");
        for name in ["bert-embedder", "xlmr-embedder", "positions-embedder", "e5-pooled"] {
            let embedder = OnnxEmbedder::open(fixture_model(name)).await.expect("the model loads");
            for case in expected["models"][name]["cases"].as_array().expect("cases") {
                let text = case["text"].as_str().expect("a text");
                let query = embedder.embed_query(text).await.expect("the query is embedded");
                let passage = embedder.embed_passages(&[text]).await.expect("the passage is embedded").remove(0);
                for (what, ours, theirs) in [("query", query, "embed_query"), ("passage", passage, "embed_passage")] {
                    let theirs = vector(&case[theirs]["vector"]);
                    for (a, b) in ours.as_slice().iter().zip(&theirs) {
                        assert!((a - b).abs() < 1e-4, "{name}, {what} {text:?}: {a} instead of {b}");
                    }
                    assert_eq!(ours.dimension(), theirs.len());
                }
            }
        }
    });
}

#[test]
fn generated_cross_encoders_agree_with_the_reference() {
    run(async {
        let expected = expected("expected.json");
        for name in ["bert-cross-encoder", "xlmr-cross-encoder", "overlap-reranker"] {
            let reranker = CrossEncoder::open(fixture_model(name)).await.expect("the model loads");
            for case in expected["models"][name]["cases"].as_array().expect("cases") {
                let text = |field: &str| case[field].as_str().expect("a text").to_owned();
                let score = reranker.score(&text("query"), &[&text("passage")]).await.expect("the pair is scored")[0];
                let logit = case["logit"].as_f64().expect("a logit") as f32;
                assert!(
                    (score - logit).abs() < 1e-4,
                    "{name}, {:?} and {:?}: {score} instead of {logit}",
                    text("query"),
                    text("passage")
                );
            }
        }
    });
}

#[test]
fn minilm_agrees_with_the_reference_in_both_precisions() {
    run(async {
        let expected = expected("minilm-expected.json");
        let folder = ModelFolder::open(minilm_folder()).expect("the model is there");
        // The 8-bit kernels differ between processors, so their vectors agree less closely.
        for (precision, field, least) in [(Precision::Fp32, "fp32", 0.9999), (Precision::Int8, "int8", 0.95)] {
            let options = ModelOptions::default().with_precision(precision);
            let embedder = OnnxEmbedder::load(&folder, &options).await.expect("the model loads");
            for case in expected["cases"].as_array().expect("cases") {
                let text = case["text"].as_str().expect("a text");
                let ours = embedder.embed_query(text).await.expect("the text is embedded");
                let agreement = cosine(ours.as_slice(), &vector(&case[field]));
                assert!(agreement >= least, "{field}, {text:.40?}: cosine {agreement}");
            }
        }
    });
}

#[test]
fn chunks_are_measured_in_the_tokens_of_the_real_model() {
    run(async {
        let embedder = minilm().await;
        let counter = embedder.token_counter().await.expect("it is loaded").expect("it counts");
        let expected = expected("minilm-expected.json");
        for case in expected["cases"].as_array().expect("cases") {
            // The special ones at both ends are not counted, and what is cut off is.
            let ids = case["input_ids"].as_array().expect("ids").len();
            let count = counter.count(case["text"].as_str().expect("a text"));
            assert!(count + 2 == ids || (count + 2 > ids && ids == 256), "{count} of {ids}: {:.40}", case["text"]);
        }

        let folder = tempfile::tempdir().expect("a folder");
        let words = "The Heizungsanlage in Straße 12 was serviced; 保証書 no. SR-2291/b attached 🚲. ";
        let text: String = (0..60).map(|part| format!("## Part {part} of it\n\n{}\n\n", words.repeat(1 + part % 9))).collect();
        let path = folder.path().join("notes.md");
        fs::write(&path, &text).expect("a file");
        let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
        let indexer = Indexer::builder(embedder.clone(), store.clone()).chunk_unit(ChunkUnit::Tokens).chunk_size(60).overlap(10);
        indexer.build().expect("good settings").sync(&[folder.path()], |_| {}).await.expect("a sync");
        let chunks = store.chunks(&DocumentKey::from_path(&path)).await.expect("a list");
        assert!(chunks.len() > 20, "{}", chunks.len());
        for chunk in &chunks[1..] {
            let (text, context) = (counter.count(&chunk.text), counter.count(&chunk.context));
            assert!(text <= 60 && context <= 15, "{text} and {context}: {:?}", chunk.text);
        }
    });
}

#[test]
fn every_precision_of_a_model_agrees_with_the_reference_whatever_else_is_in_the_call() {
    run(async {
        let expected = expected("expected.json");
        let folder = ModelFolder::open(fixture_model("precisions-embedder")).expect("the model is there");
        for (precision, field, least) in
            [(Precision::Fp32, "fp32", 0.9999), (Precision::Fp16, "fp16", 0.9999), (Precision::Int8, "int8", 0.99)]
        {
            let options = ModelOptions::default().with_precision(precision);
            let embedder = OnnxEmbedder::load(&folder, &options).await.expect("the model loads");
            let cases = expected["models"]["precisions-embedder"]["cases"].as_array().expect("cases");
            let texts: Vec<&str> = cases.iter().map(|case| case["text"].as_str().expect("a text")).collect();
            let together = embedder.embed_passages(&texts).await.expect("the texts are embedded");
            for (case, ours) in cases.iter().zip(&together) {
                let agreement = cosine(ours.as_slice(), &vector(&case[field]));
                assert!(agreement >= least, "{field}, {:?}: cosine {agreement}", case["text"]);
                let alone = embedder.embed_passages(&[case["text"].as_str().expect("a text")]).await.expect("it is embedded");
                assert_eq!(alone[0].as_slice(), ours.as_slice(), "{field}: a vector does not depend on the batch");
            }
        }
    });
}

#[test]
fn models_keep_their_contracts() {
    run(async {
        for name in ["bert-embedder", "xlmr-embedder", "positions-embedder", "e5-pooled"] {
            embedder_suite(&OnnxEmbedder::open(fixture_model(name)).await.expect("the model loads")).await;
        }
        // The int8 graph: a vector must not depend on what else is in the call.
        let embedder = minilm().await;
        embedder_suite(&*embedder).await;
        for name in ["bert-cross-encoder", "xlmr-cross-encoder", "overlap-reranker"] {
            reranker_suite(&CrossEncoder::open(fixture_model(name)).await.expect("the model loads")).await;
        }
        reranker_suite(&LateInteraction::new(embedder.model().clone())).await;
    });
}

#[test]
fn the_overlap_graph_prefers_the_passage_with_the_words() {
    run(async {
        let reranker = CrossEncoder::open(fixture_model("overlap-reranker")).await.expect("the model loads");
        let scores = reranker.score("garden water", &["a story about the city", "water for the garden"]).await.expect("scores");
        assert!(scores[1] > scores[0], "{scores:?}");
    });
}

#[test]
fn prefixes_come_from_the_model_and_go_before_the_text_once() {
    run(async {
        let embedder = OnnxEmbedder::open(fixture_model("xlmr-embedder")).await.expect("the model loads");
        assert_eq!((&*embedder.recipe().query_prefix, &*embedder.recipe().passage_prefix), ("query: ", "passage: "));
        let query = embedder.embed_query("lamp").await.expect("the query is embedded");
        let passage = embedder.embed_passages(&["lamp"]).await.expect("the passage is embedded").remove(0);
        assert!(query.cosine(&passage) < 0.9999, "the prefixes make a difference");
    });
}

#[test]
fn late_interaction_prefers_the_passage_that_answers() {
    run(async {
        let reranker = LateInteraction::new(minilm().await.model().clone());
        let passages = ["The recipe needs two eggs.", "The boiler was serviced on 12 May by the plumber."];
        let scores = reranker.score("when was the heating maintained?", &passages).await.expect("scores");
        assert!(scores[1] > scores[0], "{scores:?}");
    });
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder is made");
    for entry in fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file is copied");
        }
    }
}

#[test]
fn a_missing_or_damaged_model_is_named() {
    run(async {
        let missing = OnnxEmbedder::open("no/such/model").await.expect_err("there is none");
        assert!(
            matches!(&missing, Error::ModelUnavailable { model, hint } if model == "model" && hint.contains("no/such/model")),
            "{missing}"
        );

        let damaged = |damage: fn(&Path)| async move {
            let folder = tempfile::tempdir().expect("a temporary folder");
            copy_folder(&fixture_model("bert-embedder"), folder.path());
            damage(folder.path());
            OnnxEmbedder::open(folder.path()).await.expect_err("the model is damaged").chain()
        };
        let cut = damaged(|folder| {
            let graph = folder.join("onnx/model.onnx");
            let bytes = fs::read(&graph).expect("the graph is there");
            fs::write(graph, &bytes[..bytes.len() / 2]).expect("the graph is cut");
        });
        assert!(cut.await.contains("model.onnx cannot be read; it may be cut short"));
        let text = damaged(|folder| fs::write(folder.join("tokenizer.json"), "{").expect("the file is written"));
        assert!(text.await.contains("tokenizer.json is damaged"));
        let pooling = damaged(|folder| fs::write(folder.join("1_Pooling/config.json"), "{").expect("the file is written"));
        assert!(pooling.await.contains("1_Pooling/config.json is damaged"));
        let graph = damaged(|folder| fs::remove_file(folder.join("onnx/model.onnx")).expect("the graph is removed"));
        assert!(graph.await.contains("has no auto graph"));
    });
}

#[test]
fn inference_never_blocks_the_executor() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(async {
        let embedder = minilm().await;
        let texts: Vec<String> = (0..100).map(|i| format!("chunk {i} {}", "with some more words ".repeat(10))).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut ticks = 0;
        let started = Instant::now();
        let mut ticker = tokio::time::interval(Duration::from_millis(10));
        ticker.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut embedding = std::pin::pin!(embedder.embed_passages(&texts));
        let vectors = loop {
            tokio::select! {
                biased;
                _ = ticker.tick() => ticks += 1,
                vectors = &mut embedding => break vectors.expect("the texts are embedded"),
            }
        };
        assert_eq!(vectors.len(), 100);
        let expected = started.elapsed().as_millis() / 10;
        assert!(ticks >= expected / 3, "the timer ran {ticks} times in {expected} intervals");
    });
}
