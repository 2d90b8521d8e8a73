//! What the rules that merge by score share: they differ in the range of scores that becomes [0, 1].

use sensetree_core::{Fused, Hit, RankedList};

use crate::{
    alpha,
    shares::{add_up, best_ranks},
};

/// How a rule scales the scores of one list.
pub(crate) struct Scaling {
    /// The scores that become 0 and 1, from those of the list that are finite; called when they are not all equal.
    pub(crate) range: fn(&[f64]) -> (f64, f64),
    /// What equal scores become, since they have no range.
    pub(crate) flat: f64,
}

impl Scaling {
    /// `Σ weight · scaled score` over the lists that hold the chunk.
    pub(crate) fn fuse(&self, alpha: f64, lists: &[RankedList]) -> Vec<Fused> {
        let mut shares = Vec::with_capacity(lists.iter().map(|list| list.hits.len()).sum());
        for list in lists {
            let weight = alpha::weight(alpha, list.leg);
            if weight > 0.0 {
                let hits: Vec<&Hit> = best_ranks(list).map(|(_, hit)| hit).collect();
                shares.extend(hits.iter().zip(self.scaled(&hits)).map(|(hit, scaled)| (&hit.id, weight * scaled)));
            }
        }
        add_up(shares)
    }

    /// The scores of a list, in its order, scaled to [0, 1] and clipped.
    ///
    /// Clipping makes scores equal, and a score may be no number at all; the order of the list must stand all the same. So each
    /// is a hair below the one before it, and so far above 0 that those after it have room.
    fn scaled(&self, hits: &[&Hit]) -> Vec<f64> {
        let scores: Vec<f64> = hits.iter().map(|hit| f64::from(hit.score)).filter(|score| score.is_finite()).collect();
        let (least, greatest) = extremes(&scores);
        let range = (least < greatest).then(|| (self.range)(&scores));
        let mut before = 1.0 + f64::EPSILON;
        let after = (0..hits.len()).rev();
        let scaled = hits.iter().zip(after).map(|(hit, after)| {
            let score = f64::from(hit.score);
            let scaled = match range {
                Some((low, high)) => (score - low) / (high - low),
                None if score.is_finite() => self.flat,
                None => score,
            };
            // `max` of what is no number and a number is the number.
            before = scaled.max(after as f64 * f64::EPSILON).min(before - f64::EPSILON);
            before
        });
        scaled.collect()
    }
}

/// The least and the greatest score; of none, an empty range.
pub(crate) fn extremes(scores: &[f64]) -> (f64, f64) {
    scores.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), score| (least.min(*score), greatest.max(*score)))
}
