//! What a search, a count or a removal is restricted to.

use std::{
    ops::{Bound, RangeBounds},
    path::Path,
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use crate::{DocumentKey, Error, FileStamp, PathRules, Result};

/// A folder: itself and everything under it, at segment boundaries. `/notes` never means `/notes-old`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scope(DocumentKey);

impl Scope {
    /// The folder at `path`; a relative path is taken from the current directory.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for an empty path, [`Error::Io`] when there is no current directory to start from.
    pub fn folder(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.as_os_str().is_empty() {
            return Err(Error::invalid("a scope needs a folder, the path given is empty"));
        }
        let absolute = std::path::absolute(path).map_err(Error::io("find the absolute path of", path))?;
        Ok(Self(DocumentKey::from_path(absolute)))
    }

    /// The folder written as text under given rules.
    pub fn new(path: &str, rules: PathRules) -> Self {
        Self(DocumentKey::new(path, rules))
    }

    /// The folder's own key.
    pub fn key(&self) -> &DocumentKey {
        &self.0
    }

    /// Whether a document lies in this folder, or is this very path.
    pub fn contains(&self, key: &DocumentKey) -> bool {
        key == &self.0 || key.as_str().starts_with(&*self.0.folder_prefix())
    }
}

/// Which documents count. The default lets everything through; conditions of different kinds must all hold.
///
/// A store applies the filter itself, before any limit: a limit of 3 inside a folder gives three from that folder.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    scopes: Vec<Scope>,
    documents: Option<Vec<DocumentKey>>,
    extensions: Option<Vec<String>>,
    modified: Option<(i64, i64)>,
}

impl Filter {
    /// No condition.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Only documents under this folder. Called again: under any of the folders.
    #[must_use]
    pub fn under(mut self, scope: Scope) -> Self {
        self.scopes.push(scope);
        self
    }

    /// Only documents under this folder, in place of all folders so far; the other conditions stay.
    #[must_use]
    pub fn only_under(mut self, scope: Scope) -> Self {
        self.scopes = vec![scope];
        self
    }

    /// Only these documents. No document at all when `keys` is empty.
    #[must_use]
    pub fn documents(mut self, keys: impl IntoIterator<Item = DocumentKey>) -> Self {
        self.documents = Some(keys.into_iter().collect());
        self
    }

    /// Only documents whose name ends in one of these extensions, with or without the dot, in any case: `["md", ".PDF"]`.
    /// No document at all when `extensions` is empty.
    #[must_use]
    pub fn extensions<S: AsRef<str>>(mut self, extensions: impl IntoIterator<Item = S>) -> Self {
        let plain = |extension: S| extension.as_ref().trim_start_matches('.').to_lowercase();
        self.extensions = Some(extensions.into_iter().map(plain).collect());
        self
    }

    /// Only documents whose content was last written in this range: `last_week..`, `..yesterday`, `monday..=friday`. One whose
    /// time is not known is in no range.
    #[must_use]
    pub fn modified(mut self, range: impl RangeBounds<SystemTime>) -> Self {
        let first = match range.start_bound() {
            Bound::Included(&time) => FileStamp::nanoseconds(time),
            Bound::Excluded(&time) => FileStamp::nanoseconds(time).saturating_add(1),
            Bound::Unbounded => i64::MIN,
        };
        let last = match range.end_bound() {
            Bound::Included(&time) => FileStamp::nanoseconds(time),
            Bound::Excluded(&time) => FileStamp::nanoseconds(time).saturating_sub(1),
            Bound::Unbounded => i64::MAX,
        };
        self.modified = Some((first, last));
        self
    }

    /// The folders, any of which may hold the document; empty means every folder.
    pub fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    /// The documents allowed, if they were listed.
    pub fn listed(&self) -> Option<&[DocumentKey]> {
        self.documents.as_deref()
    }

    /// The extensions allowed, in lower case without the dot, if they were listed.
    pub fn allowed_extensions(&self) -> Option<&[String]> {
        self.extensions.as_deref()
    }

    /// First and last allowed time of modification, in nanoseconds since 1970, if there is such a condition.
    pub fn modified_range(&self) -> Option<(i64, i64)> {
        self.modified
    }

    /// Whether the filter lets a document through, `modified` being [`FileStamp::modified`](crate::FileStamp::modified). This is the
    /// rule that stores translate.
    pub fn matches(&self, key: &DocumentKey, modified: i64) -> bool {
        (self.scopes.is_empty() || self.scopes.iter().any(|scope| scope.contains(key)))
            && self.documents.as_ref().is_none_or(|keys| keys.contains(key))
            && (self.extensions.as_ref())
                .is_none_or(|allowed| key.extension().is_some_and(|extension| allowed.contains(&extension)))
            && self.modified.is_none_or(|(first, last)| modified != 0 && (first..=last).contains(&modified))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn contains(scope: &str, path: &str, rules: PathRules) -> bool {
        Scope::new(scope, rules).contains(&DocumentKey::new(path, rules))
    }

    #[test]
    fn a_scope_ends_at_a_segment() {
        assert!(contains("/notes", "/notes/a.md", PathRules::Posix));
        assert!(!contains("/notes", "/notes-old/b.md", PathRules::Posix));
        assert!(contains("/notes/", "/notes", PathRules::Posix));
        assert!(contains("/", "/notes/a.md", PathRules::Posix));
    }

    #[test]
    fn windows_scopes_ignore_case_and_posix_scopes_do_not() {
        assert!(contains(r"C:\data_x", r"C:\data_x\q.txt", PathRules::Windows));
        assert!(contains(r"D:\docs", r"d:\Docs\R.md", PathRules::Windows));
        assert!(!contains("D:/docs", "d:/Docs/R.md", PathRules::Posix));
        assert!(contains(r"C:\", r"c:\a", PathRules::Windows));
        assert!(contains(r"\\srv\s", r"\\?\UNC\SRV\s\b", PathRules::Windows));
    }

    #[test]
    fn an_empty_list_of_documents_matches_nothing() {
        let filter = Filter::everything().documents([]);
        assert!(!filter.matches(&DocumentKey::new("/a", PathRules::Posix), 0));
    }

    #[test]
    fn a_narrower_folder_replaces_the_folders_and_keeps_the_other_conditions() {
        let scope = |path| Scope::new(path, PathRules::Posix);
        let wide = Filter::everything().under(scope("/notes")).under(scope("/office")).extensions(["md"]);
        let narrow = wide.only_under(scope("/notes/home"));
        for (path, passes) in
            [("/notes/home/a.md", true), ("/notes/a.md", false), ("/office/a.md", false), ("/notes/home/a.txt", false)]
        {
            assert_eq!(narrow.matches(&DocumentKey::new(path, PathRules::Posix), 0), passes, "{path}");
        }
    }

    #[test]
    fn extensions_are_compared_without_case_or_dot() {
        let filter = Filter::everything().extensions([".MD", "pdf"]);
        for (path, passes) in
            [("/a.md", true), ("/a.PDF", true), ("/a.md.txt", false), ("/md", false), ("/x.md/a", false), ("/.md", false)]
        {
            assert_eq!(filter.matches(&DocumentKey::new(path, PathRules::Posix), 0), passes, "{path}");
        }
        let none = Filter::everything().extensions([""; 0]);
        assert!(!none.matches(&DocumentKey::new("/a.md", PathRules::Posix), 0));
    }

    #[test]
    fn a_range_of_times_has_the_ends_that_were_written() {
        let time = |ns: u64| SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(ns);
        let key = DocumentKey::new("/a", PathRules::Posix);
        let passes = |filter: Filter, modified| filter.matches(&key, modified);
        let half_open = || Filter::everything().modified(time(10)..time(20));
        assert!(passes(half_open(), 10) && passes(half_open(), 19) && !passes(half_open(), 20) && !passes(half_open(), 9));
        assert!(
            passes(Filter::everything().modified(time(10)..), i64::MAX) && passes(Filter::everything().modified(..time(10)), -5)
        );
        assert!(!passes(Filter::everything().modified(..), 0), "an unknown time is in no range");
        assert!(!passes(Filter::everything().modified(time(20)..time(10)), 15), "an empty range lets nothing through");
    }

    /// Compares segment by segment, the way a person would.
    fn oracle(scope: &str, path: &str) -> bool {
        let segments = |p: &str| p.split('/').filter(|s| !s.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        segments(path).starts_with(&segments(scope))
    }

    proptest! {
        #[test]
        fn scopes_agree_with_a_comparison_of_segments(
            scope in prop::collection::vec("[ab%_'\\[]{1,2}", 0..4),
            path in prop::collection::vec("[ab%_'\\[]{1,2}", 0..5),
        ) {
            let (scope, path) = (format!("/{}", scope.join("/")), format!("/{}", path.join("/")));
            prop_assert_eq!(contains(&scope, &path, PathRules::Posix), oracle(&scope, &path));
        }
    }
}
