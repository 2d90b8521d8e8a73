//! Following real files.

use std::{
    sync::Weak,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use sensetree_core::Error;

use super::*;
use crate::Watching;

const WAIT: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(60);

/// With the first sync done.
fn start(indexer: &Indexer, root: &Path) -> Watching {
    let mut watching = block_on(indexer.watch(&[root], WAIT)).expect("it is watched");
    block_on(watching.next(|_| {})).expect("a sync");
    watching
}

fn watching(desk: &Desk) -> Watching {
    let indexer = desk.builder().build().expect("good settings");
    start(&indexer, desk.folder.path())
}

/// Waits for as many syncs as it takes, and fails when one never comes.
fn until(watching: &mut Watching, done: impl Fn() -> bool) -> Vec<Report> {
    let mut reports = Vec::new();
    let started = Instant::now();
    while !done() {
        let mut next = Box::pin(watching.next(|_| {}));
        let report = loop {
            match next.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(report) => break report,
                Poll::Pending => std::thread::sleep(Duration::from_millis(5)),
            }
            assert!(started.elapsed() < PATIENCE, "a change was missed; so far: {reports:?}");
        };
        reports.push(report.expect("a sync"));
    }
    reports
}

/// Whether nothing comes within a few waits.
fn is_quiet(watching: &mut Watching) -> bool {
    let mut next = Box::pin(watching.next(|_| {}));
    // An idle watch looks at its roots once a second.
    (0..15).all(|_| {
        std::thread::sleep(WAIT);
        next.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending()
    })
}

#[test]
fn the_first_sync_is_a_whole_one_and_later_ones_see_what_came_changed_and_went() {
    let desk = Desk::with(&[("a.md", "alpha"), ("b/c.md", "gamma")]);
    let mut watching = watching(&desk);
    assert_eq!(desk.stored(), ["a.md", "b/c.md"]);
    desk.write("a.md", "apple");
    desk.write("b/new.md", "beta");
    desk.remove("b/c.md");
    let reports = until(&mut watching, || desk.found("apple").len() == 1 && desk.stored() == ["a.md", "b/new.md"]);
    assert!(reports.iter().all(|report| report.warnings.is_empty() && report.failed.is_empty()));
}

#[test]
fn an_editor_that_saves_by_renaming_changes_the_file_and_leaves_nothing_else() {
    let desk = Desk::with(&[("a.md", "alpha")]);
    let mut watching = watching(&desk);
    for version in 0..5 {
        desk.write("a.md.tmp", format!("version{version}"));
        fs::rename(desk.path("a.md"), desk.path("a.md~")).expect("a rename");
        fs::rename(desk.path("a.md.tmp"), desk.path("a.md")).expect("a rename");
        desk.remove("a.md~");
        until(&mut watching, || desk.found(&format!("version{version}")) == ["a.md"] && desk.stored() == ["a.md"]);
    }
}

#[test]
fn a_moved_file_keeps_its_vectors() {
    let desk = Desk::with(&[("a.md", "alpha"), ("sub/b.md", "beta")]);
    let mut watching = watching(&desk);
    let before = desk.embedder.passages().len();
    fs::rename(desk.path("a.md"), desk.path("sub/moved.md")).expect("a rename");
    let reports = until(&mut watching, || desk.stored() == ["sub/b.md", "sub/moved.md"]);
    assert_eq!(reports.iter().map(|report| report.moved).sum::<u64>(), 1);
    assert!(desk.embedded_after(before).is_empty());
}

#[test]
fn folders_that_come_and_go_quickly_leave_what_is_there_in_the_end() {
    let desk = Desk::with(&[("keep.md", "kappa")]);
    let mut watching = watching(&desk);
    for round in 0..20 {
        desk.write(format!("d{round}/deep/er/f.md"), format!("round{round}"));
        if round % 2 == 0 {
            fs::remove_dir_all(desk.path(format!("d{round}"))).expect("it was there");
        }
    }
    let mut expected: Vec<String> =
        (0..20).filter(|round| round % 2 == 1).map(|round| format!("d{round}/deep/er/f.md")).collect();
    expected.push("keep.md".into());
    expected.sort();
    until(&mut watching, || desk.stored() == expected);
}

#[test]
fn a_flood_of_events_is_one_sync_of_everything() {
    let desk = Desk::with(&[("keep.md", "kappa")]);
    let mut watching = watching(&desk);
    for number in 0..3000 {
        desk.write(format!("{}/f{number}.md", number % 10), format!("number{number}"));
    }
    let reports = until(&mut watching, || desk.stored().len() == 3001);
    assert!(reports.len() < 300, "{} syncs", reports.len());
}

#[test]
fn what_is_excluded_wakes_nobody_and_dropping_the_watch_ends_its_thread() {
    let desk = Desk::with(&[("a.md", "alpha")]);
    fs::create_dir(desk.path("store")).expect("a folder");
    let indexer = desk.builder().exclude(desk.path("store")).build().expect("good settings");
    let mut watching = start(&indexer, desk.folder.path());
    desk.write("store/data.bin", "x");
    desk.write(".git/index", "x");
    assert!(is_quiet(&mut watching));
    // A dropped future loses no change.
    desk.write("a.md", "apple");
    until(&mut watching, || desk.found("apple") == ["a.md"]);

    let config: Weak<_> = Arc::downgrade(&indexer.config);
    drop((watching, indexer));
    let started = Instant::now();
    while config.strong_count() > 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "a thread goes on for nobody");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_root_that_vanishes_keeps_its_documents() {
    let desk = Desk::with(&[("disk/a.md", "alpha")]);
    let indexer = desk.builder().build().expect("good settings");
    let mut watching = start(&indexer, &desk.path("disk"));
    fs::remove_dir_all(desk.path("disk")).expect("it was there");
    let report = block_on(watching.next(|_| {})).expect("a sync");
    assert_eq!(report.warnings.len(), 1, "{report}");
    assert_eq!(desk.stored(), ["disk/a.md"]);
}

#[test]
fn a_root_that_comes_back_is_followed_again() {
    let desk = Desk::with(&[("disk/a.md", "alpha")]);
    let indexer = desk.builder().build().expect("good settings");
    let mut watching = start(&indexer, &desk.path("disk"));
    for round in 0..3 {
        // Sometimes it is away for long, sometimes another folder takes its place at once.
        fs::rename(desk.path("disk"), desk.path(format!("away{round}"))).expect("a rename");
        if round < 2 {
            std::thread::sleep(WAIT * 3);
        }
        desk.write(format!("disk/new{round}.md"), format!("apple{round}"));
        until(&mut watching, || desk.found(&format!("apple{round}")) == [format!("disk/new{round}.md")]);
        desk.write("disk/later.md", format!("banana{round}"));
        until(&mut watching, || desk.found(&format!("banana{round}")) == ["disk/later.md"]);
        // What was the root once is nobody's concern.
        desk.write(format!("away{round}/b.md"), "cherry");
        assert!(is_quiet(&mut watching));
    }
    assert_eq!(desk.stored(), ["disk/later.md", "disk/new2.md"]);
}

#[test]
fn a_root_that_is_a_file_is_followed_through_editors_that_save_by_renaming() {
    let desk = Desk::with(&[("a.md", "alpha"), ("b.md", "beta")]);
    let indexer = desk.builder().build().expect("good settings");
    let mut watching = start(&indexer, &desk.path("a.md"));
    for version in 0..5 {
        desk.write("a.md.tmp", format!("version{version}"));
        fs::rename(desk.path("a.md.tmp"), desk.path("a.md")).expect("a rename");
        until(&mut watching, || desk.found(&format!("version{version}")) == ["a.md"]);
    }
    desk.write("a.md", "written in place");
    until(&mut watching, || desk.found("place") == ["a.md"]);
    assert_eq!(desk.stored(), ["a.md"]);
}

/// Otherwise one link to `/` would make it follow the whole disk.
#[cfg(unix)]
#[test]
fn what_is_behind_a_link_is_followed_only_when_links_are() {
    let desk = Desk::with(&[("root/a.md", "alpha"), ("outside/b.md", "beta")]);
    std::os::unix::fs::symlink("../outside", desk.path("root/link")).expect("a link");
    let root = desk.path("root");
    let mut watching = start(&desk.builder().build().expect("good settings"), &root);
    desk.write("outside/b.md", "banana");
    assert!(is_quiet(&mut watching));
    let mut watching = start(&desk.builder().follow_links(true).build().expect("good settings"), &root);
    desk.write("outside/b.md", "blueberry");
    until(&mut watching, || desk.found("blueberry") == ["root/link/b.md"]);
}

/// A change that comes while the embedder is away is not lost, and not tried without end either.
#[test]
fn what_a_service_could_not_do_is_done_with_the_next_change() {
    let desk = Desk::with(&[("a.md", "alpha")]);
    let service = Arc::new(super::services::Service::up());
    let indexer = Indexer::builder(super::services::remote(&desk, &service), desk.store.clone()).build().expect("good settings");
    let mut watching = start(&indexer, desk.folder.path());
    service.set_up(false);
    desk.write("a.md", "apple");
    let report = block_on(watching.next(|_| {})).expect("what may pass is no error");
    assert!(report.stopped.is_some() && report.pending == 1, "{report}");
    assert!(is_quiet(&mut watching));
    service.set_up(true);
    desk.write("b.md", "banana");
    until(&mut watching, || desk.found("apple") == ["a.md"] && desk.found("banana") == ["b.md"]);
}

#[test]
fn a_watch_that_cannot_work_is_refused() {
    let desk = Desk::new();
    let indexer = desk.builder().build().expect("good settings");
    let watch = |roots: &[PathBuf], wait| block_on(indexer.watch(roots, wait)).expect_err("it cannot work");
    assert!(matches!(watch(&[], WAIT), Error::InvalidInput(_)));
    assert!(matches!(watch(&[desk.path("")], Duration::MAX), Error::InvalidInput(_)));
    let missing = watch(&[desk.path("no-such-folder")], WAIT);
    assert!(matches!(missing, Error::Other { .. }) && missing.to_string().contains("no-such-folder"), "{missing}");
}
