use std::{
    fmt,
    time::{Duration, SystemTime},
};

use reqwest::{
    Response, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER},
    redirect::Policy,
};
use sensetree_core::{Error, Result, text::first_chars};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{ApiKey, Retry, failure::Failure, retry::retry_after};

/// The largest answer that is read.
const MAX_ANSWER: usize = 256 << 20;
/// How much of a refusal is read, in bytes, and shown, in characters.
const MAX_REFUSAL: usize = 64 << 10;
const SHOWN: usize = 300;

/// Posts JSON to the paths of one API and reads JSON, trying again what may pass. Cheap to clone; clones share connections.
///
/// Redirects are not followed: neither the key nor the texts go to another address than the one that was given.
#[derive(Clone)]
pub struct HttpClient {
    http: reqwest::Client,
    base: String,
    key: Option<ApiKey>,
    timeout: Duration,
    retry: Retry,
}

impl HttpClient {
    /// A client of the API at `base`, such as `https://api.openai.com/v1` or `http://localhost:8080`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when `base` is not an `http` or `https` URL, or has a user, a query or a fragment.
    pub fn new(base: impl AsRef<str>) -> Result<Self> {
        let base = base.as_ref().trim();
        // Neither is shown: a password or key may be among it.
        let url = Url::parse(base).map_err(|e| Error::invalid(format!("the base URL cannot be read: {e}")))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(Error::invalid("the base URL must begin with http:// or https:// and a host"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(Error::invalid(
                "the base URL has a user, a query or a fragment; give the address only, and the key with `with_key`",
            ));
        }
        let http = reqwest::Client::builder()
            .redirect(Policy::none())
            .connect_timeout(Duration::from_secs(10))
            .user_agent(concat!("sensetree/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| Error::other("set up the HTTP client", e))?;
        let base = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self { http, base, key: None, timeout: Duration::from_secs(60), retry: Retry::default() })
    }

    /// Sends the key with every request, as `Authorization: Bearer`. Default: none.
    #[must_use]
    pub fn with_key(mut self, key: ApiKey) -> Self {
        self.key = Some(key);
        self
    }

    /// How long one try may take, from connecting to the last byte. Default: 60 seconds, of which 10 for connecting.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// When and how often to try again. Default: [`Retry::default`].
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// The base URL, without a slash at its end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Posts `body` to a path under the base URL. `doing` is a verb in the infinitive with its object, for messages: "embed texts".
    ///
    /// Dropping the future ends the request.
    ///
    /// # Errors
    /// [`Error::Remote`]: at once when the same request cannot succeed, after the last try when it may.
    pub async fn post<A: DeserializeOwned>(&self, doing: &'static str, path: &str, body: &(impl Serialize + Sync)) -> Result<A> {
        let endpoint = format!("{}/{}", self.base, path.trim_start_matches('/'));
        let body = serde_json::to_vec(body)
            .map_err(|e| Error::invalid(format!("the request to {endpoint} cannot be written as JSON: {e}")))?;
        let mut tries = 1;
        loop {
            let failure = match self.attempt(&endpoint, body.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if tries >= self.retry.tries() || !failure.is_transient() {
                return Err(failure.into_error(doing, endpoint, tries));
            }
            let delay = self.retry.delay(tries, failure.retry_after, fastrand::f64());
            tracing::debug!(endpoint, tries, ?delay, reason = failure.reason(), "trying again");
            tokio::time::sleep(delay).await;
            tries += 1;
        }
    }

    async fn attempt<A: DeserializeOwned>(&self, endpoint: &str, body: Vec<u8>) -> Result<A, Failure> {
        let mut request = self.http.post(endpoint).timeout(self.timeout).header(CONTENT_TYPE, "application/json").body(body);
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.header());
        }
        let failed = |e| Failure::network(e, self.timeout);
        let response = request.send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(self.refusal(response).await);
        }
        let answer = read(response, MAX_ANSWER).await.map_err(failed)?;
        if answer.len() > MAX_ANSWER {
            return Err(self.unexpected(&format!("it is longer than {} MiB", MAX_ANSWER >> 20), &answer));
        }
        serde_json::from_slice(&answer).map_err(|e| self.unexpected(&e.to_string(), &answer))
    }

    async fn refusal(&self, response: Response) -> Failure {
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after = header(RETRY_AFTER).and_then(|asked| retry_after(asked, SystemTime::now()));
        let location = header(LOCATION).filter(|_| status.is_redirection()).map(|to| format!("it points to {to}"));
        let said = match location {
            Some(location) => self.shown(location.as_bytes()),
            // The status is what counts; its text is told as far as it came.
            None => match read(response, MAX_REFUSAL).await {
                Ok(text) if text.trim_ascii().is_empty() => "it says no more".into(),
                Ok(text) => self.shown(&text),
                Err(_) => "what it says broke off".into(),
            },
        };
        Failure::status(status, &said, retry_after)
    }

    fn unexpected(&self, reason: &str, answer: &[u8]) -> Failure {
        // The parser quotes what it did not expect.
        Failure::answer(&self.shown(reason.as_bytes()), &self.shown(answer))
    }

    /// The beginning of what a server said, on one line, without the key.
    fn shown(&self, text: &[u8]) -> String {
        let text = &text[..text.len().min(MAX_REFUSAL)];
        let text = match serde_json::from_slice::<Value>(text) {
            // Written anew, so that the key is found however the server escaped it.
            Ok(json) => message(&json).map_or_else(|| json.to_string(), str::to_owned),
            Err(_) => String::from_utf8_lossy(text).into_owned(),
        };
        let text = self.key.as_ref().map_or_else(|| text.clone(), |key| key.scrub(&text));
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cut = first_chars(&line, SHOWN);
        if cut.len() < line.len() { format!("{cut}…") } else { line }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("base", &self.base)
            .field("key", &self.key)
            .field("timeout", &self.timeout)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

/// The body, or a little more than its first `limit` bytes.
async fn read(mut response: Response, limit: usize) -> reqwest::Result<Vec<u8>> {
    let mut body = Vec::new();
    while body.len() <= limit {
        match response.chunk().await? {
            Some(chunk) => body.extend_from_slice(&chunk),
            None => break,
        }
    }
    Ok(body)
}

/// The sentence in a refusal: OpenAI's `error.message`, Cohere's `message`, Jina's `detail`, TEI's `error`.
fn message(json: &Value) -> Option<&str> {
    let paths = ["/error/message", "/message", "/detail", "/error"];
    paths.iter().find_map(|path| json.pointer(path)?.as_str())
}
