//! Presentations: PresentationML. Each slide is a section under its title, its notes included.

use std::collections::HashMap;

use super::{
    Source, Text, Unreadable,
    docx::core_properties,
    out::Out,
    package::{Parts, resolve},
    xml::{self, Element, Node},
};

const PRESENTATION: &str = "ppt/presentation.xml";
/// Placeholders that say the same on every slide.
const REPEATED: &[&str] = &["sldNum", "dt", "ftr", "hdr"];

pub(super) fn read(source: &Source, parts: &mut Parts) -> Result<Text, Unreadable> {
    let [title, author] = core_properties(parts)?;
    let mut out = source.out();
    if let Some(author) = author {
        out.block(&format!("Author: {author}"));
    }
    let targets = relations(parts, PRESENTATION)?;
    let mut slides = Vec::new();
    xml::walk(&parts.part(PRESENTATION)?, |node| {
        if let Node::Start(element) = node
            && element.name == "sldId"
        {
            slides.extend(element.get_prefixed("r:id").and_then(|id| targets.get(&id)).map(|(_, target)| target.clone()));
        }
        slides.len() <= source.limits.entries
    })?;
    for (at, name) in slides.iter().enumerate() {
        if !out.goes_on() {
            break;
        }
        let Some(part) = parts.optional(name)? else { continue };
        let slide = Slide::of(&part)?;
        out.heading(1, slide.title.as_deref().unwrap_or(&format!("Slide {}", at + 1)));
        slide.write(&mut out);
        let notes = relations(parts, name)?.into_values().find(|(kind, _)| kind.ends_with("/notesSlide"));
        if let Some((_, notes)) = notes
            && let Some(part) = parts.optional(&notes)?
        {
            let notes = Slide::of(&part)?;
            if !notes.blocks.is_empty() {
                out.heading(2, "Notes");
                notes.write(&mut out);
            }
        }
    }
    Ok(out.finish("presentation", title))
}

/// What a part's relations point to, by id: their kind and the name of the part.
fn relations(parts: &mut Parts, of: &str) -> Result<HashMap<String, (String, String)>, Unreadable> {
    let (folder, file) = of.rsplit_once('/').unwrap_or(("", of));
    let mut found = HashMap::new();
    if let Some(xml) = parts.optional(&format!("{folder}/_rels/{file}.rels"))? {
        xml::walk(&xml, |node| {
            if let Node::Start(element) = node
                && let (Some(id), Some(kind), Some(target)) = (element.get("Id"), element.get("Type"), element.get("Target"))
            {
                found.insert(id.into_owned(), (kind.into_owned(), resolve(of, &target)));
            }
            true
        })?;
    }
    Ok(found)
}

#[derive(Debug)]
enum Block {
    Paragraph(String),
    Row(Vec<String>),
    EndOfTable,
}

#[derive(Debug, Default)]
struct Slide {
    title: Option<String>,
    blocks: Vec<Block>,
    /// The kind of placeholder that is open.
    placeholder: Option<String>,
    in_text: bool,
    in_table: bool,
    paragraph: String,
    cell: String,
    row: Vec<String>,
}

impl Slide {
    fn of(xml: &[u8]) -> Result<Self, Unreadable> {
        let mut slide = Self::default();
        xml::walk(xml, |node| {
            match node {
                Node::Start(element) => slide.start(element),
                Node::End(name) => slide.end(name),
                Node::Text(text) if slide.in_text => slide.paragraph.push_str(text),
                Node::Text(_) => {}
            }
            true
        })?;
        Ok(slide)
    }

    fn write(&self, out: &mut Out) {
        for block in &self.blocks {
            match block {
                Block::Paragraph(text) => out.block(text),
                Block::Row(cells) => out.row(cells),
                Block::EndOfTable => out.end_table(),
            }
        }
    }

    fn start(&mut self, element: &Element) {
        match element.name {
            "sp" => self.placeholder = None,
            "ph" => self.placeholder = Some(element.get("type").unwrap_or_default().into_owned()),
            "t" => self.in_text = true,
            "br" => self.paragraph.push('\n'),
            "tbl" => self.in_table = true,
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.in_text = false,
            "p" => {
                let text = std::mem::take(&mut self.paragraph);
                let placeholder = self.placeholder.as_deref().unwrap_or_default();
                if text.trim().is_empty() || REPEATED.contains(&placeholder) {
                } else if self.in_table {
                    self.cell.push_str(&text);
                    self.cell.push(' ');
                } else if matches!(placeholder, "title" | "ctrTitle") {
                    let title = self.title.get_or_insert_default();
                    title.push_str(&text);
                    title.push(' ');
                } else {
                    self.blocks.push(Block::Paragraph(text));
                }
            }
            "sp" => self.placeholder = None,
            "tc" => self.row.push(std::mem::take(&mut self.cell)),
            "tr" => self.blocks.push(Block::Row(std::mem::take(&mut self.row))),
            "tbl" => {
                self.in_table = false;
                self.blocks.push(Block::EndOfTable);
            }
            _ => {}
        }
    }
}
