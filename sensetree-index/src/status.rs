//! What is known about a file, and how that is kept in its document's note.

use std::path::Path;

use sensetree_core::{DocumentInfo, DocumentKey, Error, Filter, Result};
use serde::Serialize;

use crate::{Indexer, context::one_line, stamp::Observed, sync::on_thread};

/// How often a file is tried, in as many syncs, when what went wrong may pass.
pub(crate) const TRIES: u32 = 3;

const BY_NAME: &str = "by name only: ";
const FAILED: &str = "failed, try ";
const FAILED_FOR_GOOD: &str = "failed for good, try ";
const SUMMARY: &str = "summary: ";

/// What became of a file so far.
///
/// It is kept in the document's [note](DocumentInfo::note), in the same commit as the document, so it can neither be lost nor
/// disagree with what is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// The store does not hold the file's present state; the next sync sees to it.
    Pending,
    /// It is found by its content.
    Indexed {
        /// How the text was had: the format, and the encoding when it is not UTF-8.
        how: String,
    },
    /// It is found by name, folder and type only, and not tried again while it stays the same.
    Skipped {
        /// Why, for a person.
        reason: String,
    },
    /// It could not be read in time, or its text could not be embedded. It is found by name, or by the content that it had before.
    Failed {
        /// Why, for a person.
        reason: String,
        /// How often it was tried.
        tries: u32,
        /// Whether it is left alone until it changes: after three tries, or at once when trying again cannot help.
        is_final: bool,
    },
}

impl Status {
    /// What the store says about a document. Never [`Status::Pending`].
    pub fn of(document: &DocumentInfo) -> Self {
        Note::parse(&document.note).status
    }
}

impl Indexer {
    /// What is known about one file, or one folder that is indexed as one. A file that changed since it was indexed is
    /// [pending](Status::Pending), as is one that the store does not hold, even when no sync would index it. One that is gone from
    /// the disk keeps what is known about it until a sync removes it.
    ///
    /// For many files, list [`Store::documents`](sensetree_core::Store::documents) and use [`Status::of`].
    ///
    /// # Errors
    /// What the store says when it cannot be read, [`Error::Other`] when the system gives no thread for looking at the file.
    pub async fn status(&self, path: impl AsRef<Path>) -> Result<Status> {
        let path = path.as_ref();
        let absolute = std::path::absolute(path).map_err(Error::io("find the absolute path of", path))?;
        let filter = Filter::everything().documents([DocumentKey::from_path(&absolute)]);
        let Some(document) = self.store.documents(&filter).await?.pop() else { return Ok(Status::Pending) };
        let metadata = on_thread("look at a file", move || std::fs::metadata(absolute)).await?;
        let has_changed = metadata.is_ok_and(|metadata| !Observed::of(&metadata).looks_like(&document.stamp));
        Ok(if has_changed { Status::Pending } else { Status::of(&document) })
    }
}

/// A document's note: a line with the status, and one with the summary when there is one. For people to read as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) status: Status,
    pub(crate) summary: Option<String>,
}

impl Note {
    pub(crate) fn parse(note: &str) -> Self {
        let mut lines = note.lines();
        let status = status(lines.next().unwrap_or_default());
        Self { status, summary: lines.next().and_then(|line| line.strip_prefix(SUMMARY)).map(str::to_owned) }
    }

    pub(crate) fn write(&self) -> String {
        let first = match &self.status {
            Status::Pending => String::new(),
            Status::Indexed { how } => one_line(how),
            Status::Skipped { reason } => format!("{BY_NAME}{}", one_line(reason)),
            Status::Failed { reason, tries, is_final } => {
                format!("{}{tries}: {}", if *is_final { FAILED_FOR_GOOD } else { FAILED }, one_line(reason))
            }
        };
        match &self.summary {
            Some(summary) => format!("{first}\n{SUMMARY}{}", one_line(summary)),
            None => first,
        }
    }
}

fn status(line: &str) -> Status {
    let failed = |line: &str, is_final| {
        let (tries, reason) = line.split_once(": ")?;
        Some(Status::Failed { reason: reason.to_owned(), tries: tries.parse().ok()?, is_final })
    };
    (by_name_reason(line).map(|reason| Status::Skipped { reason: reason.to_owned() }))
        .or_else(|| failed(line.strip_prefix(FAILED_FOR_GOOD)?, true))
        .or_else(|| failed(line.strip_prefix(FAILED)?, false))
        .unwrap_or_else(|| Status::Indexed { how: line.to_owned() })
}

/// Whether a note may say that a file failed. A sync asks this of every file, and reading the whole note takes longer.
pub(crate) fn may_have_failed(note: &str) -> bool {
    note.starts_with(FAILED) || note.starts_with(FAILED_FOR_GOOD)
}

/// Why a stored document can be found by name only, if that is so.
pub(crate) fn by_name_reason(note: &str) -> Option<&str> {
    note.lines().next()?.strip_prefix(BY_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_status() -> impl Strategy<Value = Status> {
        prop_oneof![
            "[A-Z][a-z]{0,9}( \\([a-z0-9-]{1,9}\\))?".prop_map(|how| Status::Indexed { how }),
            "[a-z][a-z: ]{0,20}[a-z]".prop_map(|reason| Status::Skipped { reason: one_line(&reason) }),
            ("[a-z][a-z:é ]{0,20}[a-z]", any::<u32>(), any::<bool>()).prop_map(|(reason, tries, is_final)| Status::Failed {
                reason: one_line(&reason),
                tries,
                is_final
            }),
        ]
    }

    proptest! {
        #[test]
        fn a_note_is_read_as_it_was_written(status in any_status(), summary in prop::option::of("[a-z][a-z:\\. ]{0,30}[a-z]")) {
            let note = Note { status, summary: summary.map(|summary| one_line(&summary)) };
            let has_failed = matches!(note.status, Status::Failed { .. });
            prop_assert!(!has_failed || may_have_failed(&note.write()));
            prop_assert_eq!(Note::parse(&note.write()), note);
        }

        #[test]
        fn any_note_can_be_read(note in any::<String>()) {
            let again = Note::parse(&note).write();
            prop_assert_eq!(Note::parse(&again).write(), again);
        }
    }

    #[test]
    fn a_reason_of_many_lines_does_not_become_a_summary() {
        let status = Status::Failed { reason: "one\nsummary: two".into(), tries: 1, is_final: false };
        let note = Note { status, summary: None }.write();
        assert_eq!(note, "failed, try 1: one summary: two");
        assert_eq!(Note::parse(&note).summary, None);
    }
}
