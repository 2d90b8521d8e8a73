//! Commits.

use std::{
    collections::HashSet,
    fs::{File, TryLockError},
    sync::atomic::Ordering,
    time::Duration,
};

use arrow_array::RecordBatchIterator;
use sensetree_core::{Document, DocumentKey, Error, Filter, Result};

use super::{LanceStore, filter, rows};

/// How often a waiting writer looks whether the other one is done.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The right to write to the folder, until it is dropped or the process ends.
pub(super) struct WriteLock(#[allow(dead_code, reason = "held, not read")] File);

/// Waits until no other task or process writes to the folder.
pub(super) async fn lock(store: &LanceStore) -> Result<WriteLock> {
    let path = store.place.join("write.lock");
    let open = || File::options().create(true).append(true).open(&path);
    let file = open().map_err(Error::io("open the lock file", &path))?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(WriteLock(file)),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK_AGAIN).await,
            Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path)(e)),
        }
    }
}

pub(super) async fn commit(store: &LanceStore, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()> {
    let mut keys = HashSet::new();
    for document in &documents {
        document.check(&store.fingerprint)?;
        if !keys.insert(&document.key) {
            return Err(Error::invalid(format!("the document {} stands twice in one commit", document.key)));
        }
    }
    if documents.is_empty() && removed.is_empty() {
        return Ok(());
    }
    let touched: Vec<DocumentKey> = keys.into_iter().chain(removed).cloned().collect::<HashSet<_>>().into_iter().collect();
    let touched = filter::among(&touched);
    let _lock = lock(store).await?;
    if documents.is_empty() {
        store.table.delete(&touched).await.map_err(store.failed("remove documents from"))?;
        return Ok(());
    }
    let schema = store.table.schema().await.map_err(store.failed("write to"))?;
    let batch = rows::batch(&documents, schema.clone())?;
    let rows = batch.num_rows();
    let mut merge = store.table.merge_insert(&[rows::KEY, rows::INDEX]);
    merge.when_matched_update_all(None).when_not_matched_insert_all().when_not_matched_by_source_delete(Some(touched));
    let reader = RecordBatchIterator::new([Ok(batch)], schema);
    merge.execute(Box::new(reader)).await.map_err(store.failed("write to"))?;
    store.added.fetch_add(rows, Ordering::AcqRel);
    tracing::debug!(documents = documents.len(), rows, removed = removed.len(), "committed");
    Ok(())
}

pub(super) async fn remove(store: &LanceStore, filter: &Filter) -> Result<u64> {
    let _lock = lock(store).await?;
    let first_rows = filter::first_rows(filter);
    let count = store.table.count_rows(Some(first_rows)).await.map_err(store.failed("search"))?;
    if count > 0 {
        let condition = filter::condition(filter).unwrap_or_else(|| "true".into());
        store.table.delete(&condition).await.map_err(store.failed("remove documents from"))?;
    }
    Ok(count as u64)
}
