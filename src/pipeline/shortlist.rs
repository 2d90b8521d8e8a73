//! Which candidates are worth a reranker's time.

use std::{collections::HashMap, num::NonZero};

use sensetree_core::{Candidate, DocumentKey};

/// Candidates that are scored: the query's limit times this, within [`RANGE`].
const PER_RESULT: usize = 3;
const RANGE: (usize, usize) = (20, 100);
/// Chunks of one file on the shortlist, so that one long file does not crowd out the others.
pub(crate) const CHUNKS_PER_FILE: NonZero<usize> = NonZero::new(3).expect("3 is not zero");

/// How many candidates are scored for a page of `limit` results.
pub(super) fn size(limit: usize) -> usize {
    (limit * PER_RESULT).clamp(RANGE.0, RANGE.1)
}

/// The first `size` candidates with at most `per_file` chunks of each file, and all others in their order.
///
/// A place that one file may not take goes to the next best of another.
pub(super) fn split(candidates: Vec<Candidate>, size: usize, per_file: NonZero<usize>) -> (Vec<Candidate>, Vec<Candidate>) {
    let mut of_file: HashMap<DocumentKey, usize> = HashMap::new();
    let (mut shortlist, mut rest) = (Vec::new(), Vec::new());
    for candidate in candidates {
        let count = of_file.entry(candidate.id.key.clone()).or_default();
        if shortlist.len() < size && *count < per_file.get() {
            *count += 1;
            shortlist.push(candidate);
        } else {
            rest.push(candidate);
        }
    }
    (shortlist, rest)
}

#[cfg(test)]
mod tests {
    #[test]
    fn three_candidates_a_result_are_reranked_within_20_to_100() {
        assert_eq!([1, 7, 20, 33, 34, 100].map(super::size), [20, 21, 60, 99, 100, 100]);
    }
}
