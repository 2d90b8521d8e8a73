use std::{collections::HashSet, fmt, iter};

use sensetree_core::{Error, Result};
use serde::Serialize;

use crate::{Comparison, Coverage, Judgements, Metric, PairedTest, Run, holm};

/// Runs over the same judgements, side by side: the values of some metrics, and in the first metric the difference to the first
/// run, the baseline.
///
/// Shown as a text table; serialised with all its numbers.
///
/// ```
/// use sensetree_eval::{Judgements, Metric, PairedTest, Run, Table};
///
/// let mut judgements = Judgements::default();
/// let (mut dense, mut hybrid) = (Run::default(), Run::default());
/// for query in ["boiler", "soup", "lamp"] {
///     judgements.insert(query, "right.md", 1);
///     dense.insert(query, vec![("wrong.md".to_owned(), 0.9), ("right.md".to_owned(), 0.8)]);
///     hybrid.insert(query, vec![("right.md".to_owned(), 0.9)]);
/// }
/// let runs = [("dense", &dense), ("hybrid", &hybrid)];
/// let table = Table::new(&judgements, &runs, &Metric::USUAL, &PairedTest::default())?;
/// println!("{table}");
/// # assert!(table.to_string().starts_with("        nDCG@10  Recall@5  MRR@10     MAP  difference"));
/// # Ok::<(), sensetree_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Table {
    /// The columns; the first is the one in which the runs are compared.
    pub metrics: Vec<Metric>,
    /// One for each run, the baseline first.
    pub rows: Vec<Row>,
    /// How sure the intervals are, how many draws they are made of, and from which seed.
    test: PairedTest,
}

/// One run of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// What the run is called.
    pub name: String,
    /// The mean of each metric, in the order of the columns.
    pub values: Vec<f64>,
    /// Against the baseline; none in its own row.
    pub comparison: Option<Comparison>,
    /// The p-value of the comparison, corrected for the number of comparisons in the table ([`holm`]).
    pub corrected_p: Option<f64>,
    /// Which queries were counted.
    pub coverage: Coverage,
}

impl Table {
    /// Measures the runs, each with its name, and compares each with the first in the first of the metrics.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when there is no run, no metric or no query with a relevant document, or a name stands twice; and as
    /// [`PairedTest::compare`].
    pub fn new(judgements: &Judgements, runs: &[(&str, &Run)], metrics: &[Metric], test: &PairedTest) -> Result<Self> {
        let [(_, baseline), ..] = runs else {
            return Err(Error::invalid("a table of runs needs a run"));
        };
        let [first, ..] = metrics else {
            return Err(Error::invalid("a table of runs needs a metric; nDCG@10 is usual"));
        };
        let mut names = HashSet::new();
        if let Some((name, _)) = runs.iter().find(|(name, _)| !names.insert(name)) {
            return Err(Error::invalid(format!("two runs of a table are called {name:?}")));
        }
        let baseline = first.evaluate(baseline, judgements);
        if baseline.per_query.is_empty() {
            return Err(Error::invalid("a table of runs needs judgements with a relevant document"));
        }
        let mut rows = Vec::new();
        for (at, (name, run)) in runs.iter().enumerate() {
            let compared = (at > 0).then(|| test.compare(&baseline, &first.evaluate(run, judgements)));
            rows.push(Row {
                name: (*name).to_owned(),
                values: metrics.iter().map(|metric| metric.evaluate(run, judgements).mean).collect(),
                comparison: compared.transpose()?,
                corrected_p: None,
                coverage: run.coverage(judgements),
            });
        }
        let p_values: Vec<f64> = rows.iter().filter_map(|row| Some(row.comparison.as_ref()?.p_value)).collect();
        for (row, p) in rows.iter_mut().skip(1).zip(holm(&p_values)) {
            row.corrected_p = Some(p);
        }
        Ok(Self { metrics: metrics.to_vec(), rows, test: *test })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interval = format!("{} % interval", self.test.percent());
        let heads = ["difference", &interval, "p", "better/same/worse"];
        let head = iter::once(String::new()).chain(self.metrics.iter().map(Metric::to_string));
        let mut lines = vec![head.chain(heads.map(str::to_owned)).collect::<Vec<_>>()];
        for row in &self.rows {
            let mut line = vec![row.name.clone()];
            line.extend(row.values.iter().map(|value| format!("{value:.4}")));
            if let Some((c, p)) = row.comparison.as_ref().zip(row.corrected_p) {
                let (low, high) = c.interval;
                line.push(format!("{:+.4}", c.difference));
                line.push(format!("{low:+.4} to {high:+.4}"));
                line.push(if p < 0.0001 { "<0.0001".to_owned() } else { format!("{p:.4}") });
                line.push(format!("{}/{}/{}", c.wins, c.ties, c.losses));
            }
            lines.push(line);
        }
        f.write_str(&aligned(&lines))?;
        if let [baseline, others @ ..] = &self.rows[..] {
            if !others.is_empty() {
                let count = others.len();
                writeln!(
                    f,
                    "difference to {:?} in {}, p corrected for {count} comparisons; {}",
                    baseline.name, self.metrics[0], self.test
                )?;
            }
            if others.iter().all(|row| row.coverage == baseline.coverage) {
                return writeln!(f, "{}", baseline.coverage);
            }
            for row in &self.rows {
                writeln!(f, "{}: {}", row.name, row.coverage)?;
            }
        }
        Ok(())
    }
}

/// Settings × collections: the first metric of several tables with the same rows, and its mean over the collections.
///
/// A value with a star differs from the baseline of its collection with a p-value below 0.05, corrected for all comparisons of the
/// overview ([`holm`]).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Overview {
    /// What the values are.
    pub metric: Metric,
    /// The columns.
    pub collections: Vec<String>,
    /// One for each row of the tables, the baseline first.
    pub rows: Vec<OverviewRow>,
}

/// One setting of an [`Overview`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OverviewRow {
    /// What the setting is called.
    pub name: String,
    /// One for each collection.
    pub values: Vec<f64>,
    /// For each collection the p-value against the baseline, corrected for all comparisons of the overview; none in the row of the
    /// baseline.
    pub corrected_p: Vec<Option<f64>>,
    /// Of the values: each collection counts the same.
    pub mean: f64,
}

impl Overview {
    /// Of a table for each collection.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when there is no table, or they differ in their rows or their first metric.
    pub fn new(tables: &[(&str, &Table)]) -> Result<Self> {
        let [(_, first), ..] = tables else {
            return Err(Error::invalid("an overview needs a table"));
        };
        for (name, table) in tables {
            let same_rows = table.rows.iter().map(|row| &row.name).eq(first.rows.iter().map(|row| &row.name));
            if !same_rows || table.metrics[0] != first.metrics[0] {
                return Err(Error::invalid(format!(
                    "the table of {name} has other rows, or another first metric, than the one before"
                )));
            }
        }
        let compared = |at: usize| tables.iter().map(move |(_, table)| table.rows[at].comparison.as_ref());
        let p_values: Vec<f64> = (0..first.rows.len()).flat_map(compared).flatten().map(|c| c.p_value).collect();
        let mut corrected = holm(&p_values).into_iter();
        let mut rows = Vec::new();
        for (at, row) in first.rows.iter().enumerate() {
            let values: Vec<f64> = tables.iter().map(|(_, table)| table.rows[at].values[0]).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let corrected_p = compared(at).map(|comparison| comparison.and_then(|_| corrected.next())).collect();
            rows.push(OverviewRow { name: row.name.clone(), values, corrected_p, mean });
        }
        let collections = tables.iter().map(|(name, _)| (*name).to_owned()).collect();
        Ok(Self { metric: first.metrics[0], collections, rows })
    }
}

impl fmt::Display for Overview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A column of stars keeps the numbers in line.
        let mut lines = vec![
            iter::once(self.metric.to_string()).chain(self.collections.iter().map(|name| format!("{name} "))).collect::<Vec<_>>(),
        ];
        lines[0].push("mean".to_owned());
        for row in &self.rows {
            let star = |p: &Option<f64>| if p.is_some_and(|p| p < 0.05) { '*' } else { ' ' };
            let values = row.values.iter().zip(&row.corrected_p).map(|(value, p)| format!("{value:.4}{}", star(p)));
            let mut line: Vec<String> = iter::once(row.name.clone()).chain(values).collect();
            line.push(format!("{:.4}", row.mean));
            lines.push(line);
        }
        f.write_str(&aligned(&lines))?;
        match &self.rows[..] {
            [baseline, _, ..] => writeln!(f, "* differs from {:?}, p < 0.05 corrected for all comparisons", baseline.name),
            _ => Ok(()),
        }
    }
}

/// The first column to the left, the others to the right, two spaces between them.
fn aligned(lines: &[Vec<String>]) -> String {
    let width =
        |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().enumerate().map(|(column, cell)| match (column, width(column)) {
            (0, width) => format!("{cell:<width$}"),
            (_, width) => format!("  {cell:>width$}"),
        });
        text += cells.collect::<String>().trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judgements() -> Judgements {
        let mut judgements = Judgements::default();
        for query in 0..12 {
            judgements.insert(query.to_string(), "right", 1);
        }
        judgements
    }

    /// The right document first in these queries, third in the others; one query is missing.
    fn run(first: impl Fn(usize) -> bool) -> Run {
        let mut run = Run::default();
        for query in 1..12 {
            let order = if first(query) { ["right", "x", "y"] } else { ["x", "y", "right"] };
            run.insert(query.to_string(), order.map(|document| (document.to_owned(), 0.5)).into());
        }
        run
    }

    fn table() -> Table {
        let runs = [("dense", &run(|_| false)), ("hybrid", &run(|_| true)), ("hybrid, odd only", &run(|query| query % 2 == 1))];
        Table::new(&judgements(), &runs, &[Metric::Ndcg(10), Metric::Recall(2)], &PairedTest::default()).expect("whole runs")
    }

    #[test]
    fn columns_are_aligned_and_the_first_metric_is_compared() {
        let expected = "\x20                 nDCG@10  Recall@2  difference       95 % interval       p  better/same/worse
dense              0.4583    0.0000
hybrid             0.9167    0.9167     +0.4583  +0.3750 to +0.5000  0.0020             11/1/0
hybrid, odd only   0.7083    0.5000     +0.2500  +0.1250 to +0.3750  0.0312              6/6/0
difference to \"dense\" in nDCG@10, p corrected for 2 comparisons; \
paired randomisation test and bootstrap, 20000 resamples, seed 0
12 queries measured; 1 missing from the run, counted 0
";
        assert_eq!(table().to_string(), expected);
    }

    #[test]
    fn runs_that_lack_different_queries_say_so_each() {
        let (mut whole, partial) = (run(|_| false), run(|_| true));
        whole.insert("0", Vec::new());
        let runs = [("whole", &whole), ("partial", &partial)];
        let shown = Table::new(&judgements(), &runs, &Metric::USUAL, &PairedTest::default()).expect("two runs").to_string();
        assert!(shown.contains("\nwhole: 12 queries measured\n"), "{shown}");
        assert!(shown.ends_with("partial: 12 queries measured; 1 missing from the run, counted 0\n"), "{shown}");
    }

    #[test]
    fn p_values_are_corrected_for_the_comparisons_of_the_table() {
        let table = table();
        let raw: Vec<f64> = table.rows[1..].iter().map(|row| row.comparison.as_ref().expect("compared").p_value).collect();
        // Eleven and six queries that all differ the same way.
        assert_eq!(raw, [2.0 / 2048.0, 2.0 / 64.0]);
        assert_eq!(table.rows[1].corrected_p, Some(2.0 * 2.0 / 2048.0));
        assert_eq!(table.rows[2].corrected_p, Some(2.0 / 64.0));
        assert_eq!((&table.rows[0].comparison, table.rows[0].corrected_p), (&None, None));
    }

    #[test]
    fn a_table_is_serialised_with_its_numbers() {
        let json = serde_json::to_value(table()).expect("plain numbers");
        assert_eq!(json["metrics"][0], "nDCG@10");
        assert_eq!(json["rows"][1]["name"], "hybrid");
        assert_eq!(json["rows"][1]["comparison"]["wins"], 11);
        assert_eq!(json["rows"][1]["coverage"]["missing"][0], "0");
        assert_eq!(json["test"]["seed"], 0);
    }

    #[test]
    fn a_table_of_nothing_is_refused_with_the_reason() {
        let (test, run) = (PairedTest::default(), run(|_| true));
        let one = [("a", &run)];
        for (table, said) in [
            (Table::new(&judgements(), &[], &Metric::USUAL, &test), "needs a run"),
            (Table::new(&judgements(), &one, &[], &test), "needs a metric"),
            (Table::new(&Judgements::default(), &one, &Metric::USUAL, &test), "needs judgements"),
            (Table::new(&judgements(), &[("a", &run), ("a", &run)], &Metric::USUAL, &test), "called \"a\""),
        ] {
            let error = table.expect_err("there is nothing to show");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains(said)), "{error}");
        }
    }

    #[test]
    fn an_overview_has_the_mean_of_the_collections_and_corrects_over_all() {
        let (one, other) = (table(), table());
        let overview = Overview::new(&[("notes", &one), ("mails", &other)]).expect("the same rows");
        assert_eq!(overview.collections, ["notes", "mails"]);
        let means: Vec<f64> = one.rows.iter().map(|row| row.values[0]).collect();
        assert_eq!(overview.rows.iter().map(|row| row.mean).collect::<Vec<_>>(), means);
        // Four comparisons: the smallest p counts four times, the third smallest twice.
        assert_eq!(overview.rows[1].corrected_p, [Some(8.0 / 2048.0); 2]);
        assert_eq!(overview.rows[2].corrected_p, [Some(4.0 / 64.0); 2]);
        let shown = overview.to_string();
        assert!(shown.contains("0.9167*") && shown.lines().filter(|line| line.contains('*')).count() == 2, "{shown}");

        let mut fewer = table();
        fewer.rows.pop();
        let error = Overview::new(&[("notes", &one), ("mails", &fewer)]).expect_err("other rows");
        assert!(error.to_string().contains("mails"), "{error}");
        assert!(Overview::new(&[]).is_err());
    }
}
