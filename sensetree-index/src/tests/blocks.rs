//! Folders that are indexed as one.

use super::*;
use crate::{DEFAULT_BLOCK_FOLDERS, Folder};

fn project() -> Desk {
    Desk::with(&[
        ("app/main.md", "the application"),
        ("app/node_modules/react/index.js", "function pelican() {}"),
        ("app/node_modules/vite/readme.md", "flamingo"),
        ("env/pyvenv.cfg", "home = /usr/bin"),
        ("env/lib/heron.py", "heron = 1"),
        ("build/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55"),
        ("build/debug/stork.txt", "stork"),
        ("target/goals.md", "the ibis goals of this year"),
    ])
}

#[test]
fn a_block_folder_is_one_document_and_nothing_in_it_is_found_by_itself() {
    let desk = project();
    let report = desk.sync();
    assert_eq!(desk.stored(), ["app/main.md", "app/node_modules", "build", "env", "target/goals.md"]);
    assert_eq!(counts(&report), (5, 0, 0, 0));
    for word in ["pelican", "flamingo", "heron", "stork"] {
        assert!(desk.found(word).is_empty(), "{word}");
    }
    assert_eq!(desk.found("react"), ["app/node_modules"], "by what is directly in it");
    assert_eq!(desk.found("javascript"), ["app/node_modules"], "by its kind");
    assert_eq!(desk.found("python"), ["env"]);
    let chunks = desk.chunks("app/node_modules");
    assert!(chunks.len() == 1 && chunks[0].text.starts_with("node_modules · app\n\ninstalled JavaScript packages"), "{chunks:?}");
    assert_eq!(counts(&desk.sync()), (0, 0, 5, 0));
}

#[test]
fn a_block_folder_that_changes_is_described_anew() {
    let desk = project();
    desk.sync();
    desk.write("app/node_modules/lodash/index.js", "x");
    let report = desk.sync();
    assert_eq!(counts(&report), (0, 1, 4, 0));
    assert_eq!(desk.found("lodash"), ["app/node_modules"]);
    fs::rename(desk.path("app"), desk.path("client")).expect("a rename");
    let (report, before) = (desk.sync(), desk.embedder.passages().len());
    assert_eq!((report.moved, counts(&report)), (2, (0, 0, 3, 0)));
    assert_eq!(desk.found("lodash"), ["client/node_modules"]);
    assert_eq!(counts(&desk.sync()), (0, 0, 5, 0));
    assert!(desk.embedded_after(before).is_empty());
}

#[test]
fn switching_between_block_and_recursive_and_back_leaves_nothing_stale() {
    let desk = project();
    let recursive = || desk.builder().block_folders([("none", "none"); 0]);
    let all = desk.sync_with(recursive()).new;
    assert_eq!(all, 8);
    assert_eq!(desk.found("pelican"), ["app/node_modules/react/index.js"]);
    let report = desk.sync();
    assert_eq!((report.new + report.moved, report.removed + report.moved), (3, 6));
    assert_eq!(desk.stored(), ["app/main.md", "app/node_modules", "build", "env", "target/goals.md"]);
    assert!(desk.found("pelican").is_empty());
    desk.sync_with(recursive());
    assert_eq!(desk.stored().len(), 8);
    assert_eq!(desk.found("pelican"), ["app/node_modules/react/index.js"]);
    assert!(!desk.stored().contains(&"app/node_modules".to_owned()));
}

#[test]
fn the_callers_word_counts_before_the_names_and_a_root_is_always_walked() {
    let desk = project();
    let builder = desk.builder().classify_folders(|folder| match folder.file_name()?.to_str()? {
        "target" => Some(Folder::block("goals of a person")),
        "node_modules" => Some(Folder::Recursive),
        _ => None,
    });
    desk.sync_with(builder);
    let stored = desk.stored();
    assert!(
        stored.contains(&"target".to_owned()) && stored.contains(&"app/node_modules/vite/readme.md".to_owned()),
        "{stored:?}"
    );
    assert_eq!(desk.found("person"), ["target"]);
    let other = project();
    other.sync_roots(other.builder(), &[other.path("app/node_modules")]);
    assert_eq!(other.found("flamingo"), ["app/node_modules/vite/readme.md"]);
}

#[test]
fn a_classifier_that_panics_ends_the_run_and_removes_nothing() {
    let desk = project();
    desk.sync();
    let stored = desk.stored();
    let indexer = desk.builder().classify_folders(|_| panic!("seven is not a number")).build().expect("good settings");
    let error = block_on(indexer.sync(&[desk.folder.path()], |_| {})).expect_err("nobody knows what the folders are");
    let text = error.to_string();
    assert!(text.contains("classifier") && text.contains("seven is not a number"), "{text}");
    assert_eq!(desk.stored(), stored);
}

#[test]
fn ignored_and_hidden_block_folders_are_left_out_unless_hidden_ones_are_wanted() {
    let desk = project();
    desk.write(".gitignore", "node_modules\n");
    desk.write(".git/HEAD", "ref: refs/heads/pelican");
    desk.sync();
    assert_eq!(desk.stored(), ["app/main.md", "build", "env", "target/goals.md"]);
    desk.sync_with(desk.builder().hidden(true));
    assert_eq!(desk.stored(), [".git", ".gitignore", "app/main.md", "build", "env", "target/goals.md"]);
    assert!(desk.found("pelican").is_empty());
    assert_eq!(desk.found("repository"), [".git"]);
}

#[test]
fn a_manifest_says_what_a_block_folder_is_and_a_long_list_is_counted() {
    let desk = Desk::new();
    (0..500).for_each(|number| desk.write(format!("bower_components/package{number}/x.js"), "x"));
    desk.write("bower_components/package.json", r#"{"name": "bird-cage", "description": "Parts of a\n cage"}"#);
    desk.sync();
    let text = &desk.chunks("bower_components")[0].text;
    assert!(text.contains("bird-cage: Parts of a cage") && text.contains("contains 501 entries"), "{text}");
    assert!(text.chars().count() < 1300);
    assert!(DEFAULT_BLOCK_FOLDERS.iter().any(|(name, _)| *name == "bower_components"));
}
