//! Where a text has words, and which words have parts.

use std::mem::replace;

use sensetree_core::text::has_word;

use sensetree_core::text::is_written_without_spaces;

use super::letters::{is_letter, plain};

/// A name of more parts, or of more bytes, is not searched as a whole.
const LONGEST_NAME: (usize, usize) = (8, 40);

#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    /// A word of letters, in lower case.
    Word(String),
    /// A word with a digit or a file's extension, in lower case and without accents. It has no endings to lose.
    Code(String),
    /// Characters of a script that is written without spaces.
    Unspaced(String),
}

impl Piece {
    pub(super) fn word(&self) -> Option<&str> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }
}

/// The pieces of a normalised text, in its order; a name of several parts is followed by its parts.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(start) = rest.find(is_letter) {
        before = rest[..start].chars().next_back().unwrap_or(before);
        rest = &rest[start..];
        let unspaced = rest.starts_with(is_written_without_spaces);
        let end = if unspaced { end_of(rest, is_written_without_spaces) } else { name_end(rest) };
        let (name, after) = rest.split_at(end);
        if unspaced {
            pieces.push(Piece::Unspaced(name.to_owned()));
        } else if !is_elision(before, name, after) {
            add_name(name, &mut pieces);
        }
        before = name.chars().next_back().unwrap_or(' ');
        rest = after;
    }
    pieces
}

fn end_of(text: &str, class: impl Fn(char) -> bool) -> usize {
    text.find(|c| !class(c)).unwrap_or(text.len())
}

/// The end of words that are joined by hyphens or underscores, or by points between digits.
fn name_end(text: &str) -> usize {
    let spaced = |c| is_letter(c) && !is_written_without_spaces(c);
    let mut end = 0;
    loop {
        end += end_of(&text[end..], spaced);
        let mut next = text[end..].chars();
        let joined = match (next.next(), next.next()) {
            (Some('-' | '_'), Some(c)) => spaced(c),
            (Some('.'), Some(c)) if c.is_ascii_digit() => text[..end].ends_with(|c: char| c.is_ascii_digit()),
            (Some('.'), Some(_)) => starts_with_extension(&text[end + 1..]),
            _ => false,
        };
        if !joined {
            return end;
        }
        end += 1;
    }
}

/// Whether a text starts with the `rs` of `guard.rs`, and not with a sentence after a point without a space.
fn starts_with_extension(text: &str) -> bool {
    let end = end_of(text, |c| c.is_ascii_lowercase() || c.is_ascii_digit());
    (1..=4).contains(&end) && !text[end..].starts_with(|c| is_letter(c) || c == '.')
}

/// The `s` of `Anna's`, the `l` of `l'eau`.
fn is_elision(before: char, name: &str, after: &str) -> bool {
    let apostrophe_after = after.strip_prefix('\'').is_some_and(|after| after.starts_with(is_letter));
    (before == '\'' || apostrophe_after) && name.len() <= 2 && name.bytes().all(|b| b.is_ascii_alphabetic())
}

/// Adds `open-ledgerFile` as `openledgerfile`, so that all its spellings are one, and as `open`, `ledgerfile`, `ledger`, `file`.
fn add_name(name: &str, pieces: &mut Vec<Piece>) {
    let parts: Vec<&str> = name.split(['-', '_']).collect();
    let whole = parts.concat();
    let short = (2..=LONGEST_NAME.0).contains(&parts.len()) && whole.len() <= LONGEST_NAME.1;
    // 2019-2021 and 12-15 are two numbers each.
    if short && whole.contains(|c: char| !c.is_ascii_digit() && c != '.') {
        add_word(&whole, pieces);
    }
    for part in parts {
        add_word(part, pieces);
        if part.contains('.') {
            part.split('.').for_each(|number| add_word(number, pieces));
        } else {
            camel_parts(part).chain(code_parts(part)).for_each(|part| add_word(part, pieces));
        }
    }
}

fn add_word(word: &str, pieces: &mut Vec<Piece>) {
    if !has_word(word) {
        return;
    }
    let is_code = word.contains(|c: char| c.is_numeric() || c == '.');
    let lower = if word.is_ascii() { word.to_ascii_lowercase() } else { word.to_lowercase() };
    pieces.push(if is_code {
        // v1.2.3 is version 1.2.3.
        let number = lower.strip_prefix('v').filter(|number| number.starts_with(|c: char| c.is_ascii_digit()));
        Piece::Code(plain(number.unwrap_or(&lower)))
    } else {
        Piece::Word(lower)
    });
}

/// The parts of a camel-case name; none when it is one word.
fn camel_parts(name: &str) -> impl Iterator<Item = &str> {
    let starts = if name.is_ascii() { part_starts(name.as_bytes()) } else { Vec::new() };
    let ends = (!starts.is_empty()).then_some(name.len());
    let mut from = 0;
    starts.into_iter().chain(ends).map(move |to| &name[replace(&mut from, to)..to])
}

/// The letters and the digits of `sn4471xb`; none of `mp3`, `h264` and hexadecimal hashes, which are names of their own.
fn code_parts(name: &str) -> impl Iterator<Item = &str> {
    let parts: Vec<&str> = if name.is_ascii() {
        let runs = name.as_bytes().chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
        runs.filter_map(|run| std::str::from_utf8(run).ok()).collect()
    } else {
        Vec::new()
    };
    let is_code = (2..=3).contains(&parts.len())
        && name.len() >= 6
        && parts.iter().any(|part| part.len() > 2 && part.bytes().all(|b| b.is_ascii_digit()));
    parts.into_iter().filter(move |_| is_code)
}

/// Where parts after the first start: at a capital after a small letter, and at one before two small letters, so that
/// `HTTPServer` and `utf8Name` are two words and `APIs` is one.
fn part_starts(name: &[u8]) -> Vec<usize> {
    let before_small = |at: usize| name.get(at + 1..at + 3).is_some_and(|next| next.iter().all(u8::is_ascii_lowercase));
    let starts = |&at: &usize| name[at].is_ascii_uppercase() && (name[at - 1].is_ascii_lowercase() || before_small(at));
    (1..name.len()).filter(starts).collect()
}
