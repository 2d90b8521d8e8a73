//! Settings as a program reads them from a file, with the real model and the real database.

use sensetree::{Engine, Pipeline, Query, Settings, StageStatus};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::path};

use super::support::{Place, minilm_folder, run};

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
