//! Fetching models from the Hugging Face hub, or a mirror that speaks its protocol, into the hub's own cache folder.
//!
//! The cache has the layout, the locks and the names of `huggingface_hub`, so what other programs fetched is found, and the
//! other way round. Nothing in it is believed unseen: whenever a model is fetched or found there, its files are compared
//! with the checksums that the hub publishes (SHA-256 for large files, Git's SHA-1 for small ones). What is cut short or
//! altered is fetched again, and without the network it is named and refused. Comparing reads every file once, about one
//! second a gigabyte, off the executor.
//!
//! A cut download goes on where it stopped, also in the next process. Files become visible only when they are whole, and a
//! branch only points to a commit whose files are all there.
//!
//! The hub's variables are respected: `HF_ENDPOINT`, `HF_TOKEN`, `HF_TOKEN_PATH`, `HF_HUB_DISABLE_IMPLICIT_TOKEN`, `HF_HOME`,
//! `HF_HUB_CACHE` and `HF_HUB_OFFLINE`. Needs a tokio runtime with time and I/O.

mod cache;
mod environment;
mod remote;
mod repository;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use futures::future::try_join_all;
use sensetree_core::{Error, Result};

use self::{
    cache::{Cache, Trust, Unfit},
    remote::Remote,
    repository::Repository,
};
use crate::{
    ModelFolder, Precision,
    folder::{SMALL_FILES, TOKENIZER},
};

/// Whether the network may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// Use what the cache has without a request, and ask the hub only for what is missing. A model whose vectors are stored
    /// does not change behind their back.
    #[default]
    CacheFirst,
    /// Ask the hub what the revision is now; use the cache when it cannot be had.
    Online,
    /// Make no request: only what the cache has.
    Offline,
}

/// How far the download of one file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// The file's path in the repository.
    pub file: &'a str,
    /// How many of its bytes are here, those of an earlier try included.
    pub bytes: u64,
    /// Its size in bytes, when the hub says it.
    pub total: Option<u64>,
}

type OnProgress = Arc<dyn Fn(Progress<'_>) + Send + Sync>;

/// Where models come from, where they are kept, and what may be done to get them.
#[derive(Clone)]
pub struct Hub {
    endpoint: String,
    token: Option<String>,
    cache: Option<PathBuf>,
    access: Access,
    timeout: Duration,
    progress: Option<OnProgress>,
}

/// The folder of a repository such as `BAAI/bge-reranker-v2-m3`, with the graph of one precision, as the environment's
/// variables say. See [`Hub::fetch`]; `HF_HUB_OFFLINE` overrides `access`.
///
/// # Errors
/// As [`Hub::fetch`].
pub async fn fetch(model: &str, precision: Precision, access: Access) -> Result<ModelFolder> {
    let hub = Hub::new();
    let access = if hub.access == Access::Offline { Access::Offline } else { access };
    hub.with_access(access).fetch(model, precision).await
}

impl Hub {
    /// The hub that the environment's variables describe.
    #[expect(clippy::new_without_default, reason = "what depends on the environment is no default")]
    pub fn new() -> Self {
        environment::hub(|name| std::env::var(name).ok(), std::env::home_dir())
    }

    /// The hub's address, or a mirror's. Default: `HF_ENDPOINT`, else `https://huggingface.co`.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = endpoint.into();
        self
    }

    /// The access token, for private and gated models. It is sent to the endpoint and to no host that this redirects to, and
    /// never shown. Default: `HF_TOKEN`, else what the hub's own tools have stored.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The folder that holds `models--owner--name`. Default: `HF_HUB_CACHE`, else `hub` in `HF_HOME`, else
    /// `~/.cache/huggingface/hub`.
    #[must_use]
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Whether the network may be used. Default: [`Access::CacheFirst`], or [`Access::Offline`] when `HF_HUB_OFFLINE` is set.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// How long to wait for a connection, and for the next bytes of an answer. Default: 20 seconds.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Called after every piece of a download, from the task that fetches: it must return soon. Several files download at
    /// once; what the cache already has is not told.
    #[must_use]
    pub fn with_progress(mut self, progress: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// The folder of a model: `owner/name`, or `owner/name@revision` with a branch, a tag or a commit. Only what is read is
    /// fetched: the tokenizer, a few small files, and the graph of one precision with the files where it keeps weights.
    ///
    /// The folder belongs to one commit, [`ModelFolder::revision`]; later changes of a branch do not touch it.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when `model` or the endpoint is not well-formed, [`Error::ModelUnavailable`] when neither hub
    /// nor cache has it, [`Error::Model`] when it has no graph of that precision, a file is damaged, or a download keeps
    /// differing from its checksum, [`Error::Io`] when the cache cannot be written.
    pub async fn fetch(&self, model: &str, precision: Precision) -> Result<ModelFolder> {
        let repository = Repository::parse(model)?;
        let cache = self.cache.clone().ok_or_else(|| {
            Error::invalid("there is no home folder to keep models in; set HF_HOME to a folder of yours, or use with_cache")
        })?;
        let cache = Cache::new(cache, repository.clone());
        if self.access == Access::Offline {
            let found = cache.find(precision, Trust::Lenient).await?;
            return found.map_err(|unfit| unfit.refused(&repository, "allow the network once, or give a folder"));
        }
        if self.access == Access::CacheFirst || repository.is_pinned() {
            match cache.find(precision, Trust::Complete).await? {
                Ok(folder) => return Ok(folder),
                Err(unfit) => tracing::debug!(%repository, "not taken from the cache: {unfit}"),
            }
        }
        let failure = match self.download(&repository, &cache, precision).await {
            Ok(folder) => return Ok(folder),
            Err(failure) => failure,
        };
        match cache.find(precision, Trust::Lenient).await? {
            Ok(folder) => {
                tracing::warn!(%repository, "taken from the cache, which may be older than the hub: {}", failure.chain());
                Ok(folder)
            }
            Err(unfit @ Unfit::Damaged(_)) => Err(unfit.refused(&repository, &format!("fetching it again: {}", failure.chain()))),
            Err(Unfit::Missing(_)) => Err(failure),
        }
    }

    async fn download(&self, repository: &Repository, cache: &Cache, precision: Precision) -> Result<ModelFolder> {
        let remote = Remote::new(self, repository.clone())?;
        let listing = remote.listing().await?;
        if !listing.has(TOKENIZER) {
            let reason = format!("it publishes no {TOKENIZER}; save its fast tokenizer in that form, and give the folder");
            return Err(repository.unusable(reason));
        }
        let Some((graph, precision)) = precision.candidates().find(|(file, _)| listing.has(file)) else {
            return Err(self.no_graph(&remote, &listing, precision).await);
        };
        let small = SMALL_FILES.iter().copied().filter(|file| listing.has(file));
        let files = small.chain([graph.as_str()]);
        try_join_all(files.map(|file| self.ensure(&remote, cache, &listing, file))).await?;

        // Only the graph says where the rest of it is.
        let beside = cache.beside(&listing.commit, &graph).await?;
        if let Some(missing) = beside.iter().find(|file| !listing.has(file)) {
            return Err(repository.unusable(format!("{graph} keeps weights in {missing}, which the repository does not have")));
        }
        try_join_all(beside.iter().map(|file| self.ensure(&remote, cache, &listing, file))).await?;

        let wanted = SMALL_FILES.iter().map(|&file| file.to_owned()).chain(Precision::all().map(|(file, _)| file));
        cache.commit(&listing.commit, wanted.filter(|file| !listing.has(file))).await?;
        cache.folder(&listing.commit, precision)
    }

    /// Makes one file of the listing be in the cache, whole.
    async fn ensure(&self, remote: &Remote, cache: &Cache, listing: &remote::Listing, file: &str) -> Result<()> {
        let stamp = remote.stamp(listing, file).await?;
        let _turn = cache.lock(&stamp, self.timeout * 4).await?;
        if !cache.has(&stamp, file).await? {
            let partial = cache.partial(&stamp);
            let told = |bytes| {
                if let Some(progress) = &self.progress {
                    progress(Progress { file, bytes, total: stamp.size });
                }
            };
            remote.download(&listing.commit, file, &stamp, &partial, &told).await?;
            if let Err(first) = cache.keep(&stamp, file).await? {
                tracing::warn!(file, "fetched once more: {first}");
                remote.download(&listing.commit, file, &stamp, &partial, &told).await?;
                cache.keep(&stamp, file).await?.map_err(|why| {
                    remote.repository().unusable(format!("{why}, twice; the mirror or something on the way alters it"))
                })?;
            }
        }
        cache.show(&listing.commit, file, &stamp).await
    }

    async fn no_graph(&self, remote: &Remote, listing: &remote::Listing, wanted: Precision) -> Error {
        let repository = remote.repository();
        let mut others: Vec<_> = Precision::all().filter(|(file, _)| listing.has(file)).map(|(_, p)| p.name()).collect();
        others.dedup();
        if !others.is_empty() {
            let reason = format!("it publishes no {} ONNX graph, but {}; choose that", wanted.name(), others.join(" and "));
            return repository.unusable(reason);
        }
        let name = repository.name();
        let mut twins = Vec::new();
        for twin in [format!("onnx-community/{name}-ONNX"), format!("onnx-community/{name}"), format!("Xenova/{name}")] {
            if remote.has_graph(&twin).await {
                twins.push(twin);
            }
        }
        let export = format!("export one with `optimum-cli export onnx --model {} FOLDER` and give the folder", repository.id());
        repository.unusable(match twins.as_slice() {
            [] => format!("it publishes no ONNX graph; {export}"),
            twins => format!("it publishes no ONNX graph; {} has one, or {export}", twins.join(" and ")),
        })
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("endpoint", &remote::without_secrets(&self.endpoint))
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("cache", &self.cache)
            .field("access", &self.access)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
