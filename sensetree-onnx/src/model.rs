//! A model that is loaded and can be asked from any task.

use std::{fs::File, num::NonZero, path::PathBuf, sync::Arc, thread::available_parallelism};

use futures::future::try_join_all;
use ort::session::builder::PrepackedWeights;
use sensetree_core::{Error, Result};

use crate::{
    Graph, ModelFolder, Precision, TextTokenizer, runtime,
    workers::{Takes, Workers},
};

/// Above this size of a graph with its weights one session uses all threads, so that the weights are in memory once.
const LARGE_GRAPH: u64 = 500 << 20;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// A question: next in line, and on the thread for queries where there is one.
    Query,
    /// One of many passages that are scored for somebody who waits: after all queries.
    Candidate,
    /// Background work: after everything else.
    Passage,
}

/// How a model is loaded.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    precision: Precision,
    threads: Option<NonZero<usize>>,
    max_tokens: Option<NonZero<usize>>,
    query_thread: bool,
}

impl ModelOptions {
    /// Which graph to run. Default: [`Precision::Auto`].
    #[must_use]
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// How many threads inference may use, not counting [that for queries](Self::with_query_thread). Default: as many as the machine
    /// runs at once.
    ///
    /// Each is a session of its own that runs one text at a time; only graphs above 500 MiB run as one session of many threads.
    #[must_use]
    pub fn with_threads(mut self, threads: NonZero<usize>) -> Self {
        self.threads = Some(threads);
        self
    }

    /// One more thread, with a session of its own, that takes queries only, so that they don't wait for the end of a passage. Graphs above
    /// 500 MiB have none. Default: none; embedders ask for it.
    #[must_use]
    pub fn with_query_thread(mut self) -> Self {
        self.query_thread = true;
        self
    }

    /// Cuts texts earlier than the model's own files say. Default: as they say.
    #[must_use]
    pub fn with_max_tokens(mut self, max_tokens: NonZero<usize>) -> Self {
        self.max_tokens = Some(max_tokens);
        self
    }
}

/// Sessions on threads of their own behind one queue. The executor never blocks on inference.
#[derive(Debug)]
pub struct Model {
    name: String,
    hash: String,
    precision: Precision,
    tokenizer: Arc<TextTokenizer>,
    workers: Workers<Graph>,
}

impl Model {
    /// Loads a model and starts its threads. Blocks for as long as reading the weights takes: from async code, call it on a
    /// thread where blocking is allowed.
    ///
    /// # Errors
    /// [`Error::Runtime`] without a usable ONNX Runtime, [`Error::Model`] naming the file that is missing or damaged.
    pub fn load(folder: &ModelFolder, options: &ModelOptions) -> Result<Self> {
        // First of all: any other call into the runtime panics when its library is missing.
        runtime::load()?;
        let (graph_file, precision) = folder.graph(options.precision)?;
        let own_limit = folder.max_tokens()?;
        let max_tokens = options.max_tokens.map_or(own_limit, |limit| limit.get().min(own_limit));
        let tokenizer = Arc::new(TextTokenizer::load(folder, max_tokens)?);
        let threads = options.threads.or_else(|| available_parallelism().ok()).map_or(1, NonZero::get);
        let weight_files = folder.graph_files(&graph_file)?;
        let size =
            weight_files.iter().map(|file| Ok(file.metadata().map_err(Error::io("read", file))?.len())).sum::<Result<u64>>()?;
        let is_large = size > LARGE_GRAPH;
        let (sessions, threads_each) = if is_large { (1, threads) } else { (threads, 1) };
        let weights = PrepackedWeights::new();
        let mut takes = vec![Takes::Everything; sessions];
        if options.query_thread && !is_large {
            takes.push(Takes::Queries);
        }
        let graph = |takes| Ok((Graph::load(folder, &graph_file, threads_each, &weights)?, takes));
        let graphs = takes.into_iter().map(graph).collect::<Result<Vec<_>>>()?;
        let workers = Workers::start("sensetree-onnx", graphs)
            .map_err(|e| Error::other(format!("start the inference threads of {}", folder.name()), e))?;
        tracing::debug!(model = folder.name(), precision = precision.name(), sessions, threads_each, max_tokens, "model loaded");
        let hash = hash(&weight_files)?;
        Ok(Self { name: folder.name().to_owned(), hash, precision, tokenizer, workers })
    }

    /// As [`load`](Self::load), on a thread where blocking is allowed.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub async fn load_elsewhere(folder: &ModelFolder, options: &ModelOptions) -> Result<Self> {
        let (sender, receiver) = futures::channel::oneshot::channel();
        let (owned, options) = (folder.clone(), options.clone());
        std::thread::Builder::new()
            .name("sensetree-load".into())
            // Whoever asked may have gone away; then nobody is left to tell.
            .spawn(move || sender.send(Self::load(&owned, &options)))
            .map_err(|e| Error::other("start a thread to load a model", e))?;
        receiver.await.map_err(|_| folder.broken("loading it panicked", None))?
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which graph runs.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The tokenizer, for callers that count tokens. Shared, so that they need not keep the model.
    pub fn tokenizer(&self) -> &Arc<TextTokenizer> {
        &self.tokenizer
    }

    /// BLAKE3 of the graph file and those where it keeps weights, in hexadecimal: what tells two revisions of a model apart.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Runs `work` on an inference thread as soon as its turn comes. Dropping the future takes it out of the queue.
    ///
    /// # Errors
    /// What `work` returns; [`Error::Contract`] when it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        urgency: Urgency,
        work: impl FnOnce(&mut Graph, &TextTokenizer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let tokenizer = self.tokenizer.clone();
        let answer = self.workers.submit(urgency, move |graph| work(graph, &tokenizer));
        match answer.await {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => Err(Error::contract(&self.name, format!("it panicked: {panic}"))),
            // The workers end only with the model, which this call borrows.
            Err(_) => Err(Error::contract(&self.name, "its inference threads have ended")),
        }
    }

    /// Runs `work` for each item, on all threads, and returns the results in the order of the items. The first error ends
    /// the call and takes what still waits out of the queue.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_each<I, T>(
        &self,
        urgency: Urgency,
        items: impl IntoIterator<Item = I>,
        work: impl Fn(I, &mut Graph, &TextTokenizer) -> Result<T> + Clone + Send + 'static,
    ) -> Result<Vec<T>>
    where
        I: Send + 'static,
        T: Send + 'static,
    {
        let runs = items.into_iter().map(|item| {
            let work = work.clone();
            self.run(urgency, move |graph, tokenizer| work(item, graph, tokenizer))
        });
        try_join_all(runs).await
    }
}

fn hash(files: &[PathBuf]) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for file in files {
        let reader = File::open(file).map_err(Error::io("read", file))?;
        hasher.update_reader(reader).map_err(Error::io("read", file))?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}
