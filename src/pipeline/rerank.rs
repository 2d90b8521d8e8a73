use std::{collections::HashMap, num::NonZero, sync::Arc};

use async_trait::async_trait;
use sensetree_core::{Candidate, ChunkId, Error, Query, Ranked, Reranker, Result, ScoreScale, Stage, order, text::first_chars};
use sensetree_fusion::RRF_K;
use serde::{Deserialize, Serialize};

use super::shortlist;

/// The name in reports.
pub(super) const NAME: &str = "rerank";
/// Characters of a passage that are scored; a chunk's opening says most.
const PASSAGE_CHARS: usize = 800;

/// What a score of 1 counts in a blend, where the best fused score counts 1.
const BLEND_WEIGHT: f64 = 0.75;

/// What a reranker's scores do to the order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RerankOrder {
    /// By the score alone: for models trained to rerank.
    #[default]
    Score,
    /// By `fused score / best fused score + ¾ · the reranker's score as it is shown, in [0, 1]`: for rerankers that know part of the
    /// truth, such as late interaction with an embedding model.
    ///
    /// A reranker that hardly tells passages apart hardly changes the order, a clear lead of the fused order stands, and how many
    /// candidates are scored changes little. Rule and weight were chosen with late interaction on two collections, claude-docs and
    /// Cranfield, over reciprocal rank and min-max fusion. A blend of ranks, which forgets distances, lost over the latter.
    Blend,
}

/// Scores a shortlist; what was not scored follows in fused order.
#[derive(Debug)]
pub(super) struct Rerank {
    reranker: Arc<dyn Reranker>,
    order: RerankOrder,
    chunks_per_file: NonZero<usize>,
}

impl Rerank {
    pub(super) fn new(reranker: Arc<dyn Reranker>, order: RerankOrder, chunks_per_file: NonZero<usize>) -> Self {
        Self { reranker, order, chunks_per_file }
    }

    /// The model's name.
    pub(super) fn model(&self) -> &str {
        self.reranker.name()
    }

    pub(super) fn scale(&self) -> ScoreScale {
        self.reranker.scale()
    }
}

#[async_trait]
impl Stage for Rerank {
    fn name(&self) -> &str {
        NAME
    }

    async fn apply(&self, query: &Query, candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        let (mut shortlist, rest) = shortlist::split(candidates, shortlist::size(query.page_size()), self.chunks_per_file);
        let passages: Vec<&str> = shortlist.iter().map(|c| first_chars(&c.passage.text, PASSAGE_CHARS)).collect();
        let scores = self.reranker.score(query.text(), &passages).await?;
        if scores.len() != shortlist.len() {
            let reason = format!("it gave {} scores for {} passages", scores.len(), shortlist.len());
            return Err(Error::contract(self.reranker.name(), reason));
        }
        if let Some(score) = scores.iter().find(|score| !score.is_finite()) {
            return Err(Error::contract(self.reranker.name(), format!("it gave a passage the score {score}")));
        }
        for (candidate, score) in shortlist.iter_mut().zip(scores) {
            candidate.evidence.rerank = Some(Ranked { rank: 0, score: f64::from(score) });
        }
        let fused = fused_shares(&shortlist);
        order::sort_ranked(&mut shortlist, score, |c| &c.id);
        for (candidate, rank) in shortlist.iter_mut().zip(1..) {
            candidate.evidence.rerank = Some(Ranked { rank, score: score(candidate) });
        }
        if self.order == RerankOrder::Blend {
            let blended = |c: &Candidate| fused[&c.id] + BLEND_WEIGHT * self.scale().display(score(c));
            order::sort_ranked(&mut shortlist, blended, |c| &c.id);
        }
        shortlist.extend(rest);
        Ok(shortlist)
    }
}

fn score(candidate: &Candidate) -> f64 {
    candidate.evidence.rerank.map_or(f64::NAN, |rerank| rerank.score)
}

/// What share of the best fused score each candidate of a list in fused order has. When the rule failed, or has scores below 0,
/// which are no shares, those of reciprocal rank fusion of one list stand in.
fn fused_shares(shortlist: &[Candidate]) -> HashMap<ChunkId, f64> {
    let own = shortlist.iter().map(|c| c.evidence.fused.map(|fused| fused.score).filter(|score| *score >= 0.0));
    let by_place = (1u32..).map(|place| 1.0 / (RRF_K + f64::from(place)));
    let own: Option<Vec<f64>> = own.collect();
    let scores = own.filter(|own| own.first() > Some(&0.0)).unwrap_or_else(|| by_place.take(shortlist.len()).collect());
    shortlist.iter().zip(&scores).map(|(c, score)| (c.id.clone(), score / scores[0])).collect()
}
