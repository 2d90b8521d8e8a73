//! The store: opening, and which file does what.

mod filter;
mod maintain;
mod rows;
mod search;
mod take_over;
#[cfg(test)]
mod tests;
mod write;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use lancedb::{Connection, ObjectStoreRegistry, Session, Table};
use sensetree_core::{
    Chunk, Document, DocumentInfo, DocumentKey, Embedding, Error, Filter, Fingerprint, Hit, Result, SparseRetriever, Store,
    StoreStats,
};

use crate::turn::{Turn, Turns};

/// The one table of a store.
const TABLE: &str = "chunks";
/// The lock of those who build indexes, merge files or forget versions. Writers don't wait for it, since building takes minutes.
const UPKEEP_LOCK: &str = "maintain.lock";
/// Above so many chunks, comparing with every vector is no longer cheap.
const EXACT_UP_TO: u64 = 10_000;
/// What the caches of one open store may hold: indexes, and what is known about the table's files. LanceDB's own bounds are 6 GiB and 1 GiB.
const CACHE_BYTES: (usize, usize) = (512 << 20, 128 << 20);

/// A [`Store`] and [`SparseRetriever`] in a folder, on one LanceDB table with a row for each chunk.
///
/// Any number of handles, in any number of processes, may have the same folder open: each call sees every commit that was
/// finished before it started. Share one handle where you can; it keeps caches of at most 640 MiB.
///
/// # Searching
/// - [`nearest`](Store::nearest) compares the query with every vector that the filter lets through while these are at most
///   [`exact_up_to`](Self::exact_up_to). When they are more, it asks an approximate index (IVF with a byte for each number) for the
///   best of the parts of the table nearest to the query, compares those with the query's and the rows outside the index one by one,
///   and ranks all by their true similarity. No row is ever left out for not being in an index; what the index may miss is measured
///   in `benches/README.md`.
/// - [`retrieve`](SparseRetriever::retrieve) searches *words*, in any mix of languages: lower case, without accents, one spelling for
///   full-width forms, ligatures, digits and Arabic letters. A text loses its stop words and endings by the rules of its language,
///   which its stop words tell (16 of the Latin script; Russian, Greek, Arabic and Hindi endings by script); a text that does not
///   tell counts as English. A query asks for the stems of all these languages, and those of its own count twice.
///   Names are searched whole and by their parts (`camelCase`, `snake_case`, `kebab-case`, `guard.rs`, `1.94`); serial numbers,
///   IBANs, telephone numbers and dates in digits are found in other spellings. Scripts that are written without spaces, and
///   Korean, are searched by pairs of characters. A query is searched by its first 256 index words: some 40 words of it in all
///   languages, or up to 256 in the one that it tells.
/// - A chunk is found by its words as soon as it is committed. BM25's statistics (how rare a word is, how long a chunk is on
///   average) are those of the rows in the text index for rows in it, and of these and the new rows that pass the filter for new
///   rows. So scores are exact after [`maintain`](Store::maintain), exact before the first one when there is no filter, and
///   in between rows in the index and outside it may be a few per cent apart from that. Rows removed since count until compaction.
/// - A list of `limit` hits never depends on where a row is stored: when equal scores straddle the cut, the whole group of equal
///   scores is read, in the worst case of every row.
///
/// # Writing
/// [`commit`](Store::commit) and [`remove`](Store::remove) are one version of the table each: readers see it whole or not at all,
/// and a process that is killed leaves no half of it. Writers of all handles and processes take turns by a lock on the file
/// `write.lock`; readers wait for nobody.
///
/// # Maintenance
/// [`maintain`](Store::maintain) looks at counts and does what is due:
/// - builds the indexes of words, and of keys for scopes, as soon as there are rows, and that of vectors when there are more than
///   [`exact_up_to`](Self::exact_up_to);
/// - folds new rows into them when they are more than 1,000 or more than 5 % of all rows: as a part of its own, until there are
///   eight, which become one; the parts of like vectors are split as they grow;
/// - merges small files when there are more than 16 beyond one for each 65,536 rows, or when more than 10 % of the rows in the files
///   are removed ones;
/// - forgets versions older than a minute, when there are more than 16. A search that started on such a version and is still
///   running fails, and can be repeated.
///
/// It is what keeps searches fast: without it every search reads all new rows. While indexes are built, which takes most of its
/// time, searches and writes go on; writers wait while files are merged or versions forgotten. Two that maintain take
/// turns; who waited ten minutes for the other gets an error, and nothing is lost.
pub struct LanceStore {
    path: PathBuf,
    fingerprint: Fingerprint,
    table: Table,
    turns: Turns,
    upkeep: Turns,
    exact_up_to: u64,
}

impl LanceStore {
    /// Opens the store in a folder, or makes it there.
    ///
    /// # Errors
    /// - [`Error::FingerprintMismatch`] when it holds vectors of another model;
    /// - [`Error::Format`] when it was written by an incompatible version, or is a LanceDB table of someone else;
    /// - [`Error::Io`] when the folder cannot be made;
    /// - [`Error::InvalidInput`] for a path that is not text, or a fingerprint without dimensions;
    /// - [`Error::Store`] when LanceDB cannot read or write there.
    pub async fn open(path: impl AsRef<Path>, fingerprint: &Fingerprint) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        std::fs::create_dir_all(&path).map_err(Error::io("make the folder", &path))?;
        let connection = connect(&path).await?;
        let table = match connection.open_table(TABLE).execute().await {
            Err(lancedb::Error::TableNotFound { .. }) => create(&connection, &path, fingerprint).await?,
            table => table.map_err(failed("open", &path))?,
        };
        let store = Self::of(path, table).await?;
        store.fingerprint.expect(fingerprint)?;
        Ok(store)
    }

    /// Opens the store in a folder, whatever model filled it; for tools that look at a store without searching it by meaning.
    ///
    /// # Errors
    /// [`Error::Io`] of kind [`NotFound`](io::ErrorKind::NotFound) when there is no store in the folder, which is then left as it is;
    /// otherwise as [`open`](Self::open).
    pub async fn open_existing(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let none = |path: &Path| {
            let source =
                io::Error::new(io::ErrorKind::NotFound, "there is no store in this folder; index something into it first");
            Error::Io { doing: "open the store at", path: path.to_owned(), source }
        };
        if !path.join(format!("{TABLE}.lance")).is_dir() {
            return Err(none(&path));
        }
        let table = match connect(&path).await?.open_table(TABLE).execute().await {
            Err(lancedb::Error::TableNotFound { .. }) => return Err(none(&path)),
            table => table.map_err(failed("open", &path))?,
        };
        Self::of(path, table).await
    }

    async fn of(path: PathBuf, table: Table) -> Result<Self> {
        let schema = table.schema().await.map_err(failed("open", &path))?;
        let fingerprint = rows::fingerprint(&schema, &path)?;
        Ok(Self { path, fingerprint, table, turns: Turns::default(), upkeep: Turns::new(UPKEEP_LOCK), exact_up_to: EXACT_UP_TO })
    }

    /// Up to how many chunks a search by meaning compares the query with every vector. Above it, [`maintain`](Store::maintain)
    /// builds an approximate index and searches through this handle use it; `u64::MAX` is always exact. Default: 10,000.
    #[must_use]
    pub fn exact_up_to(mut self, chunks: u64) -> Self {
        self.exact_up_to = chunks;
        self
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// LanceDB would let writers run at once and detect most of what goes wrong, but not that two insert the same row or make the
    /// same table; and files of an unfinished write can only be told from garbage when there is no unfinished write.
    async fn turn(&self) -> Result<Turn> {
        let turn = self.turns.wait(&self.path).await?;
        self.check_model(&self.table).await?;
        Ok(turn)
    }

    /// Only one at a time builds indexes. To merge files or forget versions, take a turn to write after it.
    async fn upkeep(&self) -> Result<Turn> {
        let turn = self.upkeep.wait(&self.path).await?;
        self.check_model(&self.table).await?;
        Ok(turn)
    }

    /// The table may have been given another model's rows since it was opened; see [`take_over`](Self::take_over).
    async fn check_model(&self, table: &Table) -> Result<()> {
        let schema = table.schema().await.map_err(self.failed("read"))?;
        rows::fingerprint(&schema, &self.path)?.expect(&self.fingerprint)
    }

    /// Makes an error of LanceDB one of ours; shaped for `map_err(self.failed("search"))`.
    fn failed(&self, doing: &'static str) -> impl FnOnce(lancedb::Error) -> Error {
        failed(doing, &self.path)
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::io("find the absolute path of", path))
}

async fn connect(path: &Path) -> Result<Connection> {
    let Some(text) = path.to_str() else {
        return Err(Error::invalid(format!("LanceDB needs a path that is text, and {} is not", path.display())));
    };
    let session = Session::new(CACHE_BYTES.0, CACHE_BYTES.1, Arc::new(ObjectStoreRegistry::default()));
    // An interval of zero: every call looks for versions that other handles and processes have made.
    let connection = lancedb::connect(text).session(Arc::new(session)).read_consistency_interval(Duration::ZERO);
    connection.execute().await.map_err(failed("open", path))
}

/// Makes the table, unless someone else did. Its schema carries format and fingerprint, so it never exists without them.
async fn create(connection: &Connection, path: &Path, fingerprint: &Fingerprint) -> Result<Table> {
    let turns = Turns::default();
    let _turn = turns.wait(path).await?;
    match connection.open_table(TABLE).execute().await {
        Err(lancedb::Error::TableNotFound { .. }) => {
            let table = connection.create_empty_table(TABLE, rows::schema(fingerprint)?).execute().await;
            table.map_err(failed("make", path))
        }
        table => table.map_err(failed("open", path)),
    }
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(lancedb::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Store { doing, path, source: Box::new(source) }
}

impl fmt::Debug for LanceStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LanceStore").field("path", &self.path).field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for LanceStore {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    async fn nearest(&self, vector: &Embedding, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        self.nearest_chunks(vector, filter, limit).await
    }

    async fn commit(&self, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()> {
        self.write_documents(documents, removed).await
    }

    async fn remove(&self, filter: &Filter) -> Result<u64> {
        self.remove_documents(filter).await
    }

    async fn documents(&self, filter: &Filter) -> Result<Vec<DocumentInfo>> {
        self.list_documents(filter).await
    }

    async fn chunks(&self, key: &DocumentKey) -> Result<Vec<Chunk>> {
        self.chunks_of(key).await
    }

    async fn stats(&self) -> Result<StoreStats> {
        self.count().await
    }

    async fn maintain(&self) -> Result<()> {
        self.tidy(maintain::KEEP_VERSIONS_FOR).await
    }
}

#[async_trait]
impl SparseRetriever for LanceStore {
    async fn retrieve(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        self.chunks_with_words(query, filter, limit).await
    }
}
