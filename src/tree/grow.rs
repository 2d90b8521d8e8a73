//! From files to folders.

use std::{collections::BTreeMap, path::Component};

use sensetree_core::DocumentKey;

use super::{TreeFile, TreeNode, best_first};
use crate::ScoreKind;

/// Levels below the root. What lies deeper is shown there, with the rest of its path as its name: no reader of JSON and no
/// person follows further.
const LEVELS: usize = 50;

/// A file, with what is known of it so far.
pub(super) struct Found {
    key: DocumentKey,
    score: f64,
    kind: ScoreKind,
    chunks: usize,
    file: TreeFile,
}

/// A file's way from the root.
struct Leaf {
    parts: Vec<String>,
    /// As the file system writes the parts: a key may have lost their case.
    names: Vec<String>,
    found: Found,
}

impl Found {
    /// One chunk of a file.
    pub(super) fn new(key: DocumentKey, score: f64, kind: ScoreKind, file: TreeFile) -> Self {
        Self { key, score, kind, chunks: 1, file }
    }

    fn heat(&self) -> (ScoreKind, f64) {
        (self.kind, self.score)
    }
}

/// The tree of these chunks. Its root is `scope` if all of them lie in that folder, else the deepest folder that holds them.
pub(super) fn grow(found: Vec<Found>, scope: Option<&DocumentKey>) -> TreeNode {
    let mut leaves: Vec<Leaf> = by_file(found).into_iter().map(Leaf::new).collect();
    let scope = scope.map(|key| parts(key.as_str()));
    let root = match scope {
        Some(scope) if leaves.iter().all(|leaf| leaf.parts.len() > scope.len() && leaf.parts.starts_with(&scope)) => scope,
        _ => common_folder(&leaves),
    };
    leaves.iter_mut().for_each(|leaf| leaf.cut_to(root.len() + LEVELS));
    leaves.sort_by(|a, b| a.parts.cmp(&b.parts));
    let name = join(leaves.first().map_or(root.as_slice(), |leaf| &leaf.names[..root.len()]));
    node(name, join(&root), &leaves, root.len())
}

/// The best chunk of each file.
fn by_file(found: Vec<Found>) -> Vec<Found> {
    let mut files: BTreeMap<DocumentKey, Found> = BTreeMap::new();
    for next in found {
        let Some(known) = files.get_mut(&next.key) else {
            files.insert(next.key.clone(), next);
            continue;
        };
        let chunks = known.chunks + next.chunks;
        if best_first(next.heat(), known.heat()).then(next.file.chunk.cmp(&known.file.chunk)).is_lt() {
            *known = next;
        }
        known.chunks = chunks;
    }
    files.into_values().collect()
}

/// The node at `depth` of leaves that share their first `depth` parts, in the order of their parts.
fn node(name: String, key: String, leaves: &[Leaf], depth: usize) -> TreeNode {
    let (own, below) = leaves.split_at(leaves.partition_point(|leaf| leaf.parts.len() == depth));
    let groups = below.chunk_by(|a, b| a.parts[depth] == b.parts[depth]);
    let mut children: Vec<TreeNode> = groups
        .map(|group| {
            let key = join(&[key.clone(), group[0].parts[depth].clone()]);
            node(group[0].names[depth].clone(), key, group, depth + 1)
        })
        .collect();
    let heat = |node: &TreeNode| (node.score_kind, node.score);
    children.sort_by(|a, b| best_first(heat(a), heat(b)).then_with(|| a.name.cmp(&b.name)).then_with(|| a.key.cmp(&b.key)));
    let best = own.iter().map(|leaf| leaf.found.heat()).chain(children.first().map(heat)).min_by(|a, b| best_first(*a, *b));
    let (score_kind, score) = best.unwrap_or((ScoreKind::Cosine, 0.0));
    TreeNode {
        name,
        key: DocumentKey::from_stored(key),
        score,
        score_kind,
        files: own.len() + children.iter().map(|child| child.files).sum::<usize>(),
        chunks: own.iter().map(|leaf| leaf.found.chunks).chain(children.iter().map(|child| child.chunks)).sum(),
        file: own.first().map(|leaf| leaf.found.file.clone()),
        children,
    }
}

impl Leaf {
    fn new(found: Found) -> Self {
        let parts = parts(found.key.as_str());
        let mut names = parts.clone();
        let own = found.file.path.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        // From the end, since drives and shares count differently; a part that was resolved away ends the likeness.
        for (name, own) in names.iter_mut().rev().zip(own.rev()) {
            if DocumentKey::from_path(own).as_str() != name {
                break;
            }
            *name = own.to_string_lossy().into_owned();
        }
        Self { parts, names, found }
    }

    fn cut_to(&mut self, depth: usize) {
        for list in [&mut self.parts, &mut self.names] {
            if list.len() > depth {
                let rest = list.split_off(depth - 1);
                list.push(rest.join("/"));
            }
        }
    }
}

/// The parts of a key, the first of which may be `/` (POSIX), `c:` (a drive) or `//` (a share). At least one.
fn parts(key: &str) -> Vec<String> {
    let root = ["//", "/"].into_iter().find(|root| key.starts_with(root)).unwrap_or_default();
    let rest = key[root.len()..].split('/').filter(|part| !part.is_empty());
    let parts: Vec<String> = (!root.is_empty()).then_some(root).into_iter().chain(rest).map(str::to_owned).collect();
    if parts.is_empty() { vec![String::new()] } else { parts }
}

/// The opposite of [`parts`].
fn join(parts: &[String]) -> String {
    let mut key = String::new();
    for part in parts {
        if !key.is_empty() && !key.ends_with('/') {
            key.push('/');
        }
        key.push_str(part);
    }
    key
}

fn common_folder(leaves: &[Leaf]) -> Vec<String> {
    let Some((first, others)) = leaves.split_first() else { return Vec::new() };
    let folder = |leaf: &Leaf| leaf.parts.len() - 1;
    let same = |a: &Leaf, b: &Leaf| a.parts.iter().zip(&b.parts).take_while(|(a, b)| a == b).count();
    let shared = others.iter().fold(folder(first), |shared, leaf| shared.min(same(first, leaf)).min(folder(leaf)));
    first.parts[..shared].to_vec()
}
