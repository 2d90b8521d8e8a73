//! Fetching models from the Hugging Face hub, or a mirror that speaks its protocol, into the hub's own cache folder.
//!
//! The cache is shared with every other program that uses the hub's clients. `HF_ENDPOINT`, `HF_TOKEN` and `HF_HOME` are
//! respected. Needs a tokio runtime.

use hf_hub::{HFClient, HFError};
use sensetree_core::{Error, Result};

use crate::{ModelFolder, Precision};

/// What is fetched besides the graph.
const SMALL_FILES: [&str; 3] = ["*.json", "1_Pooling/config.json", "onnx/*.json"];

/// Whether the network may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// Ask the hub; fall back to the cache when it cannot be reached.
    #[default]
    Online,
    /// Make no request: only what the cache has.
    Offline,
}

/// The folder of a repository such as `BAAI/bge-reranker-v2-m3`, with the graph of one precision.
///
/// # Errors
/// [`Error::InvalidInput`] when `repository` is not `owner/name`, [`Error::ModelUnavailable`] when neither hub nor cache has it,
/// [`Error::Model`] when it has no graph of that precision.
pub async fn fetch(repository: &str, precision: Precision, access: Access) -> Result<ModelFolder> {
    let Some((owner, name)) = repository.split_once('/') else {
        return Err(Error::invalid(format!("{repository:?} is not a repository of the hub; write owner/name")));
    };
    let unavailable = |e: HFError| Error::ModelUnavailable {
        model: repository.to_owned(),
        hint: match access {
            Access::Offline => format!("it is not in the cache ({e}); allow the network once, or give a folder"),
            Access::Online => format!("it cannot be fetched ({e}); check the network and the name, or give a folder"),
        },
    };
    let client = HFClient::new().map_err(unavailable)?;
    let snapshot = async |precision: Precision, offline: bool| {
        let graphs = precision.file_names().iter().flat_map(|graph| ["", "onnx/"].map(|folder| format!("{folder}{graph}*")));
        let patterns = SMALL_FILES.iter().map(|&file| file.to_owned()).chain(graphs).collect::<Vec<_>>();
        client.model(owner, name).snapshot_download().allow_patterns(patterns).local_files_only(offline).send().await
    };
    let online = access == Access::Online;
    for &candidate in precision.order() {
        let path = match snapshot(candidate, !online).await {
            Err(e) if online => snapshot(candidate, true).await.map_err(|_| unavailable(e))?,
            other => other.map_err(unavailable)?,
        };
        let folder = ModelFolder::named(path, repository)?;
        if folder.graph(candidate).is_ok() {
            return Ok(folder);
        }
    }
    Err(Error::Model {
        model: repository.to_owned(),
        reason: format!(
            "it publishes no {} ONNX graph; choose another precision, or export one and give its folder",
            precision.name()
        ),
        source: None,
    })
}
