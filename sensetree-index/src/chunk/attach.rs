//! A heading belongs to the text under it.

use std::ops::Range;

use sensetree_core::text::is_blank;
use text_splitter::ChunkSizer;

use super::{Chunker, push};
use crate::{
    headings::{Heading, is_underline},
    measure::Sizer,
};

impl Chunker {
    /// The splitter leaves a heading alone when the block under it fills a chunk. Such a chunk would be found by its title
    /// and have nothing to say, so it takes over the start of the next one.
    pub(super) fn attach_headings(
        &self,
        sizer: &Sizer<'_>,
        text: &str,
        headings: &[Heading],
        chunks: Vec<Range<usize>>,
    ) -> Vec<Range<usize>> {
        if headings.is_empty() {
            return chunks;
        }
        let mut attached: Vec<Range<usize>> = Vec::with_capacity(chunks.len());
        let mut coming = chunks.into_iter().peekable();
        while let Some(mut chunk) = coming.next() {
            while is_headings_only(text, &chunk, headings)
                && let Some(next) = coming.next()
            {
                // Where it must end at the latest.
                let end = chunk.start + sizer.start(&text[chunk.start..], self.size);
                if next.end <= end {
                    chunk.end = next.end;
                } else if end <= next.start {
                    push(&mut attached, std::mem::replace(&mut chunk, next));
                    break;
                } else {
                    let whole = pause(text, next.start..end);
                    if coming.peek().is_some_and(|after| after.start <= whole) {
                        // What no longer fits is repeated by the chunk after.
                        chunk.end = trimmed(text, chunk.start..whole);
                    } else {
                        let cut = pause(text, next.start..text.floor_char_boundary(whole.min(next.start + next.len() / 2)));
                        chunk.end = trimmed(text, chunk.start..cut);
                        let rest = self.rest(sizer, text, cut, next);
                        if !is_blank(&text[rest.clone()]) {
                            push(&mut attached, std::mem::replace(&mut chunk, rest));
                        }
                    }
                    break;
                }
            }
            push(&mut attached, chunk);
        }
        attached
    }

    /// `whole` from `cut` on, with as much of what is before as may be repeated.
    fn rest(&self, sizer: &Sizer<'_>, text: &str, cut: usize, whole: Range<usize>) -> Range<usize> {
        let repeated = self.overlap.min(self.size.saturating_sub(sizer.size(&text[cut..whole.end])));
        let earliest = whole.start + sizer.end(&text[whole.start..cut], repeated);
        // Not in the middle of a word.
        let word = text[earliest..cut].find(char::is_whitespace).map_or(cut, |space| earliest + space);
        whole.end - text[word..whole.end].trim_start().len()..whole.end
    }
}

/// Whether there is nothing but headings in a chunk.
pub(super) fn is_headings_only(text: &str, chunk: &Range<usize>, headings: &[Heading]) -> bool {
    let mut start = chunk.start;
    text[chunk.clone()].split_inclusive('\n').all(|line| {
        let at = start;
        start += line.len();
        line.trim().is_empty()
            || is_underline(line.trim_end())
            || headings.binary_search_by_key(&at, |heading| heading.start).is_ok()
    })
}

/// The best place to cut in the second half of a range: after a line, a sentence, a word, else at its end.
fn pause(text: &str, range: Range<usize>) -> usize {
    let half = text.floor_char_boundary(range.start + range.len() / 2);
    let tail = &text[half..range.end];
    let after = |mark: &str| tail.rfind(mark).map(|at| at + mark.len());
    let word = || tail.char_indices().rev().find(|(_, c)| c.is_whitespace()).map(|(at, c)| at + c.len_utf8());
    half + after("\n").or_else(|| after(". ")).or_else(word).unwrap_or(tail.len())
}

fn trimmed(text: &str, range: Range<usize>) -> usize {
    range.start + text[range].trim_end().len()
}
