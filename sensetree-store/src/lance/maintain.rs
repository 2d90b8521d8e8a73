//! Indexes, compaction, old versions.

use std::{path::Path, sync::atomic::Ordering};

use lancedb::{
    index::{Index, scalar::BTreeIndexBuilder},
    table::{CompactionOptions, Duration, OptimizeAction, OptimizeOptions},
};
use sensetree_core::{Error, Result, StoreStats};

use super::{LanceStore, filter, rows, write};
use crate::analysis::index_parameters;

/// An index takes in new rows when more than this many, or this share of all, are outside it.
const MAX_UNINDEXED: (usize, f64) = (1000, 0.05);
/// From this many rows on, the key has an index.
const KEY_INDEX_FROM: usize = 10_000;
const MAX_FRAGMENTS: usize = 20;
const MAX_DELETED: f64 = 0.1;
const MAX_VERSIONS: usize = 20;
/// Versions younger than this stay for readers that are on them.
const KEPT_FOR: Duration = Duration::seconds(10);

/// Makes the text index cover all rows, building it if there is none; says whether there are rows at all.
pub(super) async fn fresh_text_index(store: &LanceStore) -> Result<bool> {
    if count(store).await? == 0 {
        return Ok(false);
    }
    // Whoever waited for the lock finds the index that the other one built.
    let _lock = write::lock(store).await?;
    if !has_index(store, rows::SEARCH).await? {
        build(store, rows::SEARCH, Index::FTS(index_parameters())).await?;
    } else if store.added.load(Ordering::Acquire) > 0 {
        optimize(store, OptimizeAction::Index(OptimizeOptions::default())).await?;
    }
    note_coverage(store).await
}

/// Remembers how much of the table the text index covers.
async fn note_coverage(store: &LanceStore) -> Result<bool> {
    let rows = count(store).await?;
    store.indexed.store(rows - unindexed(store).await?.min(rows), Ordering::Release);
    store.added.store(0, Ordering::Release);
    Ok(rows > 0)
}

pub(super) async fn maintain(store: &LanceStore) -> Result<()> {
    let rows = count(store).await?;
    if rows > 0 {
        let _lock = write::lock(store).await?;
        if !has_index(store, rows::SEARCH).await? {
            build(store, rows::SEARCH, Index::FTS(index_parameters())).await?;
        }
        if rows >= KEY_INDEX_FROM && !has_index(store, rows::KEY).await? {
            build(store, rows::KEY, Index::BTree(BTreeIndexBuilder::default())).await?;
        }
        let stats = store.table.stats().await.map_err(store.failed("inspect"))?;
        let deleted = stats.num_deleted_rows.unwrap_or(0);
        if stats.fragment_stats.num_fragments > MAX_FRAGMENTS || deleted as f64 > MAX_DELETED * rows as f64 {
            optimize(store, OptimizeAction::Compact { options: CompactionOptions::default(), remap_options: None }).await?;
        }
        let unindexed = unindexed(store).await?;
        if unindexed > MAX_UNINDEXED.0 || unindexed as f64 > MAX_UNINDEXED.1 * rows as f64 {
            optimize(store, OptimizeAction::Index(OptimizeOptions::default())).await?;
        }
        note_coverage(store).await?;
    }
    if versions(store).await? > MAX_VERSIONS {
        let _lock = write::lock(store).await?;
        // Holding the lock, no other writer has files of its own that are not committed yet.
        let prune = OptimizeAction::Prune {
            older_than: Some(KEPT_FOR),
            delete_unverified: Some(true),
            error_if_tagged_old_versions: None,
        };
        optimize(store, prune).await?;
    }
    Ok(())
}

pub(super) async fn stats(store: &LanceStore) -> Result<StoreStats> {
    let documents =
        store.table.count_rows(Some(filter::first_rows(&Default::default()))).await.map_err(store.failed("inspect"))?;
    let mut stats = StoreStats::default();
    stats.documents = documents as u64;
    stats.chunks = count(store).await? as u64;
    stats.unindexed = unindexed(store).await? as u64;
    stats.versions = versions(store).await? as u64;
    let place = store.place.clone();
    stats.bytes = tokio::task::spawn_blocking(move || size(&place))
        .await
        .map_err(|e| Error::other("measure the store", e))?
        .map_err(Error::io("measure", &store.place))?;
    Ok(stats)
}

async fn count(store: &LanceStore) -> Result<usize> {
    store.table.count_rows(None).await.map_err(store.failed("inspect"))
}

async fn versions(store: &LanceStore) -> Result<usize> {
    Ok(store.table.list_versions().await.map_err(store.failed("inspect"))?.len())
}

async fn has_index(store: &LanceStore, column: &str) -> Result<bool> {
    Ok(index_name(store, column).await?.is_some())
}

async fn index_name(store: &LanceStore, column: &str) -> Result<Option<String>> {
    let indexes = store.table.list_indices().await.map_err(store.failed("inspect"))?;
    Ok(indexes.into_iter().find(|index| index.columns == [column]).map(|index| index.name))
}

/// Rows that the text index does not cover; all of them when there is none.
async fn unindexed(store: &LanceStore) -> Result<usize> {
    let Some(name) = index_name(store, rows::SEARCH).await? else { return count(store).await };
    let stats = store.table.index_stats(&name).await.map_err(store.failed("inspect"))?;
    Ok(stats.map_or(0, |stats| stats.num_unindexed_rows))
}

async fn build(store: &LanceStore, column: &str, index: Index) -> Result<()> {
    tracing::debug!(column, "building an index");
    store.table.create_index(&[column], index).execute().await.map_err(store.failed("index"))
}

async fn optimize(store: &LanceStore, action: OptimizeAction) -> Result<()> {
    store.table.optimize(action).await.map(|_| ()).map_err(store.failed("maintain"))
}

fn size(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.metadata() {
            Ok(data) if data.is_dir() => size(&entry.path())?,
            Ok(data) => data.len(),
            // Another process is tidying up at this moment.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => 0,
            Err(e) => return Err(e),
        };
    }
    Ok(bytes)
}
