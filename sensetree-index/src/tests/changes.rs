//! Files that come, change and go.

use std::time::SystemTime;

use super::*;

#[test]
fn files_come_change_and_go() {
    let desk = Desk::with(&[("a.md", "alpha apple"), ("b/c.txt", "beta banana")]);
    assert_eq!(counts(&desk.sync()), (2, 0, 0, 0));
    assert_eq!(desk.found("apple"), ["a.md"]);

    desk.write("a.md", "alpha cherry");
    desk.remove("b/c.txt");
    desk.write("d.rs", "fn delta() {}");
    assert_eq!(counts(&desk.sync()), (1, 1, 0, 1));
    assert_eq!(desk.found("cherry"), ["a.md"]);
    assert_eq!(desk.found("delta"), ["d.rs"]);
    assert!(desk.found("apple").is_empty() && desk.found("banana").is_empty());
}

#[test]
fn unchanged_files_cost_no_embedding() {
    let desk = Desk::with(&[("a.md", "alpha"), ("b.md", "beta"), ("empty.txt", ""), ("p.bin", "\0\0\0")]);
    assert_eq!(counts(&desk.sync()), (4, 0, 0, 0));
    let before = desk.embedder.passages().len();
    let report = desk.sync();
    assert_eq!(counts(&report), (0, 0, 4, 0));
    assert!(!report.has_changes() && report.chunks == 0);
    assert!(desk.embedded_after(before).is_empty());
}

#[test]
fn a_touched_file_is_read_and_found_to_be_the_same() {
    let desk = Desk::with(&[("a.md", "alpha")]);
    desk.sync();
    desk.settle("a.md");
    let before = desk.embedder.passages().len();
    assert_eq!(desk.sync().bytes, 0, "a settled file is not even read");
    set_modified(&desk, "a.md", SystemTime::UNIX_EPOCH);
    let report = desk.sync();
    assert_eq!((counts(&report), report.bytes), ((0, 0, 1, 0), 5));
    assert!(desk.embedded_after(before).is_empty());
}

#[test]
fn a_change_of_the_same_size_with_the_time_restored_is_found() {
    let desk = Desk::with(&[("a.txt", "the cat sat")]);
    let modified = fs::metadata(desk.path("a.txt")).and_then(|m| m.modified()).expect("a time");
    desk.sync();
    desk.write("a.txt", "the dog sat");
    set_modified(&desk, "a.txt", modified);
    assert_eq!(counts(&desk.sync()), (0, 1, 0, 0));
    assert_eq!((desk.found("dog"), desk.found("cat")), (vec!["a.txt".to_owned()], vec![]));
}

/// The time of the last change of the metadata cannot be restored, so not even an old file hides a change.
#[cfg(unix)]
#[test]
fn the_time_of_the_metadata_reveals_a_change_in_a_settled_file() {
    let desk = Desk::with(&[("a.txt", "the cat sat")]);
    let modified = fs::metadata(desk.path("a.txt")).and_then(|m| m.modified()).expect("a time");
    desk.sync();
    desk.settle("a.txt");
    std::thread::sleep(std::time::Duration::from_millis(50));
    desk.write("a.txt", "the dog sat");
    set_modified(&desk, "a.txt", modified);
    assert_eq!(counts(&desk.sync()), (0, 1, 0, 0));
    assert_eq!(desk.found("dog"), ["a.txt"]);
}

#[test]
fn a_file_that_shrinks_leaves_nothing_behind() {
    let words = |name: &str| format!("{name} ").repeat(150);
    let desk = Desk::with(&[("a.txt", &["one", "two", "three", "four", "five"].map(words).join("\n\n"))]);
    desk.sync();
    assert!(desk.chunks("a.txt").len() >= 5);
    desk.write("a.txt", ["one", "two"].map(words).join("\n\n"));
    desk.sync();
    assert_eq!(desk.chunks("a.txt").len(), 2);
    assert!(desk.found("four").is_empty());
}

#[test]
fn a_file_over_the_size_cap_is_found_by_name_until_the_cap_lets_it_through() {
    let desk = Desk::with(&[("long-report.txt", &"pelican ".repeat(100))]);
    let small = || desk.builder().max_file_size(100);
    let report = desk.sync_with(small());
    assert!(reason(&report.skipped, "long-report.txt").contains("larger than 100"));
    assert_eq!((desk.found("report"), desk.found("pelican")), (vec!["long-report.txt".to_owned()], vec![]));
    let again = desk.sync_with(small());
    assert_eq!((counts(&again), again.bytes), ((0, 0, 1, 0), 0));
    assert!(reason(&again.skipped, "long-report.txt").contains("larger"), "an old reason is told again");
    assert_eq!(counts(&desk.sync()), (0, 1, 0, 0));
    assert_eq!(desk.found("pelican"), ["long-report.txt"]);
}

#[test]
fn what_becomes_ignored_hidden_or_excluded_leaves() {
    let desk = Desk::with(&[("a.log", "alpha"), ("keep.md", "kappa"), ("sub/b.md", "beta")]);
    desk.sync();
    desk.write(".gitignore", "*.log\n");
    assert_eq!(counts(&desk.sync()), (0, 0, 2, 1));
    assert_eq!(counts(&desk.sync_with(desk.builder().exclude(desk.path("sub")))), (0, 0, 1, 1));
    fs::rename(desk.path("keep.md"), desk.path(".keep.md")).expect("a rename");
    desk.sync_with(desk.builder().exclude(desk.path("sub")));
    assert!(desk.stored().is_empty());
}

#[test]
fn a_file_that_vanishes_or_turns_into_a_folder_after_the_walk_costs_nothing_else() {
    let desk = Desk::with(&[("a.md", "alpha"), ("b.md", "beta"), ("c.md", "gamma")]);
    desk.sync();
    for name in ["a.md", "b.md", "c.md"] {
        desk.write(name, format!("{name} again"));
    }
    let report = desk.sync_watched(|event| {
        if matches!(event, Event::Started { .. }) {
            desk.remove("a.md");
            desk.remove("b.md");
            fs::create_dir(desk.path("b.md")).expect("a folder");
        }
    });
    assert_eq!(counts(&report), (0, 1, 0, 1));
    assert!(reason(&report.failed, "b.md").contains("regular file"));
    assert_eq!(desk.stored(), ["b.md", "c.md"], "what failed stays as it was");
    assert_eq!(desk.found("beta"), ["b.md"]);
}

fn set_modified(desk: &Desk, name: &str, time: SystemTime) {
    let file = fs::File::options().write(true).open(desk.path(name)).expect("it is there");
    file.set_modified(time).expect("a time");
}
