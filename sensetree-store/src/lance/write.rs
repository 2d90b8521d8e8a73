//! Commits and removals, one version of the table each.

use std::collections::BTreeSet;

use arrow_array::RecordBatchIterator;
use sensetree_core::{Document, DocumentKey, Error, Filter, Result};

use super::{
    LanceStore,
    filter::Rows,
    rows::{self, CHUNK, KEY},
};

impl LanceStore {
    pub(super) async fn write_documents(&self, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()> {
        let mut keys = BTreeSet::new();
        for document in &documents {
            document.check(&self.fingerprint)?;
            if !keys.insert(&document.key) {
                return Err(Error::invalid(format!("the document {} stands twice in one commit", document.key)));
            }
        }
        keys.extend(removed);
        let Some(touched) = Rows::among(keys).condition() else { return Ok(()) };
        let count = documents.len();
        if documents.is_empty() {
            let _turn = self.turn().await?;
            let deleted = self.table.delete(touched.as_str()).await.map_err(self.failed("remove documents from"))?;
            tracing::debug!(documents = removed.len(), rows = deleted.num_deleted_rows, "removed");
            return Ok(());
        }
        self.check_model(&self.table).await?;
        let schema = self.table.schema().await.map_err(self.failed("write to"))?;
        // Finding the words of many chunks is work for a thread of its own.
        let batch = tokio::task::spawn_blocking(move || rows::batch(&documents, schema)).await;
        let batch = batch.map_err(|e| Error::other("lay out chunks as rows", e))??;

        let _turn = self.turn().await?;
        // Merging reads the keys of the whole table; what is new to it needs no more than an addition.
        if self.table.count_rows(Some(touched.clone())).await.map_err(self.failed("write to"))? == 0 {
            self.table.add(batch).execute().await.map_err(self.failed("write to"))?;
            tracing::debug!(documents = count, "added");
            return Ok(());
        }
        let mut merge = self.table.merge_insert(&[KEY, CHUNK]);
        merge.when_matched_update_all(None).when_not_matched_insert_all().when_not_matched_by_source_delete(Some(touched));
        let schema = batch.schema();
        let done =
            merge.execute(Box::new(RecordBatchIterator::new([Ok(batch)], schema))).await.map_err(self.failed("write to"))?;
        tracing::debug!(
            documents = count,
            inserted = done.num_inserted_rows,
            updated = done.num_updated_rows,
            deleted = done.num_deleted_rows,
            attempts = done.num_attempts,
            "committed"
        );
        Ok(())
    }

    pub(super) async fn remove_documents(&self, filter: &Filter) -> Result<u64> {
        let condition = match Rows::of(filter) {
            Rows::None => return Ok(0),
            Rows::All => "true".to_owned(),
            Rows::Where(condition) => condition,
        };
        let _turn = self.turn().await?;
        let count = self.count_documents(filter).await?;
        if count > 0 {
            let deleted = self.table.delete(condition.as_str()).await.map_err(self.failed("remove documents from"))?;
            tracing::debug!(documents = count, rows = deleted.num_deleted_rows, "removed");
        }
        Ok(count)
    }
}
