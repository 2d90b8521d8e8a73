//! Which files there are under the roots.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ignore::{DirEntry, WalkBuilder};
use sensetree_core::{DocumentKey, Error, Result, Scope};

use crate::{
    indexer::Config,
    report::FileNote,
    stamp::Observed,
    stored::{Met, Stored},
    touched::Touched,
};

/// How many files and folders pass between two reports of progress.
const REPORT_EVERY: u64 = 256;

/// A regular file, or a folder to be indexed as one.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) key: DocumentKey,
    /// The place of its document in the list of those that are stored.
    pub(crate) stored: Option<usize>,
    /// From the root to the folder it is in.
    pub(crate) folder: Arc<Path>,
    pub(crate) observed: Observed,
}

/// What the walk saw.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub(crate) files: Vec<Found>,
    /// Folders to be indexed as one, and what they are.
    pub(crate) blocks: Vec<(Found, String)>,
    pub(crate) skipped: Vec<FileNote>,
    pub(crate) failed: Vec<FileNote>,
    pub(crate) warnings: Vec<String>,
    /// Where something may be that could not be seen: nothing is removed there.
    pub(crate) unseen: Vec<Scope>,
    /// Roots with nothing in them at all.
    pub(crate) empty: Vec<PathBuf>,
    /// Roots that are not there, or cannot be looked at.
    pub(crate) missing: Vec<(PathBuf, io::Error)>,
    bytes: u64,
    /// The place of each in the list of files; folders have none.
    seen: Met<Option<usize>>,
    /// The last folder, and what it is from the root: the files of a folder come one after the other, and share it.
    last_folder: Option<(PathBuf, Arc<Path>)>,
}

/// Walks absolute roots, or only what is touched in them. `progress` is told files and bytes now and then; the walk ends early
/// when it answers `false`.
///
/// Ignore files count from the root downwards: a person who names a root means it, whatever is written above it.
pub(crate) fn walk(
    config: &Arc<Config>,
    roots: &[PathBuf],
    touched: Option<&Arc<Touched>>,
    stored: &Stored<'_>,
    mut progress: impl FnMut(u64, u64) -> bool,
) -> Result<Walked> {
    let mut walked = Walked { seen: Met::none_of(stored), ..Walked::default() };
    let mut links = config.follow_links.then(Links::default);
    let mut met = 0;
    for root in roots {
        match fs::metadata(root) {
            Ok(metadata) if metadata.is_dir() || metadata.is_file() => {}
            Ok(_) => {
                return Err(Error::invalid(format!("the root {} is neither a folder nor a regular file", root.display())));
            }
            Err(error) => {
                walked.missing.push((root.clone(), error));
                continue;
            }
        }
        if fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_none()) {
            walked.empty.push(root.clone());
        }
        let blocks = Arc::new(Mutex::new(Vec::new()));
        for entry in entries(config, root, touched.cloned(), blocks.clone()) {
            match entry {
                Ok(entry) => walked.entry(config, root, entry, stored, links.as_mut()),
                Err(error) => walked.error(root, &error),
            }
            met += 1;
            if met % REPORT_EVERY == 0 && !progress(walked.files.len() as u64, walked.bytes) {
                return Ok(walked);
            }
        }
        let blocks = std::mem::take(&mut *blocks.lock().unwrap_or_else(PoisonError::into_inner));
        blocks.into_iter().for_each(|(path, kind)| walked.block(root, path, kind, stored));
        walked.last_folder = None;
    }
    progress(walked.files.len() as u64, walked.bytes);
    Ok(walked)
}

/// What is in a root. Folders to be indexed as one go to `blocks` instead.
fn entries(
    config: &Arc<Config>,
    root: &Path,
    touched: Option<Arc<Touched>>,
    blocks: Arc<Mutex<Vec<(PathBuf, String)>>>,
) -> ignore::Walk {
    let config = config.clone();
    WalkBuilder::new(root)
        .hidden(!config.hidden)
        .follow_links(config.follow_links)
        .require_git(false)
        .parents(false)
        .git_global(false)
        // By name. Those compared are in one folder, and taking the names off their paths would cost more than comparing all of them.
        .sort_by_file_path(|a, b| a.as_os_str().cmp(b.as_os_str()))
        .filter_entry(move |entry| {
            let path = entry.path();
            if is_excluded(&config.excluded, path) || touched.as_ref().is_some_and(|touched| !touched.leads_to(path)) {
                return false;
            }
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let Some(kind) = is_folder.then(|| config.blocks.kind(path)).flatten() else { return true };
            blocks.lock().unwrap_or_else(PoisonError::into_inner).push((path.to_owned(), kind));
            false
        })
        .build()
}

pub(crate) fn is_excluded(excluded: &[Scope], path: &Path) -> bool {
    !excluded.is_empty() && {
        let key = DocumentKey::from_path(path);
        excluded.iter().any(|scope| scope.contains(&key))
    }
}

impl Walked {
    fn entry(&mut self, config: &Config, root: &Path, entry: DirEntry, stored: &Stored<'_>, links: Option<&mut Links>) {
        if let Some(error) = entry.error() {
            self.warnings.push(format!("some ignore rules under {} were not understood: {error}", entry.path().display()));
        }
        // The root is never filtered by the walker.
        let kind = entry.file_type().filter(|_| entry.depth() > 0 || !is_excluded(&config.excluded, root));
        match kind {
            Some(kind) if kind.is_file() => match entry.metadata() {
                Ok(metadata) => {
                    let (key, stored) = stored.find(entry.path());
                    let (path, observed) = (entry.into_path(), Observed::of(&metadata));
                    let folder = self.folder(root, &path);
                    self.file(root, Found { path, key, stored, folder, observed }, links);
                }
                Err(error) => self.error(entry.path(), &error),
            },
            Some(kind) if kind.is_symlink() && entry.depth() > 0 => {
                self.skipped.push(FileNote::new(entry.into_path(), "it is a link, and links are not followed"));
            }
            Some(kind) if !kind.is_dir() && entry.depth() > 0 => {
                self.skipped.push(FileNote::new(entry.into_path(), "it is a pipe, a socket or a device"));
            }
            _ => {}
        }
    }

    /// From `root` to the folder of `path`.
    fn folder(&mut self, root: &Path, path: &Path) -> Arc<Path> {
        let Some(parent) = path.parent() else { return Path::new("").into() };
        match &self.last_folder {
            // As text: comparing paths part by part costs as much as taking the root off.
            Some((last, folder)) if last.as_os_str() == parent.as_os_str() => folder.clone(),
            _ => {
                let folder: Arc<Path> = parent.strip_prefix(root).unwrap_or(Path::new("")).into();
                self.last_folder = Some((parent.to_owned(), folder.clone()));
                folder
            }
        }
    }

    fn block(&mut self, root: &Path, path: PathBuf, kind: String, stored: &Stored<'_>) {
        let (key, stored) = stored.find(&path);
        match fs::metadata(&path) {
            // It vanished just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.error(&path, &ignore::Error::Io(error)),
            Ok(_) if self.seen.get(&key, stored).is_some() => {}
            Ok(metadata) => {
                let folder = self.folder(root, &path);
                self.seen.insert(&key, stored, None);
                self.blocks.push((Found { path, key, stored, folder, observed: Observed::of(&metadata) }, kind));
            }
        }
    }

    fn file(&mut self, root: &Path, found: Found, links: Option<&mut Links>) {
        if let Some(&other) = self.seen.get(&found.key, found.stored) {
            let Some(other) = other.map(|at| &self.files[at].path) else { return };
            if *other != found.path && !is_same_file(other, &found.path) {
                let reason = format!("its name differs from that of {} only in how Unicode or case is written", other.display());
                self.skipped.push(FileNote::new(found.path, reason));
            }
            return;
        }
        let Some(other) = links.and_then(|links| links.other_way(root, &found, self.files.len())) else {
            self.bytes += found.observed.size;
            self.seen.insert(&found.key, found.stored, Some(self.files.len()));
            self.files.push(found);
            return;
        };
        let left = if other.stays {
            found
        } else {
            self.seen.insert(&found.key, found.stored, Some(other.at));
            std::mem::replace(&mut self.files[other.at], found)
        };
        let reason = format!("it is the same file as {}, reached through a link", self.files[other.at].path.display());
        self.skipped.push(FileNote::new(left.path, reason));
    }

    /// What is gone is gone; anything else that could not be looked at may still be there.
    pub(crate) fn error(&mut self, near: &Path, error: &ignore::Error) {
        if let Some(ancestor) = looped(error) {
            self.warnings.push(format!("a link leads back to {}; it is not followed again", ancestor.display()));
            return;
        }
        if error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            return;
        }
        let path = path_of(error).unwrap_or(near);
        self.unseen.extend(Scope::folder(path));
        let reason = error.io_error().map_or_else(|| error.to_string(), |error| format!("cannot be read: {error}"));
        self.failed.push(FileNote::new(path, reason));
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

fn looped(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::Loop { ancestor, .. } => Some(ancestor),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithPath { err, .. } => looped(err),
        _ => None,
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Where links are followed, one file can be met under several paths.
#[derive(Debug, Default)]
struct Links {
    /// By the real path: the place in the list of files, and whether it was reached without a link below its root.
    met: HashMap<PathBuf, (usize, bool)>,
}

/// The same file, met before.
struct OtherWay {
    at: usize,
    /// Whether it stays in the list, rather than the one met now.
    stays: bool,
}

impl Links {
    /// Remembers a file that would be put at `at`, and says where it was met before.
    fn other_way(&mut self, root: &Path, found: &Found, at: usize) -> Option<OtherWay> {
        // A file that cannot be resolved will not be readable either, which is reported then.
        let real = found.path.canonicalize().ok()?;
        let relative = found.path.strip_prefix(root).unwrap_or(Path::new(""));
        // `join` would add a separator to a root that is the file itself.
        let direct = |root: PathBuf| if relative.as_os_str().is_empty() { root } else { root.join(relative) };
        let is_direct = root.canonicalize().is_ok_and(|root| direct(root) == real);
        match self.met.get_mut(&real) {
            Some((at, was_direct)) => {
                let stays = *was_direct || !is_direct;
                *was_direct |= is_direct;
                Some(OtherWay { at: *at, stays })
            }
            None => {
                self.met.insert(real, (at, is_direct));
                None
            }
        }
    }
}
