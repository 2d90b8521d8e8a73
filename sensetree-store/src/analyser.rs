//! From text to the words that the text index holds; the same for what is stored and what is asked.
//!
//! LanceDB's own analyser is not used, so that a row is found by the same words whether it is indexed, not indexed yet, or in
//! a store without an index: the words are stored in a column of their own and LanceDB only splits them at the spaces, because
//! they consist of letters and digits.
//!
//! - `letters`: one spelling for each character;
//! - `pieces`: where a text has words, and which words have parts;
//! - `language`: stop words and stems;
//! - `codes`: dates, telephone numbers, serial numbers, which people write in several ways.
//!
//! **One index for all languages.** There are two kinds of stems: those of English, and, marked with `~`, those of the other
//! languages. A document is written in the stems of its language. A query asks for the stems of every language, because a few
//! words rarely tell theirs, and do not tell that of the documents: a name is the same word in all of them. Without the mark an
//! English word's Italian stem would be found in English texts, as another word.

mod codes;
mod language;
mod letters;
mod pieces;
#[cfg(test)]
mod tests;

use language::{Language, Stems};
use pieces::{Piece, pieces};

/// The name of these rules. Changing what they produce changes the name, and stores made by other rules are refused.
pub(crate) const NAME: &str = "languages-codes-bigrams/2";

/// A query is searched by its first so many index words: all spellings of some 40 words, or, when it is longer than that, its
/// first 256 words in its own language.
pub(crate) const MAX_QUERY_WORDS: usize = 256;

/// Up to so many pieces a query is asked in the stems of all languages, some five for a word.
const SHORT_QUERY: usize = 24;

/// The words of a stored text, each as often as it occurs, separated by spaces.
pub(crate) fn document_words(text: &str) -> String {
    let text = letters::normalise(text);
    let pieces = pieces(&text);
    let language = Language::of(&pieces);
    let mut words = String::with_capacity(text.len());
    let mut take = |word: &str| {
        words.extend(word.chars().map(letters::as_letter));
        words.push(' ');
    };
    for_each_word(&pieces, language, Stems::Of(language.unwrap_or(Language::ENGLISH)), true, &mut take);
    codes::numbers(&text, |number, _| take(number));
    words
}

/// The words of a query, separated by spaces; empty when there is nothing to search for.
///
/// A word that the query has twice stays twice, and counts twice: for questions of several sentences that is worth a lot. The
/// same makes documents in the language of the query come before others, when a query tells its language.
pub(crate) fn query_words(query: &str) -> String {
    let query = letters::normalise(query);
    let pieces = pieces(&query);
    let language = Language::of(&pieces);
    let mut words: Vec<String> = Vec::new();
    let mut take = |word: &str| words.push(word.chars().map(letters::as_letter).collect());
    if let Some(language) = language {
        for_each_word(&pieces, Some(language), Stems::Of(language), false, &mut take);
    }
    let stems = match language {
        _ if pieces.len() <= SHORT_QUERY => Stems::OfAll,
        Some(language) => Stems::OfEnglishAnd(language),
        None => Stems::Of(Language::ENGLISH),
    };
    for_each_word(&pieces, language, stems, false, &mut take);
    // A number counts as much as the groups that it is written in, which texts have that have other numbers.
    codes::numbers(&query, |number, groups| (0..groups).for_each(|_| take(number)));
    codes::other_spellings(&query, &mut take);
    words.truncate(MAX_QUERY_WORDS);
    words.join(" ")
}

/// `singles`: see [`letters::grams`].
fn for_each_word(pieces: &[Piece], language: Option<Language>, stems: Stems, singles: bool, take: &mut impl FnMut(&str)) {
    for piece in pieces {
        match piece {
            Piece::Word(word) if language.is_some_and(|language| language.has_stop_word(word)) => {}
            Piece::Word(word) => stems.of(word, take),
            Piece::Code(code) => take(code),
            Piece::Unspaced(run) => letters::grams(run, singles, take),
        }
    }
}
