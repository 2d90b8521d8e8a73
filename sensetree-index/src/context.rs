//! What a chunk says about the document it comes from.

use std::{borrow::Cow, path::Path};

use sensetree_core::{Chunk, text::first_chars};
use unicode_normalization::UnicodeNormalization;

/// Characters that a document's qualification may take before a chunk.
const MOST_CHARS: usize = 200;
/// And no more than this part of the chunk size, so that a small window stays for the text.
const MOST_OF_CHUNK: usize = 4;
/// Folders named, counted from the file upwards.
const FOLDERS: usize = 3;
const BETWEEN: &str = " · ";
const BETWEEN_HEADINGS: &str = " > ";

/// The text that a chunk's vector is made from: its context, a line break and its stored text, or the stored text alone.
///
/// The indexer embeds exactly this, so vectors can be made again from a store, without the files.
///
/// ```
/// use sensetree_core::{Chunk, Embedding};
/// let chunk = Chunk::new("Bleed the radiators first.", Embedding::new(vec![1.0])?).with_context("boiler.md · home");
/// assert_eq!(sensetree_index::embedded_text(&chunk), "boiler.md · home\nBleed the radiators first.");
/// # Ok::<(), sensetree_core::Error>(())
/// ```
pub fn embedded_text(chunk: &Chunk) -> Cow<'_, str> {
    join(&chunk.context, &chunk.text)
}

pub(crate) fn join<'a>(context: &str, text: &'a str) -> Cow<'a, str> {
    if context.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{context}\n{text}")) }
}

/// Name, kind, title and folder of a document, each on one line and in composed Unicode, for people, words and models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Qualification {
    name: String,
    title: String,
    folder: String,
    most: usize,
}

impl Qualification {
    /// For a file in `folder`, relative to its root, cut into chunks of `chunk_size`.
    pub(crate) fn new(path: &Path, folder: &Path, chunk_size: usize) -> Self {
        let folders: Vec<String> = folder.iter().map(|part| one_line(&part.to_string_lossy())).collect();
        Self {
            name: one_line(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()),
            title: String::new(),
            folder: folders[folders.len().saturating_sub(FOLDERS)..].join("/"),
            most: MOST_CHARS.min(chunk_size / MOST_OF_CHUNK),
        }
    }

    /// Adds the document's own title, unless it only repeats the file name.
    pub(crate) fn titled(mut self, title: Option<&str>) -> Self {
        let title = one_line(title.unwrap_or_default());
        let repeats =
            title == self.name || Some(title.as_str()) == Path::new(&self.name).file_stem().and_then(|stem| stem.to_str());
        self.title = if repeats { String::new() } else { title };
        self
    }

    /// All that can be searched of a document without text: name, kind and folder, uncut.
    pub(crate) fn by_name(&self, kind: &str) -> String {
        joined(&[&self.name, kind, &self.folder])
    }

    /// What stands before the text of the first chunk, and is stored with it. May be empty when chunks are tiny.
    pub(crate) fn header(&self) -> String {
        cut(&self.line(), self.most)
    }

    /// What is embedded before every other chunk. The innermost headings matter most and are kept longest.
    pub(crate) fn context(&self, headings: &[&str]) -> String {
        let headings = headings.strip_prefix(&[self.title.as_str()]).unwrap_or(headings);
        let mut path = String::new();
        for heading in headings.iter().rev() {
            let longer = if path.is_empty() { (*heading).to_owned() } else { format!("{heading}{BETWEEN_HEADINGS}{path}") };
            if longer.chars().count() > self.most / 2 {
                // Nothing yet: the innermost heading alone is too long, and its start says most.
                path = if path.is_empty() { cut(&longer, self.most / 2) } else { path };
                break;
            }
            path = longer;
        }
        let left =
            if path.is_empty() { self.most } else { self.most.saturating_sub(path.chars().count() + BETWEEN.chars().count()) };
        joined(&[&cut(&self.line(), left), &path])
    }

    fn line(&self) -> String {
        joined(&[&self.name, &self.title, &self.folder])
    }
}

fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(BETWEEN)
}

fn cut(text: &str, most: usize) -> String {
    first_chars(text, most).trim_end_matches(|c: char| c.is_whitespace() || c == '·').to_owned()
}

/// Composed, without line breaks and other control characters, with single spaces.
fn one_line(text: &str) -> String {
    let spaced: String = text.nfc().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qualification(path: &str, folder: &str, title: &str, chunk_size: usize) -> Qualification {
        Qualification::new(Path::new(path), Path::new(folder), chunk_size).titled(Some(title))
    }

    #[test]
    fn name_title_and_folder_qualify_a_document() {
        let boiler = qualification("/r/home/insurance/boiler-warranty.md", "home/insurance", "Boiler warranty", 1000);
        assert_eq!(boiler.header(), "boiler-warranty.md · Boiler warranty · home/insurance");
        assert_eq!(boiler.context(&["Boiler warranty", "Claims", "By post"]), format!("{} · Claims > By post", boiler.header()));
        assert_eq!(boiler.context(&[]), boiler.header());
        assert_eq!(boiler.by_name("PDF document"), "boiler-warranty.md · PDF document · home/insurance");
    }

    #[test]
    fn only_the_last_folders_are_named_and_a_title_is_not_said_twice() {
        assert_eq!(qualification("/r/a/b/c/d/Notes.md", "a/b/c/d", "Notes", 1000).header(), "Notes.md · b/c/d");
        assert_eq!(qualification("/r/Notes.md", "", "", 1000).header(), "Notes.md");
    }

    #[test]
    fn the_header_never_takes_more_than_its_share() {
        for chunk_size in [1, 3, 40, 100, 1000, 100_000] {
            let long =
                qualification(&format!("/r/{}.md", "é".repeat(120)), &"folder".repeat(40), &"title ".repeat(50), chunk_size);
            let headings = ["Outer heading of some length", "Middle heading of some length", &"inner ".repeat(60)];
            let most = 200.min(chunk_size / 4);
            for text in [long.header(), long.context(&headings), long.context(&headings[..2]), long.context(&[])] {
                assert!(text.chars().count() <= most, "{} characters of {most}: {text:?}", text.chars().count());
            }
        }
    }

    #[test]
    fn the_innermost_headings_survive_a_tight_share() {
        let short = qualification("/r/setup.md", "docs", "Setup", 200);
        assert_eq!(short.context(&["Installing on your machine", "Linux", "Arch"]), "setup.md · Setup · docs · Linux > Arch");
    }

    #[test]
    fn names_with_line_breaks_quotes_and_decomposed_letters_stay_on_one_line() {
        let odd = qualification("/r/Bea's plans/a\n\"draft\"\tPru\u{308}f.md", "Bea's plans", "x", 1000);
        assert_eq!(odd.header(), "a \"draft\" Pr\u{fc}f.md · x · Bea's plans");
    }
}
