//! Another model, the same texts.

use sensetree_core::{Error, testing::FailingEmbedder};

use super::*;
use crate::{embedded_text, rebuild};

fn desk() -> Desk {
    let desk = Desk::with(&[("p.bin", "\0"), ("long.txt", &"many words in one file. ".repeat(5000))]);
    (0..300).for_each(|number| desk.write(format!("f{number}.md"), format!("# Title{number}\n\ncontent number{number}")));
    desk.sync();
    // The files are not needed any more.
    fs::remove_dir_all(desk.folder.path()).expect("it was there");
    desk
}

fn other() -> (RecordingEmbedder<MockEmbedder>, MemoryStore) {
    let embedder = RecordingEmbedder::new(MockEmbedder::new(32).named("other"));
    let store = MemoryStore::new(embedder.fingerprint().clone());
    (embedder, store)
}

#[test]
fn every_stored_text_is_embedded_by_the_new_model_without_reading_a_file() {
    let desk = desk();
    let (embedder, new) = other();
    let rebuilt = block_on(rebuild(&*desk.store, &new, &embedder, |_| {})).expect("a rebuild");
    assert_eq!((rebuilt.documents, rebuilt.kept, rebuilt.failed.len()), (302, 0, 0));
    assert_eq!(block_on(new.documents(&Filter::everything())).expect("a list"), desk.documents(), "stamps and notes included");
    let mut texts = Vec::new();
    for document in desk.documents() {
        let old = block_on(desk.store.chunks(&document.key)).expect("a list");
        let now = block_on(new.chunks(&document.key)).expect("a list");
        assert_eq!(old.len(), now.len());
        for (old, now) in old.iter().zip(&now) {
            assert_eq!((&old.text, &old.context, &old.location), (&now.text, &now.context, &now.location));
            assert_eq!(now.embedding.dimension(), 32);
            texts.push(embedded_text(old).into_owned());
        }
    }
    let mut embedded = embedder.passages();
    texts.sort();
    embedded.sort();
    assert_eq!(embedded, texts);
}

#[test]
fn an_interrupted_rebuild_goes_on_where_it_stopped() {
    let desk = desk();
    let (embedder, new) = other();
    let failing = FailingEmbedder::new(MockEmbedder::new(32).named("other"), "number299");
    let report = block_on(rebuild(&*desk.store, &new, &failing, |_| {})).expect("one text fails");
    assert!(report.failed.len() == 1 && report.failed[0].path.ends_with("f299.md"));
    // As if it had been killed: some of the documents are there.
    let filter = Filter::everything().documents((0..100).map(|n| DocumentKey::from_path(desk.path(format!("f{n}.md")))));
    block_on(new.remove(&filter)).expect("a removal");
    let rebuilt = block_on(rebuild(&*desk.store, &new, &embedder, |_| {})).expect("a rebuild");
    assert_eq!((rebuilt.documents, rebuilt.kept), (101, 201));
    assert_eq!(embedder.passages().len(), 101);
    block_on(desk.store.remove(&filter)).expect("a removal");
    let rebuilt = block_on(rebuild(&*desk.store, &new, &embedder, |_| {})).expect("a rebuild");
    assert_eq!((rebuilt.documents, rebuilt.removed, rebuilt.kept), (0, 100, 202));
}

#[test]
fn a_new_store_of_another_model_is_refused() {
    let desk = Desk::with(&[("a.md", "alpha")]);
    let (embedder, _) = other();
    let error = block_on(rebuild(&*desk.store, &*desk.store, &embedder, |_| {})).expect_err("it is for another model");
    assert!(matches!(error, Error::FingerprintMismatch { .. }));
}
