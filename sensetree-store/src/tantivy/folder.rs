//! The folder of an index: whether it is ours, making it, clearing it.

use std::{fs, io, path::Path};

use sensetree_core::{Error, Result};
use serde_json::{Value, json};
use tantivy::Index;

use super::{failed, rows};
use crate::{analyser, turn::LOCK_FILE};

/// Says which rules the files beside it were made by. Written before them, and replaced whole.
const MARKER: &str = "sensetree.json";
/// Names the files of the last commit. Tantivy replaces it whole.
const META: &str = "meta.json";

/// What lies in a folder that may be used.
pub(super) enum Found {
    /// Nothing yet.
    Nothing,
    /// An index by the rules of this version.
    Index,
}

/// Looks before anything is written.
///
/// # Errors
/// [`Error::Format`] for an index by other rules, [`Error::InvalidInput`] for a folder that is used for something else.
pub(super) fn look(folder: &Path) -> Result<Found> {
    let path = folder.join(MARKER);
    let marker = match fs::read(&path) {
        Ok(marker) => marker,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return if is_free(folder)? { Ok(Found::Nothing) } else { Err(in_use(folder)) };
        }
        Err(e) => return Err(Error::io("read", path)(e)),
    };
    let marker: Value = serde_json::from_slice(&marker).unwrap_or_default();
    if marker != rules() {
        let found = match (&marker["format"], &marker["analyser"]) {
            (Value::Number(format), Value::String(analyser)) => format!("{format} with words by {analyser}"),
            _ => format!("that {MARKER} does not tell"),
        };
        return Err(Error::Format { path: folder.to_owned(), found, supported: rows::FORMAT_VERSION });
    }
    // Without the file that names the others there is only a new index when there are no others.
    let made = folder.join(META).exists() || names(folder)?.iter().any(|name| name.ends_with(".store"));
    Ok(if made { Found::Index } else { Found::Nothing })
}

fn rules() -> Value {
    json!({ "format": rows::FORMAT_VERSION, "analyser": analyser::NAME })
}

/// Makes a new index in a folder where [`look`] found nothing. The caller has the turn to write.
pub(super) fn create(folder: &Path) -> Result<()> {
    let (new, path) = (folder.join(format!(".{MARKER}.new")), folder.join(MARKER));
    fs::write(&new, rules().to_string()).map_err(Error::io("write", &new))?;
    fs::rename(&new, &path).map_err(Error::io("write", &path))?;
    Index::create_in_dir(folder, rows::schema().0).map_err(failed("make", folder))?;
    Ok(())
}

/// Removes an index by any rules, whole or damaged. The caller has the turn to write.
///
/// What makes the folder ours goes last, so that a removal that was cut short can be repeated.
pub(super) fn clear(folder: &Path) -> Result<()> {
    let path = folder.join(MARKER);
    if !path.exists() {
        return if is_free(folder)? { Ok(()) } else { Err(in_use(folder)) };
    }
    let is_segment = |name: &str| {
        let (stem, extension) = name.split_once('.').unwrap_or_default();
        stem.len() == 32 && stem.bytes().all(|b| b.is_ascii_hexdigit()) && !extension.is_empty()
    };
    let segments = names(folder)?.into_iter().filter(|name| is_segment(name));
    let mut files = segments.chain([".managed.json", META, MARKER].map(str::to_owned));
    files.try_for_each(|name| remove(&folder.join(name)))
}

/// Removes what killed writers left of files that Tantivy replaces whole; its own list does not have them. The caller has the
/// turn to write, so that none of them is in use.
pub(super) fn clear_leftovers(folder: &Path) -> Result<()> {
    names(folder)?.into_iter().filter(|name| name.starts_with(".tmp")).try_for_each(|name| remove(&folder.join(name)))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Whether nobody keeps anything here. Names that start with a dot are left to the system, and to an index never finished.
fn is_free(folder: &Path) -> Result<bool> {
    Ok(names(folder)?.iter().all(|name| name.starts_with('.') || name == LOCK_FILE))
}

fn in_use(folder: &Path) -> Error {
    let folder = folder.display();
    Error::invalid(format!("the folder {folder} holds other files and no index; give the index a folder of its own"))
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let names = |entries: fs::ReadDir| {
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<io::Result<_>>()
    };
    fs::read_dir(folder).and_then(names).map_err(Error::io("list the folder", folder))
}
