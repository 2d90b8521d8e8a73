//! OpenDocument: texts, spreadsheets, presentations.

use super::{
    Source, Text, Unreadable,
    out::Out,
    package::Parts,
    xml::{self, Element, Node},
};

/// What was deleted, the table of contents, the forms of charts and scripts, and fields that are filled in page by page.
const SKIPPED: &[&str] =
    &["tracked-changes", "table-of-content", "forms", "scripts", "script", "page-number", "page-count", "sheet-name"];
/// Content of a comment that is none of its words.
const SKIPPED_IN_NOTES: &[&str] = &["date", "date-string", "creator-initials"];
/// White space that an element stands for; more is layout.
const MOST_SPACES: usize = 100;
/// Empty cells in a row that are told, so that the columns after them keep their place; more is layout.
const MOST_EMPTY_CELLS: usize = 50;

pub(super) fn read(source: &Source, parts: &mut Parts) -> Result<Text, Unreadable> {
    if parts.optional("META-INF/manifest.xml")?.is_some_and(|manifest| is_encrypted(&manifest)) {
        return Err(Unreadable("it is encrypted with a password".into()));
    }
    let meta = parts.optional("meta.xml")?;
    let [title, author, editor] = meta.map(|meta| xml::texts(&meta, ["title", "initial-creator", "creator"])).unwrap_or_default();
    let mut out = source.out();
    if let Some(author) = author.or(editor) {
        out.block(&format!("Author: {author}"));
    }
    let content = parts.part("content.xml")?;
    let mut story = Story::new(&mut out, true);
    story.tell(&content)?;
    let (notes, is_spreadsheet) = (std::mem::take(&mut story.notes), story.is_spreadsheet);
    for note in notes {
        out.block(&note);
    }
    // Each spreadsheet has the same footer, which nobody wrote.
    if !is_spreadsheet && let Some(styles) = parts.optional("styles.xml")? {
        // Headers and footers, which no one misses in a damaged part.
        let _ = Story::new(&mut out, false).tell(&styles);
    }
    Ok(out.finish("OpenDocument", title))
}

fn is_encrypted(manifest: &[u8]) -> bool {
    let mut encrypted = false;
    let _ = xml::walk(manifest, |node| {
        encrypted |= matches!(node, Node::Start(element) if element.name == "encryption-data");
        !encrypted
    });
    encrypted
}

struct Story<'a> {
    out: &'a mut Out,
    /// Whether text is told where the walk is: everywhere in the content, in headers and footers of the styles.
    tells: bool,
    told_outside: bool,
    skipped: usize,
    /// Paragraphs may lie in others, with a note or a text box between them.
    paragraphs: Vec<String>,
    headings: Vec<Option<usize>>,
    lists: usize,
    frame_is_title: bool,
    is_spreadsheet: bool,
    pages: usize,
    page_has_title: bool,
    /// Whether a heading for the notes is due, which many pages have without a word in them.
    notes_are_due: bool,
    in_citation: bool,
    citation: String,
    /// What the open note says so far.
    note: Option<String>,
    notes: Vec<String>,
    tables: usize,
    row: Vec<String>,
    cell: String,
    cell_repeats: usize,
}

impl<'a> Story<'a> {
    fn new(out: &'a mut Out, tells: bool) -> Self {
        Self {
            out,
            tells,
            told_outside: tells,
            skipped: 0,
            paragraphs: Vec::new(),
            headings: Vec::new(),
            lists: 0,
            frame_is_title: false,
            is_spreadsheet: false,
            pages: 0,
            page_has_title: false,
            notes_are_due: false,
            in_citation: false,
            citation: String::new(),
            note: None,
            notes: Vec::new(),
            tables: 0,
            row: Vec::new(),
            cell: String::new(),
            cell_repeats: 1,
        }
    }

    fn tell(&mut self, part: &[u8]) -> Result<(), Unreadable> {
        xml::walk(part, |node| {
            match node {
                Node::Start(element) if self.is_skipped(element.name) => self.skipped += 1,
                Node::End(_) if self.skipped > 0 => self.skipped -= 1,
                Node::Start(element) => self.start(element),
                Node::End(name) => self.end(name),
                Node::Text(text) if self.skipped == 0 => self.text(text),
                Node::Text(_) => {}
            }
            self.out.goes_on()
        })
    }

    fn is_skipped(&self, name: &str) -> bool {
        self.skipped > 0 || SKIPPED.contains(&name) || (self.note.is_some() && SKIPPED_IN_NOTES.contains(&name))
    }

    fn text(&mut self, text: &str) {
        if self.in_citation {
            self.citation.push_str(text);
        } else if self.tells
            && let Some(paragraph) = self.paragraphs.last_mut()
        {
            paragraph.push_str(text);
        }
    }

    fn start(&mut self, element: &Element) {
        let count = |name: &str| element.get(name).and_then(|count| count.parse::<usize>().ok()).unwrap_or(1);
        match element.name {
            "header" | "footer" | "header-left" | "footer-left" => self.tells = true,
            "p" | "h" => {
                let level = (element.name == "h").then(|| count("outline-level"));
                self.paragraphs.push(String::new());
                self.headings.push(level);
            }
            "s" => self.text(&" ".repeat(count("c").min(MOST_SPACES))),
            "tab" => self.text("\t"),
            "line-break" => self.text("\n"),
            "list-item" => self.lists += 1,
            "note" => self.note = Some(String::new()),
            "note-citation" => {
                self.in_citation = true;
                self.citation.clear();
            }
            "annotation" => self.note = Some("Comment: ".into()),
            "creator" if self.note.is_some() => self.paragraphs.push(String::new()),
            "page" => {
                self.pages += 1;
                (self.page_has_title, self.notes_are_due) = (false, false);
            }
            "notes" => self.notes_are_due = true,
            "spreadsheet" => self.is_spreadsheet = true,
            "frame" => self.frame_is_title = element.get("class").as_deref() == Some("title"),
            "table" => {
                // Tables of texts have names, too, but nobody sees them.
                if self.is_spreadsheet && self.tables == 0 {
                    self.out.heading(1, &element.get("name").unwrap_or_default());
                }
                self.tables += 1;
            }
            "table-cell" | "covered-table-cell" if self.tables == 1 => self.cell_repeats = count("number-columns-repeated"),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "header" | "footer" | "header-left" | "footer-left" => self.tells = self.told_outside,
            "p" | "h" => self.end_paragraph(),
            "list-item" => self.lists = self.lists.saturating_sub(1),
            "note-citation" => {
                self.in_citation = false;
                let citation = self.citation.clone();
                self.text(&format!("[^{citation}]"));
                self.note = Some(format!("[^{citation}]: "));
            }
            "creator" if self.note.is_some() => {
                self.note = self.paragraphs.pop().map(|creator| format!("Comment by {creator}: "));
            }
            "note" | "annotation" => self.notes.extend(self.note.take()),
            "spreadsheet" => self.is_spreadsheet = true,
            "frame" => self.frame_is_title = false,
            "table-cell" | "covered-table-cell" if self.tables == 1 => {
                let cell = std::mem::take(&mut self.cell);
                let repeats = if cell.is_empty() { self.cell_repeats.min(MOST_EMPTY_CELLS) } else { 1 };
                self.row.extend(std::iter::repeat_n(cell, repeats));
            }
            "table-row" if self.tables == 1 => {
                let row = std::mem::take(&mut self.row);
                if self.tells {
                    self.out.row(&row);
                }
            }
            "table" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.out.end_table();
                }
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        let text = self.paragraphs.pop().unwrap_or_default();
        let level = self.headings.pop().flatten();
        if text.trim().is_empty() {
            return;
        }
        if let Some(note) = &mut self.note {
            note.push_str(&text);
            note.push(' ');
        } else if self.tables > 0 {
            self.cell.push_str(&text);
            self.cell.push(' ');
        } else if self.frame_is_title {
            self.page_has_title = true;
            self.out.heading(1, &text);
        } else if let Some(level) = level {
            self.out.heading(level, &text);
        } else {
            if self.pages > 0 && !self.page_has_title {
                self.page_has_title = true;
                self.out.heading(1, &format!("Slide {}", self.pages));
            }
            if std::mem::take(&mut self.notes_are_due) {
                self.out.heading(2, "Notes");
            }
            if self.lists > 0 { self.out.item(&text) } else { self.out.block(&text) }
        }
    }
}
