//! PDF: the text of each page, in lines and paragraphs as far as places on the page tell.

mod guard;

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, Error as PdfError, MediaBox, Object, OutputDev, OutputError, Transform, output_doc_page};

use super::{
    Source, Text, Unreadable,
    out::{Out, one_line},
    panic_message,
};
use crate::{chunk::Structure, headings::Outline};

/// Readers and printers agree that this may stand a little later.
const STARTS_WITHIN: usize = 1024;

/// At the very start, since a text may be about PDF files.
pub(super) fn is_pdf(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"%PDF-")
}

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    if !source.bytes[..source.bytes.len().min(STARTS_WITHIN)].windows(5).any(|window| window == b"%PDF-") {
        return super::plain::read(source);
    }
    guard::check_bytes(source)?;
    let mut document = Document::load_mem(source.bytes).map_err(unreadable)?;
    if document.is_encrypted() {
        document.decrypt("").map_err(unreadable)?;
    }
    guard::tame(&mut document, source)?;
    let [title, author] = [b"Title".as_slice(), b"Author"].map(|key| info(&document, key));
    let mut out = source.out();
    if let Some(author) = author {
        out.block(&format!("Author: {author}"));
    }
    let pages = document.get_pages();
    if pages.is_empty() {
        return Err(Unreadable("it has no pages that can be found; it may be damaged".into()));
    }
    let mut unread = Vec::new();
    for &page in pages.keys() {
        if !out.goes_on() {
            break;
        }
        let mut lines = Lines::new(&mut out);
        // The library panics on what it does not know; the other pages are read all the same.
        let told = catch_unwind(AssertUnwindSafe(|| output_doc_page(&document, &mut lines, page)));
        lines.end_paragraph();
        match told {
            Ok(Ok(())) => {}
            Ok(Err(error)) => unread.push((page, error.to_string())),
            Err(panic) => unread.push((page, panic_message(&*panic).to_owned())),
        }
    }
    // A `#` on a page is no heading.
    let outline = Outline { title: title.map(|title| one_line(&title)), headings: Vec::new() };
    let text = Text { text: out.into_text(), structure: Structure::Plain, outline, note: "PDF".into() };
    match unread.first() {
        Some((page, why)) if text.text.is_empty() => {
            Err(Unreadable(format!("none of its pages can be read; the trouble with page {page}: {why}")))
        }
        Some((page, why)) => {
            let note = format!("{}, {} of {} pages not read in full (page {page}: {why})", text.note, unread.len(), pages.len());
            Ok(Text { note, ..text })
        }
        None if text.text.is_empty() => Err(Unreadable("its pages are pictures without text".into())),
        None => Ok(text),
    }
}

fn unreadable(error: PdfError) -> Unreadable {
    match error {
        PdfError::InvalidPassword | PdfError::Decryption(_) => Unreadable(format!("it is encrypted with a password ({error})")),
        error => Unreadable(format!("it is no readable PDF: {error}")),
    }
}

fn info(document: &Document, key: &[u8]) -> Option<String> {
    let info = document.trailer.get_deref(b"Info", document).and_then(Object::as_dict).ok()?;
    let text = pdf_extract::decode_text_string(info.get_deref(key, document).ok()?).ok()?;
    (!text.trim().is_empty()).then_some(text)
}

/// Puts characters together to lines and paragraphs.
struct Lines<'a> {
    out: &'a mut Out,
    paragraph: String,
    /// Baseline of the last character, and where it ended.
    last: Option<(f64, f64)>,
}

impl<'a> Lines<'a> {
    fn new(out: &'a mut Out) -> Self {
        Self { out, paragraph: String::new(), last: None }
    }

    fn end_paragraph(&mut self) {
        let text = std::mem::take(&mut self.paragraph);
        self.out.block(&text);
    }
}

impl OutputDev for Lines<'_> {
    fn begin_page(&mut self, _: u32, _: &MediaBox, _: Option<(f64, f64, f64, f64)>) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(&mut self, place: &Transform, width: f64, _: f64, size: f64, text: &str) -> Result<(), OutputError> {
        // A page of one endless paragraph must end, too.
        if !self.out.goes_on() || self.paragraph.len() > self.out.room() {
            return Err(OutputError::FormatError(std::fmt::Error));
        }
        let (x, y) = (place.m31, place.m32);
        let scale = (place.m11 * place.m22 - place.m12 * place.m21).abs().sqrt();
        let size = size.abs() * scale;
        if let Some((line, end)) = self.last {
            let down = (line - y).abs();
            if down > size * 1.7 {
                self.end_paragraph();
            } else if down > size * 0.5 && x < end {
                self.paragraph.push('\n');
            } else if (x > end + size * 0.15 || x < end - size * 2.0) && !self.paragraph.ends_with([' ', '\n']) {
                self.paragraph.push(' ');
            }
        }
        self.paragraph.push_str(text);
        self.last = Some((y, x + width * size));
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}
