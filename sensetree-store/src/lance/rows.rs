//! Documents as rows of the table, and back. Arrow ends here.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeListArray, Float32Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
    cast::AsArray,
    types::{Float32Type, Int64Type, UInt32Type, UInt64Type},
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use sensetree_core::{
    Chunk, ChunkId, Document, DocumentInfo, DocumentKey, Embedding, Error, FileStamp, Fingerprint, Hit, Location, Passage, Result,
};

use super::FORMAT_VERSION;
use crate::analysis::{ANALYSER, search_form};

pub(super) const KEY: &str = "key";
pub(super) const INDEX: &str = "chunk_index";
pub(super) const VECTOR: &str = "vector";
/// The search form of the text, which BM25 indexes.
pub(super) const SEARCH: &str = "search";
/// What a hit needs.
pub(super) const HIT_COLUMNS: [&str; 8] = [KEY, INDEX, "path", "text", "byte_start", "byte_end", "first_line", "last_line"];
/// What a document without its chunks needs; these are null on all rows but a document's first.
pub(super) const INFO_COLUMNS: [&str; 7] = [KEY, "path", "size", "modified", "read", "hash", "note"];
/// What a chunk needs.
pub(super) const CHUNK_COLUMNS: [&str; 8] =
    [INDEX, "text", "context", "byte_start", "byte_end", "first_line", "last_line", VECTOR];

const FORMAT_KEY: &str = "sensetree.format";
const ANALYSER_KEY: &str = "sensetree.analyser";
const FINGERPRINT_KEY: &str = "sensetree.fingerprint";

/// The table's columns, with the format, the analyser and the fingerprint as metadata: all are written with the table itself.
pub(super) fn schema(fingerprint: &Fingerprint) -> Result<SchemaRef> {
    let dimension = i32::try_from(fingerprint.dimension()).ok().filter(|&d| d > 0);
    let Some(dimension) = dimension else {
        return Err(Error::invalid(format!("vectors of {} dimensions cannot be stored", fingerprint.dimension())));
    };
    let field = |name: &str, kind: DataType| Field::new(name, kind, false);
    let of_document = |name: &str, kind: DataType| Field::new(name, kind, true);
    let fields = vec![
        field(KEY, DataType::Utf8),
        field(INDEX, DataType::UInt32),
        field("path", DataType::Binary),
        field("text", DataType::Utf8),
        field(SEARCH, DataType::Utf8),
        field("context", DataType::Utf8),
        field("byte_start", DataType::UInt64),
        field("byte_end", DataType::UInt64),
        field("first_line", DataType::UInt32),
        field("last_line", DataType::UInt32),
        field(VECTOR, DataType::FixedSizeList(vector_item(), dimension)),
        of_document("size", DataType::UInt64),
        of_document("modified", DataType::Int64),
        of_document("read", DataType::Int64),
        of_document("hash", DataType::Utf8),
        of_document("note", DataType::Utf8),
    ];
    let written = serde_json::to_string(fingerprint).map_err(|e| Error::other("write down the embedder's fingerprint", e))?;
    let metadata = HashMap::from([
        (FORMAT_KEY.to_owned(), FORMAT_VERSION.to_string()),
        (ANALYSER_KEY.to_owned(), ANALYSER.to_owned()),
        (FINGERPRINT_KEY.to_owned(), written),
    ]);
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

fn vector_item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Float32, true))
}

/// Reads back what [`schema`] wrote, and refuses other formats.
pub(super) fn fingerprint(schema: &Schema, place: &Path) -> Result<Fingerprint> {
    let said = |key: &str| schema.metadata().get(key).map(String::as_str).unwrap_or("unknown");
    let (format, analyser) = (said(FORMAT_KEY), said(ANALYSER_KEY));
    let other = |found: String| Error::Format { path: place.to_owned(), found, supported: FORMAT_VERSION };
    if format != FORMAT_VERSION.to_string() {
        return Err(other(format.to_owned()));
    }
    if analyser != ANALYSER {
        return Err(other(format!("{format} with the text analysis {analyser:?}")));
    }
    serde_json::from_str(said(FINGERPRINT_KEY)).map_err(|_| other(format!("{format} without a readable fingerprint")))
}

/// All chunks of all documents.
pub(super) fn batch(documents: &[Document], schema: SchemaRef) -> Result<RecordBatch> {
    let rows: Vec<(&Document, u32, &Chunk)> = documents
        .iter()
        .flat_map(|document| (0u32..).zip(&document.chunks).map(move |(index, chunk)| (document, index, chunk)))
        .collect();
    let rows = || rows.iter().copied();
    let chunks = || rows().map(|(_, _, chunk)| chunk);
    let first =
        |of: &dyn Fn(&Document) -> i64| -> Int64Array { rows().map(|(d, index, _)| (index == 0).then(|| of(d))).collect() };
    let first_text =
        |of: &dyn Fn(&Document) -> String| -> StringArray { rows().map(|(d, index, _)| (index == 0).then(|| of(d))).collect() };
    let dimension = documents.first().and_then(|d| d.chunks.first()).map_or(1, |chunk| chunk.embedding.dimension());
    let values: Float32Array = chunks().flat_map(|chunk| chunk.embedding.as_slice()).copied().collect::<Vec<_>>().into();
    let vectors = FixedSizeListArray::try_new(vector_item(), dimension as i32, Arc::new(values), None).map_err(arrow)?;
    let paths: Vec<Vec<u8>> = rows().map(|(document, _, _)| path_bytes(&document.path)).collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows().map(|(document, _, _)| document.key.as_str()))),
        Arc::new(UInt32Array::from_iter_values(rows().map(|(_, index, _)| index))),
        Arc::new(BinaryArray::from_iter_values(paths)),
        Arc::new(StringArray::from_iter_values(chunks().map(|chunk| &chunk.text))),
        Arc::new(StringArray::from_iter_values(chunks().map(|chunk| search_form(&chunk.text)))),
        Arc::new(StringArray::from_iter_values(chunks().map(|chunk| &chunk.context))),
        Arc::new(UInt64Array::from_iter_values(chunks().map(|chunk| chunk.location.bytes.start))),
        Arc::new(UInt64Array::from_iter_values(chunks().map(|chunk| chunk.location.bytes.end))),
        Arc::new(UInt32Array::from_iter_values(chunks().map(|chunk| chunk.location.lines.0))),
        Arc::new(UInt32Array::from_iter_values(chunks().map(|chunk| chunk.location.lines.1))),
        Arc::new(vectors),
        Arc::new(rows().map(|(d, index, _)| (index == 0).then_some(d.stamp.size)).collect::<UInt64Array>()),
        Arc::new(first(&|d| d.stamp.modified)),
        Arc::new(first(&|d| d.stamp.read)),
        Arc::new(first_text(&|d| d.stamp.hash.clone())),
        Arc::new(first_text(&|d| d.note.clone())),
    ];
    RecordBatch::try_new(schema, columns).map_err(arrow)
}

fn arrow(e: arrow_schema::ArrowError) -> Error {
    Error::other("lay out chunks as rows", e)
}

/// Typed access to the columns of a batch.
struct Columns<'a>(&'a RecordBatch);

impl<'a> Columns<'a> {
    fn column(&self, name: &str) -> Result<&'a ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| Error::other("read rows", format!("the column {name} is missing")))
    }

    fn text(&self, name: &str) -> Result<&'a StringArray> {
        self.column(name)?.as_string_opt().ok_or_else(|| self.wrong(name))
    }

    fn bytes(&self, name: &str) -> Result<&'a BinaryArray> {
        self.column(name)?.as_binary_opt().ok_or_else(|| self.wrong(name))
    }

    fn number<T: arrow_array::ArrowPrimitiveType>(&self, name: &str) -> Result<&'a arrow_array::PrimitiveArray<T>> {
        self.column(name)?.as_primitive_opt().ok_or_else(|| self.wrong(name))
    }

    fn wrong(&self, name: &str) -> Error {
        Error::other("read rows", format!("the column {name} has another type than this version writes"))
    }

    fn location(&self) -> Result<impl Fn(usize) -> Location + use<'a>> {
        let (start, end) = (self.number::<UInt64Type>("byte_start")?, self.number::<UInt64Type>("byte_end")?);
        let (first, last) = (self.number::<UInt32Type>("first_line")?, self.number::<UInt32Type>("last_line")?);
        Ok(move |i| Location { bytes: start.value(i)..end.value(i), lines: (first.value(i), last.value(i)) })
    }
}

/// The rows of a search, with the score that `score` makes of the column that it ranks by.
pub(super) fn hits(batch: &RecordBatch, ranked_by: &str, score: impl Fn(f32) -> f32) -> Result<Vec<Hit>> {
    let columns = Columns(batch);
    let (keys, indexes) = (columns.text(KEY)?, columns.number::<UInt32Type>(INDEX)?);
    let (paths, texts, location) = (columns.bytes("path")?, columns.text("text")?, columns.location()?);
    let ranks = columns.number::<Float32Type>(ranked_by)?;
    let hit = |i: usize| Hit {
        id: ChunkId::new(DocumentKey::from_stored(keys.value(i)), indexes.value(i)),
        score: score(ranks.value(i)),
        passage: Arc::new(Passage {
            text: texts.value(i).to_owned(),
            path: Arc::new(path(paths.value(i))),
            location: location(i),
        }),
    };
    Ok((0..batch.num_rows()).map(hit).collect())
}

pub(super) fn infos(batch: &RecordBatch) -> Result<Vec<DocumentInfo>> {
    let columns = Columns(batch);
    let (keys, paths) = (columns.text(KEY)?, columns.bytes("path")?);
    let (size, hash, note) = (columns.number::<UInt64Type>("size")?, columns.text("hash")?, columns.text("note")?);
    let (modified, read) = (columns.number::<Int64Type>("modified")?, columns.number::<Int64Type>("read")?);
    let info = |i: usize| DocumentInfo {
        key: DocumentKey::from_stored(keys.value(i)),
        path: Arc::new(path(paths.value(i))),
        stamp: FileStamp {
            size: size.value(i),
            modified: modified.value(i),
            read: read.value(i),
            hash: hash.value(i).to_owned(),
        },
        note: note.value(i).to_owned(),
    };
    Ok((0..batch.num_rows()).map(info).collect())
}

/// Chunks with their index.
pub(super) fn chunks(batch: &RecordBatch) -> Result<Vec<(u32, Chunk)>> {
    let columns = Columns(batch);
    let (indexes, texts, contexts) = (columns.number::<UInt32Type>(INDEX)?, columns.text("text")?, columns.text("context")?);
    let location = columns.location()?;
    let vectors = columns.column(VECTOR)?.as_fixed_size_list_opt().ok_or_else(|| columns.wrong(VECTOR))?;
    let chunk = |i: usize| {
        let values = vectors.value(i);
        let values = values.as_primitive_opt::<Float32Type>().ok_or_else(|| columns.wrong(VECTOR))?;
        let embedding = Embedding::new(values.values().to_vec())?;
        let chunk = Chunk::new(texts.value(i), embedding).with_context(contexts.value(i)).with_location(location(i));
        Ok((indexes.value(i), chunk))
    };
    (0..batch.num_rows()).map(chunk).collect()
}

#[cfg(unix)]
fn path_bytes(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path_bytes(path: &Path) -> Vec<u8> {
    path.to_string_lossy().into_owned().into_bytes()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}
