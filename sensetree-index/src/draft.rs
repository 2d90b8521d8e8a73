//! A document on its way into the store: read and cut, but without vectors.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use sensetree_core::{Chunk, Document, DocumentInfo, DocumentKey, Embedding, Error, Location, Result};

use crate::{
    chunk::{Chunker, Lines},
    context::{self, Qualification},
    extract::Text,
    headings::Trail,
    status::{Note, Status},
};

pub(crate) use crate::status::by_name_reason;

/// How the status of a folder that is indexed as one starts; what it is follows.
const FOLDER: &str = "folder as one: ";

#[derive(Debug)]
pub(crate) struct Draft {
    /// Without chunks.
    pub(crate) document: Document,
    pub(crate) chunks: Vec<DraftChunk>,
    /// Whether the store holds an older state.
    pub(crate) is_known: bool,
    /// Why it cannot be embedded.
    pub(crate) failure: Option<Error>,
    pub(crate) about: Option<Qualification>,
    /// Whether the texts of the chunks are those that are stored and embedded.
    pub(crate) is_complete: bool,
    pub(crate) fate: Fate,
    /// What the store held before.
    pub(crate) stored: Vec<Chunk>,
    /// Chunks whose vector was in the store.
    pub(crate) reused: u64,
}

/// What a commit makes of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Fate {
    /// New, or in place of an older state.
    #[default]
    Written,
    /// The same file under another key.
    Moved { from: DocumentKey, path: PathBuf },
    /// Only what is noted about the file changes.
    Noted,
}

#[derive(Debug, Default)]
pub(crate) struct DraftChunk {
    /// The body alone until the draft is [qualified](Draft::qualify).
    pub(crate) text: String,
    /// Only the headings until then.
    pub(crate) context: String,
    pub(crate) location: Location,
    pub(crate) embedding: Option<Embedding>,
}

impl DraftChunk {
    pub(crate) fn embedded_text(&self) -> Cow<'_, str> {
        context::join(&self.context, &self.text)
    }
}

impl From<Chunk> for DraftChunk {
    fn from(Chunk { text, context, location, embedding }: Chunk) -> Self {
        Self { text, context, location, embedding: Some(embedding) }
    }
}

impl Draft {
    /// A document whose text was read. `None` when no piece of it has anything to search for.
    pub(crate) fn of_text(mut document: Document, text: &Text, about: Qualification, chunker: &Chunker) -> Option<Self> {
        let about = about.titled(text.outline.title.as_deref());
        let ranges = chunker.split(&text.text, text.structure, &text.outline.headings);
        let mut lines = Lines::new(&text.text);
        let mut trail = Trail::new(&text.outline.headings);
        let mut chunks = Vec::with_capacity(ranges.len());
        for range in ranges {
            let headings = trail.over(range.start);
            let context = if chunks.is_empty() { String::new() } else { about.heading_path(&headings) };
            let location = Location { bytes: range.start as u64..range.end as u64, lines: lines.of(&range) };
            chunks.push(DraftChunk { text: text.text[range].to_owned(), context, location, embedding: None });
        }
        document.note = Note { status: Status::Indexed { how: text.note.clone() }, summary: None }.write();
        (!chunks.is_empty()).then(|| Self { about: Some(about), is_complete: false, ..Self::of_chunks(document, chunks) })
    }

    /// A document that can be found by name, kind and folder only. The reason is kept, so that it is not tried again while
    /// the file stays the same.
    pub(crate) fn by_name(document: Document, about: &Qualification, kind: &str, reason: &str) -> Self {
        Self::named(document, about, kind, Status::Skipped { reason: reason.to_owned() })
    }

    /// A document whose file could not be read in time. What the store holds of it stays; if that is nothing, it is found by name.
    pub(crate) fn failed(document: Document, about: &Qualification, kind: &str, error: Error) -> Self {
        let status = Status::Indexed { how: kind.to_owned() };
        Self { failure: Some(error), ..Self::named(document, about, kind, status) }
    }

    pub(crate) fn named(mut document: Document, about: &Qualification, kind: &str, status: Status) -> Self {
        document.note = Note { status, summary: None }.write();
        let chunk = DraftChunk { text: about.by_name(kind), ..DraftChunk::default() };
        Self { about: Some(about.clone()), ..Self::of_chunks(document, vec![chunk]) }
    }

    /// A folder that is indexed as one.
    pub(crate) fn of_folder(mut document: Document, about: Qualification, text: String, kind: &str) -> Self {
        document.note = Note { status: Status::Indexed { how: format!("{FOLDER}{kind}") }, summary: None }.write();
        let chunk = DraftChunk { text, ..DraftChunk::default() };
        Self { about: Some(about), is_complete: false, ..Self::of_chunks(document, vec![chunk]) }
    }

    /// What the store holds, vectors included.
    pub(crate) fn of_stored(info: DocumentInfo, chunks: Vec<Chunk>) -> Self {
        let DocumentInfo { key, path, stamp, note } = info;
        let document = Document { key, path: path.to_path_buf(), stamp, note, chunks: Vec::new() };
        Self {
            is_known: true,
            fate: Fate::Noted,
            ..Self::of_chunks(document, chunks.into_iter().map(DraftChunk::from).collect())
        }
    }

    fn of_chunks(document: Document, chunks: Vec<DraftChunk>) -> Self {
        Self {
            document,
            chunks,
            is_known: false,
            failure: None,
            about: None,
            is_complete: true,
            fate: Fate::Written,
            stored: Vec::new(),
            reused: 0,
        }
    }

    /// The share of the chunks that stand in what was stored, in [0, 1], whatever was put before them. Only before it is qualified.
    pub(crate) fn kept(&self) -> f64 {
        let known: HashSet<&str> = self.stored.iter().map(|chunk| chunk.text.as_str()).collect();
        let first = |at: usize, text: &str| at == 0 && self.stored.first().is_some_and(|chunk| chunk.text.ends_with(text));
        let kept = (self.chunks.iter().enumerate())
            .filter(|(at, chunk)| known.contains(chunk.text.as_str()) || first(*at, &chunk.text))
            .count();
        kept as f64 / self.chunks.len().max(1) as f64
    }

    /// Whether it is a folder that is indexed as one.
    pub(crate) fn is_folder(&self) -> bool {
        matches!(Note::parse(&self.document.note).status, Status::Indexed { how } if how.starts_with(FOLDER))
    }

    /// Puts the document's qualification before its chunks, which completes their texts.
    pub(crate) fn qualify(&mut self, summary: Option<&str>) {
        let Some(about) = self.about.clone().filter(|_| !self.is_complete).map(|about| about.summarised(summary)) else { return };
        self.is_complete = true;
        if let Some(summary) = summary {
            let note = Note { summary: Some(summary.to_owned()), ..Note::parse(&self.document.note) };
            self.document.note = note.write();
        }
        for (at, chunk) in self.chunks.iter_mut().enumerate() {
            if at > 0 {
                chunk.context = about.context(&chunk.context);
            } else if let header = about.header()
                && !header.is_empty()
            {
                chunk.text = format!("{header}\n\n{}", chunk.text);
            }
        }
    }

    /// Takes the vectors of chunks that are embedded from the same text as before. Only once it is qualified.
    pub(crate) fn reuse(&mut self) {
        let stored: HashMap<Cow<'_, str>, &Embedding> =
            self.stored.iter().map(|chunk| (context::embedded_text(chunk), &chunk.embedding)).collect();
        for chunk in self.chunks.iter_mut().filter(|chunk| chunk.embedding.is_none()) {
            chunk.embedding = stored.get(&chunk.embedded_text()).map(|&embedding| embedding.clone());
            self.reused += u64::from(chunk.embedding.is_some());
        }
    }

    /// Takes the vectors that the same content had under another path, whatever name was embedded with it. Only before it is
    /// qualified.
    ///
    /// A document that is its name and nothing else keeps its vector only while the name stays.
    pub(crate) fn inherit(&mut self, from: &Path, stored: &[Chunk]) {
        if self.is_complete && from.file_name() != self.document.path.file_name() {
            return;
        }
        let is_text = !self.is_complete;
        for (at, (chunk, old)) in self.chunks.iter_mut().zip(stored).enumerate() {
            let same_text = if at == 0 { !is_text || old.text.ends_with(&chunk.text) } else { old.text == chunk.text };
            if same_text && chunk.location == old.location {
                chunk.embedding = Some(old.embedding.clone());
                self.reused += 1;
            }
        }
    }

    /// The start of the text, at most `most` characters. Only before it is qualified.
    pub(crate) fn opening(&self, most: usize) -> String {
        let (mut opening, mut end) = (String::new(), 0u64);
        let mut left = most;
        for chunk in &self.chunks {
            if left == 0 {
                break;
            }
            // What the chunk before it has said already is left out.
            let repeated = end.saturating_sub(chunk.location.bytes.start) as usize;
            let new = chunk.text.get(repeated..).unwrap_or(&chunk.text);
            if !opening.is_empty() && chunk.location.bytes.start > end {
                opening.push('\n');
                left -= 1;
            }
            let new = sensetree_core::text::first_chars(new, left);
            left -= new.chars().count();
            opening.push_str(new);
            end = chunk.location.bytes.end;
        }
        opening
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
    use super::*;
    use crate::{extract::extract, measure::Measure};

    fn draft(markdown: &str, overlap: usize) -> Draft {
        let text = extract(Path::new("a.md"), markdown.as_bytes()).expect("it is text");
        let chunker = Chunker { size: 400, overlap, measure: Measure::Characters };
        let about = Qualification::new(Path::new("a.md"), Path::new(""), &chunker);
        Draft::of_text(Document::new("/a.md"), &text, about, &chunker).expect("it has text")
    }

    #[test]
    fn the_context_names_the_headings_over_a_chunk() {
        let lines = |word: &str| format!("{word} one two three.\n").repeat(30);
        let text = format!("# Top\n\n## First\n\n{}\n## Second\n\n{}", lines("apple"), lines("banana"));
        for overlap in [0, 100] {
            let mut draft = draft(&text, overlap);
            draft.qualify(None);
            assert!(draft.chunks.len() > 3);
            for chunk in &draft.chunks[1..] {
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

    #[test]
    fn the_opening_is_the_text_without_what_chunks_repeat() {
        let text: String = (0..200).map(|number| format!("sentence number{number} é. ")).collect();
        for overlap in [0, 100] {
            let opening = draft(&text, overlap).opening(1500);
            assert_eq!(opening.chars().count(), 1500);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let (words, all) = (words(&opening), words(&text));
            assert_eq!(words[..words.len() - 1], all[..words.len() - 1]);
        }
    }
}
