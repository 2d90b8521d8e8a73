//! Which part of a person's folders is about something: a map, where a [`Page`] is a list.

#[cfg(test)]
mod browser_tests;
mod grow;
mod html;
pub(crate) mod name;
#[cfg(test)]
mod tests;
mod text;

use std::{cmp::Ordering, path::PathBuf, sync::Arc};

use sensetree_core::{DocumentKey, Error, Location, Query, Result, Scope, order, text::is_blank};
use serde::Serialize;

use crate::{Page, Pipeline, ScoreKind, StageStatus};
use grow::Found;
pub use text::{Colours, TextOptions};

const DEFAULT_CHUNKS: usize = 400;
const FEWEST_CHUNKS: usize = 10;
const MOST_CHUNKS: usize = 1000;
/// A note of a tree that was made without asking anybody.
const BLANK: &str = "blank query";

/// How far a [`MeaningTree`] looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOptions {
    chunks: usize,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self { chunks: DEFAULT_CHUNKS }
    }
}

impl TreeOptions {
    /// How many of the nearest chunks the tree is made of; clamped to 10..=1000, 400 by default.
    #[must_use]
    pub fn with_chunks(mut self, chunks: usize) -> Self {
        self.chunks = chunks.clamp(FEWEST_CHUNKS, MOST_CHUNKS);
        self
    }
}

/// Folders and files with how much they are about a question.
///
/// A file has the best score of its chunks, a folder the best of what is under it. Children stand by score, best first, then by
/// name. The same index and query give the same tree in every process.
///
/// ```
/// # use sensetree::{Chunk, Document, Embedder, Pipeline, Query, Store, TextOptions, TreeOptions, memory::MemoryStore, testing::MockEmbedder};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> sensetree::Result<()> {
/// # let embedder = std::sync::Arc::new(MockEmbedder::new(256));
/// # let store = std::sync::Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
/// # for (path, text) in [("/notes/home/boiler.md", "the boiler was serviced"), ("/notes/bread.md", "flour and water")] {
/// #     let vector = embedder.embed_passages(&[text]).await?.remove(0);
/// #     store.commit(vec![Document::new(path).with_chunk(Chunk::new(text, vector))], &[]).await?;
/// # }
/// # let pipeline = Pipeline::builder(embedder, store).without_existence_check().build()?;
/// let tree = pipeline.meaning_tree(Query::new("the boiler"), TreeOptions::default()).await?;
/// assert_eq!(tree.root.children[0].name, "home");
/// println!("{}", tree.collapsed().to_text(&TextOptions::default()));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MeaningTree {
    /// What was asked.
    pub query: String,
    /// The folder that everything found lies in: the query's own when it was restricted to one, else the deepest.
    pub root: TreeNode,
    /// Why the tree is empty, or what could not be found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A folder or a file of a [`MeaningTree`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TreeNode {
    /// The last part of the path; of the root the whole path, and where folders were [collapsed](MeaningTree::collapsed) their
    /// names with `/` between. As it is: a name may hold any character.
    pub name: String,
    /// Identity of the file or folder.
    pub key: DocumentKey,
    /// The best relevance in here, in [0, 1], on the scale of [`score_kind`](Self::score_kind).
    pub score: f64,
    /// What the score is. Always [`ScoreKind::Cosine`] unless the tree was made from a page.
    pub score_kind: ScoreKind,
    /// Files in here, itself included.
    pub files: usize,
    /// Chunks that were found in them.
    pub chunks: usize,
    /// The file, when this is one. An indexed folder can be both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<TreeFile>,
    /// What is directly in here, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TreeNode>,
}

/// A file of a [`MeaningTree`] and the chunk that answers best.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TreeFile {
    /// For opening the file: the path with its own bytes.
    #[serde(serialize_with = "crate::page::lossy")]
    pub path: Arc<PathBuf>,
    /// Which chunk of the file.
    pub chunk: u32,
    /// Where the chunk stands in the file's text.
    pub location: Location,
}

impl Pipeline {
    /// Where the files are that a question is about: the nearest chunks by meaning, without words or reranking, as a tree.
    ///
    /// Honours the query's restriction and time budget; its limit does not count. Files that are gone are left out. A blank query
    /// gives an empty tree that says so, without asking any part.
    ///
    /// # Errors
    /// Whatever kept the embedder or the store from answering: unlike a search there is no second leg.
    ///
    /// # Panics
    /// With a time budget, outside a tokio runtime that keeps time.
    pub async fn meaning_tree(&self, query: Query, options: TreeOptions) -> Result<MeaningTree> {
        let scope = match query.restriction().scopes() {
            [only] => Some(only),
            _ => None,
        };
        if is_blank(query.text()) {
            return Ok(MeaningTree::of(query.text(), scope, Vec::new(), Some(BLANK.to_owned())));
        }
        let (candidates, doubt) = self.parts.nearest(&query, options.chunks).await?;
        let mut found = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let score = candidate.evidence.dense.ok_or_else(|| Error::contract("store", "a chunk has no relevance"))?.score;
            let (path, location) = (candidate.passage.path.clone(), candidate.passage.location.clone());
            let file = TreeFile { path, chunk: candidate.id.index, location };
            found.push(Found::new(candidate.id.key, score, ScoreKind::Cosine, file));
        }
        Ok(MeaningTree::of(query.text(), scope, found, doubt))
    }
}

impl MeaningTree {
    /// The tree of a page that is there already, with the scores that it shows. `query` is what was asked, for showing.
    ///
    /// Where some results were reranked and others not, the reranked ones count more: their scores do not compare.
    pub fn from_page(query: &str, page: &Page) -> Self {
        let found = page.results.iter().map(|result| {
            let file = TreeFile { path: result.path.clone(), chunk: result.chunk, location: result.location.clone() };
            Found::new(result.key.clone(), result.score, result.score_kind, file)
        });
        let failed = page.stages.iter().filter(|stage| stage.status == StageStatus::Failed);
        let doubts: Vec<String> =
            failed.map(|stage| format!("{} failed: {}", stage.name, stage.reason.as_deref().unwrap_or_default())).collect();
        let blank = is_blank(query).then(|| BLANK.to_owned());
        Self::of(query, None, found.collect(), blank.or_else(|| (!doubts.is_empty()).then(|| doubts.join("; "))))
    }

    fn of(query: &str, scope: Option<&Scope>, found: Vec<Found>, note: Option<String>) -> Self {
        let root = grow::grow(found, scope.map(Scope::key));
        let note = note.or_else(|| (root.files == 0).then(|| "nothing was found".to_owned()));
        Self { query: query.to_owned(), root, note }
    }

    /// Whether there is no file in it.
    pub fn is_empty(&self) -> bool {
        self.root.files == 0
    }

    /// For showing: folders below the root that hold nothing but one folder become one node with it, named `a/b/c`.
    #[must_use]
    pub fn collapsed(mut self) -> Self {
        self.root.children.iter_mut().for_each(TreeNode::collapse);
        self
    }

    /// Scores of the worst and the best file.
    fn range(&self) -> (f64, f64) {
        fn worst(node: &TreeNode) -> f64 {
            node.children.iter().map(worst).fold(if node.children.is_empty() { node.score } else { f64::INFINITY }, f64::min)
        }
        fn best(node: &TreeNode) -> f64 {
            node.children.iter().map(best).fold(node.score, f64::max)
        }
        (worst(&self.root), best(&self.root))
    }
}

impl TreeNode {
    fn collapse(&mut self) {
        while self.file.is_none()
            && self.children.len() == 1
            && !self.children[0].children.is_empty()
            && self.children[0].file.is_none()
        {
            let only = self.children.remove(0);
            let name = format!("{}/{}", self.name, only.name);
            *self = TreeNode { name, ..only };
        }
        self.children.iter_mut().for_each(Self::collapse);
    }

    fn is_folder(&self) -> bool {
        !self.children.is_empty()
    }
}

/// The better comes first. What was reranked beats what was not, since their scores do not compare.
fn best_first(a: (ScoreKind, f64), b: (ScoreKind, f64)) -> Ordering {
    let reranked = |kind| kind == ScoreKind::Rerank;
    reranked(b.0).cmp(&reranked(a.0)).then_with(|| order::best_first(a.1, b.1))
}

/// How warm a score is among those of its tree, in four steps from 0: models differ in what they call near, so the number alone
/// says little.
fn heat(score: f64, (worst, best): (f64, f64)) -> usize {
    let share = if best > worst { (score - worst) / (best - worst) } else { 1.0 };
    (share * 4.0).clamp(0.0, 3.0) as usize
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
