//! Whatever is stored, in whatever order, the answers are those of the reference in memory.

use super::*;

fn documents() -> impl Strategy<Value = BTreeMap<u8, Vec<String>>> {
    prop::collection::btree_map(0u8..20, prop::collection::vec(text(), 1..4), 0..12)
}

fn named(documents: &BTreeMap<u8, Vec<String>>) -> Vec<Document> {
    let document = |(name, texts): (&u8, &Vec<String>)| {
        document(&format!("/{}/{name}", name % 3), &texts.iter().map(String::as_str).collect::<Vec<_>>())
    };
    documents.iter().map(document).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn scores_are_those_of_the_reference(
        documents in documents(),
        query in prop::sample::subsequence(&WORDS[..], 1..5).prop_shuffle(),
        limit in 1usize..30,
    ) {
        wait(async {
            for word in WORDS {
                prop_assert_eq!(analyser::document_words(word), format!("{word} "));
            }
            let index = TantivyRetriever::in_memory();
            let reference = MemoryStore::new(Fingerprint::new("by-hand", 2));
            for document in named(&documents) {
                reference.commit(vec![document.clone()], &[]).await.expect("the reference stores it");
                commit(&index, vec![document]).await;
            }
            for filter in [Filter::everything(), under("/1")] {
                let ours = index.retrieve(&query.join(" "), &filter, limit).await.expect("a search works");
                let theirs = reference.retrieve(&query.join(" "), &filter, limit).await.expect("a search works");
                prop_assert_eq!(ours, theirs);
            }
            Ok(())
        })?;
    }

    #[test]
    fn answers_depend_on_what_is_stored_and_not_on_how_it_came_there(
        steps in prop::collection::vec((documents(), prop::collection::vec(0u8..20, 0..4)), 1..14),
        query in text(),
        limit in 1usize..30,
    ) {
        wait(async {
            let index = TantivyRetriever::in_memory();
            let mut stored = BTreeMap::new();
            for (documents, removed) in steps {
                let removed_keys: Vec<DocumentKey> = removed.iter().map(|name| key(&format!("/{}/{name}", name % 3))).collect();
                index.commit(named(&documents), &removed_keys).await.expect("a commit works");
                stored.retain(|name, _| !removed.contains(name));
                stored.extend(documents);
            }
            let fresh = TantivyRetriever::in_memory();
            commit(&fresh, named(&stored)).await;
            for filter in [Filter::everything(), under("/1"), under("/1").under(Scope::new("/2", PathRules::Posix))] {
                let (ours, theirs) =
                    (index.retrieve(&query, &filter, limit).await.expect("a search works"), fresh.retrieve(&query, &filter, limit).await.expect("a search works"));
                let bits = |hits: &[Hit]| hits.iter().map(|hit| hit.score.to_bits()).collect::<Vec<_>>();
                prop_assert_eq!(bits(&ours), bits(&theirs));
                prop_assert_eq!(ours, theirs);
            }
            let chunks = stored.values().map(Vec::len).sum::<usize>() as u64;
            prop_assert_eq!(counts(&index).await, (stored.len() as u64, chunks));
            Ok(())
        })?;
    }

    #[test]
    fn a_scope_of_any_characters_is_the_scope_of_the_core(
        paths in prop::collection::btree_set(prop::collection::vec(prop::string::string_regex("(?s).{1,3}").expect("a pattern"), 1..4), 1..12),
        scope in prop::collection::vec(prop::string::string_regex("(?s).{1,3}").expect("a pattern"), 0..3),
    ) {
        wait(async {
            let keys: BTreeSet<DocumentKey> = paths.iter().map(|parts| key(&format!("/{}", parts.join("/")))).collect();
            let index = TantivyRetriever::in_memory();
            let documents = keys.iter().map(|key| Document { key: key.clone(), ..document("/", &["lamp"]) }).collect();
            commit(&index, documents).await;
            // Every folder on the way to a document, and one that may not exist.
            let folders = paths.iter().flat_map(|parts| (0..parts.len()).map(|depth| parts[..depth].join("/"))).chain([scope.join("/")]);
            for folder in folders.collect::<BTreeSet<_>>() {
                let filter = under(&format!("/{folder}"));
                let expected: Vec<&DocumentKey> = keys.iter().filter(|key| filter.matches(key, 0)).collect();
                let hits = index.retrieve("lamp", &filter, 100).await.expect("any folder can be searched");
                prop_assert_eq!(hits.iter().map(|hit| &hit.id.key).collect::<Vec<_>>(), expected, "{:?}", filter);
            }
            Ok(())
        })?;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_filter_in_the_index_is_the_filter_of_the_core() {
    let parts = vec![
        "a", "a0", "a/b", "a-b", "A", "%", "_", "'", "''", "\"", "\\", "\\'", "a'b", "é", "\n", "*", "--", "0", "保", "[", "🚲",
        "a.md", "é.MD", ".md", "a.m'd",
    ];
    let path = prop::collection::vec(prop::sample::select(parts), 0..4).prop_map(|parts| format!("/{}", parts.join("/")));
    let mut runner = TestRunner::deterministic();
    let mut sample = |count: usize| -> BTreeSet<String> {
        let paths = prop::collection::vec(path.clone(), count).new_tree(&mut runner).expect("the strategy makes paths");
        paths.current().iter().map(|path| key(path).to_string()).collect()
    };
    // One in five has no known time.
    let modified = |path: &str| i64::try_from(path.len() % 5).expect("a small number") * 10;
    let file =
        |path: &String| document(path, &["lamp"]).with_stamp(FileStamp { modified: modified(path), ..FileStamp::default() });
    let time = |nanoseconds| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    let index = TantivyRetriever::in_memory();
    let mut stored = sample(200);
    let paths: Vec<&String> = stored.iter().collect();
    for some in paths.chunks(60) {
        commit(&index, some.iter().map(|path| file(path)).collect()).await;
    }
    let asked: Vec<String> = sample(60).into_iter().chain(["/".into(), String::new()]).collect();
    for names in asked.windows(2) {
        let scoped = under(&names[0]);
        let listed = Filter::everything().documents(names.iter().map(|name| key(name)));
        let both =
            scoped.clone().under(Scope::new(&names[1], PathRules::Posix)).documents(stored.iter().take(90).map(|k| key(k)));
        let typed = scoped.clone().extensions([".md", "m'd"]);
        let dated = Filter::everything().modified(time(10)..time(30));
        let all = typed.clone().modified(time(20)..);
        let any_time = Filter::everything().modified(..);
        let no_time = Filter::everything().modified(time(30)..time(10));
        let untyped = Filter::everything().extensions([""; 0]);
        for filter in [scoped, listed, both, typed, dated, all, any_time, no_time, untyped] {
            let expected: Vec<&String> = stored.iter().filter(|path| filter.matches(&key(path), modified(path))).collect();
            let hits = index.retrieve("lamp", &filter, 500).await.expect("any filter can be searched");
            assert_eq!(hits.iter().map(|hit| hit.id.key.as_str()).collect::<Vec<_>>(), expected, "{filter:?}");
        }
    }
    // Removing by each filter removes exactly what it lets through.
    for name in sample(40) {
        let filter = under(&name);
        let (inside, outside): (BTreeSet<String>, _) =
            stored.into_iter().partition(|path| filter.matches(&key(path), modified(path)));
        assert_eq!(index.remove(&filter).await.expect("any filter can be removed"), inside.len() as u64, "{filter:?}");
        stored = outside;
    }
    assert_eq!(found(&index, "lamp").await.into_iter().collect::<BTreeSet<_>>(), stored);
}
