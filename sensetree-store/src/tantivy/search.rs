//! Reading: one state of the index, and BM25 over it.

use std::{cmp::Ordering, collections::BTreeMap, path::Path, sync::Arc};

use sensetree_core::{ChunkId, DocumentKey, Filter, Hit, order};
use tantivy::{
    DocAddress, DocId, DocSet, Index, InvertedIndexReader, ReloadPolicy, Searcher, SegmentReader, TERMINATED, Term,
    columnar::{ColumnValues, StrColumn},
    directory::Directory,
    error::DataCorruption,
    postings::Postings,
    query::{EnableScoring, Query},
    schema::IndexRecordOption,
};

use super::{
    filter,
    rows::{self, CHUNK, Fields, KEY, LENGTH},
};

/// Term frequency saturation of BM25.
const K1: f64 = 1.2;
/// Length normalisation of BM25.
const B: f64 = 0.75;

/// One commit, as searches see it.
pub(super) struct Snapshot {
    searcher: Searcher,
    /// The file that names the segments of this commit.
    meta: Vec<u8>,
    segments: Vec<Segment>,
    pub(super) documents: u64,
    pub(super) chunks: u64,
    /// Words of all chunks together.
    words: u64,
}

/// What every search reads of a segment. Opened with the snapshot, so that a file that is missing is found then.
struct Segment {
    words: Arc<InvertedIndexReader>,
    keys: Option<StrColumn>,
    chunks: Arc<dyn ColumnValues<u64>>,
    lengths: Arc<dyn ColumnValues<u64>>,
}

impl Snapshot {
    /// The last commit, or `known` when that is it.
    pub(super) fn last(index: &Index, fields: &Fields, known: Option<&Arc<Self>>) -> tantivy::Result<Arc<Self>> {
        // Read before the segments are opened: a commit in between is then seen by the next search.
        let meta = index.directory().atomic_read(Path::new("meta.json"))?;
        if let Some(known) = known.filter(|known| known.meta == meta) {
            return Ok(known.clone());
        }
        let searcher = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?.searcher();
        let (mut documents, mut chunks, mut words, mut segments) = (0, 0, 0, Vec::new());
        for reader in searcher.segment_readers() {
            let columns = reader.fast_fields();
            let segment = Segment {
                words: reader.inverted_index(fields.words)?,
                keys: columns.str(KEY)?,
                chunks: columns.column_first_or_default(CHUNK)?,
                lengths: columns.column_first_or_default(LENGTH)?,
            };
            for row in reader.doc_ids_alive() {
                chunks += 1;
                documents += u64::from(segment.chunks.get_val(row) == 0);
                words += segment.lengths.get_val(row);
            }
            segments.push(segment);
        }
        Ok(Arc::new(Self { searcher, meta, segments, documents, chunks, words }))
    }

    /// The best `limit` chunks that have any of the words.
    ///
    /// Each word is scored over all segments before the next one, in the order of words, with the counts of living chunks and
    /// exact lengths, in double precision: so a score depends on what is stored, and on nothing else.
    pub(super) fn best(&self, words: &str, filter: &Filter, limit: usize, fields: &Fields) -> tantivy::Result<Vec<Hit>> {
        let mut wanted: BTreeMap<&str, f64> = BTreeMap::new();
        for word in rows::searchable(words) {
            *wanted.entry(word).or_default() += 1.0;
        }
        let Some(filter) = filter::query(filter, fields).filter(|_| limit > 0 && !wanted.is_empty()) else {
            return Ok(Vec::new());
        };
        let readers = self.searcher.segment_readers();
        let mut scores: Vec<Vec<f64>> = readers.iter().map(|reader| vec![0.0; reader.max_doc() as usize]).collect();
        for (word, times) in wanted {
            self.add_scores(&Term::from_field_text(fields.words, word), times, &mut scores)?;
        }
        let mut best = Vec::new();
        for (number, scores) in scores.iter().enumerate() {
            let score = |row: DocId| scores[row as usize] as f32;
            let mut found = self.passing(number, &*filter)?;
            found.retain(|&row| score(row) > 0.0);
            let segment = &self.segments[number];
            let by_rank = |a: &DocId, b: &DocId| {
                order::best_first(score(*a).into(), score(*b).into()).then_with(|| segment.by_identity(*a, *b))
            };
            if found.len() > limit {
                found.select_nth_unstable_by(limit, by_rank);
                found.truncate(limit);
            }
            for row in found {
                best.push((score(row), segment.id(row)?, DocAddress::new(number as u32, row)));
            }
        }
        order::sort_ranked(&mut best, |found| found.0.into(), |found| &found.1);
        best.truncate(limit);
        let hit = |(score, id, address)| {
            let passage = rows::passage(&self.searcher.doc(address)?, fields)?;
            Ok(Hit { id, score, passage: Arc::new(passage) })
        };
        best.into_iter().map(hit).collect()
    }

    /// Adds what one word of the query, asked for `times` times, gives to each row's score.
    fn add_scores(&self, word: &Term, times: f64, scores: &mut [Vec<f64>]) -> tantivy::Result<()> {
        let mut having = 0;
        let mut postings = Vec::new();
        for (reader, segment) in self.searcher.segment_readers().iter().zip(&self.segments) {
            let found = segment.words.read_postings(word, IndexRecordOption::WithFreqs)?;
            having += found.as_ref().map_or(0, |found| match reader.alive_bitset() {
                Some(alive) => found.doc_freq_given_deletes(alive),
                None => found.doc_freq(),
            });
            postings.push(found);
        }
        let (count, having) = (self.chunks as f64, f64::from(having));
        let rarity = times * (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
        let mean_length = (self.words as f64 / count.max(1.0)).max(1.0);
        for ((postings, segment), scores) in postings.into_iter().zip(&self.segments).zip(scores) {
            let Some(mut postings) = postings else { continue };
            while postings.doc() != TERMINATED {
                let (row, frequency) = (postings.doc(), f64::from(postings.term_freq()));
                let length = segment.lengths.get_val(row) as f64;
                scores[row as usize] += rarity * frequency / (frequency + K1 * (1.0 - B + B * length / mean_length));
                postings.advance();
            }
        }
        Ok(())
    }

    /// The living rows of a segment that a query lets through.
    fn passing(&self, segment: usize, query: &dyn Query) -> tantivy::Result<Vec<DocId>> {
        let reader: &SegmentReader = &self.searcher.segment_readers()[segment];
        let mut rows = query.weight(EnableScoring::disabled_from_searcher(&self.searcher))?.scorer(reader, 1.0)?;
        let mut passing = Vec::new();
        while rows.doc() != TERMINATED {
            if !reader.is_deleted(rows.doc()) {
                passing.push(rows.doc());
            }
            rows.advance();
        }
        Ok(passing)
    }

    /// The first rows of the documents that a query lets through.
    fn first_rows(&self, query: &dyn Query) -> tantivy::Result<Vec<DocAddress>> {
        let mut first = Vec::new();
        for (number, segment) in self.segments.iter().enumerate() {
            let rows = self.passing(number, query)?.into_iter().filter(|&row| segment.chunks.get_val(row) == 0);
            first.extend(rows.map(|row| DocAddress::new(number as u32, row)));
        }
        Ok(first)
    }

    /// How many documents a query lets through.
    pub(super) fn count(&self, query: &dyn Query) -> tantivy::Result<u64> {
        Ok(self.first_rows(query)?.len() as u64)
    }

    /// What is written down about each document.
    pub(super) fn states(&self, fields: &Fields) -> tantivy::Result<BTreeMap<DocumentKey, String>> {
        let state = |address: DocAddress| {
            let id = self.segments[address.segment_ord as usize].id(address.doc_id)?;
            Ok((id.key, rows::stored_state(&self.searcher.doc(address)?, fields)?))
        };
        self.first_rows(&tantivy::query::AllQuery)?.into_iter().map(state).collect()
    }

    #[cfg(test)]
    pub(super) fn segments(&self) -> usize {
        self.segments.len()
    }
}

impl Segment {
    /// The order of [`ChunkId`], without reading keys: a segment numbers its keys in their order.
    fn by_identity(&self, a: DocId, b: DocId) -> Ordering {
        let identity = |row| (self.key_number(row), self.chunks.get_val(row));
        identity(a).cmp(&identity(b))
    }

    fn key_number(&self, row: DocId) -> Option<u64> {
        self.keys.as_ref().and_then(|keys| keys.ords().first(row))
    }

    fn id(&self, row: DocId) -> tantivy::Result<ChunkId> {
        let mut key = String::new();
        let read = match (&self.keys, self.key_number(row)) {
            (Some(keys), Some(number)) => keys.ord_to_str(number, &mut key)?,
            _ => false,
        };
        if !read {
            return Err(DataCorruption::comment_only("a chunk without its key").into());
        }
        let index = u32::try_from(self.chunks.get_val(row)).unwrap_or(u32::MAX);
        Ok(ChunkId::new(DocumentKey::from_stored(key), index))
    }
}
