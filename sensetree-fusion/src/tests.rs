//! What every rule of this crate must keep, beyond `fusion_suite`; and the lists that the tests of the rules are made of.

use std::{collections::HashSet, env, process::Command, sync::Arc};

use proptest::prelude::*;
use sensetree_core::{ChunkId, DocumentKey, Error, Fused, Fusion, Hit, Leg, Passage, RankedList, order, testing::fusion_suite};

use crate::{DistributionBased, FusionRule, MinMax, Rrf};

pub(crate) fn hit(id: &str, score: f32) -> Hit {
    let passage = Passage::new(id, id);
    Hit { id: ChunkId::new(DocumentKey::from_stored(id), 0), score, passage: Arc::new(passage) }
}

pub(crate) fn list(leg: Leg, hits: &[(&str, f32)]) -> RankedList {
    RankedList::new(leg, hits.iter().map(|(id, score)| hit(id, *score)).collect())
}

pub(crate) fn dense(hits: &[(&str, f32)]) -> RankedList {
    list(Leg::Dense, hits)
}

pub(crate) fn sparse(hits: &[(&str, f32)]) -> RankedList {
    list(Leg::Sparse, hits)
}

pub(crate) fn table(fused: &[Fused]) -> Vec<(&str, f64)> {
    fused.iter().map(|f| (f.id.key.as_str(), f.score)).collect()
}

fn ids(fused: &[Fused]) -> Vec<&str> {
    fused.iter().map(|f| f.id.key.as_str()).collect()
}

/// Lists of either leg, best first, in which chunks repeat, stand in several lists and have equal scores; some scores are no number.
pub(crate) fn some_lists() -> impl Strategy<Value = Vec<RankedList>> {
    let leg = prop_oneof![Just(Leg::Dense), Just(Leg::Sparse)];
    let score = prop_oneof![6 => (-8i8..=8).prop_map(|n| f32::from(n) * 0.37), 3 => -1e3f32..1e3, 1 => Just(f32::NAN)];
    let one = (leg, prop::collection::vec((0u8..12, score), 0..15)).prop_map(|(leg, hits)| {
        let mut hits: Vec<Hit> = hits.into_iter().map(|(name, score)| hit(&format!("{name:02}"), score)).collect();
        order::sort_ranked(&mut hits, |hit| f64::from(hit.score), |hit| &hit.id);
        RankedList::new(leg, hits)
    });
    prop::collection::vec(one, 0..6)
}

/// Whether the fused list is the sum of `share` over the lists that hold a chunk, best first, ties by identity.
pub(crate) fn is_the_sum(rule: &dyn Fusion, lists: &[RankedList], share: impl Fn(&RankedList, &ChunkId) -> Option<f64>) {
    let fused = rule.fuse(lists);
    let counted: Vec<&RankedList> = lists.iter().filter(|list| rule.weight(list.leg) > 0.0).collect();
    let expected: HashSet<&ChunkId> = counted.iter().flat_map(|list| &list.hits).map(|hit| &hit.id).collect();
    assert_eq!(fused.iter().map(|f| &f.id).collect::<HashSet<_>>(), expected);
    assert_eq!(fused.len(), expected.len());
    for f in &fused {
        let sum: f64 = counted.iter().filter_map(|list| Some(rule.weight(list.leg) * share(list, &f.id)?)).sum();
        assert!((f.score - sum).abs() < 1e-12, "{:?}: {} where the formula gives {sum}", f.id, f.score);
    }
    assert!(fused.windows(2).all(|w| w[0].score > w[1].score || (w[0].score == w[1].score && w[0].id < w[1].id)));
    let best = rule.best(&lists.iter().map(|list| list.leg).collect::<Vec<_>>());
    assert!(fused.iter().all(|f| (0.0..=best + 1e-12).contains(&f.score)));
}

/// The first score of each chunk of a list that is a number, and that of one of them.
pub(crate) fn numbers(list: &RankedList, id: &ChunkId) -> (Vec<f64>, Option<f64>) {
    let mut seen = HashSet::new();
    let firsts: Vec<&Hit> = list.hits.iter().filter(|hit| seen.insert(&hit.id)).collect();
    let numbers = firsts.iter().map(|hit| f64::from(hit.score)).filter(|score| !score.is_nan()).collect();
    (numbers, firsts.iter().find(|hit| hit.id == *id).map(|hit| f64::from(hit.score)))
}

fn rules() -> Vec<Arc<dyn Fusion>> {
    let texts = ["rrf", "rrf:k=1", "rrf:0.6", "rrf:0.5", "rrf:0.1", "min-max", "min-max:0.6", "dbsf", "dbsf:0.3"];
    texts.map(|text| text.parse().and_then(FusionRule::build).expect("a rule")).into()
}

#[test]
fn every_rule_keeps_the_contract() {
    for rule in rules() {
        fusion_suite(&rule);
    }
}

#[test]
fn an_empty_sparse_list_leaves_the_dense_order() {
    // Two far above the others: clipped to one number by the distribution-based rule, which must not swap them.
    let many: Vec<Hit> = (0..120).map(|i| hit(&format!("{:03}", 119 - i), [0.9, 0.8].get(i).copied().unwrap_or(0.1))).collect();
    for rule in rules() {
        let fused = rule.fuse(&[dense(&[("m", 0.9), ("z", 0.5), ("a", 0.5), ("k", -0.2)]), sparse(&[])]);
        assert_eq!(ids(&fused), ["m", "z", "a", "k"], "{rule:?}");

        let fused = rule.fuse(&[sparse(&[]), RankedList::new(Leg::Dense, many.clone())]);
        assert!(fused.iter().map(|f| &f.id).eq(many.iter().map(|hit| &hit.id)), "{rule:?}");
    }
}

#[test]
fn a_repeat_counts_once_and_the_order_of_the_lists_shows_nowhere() {
    // What is fused has no passage: the text cannot depend on which list came first.
    let repeated = dense(&[("A", 0.9), ("A", 0.8), ("B", 0.3)]);
    let other = sparse(&[("B", 7.0)]);
    for rule in rules() {
        let fused = rule.fuse(&[repeated.clone(), other.clone()]);
        assert_eq!(fused.len(), 2, "{rule:?}");
        assert_eq!(fused, rule.fuse(&[other.clone(), repeated.clone()]), "{rule:?}");
        let a = |lists: &[RankedList]| rule.fuse(lists).into_iter().find(|f| f.id.key.as_str() == "A");
        let once = dense(&[("A", 0.9), ("x", 0.8), ("B", 0.3)]);
        if rule.name().contains("rrf") {
            assert_eq!(a(&[repeated.clone(), other.clone()]), a(&[once, other.clone()]), "{rule:?}: at its best rank");
        }
    }
}

#[test]
fn fifty_scores_some_no_numbers_pass_through_every_rule_and_come_last() {
    let odd = [f32::NAN, 0.9, 0.4, f32::NAN, -1.0];
    let mut hits: Vec<Hit> = (0..50).map(|i| hit(&format!("{:02}", (i * 7) % 50), odd[i % odd.len()])).collect();
    order::sort_ranked(&mut hits, |hit| f64::from(hit.score), |hit| &hit.id);
    for rule in rules() {
        let fused = rule.fuse(&[RankedList::new(Leg::Dense, hits.clone())]);
        assert!(fused.iter().all(|f| f.score.is_finite()), "{rule:?}");
        let score = |f: &Fused| hits.iter().find(|hit| hit.id == f.id).map(|hit| hit.score).expect("a chunk of the list");
        let (numbers, others) = fused.split_at(30);
        assert!(numbers.iter().all(|f| !score(f).is_nan()) && others.iter().all(|f| score(f).is_nan()), "{rule:?}");
    }
}

#[test]
fn a_leg_without_weight_is_not_asked_and_adds_nothing() {
    let lists = [dense(&[("a", 0.9), ("b", 0.5)]), sparse(&[("b", 8.0), ("c", 2.0)])];
    for name in ["rrf", "min-max", "dbsf"] {
        let of = |alpha: &str| format!("{name}:{alpha}").parse().and_then(FusionRule::build).expect("a rule");
        let (all_dense, all_sparse): (Arc<dyn Fusion>, Arc<dyn Fusion>) = (of("1.0"), of("0.0"));
        assert_eq!((all_dense.weight(Leg::Sparse), all_sparse.weight(Leg::Dense)), (0.0, 0.0));
        assert_eq!(ids(&all_dense.fuse(&lists)), ["a", "b"]);
        assert_eq!(ids(&all_sparse.fuse(&lists)), ["b", "c"]);
    }
}

#[test]
fn an_alpha_out_of_range_is_refused_by_name() {
    for alpha in [-0.01, 1.01, f64::NAN, f64::INFINITY] {
        let errors = [
            Rrf::default().alpha(alpha).expect_err("out of range"),
            MinMax::default().alpha(alpha).expect_err("out of range"),
            DistributionBased::default().alpha(alpha).expect_err("out of range"),
        ];
        for error in errors {
            let named = |what: &str| what.contains("alpha") && what.contains(&alpha.to_string());
            assert!(matches!(&error, Error::InvalidInput(what) if named(what)), "{error}");
        }
    }
}

#[test]
fn disjoint_lists_give_the_same_bytes_in_twenty_processes() {
    const CHILD: &str = "SENSETREE_FUSION_PRINTS";
    if env::var_os(CHILD).is_some() {
        let hits = |prefix: char| (0..20u8).map(|i| hit(&format!("{prefix}{i:02}"), 9.0 - f32::from(i) / 3.0)).collect();
        let lists = [RankedList::new(Leg::Sparse, hits('s')), RankedList::new(Leg::Dense, hits('d'))];
        for rule in rules() {
            let fused = rule.fuse(&lists);
            println!("\nfused: {:?}", fused[..7].iter().map(|f| (&f.id, f.score.to_bits())).collect::<Vec<_>>());
        }
        return;
    }
    // Each process seeds the standard hasher anew.
    let printed = || {
        let this = concat!(module_path!(), "::disjoint_lists_give_the_same_bytes_in_twenty_processes");
        let this = this.split_once("::").expect("the crate and the path in it").1;
        let program = env::current_exe().expect("the tests know their file");
        let output = Command::new(program).args(["--exact", this, "--nocapture"]).env(CHILD, "").output();
        let text = String::from_utf8(output.expect("the tests run once more").stdout).expect("what they print is text");
        text.lines().filter(|line| line.starts_with("fused: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let first = printed();
    assert_eq!(first.len(), rules().len());
    for _ in 1..20 {
        assert_eq!(printed(), first);
    }
}

proptest! {
    #[test]
    fn the_order_of_the_lists_shows_in_no_bit(
        (lists, mixed) in some_lists().prop_flat_map(|lists| (Just(lists.clone()), Just(lists).prop_shuffle())),
    ) {
        for rule in rules() {
            prop_assert_eq!(rule.fuse(&lists), rule.fuse(&mixed));
        }
    }

    #[test]
    fn with_one_list_left_its_order_stands(hits in prop::collection::vec((0u8..40, any::<f32>()), 0..60)) {
        let hits: Vec<Hit> = hits.into_iter().map(|(name, score)| hit(&format!("{name:02}"), score)).collect();
        let mut seen = HashSet::new();
        let order: Vec<&ChunkId> = hits.iter().map(|hit| &hit.id).filter(|id| seen.insert(*id)).collect();
        for rule in rules() {
            let fused = rule.fuse(&[sparse(&[]), RankedList::new(Leg::Dense, hits.clone())]);
            prop_assert!(fused.iter().all(|f| (0.0..=1.0).contains(&f.score)));
            prop_assert_eq!(fused.iter().map(|f| &f.id).collect::<Vec<_>>(), order.clone(), "{:?}", rule);
        }
    }
}
