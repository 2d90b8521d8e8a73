//! The part of the roots that a sync looks at.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use sensetree_core::{DocumentKey, Filter, Result, Scope};

/// Files and folders, with everything under them.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    keys: HashSet<DocumentKey>,
    /// What leads to them.
    above: HashSet<DocumentKey>,
    scopes: Vec<Scope>,
}

impl Touched {
    /// The absolute `paths` that lie in `roots`. Of a path inside another one the outer one counts.
    pub(crate) fn new(roots: &[PathBuf], paths: &[PathBuf]) -> Result<Self> {
        let roots = roots.iter().map(Scope::folder).collect::<Result<Vec<_>>>()?;
        let mut keyed: Vec<(DocumentKey, &PathBuf)> = paths.iter().map(|path| (DocumentKey::from_path(path), path)).collect();
        keyed.retain(|(key, _)| roots.iter().any(|root| root.contains(key)));
        keyed.sort();
        let mut touched = Self::default();
        for (key, path) in keyed {
            let mut ancestors: Vec<DocumentKey> = path.ancestors().skip(1).map(DocumentKey::from_path).collect();
            if touched.keys.contains(&key) || ancestors.iter().any(|ancestor| touched.keys.contains(ancestor)) {
                continue;
            }
            touched.above.extend(ancestors.drain(..));
            touched.scopes.push(Scope::folder(path)?);
            touched.keys.insert(key);
        }
        Ok(touched)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether something in `root` is touched, or `root` in something.
    pub(crate) fn concerns(&self, root: &Path) -> bool {
        self.leads_to(root)
    }

    /// The stored documents that are compared.
    pub(crate) fn filter(&self) -> Filter {
        self.scopes.iter().cloned().fold(Filter::everything(), Filter::under)
    }

    /// Whether a path is touched, or on the way to what is.
    pub(crate) fn leads_to(&self, path: &Path) -> bool {
        self.above.contains(&DocumentKey::from_path(path)) || self.holds(path)
    }

    fn holds(&self, path: &Path) -> bool {
        path.ancestors().any(|path| self.keys.contains(&DocumentKey::from_path(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn touched(roots: &[&str], paths: &[&str]) -> Touched {
        let owned = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        Touched::new(&owned(roots), &owned(paths)).expect("absolute paths")
    }

    #[test]
    fn the_way_to_a_touched_path_and_all_below_it_are_looked_at() {
        let touched = touched(&["/r"], &["/r/a/b", "/r/a/b/c", "/elsewhere/x"]);
        for path in ["/r", "/r/a", "/r/a/b", "/r/a/b/c", "/r/a/b/c/d"] {
            assert!(touched.leads_to(Path::new(path)), "{path}");
        }
        for path in ["/r/a/bc", "/r/b", "/elsewhere/x"] {
            assert!(!touched.leads_to(Path::new(path)), "{path}");
        }
        assert_eq!(touched.scopes.len(), 1);
    }

    proptest! {
        #[test]
        fn it_agrees_with_comparing_every_pair(
            paths in prop::collection::vec("(/[ab]){1,4}", 1..6),
            path in "(/[ab]){1,5}",
        ) {
            let touched = touched(&["/"], &paths.iter().map(String::as_str).collect::<Vec<_>>());
            let path = Path::new(&path);
            let naive = paths.iter().map(Path::new).any(|one| one.starts_with(path) || path.starts_with(one));
            prop_assert_eq!(touched.leads_to(path), naive);
        }
    }
}
