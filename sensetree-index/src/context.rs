//! What a chunk says about the document it comes from.

use std::{borrow::Cow, path::Path};

use sensetree_core::Chunk;
use unicode_normalization::UnicodeNormalization;

use crate::{chunk::Chunker, measure::Measure};

/// Characters that a document's qualification may take before a chunk,
const MOST_CHARS: usize = 200;
/// and tokens where chunks are measured in these.
const MOST_TOKENS: usize = 50;
/// And no more than this part of the chunk size, so that a small window stays for the text.
const MOST_OF_CHUNK: usize = 4;
/// A summary may take this many times what the rest of the qualification may, before the first chunk.
const MOST_SUMMARY_SHARE: f64 = 1.5;
/// Before all other chunks, its first sentence may take this part of the qualification.
const COMPACT_SUMMARY: usize = 4;
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

/// Name, title, summary and folder of a document, each on one line and in composed Unicode, for people, words and models.
#[derive(Debug, Clone)]
pub(crate) struct Qualification {
    name: String,
    title: String,
    folder: String,
    summary: String,
    measure: Measure,
    most: usize,
}

impl Qualification {
    /// For a file in `folder`, relative to its root, that is cut by `chunker`.
    pub(crate) fn new(path: &Path, folder: &Path, chunker: &Chunker) -> Self {
        let most = match chunker.measure {
            Measure::Characters => MOST_CHARS,
            Measure::Tokens(_) => MOST_TOKENS,
        };
        let folders: Vec<String> = folder.iter().map(|part| one_line(&part.to_string_lossy())).collect();
        Self {
            name: one_line(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()),
            title: String::new(),
            folder: folders[folders.len().saturating_sub(FOLDERS)..].join("/"),
            summary: String::new(),
            measure: chunker.measure.clone(),
            most: most.min(chunker.size / MOST_OF_CHUNK),
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

    /// Adds what somebody wrote about the document as a whole.
    pub(crate) fn summarised(mut self, summary: Option<&str>) -> Self {
        self.summary = one_line(summary.unwrap_or_default());
        self
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    /// All that can be searched of a document without text: name, kind and folder, uncut.
    pub(crate) fn by_name(&self, kind: &str) -> String {
        joined(&[&self.name, kind, &self.folder])
    }

    /// What stands before the text of the first chunk, and is stored with it: a line, and the summary on one of its own. May be
    /// empty when chunks are tiny.
    pub(crate) fn header(&self) -> String {
        let line = self.cut(&self.line(), self.most);
        let summary = self.cut(&self.summary, (self.most as f64 * MOST_SUMMARY_SHARE) as usize);
        [line, summary].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// The path of headings over a chunk, as it is embedded. The innermost headings matter most and are kept longest.
    pub(crate) fn heading_path(&self, headings: &[&str]) -> String {
        let headings = headings.strip_prefix(&[self.title.as_str()]).unwrap_or(headings);
        let mut path = String::new();
        for heading in headings.iter().rev() {
            let longer = if path.is_empty() { (*heading).to_owned() } else { format!("{heading}{BETWEEN_HEADINGS}{path}") };
            if self.measure.count(&longer) > self.most / 2 {
                // Nothing yet: the innermost heading alone is too long, and its start says most.
                path = if path.is_empty() { self.cut(&longer, self.most / 2) } else { path };
                break;
            }
            path = longer;
        }
        path
    }

    /// What is embedded before every chunk but the first: the name, title and folder, the start of the summary, the headings.
    pub(crate) fn context(&self, heading_path: &str) -> String {
        let room = |taken: &[&str]| {
            let between = self.measure.count(BETWEEN);
            let taken = taken.iter().filter(|part| !part.is_empty()).map(|part| self.measure.count(part) + between).sum();
            self.most.saturating_sub(taken)
        };
        let summary = self.cut(first_sentence(&self.summary), (self.most / COMPACT_SUMMARY).min(room(&[heading_path])));
        let line = self.cut(&self.line(), room(&[&summary, heading_path]));
        // There are tokenizers to which the whole is more than its parts.
        self.cut(&joined(&[&line, &summary, heading_path]), self.most)
    }

    fn line(&self) -> String {
        joined(&[&self.name, &self.title, &self.folder])
    }

    fn cut(&self, text: &str, most: usize) -> String {
        self.measure.first(text, most).trim_end_matches(|c: char| c.is_whitespace() || c == '·').to_owned()
    }
}

fn joined(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(BETWEEN)
}

fn first_sentence(text: &str) -> &str {
    text.split_inclusive(". ").next().unwrap_or_default().trim_end()
}

/// Composed, without line breaks and other control characters, with single spaces.
pub(crate) fn one_line(text: &str) -> String {
    let spaced: String = text.nfc().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sensetree_core::TokenCounter;

    fn qualification(path: &str, folder: &str, title: &str, chunk_size: usize) -> Qualification {
        measured(Measure::Characters, path, folder, title, chunk_size)
    }

    fn measured(measure: Measure, path: &str, folder: &str, title: &str, chunk_size: usize) -> Qualification {
        let chunker = Chunker { size: chunk_size, overlap: 0, measure };
        Qualification::new(Path::new(path), Path::new(folder), &chunker).titled(Some(title))
    }

    fn context(about: &Qualification, headings: &[&str]) -> String {
        about.context(&about.heading_path(headings))
    }

    #[test]
    fn name_title_and_folder_qualify_a_document() {
        let boiler = qualification("/r/home/insurance/boiler-warranty.md", "home/insurance", "Boiler warranty", 1000);
        assert_eq!(boiler.header(), "boiler-warranty.md · Boiler warranty · home/insurance");
        assert_eq!(
            context(&boiler, &["Boiler warranty", "Claims", "By post"]),
            format!("{} · Claims > By post", boiler.header())
        );
        assert_eq!(context(&boiler, &[]), boiler.header());
        assert_eq!(boiler.by_name("PDF document"), "boiler-warranty.md · PDF document · home/insurance");
    }

    #[test]
    fn only_the_last_folders_are_named_and_a_title_is_not_said_twice() {
        assert_eq!(qualification("/r/a/b/c/d/Notes.md", "a/b/c/d", "Notes", 1000).header(), "Notes.md · b/c/d");
        assert_eq!(qualification("/r/Notes.md", "", "", 1000).header(), "Notes.md");
    }

    #[test]
    fn the_header_never_takes_more_than_its_share() {
        // Up to three letters of a word are a token, and so is a mark.
        let letters = |text: &str| -> usize {
            text.split(|c: char| !c.is_alphanumeric()).map(|word| word.chars().count().div_ceil(3)).sum()
        };
        let marks = |text: &str| text.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()).count();
        let tokens = TokenCounter::new(move |text| letters(text) + marks(text));
        for (measure, most) in [(Measure::Characters, 200), (Measure::Tokens(tokens), 50)] {
            for chunk_size in [1, 3, 40, 100, 1000, 100_000] {
                let (path, folder, title) = (format!("/r/{}.md", "é".repeat(120)), "folder".repeat(40), "title ".repeat(50));
                let long = measured(measure.clone(), &path, &folder, &title, chunk_size);
                let headings = ["Outer heading of some length", "Middle heading of some length", &"inner ".repeat(60)];
                let most = most.min(chunk_size / 4);
                let summarised = long.clone().summarised(Some(&"One sentence of some length. ".repeat(90)));
                assert!(measure.count(&summarised.header()) <= 1 + most * 5 / 2);
                for text in [
                    long.header(),
                    context(&long, &headings),
                    context(&long, &headings[..2]),
                    context(&long, &[]),
                    context(&summarised, &headings),
                    context(&summarised, &[]),
                ] {
                    assert!(measure.count(&text) <= most, "{} of {most}: {text:?}", measure.count(&text));
                }
            }
        }
    }

    #[test]
    fn a_summary_stands_whole_before_the_first_chunk_and_in_short_before_the_others() {
        let about = qualification("/r/a.md", "home", "", 1000).summarised(Some("Warranty of the\n boiler. It ends in May."));
        assert_eq!(about.header(), "a.md · home\nWarranty of the boiler. It ends in May.");
        assert_eq!(context(&about, &["Claims"]), "a.md · home · Warranty of the boiler. · Claims");
    }

    #[test]
    fn the_innermost_headings_survive_a_tight_share() {
        let short = qualification("/r/setup.md", "docs", "Setup", 200);
        assert_eq!(context(&short, &["Installing on your machine", "Linux", "Arch"]), "setup.md · Setup · docs · Linux > Arch");
    }

    #[test]
    fn names_with_line_breaks_quotes_and_decomposed_letters_stay_on_one_line() {
        let odd = qualification("/r/Bea's plans/a\n\"draft\"\tPru\u{308}f.md", "Bea's plans", "x", 1000);
        assert_eq!(odd.header(), "a \"draft\" Pr\u{fc}f.md · x · Bea's plans");
    }
}
