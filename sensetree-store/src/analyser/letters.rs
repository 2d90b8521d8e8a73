//! How characters are spelled: one form for what Unicode, keyboards and writing habits spell in several ways.

use std::borrow::Cow;

use sensetree_core::text::fold;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Full-width forms and ligatures as plain letters, digits of all scripts as ASCII, nothing invisible, Arabic and Hebrew without
/// vowel points. Case and the accents of other scripts stay.
pub(super) fn normalise(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().filter(|c| !is_invisible(*c)).nfkc().filter(|c| !is_vowel_point(*c)).map(one_of_a_kind).collect())
}

/// Soft hyphens, joiners, marks of direction and of emoji: they are inside of words and nobody types them.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{AD}' | '\u{200C}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}')
}

/// Marks that Arabic and Hebrew texts have or have not, and Arabic's stretched line.
fn is_vowel_point(c: char) -> bool {
    matches!(c, '\u{0591}'..='\u{05BD}' | '\u{05BF}'..='\u{05C7}' | '\u{0640}' | '\u{064B}'..='\u{0655}' | '\u{0670}')
}

fn one_of_a_kind(c: char) -> char {
    match c {
        '\u{2010}' | '\u{2011}' => '-',
        '’' => '\'',
        'أ' | 'إ' | 'آ' | 'ٱ' => 'ا',
        'ی' => 'ي',
        'ک' => 'ك',
        c if c.is_ascii() || !c.is_numeric() => c,
        c => digit(c).unwrap_or(c),
    }
}

/// A decimal digit of another script as the ASCII one.
fn digit(c: char) -> Option<char> {
    const ZEROS: [u32; 17] =
        [0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20, 0x1040, 0x17E0];
    let value = ZEROS.iter().filter_map(|zero| (c as u32).checked_sub(*zero)).find(|value| *value < 10)?;
    char::from_digit(value, 10)
}

/// A character that words are made of: also the marks that are vowels in Hindi and tones in Thai.
pub(super) fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || !c.is_ascii() && is_combining_mark(c) && !matches!(c, '\u{20D0}'..='\u{20FF}')
}

/// Letters and digits as they are, and signs and marks (`~`, the point of `1.94`, Thai tones) as Chinese letters that no text has:
/// where LanceDB finds anything else it starts a new word.
pub(super) fn as_letter(c: char) -> char {
    if c.is_alphanumeric() { c } else { char::from_u32(0x3400 + c as u32 % 0x1000).unwrap_or(c) }
}

/// A lower-case word without accents.
pub(super) fn plain(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    let mut plain = fold(word);
    for (from, to) in [("ß", "ss"), ("æ", "ae"), ("œ", "oe"), ("ة", "ه")] {
        if plain.contains(from) {
            plain = plain.replace(from, to);
        }
    }
    plain
}

/// The pairs of neighbours in a run of characters of such a script; the character itself when it stands alone. With `singles`
/// also each Chinese character by itself, which may be a word.
pub(super) fn grams(run: &str, singles: bool, take: &mut impl FnMut(&str)) {
    let run = fold(run);
    let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    for ends in starts.windows(2) {
        let alone = starts.len() == 2;
        if alone || singles && run[ends[0]..].starts_with(is_han) {
            take(&run[ends[0]..ends[1]]);
        }
    }
    for ends in starts.windows(3) {
        take(&run[ends[0]..ends[2]]);
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}
