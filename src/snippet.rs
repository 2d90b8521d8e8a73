use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use sensetree_core::{
    Location,
    text::{first_chars, fold, is_written_without_spaces},
};
use serde::{Deserialize, Serialize};

/// Characters of a snippet.
pub(crate) const SNIPPET_CHARS: usize = 240;

/// The part of a chunk that matches the question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Snippet {
    /// At most 240 characters and the marks of what was cut. Starts and ends at words, runs of white space are one space, an
    /// ellipsis marks what was cut.
    pub text: String,
    /// Bytes of [`text`](Self::text) that match words of the question, for showing them in bold.
    pub matches: Vec<Range<usize>>,
    /// Where the snippet, without its marks, stands in the file's text.
    pub location: Location,
}

impl Snippet {
    /// The stretch of `passage` that has most of the question's words; the beginning when it has none. `at` is where the passage
    /// stands in the file's text.
    pub(crate) fn of(passage: &str, at: &Location, query: &str) -> Self {
        let words = words(passage);
        if words.is_empty() {
            return Self { location: at.clone(), ..Self::default() };
        }
        let wanted: BTreeSet<String> = stems(query, &self::words(query)).into_iter().flatten().collect();
        let meant = |stems: Vec<String>| {
            let fits = |wanted: &&String| stems.iter().any(|stem| wanted.starts_with(stem) || stem.starts_with(*wanted));
            wanted.iter().find(fits).cloned()
        };
        let matching: Vec<Option<String>> = stems(passage, &words).into_iter().map(meant).collect();
        let (first, last) = best_window(passage, &words, &matching);
        let mut text = String::from(if first > 0 { "… " } else { "" });
        let mut matches: Vec<Range<usize>> = Vec::new();
        for at in first..=last {
            if at > first && is_apart(&words, at) {
                text.push(' ');
            }
            let start = text.len();
            // One word may be longer than a snippet.
            text.push_str(first_chars(&passage[words[at].clone()], SNIPPET_CHARS));
            match matches.last_mut() {
                _ if matching[at].is_none() => {}
                Some(before) if before.end == start => before.end = text.len(),
                _ => matches.push(start..text.len()),
            }
        }
        text.push_str(if last + 1 < words.len() { " …" } else { "" });
        let location = inside(passage, at, words[first].start..words[last].end);
        Self { text, matches, location }
    }
}

/// Where a part of a passage stands in the file.
///
/// Counted from the end of the passage: what an indexer puts before a document's text stands at the beginning of its first one.
fn inside(passage: &str, at: &Location, part: Range<usize>) -> Location {
    let place = |byte: usize| at.bytes.end.saturating_sub((passage.len() - byte) as u64).max(at.bytes.start);
    let line = |byte: usize| {
        let below = passage[byte..].trim_end_matches('\n').matches('\n').count();
        at.lines.1.saturating_sub(u32::try_from(below).unwrap_or(u32::MAX)).max(at.lines.0)
    };
    Location { bytes: place(part.start)..place(part.end), lines: (line(part.start), line(part.end)) }
}

/// Runs of characters without white space; each character by itself where words are written without spaces.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let goes_on = !before.is_whitespace() && !is_written_without_spaces(before) && !is_written_without_spaces(c);
        match words.last_mut() {
            _ if c.is_whitespace() => {}
            Some(word) if goes_on => word.end = at + c.len_utf8(),
            _ => words.push(at..at + c.len_utf8()),
        }
        before = c;
    }
    words
}

/// Whether white space stands before a word.
fn is_apart(words: &[Range<usize>], at: usize) -> bool {
    at > 0 && words[at - 1].end < words[at].start
}

/// What each word is found by: its stem, or the pairs that a character makes with its neighbours.
fn stems(text: &str, words: &[Range<usize>]) -> Vec<Vec<String>> {
    let is_character = |at: usize| text[words[at].clone()].starts_with(is_written_without_spaces);
    let pair = |at: usize| {
        let is_pair = at > 0 && at < words.len() && is_character(at - 1) && is_character(at) && !is_apart(words, at);
        is_pair.then(|| text[words[at - 1].start..words[at].end].to_owned())
    };
    let of = |at: usize| match is_character(at) {
        true => [pair(at), pair(at + 1)].into_iter().flatten().collect(),
        false => Some(stem(&text[words[at].clone()])).filter(|stem| !stem.is_empty()).into_iter().collect(),
    };
    (0..words.len()).map(of).collect()
}

/// The part of a word that survives most inflections, without punctuation, for comparing.
fn stem(word: &str) -> String {
    let folded = fold(word);
    let letters = folded.trim_matches(|c: char| !c.is_alphanumeric());
    let keep = letters.chars().count().saturating_sub(2).max(4);
    // Words of one to three letters match too many others by accident to lead anywhere, unless they carry a digit.
    if letters.chars().count() < 4 && !letters.chars().any(|c| c.is_numeric()) {
        return String::new();
    }
    first_chars(letters, keep).to_owned()
}

/// First and last word of the window with the most different matches, the earliest among equals, with some words before them.
fn best_window(text: &str, words: &[Range<usize>], matches: &[Option<String>]) -> (usize, usize) {
    let lengths: Vec<usize> =
        (0..words.len()).map(|at| text[words[at].clone()].chars().count() + usize::from(is_apart(words, at))).collect();
    let fits = |first: usize, last: usize| lengths[first..=last].iter().sum::<usize>() <= SNIPPET_CHARS;
    let extend = |first: usize| {
        let mut length = 0;
        let fitting = lengths[first..].iter().take_while(|more| {
            length += *more;
            length <= SNIPPET_CHARS
        });
        first + fitting.count().saturating_sub(1)
    };
    let mut best = (0usize, 0usize, extend(0));
    best.0 = distinct(&matches[best.1..=best.2]);
    for first in (0..words.len()).filter(|&i| matches[i].is_some()) {
        let last = extend(first);
        let count = distinct(&matches[first..=last]);
        if count > best.0 {
            best = (count, first, last);
        }
    }
    let (_, mut first, mut last) = best;
    // Words after the last match make room for words before the first, so that a match does not stand without its sentence.
    if first > 0 {
        let used = (first..=last).rev().find(|&i| matches[i].is_some()).unwrap_or(last);
        while first > 0 && fits(first - 1, used) && first + 8 > best.1 {
            first -= 1;
        }
        last = extend(first);
    }
    (first, last)
}

fn distinct(matches: &[Option<String>]) -> usize {
    matches.iter().flatten().collect::<HashSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_matching_part_is_shown_with_what_leads_to_it() {
        let passage =
            format!("{} The warranty of the freezer ends in March. {}", "Other words. ".repeat(60), "More words. ".repeat(60));
        let snippet = Snippet::of(&passage, &Location::default(), "freezer warranties");
        assert!(snippet.text.contains("The warranty of the freezer ends in March."), "{snippet:?}");
        assert!(snippet.text.starts_with("… ") && snippet.text.ends_with(" …"));
        let marked: Vec<&str> = snippet.matches.iter().map(|range| &snippet.text[range.clone()]).collect();
        assert_eq!(marked, ["warranty", "freezer"]);
    }

    #[test]
    fn the_matching_part_is_found_where_words_have_no_spaces() {
        let passage = format!("{}冷蔵庫の保証書は三月に切れます。{}", "ほかの話です。".repeat(60), "まだ続きます。".repeat(60));
        let snippet = Snippet::of(&passage, &Location::default(), "保証書");
        assert!(snippet.text.contains("冷蔵庫の保証書は三月に切れます。"), "{snippet:?}");
        let marked: Vec<&str> = snippet.matches.iter().map(|range| &snippet.text[range.clone()]).collect();
        assert_eq!(marked, ["保証書"]);
    }

    #[test]
    fn a_short_passage_is_shown_whole_on_one_line() {
        let text = |passage| Snippet::of(passage, &Location::default(), "nothing").text;
        assert_eq!(text("one\n\n  two"), "one two");
        assert_eq!(text("  "), "");
    }

    #[test]
    fn a_snippet_knows_its_lines_and_bytes_in_the_file() {
        let body: String = (1..=60).map(|i| format!("line {i} is here\n")).collect();
        let file = body.replace("line 40", "freezer");
        // The first chunk of a document has a heading of the indexer's before the file's text.
        for heading in ["", "Kitchen notes\n\n"] {
            let at = Location { bytes: 0..file.len() as u64, lines: (1, 60) };
            let snippet = Snippet::of(&format!("{heading}{file}"), &at, "freezer");
            let bytes = snippet.location.bytes.start as usize..snippet.location.bytes.end as usize;
            assert_eq!(file[bytes].split_whitespace().collect::<Vec<_>>().join(" "), snippet.text.trim_matches(['…', ' ']));
            let (first, last) = snippet.location.lines;
            let lines = file.lines().skip(first as usize - 1).take((last - first + 1) as usize).collect::<Vec<_>>().join(" ");
            assert!(lines.contains("freezer is here") && last - first < 20, "{first}-{last}: {lines}");
            assert!(lines.contains(snippet.text.trim_matches(['…', ' '])), "{first}-{last}");
        }
    }

    proptest! {
        #[test]
        fn a_snippet_is_never_too_long_and_never_fails(passage in "(\\PC{0,8}[ \n]){0,80}", query in "\\PC{0,20}") {
            let at = Location { bytes: 10..10 + passage.len() as u64, lines: (3, 3 + passage.matches('\n').count() as u32) };
            let snippet = Snippet::of(&passage, &at, &query);
            prop_assert!(snippet.text.chars().count() <= SNIPPET_CHARS + 4);
            prop_assert!(snippet.matches.iter().all(|range| snippet.text.get(range.clone()).is_some_and(|word| !word.is_empty())));
            let (found, at) = (snippet.location, at);
            prop_assert!(at.bytes.start <= found.bytes.start && found.bytes.start <= found.bytes.end && found.bytes.end <= at.bytes.end);
            prop_assert!(at.lines.0 <= found.lines.0 && found.lines.0 <= found.lines.1 && found.lines.1 <= at.lines.1);
        }
    }
}
