//! Summaries by a qualifier.

use std::sync::Mutex;

use async_trait::async_trait;
use sensetree_core::{Error, Result};

use super::*;
use crate::{Qualifier, Subject, embedded_text};

/// Says what the first word of a text is, after having failed as it was told to.
#[derive(Debug, Default)]
struct FirstWord {
    asked: Mutex<Vec<String>>,
    /// Fails for texts with this word, in a way that may pass or not.
    refuses: Option<(&'static str, bool)>,
}

impl FirstWord {
    fn refusing(word: &'static str, transient: bool) -> Arc<Self> {
        Arc::new(Self { refuses: Some((word, transient)), ..Self::default() })
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().expect("no test panics here"));
        asked.sort();
        asked
    }
}

#[async_trait]
impl Qualifier for FirstWord {
    async fn qualify(&self, subject: Subject<'_>) -> Result<String> {
        let name = subject.path.file_name().expect("a file").to_string_lossy().into_owned();
        self.asked.lock().expect("no test panics here").push(name);
        match self.refuses {
            Some((word, transient)) if subject.text.contains(word) => Err(Error::Remote {
                doing: "summarise",
                endpoint: "http://localhost".into(),
                reason: "the mock refuses".into(),
                transient,
            }),
            _ if subject.text.contains("seven") => panic!("seven is not a number"),
            _ => Ok(format!("About {}.\nIt goes on.", subject.text.split_whitespace().next().unwrap_or_default())),
        }
    }
}

fn sync(desk: &Desk, qualifier: &Arc<FirstWord>) -> Report {
    desk.sync_with(desk.builder().qualifier(qualifier.clone()))
}

fn parts(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name} {}", "word ".repeat(150))).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn a_summary_is_stored_with_the_first_chunk_and_embedded_with_the_others() {
    let desk = Desk::with(&[("a.txt", &parts(&["alpha", "beta"])), ("p.bin", "\0"), ("node_modules/x.js", "x")]);
    let qualifier = Arc::new(FirstWord::default());
    sync(&desk, &qualifier);
    assert_eq!(qualifier.asked(), ["a.txt"], "what has no text is its name");
    let chunks = desk.chunks("a.txt");
    assert!(chunks[0].text.starts_with("a.txt\nAbout alpha. It goes on.\n\nalpha word"), "{}", chunks[0].text);
    assert!(chunks[1].text.starts_with("beta word"), "other texts stay clean");
    assert!(embedded_text(&chunks[1]).starts_with("a.txt · About alpha.\nbeta"), "{}", embedded_text(&chunks[1]));
    assert_eq!(desk.found("goes"), ["a.txt"]);
    assert_eq!(chunks[1].embedding, MockEmbedder::new(64).embed_now(&embedded_text(&chunks[1])));
}

#[test]
fn nobody_is_asked_twice_about_the_same_content() {
    let desk = Desk::with(&[("a.txt", &parts(&["alpha", "beta", "gamma", "delta"])), ("b.md", "banana")]);
    let qualifier = Arc::new(FirstWord::default());
    sync(&desk, &qualifier);
    assert_eq!(qualifier.asked(), ["a.txt", "b.md"]);
    // Unchanged, touched, moved.
    sync(&desk, &qualifier);
    fs::File::options().write(true).open(desk.path("b.md")).and_then(|f| f.set_modified(std::time::UNIX_EPOCH)).expect("a time");
    sync(&desk, &qualifier);
    fs::rename(desk.path("b.md"), desk.path("c.md")).expect("a rename");
    let report = sync(&desk, &qualifier);
    assert_eq!((report.moved, qualifier.asked().len()), (1, 0));
    assert_eq!(desk.chunks("c.md")[0].text, "c.md\nAbout banana. It goes on.\n\nbanana");

    let before = desk.embedder.passages().len();
    desk.write("a.txt", parts(&["alpha", "beta", "gamma", "epsilon"]));
    assert_eq!(sync(&desk, &qualifier).chunks_embedded, 1, "a small change keeps the summary, and with it the vectors");
    assert!(qualifier.asked().is_empty() && desk.embedded_after(before)[0].starts_with("a.txt · About alpha."));
    desk.write("a.txt", parts(&["one", "two", "gamma", "four"]));
    sync(&desk, &qualifier);
    assert_eq!(qualifier.asked(), ["a.txt"], "a large change does not");
    assert!(desk.chunks("a.txt")[0].text.contains("About one."));
}

#[test]
fn what_is_refused_for_good_is_indexed_without_a_summary_and_not_asked_again() {
    let desk = Desk::with(&[("a.md", "alpha"), ("b.md", "banana"), ("s.md", "seven")]);
    let qualifier = FirstWord::refusing("alpha", false);
    let report = sync(&desk, &qualifier);
    assert_eq!((report.new, report.failed.len(), report.warnings.len()), (3, 0, 1));
    assert!(report.warnings[0].starts_with("2 documents have no summary"), "{:?}", report.warnings);
    assert_eq!((desk.found("alpha"), desk.chunks("a.md")[0].text.as_str()), (vec!["a.md".to_owned()], "a.md\n\nalpha"));
    qualifier.asked();
    sync(&desk, &qualifier);
    assert!(qualifier.asked().is_empty());
}

#[test]
fn a_qualifier_that_is_down_leaves_the_files_pending() {
    let desk = Desk::with(&[("p.bin", "\0")]);
    (0..40).for_each(|number| desk.write(format!("f{number}.md"), format!("content number{number}")));
    let qualifier = FirstWord::refusing("content", true);
    let report = sync(&desk, &qualifier);
    assert!(report.stopped.as_ref().is_some_and(|reason| reason.contains("qualifier")), "{report}");
    assert_eq!((report.new + report.pending, report.failed.len()), (41, 0));
    assert!(qualifier.asked().len() <= 8);
    let few = Desk::with(&[("a.md", "content")]);
    let report = sync(&few, &qualifier);
    assert_eq!((report.pending, report.failed.len(), few.stored().len()), (1, 0, 0), "also when there are too few to be sure");
    assert_eq!(sync(&desk, &Arc::new(FirstWord::default())).pending, 0);
    assert_eq!(desk.stored().len(), 41);
}

#[test]
fn a_file_that_a_working_qualifier_times_out_on_is_tried_three_times() {
    let desk = Desk::with(&[("z.md", "zebra")]);
    let qualifier = FirstWord::refusing("zebra", true);
    for (run, tries) in [1, 2, 3, 3, 3].into_iter().enumerate() {
        // So that it is known to work.
        desk.write(format!("new{run}.md"), format!("new number{run}"));
        let report = sync(&desk, &qualifier);
        assert_eq!((report.failed.len(), report.failed[0].tries, report.stopped), (1, tries, None));
        assert_eq!(qualifier.asked().len(), if run < 3 { 2 } else { 1 });
    }
    assert_eq!(desk.found("z"), ["z.md"]);
}

#[test]
fn a_summary_is_not_kept_when_the_embedding_fails() {
    use sensetree_core::testing::FailingEmbedder;
    let desk = Desk::with(&[("z.md", "zebra")]);
    let qualifier = Arc::new(FirstWord::default());
    let embedder = Arc::new(FailingEmbedder::new(MockEmbedder::new(64), "zebra"));
    let indexer = Indexer::builder(embedder, desk.store.clone()).qualifier(qualifier.clone()).build().expect("good settings");
    let report = block_on(indexer.sync(&[desk.folder.path()], |_| {})).expect("a sync");
    assert_eq!(report.failed.len(), 1);
    assert!(!desk.documents()[0].note.contains("About") && desk.found("about").is_empty());
}

trait EmbedNow {
    fn embed_now(&self, text: &str) -> sensetree_core::Embedding;
}

impl EmbedNow for MockEmbedder {
    fn embed_now(&self, text: &str) -> sensetree_core::Embedding {
        block_on(self.embed_passages(&[text])).expect("the mock never fails").remove(0)
    }
}
