//! Those who do the same kind of work take turns, whatever task, handle or process they are in.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use sensetree_core::{Error, Result};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The lock of those who write; what a folder holds besides is the store's.
pub(crate) const LOCK_FILE: &str = "write.lock";
/// How often to look whether another handle or process is done.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Longer than anything that a writer does in one turn.
const PATIENCE: Duration = Duration::from_secs(600);

/// The turns of one handle: its tasks queue here, so that only one of them looks at the file.
#[derive(Debug)]
pub(crate) struct Turns {
    tasks: Arc<Mutex<()>>,
    file: &'static str,
}

/// The right to work, until it is dropped or the process ends. It can be given to a thread.
#[derive(Debug)]
#[must_use]
pub(crate) struct Turn {
    _task: OwnedMutexGuard<()>,
    /// Closing it unlocks it.
    _lock: Option<File>,
}

impl Default for Turns {
    /// Of writers.
    fn default() -> Self {
        Self::new(LOCK_FILE)
    }
}

impl Turns {
    /// Turns by a lock on the file of this name.
    pub(crate) fn new(file: &'static str) -> Self {
        Self { tasks: Arc::default(), file }
    }

    /// Waits until no other task of this handle has its turn.
    pub(crate) async fn wait_for_tasks(&self) -> Turn {
        Turn { _task: self.tasks.clone().lock_owned().await, _lock: None }
    }

    /// Waits until nobody else has their turn in `folder`.
    pub(crate) async fn wait(&self, folder: &Path) -> Result<Turn> {
        let turn = self.wait_for_tasks().await;
        let path = folder.join(self.file);
        let file = File::options().create(true).append(true).open(&path).map_err(Error::io("open the lock file", &path))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Turn { _lock: Some(file), ..turn }),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => tokio::time::sleep(LOOK_AGAIN).await,
                Err(TryLockError::WouldBlock) => {
                    let e = io::Error::new(io::ErrorKind::TimedOut, "another process has held it for ten minutes");
                    return Err(Error::io("lock", path)(e));
                }
                Err(TryLockError::Error(e)) => return Err(Error::io("lock", path)(e)),
            }
        }
    }
}
