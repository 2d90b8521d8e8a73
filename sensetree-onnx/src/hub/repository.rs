//! The name of a model on the hub.

use std::fmt;

use sensetree_core::{Error, Result};

/// `owner/name`, and a revision of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    id: String,
    revision: String,
}

impl Repository {
    pub(super) fn parse(model: &str) -> Result<Self> {
        let (id, revision) = model.split_once('@').unwrap_or((model, "main"));
        // These become parts of paths and addresses, so nothing else may come through.
        let is_name = |part: &str| {
            !matches!(part, "" | "." | "..") && part.chars().all(|c| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c))
        };
        let is_id = id.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name));
        if !is_id || !revision.split('/').all(is_name) {
            return Err(Error::invalid(format!(
                "{model:?} is not a model of the hub; write owner/name, or owner/name@revision with a branch, tag or commit"
            )));
        }
        Ok(Self { id: id.to_owned(), revision: revision.to_owned() })
    }

    /// `owner/name`.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn name(&self) -> &str {
        self.id.rsplit('/').next().unwrap_or(&self.id)
    }

    pub(super) fn revision(&self) -> &str {
        &self.revision
    }

    /// Whether the revision is a commit, which never means anything else.
    pub(super) fn is_pinned(&self) -> bool {
        is_commit(&self.revision)
    }

    pub(super) fn unusable(&self, reason: impl Into<String>) -> Error {
        Error::Model { model: self.to_string(), reason: reason.into(), source: None }
    }

    pub(super) fn unavailable(&self, hint: impl Into<String>) -> Error {
        Error::ModelUnavailable { model: self.to_string(), hint: hint.into() }
    }
}

pub(super) fn is_commit(revision: &str) -> bool {
    revision.len() == 40 && revision.chars().all(|c| c.is_ascii_hexdigit())
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.revision.as_str() {
            "main" => f.write_str(&self.id),
            revision => write!(f, "{}@{revision}", self.id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_follows_an_at_sign() {
        let parsed = |model| Repository::parse(model).expect("a model");
        assert_eq!((parsed("BAAI/bge-m3").id(), parsed("BAAI/bge-m3").revision()), ("BAAI/bge-m3", "main"));
        assert_eq!(parsed("a/b@refs/pr/3").revision(), "refs/pr/3");
        assert_eq!(parsed("a/b@v1.0").to_string(), "a/b@v1.0");
        assert!(parsed("a/b@0123456789abcdef0123456789abcdef01234567").is_pinned());
        assert!(!parsed("a/b").is_pinned());
    }

    #[test]
    fn what_would_leave_the_cache_or_the_address_is_refused() {
        for model in ["", "name", "a/", "/b", "a/b/c", "../b", "a/..", "a/b@", "a/b@../..", "a/b@/x", "a b/c", "a/b?x=1", "a/b#c"]
        {
            assert!(matches!(Repository::parse(model), Err(Error::InvalidInput(_))), "{model:?}");
        }
    }
}
