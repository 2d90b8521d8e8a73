//! `examples/search.rs` as a person runs it: a process, with the real model and the real database.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;

/// The example, which `cargo test` has built next to the test.
fn search() -> Command {
    let test = std::env::current_exe().expect("the test knows where it is");
    let folder = test.parent().and_then(Path::parent).expect("the test lies in target/…/deps");
    let program = folder.join("examples").join(format!("search{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is not there: run the tests with --all-features, which builds the examples",
        program.display()
    );
    Command::new(program)
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.files().join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders are made");
        fs::write(path, text).expect("a file is written");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = search();
        command.arg("--store").arg(self.store()).args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the example starts")
    }

    fn index(&self) -> Output {
        self.run(&["index", self.files().to_str().expect("text")])
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_person_indexes_a_folder_and_asks() {
    let place = Place::new();
    place.write("tender.md", "# Tender\n\nThe submission cut-off is 14 March at noon.\n");
    place.write("bread.md", "# Bread\n\nMix flour, water and salt, and wait.\n");
    place.write("freezer.txt", "Freezer, serial number KX-4471-902, bought in May.\n");
    let indexed = place.index();
    assert_eq!(indexed.status.code(), Some(0), "{}", err(&indexed));
    assert!(out(&indexed).contains("3 new, 0 changed, 0 unchanged, 0 removed"), "{}", out(&indexed));

    let asked = place.run(&["query", "when must the offer be handed in?", "--json", "--explain"]);
    assert_eq!(asked.status.code(), Some(0), "{}", err(&asked));
    let answer: Value = serde_json::from_str(&out(&asked)).expect("one JSON object");
    let best = &answer["results"][0];
    assert!(best["path"].as_str().expect("a path").ends_with("tender.md"), "{answer:#}");
    assert_eq!(best["score_kind"], "rerank");
    assert!(best["snippet"].as_str().expect("a snippet").contains("cut-off"));
    assert_eq!(best["chunk"]["index"], 0);
    assert!(best["chunk"]["lines"].is_array());
    for list in ["dense", "sparse", "fused", "rerank"] {
        assert!(best["evidence"].get(list).is_some(), "{list} is there, or null");
    }
    let stages = answer["stages"].as_array().expect("stages");
    assert_eq!(
        stages.iter().map(|s| s["name"].as_str().expect("a name")).collect::<Vec<_>>(),
        ["dense", "sparse", "fusion", "rerank", "dedup"]
    );
    assert!(stages.iter().all(|s| s["status"] == "ran" && s["ms"].is_number() && s["in"].is_number() && s["out"].is_number()));

    let by_number = place.run(&["query", "KX-4471-902", "--mode", "sparse", "--no-rerank", "--json"]);
    let answer: Value = serde_json::from_str(&out(&by_number)).expect("one JSON object");
    assert!(answer["results"][0]["path"].as_str().expect("a path").ends_with("freezer.txt"));
    assert_eq!(answer["results"].as_array().map(Vec::len), Some(1));

    let plain = place.run(&["query", "bread", "--limit", "1"]);
    assert!(out(&plain).contains("bread.md") && !out(&plain).contains('\u{1b}'), "no colours in a pipe: {}", out(&plain));
    assert!(out(&plain).lines().all(|line| line.chars().count() <= 80 || line.contains("bread.md")), "{}", out(&plain));

    let again = place.index();
    assert!(out(&again).contains("0 new, 0 changed, 3 unchanged, 0 removed; 0 chunks embedded"), "{}", out(&again));
    let status = place.run(&["status"]);
    assert!(out(&status).contains("documents  3"), "{}", out(&status));
}

#[test]
fn exit_codes_and_errors_are_for_people() {
    let place = Place::new();
    let nothing_yet = place.run(&["query", "lamp"]);
    assert_eq!(nothing_yet.status.code(), Some(2));
    assert!(err(&nothing_yet).starts_with("error: "), "{}", err(&nothing_yet));
    assert!(err(&nothing_yet).contains(place.store().to_str().expect("text")), "the store is named: {}", err(&nothing_yet));
    assert!(!place.store().exists(), "a question creates no store");

    let no_folder = place.index();
    assert_eq!(no_folder.status.code(), Some(2));
    assert!(err(&no_folder).contains("files"), "the folder is named: {}", err(&no_folder));

    place.write("lamp.md", "a lamp");
    assert_eq!(place.index().status.code(), Some(0));
    let none = place.run(&["query", "xylophone", "--mode", "sparse"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(out(&none).contains("Nothing found."), "{}", out(&none));
    assert_eq!(place.run(&["query", "  "]).status.code(), Some(1));
    assert_eq!(place.run(&["query", &"lamp ".repeat(2000)]).status.code(), Some(0));
    assert_eq!(place.run(&["query"]).status.code(), Some(2));

    let no_library =
        place.command(&["query", "lamp"]).env("ORT_DYLIB_PATH", "/no/such/libonnxruntime.so").output().expect("it starts");
    assert_eq!(no_library.status.code(), Some(2));
    assert!(err(&no_library).contains("ORT_DYLIB_PATH names /no/such/libonnxruntime.so"), "{}", err(&no_library));

    let no_reranker = place.run(&["query", "lamp", "--reranker", "no-such-model", "--json"]);
    let answer: Value = serde_json::from_str(&out(&no_reranker)).expect("one JSON object");
    assert_eq!(no_reranker.status.code(), Some(0), "a missing reranker is no error");
    assert_ne!(answer["stages"][3]["status"], "ran", "{answer:#}");
    assert!(answer["stages"][3]["reason"].as_str().expect("a reason").contains("no-such-model"), "{answer:#}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_resumed() {
    let place = Place::new();
    let text = "Some words about a subject that fill a line of a note. ".repeat(120);
    for i in 0..120 {
        place.write(&format!("{i:03}.md"), &format!("# Note {i}\n\nIt is about subject{i}.\n\n{text}"));
    }
    let signal = |name: &str, id: u32| {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(id.to_string()).status().expect("kill runs");
        assert!(sent.success());
    };
    let documents = || {
        let status = place.run(&["status"]);
        let text = out(&status);
        text.lines().find_map(|line| line.strip_prefix("documents  ")?.parse::<usize>().ok()).unwrap_or(0)
    };
    for name in ["INT", "KILL"] {
        let before = documents();
        let mut child = place
            .command(&["--threads", "1", "index", place.files().to_str().expect("text")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the example starts");
        let started = Instant::now();
        while documents() <= before {
            assert!(child.try_wait().expect("the child can be asked").is_none(), "the run ended before it could be stopped");
            assert!(started.elapsed() < Duration::from_secs(120), "nothing is stored after two minutes");
            sleep(Duration::from_millis(50));
        }
        signal(name, child.id());
        let code = child.wait().expect("the child ends").code();
        assert_eq!(code, if name == "INT" { Some(130) } else { None });
        assert!(documents() > before, "what was stored is kept");
    }
    let stored = documents();
    assert!(stored < 120, "the runs were stopped in the middle");
    let rest = place.index();
    assert!(out(&rest).contains(&format!("{} new, 0 changed, {stored} unchanged, 0 removed", 120 - stored)), "{}", out(&rest));
    assert_eq!(documents(), 120);
    let found = place.run(&["query", "subject77", "--mode", "sparse", "--no-rerank"]);
    assert!(out(&found).contains("077.md"), "{}", out(&found));
}
