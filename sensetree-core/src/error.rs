//! One error type for the whole family, so that a caller matches in one place.

use std::{path::PathBuf, time::Duration};

use crate::Fingerprint;

/// A foreign error, kept as the source of ours.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// `Result` with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong: what was being done, on which file or model, and what to do about it.
///
/// The message never repeats its [`source`](std::error::Error::source); print the chain for the whole story.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller asked for something that makes no sense; the message says what to change.
    #[error("{0}")]
    InvalidInput(String),

    /// Reading or writing a file or folder failed.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// A verb in the infinitive: "read", "open the folder".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// The ONNX Runtime library is missing, too old or broken.
    #[error("ONNX Runtime cannot be used: {reason}")]
    Runtime {
        /// What is wrong and what to install or set.
        reason: String,
    },

    /// A model is not there. The pipeline reports the stage as skipped.
    #[error("the model {model} is not available: {hint}")]
    ModelUnavailable {
        /// Name or folder of the model.
        model: String,
        /// How to get it.
        hint: String,
    },

    /// A model's files are damaged or say something that cannot be worked with.
    #[error("the model {model} cannot be used: {reason}")]
    Model {
        /// Name or folder of the model.
        model: String,
        /// Which file, and what is wrong with it.
        reason: String,
        /// The cause, when another library reported it.
        source: Option<BoxError>,
    },

    /// The store was filled by another embedding model; its vectors cannot be compared with this one's.
    #[error(
        "the store was filled with vectors of {stored}, but the embedder is {given}; \
         open it with the first model, or rebuild it for the second from the texts that it holds"
    )]
    FingerprintMismatch {
        /// What the store was filled with.
        stored: Box<Fingerprint>,
        /// What was offered.
        given: Box<Fingerprint>,
    },

    /// The store was written by an incompatible version of the library.
    #[error("the store at {} has format {found}, this version reads format {supported}; index the files again into a new store", path.display())]
    Format {
        /// Where the store is.
        path: PathBuf,
        /// The version found.
        found: String,
        /// The version that this library reads and writes.
        supported: u32,
    },

    /// A vector that no ranking can use: wrong length, not finite, or all zero.
    #[error("an embedding cannot be used: {0}")]
    InvalidEmbedding(String),

    /// A plug-in broke the contract of its trait, or panicked.
    #[error("the {part} broke its contract: {reason}")]
    Contract {
        /// Which part: "embedder", "reranker", a stage's name.
        part: String,
        /// What it returned, and what was expected.
        reason: String,
    },

    /// The database reported an error.
    #[error("cannot {doing} the store at {}", path.display())]
    Store {
        /// A verb in the infinitive: "write to", "search".
        doing: &'static str,
        /// Where the store is.
        path: PathBuf,
        /// What the database said.
        source: BoxError,
    },

    /// A service on the network could not do what was asked.
    #[error("cannot {doing} at {endpoint}: {reason}")]
    Remote {
        /// A verb in the infinitive: "embed texts", "rerank".
        doing: &'static str,
        /// The address that was asked, without secrets.
        endpoint: String,
        /// What happened and what to do about it.
        reason: String,
        /// Whether the same request may work later: the network, a time-out, or the status 408, 429 or 5xx.
        transient: bool,
    },

    /// A part of a search did not finish in its time.
    #[error("the {part} did not finish within the {of}'s time budget of {budget:?}")]
    OutOfTime {
        /// Which part: "embedder", "store", a stage's name.
        part: String,
        /// The budget.
        budget: Duration,
        /// Whose budget it was: "stage" or "query".
        of: &'static str,
    },

    /// Every leg of a search failed, so there is no ranking to show.
    #[error("no leg of the search could run: {0}")]
    AllLegsFailed(String),

    /// Anything else, for implementations outside this family.
    #[error("cannot {doing}")]
    Other {
        /// What was being done.
        doing: String,
        /// The cause.
        source: BoxError,
    },
}

impl Error {
    /// Whether the same work may succeed later without anything being changed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Remote { transient: true, .. })
    }

    /// An [`Error::InvalidInput`].
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::InvalidInput(what.into())
    }

    /// An [`Error::Contract`].
    pub fn contract(part: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Contract { part: part.into(), reason: reason.into() }
    }

    /// An [`Error::Io`]; shaped for `map_err(Error::io("read", path))`.
    pub fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }

    /// An [`Error::Other`], for implementations outside this family.
    pub fn other(doing: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self::Other { doing: doing.into(), source: source.into() }
    }

    /// The message followed by those of its sources, as one line for a person.
    pub fn chain(&self) -> String {
        let mut line = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            let said = cause.to_string();
            if !line.contains(&said) {
                line.push_str(": ");
                line.push_str(&said);
            }
            source = cause.source();
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_names_the_file_and_the_cause_once() {
        let error = Error::io("read", "/notes/a.md")(std::io::Error::other("device gone"));
        assert_eq!(error.to_string(), "cannot read /notes/a.md");
        assert_eq!(error.chain(), "cannot read /notes/a.md: device gone");
    }
}
