//! A text index of its own: opening, and which file does what.

mod fill;
mod filter;
mod folder;
mod rows;
mod search;
#[cfg(test)]
mod tests;
mod write;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
pub use fill::Filled;
use folder::Found;
use rows::Fields;
use search::Snapshot;
use sensetree_core::{BoxError, Document, DocumentKey, Error, Filter, Hit, Result, SparseRetriever, Store, StoreStats};
use tantivy::{Index, TantivyError, directory::error::OpenReadError};

use crate::{
    analyser, files,
    turn::{Turn, Turns},
};

/// BM25 over the texts of chunks, in memory or in a folder, on Tantivy.
///
/// It is a [`SparseRetriever`] without a store: for programs that keep their vectors elsewhere, that search by words alone, or
/// that want exact scores beside a [`Store`]. Either give it what the store is given ([`commit`](Self::commit),
/// [`remove`](Self::remove)), or call [`fill`](Self::fill) after the store has changed:
///
/// ```
/// use sensetree_core::{Chunk, Document, Embedding, Filter, Fingerprint, SparseRetriever, Store, memory::MemoryStore};
/// use sensetree_store::TantivyRetriever;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let store = MemoryStore::new(Fingerprint::new("by-hand", 2));
/// let note = Document::new("/notes/boiler.md")
///     .with_chunk(Chunk::new("The boiler was serviced in May.", Embedding::new(vec![0.8, 0.6])?));
/// store.commit(vec![note], &[]).await?;
///
/// let words = TantivyRetriever::beside(folder, &store).await?;
/// let hits = words.retrieve("boiler services", &Filter::everything(), 10).await?;
/// assert_eq!(hits[0].id.key.as_str(), "/notes/boiler.md");
///
/// store.remove(&Filter::everything()).await?;
/// assert_eq!(words.fill(&store).await?.removed, 1);
/// # Ok(())
/// # }
/// ```
///
/// Like everything here that waits for a disk, it needs a tokio runtime; its work runs on tokio's threads for blocking work.
///
/// # Searching
/// - Words are analysed by the rules of this crate, the same for what is stored and what is asked; Tantivy only splits them at spaces.
///   A query is searched by its first 256 of them; a chunk that has any is found. No character of a query is an operator. A word
///   of more than 65,530 bytes is not searchable.
/// - `score = Σ times · idf · f / (f + k₁ · (1 − b + b · length / mean length))` over the words of the query, with `times` the
///   occurrences in the query, `f` those in the chunk, `idf = ln(1 + (N − n + 0.5) / (n + 0.5))`, k₁ = 1.2, b = 0.75 (Robertson and
///   Zaragoza, "The Probabilistic Relevance Framework", with the idf of Lucene).
/// - Scores are exact. Unlike Tantivy's own, they count no removed chunk, use each chunk's length as it is and not rounded to one of
///   256 steps, and are summed in double precision in one order. So the same documents give the same answers to the last bit,
///   whatever was committed, removed or merged before. The price is that no chunk is skipped unread: the work grows with how often the
///   query's words occur, not with `limit`.
/// - The filter is applied inside the search, before the limit. Statistics are those of all chunks, whatever the filter.
/// - A search sees every commit that was finished before it began, also by other handles and processes. It waits for no writer.
///
/// # Writing
/// - A commit or removal is one commit of Tantivy: readers see it whole or not at all, and a process that is killed leaves the last
///   whole one. Dropping its future before its turn came undoes it; after that it is carried to its end.
/// - Writers of all handles and processes take turns by a lock on the file `write.lock`, ten minutes at most.
/// - A commit costs some twenty `fsync`s, about 0.1 s on an ordinary disk, so commit many documents at once.
/// - Eight segments of about the same size are merged into one, as is one with more than 20 % removed chunks, at the end of the
///   commit that makes them due. Files no longer needed go then too, so there is no maintenance to call.
/// - A writer takes 50 MB while it writes, on one thread; see [`with_memory`](Self::with_memory) and
///   [`with_threads`](Self::with_threads). Between writes it takes none.
///
/// # The folder
/// It is for the index alone. `sensetree.json` in it records the format and the rules that words were made by; both must be those
/// of this version. A search reads the file `meta.json` to see whether there is a new commit, and needs the right to lock
/// `.tantivy-meta.lock` when there is one.
pub struct TantivyRetriever {
    place: Place,
    fields: Fields,
    /// The last commit that a search saw.
    last: Arc<Mutex<Option<Arc<Snapshot>>>>,
    turns: Turns,
    threads: usize,
    memory: usize,
}

/// Where an index is.
#[derive(Clone)]
enum Place {
    Memory(Index),
    Folder(PathBuf, Index),
}

impl TantivyRetriever {
    /// An empty index in memory.
    pub fn in_memory() -> Self {
        Self::at(Place::Memory(Index::create_in_ram(rows::schema().0)))
    }

    /// Opens the index in a folder, or makes it there.
    ///
    /// # Errors
    /// - [`Error::Format`] when it was made by another version, or has words by other rules;
    /// - [`Error::Store`] when its files are damaged or cannot be read; the source says what to do;
    /// - [`Error::InvalidInput`] when the folder holds other files;
    /// - [`Error::Io`] when the folder cannot be made.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let look = {
            let path = path.clone();
            move || {
                std::fs::create_dir_all(&path).map_err(Error::io("make the folder", &path))?;
                folder::look(&path)
            }
        };
        if let Found::Nothing = on_thread("open the text index", look).await? {
            let turn = Turns::default().wait(&path).await?;
            let path = path.clone();
            let create = move || {
                let _turn = turn;
                // While this one waited, another may have made it.
                if let Found::Nothing = folder::look(&path)? { folder::create(&path) } else { Ok(()) }
            };
            on_thread("make the text index", create).await?;
        }
        let index = {
            let path = path.clone();
            on_thread("open the text index", move || open_index(&path).map_err(failed("open", &path)))
        };
        let retriever = Self::at(Place::Folder(path, index.await?));
        // Opens every file, so that one that is missing is found now.
        retriever.snapshot("open").await?;
        Ok(retriever)
    }

    /// Opens the index in a folder and makes it hold what `store` holds, whatever it held before: an index of another version or
    /// with damaged files is made again.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for those two, and [`fill`](Self::fill).
    pub async fn beside(path: impl AsRef<Path>, store: &dyn Store) -> Result<Self> {
        let path = absolute(path.as_ref())?;
        let retriever = match Self::open(&path).await {
            Err(error) if is_lost(&error) => {
                tracing::warn!(path = %path.display(), reason = error.chain(), "making the text index again");
                make_again(&path).await?;
                Self::open(&path).await
            }
            opened => opened,
        }?;
        retriever.fill(store).await?;
        Ok(retriever)
    }

    fn at(place: Place) -> Self {
        let fields = rows::schema().1;
        Self { place, fields, last: Arc::default(), turns: Turns::default(), threads: 1, memory: 50_000_000 }
    }

    /// Threads that a writer uses, 1 to 8; 1 by default. More make large commits faster and searches no slower.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads: threads.clamp(1, 8), ..self }
    }

    /// Bytes that the threads of a writer collect together before they write a segment; 50,000,000 by default, 15,000,000 a thread
    /// at least. A larger commit writes several segments and is still one commit.
    #[must_use]
    pub fn with_memory(self, bytes: usize) -> Self {
        Self { memory: bytes, ..self }
    }

    /// The folder; none for an index in memory.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder(path, _) => Some(path),
            Place::Memory(_) => None,
        }
    }

    /// As [`Store::commit`]: makes the index hold exactly these chunks for these documents, and nothing for the `removed` ones.
    /// Vectors are not looked at.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a document without chunks, named twice, or with a key of more than 65,530 bytes; nothing is written
    /// then. [`Error::Store`] or [`Error::Io`] when the disk cannot be written; what was committed before stays.
    pub async fn commit(&self, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()> {
        self.write_documents(documents, removed).await
    }

    /// As [`Store::remove`]: removes the documents that `filter` lets through, in one commit; says how many there were.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::Io`] when the disk cannot be written.
    pub async fn remove(&self, filter: &Filter) -> Result<u64> {
        self.remove_documents(filter).await
    }

    /// Makes the index hold what `store` holds: copies the documents that are new or whose path, stamp or note differ, and removes
    /// those that the store no longer has. Documents that have no stamp are copied every time.
    ///
    /// It is one commit for each 4,096 chunks. When it is cut short, the next call goes on from there.
    ///
    /// # Errors
    /// Those of the store, and of [`commit`](Self::commit).
    pub async fn fill(&self, store: &dyn Store) -> Result<Filled> {
        self.fill_from(store).await
    }

    /// Counts.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::Io`] when the index cannot be read.
    pub async fn stats(&self) -> Result<StoreStats> {
        let snapshot = self.snapshot("inspect").await?;
        let mut stats = StoreStats::default();
        stats.documents = snapshot.documents;
        stats.chunks = snapshot.chunks;
        if let Place::Folder(path, _) = &self.place {
            let path = path.clone();
            let measure = move || files::bytes_in(&path).map_err(Error::io("measure", path));
            stats.bytes = on_thread("measure the text index", measure).await?;
        }
        Ok(stats)
    }

    async fn turn(&self) -> Result<Turn> {
        match &self.place {
            Place::Memory(_) => Ok(self.turns.wait_for_tasks().await),
            Place::Folder(path, _) => self.turns.wait(path).await,
        }
    }

    async fn snapshot(&self, doing: &'static str) -> Result<Arc<Snapshot>> {
        let (place, last, fields) = (self.place.clone(), self.last.clone(), self.fields);
        let read = move || current(&place, &fields, &last).map_err(failed(doing, place.path()));
        on_thread("read the text index", read).await
    }

    /// Reads the last commit.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Snapshot, &Fields) -> tantivy::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (place, last, fields) = (self.place.clone(), self.last.clone(), self.fields);
        on_thread("search the text index", move || {
            let done = current(&place, &fields, &last).and_then(|snapshot| work(&snapshot, &fields));
            done.map_err(failed("search", place.path()))
        })
        .await
    }
}

impl Place {
    /// For messages.
    fn path(&self) -> &Path {
        match self {
            Self::Memory(_) => Path::new("(memory)"),
            Self::Folder(path, _) => path,
        }
    }

    fn index_for_writing(&self) -> tantivy::Result<Index> {
        match self {
            Self::Memory(index) => Ok(index.clone()),
            Self::Folder(path, _) => open_index(path),
        }
    }
}

fn open_index(path: &Path) -> tantivy::Result<Index> {
    let index = Index::open_in_dir(path)?;
    if index.schema() == rows::schema().0 {
        Ok(index)
    } else {
        Err(TantivyError::SchemaError("the fields are not those of sensetree".to_owned()))
    }
}

/// Replaces an index that is lost by an empty one.
async fn make_again(path: &Path) -> Result<()> {
    let turn = Turns::default().wait(path).await?;
    let path = path.to_owned();
    on_thread("make the text index again", move || {
        let _turn = turn;
        let look = || match folder::look(&path)? {
            Found::Nothing => Ok(()),
            Found::Index => {
                let read = open_index(&path).and_then(|index| Snapshot::last(&index, &rows::schema().1, None));
                read.map(drop).map_err(failed("open", &path))
            }
        };
        // While this one waited, another may have done it.
        if look().is_err_and(|error| is_lost(&error)) {
            folder::clear(&path)?;
            folder::create(&path)?;
        }
        Ok(())
    })
    .await
}

fn current(place: &Place, fields: &Fields, last: &Mutex<Option<Arc<Snapshot>>>) -> tantivy::Result<Arc<Snapshot>> {
    let (Place::Memory(index) | Place::Folder(_, index)) = place;
    // A snapshot is replaced whole, so a thread that panicked left a good one.
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let snapshot = Snapshot::last(index, fields, last.as_ref())?;
    *last = Some(snapshot.clone());
    Ok(snapshot)
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::io("find the absolute path of", path))
}

/// Runs work that waits for the disk or takes long where it doesn't hold up the executor. It runs to its end even when nobody waits.
async fn on_thread<T: Send + 'static>(doing: &'static str, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|e| Error::other(doing, e))?
}

/// Makes an error of Tantivy one of ours.
fn failed(doing: &'static str, path: &Path) -> impl FnOnce(TantivyError) -> Error {
    let path = path.to_owned();
    move |error| {
        let source: BoxError = if is_damage(&error) { Box::new(Damaged(error)) } else { Box::new(error) };
        Error::Store { doing, path, source }
    }
}

/// Files are missing, cut short or altered: reading again will not help.
#[derive(Debug)]
struct Damaged(TantivyError);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its files are damaged ({}); delete the folder and fill the index again", self.0)
    }
}

impl std::error::Error for Damaged {}

fn is_damage(error: &TantivyError) -> bool {
    let is_cut = |e: &io::Error| matches!(e.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData);
    match error {
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => is_cut(io_error),
        TantivyError::OpenReadError(_)
        | TantivyError::DataCorruption(_)
        | TantivyError::IncompatibleIndex(_)
        | TantivyError::SchemaError(_)
        | TantivyError::DeserializeError(_) => true,
        TantivyError::IoError(e) => is_cut(e),
        _ => false,
    }
}

/// Whether an index can only be made again.
fn is_lost(error: &Error) -> bool {
    match error {
        Error::Format { .. } => true,
        Error::Store { source, .. } => source.is::<Damaged>(),
        _ => false,
    }
}

impl fmt::Debug for TantivyRetriever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TantivyRetriever").field("path", &self.place.path()).finish_non_exhaustive()
    }
}

#[async_trait]
impl SparseRetriever for TantivyRetriever {
    async fn retrieve(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        let words = analyser::query_words(query);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let filter = filter.clone();
        self.read(move |snapshot, fields| snapshot.best(&words, &filter, limit, fields)).await
    }
}
