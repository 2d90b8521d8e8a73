//! The run: survey, remove, read, embed, commit, maintain.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use sensetree_core::{DocumentInfo, DocumentKey, Error, Filter, Result, Scope};
use tokio::sync::mpsc;

use crate::{
    Event, Indexer, Outcome, Report,
    batch::{self, Batch},
    draft::by_name_reason,
    embed::{CALL_TEXTS, Extent, embed},
    plan::{Plan, plan},
    read::{self, Content, FileRead},
    report::FileNote,
    walk::walk,
};

impl Indexer {
    /// Makes the store hold what the files under `roots` hold now. A root is a folder or a single file.
    ///
    /// Files are told apart by size and time, and by the hash of their content when these cannot be trusted; unchanged files
    /// cost no embedding. Documents whose file is gone, ignored or excluded now leave the store. Other roots' documents are
    /// not touched. What cannot be read stays as it was and is reported.
    ///
    /// Documents are committed in batches: of 64 or a few more, of 256 chunks, or after 5 seconds. Dropping the future, or killing the
    /// process, leaves whole documents; the next sync goes on where this one stopped. `progress` is called from the task
    /// that polls the future and must not block.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::InvalidInput`] for a root that is not there; nothing is changed then. What the store says
    /// when it cannot be read or written. What the embedder says when it cannot embed anything at all, after the documents
    /// that were ready are committed; a file whose text alone cannot be embedded is reported in [`Report::failed`] instead.
    pub async fn sync<P: AsRef<Path> + Sync>(&self, roots: &[P], mut progress: impl FnMut(Event) + Send) -> Result<Report> {
        let mut absolute = Vec::with_capacity(roots.len());
        for root in roots {
            let root = root.as_ref();
            absolute.push(std::path::absolute(root).map_err(Error::io("find the absolute path of", root))?);
        }
        // Outer roots first: a file under several belongs to the outermost, whatever order they were given in.
        absolute.sort_by_cached_key(|root| DocumentKey::from_path(root));
        absolute.dedup();
        if absolute.is_empty() {
            return Ok(Report::default());
        }
        let run = Run { indexer: self, progress: &mut progress, report: Report::default(), batch: Batch::default() };
        Box::pin(run.run(absolute)).await
    }
}

struct Run<'a> {
    indexer: &'a Indexer,
    progress: &'a mut (dyn FnMut(Event) + Send),
    report: Report,
    batch: Batch,
}

impl Run<'_> {
    async fn run(mut self, roots: Vec<PathBuf>) -> Result<Report> {
        let plan = self.survey(roots).await?;
        let expected = plan.jobs.len();
        (self.progress)(Event::Started {
            files: expected as u64,
            bytes: plan.jobs.iter().map(|job| job.found.observed.size).sum(),
            unchanged: plan.unchanged,
            removed: plan.removed.len() as u64,
        });
        self.report.unchanged = plan.unchanged;
        (self.report.skipped, self.report.failed, self.report.warnings) = (plan.skipped, plan.failed, plan.warnings);
        self.remove(plan.removed.into_iter().map(|(key, _)| key).collect()).await?;

        let mut files = read::start(&self.indexer.config, plan.jobs)?;
        let mut answered = 0;
        while let Some(file) = self.next(&mut files).await? {
            answered += 1;
            self.take(file).await?;
        }
        self.flush().await?;
        if answered < expected {
            return Err(Error::contract("reader", format!("{} of {expected} files were not read", expected - answered)));
        }
        self.maintain().await;
        self.report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.report.failed.sort_by(|a, b| a.path.cmp(&b.path));
        let Report { new, changed, unchanged, removed, chunks, .. } = self.report;
        tracing::info!(new, changed, unchanged, removed, failed = self.report.failed.len(), chunks, "synchronised");
        Ok(self.report)
    }

    /// Walks and compares on a thread of its own.
    async fn survey(&mut self, roots: Vec<PathBuf>) -> Result<Plan> {
        let started = Instant::now();
        let scopes = roots.iter().map(Scope::folder).collect::<Result<Vec<_>>>()?;
        let filter = scopes.into_iter().fold(Filter::everything(), Filter::under);
        let stored = self.indexer.store.documents(&filter).await?;
        let mut steps = start_survey(self.indexer, roots, stored)?;
        let plan = loop {
            match steps.recv().await {
                Some(Step::Found { files, bytes }) => (self.progress)(Event::Found { files, bytes }),
                Some(Step::Done(plan)) => break plan?,
                None => return Err(Error::contract("walker", "it panicked")),
            }
        };
        self.report.timings.walk = started.elapsed();
        Ok(plan)
    }

    async fn remove(&mut self, keys: Vec<DocumentKey>) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        self.indexer.store.commit(Vec::new(), &keys).await?;
        self.report.timings.commit += started.elapsed();
        self.report.removed += keys.len() as u64;
        (self.progress)(Event::Committed { documents: 0, chunks: 0, removed: keys.len() as u64 });
        Ok(())
    }

    /// The next file that was read. Before waiting for a slow one, what has been ready for long is committed.
    async fn next(&mut self, files: &mut mpsc::Receiver<FileRead>) -> Result<Option<FileRead>> {
        if let Ok(file) = files.try_recv() {
            return Ok(Some(file));
        }
        if self.batch.is_old() {
            self.flush().await?;
        }
        Ok(files.recv().await)
    }

    async fn take(&mut self, file: FileRead) -> Result<()> {
        let FileRead { path, key, size, took, content } = file;
        self.report.timings.read += took;
        match content {
            Content::Draft(draft) => {
                // A file over the size cap has no hash, since it was not read.
                self.report.bytes += if draft.document.stamp.hash.is_empty() { 0 } else { size };
                (self.progress)(Event::Read { path, chunks: draft.chunks.len() });
                // A large file takes long to embed; the small ones before it need not wait for that.
                if draft.chunks.len() >= batch::CHUNKS {
                    self.flush().await?;
                }
                self.batch.waiting.push(*draft);
            }
            Content::Unchanged { by_name } => {
                self.report.bytes += size;
                self.report.unchanged += 1;
                self.report.skipped.extend(by_name.map(|reason| FileNote::new(&path, reason)));
                self.finished(path, size, Outcome::Unchanged);
            }
            Content::Gone { was_known: true } => self.batch.gone.push((key, path)),
            Content::Gone { was_known: false } => self.finished(path, size, Outcome::Removed),
            Content::Failed(error) => self.failed(path, size, &error),
        }
        self.batch.note_time();
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

    /// Embeds and commits everything that came so far.
    async fn flush(&mut self) -> Result<()> {
        self.embed(Extent::Everything).await?;
        self.commit().await
    }

    /// Embeds what waits. When the embedder has given up altogether, what was ready before is committed all the same.
    async fn embed(&mut self, extent: Extent) -> Result<()> {
        let started = Instant::now();
        let mut drafts = std::mem::take(&mut self.batch.waiting);
        let progress = &mut self.progress;
        let result = embed(&*self.indexer.embedder, &mut drafts, extent, |chunks| progress(Event::Embedded { chunks })).await;
        self.report.timings.embed += started.elapsed();
        if let Err(error) = result {
            self.commit().await?;
            return Err(error);
        }
        let (ready, waiting): (Vec<_>, Vec<_>) = drafts.into_iter().partition(|draft| draft.open().next().is_none());
        self.batch.ready.extend(ready);
        self.batch.waiting = waiting;
        Ok(())
    }

    async fn commit(&mut self) -> Result<()> {
        let (ready, gone) = self.batch.take_ready();
        let mut documents = Vec::with_capacity(ready.len());
        let mut written = Vec::with_capacity(ready.len());
        let mut chunks = 0;
        for draft in ready {
            let (path, size, is_known) = (draft.document.path.clone(), draft.document.stamp.size, draft.is_known);
            match draft.finish() {
                Ok(document) => {
                    chunks += document.chunks.len() as u64;
                    let skipped = by_name_reason(&document.note).map(|reason| FileNote::new(&path, reason));
                    written.push((path, size, is_known, skipped));
                    documents.push(document);
                }
                Err(error) => self.failed(path, size, &error),
            }
        }
        if documents.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let keys: Vec<DocumentKey> = gone.iter().map(|(key, _)| key.clone()).collect();
        let started = Instant::now();
        self.indexer.store.commit(documents, &keys).await?;
        self.report.timings.commit += started.elapsed();
        tracing::debug!(documents = written.len(), chunks, "committed");
        let counts = Event::Committed { documents: written.len() as u64, chunks, removed: gone.len() as u64 };
        self.report.chunks += chunks;
        self.report.removed += gone.len() as u64;
        for (path, size, is_known, skipped) in written {
            *(if is_known { &mut self.report.changed } else { &mut self.report.new }) += 1;
            self.report.skipped.extend(skipped);
            self.finished(path, size, if is_known { Outcome::Changed } else { Outcome::New });
        }
        for (_, path) in gone {
            self.finished(path, 0, Outcome::Removed);
        }
        (self.progress)(counts);
        Ok(())
    }

    /// What is committed can be searched without it, so a store that cannot tidy up is worth a warning and no more.
    async fn maintain(&mut self) {
        if !self.report.has_changes() {
            return;
        }
        (self.progress)(Event::Maintaining);
        let started = Instant::now();
        if let Err(error) = self.indexer.store.maintain().await {
            self.report.warnings.push(format!("everything is stored, but the store could not tidy up: {}", error.chain()));
        }
        self.report.timings.maintain = started.elapsed();
    }

    fn failed(&mut self, path: PathBuf, size: u64, error: &Error) {
        let reason = error.chain();
        tracing::warn!(path = %path.display(), reason, "not indexed");
        self.report.failed.push(FileNote::new(&path, &reason));
        self.finished(path, size, Outcome::Failed { reason });
    }

    fn finished(&mut self, path: PathBuf, bytes: u64, outcome: Outcome) {
        (self.progress)(Event::Finished { path, bytes, outcome });
    }
}

enum Step {
    Found { files: u64, bytes: u64 },
    Done(Result<Plan>),
}

/// The thread ends with the plan, or soon after the receiver is dropped.
fn start_survey(indexer: &Indexer, roots: Vec<PathBuf>, stored: Vec<DocumentInfo>) -> Result<mpsc::Receiver<Step>> {
    let (steps, receiver) = mpsc::channel(8);
    let config = indexer.config.clone();
    let work = move || {
        let walked = walk(&config, &roots, |files, bytes| steps.blocking_send(Step::Found { files, bytes }).is_ok());
        let plan = walked.map(|walked| plan(walked, stored, config.max_file_size));
        // Nobody waits for it when the sync was cancelled.
        let _ = steps.blocking_send(Step::Done(plan));
    };
    let started = thread::Builder::new().name("sensetree-walk".into()).spawn(work);
    started.map_err(|error| Error::other("start a thread for walking the roots", error))?;
    Ok(receiver)
}
