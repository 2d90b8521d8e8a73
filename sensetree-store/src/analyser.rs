//! From text to the words that the text index holds; the same for what is stored and what is asked.
//!
//! LanceDB's own analyser is not used, so that a row is found by the same words whether it is indexed, not indexed yet, or in
//! a store without an index: the words are stored in a column of their own and LanceDB only splits them at the spaces.

use lance_tokenizer::{Language, SimpleTokenizer, Stemmer, StopWordFilter, TextAnalyzer, TokenStream};
use sensetree_core::text::fold;

/// The name of these rules. Changing what they produce changes the name, and stores made by other rules are refused.
pub(crate) const NAME: &str = "fold-camel-bigram-english/1";

/// A query is searched by its first so many words, which is some 3,000 characters of prose.
pub(crate) const MAX_QUERY_WORDS: usize = 256;

/// The words of a stored text, each as often as it occurs, separated by spaces.
pub(crate) fn document_words(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for_each_word(&grams(&fold(&with_parts(text)), true), |word| {
        words.push_str(word);
        words.push(' ');
    });
    words
}

/// The words of a query, separated by spaces; empty when there is nothing to search for.
///
/// A word that the query has twice stays twice, and counts twice: for questions of several sentences that is worth a lot.
pub(crate) fn query_words(query: &str) -> String {
    let mut words = Vec::new();
    for_each_word(&grams(&fold(&with_parts(query)), false), |word| {
        if words.len() < MAX_QUERY_WORDS {
            words.push(word.to_owned());
        }
    });
    words.join(" ")
}

/// English words lose their ending, and those that every text has are left out; other languages pass as they are.
fn for_each_word(text: &str, mut take: impl FnMut(&str)) {
    let stop_words = StopWordFilter::new(Language::English).expect("LanceDB has a list for English");
    let mut analyser =
        TextAnalyzer::builder(SimpleTokenizer::default()).filter(stop_words).filter(Stemmer::new(Language::English)).build();
    let mut words = analyser.token_stream(text);
    while words.advance() {
        take(&words.token().text);
    }
}

/// Adds the parts of camel-case names after the name: `openLedgerFile` → `openLedgerFile open Ledger File`.
///
/// The whole name stays, so that a search for exactly it ranks its file first.
fn with_parts(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let ends_name = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric();
    for run in text.split_inclusive(ends_name) {
        out.push_str(run);
        let name = run.trim_end_matches(ends_name);
        let starts: Vec<usize> = if name.is_ascii() { part_starts(name.as_bytes()) } else { Vec::new() };
        if starts.is_empty() {
            continue;
        }
        let mut from = 0;
        for to in starts.into_iter().chain([name.len()]) {
            out.push(' ');
            out.push_str(&name[from..to]);
            from = to;
        }
        out.push(' ');
    }
    out
}

/// Where parts after the first start: at a capital after a small letter, and at one before two small letters, so that
/// `HTTPServer` and `utf8Name` are two words and `APIs` is one.
fn part_starts(name: &[u8]) -> Vec<usize> {
    let before_small = |at: usize| name.get(at + 1..at + 3).is_some_and(|next| next.iter().all(u8::is_ascii_lowercase));
    let starts = |&at: &usize| name[at].is_ascii_uppercase() && (name[at - 1].is_ascii_lowercase() || before_small(at));
    (1..name.len()).filter(starts).collect()
}

/// Writes runs of a script without spaces as their pairs of neighbours, and with `singles` as their characters too. A character
/// that stands alone is written in any case.
fn grams(text: &str, singles: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut run: Vec<char> = Vec::new();
    for c in text.chars().map(Some).chain([None]) {
        if let Some(c) = c.filter(|&c| written_without_spaces(c)) {
            run.push(c);
            continue;
        }
        let singles = (singles || run.len() == 1).then(|| run.chunks(1)).into_iter().flatten();
        for gram in singles.chain(run.windows(2)) {
            out.push(' ');
            out.extend(gram);
        }
        out.extend((!run.is_empty()).then_some(' '));
        out.extend(c);
        run.clear();
    }
    out
}

/// Thai, Lao, Burmese, Khmer, Japanese, Chinese.
fn written_without_spaces(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whole_and_by_their_parts() {
        assert_eq!(with_parts("openLedgerFile()"), "openLedgerFile( open Ledger File )");
        assert_eq!(with_parts("HTTPServer, utf8Name"), "HTTPServer, HTTP Server  utf8Name utf8 Name ");
        for whole in ["Ledger", "LEDGER", "APIs of PDFs", "snake_case", "größeÄndern", "openLedgeré", "a", "", "🚲", "4B"] {
            assert_eq!(with_parts(whole), whole);
        }
        assert_eq!(document_words("parse_header(rawBytes)"), "pars header rawbyt raw byte ");
    }

    #[test]
    fn spellings_of_one_word_are_one_word() {
        for spelling in ["crème brûlée", "cre\u{300}me bru\u{302}le\u{301}e", "CREME BRULEE", "Crème-Brûlée!"] {
            assert_eq!(query_words(spelling), query_words("creme brulee"), "{spelling}");
        }
        assert_eq!(query_words("łódka"), "lodka");
    }

    #[test]
    fn scripts_without_spaces_are_pairs_and_in_documents_single_characters_too() {
        assert_eq!(document_words("冷蔵庫 A4"), "冷 蔵 庫 冷蔵 蔵庫 a4 ");
        assert_eq!(query_words("保証書"), "保証 証書");
        assert_eq!(query_words("水"), "水");
        assert_eq!(document_words("水"), "水 ");
    }

    #[test]
    fn queries_without_a_word_are_empty_and_long_ones_are_cut() {
        for nothing in ["", "  ", "!!!", "\u{200B}", "🚲", "the of to"] {
            assert_eq!(query_words(nothing), "", "{nothing:?}");
        }
        assert_eq!(query_words("tin TIN tins"), "tin tin tin", "a word counts as often as it is asked for");
        let long: String = (0..5000).map(|i| format!("w{i} ")).collect();
        assert_eq!(query_words(&long).split(' ').count(), MAX_QUERY_WORDS);
    }
}
