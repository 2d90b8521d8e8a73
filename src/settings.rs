//! The switches that a program's own settings page would show.

use serde::{Deserialize, Serialize};

/// Settings of search and indexing, for a file in JSON, TOML or any other format with a serde implementation.
///
/// Unknown keys are refused, so a misspelt one is noticed. What is left out has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Settings {
    /// How files are found.
    pub retrieval: RetrievalSettings,
    /// How files are cut up.
    pub indexing: IndexingSettings,
}

/// How files are found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RetrievalSettings {
    /// Both legs; off: by meaning only, which loses exact words. Default: on.
    pub hybrid: bool,
    /// Rerank the best candidates; off: faster, less precise. Default: on.
    pub rerank: bool,
    /// Which cross-encoder: a name, a folder, or a repository of the hub. Default: `bge-reranker-v2-m3`. For the program that
    /// loads it: [`PipelineBuilder::settings`](crate::PipelineBuilder::settings) takes the reranker that it was given.
    pub reranker_model: String,
}

impl Default for RetrievalSettings {
    fn default() -> Self {
        Self { hybrid: true, rerank: true, reranker_model: "bge-reranker-v2-m3".into() }
    }
}

/// How files are cut up. Hand the values to the builder of the indexer; a change holds for files that are indexed afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct IndexingSettings {
    /// The most characters of a chunk. Default: 1000.
    pub chunk_size: usize,
    /// Characters that neighbouring chunks share; less than `chunk_size`. Default: 150.
    pub overlap: usize,
}

impl Default for IndexingSettings {
    fn default() -> Self {
        Self { chunk_size: 1000, overlap: 150 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_refused_and_a_missing_one_has_its_default() {
        let settings: Settings = serde_json::from_str(r#"{"retrieval": {"rerank": false}}"#).expect("known keys");
        assert!(settings.retrieval.hybrid && !settings.retrieval.rerank);
        let misspelt = serde_json::from_str::<Settings>(r#"{"retrieval": {"rerankk": false}}"#);
        assert!(misspelt.expect_err("an unknown key").to_string().contains("rerankk"));
    }
}
