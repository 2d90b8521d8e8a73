//! Where the walk goes and where it does not.

use super::*;
use sensetree_core::Error;

fn sync_roots(desk: &Desk, roots: &[&str]) -> Report {
    desk.sync_roots(desk.builder(), &roots.iter().map(|root| desk.path(root)).collect::<Vec<_>>())
}

#[test]
fn ignore_files_count_without_a_repository_and_from_the_root_downwards() {
    let desk = Desk::with(&[
        (".gitignore", "root/**\n"),
        ("root/.gitignore", "*.log\n/build\n!keep.log\n"),
        ("root/a.log", "a"),
        ("root/keep.log", "k"),
        ("root/build/x.txt", "x"),
        ("root/sub/.ignore", "secret*\n"),
        ("root/sub/secret.md", "s"),
        ("root/sub/b.md", "b"),
        ("root/.hidden/h.md", "h"),
        ("root/.dot.md", "d"),
    ]);
    sync_roots(&desk, &["root"]);
    assert_eq!(desk.stored(), ["root/keep.log", "root/sub/b.md"]);
    desk.sync_roots(desk.builder().hidden(true), &[desk.path("root")]);
    let hidden = ["root/.dot.md", "root/.gitignore", "root/.hidden/h.md", "root/keep.log", "root/sub/.ignore", "root/sub/b.md"];
    assert_eq!(desk.stored(), hidden);
}

#[test]
fn a_broken_ignore_rule_is_a_warning() {
    let desk = Desk::with(&[(".gitignore", "a{b\n*.log\n"), ("a.md", "alpha"), ("b.log", "beta")]);
    let report = desk.sync();
    assert_eq!((desk.stored(), report.warnings.len()), (vec!["a.md".to_owned()], 1), "{:?}", report.warnings);
}

#[test]
fn overlapping_roots_count_a_file_once_and_the_outer_one_qualifies_it() {
    let desk = Desk::with(&[("one/two/a.md", "alpha"), ("one/b.md", "beta"), ("one-more/c.md", "gamma")]);
    let report = sync_roots(&desk, &["one/two", "one", "one/../one", "one/b.md", "one/two/a.md"]);
    assert_eq!((counts(&report), report.skipped.len()), ((2, 0, 0, 0), 0));
    assert!(desk.chunks("one/two/a.md")[0].text.starts_with("a.md · two\n"));
    let report = sync_roots(&desk, &["one/two"]);
    assert_eq!(counts(&report), (0, 0, 1, 0), "documents outside the root are not touched");
    assert_eq!(desk.stored().len(), 2);
}

#[test]
fn a_hidden_or_ignored_folder_that_is_a_root_itself_is_indexed() {
    let desk = Desk::with(&[("r/.gitignore", "out/\n"), ("r/out/a.md", "alpha"), ("r/.cfg/b.md", "beta"), ("r/c.md", "gamma")]);
    sync_roots(&desk, &["r", "r/out", "r/.cfg"]);
    assert_eq!(desk.stored(), ["r/.cfg/b.md", "r/c.md", "r/out/a.md"]);
}

#[test]
fn a_single_file_can_be_a_root() {
    let desk = Desk::with(&[("a.md", "alpha"), ("b.md", "beta")]);
    assert_eq!(counts(&sync_roots(&desk, &["a.md"])), (1, 0, 0, 0));
    assert_eq!(desk.stored(), ["a.md"]);
    assert_eq!(counts(&sync_roots(&desk, &["a.md"])), (0, 0, 1, 0));
}

#[test]
fn a_missing_root_that_nothing_is_known_of_is_an_error_that_changes_nothing() {
    let desk = Desk::with(&[("there/b.md", "beta")]);
    sync_roots(&desk, &["there"]);
    desk.remove("there/b.md");
    desk.write("there/c.md", "gamma");
    let indexer = desk.builder().build().expect("good settings");
    let error = block_on(indexer.sync(&[desk.path("there"), desk.path("tehre")], |_| {})).expect_err("a root is missing");
    assert!(matches!(&error, Error::Io { path, .. } if path.ends_with("tehre")), "{error}");
    assert_eq!(desk.stored(), ["there/b.md"]);
}

#[test]
fn a_root_that_has_gone_missing_keeps_its_documents_with_a_warning_and_the_others_go_on() {
    let desk = Desk::with(&[("gone/a.md", "alpha"), ("there/b.md", "beta")]);
    sync_roots(&desk, &["gone", "there"]);
    fs::remove_dir_all(desk.path("gone")).expect("it was there");
    desk.write("there/c.md", "gamma");
    let report = sync_roots(&desk, &["gone", "there"]);
    assert_eq!(counts(&report), (1, 0, 1, 0));
    assert!(report.warnings.len() == 1 && report.warnings[0].contains("not there"), "{:?}", report.warnings);
    assert_eq!(desk.stored(), ["gone/a.md", "there/b.md", "there/c.md"]);
}

#[test]
fn a_root_that_is_suddenly_empty_keeps_its_documents_with_a_warning() {
    let desk = Desk::with(&[("disk/a.md", "alpha"), ("there/b.md", "beta")]);
    sync_roots(&desk, &["disk", "there"]);
    desk.remove("disk/a.md");
    desk.remove("there/b.md");
    desk.write("there/c.md", "gamma");
    for roots in [&["disk", "there"][..], &["", "disk"]] {
        let report = sync_roots(&desk, roots);
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
        assert_eq!(desk.stored(), ["disk/a.md", "there/c.md"]);
    }
    desk.write("disk/d.md", "delta");
    assert_eq!(counts(&sync_roots(&desk, &["disk"])), (1, 0, 0, 1));
    assert!(sync_roots(&Desk::with(&[("x/y", "")]), &["x"]).warnings.is_empty());
}

#[test]
fn no_roots_are_nothing_to_do() {
    let desk = Desk::with(&[("a.md", "alpha")]);
    desk.sync();
    assert_eq!(desk.sync_roots(desk.builder(), &[]), Report::default());
    assert_eq!(desk.stored(), ["a.md"]);
}

#[test]
fn the_folder_of_the_store_can_be_left_out() {
    let desk = Desk::with(&[("a.md", "alpha"), ("index/data.bin", "x"), ("index-notes/b.md", "beta")]);
    desk.sync_with(desk.builder().exclude(desk.path("index")));
    assert_eq!(desk.stored(), ["a.md", "index-notes/b.md"]);
    let report = desk.sync_roots(desk.builder().exclude(desk.path("index")), &[desk.path("index"), desk.path("index/data.bin")]);
    assert_eq!(counts(&report), (0, 0, 0, 0));
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_back_up_terminates_and_gives_each_file_once() {
        let desk = Desk::with(&[("d/a.md", "alpha"), ("b.md", "beta")]);
        symlink("..", desk.path("d/up")).expect("a link");
        let report = desk.sync();
        assert_eq!(desk.stored(), ["b.md", "d/a.md"]);
        assert!(reason(&report.skipped, "up").contains("link"));
        let report = desk.sync_with(desk.builder().follow_links(true));
        assert_eq!(counts(&report), (0, 0, 2, 0));
        assert!(report.warnings.len() == 1 && report.warnings[0].contains("leads back"), "{:?}", report.warnings);
    }

    #[test]
    fn a_file_reached_twice_through_links_is_indexed_under_its_own_path() {
        let desk = Desk::with(&[("r/m/a.md", "alpha"), ("outside/o.md", "omega")]);
        for (target, link) in [("m", "r/a-before"), ("m", "r/z-after"), ("m/a.md", "r/b.md"), ("../outside", "r/out")] {
            symlink(target, desk.path(link)).expect("a link");
        }
        symlink("nowhere", desk.path("r/broken")).expect("a link");
        let report = desk.sync_roots(desk.builder().follow_links(true), &[desk.path("r")]);
        assert_eq!(desk.stored(), ["r/m/a.md", "r/out/o.md"]);
        assert_eq!((counts(&report), report.skipped.len(), report.failed.len()), ((2, 0, 0, 0), 3, 0));
        assert!(report.skipped.iter().all(|note| note.reason.contains("same file as")), "{:?}", report.skipped);
    }

    #[test]
    fn a_root_that_is_a_link_is_walked_under_its_own_name() {
        let desk = Desk::with(&[("real/a.md", "alpha")]);
        symlink("real", desk.path("link")).expect("a link");
        symlink("real/a.md", desk.path("file-link.md")).expect("a link");
        assert_eq!(counts(&sync_roots(&desk, &["link", "file-link.md"])), (2, 0, 0, 0));
        assert_eq!(desk.stored(), ["file-link.md", "link/a.md"]);
    }

    #[test]
    fn hard_links_are_files_of_their_own() {
        let desk = Desk::with(&[("a/L", "licence text")]);
        fs::create_dir(desk.path("b")).expect("a folder");
        fs::hard_link(desk.path("a/L"), desk.path("b/L")).expect("a link");
        desk.sync_with(desk.builder().follow_links(true));
        assert_eq!(desk.found("licence"), ["a/L", "b/L"]);
    }
}

#[cfg(unix)]
mod special_files {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn pipe(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo is part of every unix");
        assert!(made.success());
    }

    #[test]
    fn pipes_and_sockets_are_never_opened() {
        let desk = Desk::with(&[("a.md", "alpha")]);
        pipe(&desk.path("pipe.md"));
        let _socket = UnixListener::bind(desk.path("socket.txt")).expect("a socket");
        let report = desk.sync();
        assert_eq!(desk.stored(), ["a.md"]);
        for name in ["pipe.md", "socket.txt"] {
            assert!(reason(&report.skipped, name).contains("pipe"));
        }
        let indexer = desk.builder().build().expect("good settings");
        let error = block_on(indexer.sync(&[desk.path("pipe.md")], |_| {})).expect_err("a pipe is no root");
        assert!(matches!(error, Error::InvalidInput(_)));
    }

    #[test]
    fn a_file_that_becomes_a_pipe_after_the_walk_does_not_hang() {
        let desk = Desk::with(&[("a.md", "alpha"), ("b.md", "beta")]);
        let report = desk.sync_watched(|event| {
            if matches!(event, Event::Started { .. }) {
                desk.remove("a.md");
                pipe(&desk.path("a.md"));
            }
        });
        assert!(reason(&report.failed, "a.md").contains("regular"));
        assert_eq!(desk.stored(), ["b.md"]);
    }
}
