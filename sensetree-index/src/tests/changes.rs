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
    let mut removed = Vec::new();
    let report = desk.sync_watched(|event| {
        if let Event::Removed { path } = event {
            removed.push(path);
        }
    });
    assert_eq!((counts(&report), removed), ((1, 1, 0, 1), vec![desk.path("b/c.txt")]));
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

/// Otherwise whatever was indexed just after it was written, or touched, would be read by every sync for ever.
#[test]
fn what_is_too_fresh_to_trust_is_read_once_more_and_then_trusted() {
    let desk = Desk::with(&[("a.md", "alpha"), ("p.bin", "\0"), ("node_modules/x/y.js", "y")]);
    desk.sync();
    assert_eq!(desk.sync().bytes, 6, "it might have changed again unseen");
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert_eq!(desk.sync().bytes, 6);
    let before = desk.embedder.passages().len();
    let mut events = Vec::new();
    let report = desk.sync_watched(|event| events.push(event));
    assert_eq!((counts(&report), report.bytes), ((0, 0, 3, 0), 0));
    assert!(!events.iter().any(|event| matches!(event, Event::Committed { .. } | Event::Finished { .. })), "{events:?}");
    assert!(desk.embedded_after(before).is_empty());
    assert_eq!(desk.found("alpha"), ["a.md"]);
}

#[test]
fn a_touched_file_shows_its_new_time() {
    let desk = Desk::with(&[("a.md", "alpha")]);
    desk.sync();
    set_modified(&desk, "a.md", SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(5));
    desk.sync();
    assert_eq!(desk.documents()[0].stamp.modified, 5_000_000_000);
}

#[test]
fn a_time_in_the_future_or_a_clock_that_was_set_back_hides_no_change() {
    let desk = Desk::with(&[("a.txt", "the cat sat")]);
    let future = SystemTime::now() + std::time::Duration::from_secs(3600);
    set_modified(&desk, "a.txt", future);
    desk.sync();
    let before = desk.embedder.passages().len();
    for _ in 0..2 {
        assert_eq!(counts(&desk.sync()), (0, 0, 1, 0));
    }
    assert!(desk.embedded_after(before).is_empty());
    desk.write("a.txt", "the dog sat");
    set_modified(&desk, "a.txt", future);
    assert_eq!(counts(&desk.sync()), (0, 1, 0, 0));
    assert_eq!(desk.found("dog"), ["a.txt"]);
}

/// The number of a file on disk is given again when it is free, so it is no sign of anything.
#[test]
fn another_file_in_the_place_of_a_removed_one_is_read() {
    let desk = Desk::with(&[("a.txt", "the cat sat")]);
    desk.sync();
    desk.settle("a.txt");
    let modified = fs::metadata(desk.path("a.txt")).and_then(|m| m.modified()).expect("a time");
    desk.remove("a.txt");
    desk.write("a.txt", "the dog sat");
    set_modified(&desk, "a.txt", modified);
    assert_eq!(counts(&desk.sync()), (0, 1, 0, 0));
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
fn without_a_size_cap_everything_is_read() {
    let desk = Desk::with(&[("a.md", "alpha")]);
    desk.sync_with(desk.builder().max_file_size(u64::MAX));
    assert_eq!(desk.found("alpha"), ["a.md"]);
}

/// A log of 2 GiB that is still written to: it is told apart by its size, its start says what it is, and nothing is embedded again.
#[test]
fn a_huge_log_is_never_read_whole_and_costs_no_embedding_when_it_grows() {
    let desk = Desk::with(&[("server.log", &"2031-04-09 12:00:00 INFO ready\n".repeat(400))]);
    let grow = |bytes| {
        let file = fs::File::options().write(true).open(desk.path("server.log")).expect("it is there");
        file.set_len(bytes).expect("a sparse file");
    };
    grow(2 << 30);
    let report = desk.sync();
    assert_eq!((report.new, report.bytes), (1, 0));
    assert!(reason(&report.skipped, "server.log").contains("larger than"));
    assert_eq!(desk.found("server"), ["server.log"]);
    let before = desk.embedder.passages().len();
    grow((2 << 30) + 100);
    let report = desk.sync();
    assert_eq!((counts(&report), report.bytes), ((0, 0, 1, 0), 0), "what the store holds of it, its name, is the same");
    assert!(reason(&report.skipped, "server.log").contains("larger than"));
    assert!(desk.embedded_after(before).is_empty());
    // Its new size is known now.
    desk.sync_watched(|event| assert!(!matches!(event, Event::Started { files: 1.., .. }), "{event:?}"));
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
