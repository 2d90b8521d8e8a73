//! Summaries, and what a qualifier that fails means for the files that wait for it.

use std::{mem, time::Instant};

use futures::future::join_all;
use sensetree_core::{Error, Result};

use super::Run;
use crate::{
    Subject,
    context::one_line,
    draft::Draft,
    embed::{Extent, guarded},
    qualify::SUBJECT_CHARS,
};

/// So many failures of the qualifier in a row, and the fault is not with the files.
const FAILURES: usize = 3;

impl Run<'_> {
    /// Asks the qualifier for those that wait for it.
    pub(super) async fn qualify(&mut self) -> Result<()> {
        let Some(qualifier) = self.indexer.qualifier.as_ref().filter(|_| self.may_go_on() && !self.unqualified.is_empty()) else {
            return Ok(());
        };
        let drafts = mem::take(&mut self.unqualified);
        let started = Instant::now();
        let summaries = join_all(drafts.iter().map(|draft| async {
            let Some(about) = &draft.about else { return Ok(String::new()) };
            let text = draft.opening(SUBJECT_CHARS);
            let subject = Subject { path: &draft.document.path, title: about.title(), folder: about.folder(), text: &text };
            guarded("qualifier", qualifier.qualify(subject)).await
        }))
        .await;
        self.report.timings.qualify += started.elapsed();
        for (draft, summary) in drafts.into_iter().zip(summaries) {
            match summary.map(|summary| one_line(&summary)) {
                Ok(summary) => {
                    self.qualifier_works = true;
                    self.settle_the_doubtful();
                    self.wait(draft, Some(summary.as_str()).filter(|summary| !summary.is_empty()));
                }
                Err(error) if self.qualifier_works && !error.is_transient() => self.refused(draft, &error),
                Err(error) => self.doubtful.push((draft, error)),
            }
        }
        if self.doubtful.len() < FAILURES {
            return Ok(());
        }
        if let Some(reason) = self.outage() {
            self.stop("the qualifier", &reason);
            return Ok(());
        }
        // It refuses whatever it is asked.
        self.embed(Extent::Everything).await?;
        self.commit().await?;
        Err(self.doubtful.swap_remove(0).1)
    }

    /// What speaks for the service rather than the files being at fault.
    pub(super) fn outage(&self) -> Option<String> {
        self.doubtful.iter().map(|(_, error)| error).find(|error| error.is_transient()).map(Error::chain)
    }

    /// The qualifier answers, so what it failed for is at fault.
    pub(super) fn settle_the_doubtful(&mut self) {
        for (mut draft, error) in mem::take(&mut self.doubtful) {
            if error.is_transient() {
                draft.failure = Some(error);
                self.batch.ready.push(draft);
            } else {
                self.refused(draft, &error);
            }
        }
    }

    fn refused(&mut self, draft: Draft, error: &Error) {
        let reason = error.chain();
        tracing::warn!(path = %draft.document.path.display(), reason, "not summarised");
        self.refused.0 += 1;
        if self.refused.1.is_empty() {
            self.refused.1 = reason;
        }
        self.wait(draft, None);
    }
}
