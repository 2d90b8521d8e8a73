//! How good is a search, and is another one better? For any search whose answers can be listed.
//!
//! - what was judged: [`Judgements`], in BEIR or TREC form, or from a [`Collection`] or a table of questions ([`read_questions`]);
//! - what a search answered: [`Run`], which is written and read in TREC form;
//! - how well the two agree: [`Metric`], for each query and in the mean ([`Scores`]); which queries count, and how: [`Coverage`];
//! - whether one run is better than another: [`PairedTest`], and [`holm`] when there are several;
//! - all of it side by side: [`Table`], and [`Overview`] for several collections;
//! - which of many settings to take, and what that choice is worth on other questions: [`Choice`];
//! - whether a search reaches a level: [`gate`].
//!
//! The values are those of `trec_eval`, `ranx` and `ir_measures`, the tests those of `scipy`; the crate's tests compare them.
//!
//! ```
//! use sensetree_eval::{Judgements, Metric, Run};
//!
//! let mut judgements = Judgements::default();
//! judgements.insert("when was the boiler serviced?", "boiler.md", 2);
//! judgements.insert("when was the boiler serviced?", "heating.md", 1);
//!
//! let mut run = Run::default();
//! let ranking = [("heating.md", 0.8), ("soup.md", 0.7), ("boiler.md", 0.6)];
//! run.insert("when was the boiler serviced?", ranking.map(|(file, score)| (file.to_owned(), score)).into());
//!
//! assert_eq!(Metric::Recall(5).evaluate(&run, &judgements).mean, 1.0);
//! assert_eq!(Metric::Precision(2).evaluate(&run, &judgements).mean, 0.5);
//! println!("{}: {:.4}", Metric::Ndcg(10), Metric::Ndcg(10).evaluate(&run, &judgements).mean); // nDCG@10: 0.7602
//! ```

mod choice;
mod collection;
pub mod gate;
mod judgements;
mod lines;
mod metric;
mod paired;
mod questions;
mod run;
mod table;
mod trec;

pub use choice::Choice;
pub use collection::{Collection, CorpusDocument};
pub use judgements::Judgements;
pub use metric::{Metric, Scores};
pub use paired::{Comparison, PairedTest, holm};
pub use questions::read_questions;
pub use run::{Coverage, Run};
pub use table::{Overview, OverviewRow, Row, Table};
