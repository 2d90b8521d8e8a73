//! A model's files, and what they say.

mod external;

use std::path::{Component, Path, PathBuf};

use sensetree_core::{Error, Result};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Which of a model's graphs to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Precision {
    /// The 8-bit graph when the model has one (on CPUs about twice as fast, at almost the same quality), otherwise fp32.
    #[default]
    Auto,
    /// 32-bit floats.
    Fp32,
    /// 16-bit floats.
    Fp16,
    /// 8-bit integers.
    Int8,
}

impl Precision {
    /// The names under which a graph of this precision is published, most usual first.
    fn file_names(self) -> &'static [&'static str] {
        match self {
            Self::Fp32 => &["model.onnx"],
            Self::Fp16 => &["model_fp16.onnx"],
            Self::Int8 if cfg!(target_arch = "aarch64") => &["model_int8.onnx", "model_qint8_arm64.onnx", "model_quantized.onnx"],
            Self::Int8 => &["model_int8.onnx", "model_quantized.onnx", "model_qint8_avx512_vnni.onnx", "model_quint8_avx2.onnx"],
            Self::Auto => &[],
        }
    }

    /// The precisions that this stands for, best first.
    fn order(self) -> &'static [Self] {
        match self {
            Self::Auto => &[Self::Int8, Self::Fp32, Self::Fp16],
            Self::Fp32 => &[Self::Fp32],
            Self::Fp16 => &[Self::Fp16],
            Self::Int8 => &[Self::Int8],
        }
    }

    /// The files that may hold the graph, and the precision of each: best first.
    pub(crate) fn candidates(self) -> impl Iterator<Item = (String, Self)> {
        self.order()
            .iter()
            .flat_map(|&p| p.file_names().iter().flat_map(move |name| [(format!("onnx/{name}"), p), ((*name).to_owned(), p)]))
    }

    /// The candidates of every precision.
    #[cfg(feature = "hub")]
    pub(crate) fn all() -> impl Iterator<Item = (String, Self)> {
        [Self::Fp32, Self::Fp16, Self::Int8].into_iter().flat_map(Self::candidates)
    }

    /// The short name: fp32, fp16, int8.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Fp32 => "fp32",
            Self::Fp16 => "fp16",
            Self::Int8 => "int8",
        }
    }
}

/// A folder laid out like a model repository on the hub: `tokenizer.json`, `config.json`, graphs at the top or in `onnx/`.
#[derive(Debug, Clone)]
pub struct ModelFolder {
    path: PathBuf,
    name: String,
    revision: Option<String>,
}

/// What is read of a model beside its graph. Only the tokenizer must be there.
#[cfg(feature = "hub")]
pub(crate) const SMALL_FILES: [&str; 7] = [
    TOKENIZER,
    "config.json",
    "tokenizer_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
];

/// The one of them that no model can do without.
pub(crate) const TOKENIZER: &str = "tokenizer.json";

impl ModelFolder {
    /// A folder on this machine.
    ///
    /// # Errors
    /// [`Error::ModelUnavailable`] when there is no such folder, [`Error::Model`] when it has no `tokenizer.json`.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Self::named(path, name)
    }

    /// A folder whose name says nothing, such as a snapshot in a cache.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn named(path: impl Into<PathBuf>, name: impl Into<String>) -> Result<Self> {
        let folder = Self { path: path.into(), name: name.into(), revision: None };
        if !folder.path.is_dir() {
            return Err(Error::ModelUnavailable {
                model: folder.name,
                hint: format!("there is no folder {}; download the model there, or give another folder", folder.path.display()),
            });
        }
        if !folder.file(TOKENIZER).is_file() {
            return Err(folder.broken(format!("{TOKENIZER} is missing"), None));
        }
        Ok(folder)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The model's name, for reports and fingerprints.
    pub fn name(&self) -> &str {
        &self.name
    }

    #[cfg(feature = "hub")]
    pub(crate) fn at_revision(mut self, commit: impl Into<String>) -> Self {
        self.revision = Some(commit.into());
        self
    }

    /// The commit that the files are from, when they came from the hub.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// A file of the folder, which may not be there.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The graph of a precision, and that precision: [`Precision::Auto`] is decided here.
    ///
    /// # Errors
    /// [`Error::Model`] naming what was looked for.
    pub fn graph(&self, precision: Precision) -> Result<(PathBuf, Precision)> {
        for (name, precision) in precision.candidates() {
            let file = self.file(&name);
            if file.is_file() {
                return Ok((file, precision));
            }
        }
        let looked = precision.candidates().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
        Err(self.broken(format!("it has no {} graph; looked in {} for {looked}", precision.name(), self.path.display()), None))
    }

    /// All files that a graph is made of: its own, then those where it keeps weights, in the order of their names.
    ///
    /// # Errors
    /// [`Error::Model`] when the graph cannot be read, or names a file outside of its folder. Whether they exist is not asked.
    pub fn graph_files(&self, graph: &Path) -> Result<Vec<PathBuf>> {
        let name = graph.file_name().unwrap_or(graph.as_os_str()).to_string_lossy();
        let locations = external::locations(graph)
            .map_err(|e| self.broken(format!("{name} cannot be read; it may be cut short, fetch it again"), Some(e.into())))?;
        let mut files = vec![graph.to_owned()];
        for location in locations {
            if !Path::new(&location).components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(self.broken(format!("{name} keeps weights in {location:?}, which is not in its folder"), None));
            }
            files.push(graph.with_file_name(location));
        }
        Ok(files)
    }

    /// A JSON file of the folder; None when it is not there.
    ///
    /// # Errors
    /// [`Error::Model`] naming the file when it cannot be read or is not what was expected.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let text = match std::fs::read(self.file(name)) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(self.broken(format!("{name} cannot be read"), Some(e.into()))),
        };
        serde_json::from_slice(&text).map(Some).map_err(|e| self.broken(format!("{name} is damaged"), Some(e.into())))
    }

    /// The most tokens that the model can read, special tokens included: the smallest of what its files say.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn max_tokens(&self) -> Result<usize> {
        #[derive(Deserialize)]
        struct SentenceBert {
            max_seq_length: Option<usize>,
        }
        #[derive(Deserialize)]
        struct Tokenizer {
            // A huge float stands for "no limit" in many published files.
            model_max_length: Option<f64>,
        }
        #[derive(Deserialize)]
        struct Config {
            max_position_embeddings: Option<usize>,
            model_type: Option<String>,
            pad_token_id: Option<usize>,
        }
        let from_bert = self.json::<SentenceBert>("sentence_bert_config.json")?.and_then(|c| c.max_seq_length);
        let from_tokenizer = self.json::<Tokenizer>("tokenizer_config.json")?.and_then(|c| c.model_max_length);
        let from_positions = self.json::<Config>("config.json")?.and_then(|config| {
            // RoBERTa-shaped models number positions from the padding token's id + 1.
            let roberta = config.model_type.is_some_and(|kind| kind.contains("roberta"));
            let reserved = if roberta { config.pad_token_id.unwrap_or(1) + 1 } else { 0 };
            Some(config.max_position_embeddings?.saturating_sub(reserved))
        });
        let from_tokenizer = from_tokenizer.filter(|&n| (1.0..1e6).contains(&n)).map(|n| n as usize);
        let smallest = [from_bert, from_tokenizer, from_positions].into_iter().flatten().filter(|&n| n > 0).min();
        Ok(smallest.unwrap_or(DEFAULT_MAX_TOKENS))
    }

    /// An [`Error::Model`] about this model.
    pub fn broken(&self, reason: impl Into<String>, source: Option<sensetree_core::BoxError>) -> Error {
        Error::Model { model: self.name.clone(), reason: format!("{} ({})", reason.into(), self.path.display()), source }
    }
}

/// For models whose files say nothing: what BERT was trained with.
const DEFAULT_MAX_TOKENS: usize = 512;
