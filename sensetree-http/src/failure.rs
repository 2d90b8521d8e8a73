use std::{error::Error as _, time::Duration};

use reqwest::StatusCode;
use sensetree_core::Error;

/// Why one try failed.
pub(crate) struct Failure {
    reason: String,
    transient: bool,
    /// How long the server asks to wait.
    pub(crate) retry_after: Option<Duration>,
}

impl Failure {
    /// No connection, a connection that broke, or no complete answer in time.
    pub(crate) fn network(error: reqwest::Error, timeout: Duration) -> Self {
        let reason = match &error {
            e if e.is_connect() => format!("no connection ({}); is the server running there, and is a proxy needed?", causes(e)),
            e if e.is_timeout() => {
                format!("no complete answer within {timeout:?}; allow more time, or send less at once")
            }
            e => format!("the connection broke before the answer was complete ({})", causes(e)),
        };
        Self { reason, transient: true, retry_after: None }
    }

    /// A status other than 2xx; `said` is what the server said with it.
    pub(crate) fn status(status: StatusCode, said: &str, retry_after: Option<Duration>) -> Self {
        let transient = matches!(status.as_u16(), 408 | 429 | 500..=599);
        Self { reason: format!("it answered {status}: {said}; {}", advice(status.as_u16())), transient, retry_after }
    }

    /// An answer that begins with `said`, but is not what was expected.
    pub(crate) fn answer(reason: &str, said: &str) -> Self {
        let reason =
            format!("it did not answer as its API should: {reason}; is this the API's base URL? The answer begins {said:?}");
        Self { reason, transient: false, retry_after: None }
    }

    pub(crate) fn is_transient(&self) -> bool {
        self.transient
    }

    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    pub(crate) fn into_error(self, doing: &'static str, endpoint: String, tries: u32) -> Error {
        let reason = if tries > 1 { format!("{} (tried {tries} times)", self.reason) } else { self.reason };
        Error::Remote { doing, endpoint, reason, transient: self.transient }
    }
}

/// What lies under reqwest's own message, which only says that something failed, and where.
fn causes(error: &reqwest::Error) -> String {
    let mut said = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        said.push(error.to_string());
        cause = error.source();
    }
    said.dedup();
    said.join(": ")
}

fn advice(status: u16) -> &'static str {
    match status {
        300..=399 => "redirects are not followed: if that address is right, make it the base URL",
        401 | 403 => "check the API key",
        404 | 405 => "check the base URL and the model's name",
        413 => "send smaller batches or shorter texts",
        400 | 422 => "check the model's name, and whether the texts are too long for it",
        429 => "its limit is reached: send fewer requests at once, or wait",
        408 | 500..=599 => "the server has trouble: try again later",
        _ => "see what the server says",
    }
}
