//! The usual parts, opened as the settings say.

use std::{path::PathBuf, sync::Arc};

#[cfg(feature = "index")]
use sensetree_core::{ChunkUnit, Store};
use sensetree_core::{Embedder, Error, Result, ScoreScale};
use sensetree_embed::{ModelFolder, ModelOptions, OnnxEmbedder, Precision, runtime::cache_folder};
use sensetree_rerank::{CrossEncoder, LateInteraction, LazyReranker};
use sensetree_store::LanceStore;

#[cfg(feature = "index")]
use crate::SummarySettings;
use crate::{Pipeline, PipelineBuilder, RerankOrder, Settings};

/// The name of the reranker that needs no model of its own.
const LATE: &str = "late";

/// An ONNX embedder and a LanceDB store, opened as the settings say; what a program needs to index and to search.
#[derive(Debug, Clone)]
pub struct Engine {
    settings: Settings,
    embedder: Arc<OnnxEmbedder>,
    store: Arc<LanceStore>,
}

impl Engine {
    /// Loads the embedding model and opens the store, or makes it.
    ///
    /// # Errors
    /// [`Error::ModelUnavailable`] when the model is nowhere to be found, [`Error::InvalidInput`] for settings that make no
    /// sense, otherwise as [`OnnxEmbedder::load`] and [`LanceStore::open`].
    pub async fn open(settings: &Settings) -> Result<Self> {
        let embedder = load(settings).await?;
        let store = LanceStore::open(settings.store_folder()?, embedder.fingerprint()).await?;
        Ok(Self { settings: settings.clone(), embedder: Arc::new(embedder), store: Arc::new(store) })
    }

    /// As [`open`](Self::open), but a store that another model filled is embedded anew, from the texts that it holds: no file is read.
    ///
    /// The new vectors are gathered in a folder beside the store's, `NAME.rebuilding`, while the old ones go on to answer. When they
    /// are complete they take the old ones' place in one commit, and the folder is removed. Interrupted, it goes on where it stopped.
    /// One process at a time: of two, one may end with an error, and the store is whole all the same. Pipelines of the old model then report their dense leg as failed; open them anew.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`rebuild`](sensetree_index::rebuild).
    #[cfg(feature = "index")]
    pub async fn open_rebuilding(settings: &Settings, progress: impl FnMut(sensetree_index::Event) + Send) -> Result<Self> {
        let embedder = load(settings).await?;
        let place = settings.store_folder()?;
        let place = std::path::absolute(&place).map_err(Error::io("find the absolute path of", &place))?;
        let mut name = place.file_name().unwrap_or_default().to_owned();
        name.push(".rebuilding");
        let beside = place.with_file_name(name);
        let store = match LanceStore::open(&place, embedder.fingerprint()).await {
            Err(Error::FingerprintMismatch { .. }) => {
                let old = LanceStore::open_existing(&place).await?;
                let new = match LanceStore::open(&beside, embedder.fingerprint()).await {
                    // Somebody began to rebuild for a third model.
                    Err(Error::FingerprintMismatch { .. }) => {
                        remove(&beside)?;
                        LanceStore::open(&beside, embedder.fingerprint()).await?
                    }
                    new => new?,
                };
                sensetree_index::rebuild(&old, &new, &embedder, progress).await?;
                let store = old.take_over(&new).await?;
                store.maintain().await?;
                store
            }
            store => store?,
        };
        remove(&beside)?;
        Ok(Self { settings: settings.clone(), embedder: Arc::new(embedder), store: Arc::new(store) })
    }

    /// The embedder.
    pub fn embedder(&self) -> &Arc<OnnxEmbedder> {
        &self.embedder
    }

    /// The store, which is the sparse retriever as well.
    pub fn store(&self) -> &Arc<LanceStore> {
        &self.store
    }

    /// A pipeline over both legs with the reranker of the settings, to which parts can be added.
    ///
    /// A cross-encoder is loaded when it is first asked, with the feature `hub` after a download if need be, for which
    /// the settings' stage budget does not wait; while it cannot be had, pages keep the fused order and say why.
    pub fn pipeline(&self) -> PipelineBuilder {
        let retrieval = &self.settings.retrieval;
        let builder = Pipeline::builder(self.embedder.clone(), self.store.clone()).sparse(self.store.clone());
        let (builder, usual) = if retrieval.reranker_model == LATE {
            let recipe = self.embedder.recipe();
            let late = LateInteraction::new(self.embedder.model().clone());
            (builder.reranker(late.with_prefixes(&recipe.query_prefix, &recipe.passage_prefix)), RerankOrder::Blend)
        } else {
            let (name, options) = (retrieval.reranker_model.clone(), model_options(&self.settings));
            let load = move || cross_encoder(name.clone(), options.clone());
            (builder.reranker(LazyReranker::new(&*retrieval.reranker_model, ScoreScale::Logit, load)), RerankOrder::Score)
        };
        builder.rerank_order(usual).settings(&self.settings)
    }

    /// An indexer that fills the store.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when summaries are wanted from an endpoint that is no URL or with a key that is not there, or
    /// without the feature `http`.
    #[cfg(feature = "index")]
    pub fn indexer(&self) -> Result<sensetree_index::IndexerBuilder> {
        let indexing = &self.settings.indexing;
        let mut builder = sensetree_index::Indexer::builder(self.embedder.clone(), self.store.clone())
            .exclude(self.store.path())
            .hidden(indexing.hidden)
            .follow_links(indexing.follow_links)
            .chunk_unit(indexing.chunk_unit);
        if let Some(size) = indexing.chunk_size {
            let usual = match indexing.chunk_unit {
                ChunkUnit::Tokens => sensetree_index::DEFAULT_OVERLAP_TOKENS,
                _ => sensetree_index::DEFAULT_OVERLAP,
            };
            builder = builder.chunk_size(size).overlap((size.saturating_mul(3) / 20).min(usual));
        }
        if let Some(overlap) = indexing.overlap {
            builder = builder.overlap(overlap);
        }
        if let Some(size) = indexing.max_file_size {
            builder = builder.max_file_size(size);
        }
        if indexing.open_block_folders {
            builder = builder.block_folders::<String, String>([]);
        }
        match &indexing.summaries {
            Some(summaries) => Ok(builder.qualifier(qualifier(summaries)?)),
            None => Ok(builder),
        }
    }
}

#[cfg(all(feature = "index", feature = "http"))]
fn qualifier(summaries: &SummarySettings) -> Result<Arc<dyn sensetree_index::Qualifier>> {
    use sensetree_http::{ApiKey, ChatClient, HttpClient};
    let mut client = HttpClient::new(&summaries.endpoint)?;
    if let Some(variable) = &summaries.key_env {
        client = client.with_key(ApiKey::from_env(variable)?);
    }
    Ok(Arc::new(sensetree_index::ChatQualifier::new(ChatClient::new(client, &*summaries.model))))
}

#[cfg(all(feature = "index", not(feature = "http")))]
fn qualifier(_: &SummarySettings) -> Result<Arc<dyn sensetree_index::Qualifier>> {
    Err(Error::invalid("the settings ask for summaries, which needs the feature `http` of sensetree"))
}

async fn load(settings: &Settings) -> Result<OnnxEmbedder> {
    let precision = precision(&settings.embedding.precision)?;
    let folder = model_folder(&settings.embedding.model, precision).await?;
    OnnxEmbedder::load(&folder, &model_options(settings).with_precision(precision)).await
}

/// Removes a folder that may not be there.
#[cfg(feature = "index")]
fn remove(folder: &std::path::Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", folder)(e)),
        _ => Ok(()),
    }
}

impl Settings {
    /// The folder of the store that an [`Engine`] opens: `store`, or its default.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when there is no setting and no home folder.
    pub fn store_folder(&self) -> Result<PathBuf> {
        let usual = || cache_folder().map(|cache| cache.join("store"));
        self.store
            .clone()
            .or_else(usual)
            .ok_or_else(|| Error::invalid("there is no home folder; set SENSETREE_CACHE to a folder of yours"))
    }
}

impl Pipeline {
    /// The pipeline that the settings describe, over the store that they name. For a program that indexes as well: [`Engine`].
    ///
    /// # Errors
    /// As [`Engine::open`] and [`PipelineBuilder::build`].
    pub async fn from_settings(settings: &Settings) -> Result<Self> {
        Engine::open(settings).await?.pipeline().build()
    }
}

fn precision(name: &str) -> Result<Precision> {
    let known = [Precision::Auto, Precision::Fp32, Precision::Fp16, Precision::Int8];
    known
        .into_iter()
        .find(|precision| precision.name() == name)
        .ok_or_else(|| Error::invalid(format!("there is no precision {name:?}; one of these is: auto, fp32, fp16, int8")))
}

fn model_options(settings: &Settings) -> ModelOptions {
    match settings.embedding.threads {
        Some(threads) => ModelOptions::default().with_threads(threads),
        None => ModelOptions::default(),
    }
}

/// The model's files: in a folder, in sensetree's cache, or on the hub.
async fn model_folder(name: &str, precision: Precision) -> Result<ModelFolder> {
    let named = PathBuf::from(name);
    let here = [Some(named), cache_folder().map(|cache| cache.join("models").join(name))];
    match here.into_iter().flatten().find(|folder| folder.is_dir()) {
        Some(folder) => ModelFolder::open(folder),
        None => from_hub(name, precision).await,
    }
}

#[cfg(feature = "hub")]
async fn from_hub(name: &str, precision: Precision) -> Result<ModelFolder> {
    use sensetree_embed::hub::{Access, fetch};
    let known = REPOSITORIES.iter().find(|repository| repository.rsplit('/').next().is_some_and(|model| is_called(model, name)));
    match known {
        Some(repository) => fetch(repository, precision, Access::CacheFirst).await,
        None if name.contains('/') => fetch(name, precision, Access::CacheFirst).await,
        None => {
            let hint = "no such folder, none in `models` of sensetree's cache, and no model that is known by this name; a repository \
                        of the hub is named with its owner, such as BAAI/bge-reranker-base";
            Err(Error::ModelUnavailable { model: name.to_owned(), hint: hint.to_owned() })
        }
    }
}

/// Where published graphs are of models that people call without an owner.
#[cfg(feature = "hub")]
const REPOSITORIES: [&str; 4] = [
    "sentence-transformers/all-MiniLM-L6-v2",
    "onnx-community/bge-reranker-v2-m3-ONNX",
    "BAAI/bge-reranker-base",
    "jinaai/jina-reranker-v2-base-multilingual",
];

#[cfg(feature = "hub")]
fn is_called(model: &str, name: &str) -> bool {
    model.trim_end_matches("-ONNX") == name
}

#[cfg(not(feature = "hub"))]
async fn from_hub(name: &str, _: Precision) -> Result<ModelFolder> {
    let hint = "no such folder, and none in `models` of sensetree's cache; name a folder that holds it, or build with the \
                feature `hub` to fetch it";
    Err(Error::ModelUnavailable { model: name.to_owned(), hint: hint.to_owned() })
}

async fn cross_encoder(name: String, options: ModelOptions) -> Result<CrossEncoder> {
    CrossEncoder::load(&model_folder(&name, Precision::Auto).await?, &options).await
}
