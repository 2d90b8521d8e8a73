//! What every rule shares: walking a list, and adding up what the lists give to each chunk.

use std::collections::HashSet;

use sensetree_core::{ChunkId, Fused, Hit, RankedList, order};

/// Each chunk of a list once, with its best rank, from 1.
///
/// The rank is the place in the list as the retriever gave it: a repeat adds nothing, but what follows it keeps its place. So
/// the ranks are those that a result's [`Evidence`](sensetree_core::Evidence) shows.
pub(crate) fn best_ranks(list: &RankedList) -> impl Iterator<Item = (u32, &Hit)> {
    let mut seen = HashSet::with_capacity(list.hits.len());
    (1u32..).zip(&list.hits).filter(move |(_, hit)| seen.insert(&hit.id))
}

/// Adds up the shares of each chunk and sorts the sums, best first.
///
/// Floating-point sums depend on the order of their terms, so each sum takes the largest first: the order of the lists cannot show.
pub(crate) fn add_up(mut shares: Vec<(&ChunkId, f64)>) -> Vec<Fused> {
    shares.sort_unstable_by(|(a, x), (b, y)| a.cmp(b).then_with(|| y.total_cmp(x)));
    let mut fused: Vec<Fused> = shares
        .chunk_by(|(a, _), (b, _)| a == b)
        .map(|of_one| Fused { id: of_one[0].0.clone(), score: of_one.iter().map(|(_, share)| share).sum() })
        .collect();
    order::sort_ranked(&mut fused, |f| f.score, |f| &f.id);
    fused
}
