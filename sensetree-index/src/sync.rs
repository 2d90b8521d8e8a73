//! The flow of a sync: survey, remove, read, qualify, embed, commit, maintain.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Instant,
};

use sensetree_core::{DocumentInfo, DocumentKey, Error, Filter, Result, Scope};
use tokio::sync::mpsc;

use crate::{
    Event, Indexer, Report,
    block::{self, is_rule},
    chunk::Chunker,
    extract::panic_message,
    indexer::Config,
    plan::{Plan, plan},
    read::{self, FileRead},
    run::Run,
    stored::Stored,
    touched::Touched,
    walk::walk,
};

impl Indexer {
    /// Makes the store hold what the files under `roots` hold now. A root is a folder or a single file.
    ///
    /// Files are told apart by size and time, and by the hash of their content when these cannot be trusted; unchanged files
    /// cost no embedding, nor do the unchanged chunks of a changed file. A file that was moved or renamed within these roots is known by
    /// its content and keeps its vectors, while the words stored for it get its new name; if it was changed as well, or another
    /// file has taken its old name, it is a new file.
    /// Documents whose file is gone, ignored or excluded now leave the store. Other roots' documents are not touched. What cannot be
    /// read stays as it was and is reported, and so do the documents of a root that is suddenly empty or not there.
    ///
    /// Documents are committed in batches: of 64 or a few more, of 256 chunks, or after 5 seconds. Dropping the future, or killing the
    /// process, leaves whole documents; the next sync goes on where this one stopped. `progress` is called from the task
    /// that polls the future and must not block.
    ///
    /// When the embedder cannot reach its service three times in a row, by errors that are
    /// [transient](sensetree_core::Error::is_transient), the run ends and says so in [`Report::stopped`]; what was not reached is
    /// [pending](Report::pending).
    ///
    /// Memory grows with the number of files, by 1 to 2 KiB for each, and not with their content, of which only what is
    /// being read, embedded and committed is held: see [`max_file_size`](crate::IndexerBuilder::max_file_size).
    ///
    /// # Errors
    /// [`Error::Io`] for a root that is not there and of which the store holds nothing, [`Error::InvalidInput`] for one that is
    /// neither a file nor a folder, and for chunks measured in tokens that the embedder cannot count; nothing is changed then. What the store says when it cannot be read or written. What the
    /// embedder says when it cannot embed anything at all and that will not pass, after the documents that were ready are committed; a
    /// file whose text alone cannot be embedded is reported in [`Report::failed`] instead.
    pub async fn sync<P: AsRef<Path> + Sync>(&self, roots: &[P], mut progress: impl FnMut(Event) + Send) -> Result<Report> {
        let roots = absolute(roots)?;
        Box::pin(self.run(roots, None, &mut progress)).await
    }

    /// Like [`sync`](Self::sync), but looks only at `paths`, which are files or folders in the roots that may have changed, come or
    /// gone. Paths outside the roots are left alone.
    ///
    /// The result is that of a sync, if nothing else has changed. A file that moved is only recognised when both its old and its
    /// new path are among `paths`.
    ///
    /// # Errors
    /// As [`sync`](Self::sync).
    pub async fn sync_paths<P: AsRef<Path> + Sync, Q: AsRef<Path> + Sync>(
        &self,
        roots: &[P],
        paths: &[Q],
        mut progress: impl FnMut(Event) + Send,
    ) -> Result<Report> {
        let (roots, paths) = (absolute(roots)?, absolute(paths)?);
        Box::pin(self.run(roots, Some(paths), &mut progress)).await
    }

    async fn run(
        &self,
        mut roots: Vec<PathBuf>,
        paths: Option<Vec<PathBuf>>,
        progress: &mut (dyn FnMut(Event) + Send),
    ) -> Result<Report> {
        let mut run = Run::new(self, progress);
        let started = Instant::now();
        let touched = match paths {
            None => None,
            Some(paths) => {
                let (config, within) = (self.config.clone(), roots.clone());
                let touched = on_thread("look at what changed", move || touched(&config, &within, paths)).await??;
                roots.retain(|root| touched.concerns(root));
                Some(Arc::new(touched))
            }
        };
        if roots.is_empty() || touched.as_ref().is_some_and(|touched| touched.is_empty()) {
            return Ok(Report::default());
        }
        let filter = match &touched {
            Some(touched) => touched.filter(),
            None => {
                roots.iter().try_fold(Filter::everything(), |filter, root| Ok::<_, Error>(filter.under(Scope::folder(root)?)))?
            }
        };
        let chunker = self.chunker().await?;
        let stored = self.store.documents(&filter).await?;
        let mut steps = start_survey(self, chunker.clone(), roots, touched, stored)?;
        let (plan, folders) = loop {
            match steps.recv().await {
                Some(Step::Found { files, bytes }) => run.tell(Event::Found { files, bytes }),
                Some(Step::Done(done)) => break (*done)?,
                None => return Err(Error::contract("walker", "its thread ended without a plan")),
            }
        };
        run.begin(started.elapsed(), &plan, folders.len());
        let Plan { jobs, known, removed, orphans, .. } = plan;
        run.remove(removed).await?;
        run.expect(known, orphans, jobs.len() + folders.len());
        for folder in folders {
            run.take(folder).await?;
        }
        let mut files = read::start(&self.config, &chunker, jobs)?;
        while let Some(file) = run.next(&mut files).await? {
            run.take(file).await?;
        }
        run.finish().await
    }
}

/// Outer paths first: a file under several roots belongs to the outermost, whatever order they were given in.
pub(crate) fn absolute<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<PathBuf>> {
    let absolute = |path: &Path| std::path::absolute(path).map_err(Error::io("find the absolute path of", path));
    let mut paths = paths.iter().map(|path| absolute(path.as_ref())).collect::<Result<Vec<_>>>()?;
    paths.sort_by_cached_key(|path| DocumentKey::from_path(path));
    paths.dedup();
    Ok(paths)
}

/// What has to be looked at when `paths` may have changed: for a file that decides about those around it, the whole folder; for
/// what is inside a folder that is indexed as one, that folder.
fn touched(config: &Config, roots: &[PathBuf], paths: Vec<PathBuf>) -> Result<Touched> {
    let root_keys: Vec<DocumentKey> = roots.iter().map(DocumentKey::from_path).collect();
    let widened = |path: PathBuf| {
        let path = match path.parent() {
            Some(folder) if path.file_name().is_some_and(is_rule) => folder.to_owned(),
            _ => path,
        };
        let is_root = |path: &&Path| root_keys.contains(&DocumentKey::from_path(path));
        let block = path.ancestors().take_while(|path| !is_root(path)).filter(|path| config.blocks.kind(path).is_some()).last();
        block.map(Path::to_owned).unwrap_or(path)
    };
    // Outside the roots nothing is asked about, not even what kind of folder it is.
    let scopes = roots.iter().map(Scope::folder).collect::<Result<Vec<_>>>()?;
    let inside = |path: &PathBuf| {
        let key = DocumentKey::from_path(path);
        scopes.iter().any(|scope| scope.contains(&key))
    };
    Touched::new(roots, &paths.into_iter().filter(inside).map(widened).collect::<Vec<_>>())
}

enum Step {
    Found { files: u64, bytes: u64 },
    Done(Box<Result<(Plan, Vec<FileRead>)>>),
}

/// Walks and compares on a thread of its own, which ends with the plan, or soon after the receiver is dropped.
fn start_survey(
    indexer: &Indexer,
    chunker: Chunker,
    roots: Vec<PathBuf>,
    touched: Option<Arc<Touched>>,
    stored: Vec<DocumentInfo>,
) -> Result<mpsc::Receiver<Step>> {
    let (steps, receiver) = mpsc::channel(8);
    let config = indexer.config.clone();
    let work = move || {
        let tell = |files, bytes| steps.blocking_send(Step::Found { files, bytes }).is_ok();
        let survey = || {
            let walked = walk(&config, &roots, touched.as_ref(), &Stored::new(&stored), tell)?;
            let mut plan = plan(&config, walked, stored)?;
            let folders = std::mem::take(&mut plan.blocks);
            let folders = folders.iter().map(|(job, kind)| block::describe(&chunker, job, kind)).collect();
            Ok((plan, folders))
        };
        // The caller's classifier runs in there.
        let done = catch_unwind(AssertUnwindSafe(survey)).unwrap_or_else(|panic| {
            let reason = format!("it panicked: {}", panic_message(&*panic));
            Err(Error::contract("walker, or the classifier of folders", reason))
        });
        // Nobody waits for it when the sync was cancelled.
        let _ = steps.blocking_send(Step::Done(Box::new(done)));
    };
    let started = thread::Builder::new().name("sensetree-walk".into()).spawn(work);
    started.map_err(|error| Error::other("start a thread for walking the roots", error))?;
    Ok(receiver)
}

/// Runs what may wait for a disk.
pub(crate) async fn on_thread<T: Send + 'static>(doing: &'static str, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (answer, receiver) = tokio::sync::oneshot::channel();
    let started = thread::Builder::new().name("sensetree-disk".into()).spawn(move || {
        // Nobody waits for it when the sync was cancelled.
        let _ = answer.send(work());
    });
    started.map_err(|error| Error::other(doing, error))?;
    receiver.await.map_err(|error| Error::other(doing, error))
}
