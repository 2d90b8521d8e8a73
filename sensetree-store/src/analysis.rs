//! What BM25 sees of a text: the same for passages and questions.

use std::collections::HashSet;

use lancedb::index::scalar::FtsIndexBuilder;
use sensetree_core::text::fold;

/// Names the analysis in the store: a store that was analysed otherwise must not be searched with this one.
pub(crate) const ANALYSER: &str = "fold+identifiers, icu/split, english, 1";

/// Different words of a question that are searched; a question of 10,000 characters costs no more than one of these.
const MAX_QUERY_WORDS: usize = 128;

/// Lucene's classic English stop words. The lists of other languages have words that mean something in English.
const STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on", "or",
    "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

/// Lower case without accents, with the parts of identifiers after them: `openLedgerFile` becomes
/// `openledgerfile open ledger file`, so both the name and its words are found.
///
/// ```
/// use sensetree_store::search_form;
/// assert_eq!(search_form("Crème: openLedgerFile()"), "creme: openledgerfile open ledger file()");
/// ```
pub fn search_form(text: &str) -> String {
    let mut form = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        let (before, word) = rest.split_at(start);
        let end = word.find(|c: char| !c.is_alphanumeric()).unwrap_or(word.len());
        form.push_str(before);
        form.push_str(&word[..end]);
        for part in identifier_parts(&word[..end]) {
            form.push(' ');
            form.push_str(part);
        }
        rest = &word[end..];
    }
    form.push_str(rest);
    fold(&form)
}

/// The words that capitals mark in a word of several: none for `Ledger` or `LEDGER`, three for `openLedgerFile` or `HTTPFileName`.
fn identifier_parts(word: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for i in 1..letters.len() {
        let (before, (at, here)) = (letters[i - 1].1, letters[i]);
        let next_is_lower = letters.get(i + 1).is_some_and(|(_, next)| next.is_lowercase());
        let new_word = here.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_lower));
        if new_word {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    if !parts.is_empty() {
        parts.push(&word[start..]);
    }
    parts
}

/// A question as the index is asked: different words only, no more than [`MAX_QUERY_WORDS`].
pub(crate) fn query_words(query: &str) -> (String, usize) {
    let form = search_form(query);
    let mut seen = HashSet::new();
    let words: Vec<&str> = form.split_whitespace().filter(|word| seen.insert(*word)).take(MAX_QUERY_WORDS).collect();
    (words.join(" "), MAX_QUERY_WORDS * 4)
}

/// How Lance cuts and stems the search form.
pub(crate) fn index_parameters() -> FtsIndexBuilder {
    FtsIndexBuilder::default()
        .base_tokenizer("icu/split".into())
        .lower_case(true)
        .stem(true)
        .remove_stop_words(true)
        .custom_stop_words(Some(STOP_WORDS.iter().map(|&word| word.to_owned()).collect()))
        .ascii_folding(true)
        .max_token_length(Some(64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_keep_their_name_and_get_their_words() {
        assert_eq!(search_form("openLedgerFile"), "openledgerfile open ledger file");
        assert_eq!(search_form("HTTPFileName"), "httpfilename http file name");
        for plain in ["ledger", "LEDGER", "Ledger", "KX-4471", "R&D"] {
            assert_eq!(search_form(plain), plain.to_lowercase());
        }
        assert_eq!(search_form("snake_case"), "snake_case", "the tokenizer splits at the underscore");
    }

    #[test]
    fn long_questions_are_bounded() {
        let (words, _) = query_words(&(0..5000).map(|i| format!("w{i} ")).collect::<String>());
        assert_eq!(words.split(' ').count(), MAX_QUERY_WORDS);
        assert_eq!(query_words("tin tin Tin").0, "tin");
    }
}
