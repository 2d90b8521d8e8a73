use ndarray::{ArrayView2, Axis};
use serde::{Deserialize, Serialize};

/// How a model's token states become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Pooling {
    /// The mean of all tokens, special ones included.
    Mean,
    /// The first token.
    Cls,
    /// The last token.
    LastToken,
}

impl Pooling {
    /// Pools states of shape (tokens, dimension) over the tokens whose mask is not 0. None when there is no such token.
    pub fn pool(self, states: ArrayView2<'_, f32>, mask: &[i64]) -> Option<Vec<f32>> {
        let real: Vec<usize> = (0..states.nrows()).filter(|&i| mask.get(i).is_some_and(|&m| m != 0)).collect();
        let row = |i: usize| states.row(i).to_vec();
        match self {
            Self::Mean => Some(states.select(Axis(0), &real).mean_axis(Axis(0))?.to_vec()),
            Self::Cls => real.first().map(|&i| row(i)),
            Self::LastToken => real.last().map(|&i| row(i)),
        }
    }

    /// The name in reports and fingerprints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
            Self::LastToken => "last token",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn padding_is_never_pooled() {
        let states = array![[2.0, 0.0], [4.0, 0.0], [0.0, 9.0]];
        assert_eq!(Pooling::Mean.pool(states.view(), &[1, 1, 0]), Some(vec![3.0, 0.0]));
        assert_eq!(Pooling::Cls.pool(states.view(), &[1, 1, 0]), Some(vec![2.0, 0.0]));
        assert_eq!(Pooling::LastToken.pool(states.view(), &[1, 1, 0]), Some(vec![4.0, 0.0]));
        assert_eq!(Pooling::Cls.pool(states.view(), &[0, 1, 1]), Some(vec![4.0, 0.0]), "padding may stand on the left");
        assert_eq!(Pooling::Mean.pool(states.view(), &[0, 0, 0]), None);
    }
}
