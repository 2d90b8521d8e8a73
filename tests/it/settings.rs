//! Settings as a program reads them from a file, with the real model and the real database.

use sensetree::{Engine, Error, Fingerprint, Pipeline, Query, Settings, StageStatus, Store, store::LanceStore};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::path};

use super::support::{Place, fixture_model, minilm_folder, run};

#[test]
fn what_a_file_says_is_what_is_done() {
    run(async {
        let server = MockServer::start().await;
        let summary = |request: &Request| {
            let asked: Value = serde_json::from_slice(&request.body).expect("a request is JSON");
            assert_eq!(asked["model"], "scripted");
            let message = json!({ "role": "assistant", "content": "A note about a xylophone." });
            ResponseTemplate::new(200).set_body_json(json!({ "choices": [{ "index": 0, "message": message }] }))
        };
        Mock::given(path("/v1/chat/completions")).respond_with(summary).mount(&server).await;

        let place = Place::new();
        place.write("lamp.md", "# Lamp\n\nIt hangs in the hall.");
        place.write("node_modules/left-pad/readme.md", "# Left pad\n\nPads on the left.");
        let text = format!(
            "store = {:?}\n[embedding]\nmodel = {:?}\nprecision = \"int8\"\nthreads = 1\n\
             [retrieval]\nrerank = false\nfusion = {{ rule = \"min-max\", alpha = 0.6 }}\n\
             [indexing]\nopen_block_folders = true\nsummaries = {{ endpoint = \"{}/v1\", model = \"scripted\" }}\n",
            place.store(),
            minilm_folder(),
            server.uri()
        );
        let file = place.store().with_file_name("search.toml");
        std::fs::write(&file, text).expect("the settings are written");
        let settings = Settings::read(&file).expect("the settings are right");

        let indexer = Engine::open(&settings).await.expect("the parts open").indexer().expect("an endpoint").build();
        let report = indexer.expect("the parts fit").sync(&[place.files()], |_| {}).await.expect("the folder is indexed");
        assert_eq!(report.new, 2, "the block folder is walked: {report}");

        let pipeline = Pipeline::from_settings(&settings).await.expect("the parts open");
        let page = pipeline.search(Query::new("xylophone")).await.expect("the search runs");
        assert!(page.results[0].evidence.sparse.is_some(), "a word of the summary is found");
        let stage = |name: &str| page.stages.iter().find(|stage| stage.name == name).expect("every stage reports");
        assert_eq!(stage("rerank").status, StageStatus::Skipped);
        assert!(stage("fusion").by.as_deref().is_some_and(|by| by.contains("min-max")), "{:?}", stage("fusion"));
    });
}

#[test]
fn another_model_takes_over_the_texts_and_the_old_one_is_refused() {
    run(async {
        let place = Place::new();
        for (name, text) in
            [("lamp.md", "a lamp in the hall"), ("boat.md", "a boat on the lake"), ("tree.md", "a tree by the house")]
        {
            place.write(name, text);
        }
        let settings = |model: &str| {
            let mut settings = Settings::default();
            settings.store = Some(place.store());
            settings.embedding.model = fixture_model(model).to_str().expect("text").to_owned();
            settings.retrieval.rerank = false;
            settings
        };
        let old = Engine::open(&settings("bert-embedder")).await.expect("the parts open");
        let indexer = old.indexer().expect("no endpoint").build().expect("the parts fit");
        indexer.sync(&[place.files()], |_| {}).await.expect("the folder is indexed");
        let pipeline = old.pipeline().without_existence_check().build().expect("the parts fit");
        std::fs::remove_dir_all(place.files()).expect("the files go away");

        let refused = Engine::open(&settings("xlmr-embedder")).await.expect_err("another model");
        assert!(matches!(refused, Error::FingerprintMismatch { .. }), "{refused:?}");
        let third = Fingerprint::new("third", 5);
        drop(LanceStore::open(place.store().with_file_name("store.rebuilding"), &third).await.expect("an abandoned rebuild"));
        let mut embedded = 0;
        let other = settings("xlmr-embedder");
        let new = Engine::open_rebuilding(&other, |event| {
            if let sensetree::index::Event::Embedded { chunks } = event {
                embedded += chunks;
            }
        });
        let new = new.await.expect("the texts are embedded anew");
        assert_eq!((embedded, new.store().stats().await.expect("counts").documents), (3, 3));
        assert!(!place.store().with_file_name("store.rebuilding").exists());
        let page = new.pipeline().without_existence_check().build().expect("the parts fit").search(Query::new("boat")).await;
        let page = page.expect("the search runs");
        assert!(page.stages.iter().all(|stage| stage.status != StageStatus::Failed), "{:#?}", page.stages);
        assert_eq!((page.results.len(), page.results[0].path.file_name()), (3, Some("boat.md".as_ref())));

        let page = pipeline.search(Query::new("boat")).await.expect("words still answer");
        let dense = &page.stages[0];
        assert_eq!((dense.name.as_str(), dense.status, page.results.len()), ("dense", StageStatus::Failed, 1));
        place.write("new.md", "something new");
        let written = indexer.sync(&[place.files()], |_| {}).await.expect_err("the old model writes no more");
        assert!(written.chain().contains("model"), "{}", written.chain());
        Engine::open_rebuilding(&settings("xlmr-embedder"), |event| panic!("nothing is left to do: {event:?}"))
            .await
            .expect("it opens");
    });
}
