//! `examples/chat.rs` as a person runs it, with a scripted chat model on a real server.

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{header, method, path},
};

use super::support::{Place, err, out, run};

const FILES: &[(&str, &str)] = &[
    ("work/tender.md", "# Tender\n\nThe submission cut-off is 14 March at noon.\n"),
    ("home/freezer.txt", "Freezer, serial number KX-4471-902, bought in May.\n"),
];

fn says(message: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({ "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] }))
}

fn calls(name: &str, arguments: &str) -> ResponseTemplate {
    let call = json!({ "id": "call-1", "type": "function", "function": { "name": name, "arguments": arguments } });
    says(json!({ "role": "assistant", "content": null, "tool_calls": [call] }))
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).expect("requests are JSON")
}

fn last_message(request: &Request) -> Value {
    body(request)["messages"].as_array().and_then(|messages| messages.last().cloned()).expect("there are messages")
}

/// Runs the example against a model that answers as `script` says; gives what came out and what the model was asked.
fn chat(
    script: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static,
    arguments: &[&str],
    input: &str,
) -> (Output, Vec<Value>) {
    let place = Place::indexed(FILES);
    run(async {
        let server = MockServer::start().await;
        let asks = Mock::given(method("POST")).and(path("/v1/chat/completions")).and(header("authorization", "Bearer sk-test"));
        asks.respond_with(script).mount(&server).await;
        let mut command = place.command("chat", &[]);
        command.env("CHAT_TEST_KEY", "sk-test");
        command.args(["--endpoint", &format!("{}/v1", server.uri()), "--model", "scripted", "--key-env", "CHAT_TEST_KEY"]);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let input = input.to_owned();
        let output = tokio::task::spawn_blocking(move || {
            let mut child = command.spawn().expect("the example starts");
            let mut stdin = child.stdin.take().expect("it has an input");
            // It may have ended without reading.
            let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
            drop(stdin);
            child.wait_with_output().expect("it ends")
        });
        let output = output.await.expect("the example was run");
        let asked = server.received_requests().await.expect("requests are recorded");
        (output, asked.iter().map(body).collect())
    })
}

#[test]
fn a_model_searches_by_itself_and_its_citations_lead_to_files() {
    let script = |request: &Request| match last_message(request)["role"].as_str() {
        Some("tool") => says(json!({ "role": "assistant", "content": "On 14 March at noon [1], not [99]." })),
        _ => calls("search_files", r#"{"query": "submission cut-off of the tender"}"#),
    };
    let (output, asked) = chat(script, &["when is the tender due?"], "");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).starts_with("On 14 March at noon [1], not [99].\n\n[1] "), "{}", out(&output));
    assert!(out(&output).contains("tender.md") && !out(&output).contains("freezer.txt"), "only what is cited: {}", out(&output));
    assert!(!out(&output).contains('\u{1b}'), "no links in a pipe");
    assert!(err(&output).contains("cites [99], which is no source"), "{}", err(&output));

    assert_eq!(asked.len(), 2);
    let system = asked[0]["messages"][0]["content"].as_str().expect("text");
    assert!(system.contains("[1] \"") && system.contains("> The submission cut-off is 14 March at noon."), "{system}");
    assert_eq!(asked[0]["tools"][0]["function"]["name"], "search_files");
    let result = &asked[1]["messages"][3];
    assert_eq!((&result["role"], &result["tool_call_id"]), (&"tool".into(), &"call-1".into()));
    let text = result["content"].as_str().expect("text");
    assert!(
        text.contains("[1] \"") && text.contains("[2] \"") && !text.contains("[3] \""),
        "the same files, the same numbers: {text}"
    );
}

#[test]
fn a_model_that_never_stops_searching_is_stopped() {
    let script = |_: &Request| calls("search_files", r#"{"query": "tender"}"#);
    let (output, asked) = chat(script, &["when is the tender due?", "--rounds", "2"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("still wants to search after 2 rounds"), "{}", err(&output));
    assert_eq!(asked.len(), 4, "two rounds with tools, one without, one after it was told to answer");
    assert!(asked[1].get("tools").is_some() && asked[2].get("tools").is_none());
}

#[test]
fn a_wrong_call_is_told_to_the_model_and_an_answer_without_sources_has_a_code_of_its_own() {
    let script = |request: &Request| {
        let last = last_message(request);
        match (last["role"].as_str(), last["content"].as_str().unwrap_or_default()) {
            (Some("tool"), told) if told.contains("unknown field `folder`") => calls("open_file", "{}"),
            (Some("tool"), told) if told.contains("there is no tool \"open_file\"") => {
                says(json!({ "role": "assistant", "content": "I do not know.\u{1b}[31m" }))
            }
            (Some("tool"), _) => ResponseTemplate::new(400),
            _ => calls("search_files", r#"{"query": "tender", "folder": "/"}"#),
        }
    };
    let (output, asked) = chat(script, &["when is the tender due?"], "");
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(1), "I do not know.[31m\n"), "{}", err(&output));
    assert_eq!(asked.len(), 3);
}

#[test]
fn a_conversation_keeps_what_was_said_and_the_numbers_of_its_sources() {
    let script = |_: &Request| says(json!({ "role": "assistant", "content": "See [1]." }));
    let (output, asked) = chat(script, &[], "when is the tender due?\n\nand the freezer?\n");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(out(&output).matches("See [1].").count(), 2);
    assert_eq!(asked.len(), 2, "a blank line asks nothing");
    let said: Vec<&str> =
        asked[1]["messages"].as_array().expect("messages").iter().skip(1).filter_map(|m| m["content"].as_str()).collect();
    assert_eq!(said, ["when is the tender due?", "See [1].", "and the freezer?"]);
}

#[test]
fn a_server_that_refuses_is_named() {
    let (output, _) = chat(|_: &Request| ResponseTemplate::new(401), &["anything"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).starts_with("error: ") && err(&output).contains("401"), "{}", err(&output));
}
