use std::time::Duration;

use futures::executor::block_on;
use proptest::prelude::*;
use sensetree_core::testing::{MockReranker, reranker_suite};
use sensetree_http::{ApiKey, Retry};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::method};

use super::*;

const DIALECTS: [Dialect; 4] = [Dialect::Cohere, Dialect::Jina, Dialect::Tei, Dialect::Vllm];

fn body(request: &Request) -> Value {
    request.body_json().expect("requests are JSON")
}

/// In the shape of the dialect.
fn answer(dialect: Dialect, scored: impl IntoIterator<Item = (i64, Value)>) -> Value {
    let (key, scored) = (if dialect == Dialect::Tei { "score" } else { "relevance_score" }, scored.into_iter());
    let items: Vec<Value> = scored.map(|(index, score)| json!({"index": index, key: score})).collect();
    if dialect == Dialect::Tei { json!(items) } else { json!({"id": "1", "results": items}) }
}

async fn served(answer: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    server
}

/// A server with the scores of the mock, best first, as the real ones answer. Refuses what TEI refuses.
async fn model(dialect: Dialect) -> MockServer {
    served(move |request| {
        let body = body(request);
        let texts: Vec<String> =
            serde_json::from_value(body["texts"].as_array().or(body["documents"].as_array()).cloned().into())
                .expect("passages are texts");
        let query = body["query"].as_str().expect("the query is a text");
        if dialect == Dialect::Tei && texts.len() > 32 || texts.iter().any(String::is_empty) || query.is_empty() {
            return ResponseTemplate::new(413).set_body_json(json!({"error": "batch size > maximum allowed batch size 32"}));
        }
        let passages: Vec<&str> = texts.iter().map(String::as_str).collect();
        let scores = block_on(MockReranker::word_overlap().score(query, &passages)).expect("the mock scores any text");
        let mut scored: Vec<_> = (0..).zip(scores).collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1));
        ResponseTemplate::new(200).set_body_json(answer(dialect, scored.into_iter().map(|(at, score)| (at, json!(score)))))
    })
    .await
}

fn reranker(server: &MockServer, dialect: Dialect) -> HttpReranker {
    let client = HttpClient::new(server.uri()).expect("a base URL").with_retry(Retry::default().with_first_delay(Duration::ZERO));
    HttpReranker::new(client, dialect)
}

async fn requests(server: &MockServer) -> Vec<Request> {
    server.received_requests().await.expect("requests are recorded")
}

#[tokio::test]
async fn it_passes_the_suite_in_every_dialect() {
    for dialect in DIALECTS {
        let server = model(dialect).await;
        let reranker = reranker(&server, dialect);
        assert_eq!(reranker.scale(), ScoreScale::Unit);
        reranker_suite(&reranker).await;
        reranker_suite(&reranker.with_batch(NonZero::<usize>::MIN)).await;
    }
}

#[tokio::test]
async fn each_request_is_that_of_its_api() {
    let documents = json!(["one", "."]);
    for (dialect, at, body_sent, name) in [
        (
            Dialect::Cohere,
            "/v2/rerank",
            json!({"model": "rerank-v3.5", "query": "q", "documents": documents, "top_n": 2}),
            "rerank-v3.5",
        ),
        (
            Dialect::Jina,
            "/v1/rerank",
            json!({"model": "jina-reranker-v2-base-multilingual", "query": "q", "documents": documents, "top_n": 2, "return_documents": false}),
            "jina-reranker-v2-base-multilingual",
        ),
        (Dialect::Tei, "/rerank", json!({"query": "q", "texts": documents, "raw_scores": false, "truncate": true}), "tei"),
        (Dialect::Vllm, "/v1/rerank", json!({"query": "q", "documents": documents, "top_n": 2}), "vllm"),
    ] {
        let server = model(dialect).await;
        let plain = reranker(&server, dialect);
        assert_eq!(plain.name(), name);
        plain.score("q", &["one", " "]).await.expect("the server answers");
        let versioned = HttpClient::new(format!("{}{}", server.uri(), at.trim_end_matches("/rerank"))).expect("a base URL");
        let keyed = HttpReranker::new(versioned.with_key(ApiKey::new("sk-one").expect("a key")), dialect).with_model("m");
        assert_eq!(keyed.name(), "m");
        keyed.score("q", &["one", " "]).await.expect("the server answers");

        let sent = requests(&server).await;
        assert_eq!((sent[0].url.path(), &body(&sent[0])), (at, &body_sent));
        assert_eq!((sent[1].url.path(), &sent[1].headers["authorization"]), (at, &"Bearer sk-one".parse().expect("a header")));
        let named = if dialect == Dialect::Tei { Value::Null } else { json!("m") };
        assert_eq!(body(&sent[1])["model"], named, "TEI knows no model names");
    }
}

#[tokio::test]
async fn a_long_list_goes_in_requests_of_the_size_that_the_api_takes() {
    let texts: Vec<String> = (0..100).map(|i| if i % 7 == 0 { format!("lamp {i}") } else { format!("other {i}") }).collect();
    let passages: Vec<&str> = texts.iter().map(String::as_str).collect();
    for (dialect, sizes) in [(Dialect::Tei, vec![32, 32, 32, 4]), (Dialect::Cohere, vec![100])] {
        let server = model(dialect).await;
        let scores = reranker(&server, dialect).score("lamp", &passages).await.expect("the server answers");
        let expected: Vec<f32> = (0..100).map(|i| if i % 7 == 0 { 1.0 } else { 0.0 }).collect();
        assert_eq!(scores, expected, "each score stands at its passage");
        let mut sent: Vec<usize> = requests(&server)
            .await
            .iter()
            .map(|r| body(r)["texts"].as_array().or(body(r)["documents"].as_array()).map_or(0, Vec::len))
            .collect();
        sent.sort_by(|a, b| b.cmp(a));
        assert_eq!(sent, sizes);
    }
}

#[tokio::test]
async fn answers_that_cannot_be_used_are_typed_errors() {
    for dialect in DIALECTS {
        let good = |index| (index, json!(0.5));
        for (name, scored) in [
            ("one missing", vec![good(0)]),
            ("one too many", vec![good(0), good(1), good(2)]),
            ("none", vec![]),
            ("repeated", vec![good(1), good(1)]),
            ("out of range", vec![good(0), good(2)]),
            ("negative", vec![good(0), good(-1)]),
            ("null", vec![good(0), (1, Value::Null)]),
            ("infinite as f32", vec![good(0), (1, json!(-1e300))]),
        ] {
            let answer = answer(dialect, scored);
            let server = served(move |_| ResponseTemplate::new(200).set_body_json(&answer)).await;
            let error = reranker(&server, dialect).with_model("m").score("q", &["a", "b"]).await.expect_err(name);
            assert!(matches!(&error, Error::Contract { part, .. } if part == "reranker m"), "{dialect:?}, {name}: {error:?}");
            assert_eq!(requests(&server).await.len(), 1, "{name}: it would be the same again");
        }
        let server = served(|_| ResponseTemplate::new(200).set_body_json(json!({"scores": [1, 2]}))).await;
        let error = reranker(&server, dialect).score("q", &["a", "b"]).await.expect_err("another API");
        assert!(matches!(error, Error::Remote { transient: false, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_down_may_pass_and_one_that_refuses_cannot() {
    for (status, transient, tries) in [(503, true, 3), (429, true, 3), (401, false, 1), (422, false, 1)] {
        let server = served(move |_| ResponseTemplate::new(status).set_body_json(json!({"error": "no luck"}))).await;
        let error = reranker(&server, Dialect::Tei).score("q", &["a"]).await.expect_err("refused");
        assert_eq!((error.is_transient(), requests(&server).await.len()), (transient, tries), "{error}");
        assert!(error.to_string().contains("cannot rerank at") && error.to_string().contains("no luck"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn scores_stand_in_the_order_of_the_passages_whatever_the_order_of_the_answer(
        scores in prop::collection::vec(0.0f32..1.0, 0..20),
        batch in 1usize..8,
        seed in any::<u64>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let given = runtime.block_on(async {
            let known = scores.clone();
            let server = served(move |request| {
                let texts: Vec<usize> = body(request)["texts"].as_array().expect("texts").iter()
                    .map(|text| text.as_str().and_then(|t| t.parse().ok()).expect("the passage's number")).collect();
                let mut scored: Vec<_> = (0..).zip(texts).map(|(at, text)| (at, json!(known[text]))).collect();
                scored.sort_by_key(|(at, _)| (*at as u64 + 1).wrapping_mul(seed | 1));
                ResponseTemplate::new(200).set_body_json(answer(Dialect::Tei, scored))
            }).await;
            let texts: Vec<String> = (0..scores.len()).map(|i| i.to_string()).collect();
            let passages: Vec<&str> = texts.iter().map(String::as_str).collect();
            let reranker = reranker(&server, Dialect::Tei).with_batch(NonZero::new(batch).expect("from 1"));
            reranker.score("q", &passages).await.expect("the server answers")
        });
        prop_assert_eq!(given, scores);
    }
}
