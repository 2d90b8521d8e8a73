//! The dense leg alone: what a meaning tree is made of.

use std::collections::HashMap;

use sensetree_core::{Candidate, Evidence, Query, Ranked, Result};
use tracing::Instrument;

use super::{Parts, guard};

impl Parts {
    /// The nearest chunks in scope whose files are there, best first; and why that could not be found out, if so.
    pub(crate) async fn nearest(&self, query: &Query, chunks: usize) -> Result<(Vec<Candidate>, Option<String>)> {
        let (guard, filter) = (self.guard(query), query.restriction());
        let embed = guard.run("embedder", || self.embedder.embed_query(query.text()));
        let vector = embed.instrument(tracing::info_span!("embed")).await?;
        let ask = guard.run("store", || self.store.nearest(&vector, filter, chunks));
        let hits = guard::checked("store", ask.instrument(tracing::info_span!("nearest")).await?, filter, chunks)?;
        let mut candidates = Vec::with_capacity(hits.len());
        for (rank, hit) in (1u32..).zip(hits) {
            let dense = Ranked { rank, score: f64::from(hit.score) };
            let evidence = Evidence { dense: Some(dense), ..Evidence::default() };
            candidates.push(Candidate { id: hit.id, passage: hit.passage, evidence });
        }
        Ok(self.keep_alive(candidates, &mut HashMap::new(), &guard).await)
    }
}
