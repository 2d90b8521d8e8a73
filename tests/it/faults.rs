//! Real processes that are stopped, and disks that are full or closed.

use std::{
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::support::{Place, err, example, out};

pub(super) fn signal(name: &str, id: u32) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(id.to_string()).status().expect("kill runs");
    assert!(sent.success());
}

#[test]
fn an_interrupted_run_is_resumed() {
    let place = Place::new();
    let text = "Some words about a subject that fill a line of a note. ".repeat(120);
    for i in 0..120 {
        place.write(&format!("{i:03}.md"), &format!("# Note {i}\n\nIt is about subject{i}.\n\n{text}"));
    }
    for name in ["INT", "KILL"] {
        let before = place.documents();
        let mut child = place
            .command("search", &["--threads", "1", "index", place.files().to_str().expect("text")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the example starts");
        let started = Instant::now();
        while place.documents() <= before {
            assert!(child.try_wait().expect("the child can be asked").is_none(), "the run ended before it could be stopped");
            assert!(started.elapsed() < Duration::from_secs(120), "nothing is stored after two minutes");
            sleep(Duration::from_millis(50));
        }
        signal(name, child.id());
        let code = child.wait().expect("the child ends").code();
        assert_eq!(code, if name == "INT" { Some(130) } else { None });
        assert!(place.documents() > before, "what was stored is kept");
    }
    let stored = place.documents();
    assert!(stored < 120, "the runs were stopped in the middle");
    let rest = place.index();
    assert!(
        out(&rest).contains(&format!("{} new, 0 changed, 0 moved, 0 removed, {stored} unchanged", 120 - stored)),
        "{}",
        out(&rest)
    );
    assert_eq!(place.documents(), 120);
    let found = place.run(&["query", "subject77", "--mode", "sparse", "--no-rerank"]);
    assert!(out(&found).contains("077.md"), "{}", out(&found));
}

#[test]
fn whatever_moment_a_run_is_killed_at_the_next_one_ends_with_the_same_store() {
    let place = Place::new();
    let note = |i: usize, version: usize| {
        let text = "Some words about a subject that fill a line of a note. ".repeat(20);
        place.write(&format!("{i:03}.md"), &format!("# Note {i}\n\nIt is about subject{i} in version{version}.\n\n{text}"));
    };
    (0..120).for_each(|i| note(i, 0));
    assert_eq!(place.index().status.code(), Some(0));
    // Moments spread over loading the model, reading, embedding and writing.
    let mut kills = 0;
    let mut whole_run = Duration::ZERO;
    for round in 0..=30usize {
        (0..120).filter(|i| i % 6 == round % 6).for_each(|i| note(i, round));
        if round == 0 {
            let started = Instant::now();
            assert_eq!(place.index().status.code(), Some(0));
            whole_run = started.elapsed();
            continue;
        }
        let mut child = place
            .command("search", &["index", place.files().to_str().expect("text")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the example starts");
        sleep(whole_run * (round as u32 * 7 % 30) / 30);
        signal("KILL", child.id());
        kills += usize::from(child.wait().expect("the child ends").code().is_none());
        assert_eq!(place.documents(), 120, "what was stored before is kept after kill {round}");
    }
    assert!(kills >= 10, "only {kills} runs were stopped before they ended");
    let last = place.index();
    assert_eq!(last.status.code(), Some(0), "{}", err(&last));
    let again = out(&place.index());
    assert!(again.contains("0 new, 0 changed, 0 moved, 0 removed, 120 unchanged"), "{again}");

    // A store that was built in one go says the same of every question.
    let fresh = place.files().parent().expect("a folder").join("fresh");
    let built = example("search").arg("--store").arg(&fresh).arg("index").arg(place.files()).output().expect("it starts");
    assert_eq!(built.status.code(), Some(0), "{}", err(&built));
    for query in ["subject77", "version30", "a note about subject5 in version28", "version3"] {
        let ask = |store: &std::path::Path| {
            let arguments = ["query", query, "--no-rerank", "--json", "--limit", "20"];
            let page = example("search").arg("--store").arg(store).args(arguments).output().expect("it starts");
            let page: serde_json::Value = serde_json::from_slice(&page.stdout).expect("one object");
            let places = |result: &serde_json::Value| (result["path"].clone(), result["chunk"].clone());
            page["results"].as_array().expect("results").iter().map(places).collect::<Vec<_>>()
        };
        assert_eq!(ask(&place.store()), ask(&fresh), "{query}");
    }
}

#[test]
fn two_processes_index_the_same_folder_at_once_while_a_third_asks() {
    let place = Place::indexed(&[("first.md", "It is about subject7 too.")]);
    for i in 0..80 {
        let text = format!("It is about subject{i} in all its parts. ").repeat(60);
        place.write(&format!("{i:02}.md"), &format!("# Note {i}\n\n{text}"));
    }
    let files = place.files();
    let start = || {
        let mut command = place.command("search", &["index", files.to_str().expect("text")]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the example starts")
    };
    let mut writers = vec![start(), start()];
    let mut asked = 0;
    while writers.iter_mut().any(|writer| writer.try_wait().expect("a child can be asked").is_none()) {
        let page = place.run(&["query", "subject7", "--mode", "sparse", "--no-rerank", "--json"]);
        assert_ne!(page.status.code(), Some(2), "{}", err(&page));
        let page: serde_json::Value = serde_json::from_slice(&page.stdout).expect("one object");
        let results = page["results"].as_array().expect("results");
        assert!([1, 2].contains(&results.len()) && page["stages"][1]["status"] == "ran", "{page:#}");
        asked += 1;
    }
    assert!(asked > 0, "nobody asked meanwhile");
    for writer in writers {
        let ended = writer.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "{}", err(&ended));
    }
    let again = out(&place.index());
    assert!(again.contains("0 new, 0 changed, 0 moved, 0 removed, 81 unchanged"), "{again}");

    let chunks = |store: &std::path::Path| {
        let status = out(&example("search").arg("--store").arg(store).arg("status").output().expect("it starts"));
        let count = status.lines().find_map(|line| line.strip_prefix("chunks")?.split_whitespace().next());
        count.expect("a count").to_owned()
    };
    let fresh = place.store().with_file_name("fresh");
    let built = example("search").arg("--store").arg(&fresh).arg("index").arg(&files).output().expect("it starts");
    assert_eq!(built.status.code(), Some(0), "{}", err(&built));
    assert_eq!(chunks(&place.store()), chunks(&fresh), "each chunk is there once");
}

/// Runs a script in a file system of its own that holds `kilobytes`, mounted at `$DISK`. None where that is not allowed.
#[cfg(target_os = "linux")]
fn on_a_disk_of(kilobytes: usize, script: &str, place: &Place) -> Option<String> {
    let disk = place.store().with_file_name("disk");
    std::fs::create_dir_all(&disk).expect("a folder is made");
    let mount = format!("mount -t tmpfs -o size={kilobytes}k tmpfs \"$DISK\" || exit 77\n{script}");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount])
        .env("DISK", &disk)
        .env("SEARCH", example("search").get_program())
        .env("FILES", place.files())
        .output();
    let output = output.ok().filter(|output| output.status.code() != Some(77) && !err(output).contains("unshare failed"))?;
    Some(format!("{}{}", out(&output), err(&output)))
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let place = Place::new();
    let text = "Some words about a subject that fill a line of a note. ".repeat(40);
    (0..10).for_each(|i| place.write(&format!("first/{i}.md"), &format!("# Note {i}\n\nIt is about subject{i}.\n\n{text}")));
    (0..200).for_each(|i| place.write(&format!("more/{i}.md"), &format!("# Note {i}\n\nIt is about matter{i}.\n\n{text}")));
    let script = r#"
        search() { "$SEARCH" --store "$DISK/store" "$@" 2>&1; echo "code $?"; }
        search index "$FILES/first"
        search index "$FILES/more"
        search status
        search query subject7 --mode sparse --no-rerank --limit 1
        mount -o remount,size=60m "$DISK"
        search index "$FILES/more"
        search query matter123 --mode sparse --no-rerank --limit 1
        mount -o remount,ro "$DISK"
        search query subject7 --mode sparse --no-rerank --limit 1
        search index "$FILES/first" "$FILES"
    "#;
    let Some(said) = on_a_disk_of(400, script, &place) else {
        eprintln!("skipped: this user may not mount a file system of its own (unshare --user --mount)");
        return;
    };
    let steps: Vec<&str> = said.split_inclusive("code ").collect();
    assert_eq!(steps.len(), 9, "{said}");
    let after = |step: usize| (steps[step], steps[step + 1].lines().next().unwrap_or_default());
    assert_eq!(after(0).1, "0", "{said}");
    let (full, code) = after(1);
    assert!(code == "2" && full.contains("No space left on device") && full.contains("disk/store"), "{said}");
    let kept = after(2).0.lines().find_map(|line| line.strip_prefix("documents  ")?.parse().ok());
    assert!(kept.is_some_and(|kept: usize| (10..210).contains(&kept)), "{said}");
    assert!(after(3).0.contains("7.md") && after(3).1 == "0", "{said}");
    assert_eq!(after(4).1, "0", "with room again, the run goes on: {said}");
    assert!(after(5).0.contains("123.md"), "{said}");
    assert!(after(6).0.contains("7.md") && after(6).1 == "0", "a closed disk can be searched: {said}");
    let (closed, code) = after(7);
    assert!(code == "2" && closed.contains("Read-only file system"), "{said}");
}

/// As root everything can be read, so the right to is given up; others don't have it.
#[cfg(target_os = "linux")]
#[test]
fn what_may_not_be_read_keeps_what_is_stored_and_is_told() {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    let place = Place::indexed(&[("open.md", "about lamps"), ("closed.md", "about boats"), ("folder/inside.md", "about trees")]);
    let allow = |name: &str, mode| {
        std::fs::set_permissions(place.files().join(name), Permissions::from_mode(mode)).expect("it is ours");
    };
    place.write("closed.md", "about other boats");
    place.write("open.md", "about other lamps");
    allow("closed.md", 0);
    allow("folder", 0);
    let search = |arguments: &[&str]| {
        let search = place.command("search", arguments);
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-dac_override,-dac_read_search", "--inh-caps=-all"]).arg(search.get_program());
        command.args(search.get_args()).output()
    };
    let Ok(indexed) = search(&["index", place.files().to_str().expect("text")]) else {
        allow("closed.md", 0o644);
        allow("folder", 0o755);
        eprintln!("skipped: setpriv of util-linux is not there");
        return;
    };
    allow("closed.md", 0o644);
    allow("folder", 0o755);
    let said = format!("{}{}", out(&indexed), err(&indexed));
    for name in ["closed.md", "folder"] {
        let line = said.lines().find(|line| line.contains(name) && line.contains("ermission denied"));
        assert!(line.is_some(), "{name}: {said}");
    }
    assert!(said.contains("1 changed") && said.contains("0 removed"), "{said}");
    for (query, name) in [("boats", "closed.md"), ("trees", "inside.md"), ("other lamps", "open.md")] {
        let found = place.run(&["query", query, "--mode", "sparse", "--no-rerank", "--limit", "1"]);
        assert!(out(&found).contains(name), "{query}: {}", out(&found));
    }
    let again = out(&place.index());
    assert!(again.contains("0 new, 1 changed, 0 moved, 0 removed, 2 unchanged"), "once it may be read: {again}");
}

#[test]
fn a_clock_that_was_set_back_hides_no_change() {
    let place = Place::indexed(&[("note.md", "it is about a cat")]);
    // Written by a clock that was a day ahead of ours; size and time stay as they are.
    let ahead = std::time::SystemTime::now() + Duration::from_secs(24 * 3600);
    let write = |text: &str| {
        place.write("note.md", text);
        let file = std::fs::File::options().write(true).open(place.files().join("note.md")).expect("it is there");
        file.set_modified(ahead).expect("its time can be set");
    };
    for animal in ["cow", "dog", "pig"] {
        write(&format!("it is about a {animal}"));
        let indexed = out(&place.index());
        assert!(indexed.contains("1 changed"), "{animal}: {indexed}");
        let found = place.run(&["query", animal, "--mode", "sparse", "--no-rerank"]);
        assert_eq!(found.status.code(), Some(0), "{animal}: {}", out(&found));
    }
    assert!(out(&place.index()).contains("1 unchanged"));
}
