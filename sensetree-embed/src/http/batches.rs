use std::num::NonZero;

/// Consecutive runs of `texts`, each as long as both limits allow; a text that is too long by itself is a run of its own.
pub(super) fn batches(texts: &[String], max_texts: NonZero<usize>, max_chars: NonZero<usize>) -> Vec<&[String]> {
    let mut batches = Vec::new();
    let (mut start, mut chars) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        let length = text.chars().count();
        if at > start && (at - start == max_texts.get() || chars + length > max_chars.get()) {
            batches.push(&texts[start..at]);
            (start, chars) = (at, 0);
        }
        chars += length;
    }
    if start < texts.len() {
        batches.push(&texts[start..]);
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn batches_hold_all_texts_in_order_within_both_limits_and_no_batch_could_be_longer(
            texts in prop::collection::vec("[aé🚲]{0,9}", 0..40),
            max_texts in 1usize..7,
            max_chars in 1usize..30,
        ) {
            let limit = |n| NonZero::new(n).expect("from 1");
            let split = batches(&texts, limit(max_texts), limit(max_chars));
            prop_assert_eq!(&split.concat(), &texts);
            let fits = |batch: &[String]| {
                batch.len() == 1 || batch.len() <= max_texts && batch.concat().chars().count() <= max_chars
            };
            prop_assert!(split.iter().all(|batch| !batch.is_empty() && fits(batch)));
            for pair in split.windows(2) {
                let longer = [pair[0], &pair[1][..1]].concat();
                prop_assert!(!fits(&longer), "{:?} and {:?} could be one", pair[0], pair[1]);
            }
        }
    }
}
