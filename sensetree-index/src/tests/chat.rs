//! Summaries from a scripted server.

use sensetree_core::Error;
use sensetree_http::{ChatClient, HttpClient, Retry};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{method, path},
};

use super::*;
use crate::ChatQualifier;

fn says(text: &str) -> ResponseTemplate {
    let message = serde_json::json!({"role": "assistant", "content": text});
    ResponseTemplate::new(200).set_body_json(serde_json::json!({"choices": [{"message": message, "finish_reason": "stop"}]}))
}

async fn serve(server: &MockServer, answer: ResponseTemplate) {
    server.reset().await;
    Mock::given(method("POST")).and(path("/v1/chat/completions")).respond_with(answer).mount(server).await;
}

async fn sync(desk: &Desk, server: &MockServer) -> sensetree_core::Result<Report> {
    let client = HttpClient::new(format!("{}/v1", server.uri())).expect("an address").with_retry(Retry::never());
    let qualifier = ChatQualifier::new(ChatClient::new(client, "small")).with_text_chars(10);
    let indexer = desk.builder().qualifier(Arc::new(qualifier)).build().expect("good settings");
    indexer.sync(&[desk.folder.path()], |_| {}).await
}

fn question(request: &Request) -> String {
    let body: serde_json::Value = request.body_json().expect("JSON");
    body["messages"][1]["content"].as_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_model_is_asked_about_name_folder_title_and_the_start_of_the_text() {
    let desk = Desk::with(&[("home/a.md", "# Boiler\n\nServiced in May.")]);
    let server = MockServer::start().await;
    serve(&server, says("<think>Hm.</think>\nA service record.\n")).await;
    let report = sync(&desk, &server).await.expect("a sync");
    assert_eq!((report.new, report.warnings.len()), (1, 0));
    let requests = server.received_requests().await.expect("they are recorded");
    assert_eq!(requests.len(), 1);
    assert_eq!(question(&requests[0]), "File: a.md\nFolder: home\nTitle: Boiler\n\n# Boiler\n\n");
    assert!(desk.chunks("home/a.md")[0].text.starts_with("a.md · Boiler · home\nA service record.\n\n# Boiler"));
}

#[tokio::test]
async fn a_server_that_is_busy_leaves_files_pending_and_one_that_refuses_everything_ends_the_run() {
    let desk = Desk::new();
    (0..20).for_each(|number| desk.write(format!("f{number}.md"), format!("content number{number}")));
    let server = MockServer::start().await;
    for status in [503, 429, 408] {
        serve(&server, ResponseTemplate::new(status)).await;
        let report = sync(&desk, &server).await.expect("it may pass");
        assert_eq!((report.pending, report.new, report.failed.len()), (20, 0, 0), "{status}");
        assert!(server.received_requests().await.expect("they are recorded").len() <= 4);
    }
    for status in [401, 404] {
        serve(&server, ResponseTemplate::new(status)).await;
        let error = sync(&desk, &server).await.expect_err("it will not pass");
        assert!(matches!(error, Error::Remote { transient: false, .. }), "{error}");
        assert!(desk.stored().is_empty());
    }
    serve(&server, says("Content.")).await;
    assert_eq!(sync(&desk, &server).await.expect("a sync").new, 20);
}

#[tokio::test]
async fn one_text_that_the_server_refuses_is_indexed_without_a_summary() {
    let desk = Desk::with(&[("a.md", "alpha"), ("b.md", "beta"), ("c.md", "gamma")]);
    let server = MockServer::start().await;
    let answer = |request: &Request| match question(request).contains("beta") {
        true => ResponseTemplate::new(400).set_body_string("content filter"),
        false => says("Letters."),
    };
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    let report = sync(&desk, &server).await.expect("a sync");
    assert_eq!((report.new, report.failed.len(), report.warnings.len()), (3, 0, 1));
    assert_eq!(desk.found("letters"), ["a.md", "c.md"]);
}
