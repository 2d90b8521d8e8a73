//! Commits and removals, one commit of Tantivy each.

use std::collections::BTreeSet;

use sensetree_core::{Document, DocumentKey, Error, Filter, Result};
use tantivy::{
    IndexWriter, TantivyDocument,
    indexer::{IndexWriterOptions, LogMergePolicy},
};

use super::{Place, TantivyRetriever, failed, filter, folder, on_thread, rows, search::Snapshot};

/// Segments of about the same size that are merged into one; smaller than this many chunks, they all count as the same size.
const MERGE_SEGMENTS: usize = 8;
const SMALL_SEGMENT: u32 = 1000;
/// Share of removed chunks that a segment may keep.
const MAX_REMOVED: f32 = 0.2;
/// What Tantivy asks for each thread at least and at most.
pub(super) const MEMORY_PER_THREAD: (usize, usize) = (15_000_000, 4_000_000_000);

impl TantivyRetriever {
    pub(super) async fn write_documents(&self, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()> {
        let mut keys = BTreeSet::new();
        for document in &documents {
            if document.chunks.is_empty() {
                let key = &document.key;
                return Err(Error::invalid(format!("the document {key} has no chunk; remove it instead of storing nothing")));
            }
            if !keys.insert(document.key.clone()) {
                return Err(Error::invalid(format!("the document {} stands twice in one commit", document.key)));
            }
        }
        keys.extend(removed.iter().cloned());
        if keys.is_empty() {
            return Ok(());
        }
        let fields = self.fields;
        let rows = on_thread("find the words of chunks", move || {
            let rows: Result<Vec<Vec<TantivyDocument>>> =
                documents.into_iter().map(|document| rows::rows(document, &fields)).collect();
            rows
        });
        let rows = rows.await?;
        self.write(move |writer| {
            // A deletion concerns what was added before it.
            for key in &keys {
                writer.delete_term(filter::key_term(key, &fields));
            }
            for row in rows.into_iter().flatten() {
                writer.add_document(row)?;
            }
            Ok((true, ()))
        })
        .await
    }

    pub(super) async fn remove_documents(&self, filter: &Filter) -> Result<u64> {
        let fields = self.fields;
        let Some(query) = filter::query(filter, &fields) else { return Ok(0) };
        self.write(move |writer| {
            let count = Snapshot::last(writer.index(), &fields, None)?.count(&*query)?;
            writer.delete_query(query)?;
            Ok((count > 0, count))
        })
        .await
    }

    /// Waits for this handle's turn to write, does `work`, and commits when it says so.
    ///
    /// Once begun it goes on to the end on its thread, whether the caller still waits or not.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut IndexWriter) -> tantivy::Result<(bool, T)> + Send + 'static,
    ) -> Result<T> {
        let turn = self.turn().await?;
        let (place, options) = (self.place.clone(), self.writer_options());
        on_thread("write to the text index", move || {
            let _turn = turn;
            if let Place::Folder(folder, _) = &place {
                folder::clear_leftovers(folder)?;
            }
            let write = || {
                // Opened for this turn, so that it knows the files that writers in other processes made.
                let index = place.index_for_writing()?;
                let mut writer: IndexWriter = index.writer_with_options(options)?;
                // A killed writer may have left files of names that this one would give again.
                writer.garbage_collect_files().wait()?;
                let mut merging = LogMergePolicy::default();
                merging.set_min_num_segments(MERGE_SEGMENTS);
                merging.set_min_layer_size(SMALL_SEGMENT);
                merging.set_del_docs_ratio_before_merge(MAX_REMOVED);
                writer.set_merge_policy(Box::new(merging));
                let (commit, done) = work(&mut writer)?;
                if commit {
                    writer.commit()?;
                    // Merging belongs to the turn: nobody else writes meanwhile, and nothing is left behind.
                    writer.wait_merging_threads()?;
                }
                Ok(done)
            };
            write().map_err(failed("write to", place.path()))
        })
        .await
    }

    fn writer_options(&self) -> IndexWriterOptions {
        let per_thread = (self.memory / self.threads).clamp(MEMORY_PER_THREAD.0, MEMORY_PER_THREAD.1);
        IndexWriterOptions::builder()
            .num_worker_threads(self.threads)
            .memory_budget_per_thread(per_thread)
            .num_merge_threads(1)
            .build()
    }
}
