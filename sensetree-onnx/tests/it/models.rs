//! Graphs and precisions from plain folders: no hub, no network.

use sensetree_onnx::{Model, ModelFolder, ModelOptions, Precision, Urgency};

use super::support::{assert_close, cases, fixture, load, mean, numbers, states, unit};

fn folder(name: &str) -> ModelFolder {
    ModelFolder::open(fixture(name)).expect("the fixtures are there")
}

async fn in_precision(precision: Precision) -> Model {
    load(&folder("precisions-embedder"), &ModelOptions::default().with_precision(precision)).await
}

#[tokio::test]
async fn every_precision_answers_like_the_reference() {
    // The half-precision and 8-bit kernels differ between processors.
    for (precision, tolerance) in [(Precision::Fp32, 1e-4), (Precision::Fp16, 5e-3), (Precision::Int8, 3e-2)] {
        let model = in_precision(precision).await;
        assert_eq!(model.precision(), precision);
        for case in cases("precisions-embedder") {
            let text = case["text"].as_str().expect("a text");
            let ours = unit(&mean(&states(&model, text).await));
            assert_close(&ours, &numbers(&case[precision.name()]), tolerance, &format!("{precision:?} {text:.40?}"));
        }
    }
}

#[tokio::test]
async fn a_graph_that_puts_out_16_bit_floats_answers_like_the_same_in_32() {
    let model = load(&folder("half-embedder"), &ModelOptions::default()).await;
    let (own, whole) = (cases("half-embedder"), cases("precisions-embedder"));
    assert_eq!(own.len(), whole.len());
    for (own, whole) in own.iter().zip(&whole) {
        let text = own["text"].as_str().expect("a text");
        assert_eq!(text, whole["text"], "the models are asked alike");
        let ours = unit(&mean(&states(&model, text).await));
        // The half-precision kernels differ between processors.
        assert_close(&ours, &numbers(&own["embed_passage"]["vector"]), 5e-3, text);
        assert_close(&ours, &numbers(&whole["fp32"]), 5e-3, text);
    }
}

#[tokio::test]
async fn tokens_are_counted_beyond_the_length_and_without_special_ones() {
    let model = load(&folder("bert-embedder"), &ModelOptions::default()).await;
    let tokenizer = model.tokenizer();
    let count = |text: &str| tokenizer.count(text).expect("it can be read");
    assert_eq!(count(""), 0);
    for text in ["coffee", "a note about the garden near the river", "tax invoice 42, paid in May."] {
        let tokens = tokenizer.encode(text).expect("it can be read");
        assert_eq!(count(text), tokens.special.iter().filter(|&&special| special == 0).count(), "{text}");
        assert_eq!(count(&format!("{text} ").repeat(1000)), count(text) * 1000, "it is cut at {}", tokenizer.max_tokens());
    }
}

#[test]
fn auto_takes_the_8_bit_graph_when_there_is_one() {
    let chosen = |name: &str, precision| folder(name).graph(precision).map(|(file, precision)| (file, precision.name()));
    let (file, name) = chosen("precisions-embedder", Precision::Auto).expect("there are three");
    assert!(file.ends_with("onnx/model_int8.onnx") && name == "int8", "{}", file.display());
    assert_eq!(chosen("bert-embedder", Precision::Auto).expect("there is one").1, "fp32");
    let error = chosen("bert-embedder", Precision::Int8).expect_err("there is none").to_string();
    assert!(error.contains("no int8 graph") && error.contains("model_int8.onnx"), "{error}");
}

#[tokio::test]
async fn a_quantised_graph_gives_the_same_states_whatever_is_in_the_queue() {
    let model = in_precision(Precision::Int8).await;
    let texts = ["coffee", "a very long and loud note about the garden near the river", "tax invoice 42", "dogs"];
    let mut alone = Vec::new();
    for text in texts {
        alone.push(states(&model, text).await);
    }
    for round in 0..3 {
        let mut queued: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        queued.rotate_left(round);
        let outputs = model.run_each(Urgency::Passage, queued, |text, graph, tokenizer| graph.run(&tokenizer.encode(&text)?));
        let mut outputs = outputs.await.expect("the texts are run");
        outputs.rotate_right(round);
        for ((output, alone), text) in outputs.iter().zip(&alone).zip(texts) {
            let bits = |values: &mut dyn Iterator<Item = f32>| values.map(f32::to_bits).collect::<Vec<_>>();
            assert_eq!(bits(&mut output.iter().copied()), bits(&mut alone.iter().flatten().copied()), "{text}");
        }
    }
}

#[tokio::test]
async fn positions_are_fed_when_the_graph_wants_them_and_weights_beside_it_are_found() {
    let folder = folder("positions-embedder");
    let model = load(&folder, &ModelOptions::default()).await;
    for case in cases("positions-embedder") {
        let text = format!("search_query: {}", case["text"].as_str().expect("a text"));
        let rows = states(&model, &text).await;
        let last = unit(rows.last().expect("there are tokens"));
        assert_close(&last, &numbers(&case["embed_query"]["vector"]), 1e-4, &text);
    }
    let (graph, _) = folder.graph(Precision::Fp32).expect("there is one");
    let files = folder.graph_files(&graph).expect("the graph is whole");
    assert_eq!(files, [graph.clone(), graph.with_file_name("model.onnx_data")]);
}

#[tokio::test]
async fn an_output_that_is_pooled_already_is_one_vector() {
    let model = load(&folder("e5-pooled"), &ModelOptions::default()).await;
    for case in cases("e5-pooled") {
        let text = format!("passage: {}", case["text"].as_str().expect("a text"));
        let asked = text.clone();
        let run = model.run(Urgency::Passage, move |graph, tokenizer| {
            let tokens = tokenizer.encode(&asked)?;
            Ok((graph.output().to_owned(), tokens.ids.clone(), graph.run(&tokens)?))
        });
        let (output, ids, vector) = run.await.expect("the text is run");
        assert_eq!((output.as_str(), vector.ndim()), ("sentence_embedding", 2));
        let expected = &case["embed_passage"];
        // Neither the truncation nor the padding to 24 that its tokenizer.json carries is in the way.
        assert_eq!(ids.iter().map(|&id| id as f32).collect::<Vec<_>>(), numbers(&expected["input_ids"]), "{text:.40?}");
        assert_close(vector.as_slice().expect("one row"), &numbers(&expected["vector"]), 1e-4, &text);
    }
}
