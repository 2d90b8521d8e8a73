//! What a person asks.

use std::{path::Path, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Filter, Result, Scope};

const DEFAULT_LIMIT: usize = 20;
/// The most results that one page can have.
pub const MAX_LIMIT: usize = 100;

/// A question, where to look for the answer, and how many results to return.
///
/// ```
/// # use sensetree_core::Query;
/// let query = Query::new("submission deadline of the tender").under("/home/me/projects")?.limit(500);
/// assert_eq!(query.page_size(), 100);
/// # Ok::<(), sensetree_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Query {
    text: String,
    filter: Filter,
    limit: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget: Option<Duration>,
}

impl Query {
    /// A question over everything, 20 results.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), filter: Filter::everything(), limit: DEFAULT_LIMIT, budget: None }
    }

    /// Restricts the search to a folder. Called again: to any of the folders.
    ///
    /// # Errors
    /// As [`Scope::folder`].
    pub fn under(mut self, folder: impl AsRef<Path>) -> Result<Self> {
        self.filter = self.filter.under(Scope::folder(folder)?);
        Ok(self)
    }

    /// Replaces the filter.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// How many results at most; clamped to 1..=100, 20 by default.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit.clamp(1, MAX_LIMIT);
        self
    }

    /// How long the search may take. What has not finished by then is dropped and reported; what has is the answer.
    #[must_use]
    pub fn within(mut self, budget: Duration) -> Self {
        self.budget = Some(budget);
        self
    }

    /// The question.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the search is restricted to.
    pub fn restriction(&self) -> &Filter {
        &self.filter
    }

    /// How long the search may take, if that was said.
    pub fn budget(&self) -> Option<Duration> {
        self.budget
    }

    /// How many results at most, in 1..=100.
    pub fn page_size(&self) -> usize {
        // A deserialised query has not passed through the setter.
        self.limit.clamp(1, MAX_LIMIT)
    }
}
