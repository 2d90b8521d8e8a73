//! A store in a folder, on LanceDB.

mod filter;
mod maintain;
mod read;
mod rows;
mod write;

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use lancedb::{Connection, Table};
use sensetree_core::{
    Chunk, Document, DocumentInfo, DocumentKey, Embedding, Error, Filter, Fingerprint, Hit, Result, SparseRetriever, Store,
    StoreStats,
};

/// The layout of the table. A store of another layout is refused.
const FORMAT_VERSION: u32 = 1;
const TABLE: &str = "chunks";

/// Vectors and texts in one LanceDB table: one row for each chunk.
///
/// - **Writes** are one version of the table each, and one at a time for the folder: a lock file makes processes wait for each
///   other. Readers never wait; they see the last version. A killed process leaves whole versions.
/// - **Nearest** is exact: every vector within the filter is compared.
/// - **BM25** is Lance's full-text index over the [search form](crate::search_form) of the stored text, built at the first search
///   by words. Rows that came later are found at once by reading them; [`maintain`](Store::maintain) folds them in, and so does a
///   search when there are more of them than the index has. Until then word statistics are those of the indexed rows.
/// - **`maintain`** folds in when more than 1,000 rows, or a twentieth of all, are not in an index; compacts when the table is in
///   more than 20 fragments or a tenth of its rows are deleted; and when there are more than 20 versions forgets those older than
///   ten seconds. From 10,000 rows on it keeps an index on the key, which the folder filter uses.
///
/// Cheap to share through an `Arc`; several handles, also in several processes, may be open on one folder.
#[derive(Debug)]
pub struct LanceStore {
    place: PathBuf,
    table: Table,
    fingerprint: Fingerprint,
    /// Rows in the text index when this handle last looked; 0 before it did.
    indexed: AtomicUsize,
    /// Rows that this handle wrote since.
    added: AtomicUsize,
}

impl LanceStore {
    /// Opens the store in a folder, or creates it for vectors of this fingerprint.
    ///
    /// # Errors
    /// [`Error::FingerprintMismatch`] when it was filled by another model, [`Error::Format`] when another version of this
    /// library wrote it, [`Error::Io`] when the folder cannot be made, [`Error::Store`] when LanceDB cannot open it.
    pub async fn open(place: impl AsRef<Path>, fingerprint: &Fingerprint) -> Result<Self> {
        let place = place.as_ref();
        std::fs::create_dir_all(place).map_err(Error::io("make the folder", place))?;
        let place = absolute(place)?;
        let connection = connect(&place).await?;
        if !has_table(&connection, &place).await? {
            let created = connection.create_empty_table(TABLE, rows::schema(fingerprint)?).execute().await;
            match created {
                // Another process was faster; what it made is opened below.
                Ok(_) | Err(lancedb::Error::TableAlreadyExists { .. }) => {}
                Err(e) => return Err(failed("create", &place)(e)),
            }
        }
        let store = Self::open_table(place, &connection).await?;
        store.fingerprint.expect(fingerprint)?;
        Ok(store)
    }

    /// Opens a store that must be there, whatever model filled it. Creates nothing.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when there is no store in the folder, otherwise as [`open`](Self::open).
    pub async fn open_existing(place: impl AsRef<Path>) -> Result<Self> {
        let missing = |place: &Path| Error::invalid(format!("there is no index at {}; index a folder first", place.display()));
        let place = absolute(place.as_ref())?;
        if !place.is_dir() {
            return Err(missing(&place));
        }
        let connection = connect(&place).await?;
        if !has_table(&connection, &place).await? {
            return Err(missing(&place));
        }
        Self::open_table(place, &connection).await
    }

    async fn open_table(place: PathBuf, connection: &Connection) -> Result<Self> {
        let table = connection.open_table(TABLE).execute().await.map_err(failed("open", &place))?;
        let schema = table.schema().await.map_err(failed("open", &place))?;
        let fingerprint = rows::fingerprint(&schema, &place)?;
        Ok(Self { place, table, fingerprint, indexed: AtomicUsize::new(0), added: AtomicUsize::new(0) })
    }

    /// The folder.
    pub fn place(&self) -> &Path {
        &self.place
    }

    fn failed(&self, doing: &'static str) -> impl FnOnce(lancedb::Error) -> Error {
        failed(doing, &self.place)
    }
}

fn absolute(place: &Path) -> Result<PathBuf> {
    std::path::absolute(place).map_err(Error::io("find the absolute path of", place))
}

async fn connect(place: &Path) -> Result<Connection> {
    let Some(name) = place.to_str() else {
        return Err(Error::invalid(format!("LanceDB needs a folder whose name is text, {} is not", place.display())));
    };
    // Every read looks for a newer version first, so that handles and processes see each other's writes.
    let connection = lancedb::connect(name).read_consistency_interval(Duration::ZERO).execute().await;
    connection.map_err(failed("open", place))
}

async fn has_table(connection: &Connection, place: &Path) -> Result<bool> {
    let names = connection.table_names().execute().await.map_err(failed("open", place))?;
    Ok(names.iter().any(|name| name == TABLE))
}

fn failed(doing: &'static str, place: &Path) -> impl FnOnce(lancedb::Error) -> Error {
    let path = place.to_owned();
    move |e| Error::Store { doing, path, source: Box::new(e) }
}

#[async_trait]
impl Store for LanceStore {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    async fn nearest(&self, vector: &Embedding, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        read::nearest(self, vector, filter, limit).await
    }

    async fn commit(&self, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()> {
        write::commit(self, documents, removed).await
    }

    async fn remove(&self, filter: &Filter) -> Result<u64> {
        write::remove(self, filter).await
    }

    async fn documents(&self, filter: &Filter) -> Result<Vec<DocumentInfo>> {
        read::documents(self, filter).await
    }

    async fn chunks(&self, key: &DocumentKey) -> Result<Vec<Chunk>> {
        read::chunks(self, key).await
    }

    async fn stats(&self) -> Result<StoreStats> {
        maintain::stats(self).await
    }

    async fn maintain(&self) -> Result<()> {
        maintain::maintain(self).await
    }
}

#[async_trait]
impl SparseRetriever for LanceStore {
    async fn retrieve(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        // While most rows are new, scores lean on the statistics of the few that are indexed, and taking in the others is cheap
        // next to having written them.
        let outgrown = self.added.load(Ordering::Acquire) > self.indexed.load(Ordering::Acquire);
        if (outgrown || self.indexed.load(Ordering::Acquire) == 0) && !maintain::fresh_text_index(self).await? {
            return Ok(Vec::new());
        }
        read::retrieve(self, query, filter, limit).await
    }
}

#[cfg(test)]
mod tests;
