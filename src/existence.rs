use std::{
    fmt::Debug,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use sensetree_core::{Error, Result};

/// Tells whether the documents that were found are still there: the index may lag behind a deletion.
#[async_trait]
pub trait Existence: Debug + Send + Sync + 'static {
    /// One answer for each path, in order. Must not block the executor.
    ///
    /// # Errors
    /// Any; the search then goes on with all of them and reports the failure.
    async fn exist(&self, paths: Vec<Arc<PathBuf>>) -> Result<Vec<bool>>;
}

/// Asks the file system, on a thread where blocking is allowed. Needs a tokio runtime.
///
/// Only a clear "not found" counts as gone: a file behind a closed door or a slow mount is still there.
#[derive(Debug, Clone, Copy, Default)]
pub struct OnDisk;

#[async_trait]
impl Existence for OnDisk {
    async fn exist(&self, paths: Vec<Arc<PathBuf>>) -> Result<Vec<bool>> {
        tokio::task::spawn_blocking(move || paths.iter().map(|path| is_there(path)).collect())
            .await
            .map_err(|e| Error::other("check which files are still there", e))
    }
}

fn is_there(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(e) => !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}
