//! Documents as rows of the table, and back. Nothing of Arrow leaves the folder `lance`.

use std::{collections::HashMap, path::Path, sync::Arc};

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, FixedSizeBinaryArray, FixedSizeListArray, Float32Array, PrimitiveArray,
    RecordBatch, StringArray, UInt32Array, UInt64Array,
    cast::AsArray,
    types::{Float32Type, Int64Type, UInt32Type, UInt64Type},
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use sensetree_core::{
    Chunk, ChunkId, Document, DocumentInfo, DocumentKey, Embedding, Error, FileStamp, Fingerprint, Location, Passage, Result,
};

use crate::{
    analyser,
    files::{path, path_bytes},
};

/// Changes with the columns, or with what they mean.
const FORMAT_VERSION: u32 = 3;

/// The document's key.
pub(super) const KEY: &str = "key";
/// The chunk's position in its document.
pub(super) const CHUNK: &str = "chunk";
/// When the document's content was last written.
pub(super) const MODIFIED: &str = "modified";
/// The document's extension, as [`DocumentKey::extension`] has it.
pub(super) const EXTENSION: &str = "extension";
/// The embedding.
pub(super) const VECTOR: &str = "vector";
/// What [`analyser::document_words`] makes of the text; the column that BM25 searches.
pub(super) const WORDS: &str = "words";

/// Where in the document the chunk is: first byte, end, first and last line, in one column, since each that a search reads costs time.
const LOCATION: &str = "location";
/// Two numbers of 8 bytes and two of 4, little-endian.
const LOCATION_BYTES: i32 = 24;

/// The columns that [`identities`] reads, apart from the score.
pub(super) const IDENTITY_COLUMNS: [&str; 2] = [KEY, CHUNK];
/// The columns that [`passages`] reads.
pub(super) const PASSAGE_COLUMNS: [&str; 4] = ["path", "text", LOCATION, MODIFIED];
/// The columns that [`chunks`] reads.
pub(super) const CHUNK_COLUMNS: [&str; 5] = [CHUNK, "text", "context", LOCATION, VECTOR];
/// The columns that [`infos`] reads. Those that no filter asks for stand on the row of the document's first chunk only.
pub(super) const INFO_COLUMNS: [&str; 8] = [KEY, "path", MODIFIED, "size", "changed", "read", "hash", "note"];

mod metadata {
    pub(super) const FORMAT: &str = "sensetree.format";
    pub(super) const ANALYSER: &str = "sensetree.analyser";
    pub(super) const FINGERPRINT: &str = "sensetree.fingerprint";
}

/// The columns, and in the metadata what a reader must know before it reads them.
pub(super) fn schema(fingerprint: &Fingerprint) -> Result<SchemaRef> {
    let Some(dimension) = i32::try_from(fingerprint.dimension()).ok().filter(|&dimension| dimension > 0) else {
        return Err(Error::invalid(format!("a store cannot hold vectors of {} dimensions", fingerprint.dimension())));
    };
    let column = |name: &str, data: DataType| Field::new(name, data, false);
    let own = |name: &str, data: DataType| Field::new(name, data, true);
    let fields = vec![
        column(KEY, DataType::Utf8),
        column(CHUNK, DataType::UInt32),
        column("path", DataType::Binary),
        column("text", DataType::Utf8),
        column(WORDS, DataType::Utf8),
        column("context", DataType::Utf8),
        column(LOCATION, DataType::FixedSizeBinary(LOCATION_BYTES)),
        column(VECTOR, DataType::FixedSizeList(item(), dimension)),
        column(MODIFIED, DataType::Int64),
        Field::new(EXTENSION, DataType::Utf8, true),
        own("size", DataType::UInt64),
        own("changed", DataType::Int64),
        own("read", DataType::Int64),
        own("hash", DataType::Utf8),
        own("note", DataType::Utf8),
    ];
    let fingerprint = serde_json::to_string(fingerprint).map_err(|e| Error::other("write the fingerprint of the embedder", e))?;
    let metadata = HashMap::from([
        (metadata::FORMAT.to_owned(), FORMAT_VERSION.to_string()),
        (metadata::ANALYSER.to_owned(), analyser::NAME.to_owned()),
        (metadata::FINGERPRINT.to_owned(), fingerprint),
    ]);
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

fn item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Float32, true))
}

/// Reads the metadata, and refuses what this version would read wrongly.
pub(super) fn fingerprint(schema: &Schema, path: &Path) -> Result<Fingerprint> {
    let entry = |name: &str| schema.metadata().get(name).map_or("none", String::as_str);
    let other = |found: String| Error::Format { path: path.to_owned(), found, supported: FORMAT_VERSION };
    let (format, analyser) = (entry(metadata::FORMAT), entry(metadata::ANALYSER));
    if format != FORMAT_VERSION.to_string() {
        return Err(other(format.to_owned()));
    }
    if analyser != analyser::NAME {
        return Err(other(format!("{format} with words by {analyser}")));
    }
    serde_json::from_str(entry(metadata::FINGERPRINT)).map_err(|_| other(format!("{format} without a readable fingerprint")))
}

/// One row for each chunk. The documents are checked: all vectors have the dimension of the schema.
pub(super) fn batch(documents: &[Document], schema: SchemaRef) -> Result<RecordBatch> {
    let rows: Vec<(&Document, u32, &Chunk)> = (documents.iter())
        .flat_map(|document| (0u32..).zip(&document.chunks).map(move |(index, chunk)| (document, index, chunk)))
        .collect();
    let chunks = || rows.iter().map(|(_, _, chunk)| *chunk);
    let own = || rows.iter().map(|(document, index, _)| (*index == 0).then_some(*document));
    let text = |of: fn(&Chunk) -> &str| StringArray::from_iter_values(chunks().map(of));
    let locations: Vec<u8> = chunks().flat_map(|chunk| location_bytes(&chunk.location)).collect();
    let locations = FixedSizeBinaryArray::try_new(LOCATION_BYTES, locations.into(), None).map_err(layout)?;
    let own_text = |of: fn(&Document) -> &str| own().map(|document| document.map(of)).collect::<StringArray>();
    let own_time = |of: fn(&Document) -> i64| own().map(|document| document.map(of)).collect::<PrimitiveArray<Int64Type>>();
    let dimension = chunks().next().map_or(0, |chunk| chunk.embedding.dimension());
    let values: Vec<f32> = chunks().flat_map(|chunk| chunk.embedding.as_slice()).copied().collect();
    let values = Float32Array::from(values);
    let vectors = FixedSizeListArray::try_new(item(), dimension as i32, Arc::new(values), None).map_err(layout)?;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(rows.iter().map(|(document, _, _)| document.key.as_str()))),
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(_, index, _)| *index))),
        Arc::new(BinaryArray::from_iter_values(rows.iter().map(|(document, _, _)| path_bytes(&document.path)))),
        Arc::new(text(|chunk| &chunk.text)),
        Arc::new(StringArray::from_iter_values(chunks().map(|chunk| analyser::document_words(&chunk.text)))),
        Arc::new(text(|chunk| &chunk.context)),
        Arc::new(locations),
        Arc::new(vectors),
        Arc::new(PrimitiveArray::<Int64Type>::from_iter_values(rows.iter().map(|(document, _, _)| document.stamp.modified))),
        Arc::new(rows.iter().map(|(document, _, _)| document.key.extension()).collect::<StringArray>()),
        Arc::new(own().map(|document| document.map(|d| d.stamp.size)).collect::<UInt64Array>()),
        Arc::new(own_time(|document| document.stamp.changed)),
        Arc::new(own_time(|document| document.stamp.read)),
        Arc::new(own_text(|document| &document.stamp.hash)),
        Arc::new(own_text(|document| &document.note)),
    ];
    RecordBatch::try_new(schema, columns).map_err(layout)
}

fn layout(e: ArrowError) -> Error {
    Error::other("lay out chunks as rows", e)
}

/// Which chunk each row is, with what the column `score` says of it.
pub(super) fn identities(batch: &RecordBatch, score: &str) -> Result<Vec<(ChunkId, f32)>> {
    let columns = Columns(batch);
    let (keys, indexes, scores) =
        (columns.texts(KEY)?, columns.numbers::<UInt32Type>(CHUNK)?, columns.numbers::<Float32Type>(score)?);
    let identity = |row| (ChunkId::new(DocumentKey::from_stored(keys.value(row)), indexes.value(row)), scores.value(row));
    Ok((0..batch.num_rows()).map(identity).collect())
}

/// The number that LanceDB gives each row, for as long as a version is read.
pub(super) fn row_numbers(batch: &RecordBatch) -> Result<Vec<u64>> {
    Ok(Columns(batch).numbers::<UInt64Type>("_rowid")?.values().to_vec())
}

/// What a hit shows of each row.
pub(super) fn passages(batch: &RecordBatch) -> Result<Vec<Passage>> {
    let columns = Columns(batch);
    let (texts, paths, location) = (columns.texts("text")?, columns.bytes("path")?, columns.locations()?);
    let modified = columns.numbers::<Int64Type>(MODIFIED)?;
    let passage = |row| Passage {
        text: texts.value(row).to_owned(),
        path: Arc::new(path(paths.value(row))),
        location: location(row),
        modified: modified.value(row),
    };
    Ok((0..batch.num_rows()).map(passage).collect())
}

/// The chunk of each row, with its index.
pub(super) fn chunks(batch: &RecordBatch) -> Result<Vec<(u32, Chunk)>> {
    let columns = Columns(batch);
    let (indexes, texts, contexts) = (columns.numbers::<UInt32Type>(CHUNK)?, columns.texts("text")?, columns.texts("context")?);
    let (location, vectors) = (columns.locations()?, columns.vectors()?);
    let chunk = |row: usize| {
        let values = vectors.value(row);
        let embedding = Embedding::new(values.as_primitive::<Float32Type>().values().to_vec())?;
        let chunk = Chunk::new(texts.value(row), embedding).with_context(contexts.value(row)).with_location(location(row));
        Ok((indexes.value(row), chunk))
    };
    (0..batch.num_rows()).map(chunk).collect()
}

/// The document of each row, which is the row of its first chunk.
pub(super) fn infos(batch: &RecordBatch) -> Result<Vec<DocumentInfo>> {
    let columns = Columns(batch);
    let (keys, paths, size) = (columns.texts(KEY)?, columns.bytes("path")?, columns.numbers::<UInt64Type>("size")?);
    let (modified, changed) = (columns.numbers::<Int64Type>(MODIFIED)?, columns.numbers::<Int64Type>("changed")?);
    let (read, hash, note) = (columns.numbers::<Int64Type>("read")?, columns.texts("hash")?, columns.texts("note")?);
    let info = |row| DocumentInfo {
        key: DocumentKey::from_stored(keys.value(row)),
        path: Arc::new(path(paths.value(row))),
        stamp: FileStamp {
            size: size.value(row),
            modified: modified.value(row),
            changed: changed.value(row),
            read: read.value(row),
            hash: hash.value(row).to_owned(),
        },
        note: note.value(row).to_owned(),
    };
    Ok((0..batch.num_rows()).map(info).collect())
}

/// The columns of a batch by name and type. The schema was checked at opening, so a wrong one is a fault of LanceDB or ours.
struct Columns<'a>(&'a RecordBatch);

impl<'a> Columns<'a> {
    fn get<T>(&self, name: &str, cast: impl FnOnce(&'a ArrayRef) -> Option<T>) -> Result<T> {
        let found = self.0.column_by_name(name).and_then(cast);
        found.ok_or_else(|| Error::other("read rows", format!("the column {name} is missing or of another type")))
    }

    fn texts(&self, name: &str) -> Result<&'a StringArray> {
        self.get(name, |column| column.as_string_opt())
    }

    fn bytes(&self, name: &str) -> Result<&'a BinaryArray> {
        self.get(name, |column| column.as_binary_opt())
    }

    fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Result<&'a PrimitiveArray<T>> {
        self.get(name, |column| column.as_primitive_opt())
    }

    fn vectors(&self) -> Result<&'a FixedSizeListArray> {
        let floats = |vectors: &&FixedSizeListArray| vectors.values().data_type() == &DataType::Float32;
        self.get(VECTOR, |column| column.as_fixed_size_list_opt().filter(floats))
    }

    fn locations(&self) -> Result<impl Fn(usize) -> Location + use<'a>> {
        let all: &FixedSizeBinaryArray =
            self.get(LOCATION, |column| column.as_fixed_size_binary_opt().filter(|all| all.value_length() == LOCATION_BYTES))?;
        Ok(|row| location(all.value(row)))
    }
}

fn location_bytes(Location { bytes, lines }: &Location) -> impl Iterator<Item = u8> + use<> {
    let [starts, ends] = [bytes.start, bytes.end].map(u64::to_le_bytes);
    let [first, last] = [lines.0, lines.1].map(u32::to_le_bytes);
    starts.into_iter().chain(ends).chain(first).chain(last)
}

fn location(stored: &[u8]) -> Location {
    let number =
        |range: std::ops::Range<usize>| stored[range].iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
    Location { bytes: number(0..8)..number(8..16), lines: (number(16..20) as u32, number(20..24) as u32) }
}
