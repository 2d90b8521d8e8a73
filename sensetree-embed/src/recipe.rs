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
    /// Reads `1_Pooling/config.json`, `modules.json` and `config_sentence_transformers.json`. What they leave open is taken
    /// from the [catalogue](Self::catalogue) by the model's name. A model in neither has mean pooling, length 1 and no prefixes.
    ///
    /// # Errors
    /// [`Error::Model`](sensetree_core::Error::Model) for a damaged file, or a model with a step that this library does not have.
    pub fn read(folder: &ModelFolder) -> Result<Self> {
        let known = known(folder.name());
        let pooling = match folder.json::<PoolingFile>("1_Pooling/config.json")? {
            None => known.map_or(Pooling::Mean, |model| model.pooling),
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
            query_prefix: prompt(&["query", "web_search_query"], known.map_or("", |model| model.query_prefix)),
            passage_prefix: prompt(&["passage", "document"], known.map_or("", |model| model.passage_prefix)),
        })
    }

    /// What is known of models whose files do not say everything, first match first.
    pub fn catalogue() -> &'static [KnownModel] {
        &CATALOGUE
    }
}

/// What model cards say of a family of models, and its files may not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownModel {
    /// The parts that the name of each of its models has, without upper case.
    pub name_has: &'static [&'static str],
    /// How token states become a vector.
    pub pooling: Pooling,
    /// Put before a question.
    pub query_prefix: &'static str,
    /// Put before a passage.
    pub passage_prefix: &'static str,
    /// The most tokens it was trained to read; the smallest of the family.
    pub max_tokens: usize,
    /// Whether it is for more than one or two languages.
    pub multilingual: bool,
    /// Repositories of the hub with ONNX graphs of it.
    pub repositories: &'static [&'static str],
}

fn known(name: &str) -> Option<&'static KnownModel> {
    // The owner says nothing about the model.
    let name = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let words: Vec<&str> = name.split(['-', '_']).collect();
    let has = |part: &str| if part.contains('-') { name.contains(part) } else { words.contains(&part) };
    if OTHERS.iter().any(|part| has(part)) {
        return None;
    }
    CATALOGUE.iter().find(|model| model.name_has.iter().all(|part| has(part)))
}

/// Decoders that share a name with the encoders below and nothing else.
const OTHERS: [&str; 4] = ["mistral", "icl", "gemma2", "qwen2"];

const RETRIEVAL_EN: &str = "Represent this sentence for searching relevant passages: ";
const RETRIEVAL_ZH: &str = "为这个句子生成表示以用于检索相关文章：";
const INSTRUCT: &str = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ";

/// Prefixes, lengths and languages are those of the model cards, as the MTEB benchmark records them for its runs (`mteb` 2.26,
/// `models/model_implementations`). Pooling is the model cards', as in the list of fastembed 7.7; there is no such list for
/// jina-v2 in other languages than English, gte-modernbert, arctic 2.0 and E5 instruct, whose cards say it. Repositories
/// are those that fastembed or published programs load graphs from.
///
/// Not here: jina-embeddings-v3, whose graph wants a task number; decoders (Qwen3, gte-Qwen, e5-mistral, bge-en-icl), whose
/// graphs want a cache of keys and values; models with dense layers after pooling (EmbeddingGemma, unless pooled in the graph).
static CATALOGUE: [KnownModel; 19] = [
    KnownModel {
        name_has: &["e5", "instruct"],
        pooling: Pooling::Mean,
        query_prefix: INSTRUCT,
        passage_prefix: "",
        max_tokens: 512,
        multilingual: true,
        repositories: &[],
    },
    KnownModel {
        name_has: &["multilingual-e5"],
        pooling: Pooling::Mean,
        query_prefix: "query: ",
        passage_prefix: "passage: ",
        max_tokens: 512,
        multilingual: true,
        repositories: &[
            "intfloat/multilingual-e5-small",
            "intfloat/multilingual-e5-base",
            "Qdrant/multilingual-e5-large-onnx",
            "Xenova/multilingual-e5-small",
        ],
    },
    KnownModel {
        name_has: &["e5"],
        pooling: Pooling::Mean,
        query_prefix: "query: ",
        passage_prefix: "passage: ",
        max_tokens: 512,
        multilingual: false,
        repositories: &["Xenova/e5-small-v2", "Xenova/e5-base-v2"],
    },
    KnownModel {
        name_has: &["bge", "m3"],
        pooling: Pooling::Cls,
        query_prefix: "",
        passage_prefix: "",
        max_tokens: 8192,
        multilingual: true,
        repositories: &["BAAI/bge-m3"],
    },
    KnownModel {
        name_has: &["bge", "zh"],
        pooling: Pooling::Cls,
        query_prefix: RETRIEVAL_ZH,
        passage_prefix: "",
        max_tokens: 512,
        multilingual: false,
        repositories: &["Xenova/bge-small-zh-v1.5", "Xenova/bge-large-zh-v1.5"],
    },
    KnownModel {
        name_has: &["bge", "en"],
        pooling: Pooling::Cls,
        query_prefix: RETRIEVAL_EN,
        passage_prefix: "",
        max_tokens: 512,
        multilingual: false,
        repositories: &["Xenova/bge-small-en-v1.5", "Xenova/bge-base-en-v1.5", "Xenova/bge-large-en-v1.5"],
    },
    KnownModel {
        name_has: &["gte", "multilingual"],
        pooling: Pooling::Cls,
        query_prefix: "",
        passage_prefix: "",
        max_tokens: 8192,
        multilingual: true,
        repositories: &["onnx-community/gte-multilingual-base"],
    },
    KnownModel {
        name_has: &["gte", "en-v1.5"],
        pooling: Pooling::Cls,
        query_prefix: "",
        passage_prefix: "",
        max_tokens: 8192,
        multilingual: false,
        repositories: &["Alibaba-NLP/gte-base-en-v1.5", "Alibaba-NLP/gte-large-en-v1.5"],
    },
    KnownModel {
        name_has: &["gte", "modernbert"],
        pooling: Pooling::Cls,
        query_prefix: "",
        passage_prefix: "",
        max_tokens: 8192,
        multilingual: false,
        repositories: &[],
    },
    KnownModel {
        name_has: &["gte"],
        pooling: Pooling::Mean,
        query_prefix: "",
        passage_prefix: "",
        max_tokens: 512,
        multilingual: false,
        repositories: &["Xenova/gte-small"],
    },
    KnownModel {
        name_has: &["nomic-embed-text", "moe"],
        pooling: Pooling::Mean,
        query_prefix: "search_query: ",
        passage_prefix: "search_document: ",
        max_tokens: 512,
        multilingual: true,
        repositories: &[],
    },
    KnownModel {
        name_has: &["nomic-embed-text"],
        pooling: Pooling::Mean,
        query_prefix: "search_query: ",
        passage_prefix: "search_document: ",
        max_tokens: 8192,
        multilingual: false,
        repositories: &["nomic-ai/nomic-embed-text-v1.5", "nomic-ai/nomic-embed-text-v1"],
    },
    KnownModel {
        name_has: &["modernbert-embed"],
        pooling: Pooling::Mean,
        query_prefix: "search_query: ",
        passage_prefix: "search_document: ",
        max_tokens: 8192,
        multilingual: false,
        repositories: &["lightonai/modernbert-embed-large"],
    },
    KnownModel {
        name_has: &["mxbai-embed", "large"],
        pooling: Pooling::Cls,
        query_prefix: RETRIEVAL_EN,
        passage_prefix: "",
        max_tokens: 512,
        multilingual: false,
        repositories: &["mixedbread-ai/mxbai-embed-large-v1"],
    },
    KnownModel {
        name_has: &["arctic-embed", "v2.0"],
        pooling: Pooling::Cls,
        query_prefix: "query: ",
        passage_prefix: "",
        max_tokens: 8192,
        multilingual: true,
        repositories: &["Snowflake/snowflake-arctic-embed-l-v2.0"],
    },
    KnownModel {
        name_has: &["arctic-embed"],
        pooling: Pooling::Cls,
        query_prefix: RETRIEVAL_EN,
        passage_prefix: "",
        max_tokens: 512,
        multilingual: false,
        repositories: &[
            "Snowflake/snowflake-arctic-embed-xs",
            "Snowflake/snowflake-arctic-embed-s",
            "Snowflake/snowflake-arctic-embed-m",
            "Snowflake/snowflake-arctic-embed-m-long",
            "Snowflake/snowflake-arctic-embed-l",
        ],
    },
    KnownModel {
        name_has: &["jina-embeddings-v2"],
        pooling: Pooling::Mean,
        query_prefix: "",
        passage_prefix: "",
        max_tokens: 8192,
        multilingual: false,
        repositories: &[
            "jinaai/jina-embeddings-v2-base-en",
            "jinaai/jina-embeddings-v2-base-code",
            "Xenova/jina-embeddings-v2-small-en",
        ],
    },
    KnownModel {
        name_has: &["paraphrase-multilingual"],
        pooling: Pooling::Mean,
        query_prefix: "",
        passage_prefix: "",
        max_tokens: 128,
        multilingual: true,
        repositories: &["Xenova/paraphrase-multilingual-MiniLM-L12-v2", "Xenova/paraphrase-multilingual-mpnet-base-v2"],
    },
    KnownModel {
        name_has: &["all-minilm"],
        pooling: Pooling::Mean,
        query_prefix: "",
        passage_prefix: "",
        max_tokens: 256,
        multilingual: false,
        repositories: &["Xenova/all-MiniLM-L6-v2", "Xenova/all-MiniLM-L12-v2", "Qdrant/all-MiniLM-L6-v2-onnx"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    fn read(name: &str, files: &[(&str, &str)]) -> Result<Recipe> {
        let root = std::env::temp_dir().join(format!("recipe-{}-{:?}", std::process::id(), std::thread::current().id()));
        let write = |file: &Path, text: &str| {
            fs::create_dir_all(file.parent().expect("it is in a folder")).expect("the folder is made");
            fs::write(file, text).expect("the file is written");
        };
        write(&root.join("tokenizer.json"), "{}");
        for (file, text) in files {
            write(&root.join(file), text);
        }
        let recipe = ModelFolder::named(&root, name).and_then(|folder| Recipe::read(&folder));
        fs::remove_dir_all(root).expect("the folder is removed");
        recipe
    }

    fn by_name(name: &str) -> (Pooling, String, String) {
        let recipe = read(name, &[]).expect("there is nothing to be wrong");
        assert!(recipe.normalize);
        (recipe.pooling, recipe.query_prefix, recipe.passage_prefix)
    }

    #[test]
    fn names_alone_give_what_the_model_cards_say() {
        for (name, pooling, query, passage) in [
            ("Xenova/multilingual-e5-large", Pooling::Mean, "query: ", "passage: "),
            ("intfloat/e5-base-v2", Pooling::Mean, "query: ", "passage: "),
            ("intfloat/multilingual-e5-large-instruct", Pooling::Mean, INSTRUCT, ""),
            ("Xenova/bge-small-en-v1.5", Pooling::Cls, RETRIEVAL_EN, ""),
            ("BAAI/bge-large-en", Pooling::Cls, RETRIEVAL_EN, ""),
            ("bge-base-zh-v1.5", Pooling::Cls, RETRIEVAL_ZH, ""),
            ("BAAI/bge-m3", Pooling::Cls, "", ""),
            ("thenlper/gte-base", Pooling::Mean, "", ""),
            ("Alibaba-NLP/gte-base-en-v1.5", Pooling::Cls, "", ""),
            ("onnx-community/gte-multilingual-base", Pooling::Cls, "", ""),
            ("nomic-ai/nomic-embed-text-v1.5", Pooling::Mean, "search_query: ", "search_document: "),
            ("mixedbread-ai/mxbai-embed-large-v1", Pooling::Cls, RETRIEVAL_EN, ""),
            ("snowflake/snowflake-arctic-embed-m", Pooling::Cls, RETRIEVAL_EN, ""),
            ("Snowflake/snowflake-arctic-embed-l-v2.0", Pooling::Cls, "query: ", ""),
            ("jinaai/jina-embeddings-v2-base-de", Pooling::Mean, "", ""),
            ("all-MiniLM-L6-v2", Pooling::Mean, "", ""),
            ("paraphrase-multilingual-MiniLM-L12-v2", Pooling::Mean, "", ""),
        ] {
            assert_eq!(by_name(name), (pooling, query.to_owned(), passage.to_owned()), "{name}");
        }
    }

    #[test]
    fn a_name_that_only_looks_like_one_is_unknown() {
        for name in ["my/model", "home5-notes", "elegante-v2", "e5/other-model", "bge-en-icl", "e5-mistral-7b-instruct"] {
            assert_eq!(by_name(name), (Pooling::Mean, String::new(), String::new()), "{name}");
        }
    }

    #[test]
    fn what_the_files_say_goes_before_the_catalogue() {
        let files = [
            ("1_Pooling/config.json", r#"{"pooling_mode_lasttoken": true}"#),
            ("modules.json", r#"[{"type": "sentence_transformers.models.Pooling"}]"#),
            ("config_sentence_transformers.json", r#"{"prompts": {"query": "ask: ", "document": "", "other": "x"}}"#),
        ];
        let recipe = read("intfloat/e5-base-v2", &files).expect("the files are good");
        assert_eq!((recipe.pooling, recipe.normalize), (Pooling::LastToken, false));
        // An empty prompt is how the tools write that nothing was set.
        assert_eq!((&*recipe.query_prefix, &*recipe.passage_prefix), ("ask: ", "passage: "));
    }

    #[test]
    fn steps_that_are_not_here_are_refused() {
        let told = |file, text| read("my/model", &[(file, text)]).expect_err("it cannot be worked with").to_string();
        assert!(told("1_Pooling/config.json", r#"{"pooling_mode_max_tokens": true}"#).contains("1_Pooling/config.json"));
        assert!(told("modules.json", r#"[{"type": "sentence_transformers.models.Dense"}]"#).contains("Dense"));
        assert!(told("modules.json", "[").contains("modules.json is damaged"));
    }

    #[test]
    fn every_repository_is_found_under_its_own_entry() {
        for model in Recipe::catalogue() {
            assert!((128..=8192).contains(&model.max_tokens), "{model:?}");
            for repository in model.repositories {
                assert_eq!(known(repository), Some(model), "{repository}");
            }
        }
    }
}
