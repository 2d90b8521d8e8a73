//! Numbered, quoted excerpts within a budget.

use std::{borrow::Cow, fmt, sync::Arc};

use sensetree_core::text::first_chars;

use super::Sources;
use crate::{SearchResult, tree::name::visible};

const DEFAULT_CHARACTERS: usize = 6000;
/// Rather than shorten all excerpts below this many characters, the last one is left out.
const LEAST_CHARACTERS: usize = 120;

/// How long a text for the model may be: its excerpts with all that is written around them.
#[derive(Clone)]
pub struct Budget {
    most: usize,
    count: Arc<dyn Fn(&str) -> usize + Send + Sync>,
}

impl Default for Budget {
    /// 6,000 characters, some 1,500 tokens of English.
    fn default() -> Self {
        Self::characters(DEFAULT_CHARACTERS)
    }
}

impl Budget {
    /// At most so many characters.
    pub fn characters(most: usize) -> Self {
        Self { most, count: Arc::new(|text| text.chars().count()) }
    }

    /// At most so many tokens, as `count` counts them in a text. It is called some 20 times for a text.
    pub fn tokens(most: usize, count: impl Fn(&str) -> usize + Send + Sync + 'static) -> Self {
        Self { most, count: Arc::new(count) }
    }

    fn holds(&self, text: &str) -> bool {
        (self.count)(text) <= self.most
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("most", &self.most).finish_non_exhaustive()
    }
}

/// The introduction and the excerpts, which join the sources; with the excerpts' numbers.
pub(super) fn write(introduction: &str, results: &[SearchResult], budget: &Budget, sources: &mut Sources) -> (String, Vec<u32>) {
    let mut joined = sources.clone();
    let numbers: Vec<u32> = results.iter().map(|result| joined.add(result)).collect();
    let render = |shown: usize, most: usize| {
        let mut text = introduction.to_owned();
        for (number, result) in numbers.iter().zip(results).take(shown) {
            text.push_str(&format!("\n\n[{number}] {}\n{}", heading(result), quoted(&excerpt(result, most))));
        }
        text
    };
    let shown = (1..=results.len()).rev().find(|&shown| budget.holds(&render(shown, LEAST_CHARACTERS))).unwrap_or(1);
    let longest = results.iter().map(|result| result.text.chars().count()).max().unwrap_or(0);
    let text = longest_that_fits(longest, |most| Some(render(shown, most)).filter(|text| budget.holds(text)));
    let text = text.unwrap_or_else(|| render(shown, if shown > 1 { LEAST_CHARACTERS } else { 1 }));
    // What the model is not shown is no source.
    let numbers = results.iter().take(shown).map(|result| sources.add(result)).collect();
    (text, numbers)
}

/// The text for the largest number in 1..=`most` for which there is one, given that there is one for all below as well.
fn longest_that_fits(most: usize, text: impl Fn(usize) -> Option<String>) -> Option<String> {
    if let Some(whole) = text(most) {
        return Some(whole);
    }
    let (mut best, mut fits, mut fails) = (None, 0, most);
    while fits + 1 < fails {
        let middle = (fits + fails) / 2;
        match text(middle) {
            Some(found) => (best, fits) = (Some(found), middle),
            None => fails = middle,
        }
    }
    best
}

/// The file, and the lines when they are known, on one line that the file's name cannot end.
fn heading(result: &SearchResult) -> String {
    let path = result.path.to_string_lossy();
    let path = visible(&path).replace('"', "\\\"");
    match result.location.lines {
        (0, _) => format!("\"{path}\""),
        (first, last) if first == last => format!("\"{path}\", line {first}"),
        (first, last) => format!("\"{path}\", lines {first}-{last}"),
    }
}

/// At most `most` characters of the chunk, at words, and marks where something was cut: from its beginning, or from where it
/// matches when that would be cut off.
fn excerpt(result: &SearchResult, most: usize) -> Cow<'_, str> {
    let text = result.text.trim();
    if text.chars().count() <= most {
        return Cow::Borrowed(text);
    }
    let (start, end) = matching(result);
    let from_start = result.text[..end].chars().count() <= most;
    let rest = if from_start { text } else { result.text[start..].trim() };
    let cut = first_words(rest, most.max(1));
    let before = if from_start || start == 0 { "" } else { "… " };
    let after = if cut.len() < rest.len() { " …" } else { "" };
    Cow::Owned(format!("{before}{cut}{after}"))
}

/// Bytes of the chunk where its snippet starts and ends. As snippets are, counted from the end: the first chunk of a file may
/// have a heading that is not in the file.
fn matching(result: &SearchResult) -> (usize, usize) {
    let text = result.text.as_str();
    let place = |byte: u64| {
        let from_end = usize::try_from(result.location.bytes.end.saturating_sub(byte)).unwrap_or(usize::MAX);
        text.floor_char_boundary(text.len().saturating_sub(from_end))
    };
    if result.location.bytes.is_empty() {
        return (0, 0);
    }
    let snippet = &result.snippet.location.bytes;
    (place(snippet.start), place(snippet.end))
}

/// The first `most` characters without the word that they end in the middle of, unless there is no other.
fn first_words(text: &str, most: usize) -> &str {
    let cut = first_chars(text, most);
    let whole = text[cut.len()..].chars().next().is_none_or(char::is_whitespace);
    match cut.rfind(char::is_whitespace) {
        Some(at) if !whole && !cut[..at].trim().is_empty() => cut[..at].trim_end(),
        _ => cut.trim_end(),
    }
}

/// The text with a mark before each line, whichever character breaks it; other control characters become spaces.
fn quoted(text: &str) -> String {
    let breaks = ['\n', '\r', '\u{B}', '\u{C}', '\u{1C}', '\u{1D}', '\u{1E}', '\u{85}', '\u{2028}', '\u{2029}'];
    let text = text.replace("\r\n", "\n");
    let lines = text.split(breaks).map(|line| {
        let line: String = line.chars().map(|c| if c.is_control() && c != '\t' { ' ' } else { c }).collect();
        format!("> {}", line.trim_end())
    });
    lines.collect::<Vec<_>>().join("\n")
}
