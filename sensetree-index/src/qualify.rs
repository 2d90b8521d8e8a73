//! Summaries of documents.

#[cfg(feature = "http")]
mod chat;

use std::{fmt::Debug, path::Path, sync::Arc};

use async_trait::async_trait;
use sensetree_core::Result;

#[cfg(feature = "http")]
pub use chat::ChatQualifier;

/// Characters of a document that a qualifier is given.
pub const SUBJECT_CHARS: usize = 16_000;

/// A document to be summarised.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Subject<'a> {
    /// The file.
    pub path: &'a Path,
    /// The document's own title; empty when it has none, or only repeats its file name.
    pub title: &'a str,
    /// The folders that it is in, from the root, at most the last three; empty in the root.
    pub folder: &'a str,
    /// The start of its text: at most [`SUBJECT_CHARS`] characters.
    pub text: &'a str,
}

impl<'a> Subject<'a> {
    /// A document with its text, without title and folder.
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        Self { path, title: "", folder: "", text }
    }
}

/// Says in a sentence or two what a document is about.
///
/// The first chunk is stored and embedded with at most 300 characters of it; all other chunks are embedded with its first sentence,
/// at most 50 characters.
///
/// It is asked for documents with text that are new or have changed in more than half of their chunks; a summary stays with its
/// document when that moves, or changes less. Several calls run at once.
#[async_trait]
pub trait Qualifier: Debug + Send + Sync + 'static {
    /// The summary; line breaks become spaces, and an empty one is none.
    ///
    /// # Errors
    /// A [transient](sensetree_core::Error::is_transient) error leaves the file for later; when three files in a row fail like this the
    /// sync stops, with what is left pending. After any other error the document is indexed without a summary, and the report has a
    /// warning; only when the first three fail so does the sync end with the error.
    async fn qualify(&self, subject: Subject<'_>) -> Result<String>;
}

#[async_trait]
impl<T: Qualifier + ?Sized> Qualifier for Arc<T> {
    async fn qualify(&self, subject: Subject<'_>) -> Result<String> {
        (**self).qualify(subject).await
    }
}
