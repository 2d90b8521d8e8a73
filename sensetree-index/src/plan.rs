//! What has to be done: the files on disk against the documents in the store.

use std::collections::{HashMap, HashSet};

use sensetree_core::{DocumentInfo, DocumentKey, Error, Result, Scope};

use crate::{
    draft::by_name_reason,
    indexer::Config,
    report::FileNote,
    stamp::Observed,
    status::{Status, TRIES, may_have_failed},
    walk::{Found, Walked},
};

/// A file to read, and what the store holds for it unless it has to be read anew whatever that is.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) found: Found,
    pub(crate) known: Option<DocumentInfo>,
}

/// What the store holds for a file that is looked at.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) info: DocumentInfo,
    pub(crate) observed: Observed,
}

#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) jobs: Vec<Job>,
    /// Folders to look into, and what they are.
    pub(crate) blocks: Vec<(Job, String)>,
    pub(crate) known: HashMap<DocumentKey, Known>,
    pub(crate) unchanged: u64,
    pub(crate) removed: Vec<DocumentInfo>,
    /// Gone as well, but a new file may turn out to be one of them.
    pub(crate) orphans: Vec<DocumentInfo>,
    pub(crate) skipped: Vec<FileNote>,
    pub(crate) failed: Vec<FileNote>,
    pub(crate) warnings: Vec<String>,
}

/// `stored` is everything that the store holds under the roots, as the walk was told.
///
/// # Errors
/// [`Error::Io`] for a root that is not there and of which the store knows nothing.
pub(crate) fn plan(config: &Config, walked: Walked, stored: Vec<DocumentInfo>) -> Result<Plan> {
    let Walked { files, blocks, skipped, failed, warnings, mut unseen, empty, missing, .. } = walked;
    let mut plan = Plan { skipped, failed, warnings, ..Plan::default() };
    let kept = |scope: &Scope| stored.iter().filter(|document| scope.contains(&document.key)).count();
    for root in empty {
        let scope = Scope::folder(&root)?;
        let count = kept(&scope);
        if count > 0 {
            let root = root.display();
            plan.warnings
                .push(format!("{root} is empty; its {count} documents stay in the store in case it is not there for the moment"));
            unseen.push(scope);
        }
    }
    for (root, error) in missing {
        let scope = Scope::folder(&root)?;
        let count = kept(&scope);
        if count == 0 {
            return Err(Error::io("open the root", root)(error));
        }
        plan.warnings.push(format!("{} is not there ({error}); its {count} documents stay in the store", root.display()));
        unseen.push(scope);
    }
    let mut stored: Vec<Option<DocumentInfo>> = stored.into_iter().map(Some).collect();
    let mut new_sizes = HashSet::new();
    for (found, kind) in
        files.into_iter().map(|found| (found, None)).chain(blocks.into_iter().map(|(found, kind)| (found, Some(kind))))
    {
        let known = found.stored.and_then(|at| stored[at].take());
        // The path is compared too: a file renamed from one spelling of its key to another must stay openable.
        let is_current = |known: &DocumentInfo| {
            found.observed.is_current(&known.stamp, config.max_file_size) && known.path.as_os_str() == found.path.as_os_str()
        };
        if let Some(known) = known.as_ref().filter(|known| is_current(known) && !is_tried_again(config, known)) {
            plan.stays(known);
            continue;
        }
        if known.is_none() {
            new_sizes.insert(found.observed.size);
        }
        let compared = known.as_ref().filter(|known| !is_tried_again(config, known)).cloned();
        plan.known.extend(known.map(|info| (found.key.clone(), Known { info, observed: found.observed })));
        let job = Job { found, known: compared };
        match kind {
            None => plan.jobs.push(job),
            Some(kind) => plan.blocks.push((job, kind)),
        }
    }
    let gone = stored.into_iter().flatten().filter(|document| !unseen.iter().any(|scope| scope.contains(&document.key)));
    (plan.orphans, plan.removed) = gone.partition(|document| new_sizes.contains(&document.stamp.size));
    plan.removed.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(plan)
}

/// Whether what went wrong with the file may pass, so that it has to be tried although it is the same.
fn is_tried_again(config: &Config, known: &DocumentInfo) -> bool {
    match failure(known) {
        Some((_, tries, is_final)) => config.retry_failed || (!is_final && tries < TRIES),
        None => false,
    }
}

/// Why a file failed, how often it was tried, and whether that was final.
fn failure(known: &DocumentInfo) -> Option<(String, u32, bool)> {
    match may_have_failed(&known.note).then(|| Status::of(known))? {
        Status::Failed { reason, tries, is_final } => Some((reason, tries, is_final)),
        _ => None,
    }
}

impl Plan {
    fn stays(&mut self, known: &DocumentInfo) {
        if let Some((reason, tries, _)) = failure(known) {
            self.failed.push(FileNote::new(&*known.path, reason).tried(tries));
            return;
        }
        self.unchanged += 1;
        self.skipped.extend(by_name_reason(&known.note).map(|reason| FileNote::new(&*known.path, reason)));
    }
}

#[cfg(test)]
mod tests {
    use std::{io, path::Path, sync::Arc};

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
        let plan = plan(&Config::default(), walked, documents.map(stored).to_vec()).expect("no root is missing");
        let removed: Vec<_> = plan.removed.iter().map(|document| document.key.as_str()).collect();
        assert_eq!(removed, ["/r/gone/d.md", "/r/locked-not/c.md"]);
        assert_eq!(plan.failed.len(), 1);
        assert!(plan.failed[0].reason.contains("cannot be read") && plan.failed[0].path.ends_with("locked"));
    }

    #[test]
    fn an_error_without_a_path_protects_the_whole_root() {
        let mut walked = Walked::default();
        walked.error(Path::new("/r"), &ignore::Error::Io(io::ErrorKind::PermissionDenied.into()));
        let plan = plan(&Config::default(), walked, vec![stored("/r/a.md")]).expect("no root is missing");
        assert!(plan.removed.is_empty());
    }
}
