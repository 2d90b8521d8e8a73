//! From the bytes of a file to text, or to a reason why there is none.
//!
//! A format is a row of [`FORMATS`]: adding one is a file under `extract/` and a line here.

mod decode;
mod html;
mod kind;
mod markdown;
mod plain;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use sensetree_core::text::is_blank;

use crate::{chunk::Structure, headings::Outline};
pub(crate) use kind::kind;

/// What a format made of a file.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) structure: Structure,
    pub(crate) outline: Outline,
    /// How the text was had: the format, and the encoding when it is not UTF-8.
    pub(crate) note: String,
}

/// Why a file has no text, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) String);

/// How one kind of files is read.
#[derive(Debug, Clone, Copy)]
struct Format {
    name: &'static str,
    /// In lower case, without the dot.
    extensions: &'static [&'static str],
    /// Whether the first bytes show it, for files with other extensions.
    sniff: fn(&[u8]) -> bool,
    read: fn(&[u8]) -> Result<Text, Unreadable>,
}

/// The first that fits is taken: by extension, then by content. The last one takes whatever is text.
const FORMATS: &[Format] = &[
    Format { name: "HTML", extensions: &["html", "htm", "xhtml"], sniff: html::sniff, read: html::read },
    Format {
        name: "Markdown",
        extensions: &["md", "markdown", "mdown", "mdx", "qmd", "rmd"],
        sniff: |_| false,
        read: markdown::read,
    },
    Format { name: "text", extensions: &[], sniff: |_| true, read: plain::read },
];

/// Never fails otherwise than with a reason: a panic inside a format costs this one file.
pub(crate) fn extract(path: &Path, bytes: &[u8]) -> Result<Text, Unreadable> {
    extract_with(FORMATS, path, bytes)
}

fn extract_with(formats: &[Format], path: &Path, bytes: &[u8]) -> Result<Text, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable("it is empty".into()));
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    let format = (formats.iter().find(|format| format.extensions.contains(&extension.as_str())))
        .or_else(|| formats.iter().find(|format| (format.sniff)(bytes)))
        .ok_or_else(|| Unreadable("no format fits".into()))?;
    let text = catch_unwind(AssertUnwindSafe(|| (format.read)(bytes)))
        .unwrap_or_else(|panic| Err(Unreadable(format!("the {} reader panicked: {}", format.name, panic_message(&*panic)))))?;
    if is_blank(&text.text) {
        return Err(Unreadable("it has no text, only white space".into()));
    }
    Ok(text)
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(path: &str, bytes: &[u8]) -> Result<String, String> {
        extract(Path::new(path), bytes).map(|text| text.note).map_err(|Unreadable(reason)| reason)
    }

    #[test]
    fn the_extension_decides_before_the_content() {
        assert_eq!(note("a.md", b"<html>x</html>").as_deref(), Ok("Markdown"));
        assert_eq!(note("a.HTM", b"just words").as_deref(), Ok("HTML"));
        assert_eq!(note("page", b"\n<!doctype html><p>x").as_deref(), Ok("HTML"));
        assert_eq!(note("a.rs", b"fn main() {}").as_deref(), Ok("text"));
    }

    #[test]
    fn nothing_readable_has_a_reason() {
        assert!(note("a.txt", b"").is_err_and(|reason| reason.contains("empty")));
        assert!(note("a.md", b" \n\t\n").is_err_and(|reason| reason.contains("white space")));
        assert!(note("a.html", b"<script>let x = 1</script>").is_err_and(|reason| reason.contains("white space")));
        assert!(note("a.html", b"\0\x01\x02\0").is_err_and(|reason| reason.contains("binary")));
    }

    #[test]
    fn a_panic_in_a_reader_is_a_reason() {
        let formats = [Format { name: "odd", extensions: &["odd"], sniff: |_| false, read: |_| panic!("seven is not a number") }];
        let Unreadable(reason) = extract_with(&formats, Path::new("a.odd"), b"x").expect_err("it panics");
        assert_eq!(reason, "the odd reader panicked: seven is not a number");
    }
}
