//! What several tests need.

use std::{
    fs,
    future::Future,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
};

use sensetree::embed::OnnxEmbedder;

pub(super) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime starts").block_on(test)
}

pub(super) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn fixture_model(name: &str) -> PathBuf {
    repository().join("tests/fixtures/models").join(name)
}

/// The folder of the real model. Tests that need it fail without it, and say what to do.
pub(super) fn minilm_folder() -> PathBuf {
    let named = std::env::var_os("SENSETREE_MODEL_DIR").map(PathBuf::from);
    let folder = named.or_else(|| Some(sensetree::embed::runtime::cache_folder()?.join("models/all-MiniLM-L6-v2")));
    folder.filter(|f| f.is_dir()).expect("all-MiniLM-L6-v2 is not there: run `make setup`, or set SENSETREE_MODEL_DIR")
}

pub(super) async fn minilm() -> Arc<OnnxEmbedder> {
    Arc::new(OnnxEmbedder::open(minilm_folder()).await.expect("the model loads"))
}

/// An example, which `cargo test` has built next to the test.
pub(super) fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("the test knows where it is");
    let folder = test.parent().and_then(Path::parent).expect("the test lies in target/…/deps");
    let program = folder.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is not there: run the tests with --all-features, which builds the examples",
        program.display()
    );
    Command::new(program)
}

/// A folder of files and a place for their store.
pub(super) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    /// With files that are indexed.
    pub(super) fn indexed(files: &[(&str, &str)]) -> Self {
        let place = Self::new();
        for (name, text) in files {
            place.write(name, text);
        }
        let indexed = place.index();
        assert_eq!(indexed.status.code(), Some(0), "{}", err(&indexed));
        place
    }

    pub(super) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(super) fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.files().join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders are made");
        fs::write(path, text).expect("a file is written");
    }

    /// An example on this store.
    pub(super) fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = example(program);
        // A test asks no hub for a model.
        command.arg("--store").arg(self.store()).args(arguments).env("HF_HUB_OFFLINE", "1");
        command
    }

    /// What `search` says of this store.
    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        self.command("search", arguments).output().expect("the example starts")
    }

    pub(super) fn index(&self) -> Output {
        self.run(&["index", self.files().to_str().expect("text")])
    }

    /// How many documents the store holds, 0 when there is none.
    pub(super) fn documents(&self) -> usize {
        let status = out(&self.run(&["status"]));
        status.lines().find_map(|line| line.strip_prefix("documents  ")?.parse().ok()).unwrap_or(0)
    }
}

pub(super) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
