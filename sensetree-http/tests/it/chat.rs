use sensetree_core::Error;
use sensetree_http::{ChatClient, Message, Role, Tool, ToolCall};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_json, method, path},
};

use super::support::{client, server};

async fn expecting(request: Value, answer: Value) -> (MockServer, ChatClient) {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(body_json(request))
        .respond_with(ResponseTemplate::new(200).set_body_json(answer))
        .mount(&server)
        .await;
    let chat = ChatClient::new(client(&format!("{}/v1", server.uri())), "m");
    (server, chat)
}

#[tokio::test]
async fn a_question_is_answered() {
    let request = json!({"model": "m", "temperature": 0.5, "max_tokens": 9, "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who?"},
    ]});
    let answer = json!({"id": "1", "usage": {}, "choices": [
        {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "Me", "refusal": null, "tool_calls": null}},
    ]});
    let (_server, chat) = expecting(request, answer).await;
    let chat = chat.with_temperature(0.5).with_max_tokens(9);
    let reply = chat.complete(&[Message::system("Be brief."), Message::user("Who?")], &[]).await.expect("the request matches");
    assert_eq!(reply.message, Message::assistant("Me"));
    assert_eq!(reply.finish_reason.as_deref(), Some("length"));
}

#[tokio::test]
async fn a_tool_call_makes_the_round_trip_in_the_shape_of_openai() {
    let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}});
    let tool = Tool { name: "search_files".into(), description: "Finds files.".into(), parameters: schema.clone() };
    let wire_tool =
        json!({"type": "function", "function": {"name": "search_files", "description": "Finds files.", "parameters": schema}});
    let wire_call =
        json!({"id": "call_1", "type": "function", "function": {"name": "search_files", "arguments": "{\"query\":\"boiler\"}"}});

    let user = json!({"role": "user", "content": "Find it"});
    let request = json!({"model": "m", "messages": [user], "tools": [wire_tool]});
    let answer = json!({"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "content": null, "tool_calls": [wire_call]}}]});
    let (_server, chat) = expecting(request, answer).await;
    let reply = chat.complete(&[Message::user("Find it")], std::slice::from_ref(&tool)).await.expect("the request matches");
    let call = ToolCall { id: "call_1".into(), name: "search_files".into(), arguments: "{\"query\":\"boiler\"}".into() };
    assert_eq!((reply.message.role, &*reply.message.content, &reply.message.tool_calls), (Role::Assistant, "", &vec![call]));

    let request = json!({"model": "m", "tools": [wire_tool], "messages": [
        user,
        {"role": "assistant", "content": "", "tool_calls": [wire_call]},
        {"role": "tool", "content": "found", "tool_call_id": "call_1"},
    ]});
    let (_server, chat) = expecting(request, json!({"choices": [{"message": {"role": "assistant", "content": "There."}}]})).await;
    let messages = [Message::user("Find it"), reply.message, Message::tool("call_1", "found")];
    let reply = chat.complete(&messages, &[tool]).await.expect("the request matches");
    assert_eq!((reply.message, reply.finish_reason), (Message::assistant("There."), None));
}

#[tokio::test]
async fn a_server_without_a_choice_or_a_model_is_told() {
    let empty = ResponseTemplate::new(200).set_body_json(json!({"choices": []}));
    let missing = ResponseTemplate::new(404).set_body_json(json!({"error": {"message": "model \"m\" not found"}}));
    let server = server([empty, missing]).await;
    let chat = ChatClient::new(client(&server.uri()), "m");
    let broken = chat.complete(&[Message::user("Who?")], &[]).await.expect_err("no choice");
    assert!(matches!(&broken, Error::Contract { part, .. } if part == "chat model m"), "{broken:?}");
    let missing = chat.complete(&[Message::user("Who?")], &[]).await.expect_err("no model");
    assert!(matches!(&missing, Error::Remote { transient: false, reason, .. } if reason.contains("404")), "{missing:?}");
    assert!(missing.to_string().starts_with("cannot ask the chat model at "), "{missing}");
}
