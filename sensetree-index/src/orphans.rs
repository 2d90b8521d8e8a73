//! Documents whose file is gone, kept for the run in case their content turns up under another name.

use std::{collections::HashMap, path::Path};

use sensetree_core::{DocumentInfo, FileStamp};

#[derive(Debug, Default)]
pub(crate) struct Orphans(HashMap<String, Vec<DocumentInfo>>);

impl Orphans {
    pub(crate) fn new(documents: Vec<DocumentInfo>) -> Self {
        let mut orphans: HashMap<String, Vec<DocumentInfo>> = HashMap::new();
        for document in documents {
            orphans.entry(content(&document.stamp)).or_default().push(document);
        }
        Self(orphans)
    }

    /// The document that a file was before it moved: of those with the same content the one whose path agrees in the most last
    /// parts, and by key among these. It is given once, so a copy of a moved file is a new document.
    pub(crate) fn take(&mut self, path: &Path, stamp: &FileStamp) -> Option<DocumentInfo> {
        let candidates = self.0.get_mut(&content(stamp))?;
        let same_end = |other: &Path| other.components().rev().zip(path.components().rev()).take_while(|(a, b)| a == b).count();
        let best = (0..candidates.len()).max_by(|&a, &b| {
            let (a, b) = (&candidates[a], &candidates[b]);
            same_end(&a.path).cmp(&same_end(&b.path)).then_with(|| b.key.cmp(&a.key))
        })?;
        Some(candidates.swap_remove(best))
    }

    /// The documents that did not turn up, by key.
    pub(crate) fn into_documents(self) -> Vec<DocumentInfo> {
        let mut documents: Vec<_> = self.0.into_values().flatten().collect();
        documents.sort_by(|a, b| a.key.cmp(&b.key));
        documents
    }
}

/// The hash, or for a file too large to be read its size and time, which a move does not change.
fn content(stamp: &FileStamp) -> String {
    if stamp.hash.is_empty() { format!("{} {}", stamp.size, stamp.modified) } else { stamp.hash.clone() }
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, sync::Arc};

    use sensetree_core::DocumentKey;

    use super::*;

    #[test]
    fn the_longest_common_end_decides_and_nothing_is_given_twice() {
        let stamp = FileStamp { hash: "x".into(), ..FileStamp::default() };
        let document = |path: &str| DocumentInfo {
            key: DocumentKey::from_path(Path::new(path)),
            path: Arc::new(PathBuf::from(path)),
            stamp: stamp.clone(),
            note: String::new(),
        };
        let mut orphans = Orphans::new(["/r/b/L", "/r/a/L", "/r/c/M"].map(document).to_vec());
        let mut take = |path: &str| orphans.take(Path::new(path), &stamp).map(|document| document.key.to_string());
        assert_eq!(take("/r/new/b/L").as_deref(), Some("/r/b/L"));
        assert_eq!(take("/r/new/x").as_deref(), Some("/r/a/L"));
        assert_eq!(take("/r/new/y").as_deref(), Some("/r/c/M"));
        assert_eq!(take("/r/new/z"), None);
    }
}
