//! The flow of a query, with mocks where the fault cannot be had otherwise.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicUsize, atomic::Ordering},
};

use async_trait::async_trait;
use sensetree::{
    Candidate, Embedder, Error, Existence, Filter, Hit, Page, Pipeline, Query, RerankOrder, Reranker, Result, ScoreKind,
    ScoreScale, Settings, SparseRetriever, Stage, StageStatus, Store,
    fusion::Rrf,
    memory::MemoryStore,
    testing::{FailingEmbedder, MockEmbedder, MockReranker, PanickingReranker, RecordingEmbedder},
};

use super::support::{Canned, embedded, filled, hit, run};

const NOTES: &[(&str, &[&str])] = &[
    ("/notes/boiler.md", &["the boiler was serviced in May by the plumber"]),
    ("/notes/freezer.md", &["the freezer has a warranty until March"]),
    ("/notes-old/boiler.md", &["an older boiler note about the chimney"]),
];

fn paths(page: &Page) -> Vec<&str> {
    page.results.iter().map(|result| result.path.to_str().expect("test paths are text")).collect()
}

fn status(page: &Page, stage: &str) -> StageStatus {
    page.stage(stage).unwrap_or_else(|| panic!("the page has a report of {stage}")).status
}

fn reason<'a>(page: &'a Page, stage: &str) -> &'a str {
    page.stage(stage).and_then(|s| s.reason.as_deref()).unwrap_or_else(|| panic!("the report of {stage} has a reason"))
}

#[derive(Debug)]
struct FailingRetriever;

#[async_trait]
impl SparseRetriever for FailingRetriever {
    async fn retrieve(&self, _: &str, _: &Filter, _: usize) -> Result<Vec<Hit>> {
        Err(Error::other("read the text index", "the disk is gone"))
    }
}

#[test]
fn blank_queries_give_an_empty_page_and_ask_nobody() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let recorder = Arc::new(RecordingEmbedder::new(embedder));
        let pipeline = Pipeline::builder(recorder.clone(), store.clone())
            .sparse(store)
            .reranker(PanickingReranker)
            .without_existence_check()
            .build()
            .expect("the parts fit");
        for blank in ["", "   ", "\n\t", "\u{200B}"] {
            let page = pipeline.search(Query::new(blank)).await.expect("a blank query is no error");
            assert_eq!(page.results, []);
            for stage in ["dense", "sparse", "fusion", "rerank", "dedup"] {
                assert_eq!((status(&page, stage), reason(&page, stage)), (StageStatus::Skipped, "blank query"), "{stage}");
            }
        }
        assert_eq!(recorder.queries(), Vec::<String>::new());
        let page = pipeline.search(Query::new("!!!")).await.expect("punctuation is no error");
        assert_eq!(status(&page, "dense"), StageStatus::Ran);
        assert_eq!((status(&page, "sparse"), reason(&page, "sparse")), (StageStatus::Skipped, "the query has no word"));
    });
}

#[test]
fn both_legs_are_fused_and_every_place_is_explained() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let pipeline =
            Pipeline::builder(embedder, store.clone()).sparse(store).without_existence_check().build().expect("the parts fit");
        let page = pipeline.search(Query::new("boiler serviced")).await.expect("the search runs");
        assert_eq!(paths(&page)[0], "/notes/boiler.md");
        let best = &page.results[0];
        let ranks = [best.evidence.dense, best.evidence.sparse, best.evidence.fused].map(|r| r.expect("both legs found it").rank);
        assert_eq!(ranks, [1, 1, 1]);
        assert_eq!(best.evidence.fused.expect("it was fused").score, 2.0 / 61.0);
        assert_eq!(best.score_kind, ScoreKind::Cosine);
        assert_eq!(best.score, best.evidence.dense.expect("dense found it").score);
        let names: Vec<&str> = page.stages.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["dense", "sparse", "fusion", "rerank", "dedup"]);
        assert_eq!(reason(&page, "rerank"), "no reranker");
    });
}

#[test]
fn a_scope_is_a_folder_for_both_legs() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let pipeline =
            Pipeline::builder(embedder, store.clone()).sparse(store).without_existence_check().build().expect("the parts fit");
        let query = Query::new("boiler").under("/notes").expect("the folder has a name");
        assert_eq!(paths(&pipeline.search(query).await.expect("the search runs")), ["/notes/boiler.md", "/notes/freezer.md"]);
    });
}

#[test]
fn what_a_retriever_finds_out_of_scope_is_dropped() {
    run(async {
        let (embedder, store) = filled(&[]).await;
        let careless = Canned(vec![hit("/elsewhere/a", 0, 9.0), hit("/notes/b", 0, 8.0)]);
        let pipeline =
            Pipeline::builder(embedder, store).sparse(careless).without_existence_check().build().expect("the parts fit");
        let query = Query::new("anything").under("/notes").expect("the folder has a name");
        let page = pipeline.search(query).await.expect("the search runs");
        assert_eq!(paths(&page), ["/notes/b"]);
        assert_eq!(page.results[0].score_kind, ScoreKind::FusedShare);
    });
}

#[test]
fn one_failing_leg_is_reported_and_the_other_answers() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let page = Pipeline::builder(embedder.clone(), store.clone())
            .sparse(FailingRetriever)
            .without_existence_check()
            .build()
            .expect("the parts fit")
            .search(Query::new("boiler"))
            .await
            .expect("dense answers");
        assert_eq!(status(&page, "sparse"), StageStatus::Failed);
        assert!(reason(&page, "sparse").contains("the disk is gone"));
        assert_eq!(paths(&page).len(), 3);

        let broken = FailingEmbedder::new(embedder, "");
        let page = Pipeline::builder(broken, store.clone())
            .sparse(store.clone())
            .without_existence_check()
            .build()
            .expect("the parts fit")
            .search(Query::new("boiler"))
            .await
            .expect("sparse answers");
        assert_eq!(status(&page, "dense"), StageStatus::Failed);
        assert_eq!(page.results.len(), 2);
        assert!(page.results.iter().all(|r| r.score_kind == ScoreKind::FusedShare && r.score > 0.0 && r.score <= 1.0));

        let nobody = Pipeline::builder(FailingEmbedder::new(MockEmbedder::new(512), ""), store)
            .sparse(FailingRetriever)
            .build()
            .expect("the parts fit");
        let error = nobody.search(Query::new("boiler")).await.expect_err("no leg can answer");
        assert!(matches!(&error, Error::AllLegsFailed(why) if why.contains("dense") && why.contains("sparse")), "{error}");
    });
}

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
        let hits = (0..5).map(|i| hit(&format!("/{i}"), 0, 9.0 - i as f32)).collect();
        // The first of the fused order is the last of the reranked one; the others keep their places.
        let first_last = MockReranker::new(ScoreScale::Unit, |_, passage| {
            let place = passage.bytes().last().map_or(0.0, |last| f32::from(last - b'0'));
            if place == 0.0 { 0.0 } else { 1.0 - place / 10.0 }
        });
        let (embedder, store) = filled(&[]).await;
        let pipeline = Pipeline::builder(embedder, store)
            .sparse(Canned(hits))
            .reranker(first_last)
            .rerank_order(RerankOrder::Blend)
            .without_existence_check()
            .build()
            .expect("the parts fit");
        let page = pipeline.search(Query::new("anything")).await.expect("the search runs");
        // 1/61 + 0.5/65 lies between 1/62 + 0.5/61 and 1/63 + 0.5/62.
        assert_eq!(paths(&page), ["/1", "/0", "/2", "/3", "/4"]);
    });
}

#[derive(Debug)]
struct OnlyEven;

#[async_trait]
impl Existence for OnlyEven {
    async fn exist(&self, paths: Vec<Arc<PathBuf>>) -> Result<Vec<bool>> {
        Ok(paths.iter().map(|p| p.to_string_lossy().bytes().last().is_some_and(|last| (last - b'0').is_multiple_of(2))).collect())
    }
}

async fn many(count: usize, chunks: usize) -> (Arc<MockEmbedder>, Arc<MemoryStore>) {
    let embedder = Arc::new(MockEmbedder::new(64));
    let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
    let paths: Vec<String> = (0..count).map(|i| format!("/m/{i:04}")).collect();
    let texts = vec!["lamp light"; chunks];
    let documents: Vec<(&str, &[&str])> = paths.iter().map(|path| (path.as_str(), &*texts)).collect();
    store.commit(embedded(&embedder, &documents).await, &[]).await.expect("whole documents are stored");
    (embedder, store)
}

#[test]
fn the_pool_widens_until_the_page_is_full_of_living_files() {
    run(async {
        let (embedder, store) = many(400, 1).await;
        let pipeline =
            Pipeline::builder(embedder, store.clone()).sparse(store).existence(OnlyEven).build().expect("the parts fit");
        let page = pipeline.search(Query::new("lamp").limit(100)).await.expect("the search runs");
        let expected: Vec<String> = (0..100).map(|i| format!("/m/{:04}", 2 * i)).collect();
        assert_eq!(paths(&page), expected, "160 chunks hold 80 living files, so the pool must grow");
        assert_eq!(page.stage("dense").map(|s| s.input), Some(320));
    });
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
fn the_same_text_in_two_files_is_two_results() {
    run(async {
        let (embedder, store) = filled(&[("/a/LICENSE", &["the licence text"]), ("/b/LICENSE", &["the licence text"])]).await;
        let pipeline =
            Pipeline::builder(embedder, store.clone()).sparse(store).without_existence_check().build().expect("the parts fit");
        let page = pipeline.search(Query::new("licence")).await.expect("the search runs");
        assert_eq!(paths(&page), ["/a/LICENSE", "/b/LICENSE"]);
    });
}

#[test]
fn a_failing_existence_check_keeps_everything_and_is_told() {
    #[derive(Debug)]
    struct Unsure;
    #[async_trait]
    impl Existence for Unsure {
        async fn exist(&self, _: Vec<Arc<PathBuf>>) -> Result<Vec<bool>> {
            panic!("the network drive is away")
        }
    }
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let pipeline = Pipeline::builder(embedder, store).existence(Unsure).build().expect("the parts fit");
        let page = pipeline.search(Query::new("boiler")).await.expect("the search runs");
        assert_eq!(page.results.len(), 3);
        assert!(reason(&page, "fusion").contains("the network drive is away"));
    });
}

#[test]
fn files_that_are_gone_from_the_disk_are_not_shown() {
    run(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [kept, gone] = ["kept.md", "gone.md"].map(|name| folder.path().join(name));
        std::fs::write(&kept, "lamp").expect("a file is written");
        let names = [kept.to_str().expect("text"), gone.to_str().expect("text")];
        let (embedder, store) = filled(&[(names[0], &["lamp"]), (names[1], &["lamp"])]).await;
        let pipeline = Pipeline::builder(embedder, store).build().expect("the parts fit");
        let page = pipeline.search(Query::new("lamp")).await.expect("the search runs");
        assert_eq!(paths(&page), [names[0]]);
    });
}

#[test]
fn a_leg_without_weight_is_not_asked() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let dense_only = Pipeline::builder(embedder.clone(), store.clone())
            .sparse(FailingRetriever)
            .fusion(Rrf::default().alpha(1.0).expect("1 is in range"))
            .without_existence_check();
        let page = dense_only.build().expect("the parts fit").search(Query::new("boiler")).await.expect("the search runs");
        assert_eq!(reason(&page, "sparse"), "the fusion gives it no weight");

        let recorder = Arc::new(RecordingEmbedder::new(embedder));
        let sparse_only = |with_sparse: bool| {
            let builder =
                Pipeline::builder(recorder.clone(), store.clone()).fusion(Rrf::default().alpha(0.0).expect("0 is in range"));
            let builder = builder.without_existence_check();
            if with_sparse { builder.sparse(store.clone()) } else { builder }
        };
        let page = sparse_only(true).build().expect("the parts fit").search(Query::new("boiler")).await.expect("the search runs");
        assert_eq!(status(&page, "dense"), StageStatus::Skipped);
        assert_eq!(recorder.queries(), Vec::<String>::new());
        assert!(matches!(sparse_only(false).build(), Err(Error::InvalidInput(_))), "no leg is left");
    });
}

#[test]
fn another_embedder_is_refused_when_the_pipeline_is_built() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let other = MockEmbedder::new(512).named("another");
        let error = Pipeline::builder(other, store.clone()).build().expect_err("the spaces differ");
        assert!(matches!(error, Error::FingerprintMismatch { .. }));
        assert_eq!(store.fingerprint(), embedder.fingerprint());
    });
}

#[test]
fn switches_turn_parts_off_and_the_page_says_so() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let settings: Settings =
            serde_json::from_str(r#"{"retrieval": {"hybrid": false, "rerank": false}}"#).expect("the settings are known");
        let pipeline = Pipeline::builder(embedder, store.clone())
            .sparse(store)
            .reranker(PanickingReranker)
            .settings(&settings)
            .without_existence_check()
            .build()
            .expect("the parts fit");
        let page = pipeline.search(Query::new("boiler")).await.expect("the search runs");
        for stage in ["sparse", "rerank"] {
            assert_eq!((status(&page, stage), reason(&page, stage)), (StageStatus::Skipped, "switched off in the settings"));
        }
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
fn a_page_becomes_json_with_the_documented_names() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let pipeline = Pipeline::builder(embedder, store).without_existence_check().build().expect("the parts fit");
        let page = pipeline.search(Query::new("boiler").limit(1)).await.expect("the search runs");
        let json = serde_json::to_value(&page).expect("a page is serialisable");
        let stage = &json["stages"][0];
        assert_eq!((stage["name"].as_str(), stage["status"].as_str()), (Some("dense"), Some("ran")));
        assert_eq!((stage["in"].as_u64(), stage["out"].as_u64()), (Some(30), Some(3)));
        assert_eq!(json["results"][0]["score_kind"], "cosine");
        assert_eq!(json["results"][0]["evidence"]["dense"]["rank"], 1);
    });
}
