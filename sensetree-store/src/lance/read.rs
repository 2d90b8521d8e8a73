//! Searches.

use arrow_array::RecordBatch;
use futures::TryStreamExt;
use lancedb::{
    DistanceType,
    index::scalar::{FullTextSearchQuery, MatchQuery},
    query::{ExecutableQuery, QueryBase, Select},
};
use sensetree_core::{Chunk, DocumentInfo, DocumentKey, Embedding, Error, Filter, Hit, Result, order};

use super::{
    LanceStore,
    filter::{among, condition, first_rows},
    rows::{self, CHUNK_COLUMNS, HIT_COLUMNS, INFO_COLUMNS, SEARCH, VECTOR},
};
use crate::analysis::query_words;

/// Hits asked for beyond the limit, so that a tie at the cut is seen.
const MARGIN: usize = 16;

pub(super) async fn nearest(store: &LanceStore, vector: &Embedding, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
    if vector.dimension() != store.fingerprint.dimension() {
        return Err(Error::InvalidEmbedding(format!(
            "the query has {} dimensions, the store has {}",
            vector.dimension(),
            store.fingerprint.dimension()
        )));
    }
    whole_ties(store, &By::Vector(vector), condition(filter).as_deref(), limit).await
}

pub(super) async fn retrieve(store: &LanceStore, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
    let (words, most_terms) = query_words(query);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    // Built as a query of words, never parsed: no character of it is an operator.
    let words = MatchQuery::new(words).with_column(Some(SEARCH.to_owned())).with_max_expansions(most_terms);
    let words = FullTextSearchQuery::new_query(words.into());
    whole_ties(store, &By::Words(words), condition(filter).as_deref(), limit).await
}

/// What a search ranks by.
enum By<'a> {
    Vector(&'a Embedding),
    Words(FullTextSearchQuery),
}

/// The best `limit` hits in the total order. The database cuts ties as it likes, so a tie at the cut is read to its end.
async fn whole_ties(store: &LanceStore, by: &By<'_>, condition: Option<&str>, limit: usize) -> Result<Vec<Hit>> {
    let mut wanted = limit.saturating_add(MARGIN);
    loop {
        let mut hits = search(store, by, condition, wanted).await?;
        let full = hits.len() >= wanted;
        order::sort_ranked(&mut hits, |hit| f64::from(hit.score), |hit| &hit.id);
        let cut = hits.get(limit.saturating_sub(1)).map(|hit| hit.score);
        let tie_may_go_on = full && cut.is_some() && hits.last().map(|hit| hit.score) == cut;
        if !tie_may_go_on {
            hits.truncate(limit);
            return Ok(hits);
        }
        wanted = wanted.saturating_mul(4);
    }
}

async fn search(store: &LanceStore, by: &By<'_>, condition: Option<&str>, limit: usize) -> Result<Vec<Hit>> {
    match by {
        By::Vector(vector) => {
            let query = store.table.query().nearest_to(vector.as_slice()).map_err(store.failed("search"))?;
            let query = query.column(VECTOR).distance_type(DistanceType::Cosine).bypass_vector_index();
            let batches = run(store, restricted(query, condition, limit).select(columns(&HIT_COLUMNS, &["_distance"]))).await?;
            collect(&batches, |batch| rows::hits(batch, "_distance", |distance| (1.0 - distance).clamp(0.0, 1.0)))
        }
        By::Words(words) => {
            let query = store.table.query().full_text_search(words.clone());
            let batches = run(store, restricted(query, condition, limit).select(columns(&HIT_COLUMNS, &["_score"]))).await?;
            let mut hits = collect(&batches, |batch| rows::hits(batch, "_score", |score| score))?;
            hits.retain(|hit| hit.score > 0.0);
            Ok(hits)
        }
    }
}

fn restricted<Q: QueryBase>(query: Q, condition: Option<&str>, limit: usize) -> Q {
    let query = query.limit(limit);
    match condition {
        Some(condition) => query.only_if(condition),
        None => query,
    }
}

pub(super) async fn documents(store: &LanceStore, filter: &Filter) -> Result<Vec<DocumentInfo>> {
    let query = store.table.query().only_if(first_rows(filter)).select(columns(&INFO_COLUMNS, &[]));
    let mut documents = collect(&run(store, query).await?, rows::infos)?;
    documents.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(documents)
}

pub(super) async fn chunks(store: &LanceStore, key: &DocumentKey) -> Result<Vec<Chunk>> {
    let query = store.table.query().only_if(among(std::slice::from_ref(key))).select(columns(&CHUNK_COLUMNS, &[]));
    let mut chunks = collect(&run(store, query).await?, rows::chunks)?;
    chunks.sort_by_key(|(index, _)| *index);
    Ok(chunks.into_iter().map(|(_, chunk)| chunk).collect())
}

fn columns(stored: &[&str], computed: &[&str]) -> Select {
    Select::columns(&[stored, computed].concat())
}

async fn run(store: &LanceStore, query: impl ExecutableQuery) -> Result<Vec<RecordBatch>> {
    let batches = query.execute().await.map_err(store.failed("search"))?;
    batches.try_collect().await.map_err(store.failed("search"))
}

fn collect<T>(batches: &[RecordBatch], read: impl Fn(&RecordBatch) -> Result<Vec<T>>) -> Result<Vec<T>> {
    Ok(batches.iter().map(read).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}
