use std::{process::Command, sync::atomic::Ordering, time::Duration};

use sensetree_core::Error;
use sensetree_http::{ApiKey, HttpClient, Retry};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{any, body_json, header, method, path},
};

use super::support::{client, cutting_server, requests, server};

const HOUR: Duration = Duration::from_secs(3600);

async fn post(client: &HttpClient) -> Result<Value, Error> {
    client.post("ask", "answer", &json!({"question": 7})).await
}

#[tokio::test]
async fn json_is_posted_with_the_key_to_the_path_under_the_base() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/answer"))
        .and(header("authorization", "Bearer sk-one"))
        .and(header("content-type", "application/json"))
        .and(body_json(json!({"question": 7})))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"ok": true})))
        .mount(&server)
        .await;
    for base in ["/v1", "/v1/"] {
        let client = client(&format!("{}{base}", server.uri())).with_key(ApiKey::new("sk-one").expect("a key"));
        assert_eq!(post(&client).await.expect("all matches"), json!({"ok": true}));
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_and_what_cannot_is_not() {
    for status in (300..=599).filter(|s| !matches!(s, 304)) {
        let transient = matches!(status, 408 | 429 | 500..);
        let server = server([ResponseTemplate::new(status).set_body_string("no luck")]).await;
        let answer = post(&client(&server.uri())).await;
        assert_eq!(answer.is_ok(), transient, "{status}");
        assert_eq!(requests(&server).await, if transient { 2 } else { 1 }, "{status}");
        if let Err(error) = answer {
            assert!(!error.is_transient() && error.to_string().contains(&status.to_string()), "{status}: {error}");
        }
    }
}

#[tokio::test]
async fn a_server_that_stays_down_is_tried_as_often_as_stated() {
    for (retry, tries) in [(Retry::default(), 3), (Retry::default().with_tries(5), 5), (Retry::never(), 1)] {
        let server = server((0..9).map(|_| ResponseTemplate::new(503).set_body_string("loading"))).await;
        let client = client(&server.uri()).with_retry(retry.with_first_delay(Duration::ZERO));
        let error = post(&client).await.expect_err("down");
        assert!(error.is_transient());
        assert_eq!(requests(&server).await, tries);
        assert!(error.to_string().contains(": loading; "), "{error}");
        assert_eq!(error.to_string().contains(&format!("(tried {tries} times)")), tries > 1, "{error}");
    }
}

#[tokio::test]
async fn retry_after_replaces_the_wait_in_both_forms_and_has_a_limit() {
    let slow = Retry::default().with_first_delay(HOUR).with_max_delay(HOUR);
    let limited = Retry::default().with_max_delay(Duration::from_millis(1));
    for (retry, after) in [(slow, "0"), (slow, "Sun, 06 Nov 1994 08:49:37 GMT"), (limited, "86400")] {
        for status in [429, 503] {
            let server = server([ResponseTemplate::new(status).insert_header("retry-after", after)]).await;
            let client = client(&server.uri()).with_retry(retry);
            // An hour passes in no test: with any other wait than the server's, or without its limit, this never ends.
            let answer = tokio::time::timeout(Duration::from_secs(60), post(&client)).await.expect("the wait is short");
            answer.expect("the second try works");
        }
    }
}

#[tokio::test]
async fn the_error_says_where_what_and_what_to_do() {
    for (status, advice) in [
        (400, "texts are too long"),
        (401, "check the API key"),
        (403, "check the API key"),
        (404, "base URL and the model's name"),
        (413, "smaller batches"),
        (422, "model's name"),
        (429, "fewer requests"),
        (500, "try again later"),
    ] {
        let said = json!({"error": {"message": "the reason", "type": "x"}});
        let server = server((0..3).map(|_| ResponseTemplate::new(status).set_body_json(&said))).await;
        let error = post(&client(&server.uri())).await.expect_err("refused").to_string();
        for part in [&*format!("cannot ask at {}/answer: it answered {status}", server.uri()), ": the reason;", advice] {
            assert!(error.contains(part), "{part:?} is not in {error:?}");
        }
    }
}

#[tokio::test]
async fn a_long_refusal_is_cut() {
    let server = server([ResponseTemplate::new(400).set_body_string("é\n".repeat(5_000_000))]).await;
    let error = post(&client(&server.uri())).await.expect_err("refused").to_string();
    assert!(error.contains("é é é") && error.contains('…') && error.len() < 1000, "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_is_timed_out_and_asked_again() {
    let slow = || ResponseTemplate::new(200).set_body_json(json!({"ok": true})).set_delay(HOUR);
    let server = server([slow(), slow()]).await;
    let hasty = client(&server.uri()).with_timeout(Duration::from_millis(200));
    post(&hasty.clone().with_retry(Retry::default().with_first_delay(Duration::ZERO))).await.expect("the third try works");
    assert_eq!(requests(&server).await, 3);

    // Accepts, and never reads.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("it listens"));
    let silent = client(&base).with_timeout(Duration::from_millis(50)).with_retry(Retry::never());
    let error = post(&silent).await.expect_err("nobody answers");
    assert!(error.is_transient() && error.to_string().contains("no complete answer within 50ms"), "{error:?}");
}

#[tokio::test]
async fn a_connection_cut_in_the_middle_is_tried_again() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"ok\":",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
        "",
    ] {
        let (base, asked) = cutting_server(answer).await;
        let error = post(&client(&base)).await.expect_err("cut");
        assert!(error.is_transient() && error.to_string().contains("the connection broke"), "{answer:?}: {error:?}");
        assert!(asked.load(Ordering::SeqCst) >= 3, "{answer:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_as_that() {
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a free port").local_addr().expect("it listened");
    let error = post(&client(&format!("http://{free}/v1"))).await.expect_err("nobody listens");
    let text = error.to_string();
    let at = format!("cannot ask at http://{free}/v1/answer: no connection");
    assert!(error.is_transient() && text.contains(&at) && text.contains("is the server running there"), "{text}");
}

#[tokio::test]
async fn an_answer_that_is_not_the_expected_json_is_told_with_its_beginning() {
    for (body, begins) in [
        ("{\"ok\": tru", "{\\\"ok\\\": tru"),
        ("<!doctype html>\n<html><title>Sign in</title>", "<!doctype html> <html><title>Sign in"),
        ("", ""),
        ("[1, NaN]", "[1, NaN]"),
    ] {
        let server = server([ResponseTemplate::new(200).set_body_string(body)]).await;
        let error = post(&client(&server.uri())).await.expect_err("no JSON");
        assert!(matches!(error, Error::Remote { transient: false, .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(begins) && text.contains("base URL") && text.contains("/answer"), "{text}");
        assert_eq!(requests(&server).await, 1);
    }
    let page = ResponseTemplate::new(502).set_body_string("<html><h1>502 Bad Gateway</h1></html>");
    let server = server((0..3).map(|_| page.clone())).await;
    let error = post(&client(&server.uri())).await.expect_err("a page of a proxy");
    assert!(error.is_transient() && error.to_string().contains("502 Bad Gateway"), "{error}");
}

#[tokio::test]
async fn a_redirect_takes_neither_key_nor_texts_elsewhere() {
    let elsewhere = server([]).await;
    for status in [301, 302, 303, 307, 308] {
        let to = format!("{}/v2/answer", elsewhere.uri());
        let server = server([ResponseTemplate::new(status).insert_header("location", &*to)]).await;
        let client = client(&server.uri()).with_key(ApiKey::new("sk-one").expect("a key"));
        let error = post(&client).await.expect_err("not followed");
        assert!(error.to_string().contains(&to) && error.to_string().contains("make it the base URL"), "{error}");
        assert_eq!(requests(&elsewhere).await, 0);
    }
}

#[tokio::test]
async fn a_dropped_call_is_not_tried_again() {
    let server = server([ResponseTemplate::new(500)]).await;
    let client = client(&server.uri()).with_retry(Retry::default().with_first_delay(HOUR).with_max_delay(HOUR));
    let call = tokio::spawn(async move { post(&client).await });
    while requests(&server).await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    call.abort();
    assert!(call.await.expect_err("cancelled").is_cancelled());
    assert_eq!(requests(&server).await, 1);
}

#[test]
fn a_base_that_is_no_address_is_refused_without_showing_what_may_be_secret() {
    for bad in [
        "",
        "localhost:8080/v1",
        "ftp://host/",
        "file:///etc/passwd",
        "http://",
        "http://me:sk-secret@host/v1",
        "https://host/v1?api-key=sk-secret",
        "https://host/v1#sk-secret",
    ] {
        let error = HttpClient::new(bad).expect_err("not a base URL");
        assert!(matches!(error, Error::InvalidInput(_)) && !error.chain().contains("sk-secret"), "{bad}: {error}");
    }
    assert_eq!(HttpClient::new(" http://[::1]:8080/v1// ").expect("a base URL").base(), "http://[::1]:8080/v1");
}

/// In a process of its own, since the proxy is read from the environment.
#[tokio::test]
async fn requests_go_through_the_proxy_of_the_environment() {
    let proxy = MockServer::start().await;
    let ok = ResponseTemplate::new(200).set_body_json(json!({"ok": true}));
    Mock::given(any()).and(header("host", "model.invalid")).respond_with(ok).mount(&proxy).await;
    let child = Command::new(std::env::current_exe().expect("the test binary"))
        .args(["--exact", "it::client::as_a_child_behind_a_proxy", "--ignored"])
        .envs([("HTTP_PROXY", proxy.uri()), ("http_proxy", proxy.uri())])
        .env_remove("NO_PROXY")
        .env_remove("no_proxy")
        .output()
        .expect("the test binary starts");
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert_eq!(requests(&proxy).await, 1);
}

#[tokio::test]
#[ignore = "run by requests_go_through_the_proxy_of_the_environment"]
async fn as_a_child_behind_a_proxy() {
    post(&client("http://model.invalid/v1").with_retry(Retry::never())).await.expect("the proxy answers");
}
