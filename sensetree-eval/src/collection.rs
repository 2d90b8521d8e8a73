use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use sensetree_core::{Error, Result};
use serde::Deserialize;

use crate::{Judgements, lines::each_line};

/// A document of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorpusDocument {
    /// Its name in judgements and runs.
    pub id: String,
    /// May be empty.
    pub title: String,
    /// The text without the title.
    pub text: String,
}

impl CorpusDocument {
    /// What is searched: the title, a space and the text, without white space around them.
    pub fn full_text(&self) -> String {
        format!("{} {}", self.title, self.text).trim().to_owned()
    }
}

/// Documents, queries, and judgements of which document answers which query.
///
/// Read from a folder in the form of BEIR (Thakur et al.: *BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information
/// Retrieval Models*, NeurIPS 2021):
///
/// - `corpus.jsonl`: on each line an object with `_id`, `text` and perhaps `title`;
/// - `queries.jsonl`: on each line an object with `_id` and `text`;
/// - `qrels/<split>.tsv`: see [`Judgements::read`].
#[derive(Debug, Clone)]
pub struct Collection {
    documents: Vec<CorpusDocument>,
    queries: Vec<(String, String)>,
    judgements: Judgements,
}

impl Collection {
    /// Reads the collection in `folder` with the judgements of one split: "test", "train", "dev".
    ///
    /// A query counts as judged when it has a relevant document. Judgements of queries that `queries.jsonl` does not have are left out.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be read; [`Error::InvalidInput`], with file and line, when a line is not of the form or an
    /// identifier stands twice, and with the file when it judges no query.
    pub fn read(folder: impl AsRef<Path>, split: &str) -> Result<Self> {
        let folder = folder.as_ref();
        let documents = entries(folder.join("corpus.jsonl"))?
            .into_iter()
            .map(|entry| CorpusDocument { id: entry.id, title: entry.title.unwrap_or_default(), text: entry.text })
            .collect();
        let mut queries: Vec<(String, String)> =
            entries(folder.join("queries.jsonl"))?.into_iter().map(|entry| (entry.id, entry.text)).collect();

        let path = folder.join("qrels").join(format!("{split}.tsv"));
        let mut judgements = Judgements::read(&path)?;
        let known: HashSet<&str> = queries.iter().map(|(id, _)| id.as_str()).collect();
        judgements.retain(|query| known.contains(query));
        let judged: HashSet<&str> = judgements.queries().collect();
        if judged.is_empty() {
            return Err(Error::invalid(format!("{} has no query of queries.jsonl with a score above 0", path.display())));
        }
        queries.retain(|(id, _)| judged.contains(id.as_str()));
        Ok(Self { documents, queries, judgements })
    }

    /// The documents, in the order of their file.
    pub fn documents(&self) -> &[CorpusDocument] {
        &self.documents
    }

    /// Identifier and text of the queries with a relevant document, in the order of their file.
    pub fn judged_queries(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.queries.iter().map(|(id, text)| (id.as_str(), text.as_str()))
    }

    /// The judgements of exactly these queries.
    pub fn judgements(&self) -> &Judgements {
        &self.judgements
    }
}

/// A line of `corpus.jsonl` or `queries.jsonl`; other fields mean nothing here.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_id")]
    id: String,
    title: Option<String>,
    text: String,
}

fn entries(path: PathBuf) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut ids = HashSet::new();
    each_line(&path, |line| {
        let entry: Entry = serde_json::from_str(line).map_err(|error| without_line(&error))?;
        if !ids.insert(entry.id.clone()) {
            return Err(format!("the _id {:?} stands twice", entry.id));
        }
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

/// What serde_json says, with the column alone: to it, every line is line 1.
fn without_line(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let reason = said.rsplit_once(" at line ").map_or(said.as_str(), |(reason, _)| reason);
    format!("{reason}, at column {}", error.column())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CORPUS: &str = concat!(
        "{\"_id\": \"20\", \"title\": \"Boiler\", \"text\": \"Serviced in May.\", \"metadata\": {}}\n",
        "{\"_id\": \"003\", \"title\": \"\", \"text\": \" Leek soup \"}\n",
        "{\"_id\": \"a/b.md\", \"title\": null, \"text\": \"\"}\n",
        "{\"_id\": \"1\", \"text\": \"保証書\"}\n",
    );
    const QUERIES: &str = "{\"_id\": \"9\", \"text\": \"soup\"}\n{\"_id\": \"10\", \"text\": \"unjudged\"}\n{\"_id\": \"2\", \"text\": \"boiler\"}\n{\"_id\": \"5\", \"text\": \"nothing fits\"}\n";
    const QRELS: &str = "query-id\tcorpus-id\tscore\n2\t20\t2\n9\t003\t1\n9\t20\t0\n5\t20\t0\nunknown\t20\t1\n";

    fn folder(corpus: &str, queries: &str, qrels: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("qrels")).expect("a folder in it");
        for (file, content) in [("corpus.jsonl", corpus), ("queries.jsonl", queries), ("qrels/dev.tsv", qrels)] {
            fs::write(folder.path().join(file), content).expect("a file in it");
        }
        folder
    }

    #[test]
    fn a_folder_is_read_in_the_order_of_its_files() {
        let collection = Collection::read(folder(CORPUS, QUERIES, QRELS).path(), "dev").expect("a whole collection");
        let documents: Vec<_> = collection.documents().iter().map(|d| (d.id.as_str(), d.full_text())).collect();
        let expected = [("20", "Boiler Serviced in May."), ("003", "Leek soup"), ("a/b.md", ""), ("1", "保証書")];
        assert_eq!(documents, expected.map(|(id, text)| (id, text.to_owned())));
        assert_eq!(collection.judged_queries().collect::<Vec<_>>(), [("9", "soup"), ("2", "boiler")]);
        assert_eq!(collection.judgements().queries().collect::<Vec<_>>(), ["2", "9"]);
        assert_eq!(collection.judgements().grade("2", "20"), 2);
    }

    #[test]
    fn a_damaged_line_is_named() {
        for (corpus, said) in [
            (
                "{\"_id\": \"1\", \"text\": \"a\"}\n\n{\"_id\": \"2\", \"text\": \"b\"\n",
                "corpus.jsonl, line 3: EOF while parsing an object, at column 24",
            ),
            ("{\"_id\": \"1\"}\n", "corpus.jsonl, line 1: missing field `text`"),
            ("{\"_id\": 1, \"text\": \"a\"}\n", "line 1: invalid type: integer `1`, expected a string, at column 9"),
            ("{\"_id\": \"1\", \"text\": \"a\"}\n{\"_id\": \"1\", \"text\": \"b\"}\n", "line 2: the _id \"1\" stands twice"),
        ] {
            let error = Collection::read(folder(corpus, QUERIES, QRELS).path(), "dev").expect_err("the corpus is damaged");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains(said)), "{error}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let whole = folder(CORPUS, QUERIES, QRELS);
        let error = Collection::read(whole.path(), "test").expect_err("there is no such split");
        assert!(matches!(&error, Error::Io { path, .. } if path.ends_with("qrels/test.tsv")), "{error}");

        let unjudged = folder(CORPUS, QUERIES, "query-id\tcorpus-id\tscore\n5\t20\t0\nunknown\t20\t1\n");
        let error = Collection::read(unjudged.path(), "dev").expect_err("no query can be measured");
        assert!(matches!(&error, Error::InvalidInput(what) if what.contains("dev.tsv")), "{error}");
    }
}
