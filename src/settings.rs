//! The switches that a program's own settings page would show.

use std::{num::NonZero, path::Path, path::PathBuf, time::Duration};

use sensetree_core::{ChunkUnit, Error, Result};
use sensetree_fusion::FusionRule;
use serde::{Deserialize, Serialize};

use crate::RerankOrder;

/// Settings of search and indexing, for a file in TOML or JSON.
///
/// Unknown keys are refused, so a misspelt one is noticed. What is left out has its default.
///
/// ```
/// use sensetree::Settings;
///
/// let settings = Settings::from_toml(r#"
///     [retrieval]
///     rerank = false
///     fusion = { rule = "min-max", alpha = 0.6 }
///
///     [indexing]
///     chunk_size = 800
/// "#)?;
/// assert!(settings.retrieval.hybrid && !settings.retrieval.rerank);
/// # Ok::<(), sensetree::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Settings {
    /// The folder of the store. Default: `store` in sensetree's cache folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<PathBuf>,
    /// Which model makes the vectors.
    pub embedding: EmbeddingSettings,
    /// How files are found.
    pub retrieval: RetrievalSettings,
    /// How files are cut up.
    pub indexing: IndexingSettings,
}

/// Which model makes the vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct EmbeddingSettings {
    /// A folder, the name of a folder in `models` of sensetree's cache, or a repository of the Hugging Face hub. Default:
    /// `all-MiniLM-L6-v2`.
    pub model: String,
    /// `auto`, `fp32`, `fp16` or `int8`. Default: `auto`, the fastest that the model's files hold.
    pub precision: String,
    /// Threads for the models. Default: as many as the machine runs at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<NonZero<usize>>,
}

const PRECISIONS: [&str; 4] = ["auto", "fp32", "fp16", "int8"];

impl Default for EmbeddingSettings {
    fn default() -> Self {
        Self { model: "all-MiniLM-L6-v2".into(), precision: "auto".into(), threads: None }
    }
}

/// How files are found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct RetrievalSettings {
    /// Both legs; off: by meaning only, which loses exact words. Default: on.
    pub hybrid: bool,
    /// Rerank the best candidates; off: faster, less precise. Default: on.
    pub rerank: bool,
    /// Which reranker: `late` reads the embedding model's token states and needs no second model; anything else is a
    /// cross-encoder: a folder, the name of a folder in `models` of sensetree's cache, a name such as `bge-reranker-base`, or a
    /// repository of the hub. Default: `bge-reranker-v2-m3`.
    pub reranker_model: String,
    /// What the reranker's scores do to the order. Default: `score` for a cross-encoder, `blend` for `late`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_order: Option<RerankOrder>,
    /// How the legs are merged. Default: reciprocal rank fusion, k = 60, both legs alike.
    pub fusion: FusionRule,
    /// How many chunks of one file may be reranked while other files wait. Default: 3.
    pub chunks_per_file: NonZero<usize>,
    /// Milliseconds that each stage may take. Default: as long as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_budget_ms: Option<NonZero<u64>>,
}

impl RetrievalSettings {
    pub(crate) fn stage_budget(&self) -> Option<Duration> {
        self.stage_budget_ms.map(|ms| Duration::from_millis(ms.get()))
    }
}

impl Default for RetrievalSettings {
    fn default() -> Self {
        Self {
            hybrid: true,
            rerank: true,
            reranker_model: "bge-reranker-v2-m3".into(),
            rerank_order: None,
            fusion: FusionRule::default(),
            chunks_per_file: crate::pipeline::CHUNKS_PER_FILE,
            stage_budget_ms: None,
        }
    }
}

/// How files are cut up. A change holds for files that are indexed afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct IndexingSettings {
    /// What `chunk_size` and `overlap` count: `characters`, or `tokens` of the embedding model. Default: `characters`.
    pub chunk_unit: ChunkUnit,
    /// The most characters, or tokens, of a chunk, at least 1. Default: the indexer's, 1000 characters or 200 tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_size: Option<usize>,
    /// Characters, or tokens, that neighbouring chunks share; less than `chunk_size`. Default: 15 % of `chunk_size`, and at most the
    /// indexer's, 150 characters or 30 tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap: Option<usize>,
    /// Bytes above which a file is findable by name only. Default: the indexer's, 20 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_file_size: Option<u64>,
    /// Index hidden files and folders too. Default: no.
    pub hidden: bool,
    /// Follow links. Default: no.
    pub follow_links: bool,
    /// Index folders such as `node_modules` file by file instead of as one document. Default: no.
    pub open_block_folders: bool,
    /// Who summarises documents, so that they are found by what they are about. Default: nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summaries: Option<SummarySettings>,
}

/// Who summarises documents: a chat model behind an OpenAI-compatible API, to which the start of every document goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SummarySettings {
    /// The base URL, such as `http://localhost:11434/v1`.
    pub endpoint: String,
    /// The chat model's name.
    pub model: String,
    /// The environment variable that holds the API's key. Default: no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
}

impl SummarySettings {
    /// Summaries by this model behind this base URL, without a key.
    pub fn new(endpoint: impl Into<String>, model: impl Into<String>) -> Self {
        Self { endpoint: endpoint.into(), model: model.into(), key_env: None }
    }
}

impl Settings {
    /// Reads settings written in TOML.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] with the line and the key that is not known or has a value of the wrong kind.
    pub fn from_toml(text: &str) -> Result<Self> {
        let settings = toml::from_str(text);
        Self::check(settings.map_err(|e| Error::invalid(format!("the settings cannot be read: {}", e.to_string().trim_end())))?)
    }

    /// Reads settings written in JSON.
    ///
    /// # Errors
    /// As [`from_toml`](Self::from_toml).
    pub fn from_json(text: &str) -> Result<Self> {
        Self::check(serde_json::from_str(text).map_err(|e| Error::invalid(format!("the settings cannot be read: {e}")))?)
    }

    /// Numbers out of range are told here rather than when a pipeline is built.
    fn check(self) -> Result<Self> {
        self.retrieval.fusion.build()?;
        let precision = &self.embedding.precision;
        if !PRECISIONS.contains(&precision.as_str()) {
            let known = PRECISIONS.join(", ");
            return Err(Error::invalid(format!("there is no precision {precision:?}; one of these is: {known}")));
        }
        let (unit, usual) = match self.indexing.chunk_unit {
            ChunkUnit::Tokens => ("tokens", 200),
            _ => ("characters", 1000),
        };
        match (self.indexing.chunk_size, self.indexing.overlap) {
            (Some(0), _) => {
                Err(Error::invalid(format!("a chunk_size of 0 {unit} leaves no room for text; {usual} is the default")))
            }
            (Some(size), Some(overlap)) if overlap >= size => {
                Err(Error::invalid(format!("an overlap of {overlap} in chunks of {size} {unit} makes no progress; choose less")))
            }
            _ => Ok(self),
        }
    }

    /// Reads a file, in JSON when its name ends in `.json`, in TOML otherwise.
    ///
    /// # Errors
    /// [`Error::Io`] when it cannot be read, otherwise as [`from_toml`](Self::from_toml), with the file's name.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(Error::io("read the settings in", path))?;
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let settings = if is_json { Self::from_json(&text) } else { Self::from_toml(&text) };
        settings.map_err(|e| Error::invalid(format!("{}: {e}", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_refused_and_a_missing_one_has_its_default() {
        let settings = Settings::from_json(r#"{"retrieval": {"rerank": false}}"#).expect("known keys");
        assert!(settings.retrieval.hybrid && !settings.retrieval.rerank);
        assert_eq!(settings, Settings::from_toml("[retrieval]\nrerank = false").expect("known keys"));
        assert_eq!(Settings::from_toml("").expect("nothing is needed"), Settings::default());
        for (section, key) in [("retrieval", "rerankk"), ("indexing", "chunksize"), ("embedding", "modell"), ("x", "y")] {
            let toml = Settings::from_toml(&format!("[{section}]\n{key} = 1")).expect_err("an unknown key").to_string();
            let json =
                Settings::from_json(&format!(r#"{{"{section}": {{"{key}": 1}}}}"#)).expect_err("an unknown key").to_string();
            for error in [toml, json] {
                assert!(error.contains(if section == "x" { section } else { key }), "{error}");
            }
        }
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_its_name() {
        let fusion = Settings::from_toml("[retrieval]\nfusion = { rule = \"rrf\", alpha = 1.5 }")
            .expect_err("a weight above 1")
            .to_string();
        assert!(fusion.contains("1.5"), "{fusion}");
        let precision = Settings::from_toml("[embedding]\nprecision = \"fp33\"").expect_err("no such precision").to_string();
        assert!(precision.contains("fp33") && precision.contains("int8"), "{precision}");
        let overlap = Settings::from_toml("[indexing]\nchunk_size = 100\noverlap = 100").expect_err("no progress").to_string();
        assert!(overlap.contains("overlap of 100"), "{overlap}");
        Settings::from_toml("[indexing]\nchunk_size = 0").expect_err("no room");
        let share = Settings::from_toml("[retrieval]\nchunks_per_file = 0").expect_err("no chunk at all").to_string();
        assert!(share.contains("chunks_per_file"), "{share}");
    }

    #[test]
    fn chunks_are_measured_in_characters_unless_tokens_are_asked_for() {
        assert_eq!(Settings::default().indexing.chunk_unit, ChunkUnit::Characters);
        let tokens = Settings::from_toml("[indexing]\nchunk_unit = \"tokens\"\nchunk_size = 200").expect("known keys");
        assert_eq!(tokens.indexing.chunk_unit, ChunkUnit::Tokens);
        assert_eq!(
            tokens,
            Settings::from_json(r#"{"indexing": {"chunk_unit": "tokens", "chunk_size": 200}}"#).expect("known keys")
        );
        let unknown = Settings::from_toml("[indexing]\nchunk_unit = \"words\"").expect_err("no such unit").to_string();
        assert!(unknown.contains("words") && unknown.contains("tokens"), "{unknown}");
        let overlap =
            Settings::from_toml("[indexing]\nchunk_unit = \"tokens\"\nchunk_size = 30\noverlap = 30").expect_err("no progress");
        assert!(overlap.to_string().contains("30 tokens"), "{overlap}");
    }

    #[test]
    fn settings_survive_both_formats() {
        let mut settings = Settings { store: Some("/x".into()), ..Settings::default() };
        settings.retrieval.rerank_order = Some(RerankOrder::Blend);
        settings.indexing.chunk_size = Some(500);
        settings.indexing.chunk_unit = ChunkUnit::Tokens;
        settings.indexing.summaries = Some(SummarySettings::new("http://localhost/v1", "qwen3"));
        let toml = toml::to_string(&settings).expect("settings are serialisable");
        assert_eq!(Settings::from_toml(&toml).expect("what was written"), settings, "{toml}");
        let json = serde_json::to_string(&settings).expect("settings are serialisable");
        assert_eq!(Settings::from_json(&json).expect("what was written"), settings);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("search.toml");
        assert!(Settings::read(&path).expect_err("not there").chain().contains("search.toml"));
        std::fs::write(&path, "[retrieval]\nhybird = true").expect("a file is written");
        let error = Settings::read(&path).expect_err("a misspelt key").chain();
        assert!(error.contains("search.toml") && error.contains("hybird"), "{error}");
    }
}
