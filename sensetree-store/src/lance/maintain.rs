//! Indexes, small files, old versions; and the counts that say what is due.

pub(super) use lancedb::table::Duration;
use lancedb::{
    DistanceType,
    index::{
        Index, IndexConfig,
        scalar::{BTreeIndexBuilder, FtsIndexBuilder},
        vector::IvfSqIndexBuilder,
    },
    table::{CompactionOptions, OptimizeAction, OptimizeOptions},
};
use sensetree_core::{Error, Filter, Result, StoreStats};

use super::{
    LanceStore,
    rows::{KEY, VECTOR, WORDS},
};
use crate::files::bytes_in;

/// Rows outside an index that are always folded in, and the share of all rows that is.
const MAX_UNINDEXED: (u64, f64) = (1000, 0.05);
/// Parts of an index that may lie about: each time that rows are folded in makes one, and a search looks into all of them.
const MAX_SEGMENTS: u32 = 8;
/// A file with fewer rows is merged with its neighbours; one with more stays as it is, so that merging doesn't rewrite everything.
const ROWS_PER_FILE: usize = 65_536;
/// Small files that may lie about.
const MAX_SMALL_FILES: usize = 16;
/// Share of removed rows that a file may keep.
const MAX_REMOVED: f64 = 0.1;
/// Versions that may lie about.
const MAX_VERSIONS: usize = 16;
/// A search may read a version for this long after it was replaced.
pub(super) const KEEP_VERSIONS_FOR: Duration = Duration::minutes(1);

impl LanceStore {
    pub(super) async fn tidy(&self, keep_versions_for: Duration) -> Result<()> {
        let rows = self.table.count_rows(None).await.map_err(self.failed("maintain"))? as u64;
        if rows > 0 {
            self.index(WORDS, || Index::FTS(text_index()), rows).await?;
            self.index(KEY, || Index::BTree(BTreeIndexBuilder::default()), rows).await?;
            if rows > self.exact_up_to {
                self.index(VECTOR, || Index::IvfSq(vector_index()), rows).await?;
            }
            self.merge_files(rows).await?;
        }
        self.forget_versions(keep_versions_for).await
    }

    /// Builds the index of a column when there is none, and folds new rows into it when they are many.
    async fn index(&self, column: &str, kind: impl FnOnce() -> Index, rows: u64) -> Result<()> {
        let due = |index: Option<&IndexConfig>| match index {
            None => true,
            Some(index) => {
                let outside = index.num_unindexed_rows.unwrap_or(rows);
                outside > MAX_UNINDEXED.0 || outside as f64 > rows as f64 * MAX_UNINDEXED.1
            }
        };
        if !due(index_of(&self.indexes().await?, column)) {
            return Ok(());
        }
        let _turn = self.upkeep().await?;
        // While this one waited, another may have done it.
        let indexes = self.indexes().await?;
        let index = index_of(&indexes, column);
        match index {
            _ if !due(index) => Ok(()),
            None => {
                tracing::debug!(column, rows, "building an index");
                self.table.create_index(&[column], kind()).execute().await.map_err(self.failed("index"))
            }
            Some(index) => {
                tracing::debug!(column, rows = index.num_unindexed_rows, "folding rows into an index");
                let segments = index.num_segments.unwrap_or(1);
                let options =
                    if segments < MAX_SEGMENTS { OptimizeOptions::default() } else { OptimizeOptions::merge(segments as usize) };
                self.optimize(OptimizeAction::Index(options.index_names(vec![index.name.clone()]))).await
            }
        }
    }

    async fn merge_files(&self, rows: u64) -> Result<()> {
        let stats = self.table.stats().await.map_err(self.failed("maintain"))?;
        let files = stats.fragment_stats.num_fragments;
        let removed = stats.num_deleted_rows.unwrap_or(0) as u64;
        let small = files.saturating_sub(rows.div_ceil(ROWS_PER_FILE as u64) as usize);
        if small > MAX_SMALL_FILES || removed as f64 > (rows + removed) as f64 * MAX_REMOVED {
            tracing::debug!(files, rows, removed, "merging files");
            let options = CompactionOptions {
                target_rows_per_fragment: ROWS_PER_FILE,
                materialize_deletions_threshold: MAX_REMOVED as f32,
                ..CompactionOptions::default()
            };
            let _turns = (self.upkeep().await?, self.turn().await?);
            self.optimize(OptimizeAction::Compact { options, remap_options: None }).await?;
        }
        Ok(())
    }

    async fn forget_versions(&self, keep_for: Duration) -> Result<()> {
        if self.versions().await? > MAX_VERSIONS {
            let _turns = (self.upkeep().await?, self.turn().await?);
            // During these turns nobody writes or builds, so a file that no version refers to belongs to a write that was given up.
            let delete_unverified = Some(true);
            self.optimize(OptimizeAction::Prune {
                older_than: Some(keep_for),
                delete_unverified,
                error_if_tagged_old_versions: None,
            })
            .await?;
        }
        Ok(())
    }

    async fn optimize(&self, action: OptimizeAction) -> Result<()> {
        self.table.optimize(action).await.map_err(self.failed("maintain"))?;
        Ok(())
    }

    pub(super) async fn indexes(&self) -> Result<Vec<IndexConfig>> {
        self.table.list_indices().await.map_err(self.failed("inspect"))
    }

    async fn versions(&self) -> Result<usize> {
        Ok(self.table.list_versions().await.map_err(self.failed("inspect"))?.len())
    }

    pub(super) async fn count(&self) -> Result<StoreStats> {
        let chunks = self.table.count_rows(None).await.map_err(self.failed("inspect"))? as u64;
        let path = self.path.clone();
        let bytes =
            tokio::task::spawn_blocking(move || bytes_in(&path)).await.map_err(|e| Error::other("measure the store", e))?;
        let mut stats = StoreStats::default();
        stats.documents = self.count_documents(&Filter::everything()).await?;
        stats.chunks = chunks;
        stats.unindexed = index_of(&self.indexes().await?, WORDS).and_then(|index| index.num_unindexed_rows).unwrap_or(chunks);
        stats.versions = self.versions().await? as u64;
        stats.bytes = bytes.map_err(Error::io("measure", &self.path))?;
        Ok(stats)
    }
}

/// The words are analysed before they are stored: the index takes them as they are, as Lance does where a table has no index.
fn text_index() -> FtsIndexBuilder {
    FtsIndexBuilder::default().lower_case(false).stem(false).remove_stop_words(false).ascii_folding(false).max_token_length(None)
}

/// Parts of like vectors, of which a search looks into some, with a byte for each number. Trained on a sample; Lance splits parts that
/// grow too large. Recall is measured in `benches/`.
fn vector_index() -> IvfSqIndexBuilder {
    IvfSqIndexBuilder::default().distance_type(DistanceType::Cosine)
}

fn index_of<'a>(indexes: &'a [IndexConfig], column: &str) -> Option<&'a IndexConfig> {
    indexes.iter().find(|index| index.columns == [column])
}
