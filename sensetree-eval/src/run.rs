use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::Serialize;

use crate::Judgements;

/// What a search answered: query → documents, best first, each with its score.
///
/// The order is the one given and the scores are kept for reading: unlike `trec_eval`, no metric sorts by them, so a ranking is
/// measured as the person sees it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    answers: BTreeMap<String, Answer>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Answer {
    ranking: Vec<(String, f64)>,
    stages: BTreeSet<String>,
}

impl Run {
    /// Records the ranking of a query; one that was recorded earlier is replaced.
    pub fn insert(&mut self, query: impl Into<String>, ranking: Vec<(String, f64)>) {
        self.answers.entry(query.into()).or_default().ranking = ranking;
    }

    /// Records which stages made the answer to a query: those that ran, by the names in the reports of a pipeline, such as "dense",
    /// "sparse", "rerank". [`gate`](crate::gate) looks at them. What was recorded earlier is replaced.
    pub fn insert_stages<S: Into<String>>(&mut self, query: impl Into<String>, stages: impl IntoIterator<Item = S>) {
        self.answers.entry(query.into()).or_default().stages = stages.into_iter().map(Into::into).collect();
    }

    /// The ranking of a query; empty when none was recorded.
    pub fn ranking(&self, query: &str) -> &[(String, f64)] {
        self.answers.get(query).map_or(&[], |answer| &answer.ranking)
    }

    /// The stages that made the answer to a query, by name; none when none was recorded.
    pub fn stages(&self, query: &str) -> impl Iterator<Item = &str> {
        self.answers.get(query).into_iter().flat_map(|answer| &answer.stages).map(String::as_str)
    }

    /// The queries that were answered.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.answers.keys().map(String::as_str)
    }

    /// The number of queries that were answered.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// Whether no query was answered.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Which queries a metric counts, and how.
    pub fn coverage(&self, judgements: &Judgements) -> Coverage {
        let measured: BTreeSet<&str> = judgements.queries().collect();
        let judged: BTreeSet<&str> = judgements.all().map(|(query, _)| query).collect();
        let owned = |queries: &mut dyn Iterator<Item = &str>| queries.map(str::to_owned).collect();
        Coverage {
            measured: measured.len(),
            missing: owned(&mut measured.iter().copied().filter(|query| !self.answers.contains_key(*query))),
            unjudged: owned(&mut self.queries().filter(|query| !judged.contains(query))),
            without_relevant: owned(&mut judged.difference(&measured).copied()),
        }
    }
}

/// Which queries a metric counts when a run meets judgements.
///
/// As with the option `-c` of `trec_eval`, the judgements say which queries there are: a judged query that the run lacks counts 0,
/// and a query that nobody judged is ignored. One thing differs: a query for which nothing is relevant is left out, since no
/// ranking could do better than 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// The number of queries with a relevant document: means are over these.
    pub measured: usize,
    /// Those of them that the run lacks; each counts 0.
    pub missing: Vec<String>,
    /// Queries of the run that nobody judged; ignored.
    pub unjudged: Vec<String>,
    /// Judged queries without a relevant document; left out.
    pub without_relevant: Vec<String>,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} queries measured", self.measured)?;
        let parts = [
            (&self.missing, "missing from the run, counted 0"),
            (&self.unjudged, "of the run not judged, ignored"),
            (&self.without_relevant, "judged without a relevant document, left out"),
        ];
        for (queries, what) in parts.into_iter().filter(|(queries, _)| !queries.is_empty()) {
            write!(f, "; {} {what}", queries.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_ignored_and_left_out_is_said() {
        let mut judgements = Judgements::default();
        for (query, grade) in [("found", 1), ("lost", 2), ("hopeless", 0)] {
            judgements.insert(query, "a", grade);
        }
        let mut run = Run::default();
        for query in ["found", "hopeless", "nobody asked"] {
            run.insert(query, vec![("a".into(), 1.0)]);
        }
        let coverage = run.coverage(&judgements);
        assert_eq!(coverage.missing, ["lost"]);
        assert_eq!(coverage.unjudged, ["nobody asked"]);
        assert_eq!(coverage.without_relevant, ["hopeless"]);
        assert_eq!(
            coverage.to_string(),
            "2 queries measured; 1 missing from the run, counted 0; 1 of the run not judged, ignored; \
             1 judged without a relevant document, left out"
        );
        judgements.insert("lost", "a", 0);
        run.insert("lost", Vec::new());
        assert_eq!(run.coverage(&judgements).measured, 1);
    }
}
