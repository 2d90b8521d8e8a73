use std::{path::PathBuf, sync::Arc};

use sensetree_core::{DocumentKey, Location};
use serde::Serialize;

use crate::{SearchResult, tree::name::file_url};

/// Every excerpt that a conversation has shown to its model, numbered once from 1: the same chunk of the same file keeps its
/// number, however often it is found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Sources {
    list: Vec<Source>,
}

/// A chunk of a file that an answer may cite.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// What it is cited by, from 1.
    pub number: u32,
    /// Identity of the file.
    pub key: DocumentKey,
    /// For opening the file: the path with its own bytes.
    #[serde(serialize_with = "crate::page::lossy")]
    pub path: Arc<PathBuf>,
    /// Which chunk of the file.
    pub chunk: u32,
    /// Where the chunk stands in the file's text.
    pub location: Location,
    /// The part that matched when it was first found.
    pub snippet: String,
}

impl Source {
    /// The `file:` URL; none when the path is not absolute.
    pub fn url(&self) -> Option<String> {
        file_url(&self.path)
    }
}

impl Sources {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of a result, which joins the list unless it is there.
    pub fn add(&mut self, result: &SearchResult) -> u32 {
        if let Some(known) = self.list.iter().find(|source| source.key == result.key && source.chunk == result.chunk) {
            return known.number;
        }
        let number = u32::try_from(self.list.len() + 1).unwrap_or(u32::MAX);
        self.list.push(Source {
            number,
            key: result.key.clone(),
            path: result.path.clone(),
            chunk: result.chunk,
            location: result.location.clone(),
            snippet: result.snippet.text.clone(),
        });
        number
    }

    /// The source of a number.
    pub fn get(&self, number: u32) -> Option<&Source> {
        self.list.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.list.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
