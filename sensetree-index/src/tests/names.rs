//! Names that are more than letters.

use super::*;

#[test]
fn quotes_line_breaks_and_wildcards_in_names_are_just_characters() {
    let names = ["Bea's plans/don't.md", "\"draft\".md", "100%_\\[x].md", "a\nb.md", "  spaced  .md", "-", "보증서.md"];
    let desk = Desk::new();
    for (number, name) in names.iter().enumerate() {
        desk.write(name, format!("content number{number}"));
    }
    assert_eq!(counts(&desk.sync()), (names.len() as u64, 0, 0, 0));
    for (number, name) in names.iter().enumerate() {
        assert_eq!(desk.found(&format!("number{number}")), [*name]);
    }
    assert_eq!(counts(&desk.sync()), (0, 0, names.len() as u64, 0));

    fs::rename(desk.path("Bea's plans"), desk.path("Bea's \"old\" plans")).expect("a rename");
    desk.remove("\"draft\".md");
    let report = desk.sync();
    assert_eq!((counts(&report), report.moved), ((0, 0, names.len() as u64 - 2, 1), 1));
    assert_eq!(desk.found("number0"), ["Bea's \"old\" plans/don't.md"]);
    assert!(desk.found("number1").is_empty());
}

#[test]
fn composed_and_decomposed_names_keep_their_own_bytes() {
    let (composed, decomposed) = ("Pr\u{fc}f_a.md", "Pru\u{308}f_b.md");
    let desk = Desk::with(&[(composed, "alpha"), (decomposed, "beta")]);
    assert_eq!(counts(&desk.sync()), (2, 0, 0, 0));
    assert_eq!(desk.found("alpha"), [composed]);
    assert_eq!(desk.found("beta"), [decomposed]);
    assert!(desk.documents().iter().all(|document| document.path.exists()));
    assert_eq!(desk.found("Pr\u{fc}f").len(), 2, "both are found by name, however it is written");
    assert_eq!(counts(&desk.sync()), (0, 0, 2, 0));
}

/// Linux keeps both; macOS and Windows know only one of them.
#[cfg(target_os = "linux")]
#[test]
fn two_names_that_differ_only_in_their_form_are_one_document_and_a_reason() {
    let desk = Desk::with(&[("Pr\u{fc}f.md", "alpha"), ("Pru\u{308}f.md", "beta")]);
    let report = desk.sync();
    assert_eq!((report.new, report.skipped.len()), (1, 1));
    assert!(report.skipped[0].reason.contains("Unicode"));
    // Which of them is gone does not matter: the other takes its place, under its own path.
    let stored = desk.stored().remove(0);
    desk.remove(&stored);
    assert_eq!(counts(&desk.sync()), (0, 1, 0, 0));
    assert_ne!(desk.stored(), [stored]);
    assert!(desk.documents()[0].path.exists());
}

/// The key stays the same, but only the new path can be opened. Renaming a folder changes nothing about the files in it.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_changes_its_form_keeps_its_document_and_changes_its_path() {
    let desk = Desk::with(&[("Pr\u{fc}f.md", "alpha"), ("Pr\u{fc}fungen/b.md", "beta")]);
    desk.sync();
    desk.settle("Pr\u{fc}fungen/b.md");
    fs::rename(desk.path("Pr\u{fc}f.md"), desk.path("Pru\u{308}f.md")).expect("a rename");
    fs::rename(desk.path("Pr\u{fc}fungen"), desk.path("Pru\u{308}fungen")).expect("a rename");
    assert_eq!(counts(&desk.sync()), (0, 2, 0, 0));
    assert!(desk.documents().iter().all(|document| document.path.exists()));
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_unicode_can_be_indexed_and_reported() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::new();
    let name = |bytes: &'static [u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
    desk.write(name(b"caf\xe9.txt"), "alpha");
    desk.write(name(b"caf\xe8.txt"), "beta");
    desk.write(name(b"d\xff/caf\xe8.bin"), "\0");
    let report = desk.sync();
    assert_eq!((counts(&report), report.skipped.len()), ((3, 0, 0, 0), 1), "names that are shown alike are different files");
    assert!(desk.documents().iter().all(|document| document.path.exists()));
    assert!(serde_json::to_string(&report).expect("JSON").contains("caf\u{FFFD}.bin"));
    assert_eq!(counts(&desk.sync()), (0, 0, 3, 0));
    fs::rename(desk.path(name(b"caf\xe9.txt")), desk.path(name(b"caf\xea.txt"))).expect("a rename");
    fs::remove_file(desk.path(name(b"caf\xe8.txt"))).expect("it was there");
    let report = desk.sync();
    assert_eq!((counts(&report), report.moved), ((0, 0, 1, 1), 1));
}
