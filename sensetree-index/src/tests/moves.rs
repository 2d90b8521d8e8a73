//! What keeps its vectors: moved files, and the unchanged parts of changed ones.

use super::*;
use crate::{Outcome, embedded_text};

/// Paragraphs that make a chunk each.
fn parts(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name} {}", "word ".repeat(150))).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn only_the_changed_chunks_of_a_file_are_embedded() {
    let desk = Desk::with(&[("a.txt", &parts(&["one", "two", "three", "four", "five"]))]);
    desk.sync();
    let (before, old) = (desk.embedder.passages().len(), desk.chunks("a.txt"));
    desk.write("a.txt", parts(&["one", "two", "changed", "four", "five"]));
    let report = desk.sync();
    assert_eq!((counts(&report), report.chunks, report.chunks_embedded, report.chunks_reused), ((0, 1, 0, 0), 5, 1, 4));
    let embedded = desk.embedded_after(before);
    assert!(embedded.len() == 1 && embedded[0].contains("changed"), "{embedded:?}");
    let new = desk.chunks("a.txt");
    assert!([0, 1, 3, 4].iter().all(|&at| new[at].embedding == old[at].embedding) && new[2].embedding != old[2].embedding);
}

#[test]
fn a_chunk_that_is_repeated_or_moves_within_its_file_is_not_embedded_again() {
    let desk = Desk::with(&[("a.txt", &parts(&["one", "two", "three"]))]);
    desk.sync();
    let before = desk.embedder.passages().len();
    desk.write("a.txt", parts(&["one", "three", "two", "two"]));
    let report = desk.sync();
    assert_eq!((report.chunks, report.chunks_reused), (4, 4));
    assert!(desk.embedded_after(before).is_empty());
}

#[test]
fn a_renamed_file_keeps_its_vectors_and_is_found_by_its_new_name() {
    let desk = Desk::with(&[("untitled.txt", &parts(&["one", "two", "three"]))]);
    desk.sync();
    let (before, old) = (desk.embedder.passages().len(), desk.chunks("untitled.txt"));
    fs::create_dir(desk.path("insurance")).expect("a folder");
    fs::rename(desk.path("untitled.txt"), desk.path("insurance/boiler.txt")).expect("a rename");
    let mut outcomes = Vec::new();
    let report = desk.sync_watched(|event| {
        if let Event::Finished { outcome, .. } = event {
            outcomes.push(outcome);
        }
    });
    assert_eq!((counts(&report), report.moved, report.chunks_reused), ((0, 0, 0, 0), 1, 3));
    assert_eq!(outcomes, [Outcome::Moved { from: desk.path("untitled.txt") }]);
    assert!(desk.embedded_after(before).is_empty());
    assert_eq!(desk.stored(), ["insurance/boiler.txt"]);
    let new = desk.chunks("insurance/boiler.txt");
    assert!(new.iter().zip(&old).all(|(new, old)| new.embedding == old.embedding));
    assert!(embedded_text(&new[1]).starts_with("boiler.txt · insurance\ntwo"));
    assert_eq!((desk.found("insurance"), desk.found("untitled")), (vec!["insurance/boiler.txt".to_owned()], vec![]));
    assert_eq!(counts(&desk.sync()), (0, 0, 1, 0));
}

#[test]
fn a_moved_folder_of_a_thousand_files_costs_no_embedding() {
    let desk = Desk::new();
    for number in 0..1000 {
        // Some are the same, like licences; some have no text.
        let content = if number % 10 == 0 { "the same licence".to_owned() } else { format!("content number{number}") };
        desk.write(format!("old/{}/f{number}.md", number % 7), content);
    }
    (0..20).for_each(|number| desk.write(format!("old/p{number}.bin"), format!("\0\0{number}")));
    desk.sync();
    let before = desk.embedder.passages().len();
    fs::rename(desk.path("old"), desk.path("new")).expect("a rename");
    let report = desk.sync();
    assert_eq!((counts(&report), report.moved, report.chunks_embedded), ((0, 0, 0, 0), 1020, 0));
    assert!(desk.embedded_after(before).is_empty());
    assert!(desk.stored().len() == 1020 && desk.stored().iter().all(|name| name.starts_with("new/")));
}

#[test]
fn a_copy_is_not_a_move() {
    let desk = Desk::with(&[("a.md", "alpha apple")]);
    desk.sync();
    let before = desk.embedder.passages().len();
    fs::copy(desk.path("a.md"), desk.path("b.md")).expect("a copy");
    let report = desk.sync();
    assert_eq!((counts(&report), report.moved), ((1, 0, 1, 0), 0));
    assert_eq!(desk.embedded_after(before), ["b.md\n\nalpha apple"]);
    assert_eq!(desk.found("apple"), ["a.md", "b.md"]);
}

#[test]
fn one_of_two_copies_of_a_moved_file_is_the_move() {
    let desk = Desk::with(&[("a.md", "alpha apple")]);
    desk.sync();
    fs::copy(desk.path("a.md"), desk.path("b.md")).expect("a copy");
    fs::rename(desk.path("a.md"), desk.path("c.md")).expect("a rename");
    let report = desk.sync();
    assert_eq!((counts(&report), report.moved), ((1, 0, 0, 0), 1));
    assert_eq!(desk.found("apple"), ["b.md", "c.md"]);
}

#[test]
fn a_file_that_was_renamed_and_changed_is_a_new_one() {
    let desk = Desk::with(&[("a.md", "alpha"), ("same-size.md", "12345")]);
    desk.sync();
    desk.remove("a.md");
    desk.write("b.md", "gamma");
    let report = desk.sync();
    assert_eq!((counts(&report), report.moved), ((1, 0, 1, 1), 0));
    assert_eq!(desk.stored(), ["b.md", "same-size.md"]);
}

#[test]
fn two_files_that_change_places_keep_their_keys_and_lose_nothing() {
    let desk = Desk::with(&[("a.md", "alpha"), ("b.md", "gamma")]);
    desk.sync();
    fs::rename(desk.path("a.md"), desk.path("x.md")).expect("a rename");
    fs::rename(desk.path("b.md"), desk.path("a.md")).expect("a rename");
    fs::rename(desk.path("x.md"), desk.path("b.md")).expect("a rename");
    desk.sync();
    assert_eq!((desk.found("alpha"), desk.found("gamma")), (vec!["b.md".to_owned()], vec!["a.md".to_owned()]));
}

/// Its vector is made of its name, so a photo that gets a name of its own must be embedded by it.
#[test]
fn what_has_no_text_is_embedded_anew_when_its_name_changes_but_not_when_its_folder_does() {
    let desk = Desk::with(&[("IMG_1.bin", "\0\x01")]);
    desk.sync();
    let before = desk.embedder.passages().len();
    fs::create_dir(desk.path("photos")).expect("a folder");
    fs::rename(desk.path("IMG_1.bin"), desk.path("photos/IMG_1.bin")).expect("a rename");
    assert_eq!(desk.sync().moved, 1);
    assert!(desk.embedded_after(before).is_empty());
    fs::rename(desk.path("photos/IMG_1.bin"), desk.path("photos/wedding.bin")).expect("a rename");
    assert_eq!(desk.sync().moved, 1);
    assert!(desk.embedded_after(before)[0].starts_with("wedding.bin"));
    assert_eq!(desk.stored(), ["photos/wedding.bin"]);
}

#[test]
fn a_large_file_that_was_never_read_moves_by_its_size_and_time() {
    let desk = Desk::with(&[("long.log", &"line\n".repeat(100))]);
    let small = || desk.builder().max_file_size(100);
    desk.sync_with(small());
    let before = desk.embedder.passages().len();
    fs::create_dir(desk.path("logs")).expect("a folder");
    fs::rename(desk.path("long.log"), desk.path("logs/long.log")).expect("a rename");
    let report = desk.sync_with(small());
    assert_eq!((counts(&report), report.moved), ((0, 0, 0, 0), 1));
    assert!(desk.embedded_after(before).is_empty());
}

#[test]
fn a_moved_file_survives_a_run_that_stops_before_it_is_reached() {
    let desk = Desk::with(&[("a.md", "alpha apple")]);
    desk.sync();
    fs::rename(desk.path("a.md"), desk.path("b.md")).expect("a rename");
    let indexer = desk.builder().build().expect("good settings");
    let roots = [desk.folder.path()];
    // The first poll gets no further than to start the walk.
    let mut sync = Box::pin(indexer.sync(&roots, |_| {}));
    let _ = sync.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    drop(sync);
    let before = desk.embedder.passages().len();
    assert_eq!(desk.sync().moved, 1);
    assert!(desk.embedded_after(before).is_empty());
}
