//! A document on its way into the store: read and cut, but without vectors.

use std::borrow::Cow;

use sensetree_core::{Chunk, Document, Embedding, Error, Location, Result};

use crate::{
    chunk::{Chunker, Lines},
    context::{self, Qualification},
    extract::Text,
    headings::Trail,
};

/// How the note of a document without text starts; the reason follows.
const BY_NAME: &str = "by name only: ";

/// Why a stored document can be found by name only, if that is so.
pub(crate) fn by_name_reason(note: &str) -> Option<&str> {
    note.strip_prefix(BY_NAME)
}

#[derive(Debug)]
pub(crate) struct Draft {
    /// Without chunks.
    pub(crate) document: Document,
    pub(crate) chunks: Vec<DraftChunk>,
    /// Whether the store holds an older state.
    pub(crate) is_known: bool,
    /// Why it cannot be embedded.
    pub(crate) failure: Option<Error>,
}

#[derive(Debug, Default)]
pub(crate) struct DraftChunk {
    pub(crate) text: String,
    pub(crate) context: String,
    pub(crate) location: Location,
    pub(crate) embedding: Option<Embedding>,
}

impl DraftChunk {
    pub(crate) fn embedded_text(&self) -> Cow<'_, str> {
        context::join(&self.context, &self.text)
    }
}

impl Draft {
    /// A document whose text was read. `None` when no piece of it has anything to search for.
    pub(crate) fn of_text(mut document: Document, text: &Text, about: Qualification, chunker: Chunker) -> Option<Self> {
        let about = about.titled(text.outline.title.as_deref());
        let ranges = chunker.split(&text.text, text.structure, &text.outline.headings);
        let mut lines = Lines::new(&text.text);
        let mut trail = Trail::new(&text.outline.headings);
        let mut chunks = Vec::with_capacity(ranges.len());
        for range in ranges {
            let body = &text.text[range.clone()];
            let headings = trail.over(range.start);
            let (header, context) =
                if chunks.is_empty() { (about.header(), String::new()) } else { (String::new(), about.context(&headings)) };
            let stored = if header.is_empty() { body.to_owned() } else { format!("{header}\n\n{body}") };
            let location = Location { bytes: range.start as u64..range.end as u64, lines: lines.of(&range) };
            chunks.push(DraftChunk { text: stored, context, location, embedding: None });
        }
        document.note = text.note.clone();
        (!chunks.is_empty()).then_some(Self { document, chunks, is_known: false, failure: None })
    }

    /// A document that can be found by name, kind and folder only. The reason is kept, so that it is not tried again while
    /// the file stays the same.
    pub(crate) fn by_name(mut document: Document, about: &Qualification, kind: &str, reason: &str) -> Self {
        document.note = format!("{BY_NAME}{reason}");
        let chunk = DraftChunk { text: about.by_name(kind), ..DraftChunk::default() };
        Self { document, chunks: vec![chunk], is_known: false, failure: None }
    }

    /// The chunks that still need a vector: none when the draft has failed.
    pub(crate) fn open(&self) -> impl Iterator<Item = usize> {
        let chunks = if self.failure.is_some() { &[] } else { &self.chunks[..] };
        chunks.iter().enumerate().filter(|(_, chunk)| chunk.embedding.is_none()).map(|(at, _)| at)
    }

    /// The document as the store takes it.
    ///
    /// # Errors
    /// What kept it from being embedded.
    pub(crate) fn finish(self) -> Result<Document> {
        let Self { mut document, chunks, failure, .. } = self;
        if let Some(error) = failure {
            return Err(error);
        }
        for DraftChunk { text, context, location, embedding } in chunks {
            let embedding = embedding.ok_or_else(|| Error::contract("embedder", "it returned no vector for a chunk"))?;
            document.chunks.push(Chunk::new(text, embedding).with_context(context).with_location(location));
        }
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::extract::extract;

    fn chunks(markdown: &str, overlap: usize) -> Vec<DraftChunk> {
        let text = extract(Path::new("a.md"), markdown.as_bytes()).expect("it is text");
        let about = Qualification::new(Path::new("a.md"), Path::new(""), 400);
        let draft = Draft::of_text(Document::new("/a.md"), &text, about, Chunker { size: 400, overlap }).expect("it has text");
        draft.chunks
    }

    #[test]
    fn the_context_names_the_headings_over_a_chunk() {
        let lines = |word: &str| format!("{word} one two three.\n").repeat(30);
        let text = format!("# Top\n\n## First\n\n{}\n## Second\n\n{}", lines("apple"), lines("banana"));
        for overlap in [0, 100] {
            let chunks = chunks(&text, overlap);
            assert!(chunks.len() > 3);
            for chunk in &chunks[1..] {
                let expected = match (chunk.text.contains("## Second"), chunk.text.contains("banana")) {
                    // It shows its heading itself.
                    (true, _) => "a.md · Top",
                    (false, true) => "a.md · Top · Second",
                    (false, false) => "a.md · Top · First",
                };
                assert_eq!(chunk.context, expected, "{:?}", chunk.text);
            }
        }
    }
}
