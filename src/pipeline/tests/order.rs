use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::{Fused, Leg, RankedList};

#[test]
fn a_reranker_that_breaks_leaves_the_fused_order() {
    #[derive(Debug)]
    struct Broken(&'static str);
    #[async_trait]
    impl Reranker for Broken {
        fn name(&self) -> &str {
            self.0
        }
        fn scale(&self) -> ScoreScale {
            ScoreScale::Logit
        }
        async fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<f32>> {
            match self.0 {
                "fewer" => Ok(vec![0.0; passages.len() - 1]),
                "more" => Ok(vec![0.0; passages.len() + 1]),
                "nan" => Ok(passages.iter().map(|_| f32::NAN).collect()),
                "panics" => panic!("out of tea"),
                "absent" => Err(Error::ModelUnavailable { model: "big".into(), hint: "fetch it".into() }),
                other => Err(Error::other("score", other)),
            }
        }
    }
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let plain = Pipeline::builder(embedder.clone(), store.clone()).sparse(store.clone()).without_existence_check();
        let expected = plain.build().expect("the parts fit").search(Query::new("boiler note")).await.expect("the search runs");
        for (kind, said) in [
            ("fewer", "2 scores for 3 passages"),
            ("more", "4 scores for 3 passages"),
            ("nan", "the score NaN"),
            ("panics", "out of tea"),
            ("errors", "errors"),
            ("absent", "fetch it"),
        ] {
            let pipeline = Pipeline::builder(embedder.clone(), store.clone())
                .sparse(store.clone())
                .reranker(Broken(kind))
                .without_existence_check()
                .build()
                .expect("the parts fit");
            let page = pipeline.search(Query::new("boiler note")).await.expect("the search goes on");
            assert_eq!(page.results, expected.results, "{kind}");
            let wanted = if kind == "absent" { StageStatus::Skipped } else { StageStatus::Failed };
            assert_eq!(status(&page, "rerank"), wanted, "{kind}");
            assert!(reason(&page, "rerank").contains(said), "{kind}: {}", reason(&page, "rerank"));
        }
    });
}

#[test]
fn the_reranker_orders_and_its_score_is_shown_through_one_sigmoid() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let by_word = MockReranker::new(ScoreScale::Logit, |_, passage| if passage.contains("warranty") { 2.0 } else { -8.3 });
        let pipeline = Pipeline::builder(embedder, store.clone())
            .sparse(store)
            .reranker(by_word)
            .without_existence_check()
            .build()
            .expect("the parts fit");
        let page = pipeline.search(Query::new("boiler")).await.expect("the search runs");
        assert_eq!(paths(&page)[0], "/notes/freezer.md");
        assert!((page.results[0].score - 0.8808).abs() < 1e-4);
        assert!((page.results[1].score - 0.00025).abs() < 1e-5);
        assert!(page.results.iter().all(|r| r.score_kind == ScoreKind::Rerank));
        let ranks: Vec<u32> = page.results.iter().map(|r| r.evidence.rerank.expect("all were scored").rank).collect();
        assert_eq!(ranks, [1, 2, 3], "equal scores are ordered by identity");
    });
}

#[test]
fn what_was_not_scored_follows_in_fused_order() {
    run(async {
        let documents: Vec<(String, Vec<String>)> =
            (0..40).map(|i| (format!("/d/{i:02}"), vec![format!("lamp {}", "and more words ".repeat(i))])).collect();
        let texts: Vec<Vec<&str>> = documents.iter().map(|(_, texts)| texts.iter().map(String::as_str).collect()).collect();
        let documents: Vec<(&str, &[&str])> =
            documents.iter().zip(&texts).map(|((path, _), texts)| (path.as_str(), &**texts)).collect();
        let (embedder, store) = filled(&documents).await;
        let fused = Pipeline::builder(embedder.clone(), store.clone()).without_existence_check().build().expect("the parts fit");
        let fused = fused.search(Query::new("lamp").limit(40)).await.expect("the search runs");

        #[derive(Debug)]
        struct UpsideDown(AtomicUsize);
        #[async_trait]
        impl Reranker for UpsideDown {
            fn name(&self) -> &str {
                "upside down"
            }
            fn scale(&self) -> ScoreScale {
                ScoreScale::Unit
            }
            async fn score(&self, _: &str, passages: &[&str]) -> Result<Vec<f32>> {
                self.0.store(passages.len(), Ordering::SeqCst);
                assert!(passages.iter().all(|p| p.chars().count() <= 800), "passages are cut at 800 characters");
                Ok((0..passages.len()).map(|i| i as f32 / 100.0).collect())
            }
        }
        let reranker = Arc::new(UpsideDown(AtomicUsize::new(0)));
        // Five results: a shortlist of 20 out of a pool of 30.
        let pipeline = Pipeline::builder(embedder, store)
            .reranker(reranker.clone())
            .stage(EverythingButTheScored)
            .without_existence_check()
            .build()
            .expect("the parts fit");
        let page = pipeline.search(Query::new("lamp").limit(5)).await.expect("the search runs");
        assert_eq!(reranker.0.load(Ordering::SeqCst), 20);
        assert_eq!(paths(&page), paths(&fused)[20..25]);
        assert!(page.results.iter().all(|r| r.score_kind == ScoreKind::Cosine));
    });
}

/// Leaves the tail that no reranker saw.
#[derive(Debug)]
struct EverythingButTheScored;

#[async_trait]
impl Stage for EverythingButTheScored {
    fn name(&self) -> &str {
        "tail"
    }
    async fn apply(&self, _: &Query, candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        Ok(candidates.into_iter().filter(|c| c.evidence.rerank.is_none()).collect())
    }
}

#[test]
fn a_blend_stands_between_the_fused_and_the_reranked_order() {
    run(async {
        let hits: Vec<Hit> = (0..5).map(|i| hit(&format!("/{i}"), 0, 9.0 - i as f32)).collect();
        // The first of the fused order is the last of the reranked one; the others keep their places.
        let first_last = |passage: &str| match passage.bytes().last().map_or(0.0, |last| f32::from(last - b'0')) {
            0.0 => 0.5,
            place => 0.56 - place / 100.0,
        };
        let shown = || MockReranker::new(ScoreScale::Unit, move |_, passage| first_last(passage));
        let logits =
            MockReranker::new(ScoreScale::Logit, move |_, passage| (first_last(passage) / (1.0 - first_last(passage))).ln());
        let (embedder, store) = filled(&[]).await;
        let builder = |reranker: MockReranker| {
            Pipeline::builder(embedder.clone(), store.clone())
                .sparse(Canned(hits.clone()))
                .reranker(reranker)
                .rerank_order(RerankOrder::Blend)
                .without_existence_check()
        };
        // 61/61 + ¾·0.5 lies between 61/62 + ¾·0.55 and 61/63 + ¾·0.54.
        let expected = ["/1", "/0", "/2", "/3", "/4"];
        for (what, builder) in [
            ("scores in [0, 1]", builder(shown())),
            ("logits", builder(logits)),
            ("fused scores that have no shares", builder(shown()).fusion(BelowZero)),
        ] {
            let pipeline = builder.build().expect("the parts fit");
            let page = pipeline.search(Query::new("anything")).await.expect("the search runs");
            assert_eq!(paths(&page), expected, "{what}");
        }
    });
}

/// Reciprocal rank fusion, 10 lower.
#[derive(Debug)]
struct BelowZero;

impl Fusion for BelowZero {
    fn name(&self) -> &str {
        "below zero"
    }
    fn fuse(&self, lists: &[RankedList]) -> Vec<Fused> {
        Rrf::default().fuse(lists).into_iter().map(|fused| Fused { score: fused.score - 10.0, ..fused }).collect()
    }
    fn best(&self, legs: &[Leg]) -> f64 {
        Rrf::default().best(legs)
    }
    fn weight(&self, leg: Leg) -> f64 {
        Rrf::default().weight(leg)
    }
}

#[test]
fn a_file_with_many_chunks_does_not_crowd_out_the_others() {
    run(async {
        let embedder = Arc::new(MockEmbedder::new(512));
        let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
        let strong = vec!["lamp lamp lamp"; 60];
        let weak: Vec<String> = (0..9).map(|i| format!("/weak/{i}")).collect();
        let mut documents: Vec<(&str, &[&str])> = vec![("/strong", &strong)];
        documents.extend(weak.iter().map(|path| (path.as_str(), &["one lamp among many other things in a room"] as &[&str])));
        store.commit(embedded(&embedder, &documents).await, &[]).await.expect("whole documents are stored");
        let pipeline = Pipeline::builder(embedder, store.clone())
            .sparse(store)
            .reranker(MockReranker::word_overlap())
            .without_existence_check();
        let page = pipeline.build().expect("the parts fit").search(Query::new("lamp").limit(10)).await.expect("the search runs");
        assert_eq!(page.results.len(), 10);
        assert_eq!(page.stage("rerank").map(|s| s.status), Some(StageStatus::Ran));
        assert!(
            page.results.iter().all(|r| r.score_kind == ScoreKind::Rerank),
            "at most three chunks of a file are on the shortlist"
        );
    });
}

#[test]
fn a_stage_that_invents_or_repeats_candidates_is_not_believed() {
    #[derive(Debug)]
    struct Doubling;
    #[async_trait]
    impl Stage for Doubling {
        fn name(&self) -> &str {
            "doubling"
        }
        async fn apply(&self, _: &Query, mut candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
            candidates.extend(candidates.clone());
            Ok(candidates)
        }
    }
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let pipeline =
            Pipeline::builder(embedder, store).stage(Doubling).without_existence_check().build().expect("the parts fit");
        let page = pipeline.search(Query::new("boiler")).await.expect("the search runs");
        assert_eq!(page.results.len(), 3);
        assert_eq!(status(&page, "doubling"), StageStatus::Failed);
        assert!(reason(&page, "doubling").contains("twice"));
    });
}

#[test]
fn a_threshold_is_on_the_displayed_score_of_its_kind() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let logit = MockReranker::new(ScoreScale::Logit, |_, passage| if passage.contains("warranty") { 2.6 } else { -3.0 });
        let builder = || Pipeline::builder(embedder.clone(), store.clone()).sparse(store.clone()).without_existence_check();
        // The sigmoid of 2.6 is 0.93. Its fused score of about 0.016 is far below the threshold, and does not matter.
        let pipeline = builder().reranker(logit).least_score(ScoreKind::Rerank, 0.5).build().expect("the parts fit");
        let page = pipeline.search(Query::new("boiler")).await.expect("the search runs");
        assert_eq!(paths(&page), ["/notes/freezer.md"]);
        let failed = builder().reranker(PanickingReranker).least_score(ScoreKind::Rerank, 0.5).build().expect("the parts fit");
        let page = failed.search(Query::new("boiler")).await.expect("the search runs");
        assert_eq!(page.results.len(), 3, "scores of another kind are not compared with it");
    });
}

#[test]
fn the_share_of_one_file_on_the_shortlist_can_be_set() {
    run(async {
        let strong = vec!["lamp lamp lamp"; 60];
        let (embedder, store) = filled(&[("/strong", &strong), ("/weak", &["one lamp among many other things"])]).await;
        for share in [1, 7] {
            let share = std::num::NonZero::new(share).expect("not zero");
            let pipeline = Pipeline::builder(embedder.clone(), store.clone())
                .sparse(store.clone())
                .reranker(MockReranker::word_overlap())
                .chunks_per_file(share)
                .stage(OnlyTheScored)
                .without_existence_check()
                .build()
                .expect("the parts fit");
            let page = pipeline.search(Query::new("lamp")).await.expect("the search runs");
            assert_eq!(page.stage("scored").map(|s| s.output), Some(share.get() + 1));
        }
    });
}

/// Leaves what a reranker saw.
#[derive(Debug)]
struct OnlyTheScored;

#[async_trait]
impl Stage for OnlyTheScored {
    fn name(&self) -> &str {
        "scored"
    }
    async fn apply(&self, _: &Query, candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        Ok(candidates.into_iter().filter(|c| c.evidence.rerank.is_some()).collect())
    }
}
