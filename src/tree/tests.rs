use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use proptest::prelude::*;
use sensetree_core::{
    Chunk, Document, DocumentKey, Embedder, Embedding, Error, Filter, Fingerprint, Hit, PathRules, Query, Result, Scope,
    ScoreScale, SparseRetriever, Store,
    memory::MemoryStore,
    testing::{MockEmbedder, MockReranker, RecordingEmbedder},
};
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::Existence;

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts").block_on(test)
}

/// A store of (path, texts), embedded by their words.
async fn filled<S: AsRef<str>>(documents: &[(S, &[&str])]) -> (Arc<MockEmbedder>, Arc<MemoryStore>) {
    let embedder = Arc::new(MockEmbedder::new(512));
    let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
    for (path, texts) in documents {
        let vectors = embedder.embed_passages(texts).await.expect("the texts are embedded");
        let chunks = texts.iter().zip(vectors).map(|(text, vector)| Chunk::new(*text, vector)).collect();
        let document = Document { chunks, ..Document::new(path.as_ref()) };
        store.commit(vec![document], &[]).await.expect("whole documents are stored");
    }
    (embedder, store)
}

fn pipeline(embedder: impl Embedder, store: Arc<MemoryStore>) -> Pipeline {
    Pipeline::builder(embedder, store.clone()).sparse(store).without_existence_check().build().expect("the parts fit")
}

const NOTES: &[(&str, &[&str])] = &[
    ("/notes/home/boiler.md", &["the boiler was serviced in May", "the chimney was swept"]),
    ("/notes/home/bread.md", &["flour water salt"]),
    ("/notes/office/offer.md", &["the offer for the boiler"]),
    ("/notes-old/boiler.md", &["boiler serviced"]),
];

async fn notes_tree(query: Query) -> MeaningTree {
    let (embedder, store) = filled(NOTES).await;
    pipeline(embedder, store).meaning_tree(query, TreeOptions::default()).await.expect("the parts answer")
}

fn names(nodes: &[TreeNode]) -> Vec<&str> {
    nodes.iter().map(|node| node.name.as_str()).collect()
}

/// A tree of (path, score), one chunk each.
pub(super) fn tree_of<S: AsRef<str>>(files: &[(S, f64)]) -> MeaningTree {
    let found = files.iter().map(|(path, score)| {
        let path = path.as_ref();
        let file = TreeFile { path: Arc::new(PathBuf::from(path)), chunk: 0, location: Location::default() };
        Found::new(DocumentKey::new(path, PathRules::Posix), *score, ScoreKind::Cosine, file)
    });
    MeaningTree::of("query", None, found.collect(), None)
}

#[test]
fn the_strongest_branch_leads_to_the_best_file_and_counts_are_told() {
    run(async {
        let tree = notes_tree(Query::new("boiler serviced").limit(1)).await;
        assert_eq!((tree.root.name.as_str(), tree.root.files, tree.root.chunks), ("/", 4, 5));
        assert_eq!(names(&tree.root.children), ["notes-old", "notes"]);
        let notes = &tree.root.children[1];
        assert_eq!((names(&notes.children), notes.files, notes.chunks), (vec!["home", "office"], 3, 4));
        assert_eq!(names(&notes.children[0].children), ["boiler.md", "bread.md"]);
        let boiler = &notes.children[0].children[0];
        assert_eq!((boiler.files, boiler.chunks), (1, 2));
        let file = boiler.file.as_ref().expect("it is a file");
        assert_eq!((file.path.to_str(), file.chunk), (Some("/notes/home/boiler.md"), 0));
        assert_eq!(tree.root.score, tree.root.children[0].children[0].score);
    });
}

#[test]
fn a_scope_is_the_root_and_ends_at_a_segment() {
    run(async {
        let tree = notes_tree(Query::new("boiler").under("/notes").expect("a folder")).await;
        assert_eq!((tree.root.key.as_str(), tree.root.files), ("/notes", 3));
        let one = notes_tree(Query::new("boiler").under("/notes/home/bread.md").expect("a path")).await;
        assert_eq!((one.root.key.as_str(), names(&one.root.children)), ("/notes/home", vec!["bread.md"]));
        let none = notes_tree(Query::new("boiler").under("/nowhere").expect("a folder")).await;
        assert!(none.is_empty());
        assert_eq!(none.note.as_deref(), Some("nothing was found"));
        let by_type = notes_tree(Query::new("boiler").filter(Filter::everything().extensions(["txt"]))).await;
        assert!(by_type.is_empty());
    });
}

#[test]
fn a_blank_query_gives_an_empty_tree_and_asks_nobody() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let recorder = Arc::new(RecordingEmbedder::new(embedder));
        let pipeline = pipeline(recorder.clone(), store);
        for blank in ["", " \n", "\u{200B}"] {
            let tree = pipeline.meaning_tree(Query::new(blank), TreeOptions::default()).await.expect("no error");
            assert!(tree.is_empty());
            assert_eq!(tree.note.as_deref(), Some("blank query"));
            assert_eq!(tree.to_text(&TextOptions::default()), "Nothing to show: blank query.\n");
            assert!(tree.to_html().contains("Nothing to show: blank query."));
        }
        assert_eq!(recorder.queries(), Vec::<String>::new());
        let tree = pipeline.meaning_tree(Query::new("!!!"), TreeOptions::default()).await.expect("no error");
        assert_eq!((tree.root.files, recorder.queries().len()), (4, 1));
    });
}

#[test]
fn a_tree_is_made_of_400_chunks_or_what_was_asked_for_within_10_to_1000() {
    run(async {
        let texts = vec!["a boiler"; 1200];
        let (embedder, store) = filled(&[("/notes/long.md", &texts)]).await;
        let pipeline = pipeline(embedder, store);
        let chunks = async |options| pipeline.meaning_tree(Query::new("boiler"), options).await.expect("it answers").root.chunks;
        assert_eq!(chunks(TreeOptions::default()).await, 400);
        for (asked, given) in [(0, 10), (10, 10), (37, 37), (1000, 1000), (usize::MAX, 1000)] {
            assert_eq!(chunks(TreeOptions::default().with_chunks(asked)).await, given, "{asked}");
        }
    });
}

#[test]
fn files_that_are_gone_are_left_out() {
    run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        let texts: &[&str] = &["the boiler"];
        let (embedder, store) = filled(&[(path("here.md"), texts), (path("gone.md"), texts)]).await;
        std::fs::write(path("here.md"), "the boiler").expect("a file is written");
        let pipeline = Pipeline::builder(embedder, store).build().expect("the parts fit");
        let tree = pipeline.meaning_tree(Query::new("boiler"), TreeOptions::default()).await.expect("it answers");
        assert_eq!(names(&tree.root.children), ["here.md"]);
    });
}

#[derive(Debug)]
struct Broken;

#[async_trait]
impl Existence for Broken {
    async fn exist(&self, _: Vec<Arc<PathBuf>>) -> Result<Vec<bool>> {
        Err(Error::other("look at the disk", "it is locked"))
    }
}

#[async_trait]
impl Embedder for Broken {
    fn fingerprint(&self) -> &Fingerprint {
        static FINGERPRINT: std::sync::OnceLock<Fingerprint> = std::sync::OnceLock::new();
        FINGERPRINT.get_or_init(|| Fingerprint::new("mock-embedder", 512))
    }

    async fn embed_query(&self, _: &str) -> Result<Embedding> {
        panic!("the model is broken")
    }

    async fn embed_passages(&self, _: &[&str]) -> Result<Vec<Embedding>> {
        panic!("the model is broken")
    }
}

#[test]
fn what_breaks_is_told() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let unsure = Pipeline::builder(embedder, store.clone()).existence(Broken).build().expect("the parts fit");
        let tree = unsure.meaning_tree(Query::new("boiler"), TreeOptions::default()).await.expect("all files stay");
        assert_eq!(tree.root.files, 4);
        assert!(tree.note.as_deref().is_some_and(|note| note.contains("it is locked")), "{:?}", tree.note);
        assert!(tree.to_text(&TextOptions::default()).contains("it is locked"));
        let failed = pipeline(Broken, store).meaning_tree(Query::new("boiler"), TreeOptions::default()).await;
        assert!(failed.expect_err("a panic is an error").chain().contains("the model is broken"));
    });
}

#[async_trait]
impl SparseRetriever for Broken {
    async fn retrieve(&self, _: &str, _: &Filter, _: usize) -> Result<Vec<Hit>> {
        panic!("a tree asks for no words")
    }
}

#[test]
fn a_tree_is_made_by_meaning_alone() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let recorder = Arc::new(RecordingEmbedder::new(embedder));
        let reranker = MockReranker::new(ScoreScale::Unit, |_, _| panic!("a tree is not reranked"));
        let builder = Pipeline::builder(recorder.clone(), store).sparse(Broken).reranker(reranker);
        let pipeline = builder.without_existence_check().build().expect("the parts fit");
        let tree = pipeline.meaning_tree(Query::new("boiler"), TreeOptions::default()).await.expect("it answers");
        assert_eq!((tree.root.files, tree.note), (4, None));
        assert_eq!(recorder.queries(), ["boiler"], "as a question, once");
    });
}

#[derive(Debug)]
struct Hanging(Fingerprint);

#[async_trait]
impl Embedder for Hanging {
    fn fingerprint(&self) -> &Fingerprint {
        &self.0
    }

    async fn embed_query(&self, _: &str) -> Result<Embedding> {
        std::future::pending().await
    }

    async fn embed_passages(&self, _: &[&str]) -> Result<Vec<Embedding>> {
        std::future::pending().await
    }
}

#[test]
fn a_tree_that_takes_too_long_is_an_error() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let pipeline = pipeline(Hanging(embedder.fingerprint().clone()), store);
        let query = Query::new("boiler").within(Duration::from_millis(20));
        let late = pipeline.meaning_tree(query, TreeOptions::default()).await.expect_err("nobody answers");
        assert!(matches!(&late, Error::OutOfTime { part, .. } if part == "embedder"), "{late}");
    });
}

#[test]
fn a_tree_of_a_page_has_its_files_and_scores() {
    run(async {
        let (embedder, store) = filled(NOTES).await;
        let pipeline = pipeline(embedder, store);
        let page = pipeline.search(Query::new("boiler serviced")).await.expect("it answers");
        let tree = MeaningTree::from_page("boiler serviced", &page);
        assert_eq!(tree.root.files, page.results.len());
        let best = page.results.iter().map(|result| result.score).fold(0.0, f64::max);
        assert_eq!((tree.root.score, tree.root.score_kind), (best, ScoreKind::Cosine));
        let blank = pipeline.search(Query::new("")).await.expect("no error");
        assert_eq!(MeaningTree::from_page("", &blank).note.as_deref(), Some("blank query"));
    });
}

#[test]
fn what_was_reranked_stands_before_what_was_not() {
    let file = |path: &str| TreeFile { path: Arc::new(path.into()), chunk: 0, location: Location::default() };
    let found = |path: &str, score, kind| Found::new(DocumentKey::new(path, PathRules::Posix), score, kind, file(path));
    let found = vec![
        found("/a/near.md", 0.9, ScoreKind::Cosine),
        found("/b/sure.md", 0.1, ScoreKind::Rerank),
        found("/b/near.md", 0.8, ScoreKind::Cosine),
    ];
    let root = MeaningTree::of("query", None, found, None).root;
    assert_eq!((root.score, root.score_kind), (0.1, ScoreKind::Rerank));
    assert_eq!(names(&root.children), ["b", "a"]);
    assert_eq!(names(&root.children[0].children), ["sure.md", "near.md"]);
}

#[test]
fn folders_with_one_folder_become_one_when_collapsed() {
    let tree = tree_of(&[("/n/a/b/c/x.md", 0.5), ("/n/a/b/c/y.md", 0.4), ("/n/d/e.md", 0.3)]);
    let collapsed = tree.clone().collapsed();
    assert_eq!(names(&tree.root.children), ["a", "d"]);
    assert_eq!(names(&collapsed.root.children), ["a/b/c", "d"], "a folder with one file stays as it is");
    assert_eq!(collapsed.root.children[0].key.as_str(), "/n/a/b/c");
    assert_eq!((collapsed.root.files, collapsed.root.score), (3, 0.5));
}

#[test]
fn a_folder_that_is_indexed_itself_is_a_file_and_a_folder() {
    let tree = tree_of(&[("/n/app", 0.9), ("/n/app/readme.md", 0.2), ("/n/b.md", 0.1)]);
    let app = &tree.root.children[0];
    assert_eq!((app.name.as_str(), app.files, app.score, app.file.is_some()), ("app", 2, 0.9, true));
}

#[test]
fn keys_of_windows_and_of_no_file_system_have_trees_too() {
    let tree = |paths: &[&str]| {
        let file = |path: &str| TreeFile { path: Arc::new(path.into()), chunk: 0, location: Location::default() };
        let found = |path: &&str| Found::new(DocumentKey::new(path, PathRules::Windows), 0.5, ScoreKind::Cosine, file(path));
        MeaningTree::of("query", None, paths.iter().map(found).collect(), None)
    };
    let drives = tree(&[r"C:\Docs\a.md", r"D:\b.md"]);
    assert_eq!((drives.root.key.as_str(), names(&drives.root.children)), ("", vec!["c:", "d:"]));
    assert_eq!(tree(&[r"\\srv\s\a", r"\\srv\s\b\c"]).root.key.as_str(), "//srv/s");
    let mail = tree_of(&[("mail/1", 0.5), ("mail/2", 0.4)]);
    assert_eq!((mail.root.name.as_str(), names(&mail.root.children)), ("mail", vec!["1", "2"]));
}

#[test]
fn a_path_of_any_depth_is_shown_and_can_be_read_back() {
    let deep = format!("/{}x.md", "d/".repeat(5000));
    let tree = tree_of(&[(deep.as_str(), 0.5), ("/e.md", 0.4)]);
    assert_eq!(tree.root.files, 2);
    let json = serde_json::to_string(&tree).expect("a tree is JSON");
    let read: serde_json::Value = serde_json::from_str(&json).expect("no reader's limit is passed");
    assert_eq!(read["root"]["files"], 2);
    assert!(tree.to_html().contains("x.md"));
    assert!(tree.to_text(&TextOptions::default()).lines().all(|line| line.width() <= 80));
}

pub(super) const HOSTILE: &[&str] = &[
    "/h/<script>alert(1).md",
    "/h/<img src=x onerror=alert(1)>.md",
    "/h/\"onmouseover=alert(1) x='.md",
    "/h/two\nlines\r.md",
    "/h/\u{202E}gpj.exe",
    "/h/\u{1b}[31mred\u{7}.md",
    "/h/&lt;amp&.md",
    "/h/保証書 Grüße.md",
];

#[test]
fn hostile_names_are_text_in_a_terminal() {
    let files: Vec<(&str, f64)> = HOSTILE.iter().map(|path| (*path, 0.5)).collect();
    let text = tree_of(&files).to_text(&TextOptions::default());
    assert_eq!(text.lines().count(), 1 + files.len());
    assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202E}'), "{text:?}");
    assert!(text.contains(r"two\nlines\r.md") && text.contains(r"\u{1b}[31mred"), "{text}");
}

#[test]
fn hostile_names_are_text_in_a_page() {
    let files: Vec<(&str, f64)> = HOSTILE.iter().map(|path| (*path, 0.5)).collect();
    let mut tree = tree_of(&files);
    tree.query = "</title><script>alert(2)</script>".to_owned();
    let page = tree.to_html();
    assert!(!page.contains("<script") && !page.contains("\"onmouseover") && !page.contains("'.md"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1).md") && !page.contains("<img") && page.contains("&amp;lt;amp&amp;.md"));
    assert!(!page.contains('\u{202E}') && page.contains(r"\u{202e}gpj.exe"));
}

#[test]
fn colours_are_only_there_when_asked_for_and_change_no_text() {
    let tree = tree_of(&[("/n/a/x.md", 0.9), ("/n/a/y.md", 0.5), ("/n/z.md", 0.1)]);
    let plain = tree.to_text(&TextOptions::default());
    let coloured = tree.to_text(&TextOptions::default().with_colours(Colours::Ansi));
    assert!(!plain.contains('\u{1b}') && coloured.contains('\u{1b}'));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
}

#[test]
fn a_terminal_shows_branches_bars_and_counts() {
    let tree = tree_of(&[("/n/a/x.md", 0.75), ("/n/a/y.md", 0.5), ("/n/z.md", 0.1)]);
    expect_test::expect![[r#"
        /n/         ██████   0.75  3 files
        ├─ a/       ██████   0.75  2 files
        │  ├─ x.md  ██████   0.75
        │  └─ y.md  ████     0.50
        └─ z.md     ▊        0.10
    "#]]
    .assert_eq(&tree.to_text(&TextOptions::default()));
    expect_test::expect![[r#"
        /n/      0.75  3 files
        ├─ a/    0.75  2 files
        └─ z.md  0.10
    "#]]
    .assert_eq(&tree.to_text(&TextOptions::default().with_depth(1).with_width(40)));
}

#[test]
fn the_page_opens_whole_when_small_and_along_the_strongest_branch_when_large() {
    let files = |count: usize| -> Vec<(String, f64)> {
        (0..count).map(|i| (format!("/n/{}/{}/f{i}.md", i % 7, i % 3), 1.0 - i as f64 / 1000.0)).collect()
    };
    let page = |count| tree_of(&files(count)).to_html();
    let count = |page: &str, what: &str| page.matches(what).count();
    let small = page(12);
    assert_eq!(count(&small, "<details>"), 0);
    assert!(count(&small, "<details open>") > 7);
    let large = page(900);
    assert_eq!(count(&large, "<details open>"), 2);
    assert_eq!(count(&large, "class=\"file\""), 900);
}

#[test]
fn a_long_name_may_break_where_its_parts_end() {
    let page = tree_of(&[("/n/a/b/form_2024<3.pdf", 0.5), ("/n/a/b/c.pdf", 0.4), ("/n/d.pdf", 0.3)]).collapsed().to_html();
    assert!(page.contains("<bdi>form_<wbr>2024&lt;3.pdf</bdi>") && page.contains("<bdi>a/<wbr>b</bdi>"), "{page}");
    assert!(page.contains("form_2024%3C3.pdf\""), "its link is whole: {page}");
}

/// What a person would do: look at every file under a prefix.
fn check(node: &TreeNode, files: &BTreeMap<String, f64>) -> std::result::Result<usize, TestCaseError> {
    let key = node.key.as_str();
    let under: Vec<(&String, f64)> = files
        .iter()
        .filter(|(path, _)| Scope::new(key, PathRules::Posix).contains(&DocumentKey::new(path, PathRules::Posix)))
        .map(|(p, s)| (p, *s))
        .collect();
    prop_assert_eq!(node.files, under.len(), "{}", key);
    prop_assert_eq!(node.score, under.iter().map(|(_, score)| *score).fold(f64::MIN, f64::max), "{}", key);
    prop_assert_eq!(node.file.is_some(), files.contains_key(key));
    for pair in node.children.windows(2) {
        prop_assert!(pair[0].score > pair[1].score || (pair[0].score == pair[1].score && pair[0].name < pair[1].name));
    }
    let mut seen = usize::from(node.file.is_some());
    for child in &node.children {
        seen += check(child, files)?;
    }
    prop_assert_eq!(seen, node.files);
    Ok(seen)
}

#[test]
fn a_digit_shown_as_a_picture_is_as_wide_as_the_picture() {
    let files = [("/\u{1BC9C}".to_owned(), 0.0), (format!("/{}0\u{FE0F}{}", "a".repeat(3), "b".repeat(40)), 0.0)];
    for width in 24..60 {
        let text = tree_of(&files).to_text(&TextOptions::default().with_width(width));
        assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
    }
}

proptest! {
    #[test]
    fn a_folder_has_the_best_of_what_is_under_it_and_counts_it(
        files in prop::collection::btree_map("(/[abc]{1,2}){1,4}", (0u32..20).prop_map(|n| f64::from(n) / 20.0), 1..40)
    ) {
        let list: Vec<(String, f64)> = files.clone().into_iter().collect();
        let tree = tree_of(&list);
        prop_assert_eq!(check(&tree.root, &files)?, files.len());
        let reversed: Vec<(String, f64)> = list.into_iter().rev().collect();
        prop_assert_eq!(&tree, &tree_of(&reversed));
        prop_assert_eq!(tree.clone().collapsed().root.files, files.len());
    }

    #[test]
    fn no_line_is_wider_than_the_terminal(
        files in prop::collection::vec(("(/\\PC{1,60}){1,12}", 0.0f64..1.0), 1..12), width in 24usize..120
    ) {
        let text = tree_of(&files).to_text(&TextOptions::default().with_width(width));
        for line in text.lines() {
            prop_assert!(line.width() <= width, "{} > {width}: {line}", line.width());
        }
    }
}
