//! What is known about each file.

use super::*;
use crate::Status;
use sensetree_core::testing::FailingEmbedder;

fn status(desk: &Desk, name: &str) -> Status {
    block_on(desk.builder().build().expect("good settings").status(desk.path(name))).expect("the store answers")
}

#[test]
fn a_folder_that_is_indexed_as_one_has_a_status_too() {
    let desk = Desk::with(&[("node_modules/react/index.js", "x")]);
    assert_eq!(status(&desk, "node_modules"), Status::Pending);
    desk.sync();
    let Status::Indexed { how } = status(&desk, "node_modules") else { panic!("it is indexed") };
    assert!(how.contains("JavaScript"), "{how}");
    assert_eq!(status(&desk, "node_modules/react/index.js"), Status::Pending, "it is no document of its own");
    std::thread::sleep(std::time::Duration::from_millis(20));
    desk.write("node_modules/vite/index.js", "x");
    assert_eq!(status(&desk, "node_modules"), Status::Pending, "it changed");
}

fn sync_without_zebras(desk: &Desk, retry: bool) -> Report {
    let embedder = Arc::new(FailingEmbedder::new(desk.embedder.clone(), "zebra"));
    let indexer = Indexer::builder(embedder, desk.store.clone()).retry_failed(retry).build().expect("good settings");
    block_on(indexer.sync(&[desk.folder.path()], |_| {})).expect("the embedder works")
}

#[test]
fn each_file_is_pending_indexed_skipped_or_failed() {
    let desk = Desk::with(&[("a.md", "alpha"), ("p.bin", "\0"), ("z.md", "a zebra")]);
    assert_eq!(status(&desk, "a.md"), Status::Pending);
    sync_without_zebras(&desk, false);
    assert_eq!(status(&desk, "a.md"), Status::Indexed { how: "Markdown".into() });
    assert_eq!(status(&desk, "p.bin"), Status::Skipped { reason: "it is a binary file".into() });
    assert!(matches!(status(&desk, "z.md"), Status::Failed { tries: 1, is_final: true, reason } if reason.contains("zebra")));
    desk.write("a.md", "alpha and beta");
    assert_eq!(status(&desk, "a.md"), Status::Pending, "it changed");
    assert_eq!(status(&desk, "no-such-file"), Status::Pending);
}

#[test]
fn what_cannot_pass_is_not_tried_again_until_the_file_changes_or_somebody_asks() {
    let desk = Desk::with(&[("a.md", "alpha"), ("z.md", "a zebra")]);
    sync_without_zebras(&desk, false);
    let before = desk.embedder.passages().len();
    let again = desk.sync();
    assert_eq!((counts(&again), again.failed.len(), again.failed[0].tries), ((0, 0, 1, 0), 1, 1));
    assert!(desk.embedded_after(before).is_empty(), "nothing is tried, though it would work now");

    let asked = sync_without_zebras(&desk, true);
    assert_eq!((asked.failed.len(), asked.failed[0].tries), (1, 2));
    desk.write("z.md", "a horse");
    assert_eq!(counts(&desk.sync()), (0, 1, 1, 0));
    assert_eq!(desk.found("horse"), ["z.md"]);
    assert_eq!(status(&desk, "z.md"), Status::Indexed { how: "Markdown".into() });
}

#[test]
fn a_changed_file_that_fails_for_good_is_found_by_its_old_content_and_left_alone() {
    let desk = Desk::with(&[("a.md", "apple")]);
    desk.sync();
    desk.write("a.md", "a zebra");
    assert_eq!(sync_without_zebras(&desk, false).failed.len(), 1);
    assert_eq!(desk.found("apple"), ["a.md"]);
    let before = desk.embedder.passages().len();
    assert_eq!(sync_without_zebras(&desk, false).failed.len(), 1);
    assert!(desk.embedded_after(before).is_empty());
    // Back to what it was: nothing has to be embedded.
    desk.write("a.md", "apple");
    assert_eq!(counts(&desk.sync()), (0, 1, 0, 0));
    assert!(desk.embedded_after(before).is_empty());
    assert_eq!(status(&desk, "a.md"), Status::Indexed { how: "Markdown".into() });
}

#[test]
fn a_report_can_be_read_and_serialised() {
    let desk = Desk::with(&[("a.md", "alpha"), ("p.bin", "\0"), ("q.bin", "\0\0"), ("z.md", "a zebra")]);
    let report = sync_without_zebras(&desk, false);
    let text = report.to_string();
    for line in ["3 new, 0 changed, 0 moved", "not searched by content: 2 × it is a binary file", "failed: 1 ×"] {
        assert!(text.contains(line), "{text}");
    }
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!((&json["new"], &json["failed"][0]["tries"], &json["stopped"]), (&3.into(), &1.into(), &().into()));
}
