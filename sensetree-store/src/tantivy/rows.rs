//! Chunks as documents of Tantivy, and back. Nothing of Tantivy leaves the folder `tantivy`.

use std::sync::Arc;

use sensetree_core::{Document, DocumentInfo, Error, Location, Passage, Result};
use tantivy::{
    TantivyDocument, TantivyError,
    schema::{
        FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value,
        document::CompactDocValue,
    },
    tokenizer::MAX_TOKEN_LEN,
};

use crate::{analyser, files};

/// Changes with the fields, or with what they mean.
pub(super) const FORMAT_VERSION: u32 = 1;

/// The document's key, and the chunk's position in it.
pub(super) const KEY: &str = "key";
pub(super) const CHUNK: &str = "chunk";
/// How many words the chunk has.
pub(super) const LENGTH: &str = "length";

/// The fields of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) key: Field,
    chunk: Field,
    /// What [`analyser::document_words`] makes of the text; the field that BM25 searches.
    pub(super) words: Field,
    length: Field,
    /// As `DocumentKey::extension` has it; absent where there is none.
    pub(super) extension: Field,
    /// Absent where the time is not known.
    pub(super) modified: Field,
    text: Field,
    path: Field,
    byte_start: Field,
    byte_end: Field,
    first_line: Field,
    last_line: Field,
    /// What [`state`] says of the document; on its first chunk only.
    state: Field,
}

/// The schema of an index, always the same.
pub(super) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    // The words are analysed already and only split here. Chunk lengths have a field of their own, which is exact.
    let split = TextFieldIndexing::default().set_tokenizer("whitespace").set_fieldnorms(false);
    let words = TextOptions::default().set_indexing_options(split.set_index_option(IndexRecordOption::WithFreqs));
    let fields = Fields {
        key: schema.add_text_field(KEY, STRING | FAST),
        chunk: schema.add_u64_field(CHUNK, FAST),
        words: schema.add_text_field("words", words),
        length: schema.add_u64_field(LENGTH, FAST),
        extension: schema.add_text_field("extension", STRING),
        modified: schema.add_i64_field("modified", FAST | INDEXED | STORED),
        text: schema.add_text_field("text", STORED),
        path: schema.add_bytes_field("path", STORED),
        byte_start: schema.add_u64_field("byte_start", STORED),
        byte_end: schema.add_u64_field("byte_end", STORED),
        first_line: schema.add_u64_field("first_line", STORED),
        last_line: schema.add_u64_field("last_line", STORED),
        state: schema.add_text_field("state", STORED),
    };
    (schema.build(), fields)
}

/// Everything about a document but its chunks. Where two are equal, the documents are taken to be.
pub(super) fn state(document: &DocumentInfo) -> Result<String> {
    let DocumentInfo { path, stamp, note, .. } = document;
    // Debug keeps bytes apart that are not text.
    let state = serde_json::to_string(&(stamp, note, format!("{path:?}")));
    state.map_err(|e| Error::other(format!("write down the state of {}", document.key), e))
}

/// The rows of a document, one for each chunk.
pub(super) fn rows(document: Document, fields: &Fields) -> Result<Vec<TantivyDocument>> {
    let Document { key, path, stamp, note, chunks } = document;
    if key.as_str().len() > MAX_TOKEN_LEN {
        let start = sensetree_core::text::first_chars(key.as_str(), 80);
        return Err(Error::invalid(format!("the key of {start}… is longer than {MAX_TOKEN_LEN} bytes; leave the document out")));
    }
    let info = DocumentInfo { key, path: Arc::new(path), stamp, note };
    let state = state(&info)?;
    let extension = info.key.extension();
    let row = |(index, chunk): (u64, sensetree_core::Chunk)| {
        let words = analyser::document_words(&chunk.text);
        let Location { bytes, lines } = chunk.location;
        let mut row = TantivyDocument::new();
        row.add_text(fields.key, info.key.as_str());
        row.add_u64(fields.chunk, index);
        row.add_u64(fields.length, searchable(&words).count() as u64);
        row.add_text(fields.words, words);
        if let Some(extension) = &extension {
            row.add_text(fields.extension, extension);
        }
        if info.stamp.modified != 0 {
            row.add_i64(fields.modified, info.stamp.modified);
        }
        row.add_text(fields.text, chunk.text);
        row.add_bytes(fields.path, &files::path_bytes(&info.path));
        row.add_u64(fields.byte_start, bytes.start);
        row.add_u64(fields.byte_end, bytes.end);
        row.add_u64(fields.first_line, lines.0.into());
        row.add_u64(fields.last_line, lines.1.into());
        if index == 0 {
            row.add_text(fields.state, &state);
        }
        row
    };
    Ok((0..).zip(chunks).map(row).collect())
}

/// The words that Tantivy keeps of analysed text: it has no room for one of more than 65,530 bytes.
pub(super) fn searchable(words: &str) -> impl Iterator<Item = &str> {
    words.split_ascii_whitespace().filter(|word| word.len() <= MAX_TOKEN_LEN)
}

/// What a hit shows of a row.
pub(super) fn passage(row: &TantivyDocument, fields: &Fields) -> tantivy::Result<Passage> {
    let number = |field| read(row, field, |value| value.as_u64());
    let line = |field| number(field).map(|line| u32::try_from(line).unwrap_or(u32::MAX));
    Ok(Passage {
        text: read(row, fields.text, |value| value.as_str())?.to_owned(),
        path: Arc::new(files::path(read(row, fields.path, |value| value.as_bytes())?)),
        location: Location {
            bytes: number(fields.byte_start)?..number(fields.byte_end)?,
            lines: (line(fields.first_line)?, line(fields.last_line)?),
        },
        modified: row.get_first(fields.modified).and_then(|value| value.as_i64()).unwrap_or(0),
    })
}

/// The [`state`] on the row of a document's first chunk.
pub(super) fn stored_state(row: &TantivyDocument, fields: &Fields) -> tantivy::Result<String> {
    Ok(read(row, fields.state, |value| value.as_str())?.to_owned())
}

fn read<'a, T>(
    row: &'a TantivyDocument,
    field: Field,
    cast: impl FnOnce(CompactDocValue<'a>) -> Option<T>,
) -> tantivy::Result<T> {
    row.get_first(field).and_then(cast).ok_or_else(|| {
        let what = format!("a chunk without its field {}", field.field_id());
        TantivyError::DataCorruption(tantivy::error::DataCorruption::comment_only(what))
    })
}
