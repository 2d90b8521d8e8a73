//! Judgements and runs in the form of TREC, which the field's tools share.

use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use sensetree_core::{Error, Result, order};

use crate::{Judgements, Run, lines::each_line};

/// The tag of an answer of which no stage was recorded.
const NO_STAGES: &str = "-";

impl Judgements {
    /// Reads judgements in TREC form ("qrels"): lines of query, a column without meaning, document, grade.
    ///
    /// The columns are separated by tabs, or, in a line that has no tabs, by any white space.
    ///
    /// # Errors
    /// As [`read`](Judgements::read).
    pub fn read_trec(path: impl AsRef<Path>) -> Result<Self> {
        let mut judgements = Self::default();
        each_line(path.as_ref(), |line| {
            let [query, _, document, grade] = columns(line, "query, 0, document, grade")?;
            judgements.insert_once(query, document, grade)
        })?;
        Ok(judgements)
    }

    /// Writes them in TREC form, with tabs between the columns; a file that is there is replaced.
    ///
    /// Names with spaces survive [`read_trec`](Judgements::read_trec), but tools that separate columns by any white space refuse them.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written; [`Error::InvalidInput`] when a name has tabs or line ends, or is blank.
    pub fn write_trec(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path.as_ref(), |file| {
            for (query, grades) in self.all() {
                for (document, grade) in grades {
                    writeln!(file, "{}\t0\t{}\t{grade}", name(query)?, name(document)?)?;
                }
            }
            Ok(())
        })
    }
}

impl Run {
    /// Reads a run in TREC form: lines of query, a column without meaning, document, rank, score, tag.
    ///
    /// Documents are put in the order of their scores, as `trec_eval` does; equal scores, which that orders by the names of the
    /// documents, stand in the order of their ranks, then of the file. The tag is read as the stages that made the answer, with `+`
    /// between them. Columns are separated as in [`Judgements::read_trec`].
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read; [`Error::InvalidInput`], with file and line, when a line is not of that form, a
    /// score is not a number, or a document stands twice in the answer to a query.
    pub fn read_trec(path: impl AsRef<Path>) -> Result<Self> {
        let mut answers: BTreeMap<String, Vec<(u64, String, f64)>> = BTreeMap::new();
        let mut seen = HashSet::new();
        let mut run = Self::default();
        each_line(path.as_ref(), |line| {
            let [query, _, document, rank, score, tag] = columns(line, "query, Q0, document, rank, score, tag")?;
            let rank = rank.trim().parse().map_err(|_| format!("the rank {rank:?} is not a whole number"))?;
            let score: f64 = score.trim().parse().map_err(|_| format!("the score {score:?} is not a number"))?;
            if score.is_nan() {
                return Err("the score is NaN, which has no place in an order".to_owned());
            }
            if !seen.insert((query.to_owned(), document.to_owned())) {
                return Err(format!("document {document:?} stands twice in the answer to query {query:?}"));
            }
            if !answers.contains_key(query) {
                run.insert_stages(query, tag.split('+').filter(|stage| *stage != NO_STAGES));
            }
            answers.entry(query.to_owned()).or_default().push((rank, document.to_owned(), score));
            Ok(())
        })?;
        for (query, mut answer) in answers {
            // Stable: what is equal stays in the order of the file.
            answer.sort_by(|a, b| order::best_first(a.2, b.2).then(a.0.cmp(&b.0)));
            run.insert(query, answer.into_iter().map(|(_, document, score)| (document, score)).collect());
        }
        Ok(run)
    }

    /// Writes the run in TREC form, with tabs between the columns; a file that is there is replaced.
    ///
    /// Every reader must see the order of the rankings, and the field's tools see only scores, in single precision. So a score that
    /// is not below the one before it is written as the next number below that one. A document that stands twice is written once,
    /// at its first place; a query with an empty ranking leaves no line. The tag names the stages, with `+` between them,
    /// or is `-`.
    ///
    /// Names with spaces survive [`read_trec`](Run::read_trec), but tools that separate columns by any white space refuse them.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written; [`Error::InvalidInput`] when a name has tabs or line ends, or is blank, or a
    /// score is not a finite number in single precision.
    pub fn write_trec(&self, path: impl AsRef<Path>) -> Result<()> {
        write(path.as_ref(), |file| {
            for query in self.queries() {
                let stages: Vec<&str> = self.stages(query).collect();
                let tag = if stages.is_empty() { NO_STAGES.to_owned() } else { stages.join("+") };
                let mut seen = HashSet::new();
                let distinct = self.ranking(query).iter().filter(|(document, _)| seen.insert(document));
                let mut before = f32::INFINITY;
                for ((document, score), rank) in distinct.zip(1..) {
                    let kept = (*score as f32) < before;
                    let written = if kept { *score } else { f64::from(before.next_down()) };
                    before = written as f32;
                    if !score.is_finite() || !before.is_finite() {
                        return Err(Refused::Value(format!("the score {score} of document {document:?} for query {query:?}")));
                    }
                    writeln!(file, "{}\tQ0\t{}\t{rank}\t{written}\t{}", name(query)?, name(document)?, name(&tag)?)?;
                }
            }
            Ok(())
        })
    }
}

/// Why a line was not written.
enum Refused {
    Value(String),
    File(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

fn write(path: &Path, lines: impl FnOnce(&mut BufWriter<File>) -> Result<(), Refused>) -> Result<()> {
    let mut file = BufWriter::new(File::create(path).map_err(Error::io("write", path))?);
    match lines(&mut file).and_then(|()| Ok(file.flush()?)) {
        Ok(()) => Ok(()),
        Err(Refused::File(error)) => Err(Error::io("write", path)(error)),
        Err(Refused::Value(what)) => {
            Err(Error::invalid(format!("cannot write {}: TREC form has no place for {what}", path.display())))
        }
    }
}

fn name(name: &str) -> Result<&str, Refused> {
    if name.trim().is_empty() || name.contains(['\t', '\n', '\r', '\u{FEFF}']) {
        return Err(Refused::Value(format!("the name {name:?}")));
    }
    Ok(name)
}

fn columns<'a, const N: usize>(line: &'a str, names: &str) -> Result<[&'a str; N], String> {
    let row: Vec<&str> = if line.contains('\t') { line.split('\t').collect() } else { line.split_whitespace().collect() };
    let row = match <[&str; N]>::try_from(row) {
        Ok(row) => row,
        // Columns that are separated now by a tab, now by a space.
        Err(row) => <[&str; N]>::try_from(line.split_whitespace().collect::<Vec<_>>())
            .map_err(|_| format!("{} columns where {N} belong: {names}", row.len()))?,
    };
    match row.iter().position(|value| value.trim().is_empty()) {
        Some(empty) => Err(format!("column {} is empty: {names}", empty + 1)),
        None => Ok(row),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    fn with_file<T>(content: &str, read: impl FnOnce(&Path) -> T) -> T {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), content).expect("it can be written");
        read(file.path())
    }

    fn documents<'a>(run: &'a Run, query: &str) -> Vec<&'a str> {
        run.ranking(query).iter().map(|(document, _)| document.as_str()).collect()
    }

    #[test]
    fn judgements_are_read_whatever_separates_the_columns() {
        let content = "1 0 a/b.md 2\n1\t0\tmy file.md\t1\n2  0\tc -1\r\n";
        let judgements = with_file(content, |path| Judgements::read_trec(path)).expect("whole lines");
        assert_eq!(
            (judgements.grade("1", "a/b.md"), judgements.grade("1", "my file.md"), judgements.grade("2", "c")),
            (2, 1, -1)
        );
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        judgements.write_trec(file.path()).expect("names without tabs");
        assert_eq!(Judgements::read_trec(file.path()).expect("what was written"), judgements);
    }

    #[test]
    fn a_run_is_ordered_by_score_then_rank_then_line() {
        let content = "q Q0 d 4 1.0 x\nq Q0 c 3 2.0 x\nq Q0 b 2 2.0 x\nq Q0 a 1 0.5 x\nr Q0 z 0 1 x\nr Q0 y 0 1 x\n";
        let run = with_file(content, |path| Run::read_trec(path)).expect("whole lines");
        assert_eq!(documents(&run, "q"), ["b", "c", "d", "a"]);
        assert_eq!(documents(&run, "r"), ["z", "y"]);
    }

    #[test]
    fn a_line_without_sense_is_named() {
        for (row, said) in [
            ("q Q0 d 1 0.5", "5 columns where 6 belong"),
            ("q Q0 d one 0.5 x", "the rank \"one\""),
            ("q Q0 d 1 high x", "the score \"high\""),
            ("q Q0 d 1 NaN x", "NaN"),
            ("q Q0 first 2 0.5 x", "stands twice"),
            ("q\tQ0\t \t1\t0.5\tx", "column 3 is empty"),
        ] {
            let error = with_file(&format!("q Q0 first 1 1 x\n{row}\n"), |path| Run::read_trec(path)).expect_err("it is damaged");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains("line 2") && what.contains(said)), "{error}");
        }
        let error = with_file("q 0 d 1\nq 0 d 2\n", |path| Judgements::read_trec(path)).expect_err("it contradicts itself");
        assert!(matches!(&error, Error::InvalidInput(what) if what.contains("line 2") && what.contains("2 here and 1 earlier")));
    }

    #[test]
    fn what_has_no_place_in_the_form_is_refused_by_name() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        for (query, document, score, said) in [
            ("q", "a\tb", 1.0, "\"a\\tb\""),
            ("q\n", "a", 1.0, "\"q\\n\""),
            (" ", "a", 1.0, "\" \""),
            ("q", "a", f64::NAN, "score NaN"),
            ("q", "a", f64::INFINITY, "score inf"),
            ("q", "a", -1e300, "document \"a\""),
        ] {
            let mut run = Run::default();
            run.insert(query, vec![(document.to_owned(), score)]);
            let error = run.write_trec(file.path()).expect_err("it has no place");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains(said)), "{error}");
        }
        let error = Run::default().write_trec("/no/such/folder/run.trec").expect_err("there is no such folder");
        assert!(matches!(&error, Error::Io { path, .. } if path.ends_with("run.trec")), "{error}");
    }

    #[test]
    fn scores_that_keep_the_order_are_written_as_they_are_and_stages_come_back() {
        let mut run = Run::default();
        run.insert("when was it?", vec![("a b.md".to_owned(), 0.1), ("c.md".to_owned(), -3.25)]);
        run.insert_stages("when was it?", ["sparse", "dense"]);
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        run.write_trec(file.path()).expect("names without tabs");
        let written = fs::read_to_string(file.path()).expect("text");
        assert_eq!(written, "when was it?\tQ0\ta b.md\t1\t0.1\tdense+sparse\nwhen was it?\tQ0\tc.md\t2\t-3.25\tdense+sparse\n");
        assert_eq!(Run::read_trec(file.path()).expect("what was written"), run);
    }

    proptest! {
        #[test]
        fn the_order_written_is_the_order_read_by_anyone(
            scores in prop::collection::vec(prop_oneof![Just(0.5f64), (-3i8..3).prop_map(f64::from), -1e30f64..1e30, Just(0.5 + 1e-12)], 1..30),
        ) {
            let mut run = Run::default();
            // Names fall as others rise, so that no order of names is the order given.
            let given: Vec<String> = (0..scores.len()).map(|i| format!("d{:02}", (i * 7) % 31)).collect();
            run.insert("q", given.iter().cloned().zip(scores).collect());
            let file = tempfile::NamedTempFile::new().expect("a temporary file");
            run.write_trec(file.path()).expect("finite scores");
            let back = Run::read_trec(file.path()).expect("what was written");
            prop_assert_eq!(documents(&back, "q"), given);
            let single: Vec<f32> = back.ranking("q").iter().map(|(_, score)| *score as f32).collect();
            prop_assert!(single.windows(2).all(|pair| pair[0] > pair[1]), "{:?}", single);
        }
    }
}
