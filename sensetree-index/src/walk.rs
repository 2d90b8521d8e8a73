//! Which files there are under the roots.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use ignore::{DirEntry, WalkBuilder};
use sensetree_core::{DocumentKey, Error, Result, Scope};

use crate::{indexer::Config, report::FileNote, stamp::Observed};

/// How many files and folders pass between two reports of progress.
const REPORT_EVERY: u64 = 256;

/// A regular file that is meant to be indexed.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) key: DocumentKey,
    /// From the root to the file's folder.
    pub(crate) folder: PathBuf,
    pub(crate) observed: Observed,
}

/// What the walk saw.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    pub(crate) files: Vec<Found>,
    pub(crate) skipped: Vec<FileNote>,
    pub(crate) failed: Vec<FileNote>,
    pub(crate) warnings: Vec<String>,
    /// Where something may be that could not be seen: nothing is removed there.
    pub(crate) unseen: Vec<Scope>,
    /// Roots with nothing in them at all.
    pub(crate) empty: Vec<PathBuf>,
    bytes: u64,
    seen: HashMap<DocumentKey, PathBuf>,
}

/// Walks absolute roots. `progress` is told files and bytes now and then; the walk ends early when it answers `false`.
///
/// Ignore files count from the root downwards: a person who names a root means it, whatever is written above it.
pub(crate) fn walk(config: &Config, roots: &[PathBuf], mut progress: impl FnMut(u64, u64) -> bool) -> Result<Walked> {
    for root in roots {
        let metadata = fs::metadata(root).map_err(Error::io("open the root", root))?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(Error::invalid(format!("the root {} is neither a folder nor a regular file", root.display())));
        }
    }
    let mut walked = Walked::default();
    let mut links = config.follow_links.then(Links::default);
    let mut met = 0;
    for root in roots {
        if fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_none()) {
            walked.empty.push(root.clone());
        }
        for entry in entries(config, root) {
            match entry {
                Ok(entry) => walked.entry(config, root, entry, links.as_mut()),
                Err(error) => walked.error(root, &error),
            }
            met += 1;
            if met % REPORT_EVERY == 0 && !progress(walked.files.len() as u64, walked.bytes) {
                return Ok(walked);
            }
        }
    }
    progress(walked.files.len() as u64, walked.bytes);
    Ok(walked)
}

fn entries(config: &Config, root: &Path) -> ignore::Walk {
    let excluded = config.excluded.clone();
    WalkBuilder::new(root)
        .hidden(!config.hidden)
        .follow_links(config.follow_links)
        .require_git(false)
        .parents(false)
        .git_global(false)
        .sort_by_file_name(|a, b| a.cmp(b))
        .filter_entry(move |entry| !is_excluded(&excluded, entry.path()))
        .build()
}

fn is_excluded(excluded: &[Scope], path: &Path) -> bool {
    !excluded.is_empty() && {
        let key = DocumentKey::from_path(path);
        excluded.iter().any(|scope| scope.contains(&key))
    }
}

impl Walked {
    fn entry(&mut self, config: &Config, root: &Path, entry: DirEntry, links: Option<&mut Links>) {
        if let Some(error) = entry.error() {
            self.warnings.push(format!("some ignore rules under {} were not understood: {error}", entry.path().display()));
        }
        // The root is never filtered by the walker.
        let kind = entry.file_type().filter(|_| entry.depth() > 0 || !is_excluded(&config.excluded, root));
        match kind {
            Some(kind) if kind.is_file() => match entry.metadata() {
                Ok(metadata) => self.file(root, entry.into_path(), Observed::of(&metadata), links),
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

    fn file(&mut self, root: &Path, path: PathBuf, observed: Observed, links: Option<&mut Links>) {
        let key = DocumentKey::from_path(&path);
        if let Some(other) = self.seen.get(&key) {
            if *other != path && !is_same_file(other, &path) {
                let reason = format!("its name differs from that of {} only in how Unicode or case is written", other.display());
                self.skipped.push(FileNote::new(path, reason));
            }
            return;
        }
        let folder = path.parent().and_then(|folder| folder.strip_prefix(root).ok()).unwrap_or(Path::new("")).to_owned();
        let found = Found { path, key, folder, observed };
        let Some(other) = links.and_then(|links| links.other_way(root, &found, self.files.len())) else {
            self.bytes += found.observed.size;
            self.seen.insert(found.key.clone(), found.path.clone());
            self.files.push(found);
            return;
        };
        let left = if other.stays {
            found
        } else {
            self.seen.insert(found.key.clone(), found.path.clone());
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
