use sensetree_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::HttpClient;

/// A chat model behind `POST {base}/chat/completions`, as OpenAI, Ollama, llama.cpp, vLLM and others serve it.
#[derive(Debug, Clone)]
pub struct ChatClient {
    client: HttpClient,
    model: String,
    temperature: Option<f32>,
    max_tokens: Option<u32>,
}

impl ChatClient {
    /// The model of this name on the server of `client`.
    pub fn new(client: HttpClient, model: impl Into<String>) -> Self {
        Self { client, model: model.into(), temperature: None, max_tokens: None }
    }

    /// How freely the model chooses its words, from 0. Default: as the server has it.
    #[must_use]
    pub fn with_temperature(mut self, temperature: f32) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// The longest answer, in tokens. Default: as the server has it.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: u32) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What the model says next: text, or calls of `tools` whose results it wants as [`Message::tool`] before it goes on.
    ///
    /// # Errors
    /// As [`HttpClient::post`], and [`Error::Contract`] when the server sends no message.
    pub async fn complete(&self, messages: &[Message], tools: &[Tool]) -> Result<Reply> {
        let request = Request { model: &self.model, messages, tools, temperature: self.temperature, max_tokens: self.max_tokens };
        let answer: Answer = self.client.post("ask the chat model", "chat/completions", &request).await?;
        let choice = answer.choices.into_iter().next();
        choice.ok_or_else(|| Error::contract(format!("chat model {}", self.model), "its answer has no choices"))
    }
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Whoever runs the chat: what the model is to do.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool: the result of a call.
    Tool,
}

/// One message of a chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What is said; empty when the model only calls tools.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub content: String,
    /// Tools that the model wants called.
    #[serde(default, deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Of a tool's message: the [`ToolCall::id`] that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// What the model is to do.
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(Role::System, content)
    }

    /// What the person says.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model said.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// The result of a tool call.
    pub fn tool(call_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self { tool_call_id: Some(call_id.into()), ..Self::new(Role::Tool, content) }
    }

    fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// A tool that the model wants called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WireCall", into = "WireCall")]
pub struct ToolCall {
    /// What the result refers to; see [`Message::tool`].
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// JSON that should fit the tool's schema, as the model wrote it: unchecked.
    pub arguments: String,
}

/// A function that the model may ask for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "WireTool")]
pub struct Tool {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// What the model said.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Reply {
    /// The message, to be appended to the chat.
    pub message: Message,
    /// Why it ended: `stop`, `length` (cut off), `tool_calls`, or what else the server says.
    #[serde(default)]
    pub finish_reason: Option<String>,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: &'a [Message],
    // An empty list is an error to some servers.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [Tool],
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Reply>,
}

#[derive(Serialize, Deserialize)]
struct WireCall {
    #[serde(default)]
    id: String,
    #[serde(rename = "type", default = "function")]
    kind: String,
    function: WireFunction,
}

#[derive(Serialize, Deserialize)]
struct WireFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Serialize)]
struct WireTool {
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireSchema,
}

#[derive(Serialize)]
struct WireSchema {
    name: String,
    description: String,
    parameters: Value,
}

impl From<WireCall> for ToolCall {
    fn from(WireCall { id, function, .. }: WireCall) -> Self {
        Self { id, name: function.name, arguments: function.arguments }
    }
}

impl From<ToolCall> for WireCall {
    fn from(ToolCall { id, name, arguments }: ToolCall) -> Self {
        Self { id, kind: function(), function: WireFunction { name, arguments } }
    }
}

impl From<Tool> for WireTool {
    fn from(Tool { name, description, parameters }: Tool) -> Self {
        Self { kind: "function", function: WireSchema { name, description, parameters } }
    }
}

fn function() -> String {
    "function".into()
}

fn null_is_empty<'de, D: serde::Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
