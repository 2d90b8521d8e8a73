//! How good is a search? Judgements, the usual metrics, and readers for collections that have judgements.
//!
//! - what was judged: [`Judgements`], read with a [`Collection`] in BEIR form or from a table of questions ([`read_questions`]);
//! - what a search answered: [`Run`];
//! - how well the two agree: [`Metric`], for each query and in the mean ([`Scores`]).
//!
//! The values are those of `trec_eval`; a test compares them.
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

mod collection;
mod judgements;
mod lines;
mod metric;
mod questions;
mod run;

pub use collection::{Collection, CorpusDocument};
pub use judgements::Judgements;
pub use metric::{Metric, Scores};
pub use questions::read_questions;
pub use run::Run;
