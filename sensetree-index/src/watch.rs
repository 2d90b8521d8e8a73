//! Following the file system: events become syncs of what they touch.

mod changes;
mod roots;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use changes::{Changes, MOST_WAITS, Shared};
use roots::Followed;
use sensetree_core::{Error, Result};
use tokio::sync::mpsc;

use crate::{
    Event, Indexer, Report,
    sync::{absolute, on_thread},
};

/// Nobody waits longer than this for changes to pause.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// It is looked at least this far apart whether the roots are still there.
const SHORTEST_IDLE: Duration = Duration::from_secs(1);

/// Keeps a store in step with files as they change, until it is dropped.
///
/// ```no_run
/// # async fn follow(indexer: sensetree_index::Indexer) -> sensetree_core::Result<()> {
/// let mut watching = indexer.watch(&["/home/me/notes"], std::time::Duration::from_secs(1)).await?;
/// loop {
///     // The first one is a whole sync; later ones wait for changes.
///     let report = watching.next(|_| {}).await?;
///     println!("{report}");
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Watching {
    indexer: Indexer,
    roots: Vec<PathBuf>,
    /// What no sync has finished yet.
    open: Changes,
    /// Whether that may be tried now, or waits for the next change.
    is_due: bool,
    changes: mpsc::Receiver<Changes>,
    shared: Arc<Shared>,
}

impl Indexer {
    /// Starts to follow changes under `roots`, collected until nothing has changed for `wait`, and for ten times that at most. A
    /// second is usual; an hour is the most.
    ///
    /// Watching begins before this returns, and the first [`Watching::next`] is a whole sync, so no change is missed in between.
    /// A folder with the store in it has to be [excluded](crate::IndexerBuilder::exclude), or each commit would be a change.
    ///
    /// A root that goes away and comes back, such as a disk, is followed again, within ten waits or a second, whichever is longer.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] without roots and for a longer wait, [`Error::Other`] when a root cannot be watched: it is not there,
    /// or the system's limit is reached (on Linux `fs.inotify.max_user_watches`, one for each folder).
    pub async fn watch<P: AsRef<Path> + Sync>(&self, roots: &[P], wait: Duration) -> Result<Watching> {
        let roots = absolute(roots)?;
        if roots.is_empty() {
            return Err(Error::invalid("without a root there is nothing to watch"));
        }
        if wait > LONGEST_WAIT {
            return Err(Error::invalid(format!("changes would wait for {wait:?}; an hour is the most, and a second is usual")));
        }
        let shared = Arc::new(Shared::default());
        let (config, followed, events) = (self.config.clone(), roots.clone(), shared.clone());
        let followed = on_thread("watch the roots", move || Followed::start(config, &followed, events)).await??;
        let (sender, changes) = mpsc::channel(1);
        let collected = shared.clone();
        let work = move || collect(followed, &collected, wait, &sender);
        let started = thread::Builder::new().name("sensetree-watch".into()).spawn(work);
        started.map_err(|error| Error::other("start a thread for watching", error))?;
        Ok(Watching { indexer: self.clone(), roots, open: Changes::Everything, is_due: true, changes, shared })
    }
}

/// Passes on what changes until the watch is over.
fn collect(mut followed: Followed, shared: &Shared, wait: Duration, sender: &mpsc::Sender<Changes>) {
    let idle = SHORTEST_IDLE.max(wait * MOST_WAITS);
    while let Some((mut changes, lost)) = shared.after_a_pause(wait, idle) {
        changes.add(followed.look_again(&lost, shared));
        if !changes.is_empty() && sender.blocking_send(changes).is_err() {
            return;
        }
    }
}

impl Watching {
    /// Waits for changes and syncs them: the touched paths, or everything when there are too many or the system lost track of them.
    /// The first call syncs everything at once. When not all changes can be followed any more, the report has a warning.
    ///
    /// Nothing is lost when the future is dropped: the next call does it again. After an error, or a report that was
    /// [stopped](Report::stopped), what is left is tried again together with the next change, so a service that is down is not asked
    /// without end; call [`Indexer::sync`] to try earlier.
    ///
    /// # Errors
    /// As [`Indexer::sync`].
    pub async fn next(&mut self, progress: impl FnMut(Event) + Send) -> Result<Report> {
        while !self.is_due || self.open.is_empty() {
            let more = self.changes.recv().await;
            // The thread ends when this is dropped, and not before.
            self.open.add(more.ok_or_else(|| Error::contract("watcher", "its thread ended"))?);
            self.is_due = true;
        }
        while let Ok(more) = self.changes.try_recv() {
            self.open.add(more);
        }
        let result = match &self.open {
            Changes::Everything => self.indexer.sync(&self.roots, progress).await,
            Changes::Paths(paths) => {
                let paths: Vec<&PathBuf> = paths.iter().collect();
                self.indexer.sync_paths(&self.roots, &paths, progress).await
            }
        };
        match &result {
            Ok(report) if report.stopped.is_none() => self.open = Changes::default(),
            _ => self.is_due = false,
        }
        result.map(|mut report| {
            report.warnings.extend(self.shared.take_trouble());
            report
        })
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.shared.end();
    }
}
