use std::fmt;

use reqwest::header::HeaderValue;
use sensetree_core::{Error, Result};

/// A bearer key. Neither `Debug` nor `Display` shows it, and what a server says is cleaned of it before it becomes a message.
#[derive(Clone)]
pub struct ApiKey {
    key: String,
    header: HeaderValue,
}

impl ApiKey {
    /// A key; white space around it, such as the line end of a file, is dropped.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when it is empty or has characters that a header cannot carry.
    pub fn new(key: impl AsRef<str>) -> Result<Self> {
        let key = key.as_ref().trim();
        if key.is_empty() {
            return Err(Error::invalid("the API key is empty"));
        }
        let mut header = HeaderValue::from_str(&format!("Bearer {key}"))
            .ok()
            .filter(|_| key.is_ascii())
            .ok_or_else(|| Error::invalid("the API key has characters other than printable ASCII; was it copied whole?"))?;
        header.set_sensitive(true);
        Ok(Self { key: key.to_owned(), header })
    }

    /// The key in an environment variable.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming the variable when it is not set, and as [`new`](Self::new).
    pub fn from_env(variable: &str) -> Result<Self> {
        // The variable's value is not part of the message: `VarError` would show it.
        let key = std::env::var(variable)
            .map_err(|_| Error::invalid(format!("no API key: set the environment variable {variable}")))?;
        Self::new(key)
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// The text without the key, as it is or as JSON writes it.
    pub(crate) fn scrub(&self, text: &str) -> String {
        let quoted = serde_json::Value::from(self.key.as_str()).to_string();
        text.replace(&self.key, "[key]").replace(quoted.trim_matches('"'), "[key]")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey([key])")
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_itself_to_nobody() {
        let key = ApiKey::new(" sk-top-secret\n").expect("a plain key");
        assert_eq!(format!("{key:?} {key} {:?}", key.header()), "ApiKey([key]) [key] Sensitive");
    }

    #[test]
    fn a_key_that_no_header_carries_is_refused_without_showing_it() {
        for bad in ["", "  \n", "sk-one\nsk-two", "sk-schlüssel"] {
            let error = ApiKey::new(bad).expect_err("not a key");
            assert!(matches!(error, Error::InvalidInput(_)));
            assert!(!format!("{error:?}").contains("sk-"), "{error:?}");
        }
        let missing = ApiKey::from_env("SENSETREE_NO_SUCH_KEY").expect_err("not set");
        assert!(missing.to_string().contains("SENSETREE_NO_SUCH_KEY"));
    }

    #[test]
    fn a_key_is_scrubbed_also_where_json_escapes_it() {
        let key = ApiKey::new(r#"a"b\c"#).expect("printable");
        assert_eq!(key.scrub(r#"plain a"b\c, quoted "a\"b\\c"."#), r#"plain [key], quoted "[key]"."#);
    }
}
