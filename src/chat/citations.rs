//! The marks in an answer.

use std::ops::Range;

use super::Sources;

/// A number in an answer that stands for a source: `[1]`, or one of those in `[1, 3]` and `[2-4]`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Citation {
    /// As it is written.
    pub number: u32,
    /// Bytes of the answer, for making them a link: one of a list without the brackets, otherwise the whole mark. The numbers of
    /// `[2-4]` share theirs.
    pub at: Range<usize>,
}

/// What an answer cites.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Citations {
    /// Every mark of a source that is there, in the order of the answer.
    pub marks: Vec<Citation>,
    /// The sources cited, each once, in the order in which they first come.
    pub cited: Vec<u32>,
    /// Numbers cited that no source has, each once: the model made them up.
    pub unknown: Vec<u32>,
}

impl Sources {
    /// Finds the marks `[n]` in an answer, also `[1, 2]`, `[1; 2]`, `[2-4]` and `【1】`.
    ///
    /// Code (between backticks) has brackets of its own and is left out.
    pub fn cited(&self, answer: &str) -> Citations {
        let mut found = Citations::default();
        for mark in outside_code(answer).flat_map(|(start, text)| brackets(text).map(move |at| at.start + start..at.end + start))
        {
            let inner = &answer[mark.clone()];
            let inner = inner.trim_matches(['[', ']', '【', '】']);
            let offset = inner.as_ptr() as usize - answer.as_ptr() as usize;
            let Some(numbers) = numbers(inner) else { continue };
            let alone = numbers.len() == 1;
            for (range, at) in numbers {
                let at = if alone { mark.clone() } else { at.start + offset..at.end + offset };
                // A range is as long as the model likes; what lies beyond the sources is told by its end.
                let known = range.start..=range.end.min(u32::try_from(self.len()).unwrap_or(u32::MAX));
                for number in known.chain((self.get(range.end).is_none()).then_some(range.end)) {
                    found.push(number, at.clone(), self.get(number).is_some());
                }
            }
        }
        found
    }
}

impl Citations {
    fn push(&mut self, number: u32, at: Range<usize>, known: bool) {
        let list = if known { &mut self.cited } else { &mut self.unknown };
        if !list.contains(&number) {
            list.push(number);
        }
        if known {
            self.marks.push(Citation { number, at });
        }
    }
}

/// First and last number with the bytes where they stand; none when anything else is there too.
fn numbers(text: &str) -> Option<Vec<(Range<u32>, Range<usize>)>> {
    let mut start = 0;
    let mut found = Vec::new();
    for item in text.split([',', ';']) {
        let trimmed = item.trim();
        let at = start + (item.len() - item.trim_start().len());
        let (first, last) = trimmed.split_once(['-', '–']).unwrap_or((trimmed, trimmed));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        found.push((first..last, at..at + trimmed.len()));
        start += item.len() + 1;
    }
    Some(found)
}

fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Where brackets open and close without others between.
fn brackets(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut open = None;
    text.char_indices().filter_map(move |(at, c)| match c {
        '[' | '【' => {
            open = Some(at);
            None
        }
        ']' | '】' => open.take().map(|start| start..at + c.len_utf8()),
        _ => None,
    })
}

/// Stretches of a Markdown text that are not code, with where they start. Code lies between equally long runs of backticks; a
/// run without its like is text.
fn outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let run = |from: usize| {
        let start = from + text[from..].find('`')?;
        Some(start..start + text[start..].bytes().take_while(|&b| b == b'`').count())
    };
    let mut stretches = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(open) = run(from) {
        let close = std::iter::successors(run(open.end), |other| run(other.end)).find(|other| other.len() == open.len());
        from = open.end;
        if let Some(close) = close {
            stretches.push((start, &text[start..open.start]));
            (start, from) = (close.end, close.end);
        }
    }
    stretches.push((start, &text[start..]));
    stretches.into_iter()
}
