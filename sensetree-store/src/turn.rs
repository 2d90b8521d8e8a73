//! Writers take turns, whatever task, handle or process they are in.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use sensetree_core::{Error, Result};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Its name; what a folder holds besides is the store's.
pub(crate) const LOCK_FILE: &str = "write.lock";
/// How often to look whether a writer of another handle or process is done.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Longer than anything that a writer does in one turn.
const PATIENCE: Duration = Duration::from_secs(600);

/// The turns of one handle: its tasks queue here, so that only one of them looks at the file.
#[derive(Debug, Default)]
pub(crate) struct Turns(Arc<Mutex<()>>);

/// The right to write, until it is dropped or the process ends. It can be given to a thread.
#[derive(Debug)]
#[must_use]
pub(crate) struct Turn {
    _task: OwnedMutexGuard<()>,
    /// Closing it unlocks it.
    _lock: Option<File>,
}

impl Turns {
    /// Waits until no other task of this handle writes.
    pub(crate) async fn wait_for_tasks(&self) -> Turn {
        Turn { _task: self.0.clone().lock_owned().await, _lock: None }
    }

    /// Waits until nobody else writes to the store in `folder`.
    pub(crate) async fn wait(&self, folder: &Path) -> Result<Turn> {
        let turn = self.wait_for_tasks().await;
        let path = folder.join(LOCK_FILE);
        let file = File::options().create(true).append(true).open(&path).map_err(Error::io("open the lock file", &path))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Turn { _lock: Some(file), ..turn }),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => tokio::time::sleep(LOOK_AGAIN).await,
                Err(TryLockError::WouldBlock) => {
                    let e =
                        io::Error::new(io::ErrorKind::TimedOut, "another process has been writing to the store for ten minutes");
                    return Err(Error::io("lock", path)(e));
                }
                Err(TryLockError::Error(e)) => return Err(Error::io("lock", path)(e)),
            }
        }
    }
}
