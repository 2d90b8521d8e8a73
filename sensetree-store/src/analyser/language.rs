//! Languages: their stop words tell which one a text is in, their stemmers which words belong together.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use frostem::{Algorithm, Stemmer};
use sensetree_core::text::fold;

use super::{
    letters::{normalise, plain},
    pieces::Piece,
};

/// The languages of the Latin script that have a stemmer and a list of stop words, English first.
const LATIN: [(&str, Algorithm); 16] = [
    ("en", Algorithm::English),
    ("de", Algorithm::German),
    ("fr", Algorithm::French),
    ("es", Algorithm::Spanish),
    ("it", Algorithm::Italian),
    ("pt", Algorithm::Portuguese),
    ("nl", Algorithm::Dutch),
    ("sv", Algorithm::Swedish),
    ("da", Algorithm::Danish),
    ("no", Algorithm::Norwegian),
    ("fi", Algorithm::Finnish),
    ("hu", Algorithm::Hungarian),
    ("ro", Algorithm::Romanian),
    ("tr", Algorithm::Turkish),
    ("pl", Algorithm::Polish),
    ("cs", Algorithm::Czech),
];

/// Languages that their script tells, whose stop words are left out as well.
const OTHER: [&str; 3] = ["ru", "ar", "el"];

/// Words of the English list that people search for: negations, what says how much and where, and the halves of `don't` that
/// are words of their own.
const KEPT: [&str; 15] =
    ["no", "nor", "not", "who", "all", "both", "each", "most", "between", "from", "into", "under", "don", "won", "ma"];

/// For each stop word without accents, the languages that have it, a bit for each place in [`LATIN`].
static STOP_WORDS: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let mut words: HashMap<String, u32> = HashMap::new();
    for (place, (code, _)) in LATIN.iter().enumerate() {
        for word in stop_words::lookup(code).into_iter().flatten() {
            // Vitamin D, T cells.
            let letter = word.len() == 1 && !["a", "i"].contains(word);
            if place != 0 || !letter && !KEPT.contains(word) {
                *words.entry(plain(word)).or_default() |= 1 << place;
            }
        }
    }
    words
});

static OTHER_STOP_WORDS: LazyLock<HashSet<String>> =
    LazyLock::new(|| OTHER.iter().filter_map(stop_words::lookup).flatten().map(|word| fold(&normalise(word))).collect());

/// A language of the Latin script: its place in [`LATIN`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Language(usize);

impl Language {
    pub(super) const ENGLISH: Self = Self(0);

    /// The language of which the text has the most stop words, each counted once; none when it has none of English and too few
    /// of the others.
    ///
    /// Another language than English must have two and more than twice as many as English, and be every sixth word: source code
    /// and tables have a `die`, `go` or `no` here and there. Single letters say nothing.
    pub(super) fn of(pieces: &[Piece]) -> Option<Self> {
        let words: HashSet<&str> = pieces.iter().filter_map(Piece::word).filter(|word| word.len() > 1).collect();
        let mut votes = [0_usize; LATIN.len()];
        for languages in words.iter().map(|word| stop_word_languages(word)).filter(|languages| *languages != 0) {
            for (place, votes) in votes.iter_mut().enumerate() {
                *votes += usize::from(languages >> place & 1 == 1);
            }
        }
        let english = votes[0];
        // The first of equals.
        let (place, most) = votes.into_iter().enumerate().rev().max_by_key(|(_, votes)| *votes)?;
        if most >= 2 && most > 2 * english && most * 6 >= words.len() {
            Some(Self(place))
        } else {
            (english > 0).then_some(Self::ENGLISH)
        }
    }

    pub(super) fn has_stop_word(self, word: &str) -> bool {
        stop_word_languages(word) >> self.0 & 1 == 1
    }
}

fn stop_word_languages(word: &str) -> u32 {
    let languages = match of_script(word) {
        Some(_) => None,
        None if word.is_ascii() => STOP_WORDS.get(word),
        None => STOP_WORDS.get(&plain(word)),
    };
    languages.copied().unwrap_or(0)
}

/// Which stems of a word are wanted.
#[derive(Clone, Copy)]
pub(super) enum Stems {
    Of(Language),
    OfEnglishAnd(Language),
    OfAll,
}

impl Stems {
    /// Gives each stem once. A script that one language stands for is stemmed by its rules, whatever the language.
    pub(super) fn of(self, word: &str, take: &mut impl FnMut(&str)) {
        if let Some(algorithm) = of_script(word) {
            if !OTHER_STOP_WORDS.contains(&fold(word)) {
                take(&plain(&Stemmer::new(algorithm).stem(&word.replace('ё', "е").replace('ى', "ي"))));
            }
            return;
        }
        let plain_word = plain(word);
        if plain_word.is_empty() {
            return;
        }
        let (english, others) = match self {
            Self::Of(Language::ENGLISH) => (true, &LATIN[..0]),
            Self::Of(language) => (false, &LATIN[language.0..=language.0]),
            Self::OfEnglishAnd(Language(place)) => (true, &LATIN[place.max(1)..(place + 1).max(1)]),
            Self::OfAll => (true, &LATIN[1..]),
        };
        if english {
            take(&Stemmer::new(Algorithm::English).stem(&plain_word));
        }
        let mut seen: Vec<String> = Vec::new();
        for (_, algorithm) in others {
            let stemmer = Stemmer::new(*algorithm);
            // Stemmers know endings by their accents (ções), and people leave accents out.
            for stem in [stemmer.stem(&plain_word).into_owned(), plain(&stemmer.stem(word))] {
                let stem = format!("~{stem}");
                if stem.len() > 1 && !seen.contains(&stem) {
                    take(&stem);
                    seen.push(stem);
                }
            }
        }
    }
}

fn of_script(word: &str) -> Option<Algorithm> {
    match word.chars().next()? {
        '\u{0370}'..='\u{03FF}' | '\u{1F00}'..='\u{1FFF}' => Some(Algorithm::Greek),
        '\u{0400}'..='\u{052F}' => Some(Algorithm::Russian),
        '\u{0600}'..='\u{06FF}' | '\u{0750}'..='\u{077F}' => Some(Algorithm::Arabic),
        '\u{0900}'..='\u{097F}' => Some(Algorithm::Hindi),
        _ => None,
    }
}
