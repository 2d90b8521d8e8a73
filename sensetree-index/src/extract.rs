//! From the bytes of a file to text, or to a reason why there is none.
//!
//! A format is a row of [`FORMATS`]: adding one is a file under `extract/` and a line here.

mod code;
mod decode;
mod docx;
mod epub;
mod html;
mod kind;
mod limits;
mod mail;
mod markdown;
mod notebook;
mod odf;
mod out;
mod package;
mod pdf;
mod plain;
mod pptx;
mod rtf;
mod table;
mod watch;
mod xls;
mod xlsx;
mod xml;

use std::{path::Path, sync::Arc, time::Instant};

use sensetree_core::{Error, Result, text::is_blank};

use crate::{chunk::Structure, headings::Outline};
pub(crate) use kind::kind;
pub use limits::ExtractLimits;
use limits::Source;

/// What a format made of a file.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) structure: Structure,
    pub(crate) outline: Outline,
    /// How the text was had: the format, the encoding when it is not UTF-8, and what could not be read.
    pub(crate) note: String,
}

/// Why a file has no text, for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable(pub(crate) String);

/// How one kind of files is read.
#[derive(Debug, Clone, Copy)]
struct Format {
    name: &'static str,
    /// Whether the first bytes show it beyond doubt, whatever the file is called.
    signature: fn(&[u8]) -> bool,
    /// In lower case, without the dot.
    extensions: &'static [&'static str],
    /// Whether the first bytes suggest it, for files whose extension says nothing.
    sniff: fn(&[u8]) -> bool,
    /// Whether reading could go on for ever or panic deep inside a library, and so needs a thread that can be left behind.
    is_watched: bool,
    read: fn(&Source) -> Result<Text, Unreadable>,
}

/// The start of a row that says nothing about signatures and first bytes.
const BY_EXTENSION: Format = Format {
    name: "",
    signature: |_| false,
    extensions: &[],
    sniff: |_| false,
    is_watched: true,
    read: |_| Err(Unreadable(String::new())),
};
/// The same for files that are only decoded, which always ends. They are read even while other readers hang.
const AS_IT_IS: Format = Format { is_watched: false, ..BY_EXTENSION };

/// The first that fits is taken: by signature, then by extension, then by first bytes. The last one takes whatever is text.
const FORMATS: &[Format] = &[
    Format { name: "PDF", signature: pdf::is_pdf, extensions: &["pdf"], read: pdf::read, ..BY_EXTENSION },
    Format { name: "package", signature: package::is_zip, read: package::read, ..BY_EXTENSION },
    Format { name: "compound file", signature: xls::is_compound, read: xls::read, ..BY_EXTENSION },
    Format { name: "RTF", signature: |bytes| bytes.starts_with(b"{\\rtf"), read: rtf::read, ..BY_EXTENSION },
    Format { name: "code", extensions: CODE, read: code::read, ..AS_IT_IS },
    Format { name: "HTML", signature: html::sniff, extensions: &["html", "htm", "xhtml"], read: html::read, ..BY_EXTENSION },
    Format { name: "mail", extensions: &["eml"], sniff: mail::sniff, read: mail::read, ..BY_EXTENSION },
    Format { name: "notebook", extensions: &["ipynb"], read: notebook::read, ..BY_EXTENSION },
    Format { name: "table", extensions: &["csv", "tsv"], read: table::read, ..AS_IT_IS },
    Format { name: "Markdown", extensions: &["md", "markdown", "mdown", "mdx", "qmd", "rmd"], read: markdown::read, ..AS_IT_IS },
    Format { name: "text", sniff: |_| true, read: plain::read, ..AS_IT_IS },
];

/// Source code may well start with a page that it fills in, so its extension is believed before the signature of HTML.
pub(crate) const CODE: &[&str] = &[
    "bash", "c", "cc", "cjs", "cpp", "cs", "cts", "cxx", "go", "h", "hh", "hpp", "hxx", "java", "js", "jsx", "mjs", "mts", "php",
    "py", "pyi", "rb", "rs", "sh", "ts", "tsx",
];

/// The text of a file, or the reason why it has none: a panic or a hang inside a format costs this one file.
///
/// # Errors
/// [`Error::OutOfTime`] when its reader was late, which may have had other reasons than the file. [`Error::Other`] when the file could not
/// be tried and should be later.
pub(crate) fn extract_within(limits: &ExtractLimits, path: &Path, bytes: &Arc<Vec<u8>>) -> Result<Result<Text, Unreadable>> {
    extract_with(FORMATS, limits, path, bytes)
}

/// [`extract_within`] the default limits.
#[cfg(test)]
pub(crate) fn extract(path: &Path, bytes: &[u8]) -> Result<Text, Unreadable> {
    extract_within(&ExtractLimits::default(), path, &Arc::new(bytes.to_vec())).expect("a thread")
}

fn extract_with(
    formats: &'static [Format],
    limits: &ExtractLimits,
    path: &Path,
    bytes: &Arc<Vec<u8>>,
) -> Result<Result<Text, Unreadable>> {
    if bytes.is_empty() {
        return Ok(Err(Unreadable("it is empty".into())));
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default();
    let Some(format) = format(formats, &extension, bytes) else { return Ok(Err(Unreadable("no format fits".into()))) };
    let work = {
        let (bytes, limits) = (bytes.clone(), limits.clone());
        move || {
            let until = limits.until();
            let text = (format.read)(&Source { bytes: &bytes, extension: &extension, limits: &limits, until });
            // A reader that saw its time end has left something out.
            if format.is_watched && Instant::now() >= until { Err(watch::Stopped::Late) } else { Ok(text) }
        }
    };
    let read = if format.is_watched { watch::WATCH.run(limits.time, work) } else { watch::run_here(work) };
    Ok(match read.flatten() {
        Ok(text) => text.and_then(|text| checked(text, limits)),
        Err(watch::Stopped::Panicked(message)) => Err(Unreadable(format!("the {} reader panicked: {message}", format.name))),
        Err(watch::Stopped::Late) => {
            return Err(Error::OutOfTime { part: format!("{} reader", format.name), budget: limits.time, of: "file" });
        }
        Err(watch::Stopped::NotStarted(why)) => return Err(Error::other(format!("read {}", path.display()), why)),
    })
}

fn format<'a>(formats: &'a [Format], extension: &str, bytes: &[u8]) -> Option<&'a Format> {
    let is_named = |format: &&Format| format.extensions.contains(&extension);
    let signed = formats.iter().find(|format| (format.signature)(bytes) || (format.name == "code" && is_named(format)));
    signed.or_else(|| formats.iter().find(is_named)).or_else(|| formats.iter().find(|format| (format.sniff)(bytes)))
}

fn checked(mut text: Text, limits: &ExtractLimits) -> Result<Text, Unreadable> {
    if text.text.len() > limits.text_bytes {
        text.text.truncate(text.text.floor_char_boundary(limits.text_bytes));
        text.outline.headings.retain(|heading| heading.start < text.text.len());
        text.note = format!("{}, only the first {} bytes of its text", text.note, limits.text_bytes);
    }
    if is_blank(&text.text) { Err(Unreadable("it has no text, only white space".into())) } else { Ok(text) }
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests;
