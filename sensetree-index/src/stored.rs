//! The stored documents as the walk asks for them: by the place that each has in the list.

use std::{
    cell::{Cell, OnceCell},
    collections::HashMap,
    ffi::OsStr,
    path::Path,
};

use sensetree_core::{DocumentInfo, DocumentKey};

/// A sync in which nothing has changed does little but this. So a document is found by the very path that it was stored under, which
/// saves making the key of the path, and is known by its place from then on, which saves hashing the key. Stores list documents by
/// key, which is nearly the order of the walk, so the one after the last that was found is most often the next.
#[derive(Debug)]
pub(crate) struct Stored<'a> {
    documents: &'a [DocumentInfo],
    next: Cell<usize>,
    /// Made when the next document is not the one that is looked for.
    by_path: OnceCell<HashMap<&'a OsStr, usize>>,
    /// Made when a path is not among those.
    by_key: OnceCell<HashMap<&'a DocumentKey, usize>>,
}

impl<'a> Stored<'a> {
    pub(crate) fn new(documents: &'a [DocumentInfo]) -> Self {
        Self { documents, next: Cell::new(0), by_path: OnceCell::new(), by_key: OnceCell::new() }
    }

    pub(crate) fn count(&self) -> usize {
        self.documents.len()
    }

    /// The key of a path, and the place of its document.
    pub(crate) fn find(&self, path: &Path) -> (DocumentKey, Option<usize>) {
        if let Some(at) = self.by_path(path.as_os_str()) {
            self.next.set(at + 1);
            return (self.documents[at].key.clone(), Some(at));
        }
        let key = DocumentKey::from_path(path);
        let by_key = || self.documents.iter().enumerate().map(|(at, document)| (&document.key, at)).collect();
        let at = self.by_key.get_or_init(by_key).get(&key).copied();
        (key, at)
    }

    fn by_path(&self, path: &OsStr) -> Option<usize> {
        let next = self.next.get();
        if self.documents.get(next).is_some_and(|document| document.path.as_os_str() == path) {
            return Some(next);
        }
        let by_path = || self.documents.iter().enumerate().map(|(at, document)| (document.path.as_os_str(), at)).collect();
        self.by_path.get_or_init(by_path).get(path).copied()
    }
}

/// Which documents were met, each with a value.
#[derive(Debug)]
pub(crate) struct Met<T> {
    stored: Vec<Option<T>>,
    new: HashMap<DocumentKey, T>,
}

impl<T> Default for Met<T> {
    fn default() -> Self {
        Self { stored: Vec::new(), new: HashMap::new() }
    }
}

impl<T> Met<T> {
    pub(crate) fn none_of(stored: &Stored<'_>) -> Self {
        Self { stored: std::iter::repeat_with(|| None).take(stored.count()).collect(), ..Self::default() }
    }

    pub(crate) fn get(&self, key: &DocumentKey, stored: Option<usize>) -> Option<&T> {
        match stored {
            Some(at) => self.stored[at].as_ref(),
            None => self.new.get(key),
        }
    }

    pub(crate) fn insert(&mut self, key: &DocumentKey, stored: Option<usize>, value: T) {
        match stored {
            Some(at) => self.stored[at] = Some(value),
            None => _ = self.new.insert(key.clone(), value),
        }
    }
}
