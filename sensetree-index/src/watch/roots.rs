//! The roots as the system follows them: which events concern them, and whether they are still what is followed.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};
use sensetree_core::{DocumentKey, Error, Result, Scope};

use super::changes::{Changes, Shared};
use crate::{indexer::Config, walk::is_excluded};

/// Folders in which version control keeps its data. They change all the time, and are hidden.
const DATABASES: &[&str] = &[".git", ".hg", ".jj", ".svn"];

/// Follows the roots.
#[derive(Debug)]
pub(super) struct Followed {
    watcher: RecommendedWatcher,
    /// Each root, and what was at its path when the watch was set; none when that is lost.
    roots: Vec<(PathBuf, Option<Identity>)>,
}

impl Followed {
    /// Waits until every folder is known to the system.
    ///
    /// # Errors
    /// [`Error::Other`] when a root cannot be followed.
    pub(super) fn start(config: Arc<Config>, roots: &[PathBuf], shared: Arc<Shared>) -> Result<Self> {
        let options = notify::Config::default().with_follow_symlinks(config.follow_links);
        let interest = Interest::new(config, roots)?;
        let handle = move |event: notify::Result<Event>| match event {
            Ok(event) => interest.tell(event, &shared),
            Err(error) => {
                tracing::warn!(error = %error, "the file system could not be followed; looking at everything");
                shared.set_trouble(trouble(&error));
                shared.add(Changes::Everything);
            }
        };
        let mut watcher =
            RecommendedWatcher::new(handle, options).map_err(|error| Error::other("follow the file system", error))?;
        let mut followed = Vec::with_capacity(roots.len());
        for root in roots {
            let identity = Identity::of(root);
            watcher.watch(root, RecursiveMode::Recursive).map_err(|error| {
                let hint = hint(&error);
                Error::other(format!("watch {}{hint}", root.display()), error)
            })?;
            followed.push((root.clone(), identity));
        }
        Ok(Self { watcher, roots: followed })
    }

    /// Follows what is at the path of a root now, if that is something else than before: the root was made anew, a disk was taken
    /// away or came back, or an editor saved a file that is a root by renaming. The system says nothing about most of these.
    pub(super) fn look_again(&mut self, lost: &BTreeSet<PathBuf>, shared: &Shared) -> Changes {
        let mut changed = BTreeSet::new();
        for (root, followed) in &mut self.roots {
            let now = Identity::of(root);
            if *followed == now && !lost.contains(root) {
                continue;
            }
            // What is left of the old one would be told under the path of the new one.
            let _ = self.watcher.unwatch(root);
            *followed = None;
            if let Some(now) = now {
                match self.watcher.watch(root, RecursiveMode::Recursive) {
                    Ok(()) => *followed = Some(now),
                    Err(error) => shared.set_trouble(trouble(&error)),
                }
            }
            changed.insert(root.clone());
        }
        Changes::Paths(changed)
    }
}

fn trouble(error: &notify::Error) -> String {
    format!("not all changes can be followed, so a sync has to look for the others: {error}{}", hint(error))
}

fn hint(error: &notify::Error) -> &'static str {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => "; on Linux, raise fs.inotify.max_user_watches, which counts folders",
        _ => "",
    }
}

/// What tells a file or folder from another one at the same path. Numbers are given again, so the time is looked at too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    number: (u64, u64),
    created: Option<SystemTime>,
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self { number: number(&metadata), created: metadata.created().ok() })
    }
}

#[cfg(unix)]
fn number(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn number(_metadata: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}

/// Which events are worth a sync.
#[derive(Debug)]
struct Interest {
    config: Arc<Config>,
    roots: Vec<Root>,
}

#[derive(Debug)]
struct Root {
    path: PathBuf,
    scope: Scope,
    /// Without links. Some systems tell events by this path.
    real: Option<PathBuf>,
}

impl Interest {
    fn new(config: Arc<Config>, roots: &[PathBuf]) -> Result<Self> {
        let root = |path: &PathBuf| Ok(Root { path: path.clone(), scope: Scope::folder(path)?, real: path.canonicalize().ok() });
        Ok(Self { config, roots: roots.iter().map(root).collect::<Result<_>>()? })
    }

    fn tell(&self, event: Event, shared: &Shared) {
        if event.need_rescan() {
            shared.add(Changes::Everything);
            return;
        }
        // Reading files is an event too.
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        let may_lose_a_root = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
        let paths: BTreeSet<PathBuf> = event.paths.iter().filter_map(|path| self.path(path)).collect();
        if may_lose_a_root {
            let lost = self.roots.iter().filter(|root| paths.contains(&root.path));
            lost.for_each(|root| shared.lose(root.path.clone()));
        }
        if !paths.is_empty() {
            shared.add(Changes::Paths(paths));
        }
    }

    /// The path as it is under a root, when a sync may look at it.
    fn path(&self, path: &Path) -> Option<PathBuf> {
        let key = DocumentKey::from_path(path);
        let is_wanted = |path: &Path| !is_excluded(&self.config.excluded, path);
        if self.roots.iter().any(|root| root.scope.contains(&key)) {
            let is_data = self.roots.iter().filter(|root| root.scope.contains(&key)).all(|root| self.is_database(root, path));
            return (is_wanted(path) && !is_data).then(|| path.to_owned());
        }
        self.roots.iter().find_map(|root| {
            let rest = path.strip_prefix(root.real.as_ref()?).ok()?;
            // `join` would add a separator to a root that is the file itself.
            let path = if rest.as_os_str().is_empty() { root.path.clone() } else { root.path.join(rest) };
            (is_wanted(&path) && !self.is_database(root, &path)).then_some(path)
        })
    }

    fn is_database(&self, root: &Root, path: &Path) -> bool {
        let rest = path.strip_prefix(&root.path).unwrap_or(Path::new(""));
        !self.config.hidden && rest.iter().any(|name| DATABASES.iter().any(|database| name == *database))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interest(roots: &[&str]) -> Interest {
        Interest::new(Arc::new(Config::default()), &roots.iter().map(PathBuf::from).collect::<Vec<_>>()).expect("absolute roots")
    }

    #[test]
    fn what_a_sync_would_not_look_at_wakes_nobody() {
        let interest = interest(&["/r", "/r/sub/.git", "/file.md"]);
        for path in ["/r", "/r/a.md", "/r/.gitignore", "/r/.github/x", "/r/git/x", "/r/sub/.git/HEAD", "/file.md"] {
            assert_eq!(interest.path(Path::new(path)), Some(PathBuf::from(path)), "{path}");
        }
        for path in ["/r/.git", "/r/a/.git/objects/ab", "/r/.svn/wc.db", "/r-2/a.md", "/file.md~", "/"] {
            assert_eq!(interest.path(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn hidden_files_wake_when_they_are_wanted() {
        let config = Config { hidden: true, ..Config::default() };
        let interest = Interest::new(Arc::new(config), &["/r".into()]).expect("an absolute root");
        assert!(interest.path(Path::new("/r/.git/HEAD")).is_some());
    }

    #[cfg(unix)]
    #[test]
    fn events_under_the_real_path_of_a_linked_root_are_told_under_its_own() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::create_dir(&real).expect("a folder");
        std::os::unix::fs::symlink("real", &link).expect("a link");
        let interest = Interest::new(Arc::new(Config::default()), std::slice::from_ref(&link)).expect("an absolute root");
        let real = real.canonicalize().expect("it is there");
        assert_eq!(interest.path(&real.join("a.md")), Some(link.join("a.md")));
        assert_eq!(interest.path(&real), Some(link.clone()));
        assert_eq!(interest.path(&real.join(".git/HEAD")), None);
    }
}
