//! Models from a hub on this machine: what is fetched, kept, pinned, and found again without the network.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use sensetree_core::Error;
use sensetree_onnx::{
    ModelFolder, ModelOptions, Precision,
    hub::{self, Access, Hub},
};
use tempfile::TempDir;

use super::{
    server::{Fault, Files, Server, files_of, sha256},
    support::{assert_close, assert_scores_like_the_reference, cases, fixture, load, numbers, states, unit},
};

pub(super) const MODEL: &str = "small/cross-encoder";

pub(super) fn cross_encoder() -> Files {
    files_of(&fixture("xlmr-cross-encoder"))
}

pub(super) fn cache() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

pub(super) fn hub(server: &Server, cache: &TempDir) -> Hub {
    let hub = Hub::new().with_endpoint(server.address()).with_cache(cache.path());
    hub.with_access(Access::CacheFirst).with_token("hf_secret").with_timeout(Duration::from_secs(10))
}

pub(super) fn only_blob(cache: &TempDir, content: &[u8]) -> PathBuf {
    let folder = MODEL.replace('/', "--");
    cache.path().join(format!("models--{folder}/blobs/{}", sha256(content)))
}

pub(super) fn read(folder: &ModelFolder, file: &str) -> Vec<u8> {
    fs::read(folder.file(file)).expect("the file is there")
}

fn with(mut files: Files, name: &str, body: &str) -> Files {
    files.insert(name.into(), body.into());
    files
}

#[tokio::test]
async fn a_fetched_model_scores_like_the_reference() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let folder = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the hub has it");
    assert_eq!(folder.name(), MODEL);
    assert_scores_like_the_reference(&folder, "xlmr-cross-encoder").await;
}

#[tokio::test]
async fn weights_beside_the_graph_are_fetched_with_it() {
    let server = Server::with("small/positions", files_of(&fixture("positions-embedder")));
    let cache = cache();
    let folder = hub(&server, &cache).fetch("small/positions", Precision::Fp32).await.expect("the hub has it");
    assert!(server.files_asked().contains(&"onnx/model.onnx_data".to_owned()));
    let model = load(&folder, &ModelOptions::default()).await;
    let case = &cases("positions-embedder")[0];
    let text = format!("search_query: {}", case["text"].as_str().expect("a text"));
    let rows = states(&model, &text).await;
    let last = unit(rows.last().expect("there are tokens"));
    assert_close(&last, &numbers(&case["embed_query"]["vector"]), 1e-4, &text);
}

#[tokio::test]
async fn only_what_is_read_is_fetched() {
    let mut files = files_of(&fixture("precisions-embedder"));
    for other in ["README.md", "pytorch_model.bin", "model.safetensors", "vocab.txt", "onnx/model_O4.onnx", "openvino/model.xml"]
    {
        files.insert(other.into(), b"of no use here".to_vec());
    }
    let (server, cache) = (Server::with("small/three", files), cache());
    let hub = hub(&server, &cache);
    let folder = hub.fetch("small/three", Precision::Auto).await.expect("the hub has it");
    assert_eq!(folder.graph(Precision::Auto).expect("there is one").1, Precision::Int8);
    let small = ["1_Pooling/config.json", "config.json", "config_sentence_transformers.json", "modules.json"];
    let more = ["onnx/model_int8.onnx", "sentence_bert_config.json", "tokenizer.json", "tokenizer_config.json"];
    assert_eq!(server.files_asked(), [small, more].concat());

    // Another precision of the same model is one more graph.
    let folder = hub.fetch("small/three", Precision::Fp16).await.expect("the hub has it");
    assert_eq!(folder.graph(Precision::Fp16).expect("there is one").1, Precision::Fp16);
    assert_eq!(server.files_asked(), ["onnx/model_fp16.onnx"]);
}

#[tokio::test]
async fn a_filled_cache_and_offline_mode_make_no_request() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let offline = hub(&server, &cache).with_access(Access::Offline);
    let error = offline.fetch(MODEL, Precision::Auto).await.expect_err("the cache is empty");
    assert!(
        matches!(&error, Error::ModelUnavailable { model, hint } if model == MODEL && hint.contains("allow the network once"))
    );
    assert_eq!(server.requests().len(), 0);

    let first = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the hub has it");
    assert!(!server.requests().is_empty());
    for again in [offline, hub(&server, &cache)] {
        let found = again.fetch(MODEL, Precision::Auto).await.expect("the cache has it");
        assert_eq!((found.path(), found.revision()), (first.path(), first.revision()));
    }
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_filled_cache_loads_when_the_hub_cannot_be_reached() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the hub has it");
    // Nobody listens on a port that was just given up.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free");
    let unreachable = hub(&server, &cache).with_endpoint(format!("http://{gone}")).with_access(Access::Online);
    let folder = unreachable.fetch(MODEL, Precision::Auto).await.expect("the cache has it");
    assert_scores_like_the_reference(&folder, "xlmr-cross-encoder").await;

    for _ in 0..5 {
        server.fail("/api/", Fault::Silence);
    }
    let silent = hub(&server, &cache).with_access(Access::Online).with_timeout(Duration::from_millis(100));
    silent.fetch(MODEL, Precision::Auto).await.expect("the cache has it");

    let empty = self::cache();
    let error = unreachable.with_cache(empty.path()).fetch(MODEL, Precision::Auto).await.expect_err("it is nowhere");
    let told = error.chain();
    assert!(matches!(error, Error::ModelUnavailable { .. }) && told.contains(&gone.to_string()), "{told}");
}

#[tokio::test]
async fn what_another_program_put_into_the_cache_is_used() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the hub has it");
    // `huggingface_hub` notes what does not exist only for files that somebody asked for.
    fs::remove_dir_all(cache.path().join("models--small--cross-encoder/.no_exist")).expect("they were noted");
    server.requests();
    let offline = hub(&server, &cache).with_access(Access::Offline);
    let folder = offline.fetch(MODEL, Precision::Auto).await.expect("the cache has it");
    assert_scores_like_the_reference(&folder, "xlmr-cross-encoder").await;
    assert_eq!(server.requests().len(), 0);
    // With the network, whether there is a better graph is asked once, and nothing is fetched again.
    for asks in [true, false] {
        hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the cache has it");
        let requests = server.requests();
        assert_eq!(!requests.is_empty(), asks);
        assert!(requests.iter().all(|request| !request.path.contains("/resolve/") || request.method == "HEAD"));
    }
}

#[tokio::test]
async fn a_model_is_pinned_to_a_branch_a_tag_or_a_commit() {
    let cache = cache();
    let server = Server::start();
    let old = server.publish(MODEL, &["main", "v1"], with(cross_encoder(), "config.json", r#"{"year": 1}"#));
    let hub = hub(&server, &cache);
    let fetch = async |hub: &Hub, model: &str| hub.fetch(model, Precision::Auto).await.expect("it is there");
    assert_eq!(fetch(&hub, MODEL).await.revision(), Some(&*old));

    let new = server.publish(MODEL, &["main", "refs/pr/3"], with(cross_encoder(), "config.json", r#"{"year": 2}"#));
    assert_eq!(fetch(&hub, MODEL).await.revision(), Some(&*old), "what is in the cache does not change by itself");
    let online = hub.clone().with_access(Access::Online);
    server.requests();
    let moved = fetch(&online, MODEL).await;
    assert_eq!((moved.revision(), &*read(&moved, "config.json")), (Some(&*new), &br#"{"year": 2}"#[..]));
    assert_eq!(server.files_asked(), ["config.json"], "what did not change is not fetched again");

    for (model, commit) in [("v1", &old), ("refs/pr/3", &new), (&old, &old), ("main", &new)] {
        let folder = fetch(&hub, &format!("{MODEL}@{model}")).await;
        assert_eq!((folder.revision(), folder.name()), (Some(&**commit), MODEL), "{model}");
    }
    // A commit cannot have changed, so not even `Online` asks.
    server.requests();
    assert_eq!(fetch(&online, &format!("{MODEL}@{old}")).await.revision(), Some(&*old));
    assert_eq!(server.requests().len(), 0);
    let error = hub.fetch(&format!("{MODEL}@v9"), Precision::Auto).await.expect_err("there is no such tag").to_string();
    assert!(error.contains("cross-encoder@v9") && error.contains("404"), "{error}");
}

#[tokio::test]
async fn the_token_goes_to_the_hub_and_nowhere_else() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    server.want_token("hf_secret");
    hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the token opens it");
    let requests = server.requests();
    let (large, own): (Vec<_>, Vec<_>) = requests.into_iter().partition(|request| request.large);
    assert!(!large.is_empty() && large.iter().all(|request| !request.headers.contains_key("authorization")));
    assert!(own.iter().all(|request| request.headers.get("authorization").is_some_and(|token| token == "Bearer hf_secret")));

    let wrong = hub(&server, &self::cache()).with_token("hf_wrong");
    let error = wrong.fetch(MODEL, Precision::Auto).await.expect_err("it is another one").chain();
    assert!(error.contains("401") && error.contains("HF_TOKEN") && error.contains("Invalid username"), "{error}");
    assert!(!error.contains("hf_wrong") && !format!("{wrong:?}").contains("hf_wrong"), "{error}");
}

#[tokio::test]
async fn a_repository_without_a_graph_says_where_one_is_or_how_to_make_it() {
    let (server, cache) = (Server::with("big/model", with(Files::new(), "tokenizer.json", "{}")), cache());
    let hub = hub(&server, &cache);
    let told = async || hub.fetch("big/model", Precision::Auto).await.expect_err("there is no graph").to_string();
    let alone = told().await;
    assert!(alone.contains("no ONNX graph") && alone.contains("optimum-cli export onnx --model big/model"), "{alone}");
    assert!(!alone.contains("onnx-community"), "{alone}");
    server.publish("onnx-community/model-ONNX", &["main"], cross_encoder());
    server.publish("Xenova/model", &["main"], Files::new());
    let twin = told().await;
    assert!(twin.contains("onnx-community/model-ONNX has one") && !twin.contains("Xenova"), "{twin}");

    let mut slow = with(cross_encoder(), "sentencepiece.bpe.model", "");
    slow.remove("tokenizer.json");
    server.publish("small/slow", &["main"], slow);
    let error = hub.fetch("small/slow", Precision::Auto).await.expect_err("there is no tokenizer").to_string();
    assert!(error.contains("tokenizer.json"), "{error}");
    server.publish(MODEL, &["main"], cross_encoder());
    let error = hub.fetch(MODEL, Precision::Int8).await.expect_err("there is only fp32").to_string();
    assert!(error.contains("no int8") && error.contains("fp32"), "{error}");
    assert!(server.files_asked().is_empty(), "nothing is fetched in vain");
}

#[tokio::test]
async fn a_mirror_that_lists_only_names_is_asked_for_each_checksum() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    server.list_names_only();
    server.fail("/blob/", Fault::Altered);
    let folder = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the second try is whole");
    assert_scores_like_the_reference(&folder, "xlmr-cross-encoder").await;
    let asked = server.requests().iter().filter(|request| request.method == "HEAD" && !request.large).count();
    assert_eq!(asked, cross_encoder().len());
    assert!(only_blob(&cache, &cross_encoder()["onnx/model.onnx"]).is_file());
}

#[tokio::test]
async fn progress_is_told_file_by_file_up_to_the_whole() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = told.clone();
    let hub =
        hub(&server, &cache).with_progress(move |p| sink.lock().expect("no panic").push((p.file.to_owned(), p.bytes, p.total)));
    hub.fetch(MODEL, Precision::Auto).await.expect("the hub has it");
    let told = told.lock().expect("no panic");
    for (file, body) in cross_encoder() {
        let size = body.len() as u64;
        let steps: Vec<_> = told.iter().filter(|(f, ..)| *f == file).collect();
        assert!(steps.is_sorted_by_key(|(_, bytes, _)| bytes), "{file}");
        assert_eq!(steps.last().map(|(_, bytes, total)| (*bytes, *total)), Some((size, Some(size))), "{file}");
    }
}

#[tokio::test]
async fn names_that_would_leave_the_cache_are_refused() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    server.name_no_commit();
    let error = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect_err("the commit is a path").to_string();
    assert!(error.contains("names no commit"), "{error}");

    let mut files = files_of(&fixture("positions-embedder"));
    let graph = replaced(&files["onnx/model.onnx"], b"model.onnx_data", b"../../../escape");
    files.insert("onnx/model.onnx".into(), graph);
    let server = Server::with("small/escape", files);
    let error = hub(&server, &cache).fetch("small/escape", Precision::Fp32).await.expect_err("weights are elsewhere").to_string();
    assert!(error.contains("../../../escape"), "{error}");
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len(), "lengths are part of the format");
    let mut bytes = bytes.to_vec();
    while let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

/// What the other tests start as a process of its own; alone it does nothing.
#[test]
#[ignore = "other tests run it as a process"]
fn fetch_as_the_environment_says() {
    let Some(model) = std::env::var_os("SENSETREE_TEST_MODEL") else { return };
    let model = model.into_string().expect("a name in UTF-8");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("it starts");
    match runtime.block_on(hub::fetch(&model, Precision::Auto, Access::CacheFirst)) {
        Ok(folder) => println!("fetched {}", folder.path().display()),
        Err(e) => panic!("{}", e.chain()),
    }
}

pub(super) fn fetch_in_a_process(server: &Server, hf_home: &Path, more: &[(&str, &str)]) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this is a program"));
    command.args(["--exact", "it::hub::fetch_as_the_environment_says", "--ignored", "--nocapture"]);
    for name in ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_TOKEN", "HF_TOKEN_PATH", "HF_HUB_OFFLINE"] {
        command.env_remove(name);
    }
    command.env("SENSETREE_TEST_MODEL", MODEL).env("HF_ENDPOINT", server.address()).env("HF_HOME", hf_home);
    command.envs(more.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the process starts")
}

fn outcome(child: Child) -> (bool, String) {
    let output = child.wait_with_output().expect("the process ends");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    (output.status.success(), text)
}

#[test]
fn two_processes_fetch_the_bytes_once() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let children: Vec<_> = (0..2).map(|_| fetch_in_a_process(&server, cache.path(), &[])).collect();
    for child in children {
        let (succeeded, text) = outcome(child);
        assert!(succeeded && text.contains("fetched"), "{text}");
    }
    let asked = server.requests().into_iter().filter(|request| request.large && request.method == "GET").count();
    let large = cross_encoder().values().filter(|body| body.len() > 4096).count();
    assert_eq!(asked, large);
}

#[test]
fn the_variables_of_the_hub_are_respected() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    server.want_token("hf_from_the_environment");
    let token = ("HF_TOKEN", "hf_from_the_environment");
    let (succeeded, text) = outcome(fetch_in_a_process(&server, cache.path(), &[("HF_HUB_OFFLINE", "1"), token]));
    assert!(!succeeded && text.contains("not in the cache"), "{text}");
    assert_eq!(server.requests().len(), 0);
    let (succeeded, text) = outcome(fetch_in_a_process(&server, cache.path(), &[token]));
    assert!(succeeded && text.contains(&*cache.path().join("hub").to_string_lossy()), "{text}");
    let other = self::cache();
    let elsewhere = other.path().to_str().expect("a path in UTF-8");
    let (succeeded, text) = outcome(fetch_in_a_process(&server, cache.path(), &[token, ("HF_HUB_CACHE", elsewhere)]));
    assert!(succeeded && text.contains(elsewhere), "{text}");
}

#[test]
fn fetching_can_be_spawned() {
    fn is_send<T: Send>(_: &T) {}
    let fetching = hub::fetch(MODEL, Precision::Auto, Access::Offline);
    is_send(&fetching);
    drop(fetching);
}
