//! How much text there is, in characters or in the embedder's tokens.

use std::{cell::RefCell, collections::HashMap};

use sensetree_core::{TokenCounter, text::first_chars};
use text_splitter::ChunkSizer;

/// Counts in the unit that sizes are given in.
#[derive(Debug, Clone, Default)]
pub(crate) enum Measure {
    #[default]
    Characters,
    Tokens(TokenCounter),
}

impl Measure {
    pub(crate) fn count(&self, text: &str) -> usize {
        match self {
            Self::Characters => text.chars().count(),
            Self::Tokens(counter) => counter.count(text),
        }
    }

    /// A start of the text that counts no more than `most`: as long as possible in characters, up to the end of a word in tokens.
    pub(crate) fn first<'a>(&self, text: &'a str, most: usize) -> &'a str {
        match self {
            Self::Characters => first_chars(text, most),
            Self::Tokens(_) if self.count(text) <= most => text,
            Self::Tokens(_) => {
                let mut end = Sizer::new(self).start(text, most);
                while self.count(&text[..end]) > most {
                    end = text[..end].char_indices().next_back().map_or(0, |(at, _)| at);
                }
                &text[..end]
            }
        }
    }

    /// Bytes that a text of this size has in most languages. Only a guess, for the extent of what is looked at together.
    pub(crate) fn usual_bytes(&self, size: usize) -> usize {
        match self {
            Self::Characters => size,
            Self::Tokens(_) => size.saturating_mul(4),
        }
    }
}

/// Sizes many parts of one text, for the splitter, which tries several ends for every chunk.
///
/// Tokens are added up word by word, and each word is counted once: reading the same text with the tokenizer for every try takes
/// many times longer. Most tokenizers never look further than a word; those that do are checked by who cuts, who counts each chunk whole.
#[derive(Debug)]
pub(crate) struct Sizer<'a> {
    measure: &'a Measure,
    known: RefCell<HashMap<String, usize>>,
}

/// Characters of the longest word that is counted as one. What is longer is counted in parts: there are scripts without spaces.
const MOST_WORD: usize = 24;
/// A text with more different words than this begins anew.
const MOST_KNOWN: usize = 1 << 16;

impl ChunkSizer for Sizer<'_> {
    fn size(&self, text: &str) -> usize {
        match self.measure {
            Measure::Characters => text.chars().count(),
            Measure::Tokens(counter) => words(text).map(|word| self.word(counter, word)).sum(),
        }
    }
}

impl<'a> Sizer<'a> {
    pub(crate) fn new(measure: &'a Measure) -> Self {
        Self { measure, known: RefCell::default() }
    }

    /// Where the longest start of the text ends that is no larger than `most`. Not in the middle of a word, unless that is the first.
    pub(crate) fn start(&self, text: &str, most: usize) -> usize {
        let Measure::Tokens(counter) = self.measure else { return first_chars(text, most).len() };
        let (mut end, mut left) = (0, most);
        for word in words(text) {
            match left.checked_sub(self.word(counter, word)) {
                Some(less) => (end, left) = (end + word.len(), less),
                None if end > 0 => break,
                None => {
                    let fits = |at: &usize| counter.count(&word[..*at]) <= most;
                    return word.char_indices().map(|(at, _)| at).take_while(fits).last().unwrap_or(0);
                }
            }
        }
        end
    }

    /// Where the longest end of the text starts that is no larger than `most`. At a word's start in tokens.
    pub(crate) fn end(&self, text: &str, most: usize) -> usize {
        match self.measure {
            Measure::Characters => text.char_indices().rev().take(most).last().map_or(text.len(), |(at, _)| at),
            Measure::Tokens(counter) => {
                let (mut start, mut left) = (text.len(), most);
                for word in words(text).collect::<Vec<_>>().into_iter().rev() {
                    let Some(less) = left.checked_sub(self.word(counter, word)) else { break };
                    (start, left) = (start - word.len(), less);
                }
                start
            }
        }
    }

    fn word(&self, counter: &TokenCounter, word: &str) -> usize {
        let mut known = self.known.borrow_mut();
        if let Some(&count) = known.get(word) {
            return count;
        }
        if known.len() == MOST_KNOWN {
            known.clear();
        }
        let count = counter.count(word);
        known.insert(word.to_owned(), count);
        count
    }
}

/// The parts of a text, each white space, letters and marks in this order, so that the same parts are found wherever counting starts.
/// Tokenizers that keep spaces keep them so.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (mut is_begun, mut has_mark) = (false, false);
        let is_end = |&(count, (_, c)): &(usize, (usize, char))| {
            let (is_space, is_letter) = (c.is_whitespace(), c.is_alphanumeric());
            let ends = (is_space && is_begun) || (is_letter && has_mark) || count == MOST_WORD;
            is_begun |= !is_space;
            has_mark |= !is_space && !is_letter;
            ends
        };
        let end = rest.char_indices().enumerate().find(is_end).map_or(rest.len(), |(_, (at, _))| at);
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters_in_threes() -> Measure {
        Measure::Tokens(TokenCounter::new(|text| text.split_whitespace().map(|word| word.chars().count().div_ceil(3)).sum()))
    }

    #[test]
    fn the_words_of_a_text_are_all_of_it() {
        let text = format!("  one two\n\n three{} {}", "é".repeat(60), " ".repeat(60));
        assert_eq!(words(&text).collect::<String>(), text);
        assert!(words(&text).all(|word| word.chars().count() <= MOST_WORD));
        assert_eq!(words(" one  two(a, b)").collect::<Vec<_>>(), [" one", "  two(", "a,", " b)"]);
        assert_eq!(words("保証書の、期間は。五年").collect::<Vec<_>>(), ["保証書の、", "期間は。", "五年"]);
        assert_eq!(words("").count(), 0);
    }

    #[test]
    fn a_start_counts_no_more_than_was_asked_and_ends_with_a_word() {
        let measure = letters_in_threes();
        assert_eq!(measure.first("boiler warranty of May", 5), "boiler warranty");
        assert_eq!(measure.first("boiler warranty of May", 100), "boiler warranty of May");
        assert_eq!(measure.first("warranty", 2), "warran");
        assert_eq!(measure.first("warranty", 0), "");
        assert_eq!(Measure::Characters.first("warranty", 2), "wa");
    }

    #[test]
    fn an_end_counts_no_more_than_was_asked_and_starts_with_a_word() {
        let measure = letters_in_threes();
        let text = "boiler warranty of May";
        assert_eq!(&text[Sizer::new(&measure).end(text, 2)..], " of May");
        assert_eq!(&text[Sizer::new(&measure).end(text, 4)..], " of May", "the word before has three");
        assert_eq!(&text[Sizer::new(&Measure::Characters).end(text, 2)..], "ay");
    }

    #[test]
    fn a_word_is_counted_once() {
        use std::sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::Relaxed},
        };
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let measure = Measure::Tokens(TokenCounter::new(move |text| {
            count.fetch_add(1, Relaxed);
            text.split_whitespace().count()
        }));
        let sizer = Sizer::new(&measure);
        assert_eq!(sizer.size(&"the boiler ".repeat(500)), 1000);
        assert_eq!(sizer.size(&"the boiler ".repeat(700)), 1400);
        assert!(asked.load(Relaxed) <= 4, "{asked:?}");
    }
}
