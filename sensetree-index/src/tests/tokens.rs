//! Chunks that are measured in the embedder's tokens.

use sensetree_core::{ChunkUnit, Error};

use super::*;

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn by_words(desk: &Desk) -> IndexerBuilder {
    Indexer::builder(Arc::new(MockEmbedder::new(64).counting_words()), desk.store.clone()).chunk_unit(ChunkUnit::Tokens)
}

#[test]
fn a_chunk_has_at_most_so_many_tokens_and_its_context_a_quarter_of_it() {
    let body: String = (0..500).map(|number| format!("number {number} follows here. ")).collect();
    let desk = Desk::with(&[("some folder/a long name of it.md", &format!("# The title of it\n\n## A part\n\n{body}"))]);
    desk.write("node_modules/react/index.js", "x");
    (0..100).for_each(|number| desk.write(format!("node_modules/package {number}/index.js"), "x"));
    desk.sync_with(by_words(&desk).chunk_size(40).overlap(5));
    let chunks = desk.chunks("some folder/a long name of it.md");
    assert!(chunks.len() > 40);
    assert!(words(&chunks[0].text) <= 40 + 10, "{:?}", chunks[0].text);
    for chunk in &chunks[1..] {
        assert!(words(&chunk.text) <= 40 && words(&chunk.context) <= 10, "{:?}, {:?}", chunk.context, chunk.text);
        assert!(chunk.context.ends_with("A part"), "{:?}", chunk.context);
    }
    let folder = &desk.chunks("node_modules")[0];
    assert!(words(&folder.text) <= 40 + 10 && folder.text.contains("package 1"), "{:?}", folder.text);
}

#[test]
fn sizes_that_are_not_set_suit_the_unit() {
    let desk = Desk::with(&[("a.txt", &"word ".repeat(1000))]);
    desk.sync_with(by_words(&desk));
    let counts: Vec<usize> = desk.chunks("a.txt")[1..].iter().map(|chunk| words(&chunk.text)).collect();
    assert!(counts[..counts.len() - 1].iter().all(|&count| count == 200), "{counts:?}");
}

#[test]
fn an_embedder_that_cannot_count_is_refused_before_anything_is_changed() {
    let desk = Desk::with(&[("a.md", "alpha")]);
    let indexer = desk.builder().chunk_unit(ChunkUnit::Tokens).build().expect("the embedder is not asked yet");
    let error = block_on(indexer.sync(&[desk.folder.path()], |_| {})).expect_err("it cannot count");
    assert!(
        matches!(&error, Error::InvalidInput(why) if why.contains("mock-embedder") && why.contains("in characters")),
        "{error}"
    );
    assert!(desk.stored().is_empty());
}

#[test]
fn another_unit_holds_for_files_that_are_indexed_afterwards() {
    let text = "word ".repeat(300);
    let desk = Desk::with(&[("a.txt", &text)]);
    desk.sync();
    desk.settle("a.txt");
    let before = desk.chunks("a.txt");
    desk.write("b.txt", &text);
    let report = desk.sync_with(by_words(&desk).chunk_size(20).overlap(0));
    assert_eq!(counts(&report), (1, 0, 1, 0));
    assert_eq!(desk.chunks("a.txt"), before);
    assert_eq!(desk.chunks("b.txt").len(), 15);
}
