//! Cutting a text into chunks: by structure where there is some, by words where there is none.

mod attach;
mod code;

use std::ops::Range;

use sensetree_core::text::is_blank;
#[cfg(feature = "code")]
use text_splitter::CodeSplitter;
use text_splitter::{ChunkConfig, MarkdownSplitter, TextSplitter};

use crate::{
    headings::{Heading, body_start},
    measure::{Measure, Sizer},
};
pub(crate) use code::Language;

/// How a text is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Structure {
    /// Paragraphs, lines, sentences.
    Plain,
    /// Markdown: headings, lists, tables, code.
    Markdown,
    /// The syntax of a language.
    Code(Language),
}

/// A long text is split section by section, since the splitter's time grows with the square of what it is given. A section
/// has room for this many chunks.
const SECTION_CHUNKS: usize = 32;
/// For source code it grows with the cube where the syntax is deep.
const CODE_SECTION_CHUNKS: usize = 8;
const LEAST_SECTION: usize = 4096;
/// So many line breaks with nothing between them end a section. The Markdown splitter needs minutes for a page of them.
const GAP_LINES: usize = 32;

/// Cuts texts into chunks that measure at most `size`, of which up to `overlap` may repeat the end of the chunk before. Only a single
/// character that has more tokens than that makes a larger chunk.
///
/// Every character that is more than white space is in some chunk. Chunks of different sections of a long text do not
/// overlap; sections end where the text pauses anyway.
#[derive(Debug, Clone)]
pub(crate) struct Chunker {
    pub(crate) size: usize,
    pub(crate) overlap: usize,
    pub(crate) measure: Measure,
}

impl Chunker {
    /// The byte ranges of the chunks, in order: both their starts and their ends increase. None is blank.
    pub(crate) fn split(&self, text: &str, structure: Structure, headings: &[Heading]) -> Vec<Range<usize>> {
        let sizer = Sizer::new(&self.measure);
        let config = || {
            let config = ChunkConfig::new(self.size).with_sizer(&sizer);
            config.with_overlap(self.overlap).expect("the builder refuses an overlap as large as the size")
        };
        let mut chunks = Vec::new();
        let mut add = |section: &Range<usize>, (at, piece): (usize, &str)| {
            if !is_blank(piece) {
                let start = section.start + at;
                push(&mut chunks, start..start + piece.len());
            }
        };
        let is_code = matches!(structure, Structure::Code(_));
        let sections = Sections { text, headings, at: body_start(text), most: self.section_bytes(is_code), is_code };
        match structure {
            #[cfg(feature = "code")]
            Structure::Code(language) => {
                let plain = TextSplitter::new(config());
                for section in sections {
                    let part = &text[section.clone()];
                    let grammar = language.grammar(part);
                    if !code::can_be_cut_by_syntax(grammar, part) {
                        plain.chunk_indices(part).for_each(|piece| add(&section, piece));
                        continue;
                    }
                    let splitter = CodeSplitter::new(grammar, config());
                    let splitter = splitter.expect("grammar and parser are of the same release");
                    splitter.chunk_indices(part).for_each(|piece| add(&section, piece));
                }
            }
            // Without the feature nothing is known to be code.
            #[cfg(not(feature = "code"))]
            Structure::Code(_) => return self.split(text, Structure::Plain, headings),
            Structure::Plain => {
                let splitter = TextSplitter::new(config());
                sections
                    .for_each(|section| splitter.chunk_indices(&text[section.clone()]).for_each(|piece| add(&section, piece)));
            }
            Structure::Markdown => {
                let splitter = MarkdownSplitter::new(config());
                sections
                    .for_each(|section| splitter.chunk_indices(&text[section.clone()]).for_each(|piece| add(&section, piece)));
                chunks = self.attach_headings(&sizer, text, headings, chunks);
            }
        }
        match self.measure {
            Measure::Characters => chunks,
            // Words were counted one by one, and the splitter takes it that no text has more tokens than bytes.
            Measure::Tokens(_) => self.bounded(text, chunks),
        }
    }

    /// Cuts what is too large when it is counted whole.
    fn bounded(&self, text: &str, chunks: Vec<Range<usize>>) -> Vec<Range<usize>> {
        let mut bounded: Vec<Range<usize>> = Vec::with_capacity(chunks.len());
        let mut add = |part: Range<usize>| {
            // The start of what is cut again may be no more than the overlap.
            let is_repeated = bounded.last().is_some_and(|before| before.end >= part.end);
            if !is_repeated && !is_blank(&text[part.clone()]) {
                push(&mut bounded, part);
            }
        };
        for chunk in chunks {
            let mut rest = chunk;
            while !rest.is_empty() && self.measure.count(&text[rest.clone()]) > self.size {
                let first = self.measure.first(&text[rest.clone()], self.size).trim_end().len();
                let end = rest.start + first.max(floor_char(&text[rest.clone()], 1));
                add(rest.start..end);
                rest.start = rest.end - text[end..rest.end].trim_start().len();
            }
            add(rest);
        }
        bounded
    }

    fn section_bytes(&self, is_code: bool) -> usize {
        self.measure
            .usual_bytes(self.size)
            .saturating_mul(if is_code { CODE_SECTION_CHUNKS } else { SECTION_CHUNKS })
            .max(LEAST_SECTION)
    }
}

/// Appends a chunk that ends after the last one. What it repeats whole is left out; the splitter does that now and then.
fn push(chunks: &mut Vec<Range<usize>>, chunk: Range<usize>) {
    while chunks.last().is_some_and(|before| before.start >= chunk.start) {
        chunks.pop();
    }
    chunks.push(chunk);
}

/// Parts of a text, none longer than `most` bytes, that are split on their own.
struct Sections<'a> {
    text: &'a str,
    headings: &'a [Heading],
    at: usize,
    most: usize,
    is_code: bool,
}

impl Iterator for Sections<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = &self.text[self.at..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
        // Blank lines are skipped; the indentation of the first other line is not.
        self.at += rest[..blank].rfind('\n').map_or(0, |last| last + 1);
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let mut window = floor_char(rest, self.most);
        if let Some(gap) = first_gap(&rest[..window]) {
            window = gap;
        } else if window < rest.len() {
            window = self.pause_before(window);
        }
        let section = self.at..self.at + window;
        self.at = section.end;
        Some(section)
    }
}

impl Sections<'_> {
    /// The best place to end a section in the second half of its longest extent: before a heading or an item of code, else after
    /// a blank line, a line, a word; where there is none of these, at the full extent.
    fn pause_before(&self, window: usize) -> usize {
        let half = floor_char(&self.text[self.at..], window / 2);
        let tail = &self.text[self.at + half..self.at + window];
        let before = self.headings.partition_point(|heading| heading.start < self.at + window);
        let heading = self.headings[..before].last().map(|heading| heading.start).filter(|&start| start > self.at + half);
        if let Some(start) = heading {
            return start - self.at;
        }
        if let Some(item) = self.is_code.then(|| item_start(tail)).flatten() {
            return half + item;
        }
        let after = |pause: &str| tail.rfind(pause).map(|at| at + pause.len());
        let pause = after("\n\n").or_else(|| after("\n\r\n")).or_else(|| after("\n"));
        let word = || tail.char_indices().rev().find(|(_, c)| c.is_whitespace()).map(|(at, c)| at + c.len_utf8());
        half + pause.or_else(word).unwrap_or(tail.len())
    }
}

/// Where an item of source code starts, as far as blank lines and indentation tell: the last of the least indented lines that follow
/// a blank one.
fn item_start(tail: &str) -> Option<usize> {
    let (mut start, mut is_after_blank, mut best) = (0, false, None);
    for line in tail.split_inclusive('\n') {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let is_item = is_after_blank && !code.is_empty() && !code.starts_with(['}', ')', ']']);
        if is_item && best.is_none_or(|(least, _)| indent <= least) {
            best = Some((indent, start));
        }
        is_after_blank = code.is_empty();
        start += line.len();
    }
    best.map(|(_, start)| start)
}

/// The largest end of a whole character that is not above `at`, but at least one character.
fn floor_char(text: &str, at: usize) -> usize {
    match text.floor_char_boundary(at) {
        0 => text.chars().next().map_or(0, char::len_utf8),
        at => at,
    }
}

/// Where the first run of white space with [`GAP_LINES`] line breaks starts.
fn first_gap(text: &str) -> Option<usize> {
    let (mut start, mut lines) = (0, 0);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' => {
                lines += 1;
                if lines == GAP_LINES {
                    return Some(start);
                }
            }
            b' ' | b'\t' | b'\r' => {}
            _ => (start, lines) = (at + 1, 0),
        }
    }
    None
}

/// Counts lines while a position moves forward through the text.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1 }
    }

    /// First and last line of a range, counted from 1. Starts must not decrease from call to call.
    pub(crate) fn of(&mut self, range: &Range<usize>) -> (u32, u32) {
        self.line += count_breaks(&self.text[self.at..range.start]);
        self.at = range.start;
        (self.line, self.line + count_breaks(&self.text[range.clone()]))
    }
}

fn count_breaks(text: &str) -> u32 {
    text.bytes().filter(|&byte| byte == b'\n').count() as u32
}

#[cfg(test)]
use attach::is_headings_only;
#[cfg(test)]
mod tests;
