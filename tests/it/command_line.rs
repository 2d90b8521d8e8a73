//! `examples/search.rs` as a person runs it: a process, with the real model and the real database.

use serde_json::Value;

use super::support::{Place, err, out};

#[test]
fn a_person_indexes_a_folder_and_asks() {
    let place = Place::new();
    place.write("tender.md", "# Tender\n\nThe submission cut-off is 14 March at noon.\n");
    place.write("bread.md", "# Bread\n\nMix flour, water and salt, and wait.\n");
    place.write("freezer.txt", "Freezer, serial number KX-4471-902, bought in May.\n");
    let indexed = place.index();
    assert_eq!(indexed.status.code(), Some(0), "{}", err(&indexed));
    assert!(
        out(&indexed).contains("3 new, 0 changed, 0 moved, 0 removed, 0 unchanged\n3 chunks embedded, 0 reused"),
        "{}",
        out(&indexed)
    );

    let asked = place.run(&["query", "when must the offer be handed in?", "--json", "--explain"]);
    assert_eq!(asked.status.code(), Some(0), "{}", err(&asked));
    let answer: Value = serde_json::from_str(&out(&asked)).expect("one JSON object");
    let best = &answer["results"][0];
    assert!(best["path"].as_str().expect("a path").ends_with("tender.md"), "{answer:#}");
    assert_eq!(best["score_kind"], "rerank");
    assert!(best["snippet"].as_str().expect("a snippet").contains("cut-off"));
    assert_eq!(best["chunk"]["index"], 0);
    assert!(best["chunk"]["lines"].is_array());
    assert!(best["evidence"]["sparse"].is_null(), "no word of the question is in the file: {best:#}");
    for list in ["dense", "fused", "rerank"] {
        assert!(best["evidence"][list]["rank"].is_number(), "{list}: {best:#}");
    }
    let stages = answer["stages"].as_array().expect("stages");
    assert_eq!(
        stages.iter().map(|s| s["name"].as_str().expect("a name")).collect::<Vec<_>>(),
        ["dense", "sparse", "fusion", "rerank", "dedup"]
    );
    assert!(stages.iter().all(|s| s["status"] == "ran" && s["ms"].is_number() && s["in"].is_number() && s["out"].is_number()));

    let by_number = place.run(&["query", "KX-4471-902", "--mode", "sparse", "--no-rerank", "--json"]);
    let answer: Value = serde_json::from_str(&out(&by_number)).expect("one JSON object");
    assert!(answer["results"][0]["path"].as_str().expect("a path").ends_with("freezer.txt"));
    assert_eq!(answer["results"][0]["evidence"]["sparse"]["rank"], 1);
    assert_eq!(answer["results"].as_array().map(Vec::len), Some(1));

    let plain = place.run(&["query", "bread", "--limit", "1"]);
    assert!(out(&plain).contains("bread.md") && !out(&plain).contains('\u{1b}'), "no colours in a pipe: {}", out(&plain));
    assert!(out(&plain).lines().all(|line| line.chars().count() <= 80 || line.contains("bread.md")), "{}", out(&plain));

    let again = place.index();
    assert!(
        out(&again).contains("0 new, 0 changed, 0 moved, 0 removed, 3 unchanged\n0 chunks embedded, 0 reused"),
        "{}",
        out(&again)
    );
    let status = place.run(&["status"]);
    assert!(out(&status).contains("documents  3"), "{}", out(&status));
}

#[test]
fn exit_codes_and_errors_are_for_people() {
    let place = Place::new();
    let nothing_yet = place.run(&["query", "lamp"]);
    assert_eq!(nothing_yet.status.code(), Some(2));
    assert!(err(&nothing_yet).starts_with("error: "), "{}", err(&nothing_yet));
    assert!(err(&nothing_yet).contains(place.store().to_str().expect("text")), "the store is named: {}", err(&nothing_yet));
    assert!(!place.store().exists(), "a question creates no store");

    let no_folder = place.index();
    assert_eq!(no_folder.status.code(), Some(2));
    assert!(err(&no_folder).contains("files"), "the folder is named: {}", err(&no_folder));

    place.write("lamp.md", "a lamp");
    assert_eq!(place.index().status.code(), Some(0));
    let none = place.run(&["query", "xylophone", "--mode", "sparse"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(out(&none).contains("Nothing found."), "{}", out(&none));
    assert_eq!(place.run(&["query", "  "]).status.code(), Some(1));
    assert_eq!(place.run(&["query", &"lamp ".repeat(2000)]).status.code(), Some(0));
    assert_eq!(place.run(&["query"]).status.code(), Some(2));

    let no_library = place
        .command("search", &["query", "lamp"])
        .env("ORT_DYLIB_PATH", "/no/such/libonnxruntime.so")
        .output()
        .expect("it starts");
    assert_eq!(no_library.status.code(), Some(2));
    assert!(err(&no_library).contains("ORT_DYLIB_PATH names /no/such/libonnxruntime.so"), "{}", err(&no_library));

    let no_reranker = place.run(&["query", "lamp", "--reranker", "no-such-model", "--json"]);
    let answer: Value = serde_json::from_str(&out(&no_reranker)).expect("one JSON object");
    assert_eq!(no_reranker.status.code(), Some(0), "a missing reranker is no error");
    assert_eq!(answer["stages"][3]["status"], "skipped", "{answer:#}");
    assert!(answer["stages"][3]["reason"].as_str().expect("a reason").contains("no-such-model"), "{answer:#}");
}
