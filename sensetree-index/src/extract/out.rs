//! The text that a reader writes: Markdown, and never much more than is kept.

use std::time::Instant;

use super::Text;
use crate::{
    chunk::Structure,
    headings::{Heading, Outline},
};

/// A Markdown text as it grows. Once it is full or the time is over, it takes nothing more.
#[derive(Debug)]
pub(super) struct Out {
    text: String,
    most: usize,
    until: Instant,
    /// The header rows of tables, which stand over their rows as headings do.
    header_rows: Vec<Heading>,
    /// Whether the last line is a row of an open table.
    in_table: bool,
}

impl Out {
    pub(super) fn new(most: usize, until: Instant) -> Self {
        Self { text: String::new(), most, until, header_rows: Vec::new(), in_table: false }
    }

    /// Whether a reader should go on. Every loop over a file's content asks this.
    pub(super) fn goes_on(&self) -> bool {
        self.text.len() <= self.most && Instant::now() < self.until
    }

    /// Bytes that are still taken.
    pub(super) fn room(&self) -> usize {
        self.most.saturating_add(1).saturating_sub(self.text.len())
    }

    /// A paragraph, after a blank line. Blank ones are left out.
    pub(super) fn block(&mut self, text: &str) {
        self.start_block("\n\n", text);
    }

    /// An item of a list, on the line after the last.
    pub(super) fn item(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            let follows = self.text.rfind('\n').map_or(&*self.text, |at| &self.text[at + 1..]).starts_with("- ");
            self.start_block(if follows { "\n" } else { "\n\n" }, &format!("- {text}"));
        }
    }

    /// A heading, on one line; `level` is counted from 1.
    pub(super) fn heading(&mut self, level: usize, text: &str) {
        let text = one_line(text);
        if !text.is_empty() {
            self.block(&format!("{} {text}", "#".repeat(level.clamp(1, 6))));
        }
    }

    /// A row of a table. The first one of a table is its header.
    pub(super) fn row<S: AsRef<str>>(&mut self, cells: &[S]) {
        let filled = cells.iter().rposition(|cell| !cell.as_ref().trim().is_empty()).map_or(0, |last| last + 1);
        if filled == 0 {
            return;
        }
        let cells: Vec<String> = cells[..filled].iter().map(|cell| one_line(cell.as_ref())).collect();
        let line = format!("| {} |", cells.join(" | "));
        if self.in_table {
            self.push("\n");
            self.push(&line);
        } else {
            self.block(&line);
            let start = self.text.len().saturating_sub(line.len());
            if filled > 1 && self.text.is_char_boundary(start) && self.text[start..] == line {
                let said = cells.iter().filter(|cell| !cell.is_empty()).map(String::as_str).collect::<Vec<_>>().join(", ");
                self.header_rows.push(Heading { start, level: 6, text: said });
                self.push("\n|");
                self.push(&" --- |".repeat(filled));
            }
            self.in_table = true;
        }
    }

    pub(super) fn end_table(&mut self) {
        self.in_table = false;
    }

    /// `format` is named in the note. A title of the file's own goes before the first heading.
    pub(super) fn finish(self, format: &str, title: Option<String>) -> Text {
        let mut outline = Outline::of(&self.text);
        outline.headings.extend(self.header_rows);
        outline.headings.sort_by_key(|heading| heading.start);
        outline.title = title.map(|title| one_line(&title)).filter(|title| !title.is_empty()).or(outline.title);
        Text { text: self.text, structure: Structure::Markdown, outline, note: format.to_owned() }
    }

    /// Without an outline: for texts that are no Markdown.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// More of the last block.
    pub(super) fn push(&mut self, text: &str) {
        // A byte more than is kept shows that there was more.
        self.text.push_str(&text[..text.ceil_char_boundary(self.room())]);
    }

    fn start_block(&mut self, between: &str, text: &str) {
        let text = text.trim_matches(['\n', '\r', ' ']);
        if text.trim().is_empty() {
            return;
        }
        self.in_table = false;
        if !self.text.is_empty() {
            self.push(between);
        }
        self.push(text);
    }
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn out(most: usize) -> Out {
        Out::new(most, Instant::now() + Duration::from_secs(600))
    }

    #[test]
    fn blocks_lists_and_tables_are_markdown() {
        let mut out = out(1000);
        out.heading(2, "Two\nlines");
        out.item("one");
        out.item("two");
        out.block(" \n ");
        out.row(&["Name", "", "City", ""]);
        out.row(&["Jürgen\nB.", "", "Köln"]);
        out.row(&["", ""]);
        out.block("End.");
        let text = out.finish("x", None);
        let expected = "## Two lines\n\n- one\n- two\n\n| Name |  | City |\n| --- | --- | --- |\n| Jürgen B. |  | Köln |\n\nEnd.";
        assert_eq!(text.text, expected);
        let headings: Vec<_> = text.outline.headings.iter().map(|heading| (heading.level, &*heading.text)).collect();
        assert_eq!(headings, [(2, "Two lines"), (6, "Name, City")]);
        assert!(text.text[text.outline.headings[1].start..].starts_with("| Name"));
    }

    #[test]
    fn a_full_text_takes_no_more_and_stays_whole_characters() {
        let mut out = out(10);
        (0..100).for_each(|_| out.block("äöü"));
        assert!(!out.goes_on());
        assert!((11..=14).contains(&out.into_text().len()));
    }
}
