//! Writers take turns, whatever task, handle or process they are in.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    time::{Duration, Instant},
};

use sensetree_core::{Error, Result};
use tokio::sync::{Mutex, MutexGuard};

const LOCK_FILE: &str = "write.lock";
/// How often to look whether a writer of another handle or process is done.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Longer than anything that a writer does in one turn.
const PATIENCE: Duration = Duration::from_secs(600);

/// The turns of one handle: its tasks queue here, so that only one of them looks at the file.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<()>);

/// The right to write, until it is dropped or the process ends.
#[derive(Debug)]
#[must_use]
pub(super) struct Turn<'a> {
    _task: MutexGuard<'a, ()>,
    /// Closing it unlocks it.
    _lock: File,
}

impl Turns {
    /// Waits until nobody else writes to the store in `folder`.
    ///
    /// LanceDB would let writers run at once and detect most of what goes wrong, but not that two insert the same row or make the
    /// same table; and files of an unfinished write can only be told from garbage when there is no unfinished write.
    pub(super) async fn wait(&self, folder: &Path) -> Result<Turn<'_>> {
        let task = self.0.lock().await;
        let path = folder.join(LOCK_FILE);
        let file = File::options().create(true).append(true).open(&path).map_err(Error::io("open the lock file", &path))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Turn { _task: task, _lock: file }),
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
