//! The one total order of the library: best score first, not-a-number last, ties by identity.

use std::cmp::Ordering;

/// Compares two scores so that the better comes first and NaN comes last.
///
/// ```
/// let mut scores = [0.2, f64::NAN, 0.9];
/// scores.sort_by(|a, b| sensetree_core::order::best_first(*a, *b));
/// assert_eq!(scores[..2], [0.9, 0.2]);
/// ```
pub fn best_first(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (false, false) => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
        (a, b) => a.cmp(&b),
    }
}

/// Sorts by score, best first, then by identity: the same items in any order give the same list.
pub fn sort_ranked<T, I: Ord>(items: &mut [T], score: impl Fn(&T) -> f64, identity: impl Fn(&T) -> &I) {
    items.sort_by(|a, b| best_first(score(a), score(b)).then_with(|| identity(a).cmp(identity(b))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorting_never_panics_and_puts_nan_last(scores in prop::collection::vec(prop_oneof![any::<f64>(), Just(f64::NAN), Just(0.0), Just(-0.0)], 0..60)) {
            let mut items: Vec<(f64, usize)> = scores.into_iter().zip(0..).collect();
            let mut reversed: Vec<_> = items.iter().rev().copied().collect();
            sort_ranked(&mut items, |i| i.0, |i| &i.1);
            sort_ranked(&mut reversed, |i| i.0, |i| &i.1);
            let ids = |items: &[(f64, usize)]| items.iter().map(|i| i.1).collect::<Vec<_>>();
            prop_assert_eq!(ids(&items), ids(&reversed));
            let first_nan = items.iter().position(|i| i.0.is_nan()).unwrap_or(items.len());
            prop_assert!(items[first_nan..].iter().all(|i| i.0.is_nan()));
            prop_assert!(items[..first_nan].windows(2).all(|w| w[0].0 >= w[1].0));
        }
    }
}
