use std::{collections::HashSet, ops::Range};

use sensetree_core::text::{first_chars, fold};
use serde::{Deserialize, Serialize};

/// Characters of a snippet.
pub(crate) const SNIPPET_CHARS: usize = 240;

/// The part of a chunk that matches the question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct Snippet {
    text: String,
}

impl From<Snippet> for String {
    fn from(snippet: Snippet) -> Self {
        snippet.text
    }
}

impl From<String> for Snippet {
    fn from(text: String) -> Self {
        Self { text }
    }
}

impl Snippet {
    /// The stretch of at most 240 characters that has most of the question's words; the beginning when it has none.
    ///
    /// Starts and ends at words, runs of white space are one space, and an ellipsis marks what was cut.
    pub(crate) fn of(passage: &str, query: &str) -> Self {
        let words: Vec<Range<usize>> = words(passage).collect();
        let wanted: HashSet<String> = self::words(query).map(|word| stem(&query[word])).filter(|word| !word.is_empty()).collect();
        let matches: Vec<Option<String>> =
            words.iter().map(|word| stem(&passage[word.clone()])).map(|word| wanted.contains(&word).then_some(word)).collect();
        let (first, last) = best_window(passage, &words, &matches);
        let Some((start, end)) = words.get(first).zip(words.get(last)).map(|(a, b)| (a.start, b.end)) else {
            return Self::default();
        };
        let mut text = passage[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
        if text.chars().count() > SNIPPET_CHARS {
            // One word longer than a snippet.
            text = first_chars(&text, SNIPPET_CHARS).to_owned();
        }
        let cut_before = first > 0;
        let cut_after = last + 1 < words.len();
        Self { text: format!("{}{text}{}", if cut_before { "… " } else { "" }, if cut_after { " …" } else { "" }) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Runs of characters without white space.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let start = text.as_ptr() as usize;
    text.split_whitespace().map(move |word| {
        let at = word.as_ptr() as usize - start;
        at..at + word.len()
    })
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
    let fits = |first: usize, last: usize| {
        let length: usize = words[first..=last].iter().map(|w| text[w.clone()].chars().count() + 1).sum();
        length - 1 <= SNIPPET_CHARS
    };
    let extend = |first: usize| (first..words.len()).take_while(|&last| fits(first, last)).last().unwrap_or(first);
    if words.is_empty() {
        return (0, 0);
    }
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
        let snippet = Snippet::of(&passage, "freezer warranties");
        assert!(snippet.as_str().contains("The warranty of the freezer ends in March."), "{snippet:?}");
        assert!(snippet.as_str().starts_with("… ") && snippet.as_str().ends_with(" …"));
    }

    #[test]
    fn a_short_passage_is_shown_whole_on_one_line() {
        assert_eq!(Snippet::of("one\n\n  two", "nothing").as_str(), "one two");
        assert_eq!(Snippet::of("  ", "nothing").as_str(), "");
    }

    proptest! {
        #[test]
        fn a_snippet_is_never_too_long_and_never_fails(passage in "(\\PC{0,8}[ \n]){0,80}", query in "\\PC{0,20}") {
            let snippet = Snippet::of(&passage, &query);
            prop_assert!(snippet.as_str().chars().count() <= SNIPPET_CHARS + 4);
        }
    }
}
