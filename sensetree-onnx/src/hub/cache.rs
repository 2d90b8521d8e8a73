//! The hub's cache folder, laid out as `huggingface_hub` does:
//!
//! ```text
//! models--owner--name/blobs/CHECKSUM               contents; CHECKSUM.incomplete while they come
//! models--owner--name/snapshots/COMMIT/FILE        a link to a blob
//! models--owner--name/refs/REVISION                a commit
//! models--owner--name/.no_exist/COMMIT/FILE        the commit does not have this file
//! .locks/models--owner--name/CHECKSUM.lock         held, not merely there, while a blob is written
//! ```

use std::{
    fmt,
    fs::{self, File, TryLockError},
    io::{self, BufReader, ErrorKind, Read},
    path::{Path, PathBuf},
    time::Duration,
};

use sensetree_core::{Error, Result};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};

use super::{
    remote::Stamp,
    repository::{Repository, is_commit},
};
use crate::{
    ModelFolder, Precision,
    folder::{SMALL_FILES, TOKENIZER},
};

/// How often a lock that somebody else holds is tried.
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// What is asked of a model in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// What is not there is known not to exist, so the hub could not give more.
    Complete,
    /// What is not there is taken not to exist.
    Lenient,
}

/// Why a model is not taken from the cache.
#[derive(Debug)]
pub(super) enum Unfit {
    Missing(String),
    Damaged(String),
}

impl Unfit {
    pub(super) fn refused(self, repository: &Repository, advice: &str) -> Error {
        match self {
            Self::Missing(why) => repository.unavailable(format!("{why}; {advice}")),
            Self::Damaged(why) => repository.unusable(format!("{why}; {advice}")),
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Missing(why) | Self::Damaged(why)) = self;
        f.write_str(why)
    }
}

/// One repository's part of the cache.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    files: PathBuf,
    locks: PathBuf,
    repository: Repository,
}

impl Cache {
    pub(super) fn new(root: PathBuf, repository: Repository) -> Self {
        let folder = format!("models--{}", repository.id().replace('/', "--"));
        Self { files: root.join(&folder), locks: root.join(".locks").join(folder), repository }
    }

    /// The model, when all of its files are there and are what their checksums say.
    pub(super) async fn find(&self, precision: Precision, trust: Trust) -> Result<Result<ModelFolder, Unfit>> {
        let cache = self.clone();
        blocking(move || cache.find_now(precision, trust)).await
    }

    fn find_now(&self, precision: Precision, trust: Trust) -> Result<Result<ModelFolder, Unfit>> {
        let Some(commit) = self.commit_of_revision()? else {
            return Ok(Err(Unfit::Missing(format!("it is not in the cache {}", self.files.display()))));
        };
        let snapshot = self.snapshot(&commit);
        let incomplete = |file: &str| Ok(Err(Unfit::Missing(format!("{file} is not in the cache {}", snapshot.display()))));
        let mut files = Vec::new();
        let small = SMALL_FILES.iter().map(|&file| (file.to_owned(), file == TOKENIZER));
        for (file, must) in small {
            if snapshot.join(&file).exists() {
                files.push(file);
            } else if must || (trust == Trust::Complete && !self.is_known_absent(&commit, &file)) {
                return incomplete(&file);
            }
        }
        let mut graph = None;
        for (file, _) in precision.candidates() {
            if snapshot.join(&file).exists() {
                graph = Some(file);
                break;
            } else if trust == Trust::Complete && !self.is_known_absent(&commit, &file) {
                return incomplete(&file);
            }
        }
        let Some(graph) = graph else { return incomplete(&format!("a graph of precision {}", precision.name())) };
        files.push(graph.clone());
        for file in &files {
            if let Err(why) = self.verify_shown(&snapshot, file)? {
                return Ok(Err(Unfit::Damaged(why)));
            }
        }
        // Looked into only now that the graph is known to be whole.
        for file in self.beside_now(&commit, &graph)? {
            if !snapshot.join(&file).exists() {
                return incomplete(&file);
            }
            if let Err(why) = self.verify_shown(&snapshot, &file)? {
                return Ok(Err(Unfit::Damaged(why)));
            }
        }
        self.folder(&commit, precision).map(Ok)
    }

    fn commit_of_revision(&self) -> Result<Option<String>> {
        if self.repository.is_pinned() {
            return Ok(Some(self.repository.revision().to_owned()));
        }
        let file = self.files.join("refs").join(self.repository.revision());
        match fs::read_to_string(&file) {
            Ok(commit) => Ok(Some(commit.trim().to_owned()).filter(|commit| is_commit(commit))),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(e) => Err(Error::io("read", file)(e)),
        }
    }

    fn snapshot(&self, commit: &str) -> PathBuf {
        self.files.join("snapshots").join(commit)
    }

    fn is_known_absent(&self, commit: &str, file: &str) -> bool {
        self.files.join(".no_exist").join(commit).join(file).exists()
    }

    /// A link's target is named after the checksum. Where links could not be made, nothing says what a file should be.
    fn verify_shown(&self, snapshot: &Path, file: &str) -> Result<Result<(), String>> {
        let path = snapshot.join(file);
        let target = fs::read_link(&path).ok();
        let Some(tag) = target.as_ref().and_then(|target| target.file_name()).and_then(|name| name.to_str()) else {
            return Ok(Ok(()));
        };
        let verdict = verify(&path, &Stamp { size: None, tag: tag.to_owned() }).map_err(Error::io("read", &path))?;
        Ok(verdict.map_err(|why| format!("{file} is damaged in the cache: {why} ({})", path.display())))
    }

    /// The model at a commit.
    pub(super) fn folder(&self, commit: &str, precision: Precision) -> Result<ModelFolder> {
        let folder = ModelFolder::named(self.snapshot(commit), self.repository.id())?.at_revision(commit);
        folder.graph(precision)?;
        Ok(folder)
    }

    /// The paths in the repository of the files where a graph keeps weights.
    pub(super) async fn beside(&self, commit: &str, graph: &str) -> Result<Vec<String>> {
        let (cache, commit, graph) = (self.clone(), commit.to_owned(), graph.to_owned());
        blocking(move || cache.beside_now(&commit, &graph)).await
    }

    fn beside_now(&self, commit: &str, graph: &str) -> Result<Vec<String>> {
        let snapshot = self.snapshot(commit);
        let folder = ModelFolder::named(&snapshot, self.repository.id())?;
        let files = folder.graph_files(&snapshot.join(graph))?;
        let name = |file: &PathBuf| {
            let parts = file.strip_prefix(&snapshot).unwrap_or(file).components();
            parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
        };
        Ok(files.iter().skip(1).map(name).collect())
    }

    fn blob(&self, stamp: &Stamp) -> PathBuf {
        self.files.join("blobs").join(&stamp.tag)
    }

    /// Where contents are while they come.
    pub(super) fn partial(&self, stamp: &Stamp) -> PathBuf {
        self.files.join("blobs").join(format!("{}.incomplete", stamp.tag))
    }

    /// Waits until nobody else, here or in another process, writes this blob. A lock ends with the process that held it, so
    /// a lock file that a killed one left means nothing. Gives up when the other makes no progress for `patience`.
    pub(super) async fn lock(&self, stamp: &Stamp, patience: Duration) -> Result<File> {
        let path = self.locks.join(format!("{}.lock", stamp.tag));
        let partial = self.partial(stamp);
        for folder in [path.parent(), partial.parent()].into_iter().flatten() {
            fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
        }
        let options = File::options().create(true).truncate(false).write(true).to_owned();
        let file = options.open(&path).map_err(Error::io("open", &path))?;
        let length = || partial.metadata().map_or(0, |data| data.len());
        let (mut seen, mut since) = (length(), Instant::now());
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(e)) => return Err(Error::io("lock", path)(e)),
                Err(TryLockError::WouldBlock) if since.elapsed() > patience => {
                    return Err(self.repository.unavailable(format!(
                        "another program is fetching it and has made no progress for {} s; end it, or try again ({} is locked)",
                        patience.as_secs(),
                        path.display()
                    )));
                }
                Err(TryLockError::WouldBlock) => sleep(LOCK_PAUSE).await,
            }
            if length() != seen {
                (seen, since) = (length(), Instant::now());
            }
        }
    }

    /// Whether the contents are there and whole; what is not whole is removed.
    pub(super) async fn has(&self, stamp: &Stamp, file: &str) -> Result<bool> {
        let (blob, stamp, file) = (self.blob(stamp), stamp.clone(), file.to_owned());
        blocking(move || match verify(&blob, &stamp) {
            Ok(Ok(())) => Ok(true),
            Ok(Err(why)) => {
                tracing::warn!(file, "damaged in the cache, fetched again: {why} ({})", blob.display());
                fs::remove_file(&blob).map_err(Error::io("remove", blob))?;
                Ok(false)
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::io("read", blob)(e)),
        })
        .await
    }

    /// Makes what came the contents, if it is what was announced; otherwise removes it and says why.
    pub(super) async fn keep(&self, stamp: &Stamp, file: &str) -> Result<Result<(), String>> {
        let (partial, blob, stamp, file) = (self.partial(stamp), self.blob(stamp), stamp.clone(), file.to_owned());
        blocking(move || match verify(&partial, &stamp).map_err(Error::io("read", &partial))? {
            Ok(()) => fs::rename(&partial, &blob).map_err(Error::io("move into place", blob)).map(Ok),
            Err(why) => {
                fs::remove_file(&partial).map_err(Error::io("remove", partial))?;
                Ok(Err(format!("{file} came damaged: {why}")))
            }
        })
        .await
    }

    /// Makes the contents a file of the commit.
    pub(super) async fn show(&self, commit: &str, file: &str, stamp: &Stamp) -> Result<()> {
        let (path, blob) = (self.snapshot(commit).join(file), self.blob(stamp));
        let up = "../".repeat(2 + file.matches('/').count());
        let target = PathBuf::from(format!("{up}blobs/{}", stamp.tag));
        blocking(move || {
            if fs::read_link(&path).is_ok_and(|now| now == target) {
                return Ok(());
            }
            write_aside(&path, |aside| link(&target, &blob, aside))
        })
        .await
    }

    /// Notes what the commit does not have, and that the revision is this commit: from now on the cache is complete.
    pub(super) async fn commit(&self, commit: &str, absent: impl Iterator<Item = String>) -> Result<()> {
        let marks: Vec<_> = absent.map(|file| self.files.join(".no_exist").join(commit).join(file)).collect();
        let reference = (!self.repository.is_pinned()).then(|| self.files.join("refs").join(self.repository.revision()));
        let commit = commit.to_owned();
        blocking(move || {
            for mark in marks.iter().filter(|mark| !mark.exists()) {
                write_aside(mark, |aside| fs::write(aside, ""))?;
            }
            match reference {
                Some(reference) => write_aside(&reference, |aside| fs::write(aside, &commit)),
                None => Ok(()),
            }
        })
        .await
    }
}

/// Writes beside `path` and then moves it there, so that nobody sees it half done.
fn write_aside(path: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(Error::io("make the folder", folder))?;
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}-{:?}", std::process::id(), std::thread::current().id()));
    let aside = PathBuf::from(aside);
    write(&aside).and_then(|()| fs::rename(&aside, path)).map_err(|e| {
        // Already failing; what is left aside hurts nobody.
        let _ = fs::remove_file(&aside);
        Error::io("write", path)(e)
    })
}

#[cfg(unix)]
fn link(target: &Path, _blob: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Making symbolic links needs rights there that few programs have.
#[cfg(not(unix))]
fn link(_target: &Path, blob: &Path, path: &Path) -> io::Result<()> {
    fs::hard_link(blob, path).or_else(|_| fs::copy(blob, path).map(|_| ()))
}

/// Compares a file with its size and checksum: SHA-256 for 64 hexadecimal digits, Git's object id (SHA-1 of `blob SIZE\0` and
/// the contents) for 40. Other tags say nothing about the contents. The inner error says what differs.
fn verify(path: &Path, stamp: &Stamp) -> io::Result<Result<(), String>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    if let Some(size) = stamp.size.filter(|&size| size != length) {
        return Ok(Err(format!("it has {length} bytes instead of {size}")));
    }
    let is_hex = stamp.tag.chars().all(|c| c.is_ascii_hexdigit());
    let (kind, found) = match stamp.tag.len() {
        64 if is_hex => ("SHA-256", sha256(file)?),
        40 if is_hex => ("Git object id", git_id(file, length)?),
        _ => return Ok(Ok(())),
    };
    if found.eq_ignore_ascii_case(&stamp.tag) {
        return Ok(Ok(()));
    }
    Ok(Err(format!("its {kind} is {found} instead of {}, at {length} bytes", stamp.tag)))
}

fn sha256(file: File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    each_piece(file, |piece| hasher.update(piece))?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn git_id(file: File, length: u64) -> io::Result<String> {
    let mut hasher = sha1_smol::Sha1::new();
    hasher.update(format!("blob {length}\0").as_bytes());
    each_piece(file, |piece| hasher.update(piece))?;
    Ok(hasher.digest().to_string())
}

fn each_piece(file: File, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut reader = BufReader::new(file);
    let mut piece = vec![0; 1 << 18];
    loop {
        match reader.read(&mut piece)? {
            0 => return Ok(()),
            count => take(&piece[..count]),
        }
    }
}

/// Runs file work on a thread where blocking is allowed.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|e| Error::other("work on the model cache", e))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(content: &str, size: Option<u64>, tag: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("file");
        fs::write(&file, content).expect("the file is written");
        verify(&file, &Stamp { size, tag: tag.to_owned() }).expect("the file is read")
    }

    #[test]
    fn both_of_the_hubs_checksums_are_known() {
        // `printf hello | sha256sum`, `printf hello | git hash-object --stdin`
        let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        let git = "b6fc4c620b67d95f953a5c1c1230aaab5db5a1b0";
        for tag in [sha256, git, "an-unknown-tag"] {
            assert_eq!(verdict("hello", None, tag), Ok(()), "{tag}");
            assert!(verdict("hello", Some(4), tag).expect_err("it is longer").contains("5 bytes instead of 4"));
        }
        assert!(verdict("Hello", Some(5), sha256).expect_err("it is altered").contains(sha256));
        assert!(verdict("Hello", Some(5), git).expect_err("it is altered").contains(git));
        // `printf '' | git hash-object --stdin`
        assert_eq!(verdict("", Some(0), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"), Ok(()));
    }
}
