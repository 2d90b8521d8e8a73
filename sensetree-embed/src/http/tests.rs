use std::{sync::Arc, time::Duration};

use futures::executor::block_on;
use sensetree_core::testing::{MockEmbedder, embedder_suite};
use sensetree_http::{ApiKey, Retry};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::method};

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn number(n: usize) -> NonZero<usize> {
    NonZero::new(n).expect("not zero")
}

fn body(request: &Request) -> Value {
    request.body_json().expect("requests are JSON")
}

fn inputs(request: &Request) -> Vec<String> {
    serde_json::from_value(body(request)["input"].clone()).expect("the input is a list of texts")
}

async fn served(answer: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    server
}

/// A server with the vectors of the mock, given in reverse order.
async fn model() -> MockServer {
    served(|request| {
        let texts = inputs(request);
        // As OpenAI does.
        if texts.is_empty() || texts.iter().any(String::is_empty) {
            return ResponseTemplate::new(400).set_body_json(json!({"error": {"message": "'$.input' is invalid."}}));
        }
        ResponseTemplate::new(200).set_body_json(mock_vectors(&texts))
    })
    .await
}

fn mock_vectors(texts: &[String]) -> Value {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = block_on(MockEmbedder::new(64).embed_passages(&texts)).expect("the mock embeds any text");
    let items =
        vectors.iter().enumerate().map(|(index, v)| json!({"object": "embedding", "index": index, "embedding": v.as_slice()}));
    json!({"object": "list", "model": "m", "usage": {"total_tokens": 1}, "data": items.rev().collect::<Vec<_>>()})
}

fn builder(server: &MockServer) -> HttpEmbedderBuilder {
    let client = HttpClient::new(format!("{}/v1", server.uri())).expect("a base URL");
    HttpEmbedder::builder(client.with_retry(Retry::default().with_first_delay(Duration::ZERO)), "m")
}

async fn requests(server: &MockServer) -> Vec<Request> {
    server.received_requests().await.expect("requests are recorded")
}

#[tokio::test]
async fn it_passes_the_suite() {
    let server = model().await;
    let defaults = builder(&server).connect().await.expect("the server answers");
    embedder_suite(&defaults).await;
    let tight = builder(&server).dimension(number(64)).batch_texts(number(2)).batch_chars(number(40)).concurrency(number(1));
    embedder_suite(&tight.connect().await.expect("nothing is sent")).await;
}

#[tokio::test]
async fn the_request_is_that_of_openai() {
    let server = model().await;
    let client = HttpClient::new(format!("{}/v1", server.uri())).expect("a base URL");
    let client = client.with_key(ApiKey::new("sk-one").expect("a key"));
    let embedder = HttpEmbedder::builder(client, "m").shorten_to(number(64)).connect().await.expect("nothing is sent");
    embedder.embed_passages(&["one", "two"]).await.expect("the server answers");
    let request = requests(&server).await.remove(0);
    assert_eq!(request.url.path(), "/v1/embeddings");
    assert_eq!(request.headers["authorization"], "Bearer sk-one");
    assert_eq!(body(&request), json!({"model": "m", "input": ["one", "two"], "encoding_format": "float", "dimensions": 64}));
    embedder.embed_query("one").await.expect("the server answers");
    assert_eq!(body(&requests(&server).await[1])["input"], json!(["one"]));

    let plain = builder(&server).dimension(number(64)).connect().await.expect("nothing is sent");
    plain.embed_query("one").await.expect("the server answers");
    assert_eq!(body(&requests(&server).await[2]), json!({"model": "m", "input": ["one"], "encoding_format": "float"}));
}

#[tokio::test]
async fn the_dimension_is_asked_for_only_when_it_is_not_given() {
    let server = model().await;
    let asked = builder(&server).connect().await.expect("the server answers");
    assert_eq!((asked.fingerprint().dimension(), requests(&server).await.len()), (64, 1));
    let given = builder(&server).dimension(number(7)).connect().await.expect("nothing is sent");
    assert_eq!((given.fingerprint().dimension(), requests(&server).await.len()), (7, 1));
    let both = builder(&server).dimension(number(7)).shorten_to(number(8)).connect().await;
    assert!(matches!(both, Err(Error::InvalidInput(why)) if why.contains("7") && why.contains("8")));
}

#[tokio::test]
async fn each_prefix_is_applied_once_and_blank_and_long_texts_are_sent_as_servers_take_them() {
    let server = model().await;
    let e5 = builder(&server).dimension(number(64)).query_prefix("query: ").passage_prefix("passage: ").text_chars(number(5));
    let e5 = e5.connect().await.expect("nothing is sent");
    e5.embed_query("crème brûlée").await.expect("the server answers");
    e5.embed_passages(&["passage: x", "", "\u{200B} \n", "ok"]).await.expect("the server answers");
    let plain = builder(&server).dimension(number(64)).connect().await.expect("nothing is sent");
    plain.embed_passages(&["", " "]).await.expect("the server answers");
    let sent: Vec<_> = requests(&server).await.iter().map(inputs).collect();
    assert_eq!(sent[0], ["query: crème"]);
    assert_eq!(sent[1], ["passage: passa", "passage: .", "passage: .", "passage: ok"]);
    assert_eq!(sent[2], [".", "."]);
}

#[tokio::test]
async fn the_fingerprint_is_the_model_the_dimension_and_the_prefixes_but_not_the_address() {
    let (one, other) = (model().await, model().await);
    let of = async |builder: HttpEmbedderBuilder| builder.connect().await.expect("the server answers").fingerprint().clone();
    let plain = of(builder(&one)).await;
    assert_eq!(plain, of(builder(&other).batch_texts(number(3)).concurrency(number(9))).await);
    assert_ne!(plain, of(builder(&one).dimension(number(65))).await);
    assert_ne!(plain, of(builder(&one).query_prefix("query: ")).await);
    assert_ne!(plain, of(builder(&one).passage_prefix("passage: ")).await);
    let client = HttpClient::new(one.uri()).expect("a base URL");
    assert_ne!(plain, of(HttpEmbedder::builder(client, "other")).await);
}

#[tokio::test]
async fn answers_that_cannot_be_used_are_typed_errors() {
    let item = |index: Value, embedding: Value| json!({"index": index, "embedding": embedding});
    let two = |first: Value, second: Value| json!({"data": [first, second]});
    let good = |index: usize| item(json!(index), json!([1.0, 0.5]));
    for (name, answer, expected) in [
        ("one missing", json!({"data": [good(0)]}), "contract"),
        ("one too many", json!({"data": [good(0), good(1), good(2)]}), "contract"),
        ("repeated", two(good(1), good(1)), "contract"),
        ("out of range", two(good(0), good(2)), "contract"),
        ("too short", two(good(0), item(json!(1), json!([1.0]))), "embedding"),
        ("too long", two(good(0), item(json!(1), json!([1.0, 2.0, 3.0]))), "embedding"),
        ("empty", two(good(0), item(json!(1), json!([]))), "embedding"),
        ("not a number", two(good(0), item(json!(1), json!([1.0, null]))), "embedding"),
        ("infinite as f32", two(good(0), item(json!(1), json!([1.0, 1e300]))), "embedding"),
        ("all zero", two(good(0), item(json!(1), json!([0.0, 0.0]))), "embedding"),
        ("base64", two(good(0), item(json!(1), json!("AACAPwAAAD8="))), "remote"),
        ("negative index", two(good(0), item(json!(-1), json!([1.0, 0.5]))), "remote"),
        ("another API", json!({"embeddings": [[1.0, 0.5]]}), "remote"),
    ] {
        let server = served(move |_| ResponseTemplate::new(200).set_body_json(&answer)).await;
        let embedder = builder(&server).dimension(number(2)).connect().await.expect("nothing is sent");
        let error = embedder.embed_passages(&["a", "b"]).await.expect_err(name);
        let kind = match &error {
            Error::Contract { part, .. } if part == "embedder m" => "contract",
            Error::InvalidEmbedding(_) => "embedding",
            Error::Remote { transient: false, .. } => "remote",
            _ => "other",
        };
        assert_eq!(kind, expected, "{name}: {error:?}");
        assert_eq!(requests(&server).await.len(), 1, "{name}: it would be the same again");
    }
}

#[tokio::test]
async fn a_probe_of_a_server_that_is_wrong_or_down_fails_to_connect() {
    let server = served(|_| ResponseTemplate::new(404).set_body_json(json!({"detail": "model m not found"}))).await;
    let error = builder(&server).connect().await.expect_err("no such model");
    assert!(!error.is_transient() && error.to_string().contains("model m not found"), "{error}");
    let server = served(|_| ResponseTemplate::new(503)).await;
    assert!(builder(&server).connect().await.expect_err("down").is_transient());
    assert_eq!(requests(&server).await.len(), 3);
}

#[tokio::test]
async fn one_failing_batch_fails_the_call() {
    let server = served(|request| match inputs(request) {
        texts if texts.contains(&"bad".into()) => ResponseTemplate::new(413),
        texts => ResponseTemplate::new(200).set_body_json(mock_vectors(&texts)),
    })
    .await;
    let embedder = builder(&server).dimension(number(64)).batch_texts(number(1)).connect().await.expect("nothing is sent");
    let error = embedder.embed_passages(&["a", "b", "bad", "c"]).await.expect_err("one is refused");
    assert!(error.to_string().contains("smaller batches"), "{error}");
    assert_eq!(embedder.embed_passages(&["a", "b"]).await.expect("its turn was given back").len(), 2);
}

/// Answers passages, which begin with "p", after `delay`, and questions at once.
async fn slow_for_passages(delay: Duration) -> MockServer {
    served(move |request| {
        let texts = inputs(request);
        let delay = if texts[0].starts_with('p') { delay } else { Duration::ZERO };
        ResponseTemplate::new(200).set_body_json(mock_vectors(&texts)).set_delay(delay)
    })
    .await
}

async fn until_requests(server: &MockServer, count: usize) {
    while requests(server).await.len() < count {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_question_has_a_request_of_its_own_however_many_passages_wait() {
    let server = slow_for_passages(HOUR).await;
    let embedder = builder(&server).dimension(number(64)).batch_texts(number(1)).concurrency(number(3));
    let embedder = Arc::new(embedder.connect().await.expect("nothing is sent"));
    let passages: Vec<_> = (0..4)
        .map(|_| {
            let embedder = embedder.clone();
            tokio::spawn(async move { embedder.embed_passages(&["p1", "p2", "p3"]).await })
        })
        .collect();
    until_requests(&server, 2).await;
    for _ in 0..3 {
        tokio::time::timeout(Duration::from_secs(60), embedder.embed_query("q"))
            .await
            .expect("it does not wait")
            .expect("embedded");
    }
    let sent: Vec<_> = requests(&server).await.iter().map(|r| inputs(r)[0].chars().next()).collect();
    assert_eq!(sent, [Some('p'), Some('p'), Some('q'), Some('q'), Some('q')], "two passages at once, not more");
    passages.iter().for_each(|call| call.abort());
}

#[tokio::test]
async fn with_one_request_at_once_a_question_is_next_in_line() {
    let server = slow_for_passages(Duration::from_millis(500)).await;
    let embedder = builder(&server).dimension(number(64)).batch_texts(number(1)).concurrency(number(1));
    let embedder = Arc::new(embedder.connect().await.expect("nothing is sent"));
    let passages = {
        let embedder = embedder.clone();
        tokio::spawn(async move { embedder.embed_passages(&["p1", "p2", "p3"]).await })
    };
    until_requests(&server, 1).await;
    embedder.embed_query("q").await.expect("embedded");
    assert_eq!(passages.await.expect("no panic").expect("embedded").len(), 3);
    let sent: Vec<_> = requests(&server).await.iter().map(|r| inputs(r).remove(0)).collect();
    assert_eq!(sent, ["p1", "q", "p2", "p3"]);
}
