use super::*;

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
fn both_legs_work_at_the_same_time() {
    /// Goes on when both legs are here.
    #[derive(Debug)]
    struct Meeting<T>(T, Arc<tokio::sync::Barrier>);
    #[async_trait]
    impl Embedder for Meeting<Arc<MockEmbedder>> {
        fn fingerprint(&self) -> &crate::Fingerprint {
            self.0.fingerprint()
        }
        async fn embed_query(&self, text: &str) -> Result<crate::Embedding> {
            self.1.wait().await;
            self.0.embed_query(text).await
        }
        async fn embed_passages(&self, texts: &[&str]) -> Result<Vec<crate::Embedding>> {
            self.0.embed_passages(texts).await
        }
    }
    #[async_trait]
    impl SparseRetriever for Meeting<Arc<MemoryStore>> {
        async fn retrieve(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
            self.1.wait().await;
            self.0.retrieve(query, filter, limit).await
        }
    }
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let both = Arc::new(tokio::sync::Barrier::new(2));
        let pipeline = Pipeline::builder(Meeting(embedder, both.clone()), store.clone())
            .sparse(Meeting(store, both))
            .without_existence_check()
            .build()
            .expect("the parts fit");
        let search = pipeline.search(Query::new("boiler"));
        let page = tokio::time::timeout(Duration::from_secs(60), search).await.expect("no leg waits for the other to end");
        assert_eq!(page.expect("the search runs").results.len(), 3);
    });
}

#[test]
fn a_leg_that_fails_when_asked_for_more_keeps_what_it_gave() {
    #[derive(Debug)]
    struct Tired(Vec<Hit>);
    #[async_trait]
    impl SparseRetriever for Tired {
        async fn retrieve(&self, _: &str, _: &Filter, limit: usize) -> Result<Vec<Hit>> {
            if limit > 30 { Err(Error::other("read on", "it is late")) } else { Ok(self.0[..limit].to_vec()) }
        }
    }
    run(async {
        let (embedder, store) = filled(&[]).await;
        // Thirty chunks of one file: the page asks for more.
        let hits = (0..40).map(|i| hit("/one", i, 100.0 - i as f32)).collect();
        let pipeline =
            Pipeline::builder(embedder, store).sparse(Tired(hits)).without_existence_check().build().expect("the parts fit");
        let page = pipeline.search(Query::new("anything").limit(5)).await.expect("what was found stands");
        assert_eq!(paths(&page), ["/one"]);
        assert_eq!(status(&page, "sparse"), StageStatus::Ran);
        assert!(
            reason(&page, "sparse").contains("asked for 60 chunks it failed") && reason(&page, "sparse").contains("it is late")
        );
    });
}

#[test]
fn an_empty_sparse_list_leaves_the_dense_order() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let dense = Pipeline::builder(embedder.clone(), store.clone()).without_existence_check().build().expect("the parts fit");
        let hybrid = Pipeline::builder(embedder, store).sparse(Canned(Vec::new())).without_existence_check();
        let hybrid = hybrid.build().expect("the parts fit");
        let query = || Query::new("an older note");
        let [dense, hybrid] =
            [dense.search(query()).await, hybrid.search(query()).await].map(|page| page.expect("the search runs"));
        assert_eq!(paths(&dense), paths(&hybrid));
    });
}
