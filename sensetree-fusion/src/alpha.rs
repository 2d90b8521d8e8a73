//! The weight of the dense leg, which every rule has.

use sensetree_core::{Error, Leg, Result};

/// The weight where none was chosen: both legs alike.
pub(crate) const EVEN: f64 = 0.5;

pub(crate) fn checked(alpha: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&alpha) {
        Ok(alpha)
    } else {
        Err(Error::invalid(format!("alpha, the weight of the dense leg, must be in [0, 1], and {alpha} is not")))
    }
}

pub(crate) fn weight(alpha: f64, leg: Leg) -> f64 {
    match leg {
        Leg::Dense => alpha,
        Leg::Sparse => 1.0 - alpha,
    }
}
