//! What has to be done: the files on disk against the documents in the store.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use sensetree_core::{DocumentInfo, DocumentKey, Scope};

use crate::{
    draft::by_name_reason,
    report::FileNote,
    walk::{Found, Walked},
};

/// A file to read, and what the store holds for it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) found: Found,
    pub(crate) known: Option<DocumentInfo>,
}

#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) jobs: Vec<Job>,
    pub(crate) unchanged: u64,
    pub(crate) removed: Vec<(DocumentKey, Arc<PathBuf>)>,
    pub(crate) skipped: Vec<FileNote>,
    pub(crate) failed: Vec<FileNote>,
    pub(crate) warnings: Vec<String>,
}

/// `stored` is everything that the store holds under the roots.
pub(crate) fn plan(walked: Walked, stored: Vec<DocumentInfo>, max_file_size: u64) -> Plan {
    let Walked { files, skipped, failed, warnings, mut unseen, empty, .. } = walked;
    let mut plan = Plan { skipped, failed, warnings, ..Plan::default() };
    for root in empty {
        // An absolute path always has a scope.
        let Ok(scope) = Scope::folder(&root) else { continue };
        let kept = stored.iter().filter(|document| scope.contains(&document.key)).count();
        if kept > 0 {
            let root = root.display();
            plan.warnings
                .push(format!("{root} is empty; its {kept} documents stay in the store in case it is not there for the moment"));
            unseen.push(scope);
        }
    }
    let mut stored: HashMap<DocumentKey, DocumentInfo> =
        stored.into_iter().map(|document| (document.key.clone(), document)).collect();
    for found in files {
        match stored.remove(&found.key) {
            // The path is compared too: a file renamed from one spelling of its key to another must stay openable.
            Some(known) if found.observed.is_current(&known.stamp, max_file_size) && *known.path == found.path => {
                plan.unchanged += 1;
                plan.skipped.extend(by_name_reason(&known.note).map(|reason| FileNote::new(found.path, reason)));
            }
            known => plan.jobs.push(Job { found, known }),
        }
    }
    plan.removed = (stored.into_values())
        .filter(|document| !unseen.iter().any(|scope| scope.contains(&document.key)))
        .map(|document| (document.key, document.path))
        .collect();
    plan.removed.sort();
    plan
}

#[cfg(test)]
mod tests {
    use std::{io, path::Path};

    use sensetree_core::FileStamp;

    use super::*;

    fn stored(path: &str) -> DocumentInfo {
        let path = Path::new(path);
        DocumentInfo {
            key: DocumentKey::from_path(path),
            path: Arc::new(path.to_owned()),
            stamp: FileStamp::default(),
            note: String::new(),
        }
    }

    fn error(path: &str, kind: io::ErrorKind) -> ignore::Error {
        ignore::Error::WithPath { path: path.into(), err: Box::new(ignore::Error::Io(kind.into())) }
    }

    /// Root reads every folder, so this cannot be had from a real one everywhere.
    #[test]
    fn a_folder_that_cannot_be_read_keeps_its_documents_and_one_that_is_gone_does_not() {
        let mut walked = Walked::default();
        walked.error(Path::new("/r"), &error("/r/locked", io::ErrorKind::PermissionDenied));
        walked.error(Path::new("/r"), &error("/r/gone", io::ErrorKind::NotFound));
        let documents = ["/r/locked/a.md", "/r/locked/deep/b.md", "/r/locked-not/c.md", "/r/gone/d.md"];
        let plan = plan(walked, documents.map(stored).to_vec(), 1000);
        let removed: Vec<_> = plan.removed.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(removed, ["/r/gone/d.md", "/r/locked-not/c.md"]);
        assert_eq!(plan.failed.len(), 1);
        assert!(plan.failed[0].reason.contains("cannot be read") && plan.failed[0].path.ends_with("locked"));
    }

    #[test]
    fn an_error_without_a_path_protects_the_whole_root() {
        let mut walked = Walked::default();
        walked.error(Path::new("/r"), &ignore::Error::Io(io::ErrorKind::PermissionDenied.into()));
        assert!(plan(walked, vec![stored("/r/a.md")], 1000).removed.is_empty());
    }
}
