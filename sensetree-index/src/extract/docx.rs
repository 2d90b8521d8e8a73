//! Word documents: WordprocessingML.

use std::collections::{HashMap, HashSet};

use super::{
    Source, Text, Unreadable,
    out::Out,
    package::Parts,
    xml::{self, Element, Node},
};

/// Content that is shown nowhere, or shown a second time: what was moved away, and the picture of a newer drawing.
const SKIPPED: &[&str] = &["Fallback", "moveFrom"];
/// How many styles may stand between a style and the heading that it is based on.
const MOST_BASES: usize = 16;

pub(super) fn read(source: &Source, parts: &mut Parts) -> Result<Text, Unreadable> {
    let styles = parts.optional("word/styles.xml")?.map(|xml| Styles::of(&xml)).unwrap_or_default();
    let [title, author] = core_properties(parts)?;
    let mut out = source.out();
    if let Some(author) = author {
        out.block(&format!("Author: {author}"));
    }
    let document = parts.part("word/document.xml")?;
    Story::new(&styles, &mut out).tell(&document)?;
    // Notes stand after the text that they are about; headers and footers are the same on many pages and told once.
    let mut told = HashSet::new();
    let mut names = parts.names();
    names.sort();
    for kind in ["word/footnotes", "word/endnotes", "word/comments.xml", "word/header", "word/footer"] {
        for name in names.iter().filter(|name| name.starts_with(kind) && name.ends_with(".xml")) {
            let Some(part) = parts.optional(name)? else { continue };
            let mut aside = source.out();
            // The document is worth having without a note that is damaged.
            let _ = Story::new(&styles, &mut aside).tell(&part);
            let aside = aside.into_text();
            if told.insert(aside.clone()) {
                out.block(&aside);
            }
        }
    }
    Ok(out.finish("Word document", title))
}

/// Title and author of an Office document.
pub(super) fn core_properties(parts: &mut Parts) -> Result<[Option<String>; 2], Unreadable> {
    let core = parts.optional("docProps/core.xml")?;
    Ok(core.map(|core| xml::texts(&core, ["title", "creator"])).unwrap_or_default())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Heading(usize),
    /// A line of a table of contents, which says again what the headings say.
    Contents,
}

#[derive(Debug, Default)]
struct Styles(HashMap<String, Role>);

impl Styles {
    fn of(xml: &[u8]) -> Self {
        let mut roles = HashMap::new();
        let mut bases: HashMap<String, String> = HashMap::new();
        let mut current = String::new();
        let _ = xml::walk(xml, |node| {
            if let Node::Start(element) = node {
                let value = || element.get("val").unwrap_or_default();
                match element.name {
                    "style" => current = element.get("styleId").unwrap_or_default().into_owned(),
                    "name" => {
                        if let Some(role) = role(&value()) {
                            roles.insert(current.clone(), role);
                        }
                    }
                    "basedOn" => drop(bases.insert(current.clone(), value().into_owned())),
                    "outlineLvl" => {
                        if let Ok(level @ 0..=8) = value().parse::<usize>() {
                            roles.entry(current.clone()).or_insert(Role::Heading(level + 1));
                        }
                    }
                    _ => {}
                }
            }
            true
        });
        for style in bases.keys() {
            let line = std::iter::successors(Some(style), |style| bases.get(*style)).take(MOST_BASES);
            let inherited = line.filter_map(|style| roles.get(style).copied()).next();
            if let Some(role) = inherited {
                roles.insert(style.clone(), role);
            }
        }
        Self(roles)
    }
}

/// The names of built-in styles are English in every language.
fn role(style: &str) -> Option<Role> {
    let name = style.to_lowercase();
    if name == "title" {
        return Some(Role::Heading(1));
    }
    if let Some(level) = name.strip_prefix("heading ") {
        return level.parse().ok().map(Role::Heading);
    }
    (name.starts_with("toc ") || name.starts_with("contents ")).then_some(Role::Contents)
}

/// The text of one part: paragraphs and tables in order.
struct Story<'a> {
    styles: &'a Styles,
    out: &'a mut Out,
    paragraph: String,
    role: Option<Role>,
    is_item: bool,
    /// What stands before the next paragraph: whose note it is.
    before: String,
    in_run: bool,
    in_text: bool,
    skipped: usize,
    tables: usize,
    row: Vec<String>,
    cell: String,
}

impl<'a> Story<'a> {
    fn new(styles: &'a Styles, out: &'a mut Out) -> Self {
        Self {
            styles,
            out,
            paragraph: String::new(),
            role: None,
            is_item: false,
            before: String::new(),
            in_run: false,
            in_text: false,
            skipped: 0,
            tables: 0,
            row: Vec::new(),
            cell: String::new(),
        }
    }

    fn tell(mut self, part: &[u8]) -> Result<(), Unreadable> {
        xml::walk(part, |node| {
            match node {
                Node::Start(element) if self.skipped > 0 || SKIPPED.contains(&element.name) => self.skipped += 1,
                Node::End(_) if self.skipped > 0 => self.skipped -= 1,
                Node::Start(element) => self.start(element),
                Node::End(name) => self.end(name),
                Node::Text(text) if self.in_text && self.skipped == 0 => self.paragraph.push_str(text),
                Node::Text(_) => {}
            }
            self.out.goes_on()
        })
    }

    fn start(&mut self, element: &Element) {
        let value = |name: &str| element.get(name).unwrap_or_default();
        match element.name {
            // A text box lies inside the paragraph that it is anchored to.
            "p" => self.end_paragraph(),
            "pStyle" => self.role = self.styles.0.get(&*value("val")).copied().or(self.role),
            "outlineLvl" => {
                self.role = value("val").parse().ok().filter(|level| *level < 9).map(|level: usize| Role::Heading(level + 1))
            }
            "numPr" => self.is_item = true,
            "r" => self.in_run = true,
            "t" => self.in_text = true,
            "tab" if self.in_run => self.paragraph.push('\t'),
            "br" | "cr" if self.in_run => self.paragraph.push('\n'),
            "noBreakHyphen" => self.paragraph.push('\u{2011}'),
            "footnoteReference" => self.paragraph.push_str(&format!("[^{}]", value("id"))),
            "endnoteReference" => self.paragraph.push_str(&format!("[^e{}]", value("id"))),
            "footnote" => self.before = format!("[^{}]: ", value("id")),
            "endnote" => self.before = format!("[^e{}]: ", value("id")),
            "comment" => self.before = format!("Comment by {}: ", value("author")),
            "tbl" => {
                self.end_paragraph();
                self.tables += 1;
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" => self.end_paragraph(),
            "r" => self.in_run = false,
            "t" => self.in_text = false,
            "footnote" | "endnote" | "comment" => self.before.clear(),
            "tc" if self.tables == 1 => self.row.push(std::mem::take(&mut self.cell)),
            "tr" if self.tables == 1 => self.out.row(&std::mem::take(&mut self.row)),
            "tbl" => {
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.out.end_table();
                }
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        let text = std::mem::take(&mut self.paragraph);
        let (role, is_item) = (self.role.take(), std::mem::take(&mut self.is_item));
        if text.trim().is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.before) + &text;
        if self.tables > 0 {
            self.cell.push_str(&text);
            self.cell.push(' ');
            return;
        }
        match role {
            Some(Role::Contents) => {}
            Some(Role::Heading(level)) => self.out.heading(level, &text),
            None if is_item => self.out.item(&text),
            None => self.out.block(&text),
        }
    }
}
