//! What a model needs around its graph.

use std::collections::BTreeMap;

use sensetree_core::Result;
use sensetree_onnx::ModelFolder;
use serde::{Deserialize, Serialize};

use crate::Pooling;

/// Prefixes, pooling and normalisation of an embedding model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Recipe {
    /// How token states become a vector.
    pub pooling: Pooling,
    /// Whether vectors are scaled to length 1.
    pub normalize: bool,
    /// Put before a question.
    pub query_prefix: String,
    /// Put before a passage.
    pub passage_prefix: String,
}

#[derive(Deserialize)]
struct PoolingFile {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
    #[serde(default)]
    pooling_mode_lasttoken: bool,
}

#[derive(Deserialize)]
struct Module {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Deserialize)]
struct SentenceTransformers {
    #[serde(default)]
    prompts: BTreeMap<String, String>,
}

impl Recipe {
    /// Reads `1_Pooling/config.json`, `modules.json` and `config_sentence_transformers.json`; what they leave open is taken
    /// from a small catalogue by the model's name, then mean pooling without prefixes.
    ///
    /// # Errors
    /// [`Error::Model`](sensetree_core::Error::Model) for a damaged file, or a model with a step that this library does not have.
    pub fn read(folder: &ModelFolder) -> Result<Self> {
        let known = catalogue(folder.name());
        let pooling = match folder.json::<PoolingFile>("1_Pooling/config.json")? {
            None => known.pooling,
            Some(file) if file.pooling_mode_cls_token => Pooling::Cls,
            Some(file) if file.pooling_mode_lasttoken => Pooling::LastToken,
            Some(file) if file.pooling_mode_mean_tokens => Pooling::Mean,
            Some(_) => {
                return Err(
                    folder.broken("its 1_Pooling/config.json asks for a pooling other than mean, cls or last token", None)
                );
            }
        };
        let modules = folder.json::<Vec<Module>>("modules.json")?;
        let has = |name: &str| modules.as_ref().is_some_and(|all| all.iter().any(|m| m.kind.ends_with(name)));
        if has(".Dense") {
            return Err(folder.broken("its modules.json has a Dense layer after pooling, which is not in the graph", None));
        }
        let prompts = folder.json::<SentenceTransformers>("config_sentence_transformers.json")?.unwrap_or_default().prompts;
        let prompt = |names: &[&str], known: &str| {
            let own = names.iter().find_map(|&name| prompts.get(name).filter(|prompt| !prompt.is_empty()));
            own.map_or(known, String::as_str).to_owned()
        };
        Ok(Self {
            pooling,
            normalize: modules.is_none() || has(".Normalize"),
            query_prefix: prompt(&["query", "web_search_query"], known.query_prefix),
            passage_prefix: prompt(&["passage", "document"], known.passage_prefix),
        })
    }
}

struct Known {
    pooling: Pooling,
    query_prefix: &'static str,
    passage_prefix: &'static str,
}

/// What model cards say and files do not. Matched on the name in lower case, first hit wins.
fn catalogue(name: &str) -> Known {
    const BGE_EN: &str = "Represent this sentence for searching relevant passages: ";
    let name = name.to_lowercase();
    let has = |part: &str| name.contains(part);
    let entry = |pooling, query_prefix, passage_prefix| Known { pooling, query_prefix, passage_prefix };
    if has("e5") && !has("instruct") {
        return entry(Pooling::Mean, "query: ", "passage: ");
    }
    if has("nomic-embed-text") {
        return entry(Pooling::Mean, "search_query: ", "search_document: ");
    }
    if has("bge") && has("en-v1.5") || has("mxbai-embed") {
        return entry(Pooling::Cls, BGE_EN, "");
    }
    if has("bge") || has("gte-multilingual") || has("arctic-embed") {
        let query = if has("arctic-embed") { BGE_EN } else { "" };
        return entry(Pooling::Cls, query, "");
    }
    entry(Pooling::Mean, "", "")
}
