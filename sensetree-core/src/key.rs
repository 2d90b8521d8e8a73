//! Identity: which document, which chunk of it.

use std::{borrow::Cow, fmt, path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// How a platform reads paths. Both rule sets run on every host, so that both can be tested on every host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathRules {
    /// `/` separates, names differ by case.
    Posix,
    /// `\` and `/` separate, names and drive letters do not differ by case, `\\?\` prefixes mean nothing.
    Windows,
}

impl PathRules {
    /// The rules of the machine that this program runs on.
    pub const fn host() -> Self {
        if cfg!(windows) { Self::Windows } else { Self::Posix }
    }
}

/// The identity of a document: its path in one normal form, whatever way it was written.
///
/// Separators are unified to `/`, `\\?\` and `\\?\UNC\` removed, `.` and `..` resolved textually (links are not followed),
/// repeated and trailing separators dropped, the text in NFC. Under [`PathRules::Windows`] it is in lower case as well.
/// Bytes that are not UTF-8 are kept apart as U+FFFD and two hexadecimal digits (a real U+FFFD is doubled), so two
/// different names never share a key.
///
/// A key is for comparing; the original path, with its own bytes, travels in [`Document::path`](crate::Document::path).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct DocumentKey(Arc<str>);

impl From<String> for DocumentKey {
    /// As [`DocumentKey::from_stored`].
    fn from(key: String) -> Self {
        Self(key.into())
    }
}

impl From<DocumentKey> for String {
    fn from(key: DocumentKey) -> Self {
        key.0.as_ref().to_owned()
    }
}

impl DocumentKey {
    /// The key of a path on this machine. Relative paths stay relative: make them absolute first.
    pub fn from_path(path: impl AsRef<Path>) -> Self {
        Self::new(&path_text(path.as_ref()), PathRules::host())
    }

    /// The key of a path given as text, under given rules.
    pub fn new(path: &str, rules: PathRules) -> Self {
        let path: Cow<'_, str> = match rules {
            PathRules::Posix => Cow::Borrowed(path),
            PathRules::Windows => Cow::Owned(plain_windows(path)),
        };
        let (root, rest) = split_root(&path, rules);
        let mut parts: Vec<&str> = Vec::new();
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." => match parts.last() {
                    Some(&last) if last != ".." => {
                        parts.pop();
                    }
                    _ if root.is_empty() => parts.push(".."),
                    _ => {}
                },
                name => parts.push(name),
            }
        }
        let mut key = String::with_capacity(path.len());
        key.push_str(root);
        for (i, part) in parts.iter().enumerate() {
            // A drive is a root without a separator of its own: `c:` + `/` + `w`.
            if i > 0 || !(root.is_empty() || root.ends_with('/')) {
                key.push('/');
            }
            key.push_str(part);
        }
        Self(key.nfc().collect::<String>().into())
    }

    /// A key read back from a store, where only normal forms are written.
    pub fn from_stored(key: impl Into<Arc<str>>) -> Self {
        Self(key.into())
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What follows the last dot of the name, in lower case; none for `.bashrc` and for names without a dot.
    pub fn extension(&self) -> Option<String> {
        let name = self.0.rsplit('/').next().unwrap_or_default();
        let (stem, extension) = name.rsplit_once('.')?;
        (!stem.is_empty() && !extension.is_empty()).then(|| extension.to_lowercase())
    }

    /// What every key under this folder starts with: the key and one separator.
    pub fn folder_prefix(&self) -> Cow<'_, str> {
        if self.0.is_empty() || self.0.ends_with('/') { Cow::Borrowed(&self.0) } else { Cow::Owned(format!("{}/", self.0)) }
    }
}

/// The text of a path with its non-UTF-8 bytes escaped, without loss.
fn path_text(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        Some(text) if !text.contains('\u{FFFD}') => Cow::Borrowed(text),
        _ => {
            let mut text = String::new();
            for part in path.as_os_str().as_encoded_bytes().utf8_chunks() {
                text.push_str(&part.valid().replace('\u{FFFD}', "\u{FFFD}\u{FFFD}"));
                for byte in part.invalid() {
                    text.push_str(&format!("\u{FFFD}{byte:02x}"));
                }
            }
            Cow::Owned(text)
        }
    }
}

/// Windows spelling without what does not change the meaning: `\` → `/`, verbatim prefixes, case.
fn plain_windows(path: &str) -> String {
    let slashed = path.replace('\\', "/").to_lowercase();
    let verbatim = slashed.strip_prefix("//?/").or_else(|| slashed.strip_prefix("//./"));
    match verbatim {
        Some(rest) => match rest.strip_prefix("unc/") {
            Some(share) => format!("//{share}"),
            None => rest.to_owned(),
        },
        None => slashed,
    }
}

/// Splits what `..` cannot climb above from the rest.
fn split_root(path: &str, rules: PathRules) -> (&str, &str) {
    if rules == PathRules::Windows {
        if path.len() >= 2 && path.as_bytes()[1] == b':' && path.as_bytes()[0].is_ascii_alphabetic() {
            return path.split_at(2);
        }
        if path.starts_with("//") {
            return path.split_at(2);
        }
    }
    match path.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", path),
    }
}

impl fmt::Display for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for DocumentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// The identity of a chunk: its document and its position there, from 0.
///
/// The order (key, then index) breaks every tie in the library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChunkId {
    /// The document.
    pub key: DocumentKey,
    /// Position in the document, from 0.
    pub index: u32,
}

impl ChunkId {
    /// The chunk at `index` of `key`.
    pub fn new(key: DocumentKey, index: u32) -> Self {
        Self { key, index }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posix(path: &str) -> String {
        DocumentKey::new(path, PathRules::Posix).to_string()
    }

    fn windows(path: &str) -> String {
        DocumentKey::new(path, PathRules::Windows).to_string()
    }

    #[test]
    fn posix_paths_in_every_spelling_are_one_document() {
        for spelling in ["/a/b/c", "/a/b/c/", "/a//b/./c", "/a/x/../b/c", "/../a/b/c", "//a/b/c"] {
            assert_eq!(posix(spelling), "/a/b/c", "{spelling}");
        }
        assert_eq!(posix("/"), "/");
        assert_eq!(posix("/.."), "/");
        assert_eq!(posix("a/../../b"), "../b");
        assert_eq!(posix("/A/b"), "/A/b");
        assert_eq!(posix(r"/a\b"), r"/a\b", "a backslash is a character of the name");
    }

    #[test]
    fn verbatim_and_plain_windows_paths_are_one_document() {
        assert_eq!(windows(r"\\?\C:\w\a.txt"), windows(r"C:\w\a.txt"));
        assert_eq!(windows(r"\\?\UNC\srv\s\b"), windows(r"\\srv\s\b"));
        assert_eq!(windows(r"\\srv\s\b"), "//srv/s/b");
        assert_eq!(windows(r"C:\W\..\Docs\.\R.md\"), "c:/docs/r.md");
        assert_eq!(windows(r"C:\"), "c:");
        assert_eq!(windows(r"\w\a"), "/w/a");
    }

    #[test]
    fn composed_and_decomposed_names_are_one_key() {
        assert_eq!(posix("/Pru\u{308}f.md"), posix("/Pr\u{fc}f.md"));
    }

    #[cfg(unix)]
    #[test]
    fn names_of_any_bytes_have_keys_of_their_own() {
        use std::os::unix::ffi::OsStrExt;
        let key = |bytes: &[u8]| DocumentKey::from_path(Path::new(std::ffi::OsStr::from_bytes(bytes)));
        assert_ne!(key(b"/a\xff"), key(b"/a\xfe"));
        assert_ne!(key(b"/a\xff"), key("/a\u{FFFD}ff".as_bytes()));
        assert_ne!(key(b"/a\xff"), key("/a\u{FFFD}".as_bytes()));
    }
}
