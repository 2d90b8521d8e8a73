//! What a commit writes, and what it makes of a text that could not be embedded.

use std::{mem, time::Instant};

use sensetree_core::{Document, DocumentInfo, DocumentKey, Error, Result};

use super::{Run, TIDY_AFTER};
use crate::{
    Event, Outcome,
    draft::{Draft, Fate, by_name_reason},
    embed::{Extent, embed},
    report::FileNote,
    status::{Note, Status, TRIES},
};

impl Run<'_> {
    pub(super) async fn commit(&mut self) -> Result<()> {
        let (ready, gone) = self.batch.take_ready();
        let mut removed: Vec<DocumentKey> = gone.iter().map(|(key, _)| key.clone()).collect();
        let mut documents: Vec<Document> = Vec::with_capacity(ready.len());
        let mut written = Vec::with_capacity(ready.len());
        let mut counts = (0, 0);
        for mut draft in ready {
            if let Fate::Moved { from, .. } = &draft.fate {
                removed.push(from.clone());
            }
            if draft.failure.is_some() {
                documents.extend(self.fail(draft).await?);
                continue;
            }
            let (path, size) = (draft.document.path.clone(), draft.document.stamp.size);
            let (fate, is_known, reused) = (mem::take(&mut draft.fate), draft.is_known, draft.reused);
            let document = draft.finish()?;
            if fate != Fate::Noted {
                counts = (counts.0 + document.chunks.len() as u64, counts.1 + reused);
                let skipped = by_name_reason(&document.note).map(|reason| FileNote::new(&path, reason));
                let outcome = match fate {
                    Fate::Moved { path: from, .. } => Outcome::Moved { from },
                    _ if is_known => Outcome::Changed,
                    _ => Outcome::New,
                };
                written.push((path, size, outcome, skipped));
            }
            documents.push(document);
        }
        if documents.is_empty() && removed.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        self.indexer.store.commit(documents, &removed).await?;
        self.untidy += 1;
        self.report.timings.commit += started.elapsed();
        let (chunks, reused) = counts;
        tracing::debug!(documents = written.len(), chunks, reused, "committed");
        let event = Event::Committed { documents: written.len() as u64, chunks, removed: gone.len() as u64 };
        self.report.chunks += chunks;
        self.report.chunks_reused += reused;
        self.report.removed += gone.len() as u64;
        for (path, size, outcome, skipped) in written {
            *match outcome {
                Outcome::New => &mut self.report.new,
                Outcome::Moved { .. } => &mut self.report.moved,
                _ => &mut self.report.changed,
            } += 1;
            self.report.skipped.extend(skipped);
            self.finished(path, size, outcome);
        }
        for (_, path) in gone {
            self.finished(path, 0, Outcome::Removed);
        }
        self.tell(event);
        if self.untidy >= TIDY_AFTER {
            self.maintain().await;
        }
        Ok(())
    }

    /// Reports a text that could not be read in time, or embedded, and gives what the store is to hold instead: what it held before, or the file's
    /// name, with a note that says what happened and keeps it from being tried for ever.
    async fn fail(&mut self, draft: Draft) -> Result<Option<Document>> {
        let Draft { document, failure, stored, about, .. } = draft;
        let Some(error) = failure else { return Ok(None) };
        let known = self.known.get(&document.key).map(|known| (&known.info.stamp.hash, Note::parse(&known.info.note)));
        let (tries, summary) = match known {
            Some((hash, Note { status: Status::Failed { tries, .. }, summary })) if *hash == document.stamp.hash => {
                (tries + 1, summary)
            }
            Some((_, note)) => (1, note.summary),
            None => (1, None),
        };
        let may_pass = error.is_transient() || matches!(error, Error::OutOfTime { .. });
        let status = Status::Failed { reason: error.chain(), tries, is_final: !may_pass || tries >= TRIES };
        let kind = Note::parse(&document.note).status;
        self.failed(document.path.clone(), document.stamp.size, &error, tries);
        if !stored.is_empty() {
            let note = Note { status, summary }.write();
            let info = DocumentInfo { key: document.key, path: document.path.into(), stamp: document.stamp, note };
            return Draft::of_stored(info, stored).finish().map(Some);
        }
        let kind = match &kind {
            Status::Indexed { how } => how,
            _ => "",
        };
        let Some(about) = about else { return Ok(None) };
        let mut named = [Draft::named(document, &about, kind, status)];
        // A name that cannot be embedded either leaves nothing to store; the next sync tries the file again.
        let result = embed(&*self.indexer.embedder, &mut named, Extent::Everything, |_| {}).await;
        let [named] = named;
        Ok(result.and_then(|()| named.finish()).ok())
    }
}
