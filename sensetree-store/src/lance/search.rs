//! Reading: both searches, and documents by name.

use std::{collections::HashMap, sync::Arc};

use arrow_array::RecordBatch;
use futures::TryStreamExt;
use lancedb::{
    DistanceType, Table,
    index::scalar::{FullTextSearchQuery, MatchQuery},
    query::{ExecutableQuery, QueryBase, Select},
};
use sensetree_core::{Chunk, ChunkId, DocumentInfo, DocumentKey, Embedding, Error, Filter, Hit, Passage, Result, order};

use super::{
    LanceStore,
    filter::Rows,
    rows::{self, CHUNK_COLUMNS, IDENTITY_COLUMNS, INFO_COLUMNS, PASSAGE_COLUMNS, VECTOR, WORDS},
};
use crate::analyser;

/// Rows asked for beyond the limit: when the last of them scores less than the last hit, no equal score was cut off.
const SPARE: usize = 16;

/// How many times more rows are asked for when one was. Few steps matter more than few rows: only their identities are read.
const WIDEN: usize = 16;

/// How many times the wanted rows an approximate search takes from the index, to rank them by their true vectors.
const REFINE: u32 = 1;

/// A row of one version of the table, with its score.
struct Found {
    id: ChunkId,
    score: f32,
    row: u64,
    passage: Option<Passage>,
}

/// What a search reads of the rows that it finds. With their passages one query does all; many more rows than are wanted are read
/// without.
#[derive(Clone, Copy, PartialEq)]
enum Read {
    Passages,
    Identities,
}

impl LanceStore {
    pub(super) async fn nearest_chunks(&self, vector: &Embedding, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        if vector.dimension() != self.fingerprint.dimension() {
            return Err(Error::InvalidEmbedding(format!(
                "the query has {} dimensions, the store has {}",
                vector.dimension(),
                self.fingerprint.dimension()
            )));
        }
        let search = |table: Table, count: usize, read: Read, condition: Option<String>| async move {
            self.check_model(&table).await?;
            let query = table.vector_search(vector.as_slice()).map_err(self.failed("search"))?;
            let query = query.column(VECTOR).distance_type(DistanceType::Cosine);
            let compared = table.count_rows(condition.clone()).await.map_err(self.failed("search"))? as u64;
            let query = if compared <= self.exact_up_to { query.bypass_vector_index() } else { query.refine_factor(REFINE) };
            let found = self.rank(query, "_distance", count, read, condition).await?;
            Ok(found.into_iter().map(|found| Found { score: (1.0 - found.score).clamp(0.0, 1.0), ..found }).collect())
        };
        self.best(filter, limit, search).await
    }

    pub(super) async fn chunks_with_words(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        let words = analyser::query_words(query);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        // A match of any of the words, made as a value: there is no parser that could find an operator in it.
        let words = FullTextSearchQuery::new_query(MatchQuery::new(words).with_column(Some(WORDS.to_owned())).into());
        let search = |table: Table, count: usize, read: Read, condition: Option<String>| {
            let query = table.query().full_text_search(words.clone());
            self.rank(query, "_score", count, read, condition)
        };
        self.best(filter, limit, search).await
    }

    /// The best `limit` rows that the filter lets through, ties by identity, with their passages.
    ///
    /// Lance breaks ties by where a row is stored. So that the answer doesn't depend on it, rows are asked for until the
    /// group of equal scores at the cut is complete.
    async fn best<F>(
        &self,
        filter: &Filter,
        limit: usize,
        search: impl Fn(Table, usize, Read, Option<String>) -> F,
    ) -> Result<Vec<Hit>>
    where
        F: Future<Output = Result<Vec<Found>>>,
    {
        let rows = Rows::of(filter);
        if limit == 0 || rows == Rows::None {
            return Ok(Vec::new());
        }
        let condition = rows.condition();
        // All steps read one version, so row numbers stay true between them.
        let table = self.table.query_snapshot().await.map_err(self.failed("search"))?;
        let (mut count, mut read) = (limit.saturating_add(SPARE), Read::Passages);
        let mut found = loop {
            let mut found = search(table.clone(), count, read, condition.clone()).await?;
            order::sort_ranked(&mut found, |found| f64::from(found.score), |found| &found.id);
            let cut_off =
                found.len() >= count && found.last().map(|last| last.score) == found.get(limit - 1).map(|last| last.score);
            if !cut_off {
                break found;
            }
            (count, read) = (count.saturating_mul(WIDEN), Read::Identities);
        };
        found.truncate(limit);
        self.hits(&table, found).await
    }

    /// Runs a search for `count` rows, and reads who they are.
    async fn rank(
        &self,
        query: impl QueryBase + ExecutableQuery,
        score: &str,
        count: usize,
        read: Read,
        condition: Option<String>,
    ) -> Result<Vec<Found>> {
        let passage_columns = if read == Read::Passages { &PASSAGE_COLUMNS[..] } else { &[] };
        let columns = Select::columns(&[&IDENTITY_COLUMNS[..], passage_columns, &[score]].concat());
        let mut query = query.select(columns).with_row_id().limit(count);
        if let Some(condition) = condition {
            query = query.only_if(condition);
        }
        let mut found = Vec::new();
        for batch in self.run(query).await? {
            let passages = if read == Read::Passages { rows::passages(&batch)? } else { Vec::new() };
            let mut passages = passages.into_iter();
            let rows = rows::identities(&batch, score)?.into_iter().zip(rows::row_numbers(&batch)?);
            found.extend(rows.map(|((id, score), row)| Found { id, score, row, passage: passages.next() }));
        }
        Ok(found)
    }

    /// The hits of the rows that made it into the list; passages that have not been read yet are read here.
    async fn hits(&self, table: &Table, found: Vec<Found>) -> Result<Vec<Hit>> {
        let mut passages: HashMap<u64, Passage> = HashMap::new();
        let missing: Vec<u64> = found.iter().filter(|found| found.passage.is_none()).map(|found| found.row).collect();
        if !missing.is_empty() {
            let query = table.take_row_ids(missing).select(Select::columns(&PASSAGE_COLUMNS)).with_row_id();
            for batch in self.run(query).await? {
                passages.extend(rows::row_numbers(&batch)?.into_iter().zip(rows::passages(&batch)?));
            }
        }
        let hit = |found: Found| {
            let passage = found.passage.or_else(|| passages.remove(&found.row));
            let passage =
                passage.ok_or_else(|| Error::other("read the passages of a search", format!("row {} is gone", found.row)))?;
            Ok(Hit { id: found.id, score: found.score, passage: Arc::new(passage) })
        };
        found.into_iter().map(hit).collect()
    }

    pub(super) async fn list_documents(&self, filter: &Filter) -> Result<Vec<DocumentInfo>> {
        let Some(condition) = Rows::of(filter).first_of_each().condition() else { return Ok(Vec::new()) };
        let query = self.table.query().only_if(condition).select(Select::columns(&INFO_COLUMNS));
        let mut documents = Vec::new();
        for batch in self.run(query).await? {
            documents.extend(rows::infos(&batch)?);
        }
        documents.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(documents)
    }

    pub(super) async fn count_documents(&self, filter: &Filter) -> Result<u64> {
        let Some(condition) = Rows::of(filter).first_of_each().condition() else { return Ok(0) };
        Ok(self.table.count_rows(Some(condition)).await.map_err(self.failed("read"))? as u64)
    }

    pub(super) async fn chunks_of(&self, key: &DocumentKey) -> Result<Vec<Chunk>> {
        let Some(condition) = Rows::among([key]).condition() else { return Ok(Vec::new()) };
        let query = self.table.query().only_if(condition).select(Select::columns(&CHUNK_COLUMNS));
        let mut chunks = Vec::new();
        for batch in self.run(query).await? {
            chunks.extend(rows::chunks(&batch)?);
        }
        chunks.sort_by_key(|(index, _)| *index);
        Ok(chunks.into_iter().map(|(_, chunk)| chunk).collect())
    }

    async fn run(&self, query: impl ExecutableQuery) -> Result<Vec<RecordBatch>> {
        let batches = query.execute().await.map_err(self.failed("search"))?;
        batches.try_collect().await.map_err(self.failed("search"))
    }
}
