use std::{collections::BTreeMap, path::Path};

use sensetree_core::Result;

use crate::lines::each_row;

/// What people said about one query: document → grade.
pub(crate) type Grades = BTreeMap<String, i32>;

/// Which documents are right for which queries, and how right: query → document → grade.
///
/// A document is relevant when its grade is above 0, and more so the higher it is. Documents that nobody judged have grade 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgements {
    grades: BTreeMap<String, Grades>,
}

impl Judgements {
    /// Reads judgements in BEIR form: a line `query-id`, `corpus-id`, `score`, then one line for each pair, with tabs between them.
    ///
    /// # Errors
    /// [`Error::Io`](sensetree_core::Error::Io) when the file cannot be read;
    /// [`Error::InvalidInput`](sensetree_core::Error::InvalidInput), with file and line, when a line is not of that form or
    /// contradicts an earlier one.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let mut judgements = Self::default();
        each_row(path.as_ref(), ["query-id", "corpus-id", "score"], |[query, document, grade]| {
            judgements.insert_once(query, document, grade)
        })?;
        Ok(judgements)
    }

    /// What a line of a file says; why it makes no sense, if it does not.
    pub(crate) fn insert_once(&mut self, query: &str, document: &str, grade: &str) -> Result<(), String> {
        let grade = grade.trim().parse().map_err(|_| format!("the score {grade:?} is not a whole number"))?;
        if let Some(earlier) = self.judged(query, document).filter(|earlier| *earlier != grade) {
            return Err(format!("the score of document {document:?} for query {query:?} is {grade} here and {earlier} earlier"));
        }
        self.insert(query, document, grade);
        Ok(())
    }

    /// Grades a document for a query; a grade that it had is replaced.
    pub fn insert(&mut self, query: impl Into<String>, document: impl Into<String>, grade: i32) {
        self.grades.entry(query.into()).or_default().insert(document.into(), grade);
    }

    /// The grade of a document for a query; 0 when nobody judged it.
    pub fn grade(&self, query: &str, document: &str) -> i32 {
        self.judged(query, document).unwrap_or(0)
    }

    /// The queries that can be measured: those with a relevant document.
    pub fn queries(&self) -> impl Iterator<Item = &str> {
        self.measurable().map(|(query, _)| query)
    }

    /// The documents that are relevant to a query.
    pub fn relevant(&self, query: &str) -> impl Iterator<Item = &str> {
        self.grades.get(query).into_iter().flatten().filter(|(_, grade)| **grade > 0).map(|(document, _)| document.as_str())
    }

    /// Every query that was judged, each with all its grades.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Grades)> {
        self.grades.iter().map(|(query, grades)| (query.as_str(), grades))
    }

    fn judged(&self, query: &str, document: &str) -> Option<i32> {
        self.grades.get(query)?.get(document).copied()
    }

    /// The queries with a relevant document, each with all its grades.
    pub(crate) fn measurable(&self) -> impl Iterator<Item = (&str, &Grades)> {
        self.all().filter(|(_, grades)| grades.values().any(|grade| *grade > 0))
    }

    /// Keeps the queries that can be measured and of which `keep` says so.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.grades.retain(|query, grades| grades.values().any(|grade| *grade > 0) && keep(query));
    }
}

#[cfg(test)]
mod tests {
    use sensetree_core::Error;

    use super::*;

    fn read(content: &str) -> Result<Judgements> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), content).expect("it can be written");
        Judgements::read(file.path())
    }

    #[test]
    fn a_table_of_grades_is_read() {
        let judgements = read("query-id\tcorpus-id\tscore\n1\t007\t3\n1\t8\t-1\n1\t007\t3\n2\t007\t0\n").expect("a whole table");
        assert_eq!(judgements.grade("1", "007"), 3);
        assert_eq!(judgements.grade("1", "7"), 0, "an identifier is text, not a number");
        assert_eq!(judgements.grade("1", "8"), -1);
        assert_eq!(judgements.grade("3", "8"), 0);
        assert_eq!(judgements.queries().collect::<Vec<_>>(), ["1"], "query 2 has no relevant document");
        assert_eq!(judgements.relevant("1").collect::<Vec<_>>(), ["007"]);
    }

    #[test]
    fn a_line_without_sense_is_named() {
        for (row, said) in [
            ("1\td\t1.5", "the score \"1.5\""),
            ("1\td\tyes", "\"yes\""),
            ("1 Q0 d 1", "1 columns where 3 belong"),
            ("q\td\t2", "2 here and 1 earlier"),
        ] {
            let error = read(&format!("query-id\tcorpus-id\tscore\nq\td\t1\n{row}\n")).expect_err("the row is damaged");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains("line 3") && what.contains(said)), "{error}");
        }
    }
}
