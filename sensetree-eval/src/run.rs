use std::collections::BTreeMap;

/// What a search answered: query → documents, best first, each with its score.
///
/// The order is the one given and the scores are kept for reading: unlike `trec_eval`, no metric sorts by them, so a ranking is
/// measured as the person sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    rankings: BTreeMap<String, Vec<(String, f64)>>,
}

impl Run {
    /// Records the ranking of a query; one that was recorded earlier is replaced.
    pub fn insert(&mut self, query: impl Into<String>, ranking: Vec<(String, f64)>) {
        self.rankings.insert(query.into(), ranking);
    }

    /// The ranking of a query; empty when none was recorded.
    pub fn ranking(&self, query: &str) -> &[(String, f64)] {
        self.rankings.get(query).map_or(&[], Vec::as_slice)
    }

    /// The queries with a ranking.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.rankings.keys().map(String::as_str)
    }

    /// The number of queries with a ranking.
    pub fn len(&self) -> usize {
        self.rankings.len()
    }

    /// Whether no ranking was recorded.
    pub fn is_empty(&self) -> bool {
        self.rankings.is_empty()
    }
}
