//! Syncs of some paths only.

use super::*;

fn sync_paths(desk: &Desk, paths: &[&str]) -> Report {
    let indexer = desk.builder().build().expect("good settings");
    let paths: Vec<PathBuf> = paths.iter().map(|path| desk.path(path)).collect();
    block_on(indexer.sync_paths(&[desk.folder.path()], &paths, |_| {})).expect("a sync")
}

#[test]
fn only_the_given_paths_are_looked_at() {
    let desk = Desk::with(&[("a/x.md", "alpha"), ("b/y.md", "beta"), ("b/c/z.md", "gamma")]);
    desk.sync();
    desk.write("a/x.md", "apple");
    desk.write("b/y.md", "banana");
    desk.remove("b/c/z.md");
    let report = sync_paths(&desk, &["b"]);
    assert_eq!(counts(&report), (0, 1, 0, 1));
    assert_eq!((desk.found("banana"), desk.found("apple")), (vec!["b/y.md".to_owned()], vec![]));
    assert_eq!(counts(&sync_paths(&desk, &["a/x.md", "a/x.md", "a/not-there.md"])), (0, 1, 0, 0));
    assert_eq!(desk.found("apple"), ["a/x.md"]);
}

#[test]
fn ignore_rules_above_the_path_count() {
    let desk =
        Desk::with(&[(".gitignore", "*.log\nout/\n"), ("a/b/x.log", "alpha"), ("out/c/y.md", "beta"), ("a/b/z.md", "gamma")]);
    assert_eq!(counts(&sync_paths(&desk, &["a/b/x.log", "out/c", "a/b/z.md"])), (1, 0, 0, 0));
    assert_eq!(desk.stored(), ["a/b/z.md"]);
}

#[test]
fn what_is_outside_the_roots_is_left_alone() {
    let desk = Desk::with(&[("root/a.md", "alpha"), ("other/b.md", "beta")]);
    let indexer = desk.builder().build().expect("good settings");
    let report = block_on(indexer.sync_paths(&[desk.path("root")], &[desk.path("other"), desk.path("root-2")], |_| {}));
    assert_eq!(report.expect("nothing to do"), Report::default());
    assert!(desk.stored().is_empty());
}

#[test]
fn a_changed_ignore_file_concerns_its_folder() {
    let desk = Desk::with(&[("a/x.log", "alpha"), ("a/b/y.log", "beta"), ("c.log", "gamma")]);
    desk.sync();
    desk.write("a/.gitignore", "*.log\n");
    assert_eq!(counts(&sync_paths(&desk, &["a/.gitignore"])), (0, 0, 0, 2));
    assert_eq!(desk.stored(), ["c.log"]);
}

#[test]
fn a_change_inside_a_block_folder_concerns_that_folder() {
    let desk = Desk::with(&[("node_modules/react/a.js", "alpha"), ("env/lib.py", "beta = 1"), ("b.md", "gamma")]);
    desk.sync();
    desk.write("node_modules/vite/b.js", "delta");
    assert_eq!(counts(&sync_paths(&desk, &["node_modules/vite/b.js"])), (0, 1, 0, 0));
    assert_eq!(desk.found("vite"), ["node_modules"]);
    desk.write("env/pyvenv.cfg", "");
    let report = sync_paths(&desk, &["env/pyvenv.cfg"]);
    assert_eq!((report.new, report.removed), (1, 1));
    desk.remove("env/pyvenv.cfg");
    let report = sync_paths(&desk, &["env/pyvenv.cfg"]);
    assert_eq!((report.new, report.removed), (1, 1));
    assert_eq!(desk.stored(), ["b.md", "env/lib.py", "node_modules"]);
}

#[test]
fn a_move_between_two_given_paths_keeps_its_vectors() {
    let desk = Desk::with(&[("a/x.md", "alpha"), ("b/y.md", "beta")]);
    desk.sync();
    let before = desk.embedder.passages().len();
    fs::rename(desk.path("a/x.md"), desk.path("b/x.md")).expect("a rename");
    assert_eq!(sync_paths(&desk, &["a/x.md", "b/x.md"]).moved, 1);
    assert!(desk.embedded_after(before).is_empty());
    assert_eq!(desk.stored(), ["b/x.md", "b/y.md"]);
}

#[test]
fn a_root_that_is_missing_or_empty_keeps_its_documents() {
    let desk = Desk::with(&[("disk/a.md", "alpha")]);
    let indexer = desk.builder().build().expect("good settings");
    let sync = |path: PathBuf| block_on(indexer.sync_paths(&[desk.path("disk")], &[path], |_| {})).expect("it is kept");
    sync(desk.path("disk"));
    desk.remove("disk/a.md");
    assert_eq!(sync(desk.path("disk/a.md")).warnings.len(), 1);
    fs::remove_dir(desk.path("disk")).expect("it is empty");
    assert_eq!(sync(desk.path("disk/a.md")).warnings.len(), 1);
    assert_eq!(desk.stored(), ["disk/a.md"]);
}
