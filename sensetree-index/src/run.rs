//! What a sync does with the files as they come: qualify, embed, commit.

mod commit;
mod qualify;

use std::{
    collections::HashMap,
    mem,
    path::PathBuf,
    time::{Duration, Instant},
};

use sensetree_core::{DocumentInfo, DocumentKey, Error, FileStamp, Result};
use tokio::sync::mpsc;

use crate::{
    Event, Indexer, Outcome, Report,
    batch::{self, Batch},
    draft::{Draft, Fate},
    embed::{CALL_TEXTS, Extent, embed},
    orphans::Orphans,
    plan::{Known, Plan},
    read::{Content, FileRead},
    report::FileNote,
    stamp::now,
    status::{Note, Status},
};

/// Questions to the qualifier at once.
const QUALIFIED_AT_ONCE: usize = 4;
/// In a long run the store is tidied up after so many commits, since each leaves something that the next ones and searches look through.
pub(crate) const TIDY_AFTER: usize = 128;
/// A changed document keeps its summary as long as this share of its chunks stays: asking again for every edit would give all
/// chunks another context, and so another vector.
const SUMMARY_STAYS: f64 = 0.5;

pub(crate) struct Run<'a> {
    indexer: &'a Indexer,
    progress: &'a mut (dyn FnMut(Event) + Send),
    report: Report,
    batch: Batch,
    /// When the run began, on the clock of the stamps.
    started: i64,
    known: HashMap<DocumentKey, Known>,
    orphans: Orphans,
    /// Files and folders that have not come yet.
    expected: usize,
    /// Wait for the qualifier.
    unqualified: Vec<Draft>,
    /// Those for which it failed: since it last succeeded if that may pass, or before it has ever succeeded.
    doubtful: Vec<(Draft, Error)>,
    /// Whether the qualifier has answered in this run.
    qualifier_works: bool,
    /// Documents that it refused, and why it refused the first.
    refused: (u64, String),
    /// Commits since the store was last tidied up.
    untidy: usize,
}

impl<'a> Run<'a> {
    pub(crate) fn new(indexer: &'a Indexer, progress: &'a mut (dyn FnMut(Event) + Send)) -> Self {
        Self {
            indexer,
            progress,
            report: Report::default(),
            batch: Batch::default(),
            started: now(),
            known: HashMap::new(),
            orphans: Orphans::default(),
            expected: 0,
            unqualified: Vec::new(),
            doubtful: Vec::new(),
            qualifier_works: false,
            refused: Default::default(),
            untidy: 0,
        }
    }

    pub(crate) fn tell(&mut self, event: Event) {
        (self.progress)(event);
    }

    pub(crate) fn begin(&mut self, walk: Duration, plan: &Plan, folders: usize) {
        self.tell(Event::Started {
            files: (plan.jobs.len() + folders) as u64,
            bytes: plan.jobs.iter().map(|job| job.found.observed.size).sum(),
            unchanged: plan.unchanged,
            removed: (plan.removed.len() + plan.orphans.len()) as u64,
        });
        self.report.timings.walk = walk;
        self.report.unchanged = plan.unchanged;
        self.report.skipped.clone_from(&plan.skipped);
        self.report.failed.clone_from(&plan.failed);
        self.report.warnings.clone_from(&plan.warnings);
    }

    pub(crate) fn expect(&mut self, known: HashMap<DocumentKey, Known>, orphans: Vec<DocumentInfo>, files: usize) {
        (self.known, self.orphans, self.expected) = (known, Orphans::new(orphans), files);
    }

    pub(crate) async fn remove(&mut self, documents: Vec<DocumentInfo>) -> Result<()> {
        for documents in documents.chunks(batch::REMOVALS) {
            let keys: Vec<DocumentKey> = documents.iter().map(|document| document.key.clone()).collect();
            let started = Instant::now();
            self.indexer.store.commit(Vec::new(), &keys).await?;
            self.untidy += 1;
            self.report.timings.commit += started.elapsed();
            self.report.removed += keys.len() as u64;
            documents.iter().for_each(|document| self.tell(Event::Removed { path: document.path.to_path_buf() }));
            self.tell(Event::Committed { documents: 0, chunks: 0, removed: keys.len() as u64 });
        }
        Ok(())
    }

    /// The next file that was read, none once the run is stopped. Before waiting for a slow one, what has been ready for long is
    /// committed.
    pub(crate) async fn next(&mut self, files: &mut mpsc::Receiver<FileRead>) -> Result<Option<FileRead>> {
        if !self.may_go_on() {
            return Ok(None);
        }
        if let Ok(file) = files.try_recv() {
            return Ok(Some(file));
        }
        if self.batch.is_old() {
            self.flush().await?;
        }
        Ok(files.recv().await)
    }

    pub(crate) async fn take(&mut self, file: FileRead) -> Result<()> {
        if !self.may_go_on() {
            return Ok(());
        }
        self.expected -= 1;
        let FileRead { path, key, size, took, content } = file;
        self.report.timings.read += took;
        match content {
            Content::Draft(draft) => {
                self.report.bytes += bytes_read(size, &draft.document.stamp);
                self.tell(Event::Read { path, chunks: draft.chunks.len() });
                // A large file takes long to embed; the small ones before it need not wait for that.
                if draft.chunks.len() >= batch::CHUNKS {
                    self.flush().await?;
                }
                self.prepare(*draft).await?;
            }
            Content::Unchanged { by_name } => {
                if let Some(known) = self.known.remove(&key) {
                    self.report.bytes += bytes_read(size, &known.info.stamp);
                    self.stays(path, size, known, by_name).await?;
                }
            }
            // A file that is tried again is read as if it were not known.
            Content::Gone { was_known } if self.known.remove(&key).is_some() || was_known => self.batch.gone.push((key, path)),
            Content::Gone { .. } => self.finished(path, size, Outcome::Removed),
            Content::Failed(error) => self.failed(path, size, &error, 0),
        }
        self.batch.note_time();
        if self.unqualified.len() >= QUALIFIED_AT_ONCE {
            self.qualify().await?;
        }
        if self.batch.waiting_chunks() >= CALL_TEXTS {
            self.embed(Extent::FullCalls).await?;
        }
        if self.batch.is_old() {
            self.flush().await?;
        } else if self.batch.is_full() {
            self.commit().await?;
        }
        Ok(())
    }

    /// Finds what the store has already of a document that was read: its vectors and its summary.
    async fn prepare(&mut self, mut draft: Draft) -> Result<()> {
        let document = &draft.document;
        let started = Instant::now();
        let (known, orphan) = match self.known.get(&document.key) {
            Some(known) => (Some(&known.info), None),
            None => (None, self.orphans.take(&document.path, &document.stamp)),
        };
        draft.is_known = known.is_some();
        let mut summary = None;
        if let Some(orphan) = orphan {
            let stored = self.indexer.store.chunks(&orphan.key).await?;
            draft.inherit(&orphan.path, &stored);
            summary = Note::parse(&orphan.note).summary;
            draft.fate = Fate::Moved { from: orphan.key, path: orphan.path.to_path_buf() };
        } else if let Some(known) = known {
            draft.stored = self.indexer.store.chunks(&known.key).await?;
            summary = Note::parse(&known.note).summary.filter(|_| draft.kept() >= SUMMARY_STAYS);
        }
        self.report.timings.commit += started.elapsed();
        // What has no text says all about itself with its name.
        if self.indexer.qualifier.is_some() && summary.is_none() && !draft.is_complete && !draft.is_folder() {
            self.unqualified.push(draft);
        } else {
            self.wait(draft, summary.as_deref());
        }
        Ok(())
    }

    /// The texts of a draft are complete, and what is left of its chunks waits for the embedder.
    fn wait(&mut self, mut draft: Draft, summary: Option<&str>) {
        draft.qualify(summary);
        draft.reuse();
        let is_ready = draft.open().next().is_none();
        if is_ready { &mut self.batch.ready } else { &mut self.batch.waiting }.push(draft);
    }

    fn may_go_on(&self) -> bool {
        self.report.stopped.is_none()
    }

    fn stop(&mut self, part: &str, reason: &str) {
        self.report.stopped.get_or_insert_with(|| format!("{part} cannot be reached at the moment: {reason}"));
    }

    /// A file that was read and is the same. What is known about it is refreshed, so that it need not be read the next time.
    async fn stays(&mut self, path: PathBuf, size: u64, known: Known, by_name: Option<String>) -> Result<()> {
        let Known { info, observed } = known;
        match Status::of(&info) {
            Status::Failed { reason, tries, .. } => {
                self.report.failed.push(FileNote::new(&path, &reason).tried(tries));
                self.finished(path, size, Outcome::Failed { reason });
            }
            _ => {
                self.report.unchanged += 1;
                self.report.skipped.extend(by_name.map(|reason| FileNote::new(&path, reason)));
                self.finished(path, size, Outcome::Unchanged);
            }
        }
        // The hash belongs to a later moment than what was observed. A change between the two is one after `started`, so it either
        // shows in the times, or comes too soon after them for `is_current`.
        let stamp = observed.stamp(self.started, info.stamp.hash.clone());
        if !observed.looks_like(&info.stamp) || observed.is_current(&stamp, self.indexer.config.max_file_size) {
            let started = Instant::now();
            let chunks = self.indexer.store.chunks(&info.key).await?;
            self.report.timings.commit += started.elapsed();
            if !chunks.is_empty() {
                self.batch.ready.push(Draft::of_stored(DocumentInfo { stamp, ..info }, chunks));
            }
        }
        Ok(())
    }

    /// Qualifies, embeds and commits everything that came so far.
    async fn flush(&mut self) -> Result<()> {
        self.qualify().await?;
        self.embed(Extent::Everything).await?;
        self.commit().await
    }

    /// Embeds what waits. When the embedder has given up altogether, what was ready before is committed all the same.
    async fn embed(&mut self, extent: Extent) -> Result<()> {
        if !self.may_go_on() {
            return Ok(());
        }
        let started = Instant::now();
        let mut drafts = mem::take(&mut self.batch.waiting);
        let (progress, embedded) = (&mut self.progress, &mut self.report.chunks_embedded);
        let count = |chunks| {
            *embedded += chunks as u64;
            progress(Event::Embedded { chunks });
        };
        let result = embed(&*self.indexer.embedder, &mut drafts, extent, count).await;
        self.report.timings.embed += started.elapsed();
        let (ready, waiting): (Vec<_>, Vec<_>) = drafts.into_iter().partition(|draft| draft.open().next().is_none());
        self.batch.ready.extend(ready);
        self.batch.waiting = waiting;
        match result {
            Err(error) if error.is_transient() => {
                self.stop("the embedder", &error.chain());
                Ok(())
            }
            Err(error) => {
                self.commit().await?;
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }

    /// Ends the run: what is ready is committed, and what is left is counted.
    pub(crate) async fn finish(mut self) -> Result<Report> {
        self.flush().await?;
        if self.may_go_on() && self.expected > 0 {
            return Err(Error::contract("reader", format!("{} files were not read", self.expected)));
        }
        match self.outage().filter(|_| !self.qualifier_works) {
            // It has answered for no file, so it is the service rather than these few.
            Some(reason) => self.stop("the qualifier", &reason),
            None if self.may_go_on() => {
                self.settle_the_doubtful();
                self.flush().await?;
            }
            None => {}
        }
        if self.report.stopped.is_some() {
            let left = self.expected + self.unqualified.len() + self.doubtful.len() + self.batch.waiting.len();
            self.report.pending = left as u64;
        } else {
            // Those that may still turn up in a pending file stay.
            let lost = mem::take(&mut self.orphans).into_documents();
            self.remove(lost).await?;
        }
        if self.refused.0 > 0 {
            let (count, reason) = &self.refused;
            self.report.warnings.push(format!("{count} documents have no summary: {reason}"));
        }
        self.maintain().await;
        self.report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.report.failed.sort_by(|a, b| a.path.cmp(&b.path));
        let Report { new, changed, moved, unchanged, removed, pending, chunks, .. } = self.report;
        tracing::info!(
            new,
            changed,
            moved,
            unchanged,
            removed,
            pending,
            failed = self.report.failed.len(),
            chunks,
            "synchronised"
        );
        Ok(self.report)
    }

    /// What is committed can be searched without it, so a store that cannot tidy up is worth a warning and no more.
    async fn maintain(&mut self) {
        if mem::take(&mut self.untidy) == 0 {
            return;
        }
        self.tell(Event::Maintaining);
        let started = Instant::now();
        if let Err(error) = self.indexer.store.maintain().await {
            let warning = format!("everything is stored, but the store could not tidy up: {}", error.chain());
            if !self.report.warnings.contains(&warning) {
                self.report.warnings.push(warning);
            }
        }
        self.report.timings.maintain += started.elapsed();
    }

    fn failed(&mut self, path: PathBuf, size: u64, error: &Error, tries: u32) {
        let reason = error.chain();
        tracing::warn!(path = %path.display(), reason, "not indexed");
        self.report.failed.push(FileNote::new(&path, &reason).tried(tries));
        self.finished(path, size, Outcome::Failed { reason });
    }

    fn finished(&mut self, path: PathBuf, bytes: u64, outcome: Outcome) {
        self.tell(Event::Finished { path, bytes, outcome });
    }
}

/// A file over the size cap has no hash, since it was not read.
fn bytes_read(size: u64, stamp: &FileStamp) -> u64 {
    if stamp.hash.is_empty() { 0 } else { size }
}
