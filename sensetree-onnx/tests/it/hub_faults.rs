//! What goes wrong on the way, on the disk, and with other programs.

use std::{
    fs::{self, File},
    time::Duration,
};

use sensetree_core::Error;
use sensetree_onnx::{Precision, hub::Access};

use super::{
    hub::{MODEL, cache, cross_encoder, fetch_in_a_process, hub, only_blob, read},
    server::{Fault, Server, sha256},
    support::assert_scores_like_the_reference,
};

fn graph() -> Vec<u8> {
    cross_encoder()["onnx/model.onnx"].clone()
}

/// Where the requests for the graph's bytes began.
fn beginnings(server: &Server) -> Vec<usize> {
    let wanted = sha256(&graph());
    let of_graph = server.requests().into_iter().filter(|request| request.large && request.path.contains(&wanted));
    of_graph
        .map(|request| match request.headers.get("range") {
            Some(range) => range.trim_start_matches("bytes=").trim_end_matches('-').parse().expect("a number"),
            None => 0,
        })
        .collect()
}

#[tokio::test]
async fn a_cut_download_goes_on_where_it_stopped() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    for count in [50_000, 7, 0] {
        server.fail("/blob/", Fault::CutAfter(count));
    }
    let folder = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the rest comes");
    assert_eq!(read(&folder, "onnx/model.onnx"), graph());
    assert!(beginnings(&server).iter().any(|&from| from > 0), "it began again each time");
}

#[tokio::test]
async fn what_an_ended_process_left_is_gone_on_with() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let partial = only_blob(&cache, &graph()).with_extension("incomplete");
    fs::create_dir_all(partial.parent().expect("it is in a folder")).expect("the folder is made");
    fs::write(&partial, &graph()[..100_000]).expect("the first part is written");
    let folder = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the rest comes");
    assert_eq!(beginnings(&server), [100_000]);
    assert_eq!(read(&folder, "onnx/model.onnx"), graph());
    assert!(!partial.exists());
}

#[tokio::test]
async fn a_beginning_that_does_not_fit_is_thrown_away() {
    let first_parts =
        [vec![7; 100_000], vec![7; graph().len()], vec![7; graph().len() + 5], [&graph()[..9], &[7; 90][..]].concat()];
    for (i, part) in first_parts.into_iter().enumerate() {
        let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
        let partial = only_blob(&cache, &graph()).with_extension("incomplete");
        fs::create_dir_all(partial.parent().expect("it is in a folder")).expect("the folder is made");
        fs::write(&partial, part).expect("the first part is written");
        if i == 0 {
            server.fail("/blob/", Fault::Whole);
        }
        let folder = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("it is fetched from the start");
        assert_eq!(read(&folder, "onnx/model.onnx"), graph(), "part {i}");
    }
}

#[tokio::test]
async fn a_damaged_file_in_the_cache_is_fetched_again_or_named() {
    let damages: [fn(&mut Vec<u8>); 3] = [|b| b.truncate(b.len() / 2), |b| b[5000] ^= 1, |b| b.clear()];
    for damage in damages {
        let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
        let hub = hub(&server, &cache);
        hub.fetch(MODEL, Precision::Auto).await.expect("the hub has it");
        let blob = only_blob(&cache, &graph());
        let mut bytes = fs::read(&blob).expect("the blob is there");
        damage(&mut bytes);
        fs::write(&blob, bytes).expect("the blob is damaged");

        let offline = hub.clone().with_access(Access::Offline);
        let error = offline.fetch(MODEL, Precision::Auto).await.expect_err("it is damaged");
        let told = error.to_string();
        assert!(matches!(error, Error::Model { .. }) && told.contains("onnx/model.onnx is damaged"), "{told}");
        assert!(told.contains("allow the network once"), "{told}");

        let gone = hub.clone().with_endpoint("http://127.0.0.1:9").fetch(MODEL, Precision::Auto).await;
        let told = gone.expect_err("it can be fetched from nowhere").to_string();
        assert!(told.contains("onnx/model.onnx is damaged") && told.contains("127.0.0.1:9"), "{told}");

        server.requests();
        let folder = hub.fetch(MODEL, Precision::Auto).await.expect("it is fetched again");
        assert_eq!(beginnings(&server), [0], "and nothing else is");
        assert_scores_like_the_reference(&folder, "xlmr-cross-encoder").await;
    }
}

#[tokio::test]
async fn a_small_file_is_checked_too() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let hub = hub(&server, &cache);
    let folder = hub.fetch(MODEL, Precision::Auto).await.expect("the hub has it");
    fs::write(folder.file("config.json"), "{}").expect("the file is altered");
    let error = hub.clone().with_access(Access::Offline).fetch(MODEL, Precision::Auto).await.expect_err("it is altered");
    assert!(error.to_string().contains("config.json is damaged"), "{error}");
    let folder = hub.fetch(MODEL, Precision::Auto).await.expect("it is fetched again");
    assert_eq!(read(&folder, "config.json"), cross_encoder()["config.json"]);
}

#[tokio::test]
async fn what_keeps_coming_altered_is_refused() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    server.fail("/blob/", Fault::Altered);
    hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("the second try is whole");

    let (server, cache) = (Server::with(MODEL, cross_encoder()), self::cache());
    for _ in 0..6 {
        server.fail("/blob/", Fault::Altered);
    }
    let error = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect_err("it differs each time");
    let told = error.to_string();
    assert!(matches!(error, Error::Model { .. }) && told.contains("SHA-256") && told.contains("twice"), "{told}");
    let offline = hub(&server, &cache).with_access(Access::Offline);
    offline.fetch(MODEL, Precision::Auto).await.expect_err("nothing of it counts");
}

#[tokio::test]
async fn a_busy_hub_is_asked_again_and_a_broken_one_is_named() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    server.fail("/api/", Fault::Status(429, "Retry-After: 0"));
    server.fail("/resolve/", Fault::Status(503, "X-Error-Message: too busy"));
    server.fail("/blob/", Fault::Status(500, ""));
    server.fail("/blob/", Fault::CutAfter(0));
    let folder = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("it answers in the end");
    assert_eq!(read(&folder, "onnx/model.onnx"), graph(), "an error page is not the file");

    let (server, cache) = (Server::with(MODEL, cross_encoder()), self::cache());
    for _ in 0..9 {
        server.fail("/api/", Fault::Status(502, "X-Error-Message: bad gateway"));
    }
    let error = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect_err("it never answers").to_string();
    assert!(error.contains("502") && error.contains("bad gateway") && error.contains(server.address()), "{error}");
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn a_refused_large_file_is_named_without_its_signed_address() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    for _ in 0..2 {
        server.fail(&sha256(&graph()), Fault::Status(403, ""));
    }
    let error = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect_err("it is refused").chain();
    assert!(error.contains("onnx/model.onnx") && error.contains("403") && !error.contains("signed-secret"), "{error}");
}

#[tokio::test]
async fn a_branch_moves_only_when_all_files_are_there() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let hub = hub(&server, &cache);
    let old = hub.fetch(MODEL, Precision::Auto).await.expect("the hub has it");
    let mut files = cross_encoder();
    files.insert("tokenizer.json".into(), [&files["tokenizer.json"][..], b"\n"].concat());
    server.publish(MODEL, &["main"], files);
    for _ in 0..9 {
        server.fail("/blob/", Fault::Status(404, ""));
    }
    let online = hub.clone().with_access(Access::Online);
    let found = online.fetch(MODEL, Precision::Auto).await.expect("the old one is whole");
    assert_eq!(found.revision(), old.revision());
    assert_scores_like_the_reference(&found, "xlmr-cross-encoder").await;
}

#[tokio::test]
async fn a_lock_file_without_a_holder_means_nothing() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let locks = cache.path().join(".locks/models--small--cross-encoder");
    fs::create_dir_all(&locks).expect("the folder is made");
    fs::write(locks.join(format!("{}.lock", sha256(&graph()))), "process 4711").expect("the lock is left");
    hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("nobody holds it");
}

#[tokio::test]
async fn a_killed_process_leaves_nothing_in_the_way() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    server.fail(&sha256(&graph()), Fault::Silence);
    let mut child = fetch_in_a_process(&server, cache.path(), &[]);
    while beginnings(&server).is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(child.try_wait().expect("the process is ours").is_none(), "it ended too soon");
    }
    child.kill().expect("the process is ours");
    child.wait().expect("the process ends");
    let folder = hub(&server, &cache).with_cache(cache.path().join("hub")).fetch(MODEL, Precision::Auto).await;
    assert_eq!(read(&folder.expect("its lock ended with it"), "onnx/model.onnx"), graph());
}

#[tokio::test]
async fn a_lock_that_is_held_is_waited_for_and_then_named() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let path = cache.path().join(format!(".locks/models--small--cross-encoder/{}.lock", sha256(&graph())));
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is made");
    let held = File::create(&path).expect("the lock is made");
    held.lock().expect("nobody else has it");
    let impatient = hub(&server, &cache).with_timeout(Duration::from_millis(100));
    let error = impatient.fetch(MODEL, Precision::Auto).await.expect_err("it is held").to_string();
    assert!(error.contains("another program") && error.contains(&*path.to_string_lossy()), "{error}");

    let patient = hub(&server, &cache);
    let (folder, ()) = tokio::join!(patient.fetch(MODEL, Precision::Auto), async {
        tokio::time::sleep(Duration::from_millis(250)).await;
        drop(held);
    });
    folder.expect("it was let go");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_leaves_no_half_file_that_counts() {
    let (server, cache) = (Server::with(MODEL, cross_encoder()), cache());
    let blob = only_blob(&cache, &graph());
    let partial = blob.with_extension("incomplete");
    fs::create_dir_all(partial.parent().expect("it is in a folder")).expect("the folder is made");
    // Every write to it fails as on a full disk.
    std::os::unix::fs::symlink("/dev/full", &partial).expect("the link is made");
    let error = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect_err("the disk is full");
    let told = error.chain();
    assert!(matches!(error, Error::Io { .. }) && told.contains("No space left"), "{told}");
    assert!(!blob.exists() && fs::symlink_metadata(&partial).is_err());
    let offline = hub(&server, &cache).with_access(Access::Offline);
    offline.fetch(MODEL, Precision::Auto).await.expect_err("it is not complete");
    let folder = hub(&server, &cache).fetch(MODEL, Precision::Auto).await.expect("there is room again");
    assert_eq!(read(&folder, "onnx/model.onnx"), graph());
}
