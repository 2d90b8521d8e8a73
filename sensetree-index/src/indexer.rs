use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use sensetree_core::{ChunkUnit, Embedder, Error, Result, Scope, Store};

use crate::{ExtractLimits, Folder, Qualifier, block::Blocks, chunk::Chunker, embed::guarded, measure::Measure};

/// Characters of the document in one chunk, unless set.
pub const DEFAULT_CHUNK_SIZE: usize = 1000;
/// Characters that a chunk may repeat of the one before, unless set.
pub const DEFAULT_OVERLAP: usize = 150;
/// Tokens of the document in one chunk, unless set, where chunks are measured in these.
pub const DEFAULT_CHUNK_TOKENS: usize = 200;
/// Tokens that a chunk may repeat of the one before, unless set, where chunks are measured in these.
pub const DEFAULT_OVERLAP_TOKENS: usize = 30;
/// Bytes of the largest file that is read, unless set.
pub const DEFAULT_MAX_FILE_SIZE: u64 = 20 * 1024 * 1024;
const DEFAULT_THREADS: usize = 4;

/// Keeps a store in step with files on disk. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Indexer {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) qualifier: Option<Arc<dyn Qualifier>>,
    pub(crate) config: Arc<Config>,
}

/// What a build has checked.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) chunk_unit: ChunkUnit,
    pub(crate) chunk_size: usize,
    pub(crate) overlap: usize,
    pub(crate) max_file_size: u64,
    pub(crate) extract_limits: ExtractLimits,
    pub(crate) follow_links: bool,
    pub(crate) hidden: bool,
    pub(crate) threads: usize,
    pub(crate) excluded: Vec<Scope>,
    pub(crate) blocks: Blocks,
    pub(crate) retry_failed: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            chunk_unit: ChunkUnit::Characters,
            chunk_size: DEFAULT_CHUNK_SIZE,
            overlap: DEFAULT_OVERLAP,
            max_file_size: DEFAULT_MAX_FILE_SIZE,
            extract_limits: ExtractLimits::default(),
            follow_links: false,
            hidden: false,
            threads: std::thread::available_parallelism().map_or(1, usize::from).min(DEFAULT_THREADS),
            excluded: Vec::new(),
            blocks: Blocks::default(),
            retry_failed: false,
        }
    }
}

impl Indexer {
    /// Starts with the two parts that every indexer needs; they must agree on the vectors.
    pub fn builder(embedder: Arc<dyn Embedder>, store: Arc<dyn Store>) -> IndexerBuilder {
        IndexerBuilder {
            embedder,
            store,
            qualifier: None,
            config: Config::default(),
            chunk_size: None,
            overlap: None,
            excluded: Vec::new(),
        }
    }

    /// What cuts texts as the settings say, with the embedder's tokenizer where it is needed.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when chunks are measured in tokens and the embedder cannot count them, otherwise what it says when its
    /// model cannot be loaded.
    pub(crate) async fn chunker(&self) -> Result<Chunker> {
        let measure = match self.config.chunk_unit {
            ChunkUnit::Tokens => Measure::Tokens(guarded("embedder", self.embedder.token_counter()).await?.ok_or_else(|| {
                let model = self.embedder.fingerprint().model();
                Error::invalid(format!(
                    "chunks are to be measured in tokens, but the embedder {model} cannot count them; \
                     measure them in characters, or take an embedder that runs its tokenizer here"
                ))
            })?),
            _ => Measure::Characters,
        };
        Ok(Chunker { size: self.config.chunk_size, overlap: self.config.overlap, measure })
    }
}

/// Settings of an [`Indexer`]. They apply to files indexed from then on; what the store holds is not made anew.
#[derive(Debug)]
#[must_use]
pub struct IndexerBuilder {
    embedder: Arc<dyn Embedder>,
    store: Arc<dyn Store>,
    qualifier: Option<Arc<dyn Qualifier>>,
    config: Config,
    chunk_size: Option<usize>,
    overlap: Option<usize>,
    excluded: Vec<PathBuf>,
}

impl IndexerBuilder {
    /// What [`chunk_size`](Self::chunk_size) and [`overlap`](Self::overlap) count; characters by default.
    ///
    /// In tokens, chunks fill the model's window alike in every language and never run over it, as long as their size with a quarter
    /// more for the qualification, the model's prefix and its special tokens fit in. Cutting takes longer, by about what the model's
    /// tokenizer needs for the text.
    ///
    /// A sync is refused with [`Error::InvalidInput`] when the embedder has no [`token_counter`](Embedder::token_counter).
    pub fn chunk_unit(mut self, unit: ChunkUnit) -> Self {
        self.config.chunk_unit = unit;
        self
    }

    /// The most characters, or tokens, of the document that one chunk has; 1000 characters or 200 tokens by default.
    ///
    /// The document's qualification (name, title, folder) comes on top: at most a quarter of this, and at most 200 characters or 50
    /// tokens. A [summary](Self::qualifier) adds half as much again to the first chunk.
    pub fn chunk_size(mut self, size: usize) -> Self {
        self.chunk_size = Some(size);
        self
    }

    /// How many characters, or tokens, at the end of a chunk the next one may repeat; 150 characters or 30 tokens by default, always
    /// less than the chunk size.
    pub fn overlap(mut self, overlap: usize) -> Self {
        self.overlap = Some(overlap);
        self
    }

    /// Files with more bytes are found by their name only; 20 MiB by default.
    ///
    /// Memory follows from it: each reading thread holds a file and its chunks, as many files wait to be taken, and as a rule 64
    /// files or 256 chunks to be committed. A file is held whole, several times its size with its text and vectors, however high
    /// this is set.
    pub fn max_file_size(mut self, bytes: u64) -> Self {
        self.config.max_file_size = bytes;
        self
    }

    /// What reading one file may cost; by default 20 MiB of text, 256 MiB unpacked, 20,000 packed entries, 30 seconds.
    ///
    /// A file that was over a limit is not tried again under new ones until it changes, except that of time: it is tried in three syncs.
    pub fn extract_limits(mut self, limits: ExtractLimits) -> Self {
        self.config.extract_limits = limits;
        self
    }

    /// Whether links to files and folders are followed; off by default. A file reached by more than one way is indexed
    /// once, under its own path where that is in the walk. The roots themselves may always be links.
    pub fn follow_links(mut self, yes: bool) -> Self {
        self.config.follow_links = yes;
        self
    }

    /// Whether hidden files and folders are indexed; off by default.
    pub fn hidden(mut self, yes: bool) -> Self {
        self.config.hidden = yes;
        self
    }

    /// How many threads read, extract and chunk; one for each processor but at most 4 by default. Embedding brings its own.
    pub fn threads(mut self, count: usize) -> Self {
        self.config.threads = count;
        self
    }

    /// Leaves out a folder or file, whatever the roots: the store's own folder, when it lies inside one. Called again: these too.
    pub fn exclude(mut self, path: impl Into<PathBuf>) -> Self {
        self.excluded.push(path.into());
        self
    }

    /// The names of folders that are indexed as one, each with what such a folder is, instead of
    /// [`DEFAULT_BLOCK_FOLDERS`](crate::DEFAULT_BLOCK_FOLDERS). With an empty list every folder is walked.
    ///
    /// What is hidden or ignored is left out all the same: a `.git` is described only where [`hidden`](Self::hidden) is on. A root
    /// is always walked, whatever its name.
    pub fn block_folders<N: Into<String>, K: Into<String>>(mut self, names: impl IntoIterator<Item = (N, K)>) -> Self {
        self.config.blocks.set_names(names);
        self
    }

    /// Decides how a folder is indexed; the names of [`block_folders`](Self::block_folders) decide where it answers `None`.
    /// Called for every folder of every sync, on a thread that walks, with absolute paths.
    pub fn classify_folders(mut self, classify: impl Fn(&Path) -> Option<Folder> + Send + Sync + 'static) -> Self {
        self.config.blocks.set_classify(classify);
        self
    }

    /// Adds a summary of each document to what is stored and embedded; none by default.
    pub fn qualifier(mut self, qualifier: Arc<dyn Qualifier>) -> Self {
        self.qualifier = Some(qualifier);
        self
    }

    /// Tries files again that have [failed](crate::Status::Failed) for good: after a setting of the embedder has changed, say. Off
    /// by default.
    pub fn retry_failed(mut self, yes: bool) -> Self {
        self.config.retry_failed = yes;
        self
    }

    /// Checks that the settings make sense together.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for a chunk size or thread count of 0, for an overlap as large as the chunk size, and for
    /// [`extract_limits`](Self::extract_limits) that leave no time or no text, [`Error::FingerprintMismatch`] when the store was filled by another embedder.
    pub fn build(self) -> Result<Indexer> {
        let Self { embedder, store, qualifier, mut config, chunk_size, overlap, excluded } = self;
        let (unit, default_size, default_overlap) = match config.chunk_unit {
            ChunkUnit::Tokens => ("tokens", DEFAULT_CHUNK_TOKENS, DEFAULT_OVERLAP_TOKENS),
            _ => ("characters", DEFAULT_CHUNK_SIZE, DEFAULT_OVERLAP),
        };
        (config.chunk_size, config.overlap) = (chunk_size.unwrap_or(default_size), overlap.unwrap_or(default_overlap));
        if config.chunk_size == 0 {
            return Err(Error::invalid(format!(
                "a chunk size of 0 {unit} leaves no room for text; {default_size} is the default"
            )));
        }
        if config.overlap >= config.chunk_size {
            let (overlap, size) = (config.overlap, config.chunk_size);
            return Err(Error::invalid(format!(
                "an overlap of {overlap} in chunks of {size} {unit} makes no progress; choose less"
            )));
        }
        if config.threads == 0 {
            return Err(Error::invalid("without a thread nothing is read; ask for at least 1"));
        }
        if config.extract_limits.time.is_zero() || config.extract_limits.text_bytes == 0 {
            return Err(Error::invalid(
                "extract limits of no time or no text leave nothing to search; 30 seconds and 20 MiB are the defaults",
            ));
        }
        store.fingerprint().expect(embedder.fingerprint())?;
        config.excluded = excluded.iter().map(Scope::folder).collect::<Result<_>>()?;
        Ok(Indexer { embedder, store, qualifier, config: Arc::new(config) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sensetree_core::{memory::MemoryStore, testing::MockEmbedder};

    fn builder() -> IndexerBuilder {
        let embedder = MockEmbedder::new(16);
        let store = MemoryStore::new(embedder.fingerprint().clone());
        Indexer::builder(Arc::new(embedder), Arc::new(store))
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        for bad in [
            builder().chunk_size(10).overlap(10),
            builder().chunk_size(10).overlap(11),
            builder().chunk_size(0).overlap(0),
            builder().chunk_unit(ChunkUnit::Tokens).chunk_size(30),
            builder().threads(0),
            builder().extract_limits(ExtractLimits::default().with_time(std::time::Duration::ZERO)),
            builder().extract_limits(ExtractLimits::default().with_text_bytes(0)),
            builder().exclude(""),
        ] {
            assert!(matches!(bad.build(), Err(Error::InvalidInput(_))));
        }
        assert!(builder().chunk_size(10).overlap(9).build().is_ok());
        assert!(builder().chunk_unit(ChunkUnit::Tokens).chunk_size(31).build().is_ok());
    }

    #[test]
    fn another_embedder_than_the_store_was_filled_with_is_refused() {
        let store = MemoryStore::new(MockEmbedder::new(16).fingerprint().clone());
        let built = Indexer::builder(Arc::new(MockEmbedder::new(16).named("other")), Arc::new(store)).build();
        assert!(matches!(built, Err(Error::FingerprintMismatch { .. })));
    }
}
