//! Folders that are indexed as one: a single document says what they are and what is in them.

use std::{
    fmt,
    fs::{self, File},
    io::{ErrorKind, Read},
    path::Path,
    sync::Arc,
    time::Instant,
};

use sensetree_core::{Document, Error, Result};

use crate::{
    chunk::Chunker,
    context::{Qualification, one_line},
    draft::Draft,
    plan::Job,
    read::{Content, FileRead},
    stamp::now,
    walk::Found,
};

/// The names of folders that are indexed as one by default, each with what such a folder is.
///
/// Besides these: any folder with a `pyvenv.cfg` (a Python environment) or a `CACHEDIR.TAG` (a cache, such as Cargo's `target`).
pub const DEFAULT_BLOCK_FOLDERS: &[(&str, &str)] = &[
    (".git", "Git repository data"),
    (".hg", "Mercurial repository data"),
    (".svn", "Subversion repository data"),
    ("node_modules", "installed JavaScript packages"),
    ("bower_components", "installed JavaScript packages"),
    ("__pycache__", "compiled Python files"),
    (".tox", "Python test environments"),
    (".nox", "Python test environments"),
    (".gradle", "Gradle cache"),
    (".terraform", "Terraform providers and modules"),
];

/// Files whose presence makes a folder a block.
const MARKERS: &[(&str, &str)] = &[("pyvenv.cfg", "Python environment"), ("CACHEDIR.TAG", "cache")];

/// Bytes of a manifest that are read.
const MANIFEST_BYTES: u64 = 64 * 1024;

/// How a folder is indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Folder {
    /// File by file.
    Recursive,
    /// As one document, which can be found by the folder's name, this description and the names of what is directly in it.
    Block {
        /// What the folder is, for people and words: "photo library".
        kind: String,
    },
}

impl Folder {
    /// As one document.
    pub fn block(kind: impl Into<String>) -> Self {
        Self::Block { kind: kind.into() }
    }
}

type Classify = Arc<dyn Fn(&Path) -> Option<Folder> + Send + Sync>;

/// Which folders are blocks.
#[derive(Clone)]
pub(crate) struct Blocks {
    names: Vec<(String, String)>,
    classify: Option<Classify>,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { names: named(DEFAULT_BLOCK_FOLDERS.iter().copied()), classify: None }
    }
}

impl fmt::Debug for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks").field("names", &self.names).field("classify", &self.classify.is_some()).finish()
    }
}

fn named<N: Into<String>, K: Into<String>>(names: impl IntoIterator<Item = (N, K)>) -> Vec<(String, String)> {
    names.into_iter().map(|(name, kind)| (name.into(), kind.into())).collect()
}

impl Blocks {
    pub(crate) fn set_names<N: Into<String>, K: Into<String>>(&mut self, names: impl IntoIterator<Item = (N, K)>) {
        self.names = named(names);
    }

    pub(crate) fn set_classify(&mut self, classify: impl Fn(&Path) -> Option<Folder> + Send + Sync + 'static) {
        self.classify = Some(Arc::new(classify));
    }

    /// What the folder is when it is a block.
    pub(crate) fn kind(&self, folder: &Path) -> Option<String> {
        match self.classify.as_ref().and_then(|classify| classify(folder)) {
            Some(Folder::Block { kind }) => return Some(kind),
            Some(Folder::Recursive) => return None,
            None => {}
        }
        let name = folder.file_name()?;
        let by_name = self.names.iter().find(|(block, _)| name == block.as_str()).map(|(_, kind)| kind.clone());
        by_name.or_else(|| {
            // Without names nobody wants blocks.
            let markers = if self.names.is_empty() { &[] } else { MARKERS };
            let marker = markers.iter().find(|(marker, _)| folder.join(marker).symlink_metadata().is_ok());
            marker.map(|(_, kind)| (*kind).to_owned())
        })
    }
}

/// Whether a file of this name decides how the files around it are indexed.
pub(crate) fn is_rule(name: &std::ffi::OsStr) -> bool {
    name == ".gitignore" || name == ".ignore" || MARKERS.iter().any(|(marker, _)| name == *marker)
}

/// Looks into a block folder; an answer like that for a file.
pub(crate) fn describe(chunker: &Chunker, job: &Job, kind: &str) -> FileRead {
    let started = Instant::now();
    let content = describe_content(chunker, job, kind).unwrap_or_else(|error| match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => Content::Gone { was_known: job.known.is_some() },
        error => Content::Failed(error),
    });
    FileRead { path: job.found.path.clone(), key: job.found.key.clone(), size: 0, took: started.elapsed(), content }
}

fn describe_content(chunker: &Chunker, job: &Job, kind: &str) -> Result<Content> {
    let Found { path, key, folder, observed, .. } = &job.found;
    let reading = now();
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(Error::io("list the folder", path))? {
        names.push(one_line(&entry.map_err(Error::io("list the folder", path))?.file_name().to_string_lossy()));
    }
    names.sort();
    let mut text = format!("{kind}, a folder indexed as one");
    text.extend(manifest(path).map(|about| format!("\n{about}")));
    let contains = format!("\ncontains {} entries: {}", names.len(), names.join(", "));
    // The names that do not fit are counted, and that is all that is said about them.
    let room = chunker.size.saturating_sub(chunker.measure.count(&text));
    text.push_str(chunker.measure.first(&contains, room));

    let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
    if job.known.as_ref().is_some_and(|known| known.stamp.hash == hash && *known.path == *path) {
        return Ok(Content::Unchanged { by_name: None });
    }
    let document = Document {
        key: key.clone(),
        path: path.clone(),
        stamp: observed.stamp(reading, hash),
        note: String::new(),
        chunks: vec![],
    };
    let about = Qualification::new(path, folder, chunker);
    let draft = Draft::of_folder(document, about, text, kind);
    Ok(Content::Draft(Box::new(draft)))
}

/// Name and description from a manifest directly in the folder.
fn manifest(folder: &Path) -> Option<String> {
    let read = |name: &str| {
        let mut text = String::new();
        File::open(folder.join(name)).ok()?.take(MANIFEST_BYTES).read_to_string(&mut text).ok()?;
        Some(text)
    };
    let parts = if let Some(json) = read("package.json") {
        let json: serde_json::Value = serde_json::from_str(&json).ok()?;
        ["name", "description"].map(|field| json.get(field).and_then(|value| value.as_str()).map(one_line))
    } else {
        let toml = read("Cargo.toml").or_else(|| read("pyproject.toml"))?;
        ["name", "description"].map(|field| {
            let value =
                |line: &str| line.strip_prefix(field)?.trim_start().strip_prefix('=').map(|value| value.trim().to_owned());
            toml.lines().find_map(value).map(|value| one_line(value.trim_matches('"')))
        })
    };
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join(": "))
}
