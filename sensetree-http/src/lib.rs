//! JSON over HTTP with retries, shared by the remote parts of sensetree.
//!
//! - [`HttpClient`]: a base URL, a key, a time limit; posts JSON and reads JSON, again when what failed may pass;
//! - [`ApiKey`]: a key that no message shows;
//! - [`ChatClient`]: one answer of a chat model, in the shape that OpenAI gave it and most servers speak.
//!
//! What fails is an [`Error::Remote`](sensetree_core::Error::Remote), which says whether the same request may succeed later.
//! Proxies are taken from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`. Redirects are not followed.
//!
//! ```no_run
//! use sensetree_http::{ApiKey, ChatClient, HttpClient, Message};
//!
//! # async fn example() -> sensetree_core::Result<()> {
//! let client = HttpClient::new("https://api.openai.com/v1")?.with_key(ApiKey::from_env("OPENAI_API_KEY")?);
//! let chat = ChatClient::new(client, "gpt-4.1-mini");
//! let reply = chat.complete(&[Message::user("In one sentence: what is a boiler?")], &[]).await?;
//! println!("{}", reply.message.content);
//! # Ok(()) }
//! ```

mod chat;
mod client;
mod failure;
mod key;
mod retry;

pub use chat::{ChatClient, Message, Reply, Role, Tool, ToolCall};
pub use client::HttpClient;
pub use key::ApiKey;
pub use retry::Retry;

/// What is sent in place of a blank text, since many servers refuse an empty one.
pub const BLANK: &str = ".";
