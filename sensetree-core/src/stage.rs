use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;

use crate::{Candidate, Query, Result};

/// A step between fusion and the final page: reorder, drop, annotate.
///
/// The order of the returned list is the ranking. A stage that fails, or panics, is reported as failed and its input stands.
#[async_trait]
pub trait Stage: Debug + Send + Sync + 'static {
    /// A name for the report.
    fn name(&self) -> &str;

    /// Candidates in, candidates out, best first. It may drop some; it must not invent or repeat any.
    ///
    /// # Errors
    /// Any; the candidates go on as they came.
    async fn apply(&self, query: &Query, candidates: Vec<Candidate>) -> Result<Vec<Candidate>>;
}

#[async_trait]
impl<T: Stage + ?Sized> Stage for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    async fn apply(&self, query: &Query, candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        (**self).apply(query, candidates).await
    }
}
