use std::fs;

use super::*;

async fn filled(folder: &TempDir) -> MemoryStore {
    let store = MemoryStore::new(Fingerprint::new("by-hand", 2));
    let documents: Vec<Document> = (0..30).map(|i| stamped(document(&format!("/{i}"), &["lamp boat", "salt"]), 1)).collect();
    store.commit(documents.clone(), &[]).await.expect("the store takes it");
    let index = open(folder).await;
    index.commit(documents, &[]).await.expect("the index takes it");
    index.remove(&under("/7")).await.expect("a document can be removed");
    store
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).expect("the folder is there");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_files_are_refused_and_made_again_beside_a_store() {
    let whole = folder();
    filled(&whole).await;
    let mut kinds = BTreeSet::new();
    for name in names(&whole) {
        let kind = name.rsplit('.').next().unwrap_or_default().to_owned();
        if name.ends_with("lock") || name == "sensetree.json" || !kinds.insert(kind) {
            continue;
        }
        for damage in ["missing", "half", "empty"] {
            let damaged = folder();
            for name in names(&whole) {
                fs::copy(whole.path().join(&name), damaged.path().join(&name)).expect("a file can be copied");
            }
            let file = damaged.path().join(&name);
            let bytes = fs::read(&file).expect("a file can be read");
            match damage {
                "missing" => fs::remove_file(&file),
                "half" => fs::write(&file, &bytes[..bytes.len() / 2]),
                _ => fs::write(&file, ""),
            }
            .expect("a file can be damaged");
            match TantivyRetriever::open(damaged.path()).await {
                Err(refused) => {
                    assert!(matches!(refused, Error::Store { doing: "open", .. }), "{name} {damage}: {refused:?}");
                    assert!(refused.chain().contains("fill the index again"), "{name} {damage}: {}", refused.chain());
                }
                // Without the list of files it cannot be told which are not needed; those that are needed are all there.
                Ok(index) => {
                    assert!(name == ".managed.json" && damage == "missing", "{name} {damage} is not noticed");
                    assert_eq!(hits(&index, "lamp").await.len(), 29);
                }
            }
            let store = MemoryStore::new(Fingerprint::new("by-hand", 2));
            store.commit(vec![stamped(document("/new", &["lamp"]), 1)], &[]).await.expect("the store takes it");
            let index = TantivyRetriever::beside(damaged.path(), &store).await.unwrap_or_else(|e| panic!("{}", e.chain()));
            assert_eq!(found(&index, "lamp").await, ["/new"], "{name} {damage}");
        }
    }
    assert!(["json", "store", "term", "idx", "pos", "fast", "del"].iter().all(|kind| kinds.contains(*kind)), "{kinds:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_goes_missing_while_the_index_is_open_is_an_error_at_the_next_commit() {
    let folder = folder();
    filled(&folder).await;
    let (reader, writer) = (open(&folder).await, open(&folder).await);
    let name = names(&folder).into_iter().find(|name| name.ends_with(".store")).expect("texts are in a file");
    fs::remove_file(folder.path().join(&name)).expect("a file can be removed");
    // Where an open file can be removed, what was open can still be read.
    assert_eq!(hits(&reader, "lamp").await.len(), 29);
    let later = match writer.commit(vec![document("/new", &["lamp"])], &[]).await {
        Err(refused) => refused,
        Ok(()) => reader.retrieve("lamp", &Filter::everything(), 9).await.expect_err("the next commit cannot be read"),
    };
    assert!(later.chain().contains("fill the index again"), "{}", later.chain());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_by_other_rules_is_refused_and_made_again_beside_a_store() {
    let folder = folder();
    let store = filled(&folder).await;
    let marker = folder.path().join("sensetree.json");
    let rules = fs::read_to_string(&marker).expect("the rules are in a file");
    for (other, found) in [
        (rules.replace("\"format\":1", "\"format\":9"), "9 with words by"),
        (rules.replace(analyser::NAME, "other/1"), "1 with words by other/1"),
        ("{".to_owned(), "does not tell"),
        (String::new(), "does not tell"),
    ] {
        assert_ne!(other, rules);
        fs::write(&marker, &other).expect("the rules can be changed");
        let refused = TantivyRetriever::open(folder.path()).await.expect_err("it was made by other rules");
        assert!(matches!(&refused, Error::Format { found: said, supported: 1, .. } if said.contains(found)), "{refused:?}");
        assert_eq!(fs::read_to_string(&marker).expect("still there"), other, "refusing changes nothing");
        let index = TantivyRetriever::beside(folder.path(), &store).await.unwrap_or_else(|e| panic!("{}", e.chain()));
        assert_eq!(hits(&index, "lamp").await.len(), 30);
        assert_eq!(fs::read_to_string(&marker).expect("written again"), rules);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_something_else_is_refused_and_left_as_it_is() {
    let store = MemoryStore::new(Fingerprint::new("by-hand", 2));
    for name in ["letter.txt", "meta.json", "0123456789abcdef0123456789abcdef.store"] {
        let folder = folder();
        fs::write(folder.path().join(name), "mine").expect("a file can be written");
        for refused in [
            TantivyRetriever::open(folder.path()).await.expect_err("it is in use"),
            TantivyRetriever::beside(folder.path(), &store).await.expect_err("it is in use"),
        ] {
            assert!(matches!(&refused, Error::InvalidInput(why) if why.contains("a folder of its own")), "{refused:?}");
        }
        assert_eq!(names(&folder), [name], "nothing was added or removed");
    }
    let folder = folder();
    fs::write(folder.path().join("file"), "not a folder").expect("a file can be written");
    let refused = TantivyRetriever::open(folder.path().join("file")).await.expect_err("a file is not a folder");
    assert!(matches!(refused, Error::Io { .. }), "{refused:?}");
    // Another program's index of Tantivy, with our marker by mistake: its fields are not ours.
    let foreign = tantivy::schema::Schema::builder().build();
    tantivy::Index::create_in_dir(folder.path(), foreign).expect("Tantivy makes an index");
    fs::write(folder.path().join("sensetree.json"), json_rules()).expect("a file can be written");
    let refused = TantivyRetriever::open(folder.path()).await.expect_err("the fields are others");
    assert!(matches!(refused, Error::Store { doing: "open", .. }), "{refused:?}");
}

fn json_rules() -> String {
    serde_json::json!({ "format": rows::FORMAT_VERSION, "analyser": analyser::NAME }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_never_finished_is_made() {
    let folder = folder();
    // What a process leaves that was killed between the two files of a new index.
    fs::write(folder.path().join(".sensetree.json.new"), "{").expect("a file can be written");
    fs::write(folder.path().join(crate::turn::LOCK_FILE), "").expect("a file can be written");
    drop(open(&folder).await);
    for name in names(&folder) {
        if name != "sensetree.json" {
            fs::remove_file(folder.path().join(name)).expect("a file can be removed");
        }
    }
    let index = open(&folder).await;
    commit(&index, vec![document("/a", &["lamp"])]).await;
    assert_eq!(found(&index, "lamp").await, ["/a"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handles_that_make_an_index_again_at_once_make_one() {
    let folder = folder();
    let store = Arc::new(filled(&folder).await);
    fs::write(folder.path().join("sensetree.json"), "").expect("a file can be damaged");
    let opened = futures::future::join_all((0..6).map(|_| {
        let (store, path) = (store.clone(), folder.path().to_owned());
        tokio::spawn(async move { TantivyRetriever::beside(path, &store).await.unwrap_or_else(|e| panic!("{}", e.chain())) })
    }))
    .await;
    for index in opened {
        assert_eq!(hits(&index.expect("no task panics"), "lamp").await.len(), 30);
    }
}
