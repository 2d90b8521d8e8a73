//! What is read, how it is cut, and what is stored and embedded of it.

use super::*;
use crate::embedded_text;

#[test]
fn nothing_blank_is_embedded_and_what_has_no_text_is_not_tried_again() {
    let spaced = format!("{}ok", " ".repeat(2000));
    let desk =
        Desk::with(&[("zero.txt", ""), ("white.md", " \n\t\n "), ("spaced.txt", &spaced), ("invisible.txt", "\u{200B}\u{FEFF}")]);
    let report = desk.sync();
    assert_eq!(counts(&report), (4, 0, 0, 0));
    assert!(reason(&report.skipped, "zero.txt").contains("empty"));
    assert!(reason(&report.skipped, "white.md").contains("white space"));
    assert_eq!(report.skipped.len(), 3);
    assert_eq!(desk.found("ok"), ["spaced.txt"]);
    assert_eq!(desk.chunks("spaced.txt")[0].location.bytes, 2000..2002);
    assert!(
        desk.embedder.passages().iter().all(|text| text.contains(".txt") || text.contains(".md")),
        "{:?}",
        desk.embedder.passages()
    );
    assert_eq!(desk.found("zero"), ["zero.txt"]);
    assert_eq!(desk.sync().chunks, 0);
}

#[test]
fn text_of_any_encoding_is_indexed_and_a_binary_file_found_by_name() {
    let desk = Desk::with(&[("line.txt", &"lighthouse ".repeat(110))]);
    desk.write("latin.txt", b"La cr\xe8me br\xfbl\xe9e est pr\xeate, et le caf\xe9 aussi.");
    desk.write("wide.csv", "name;city\r\nJürgen;Köln\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    desk.write("travel/2024/harbour.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0");
    let report = desk.sync();
    assert_eq!((counts(&report), report.failed.len()), ((4, 0, 0, 0), 0));
    assert_eq!(desk.found("lighthouse"), ["line.txt"]);
    assert_eq!(desk.found("creme brulee"), ["latin.txt"]);
    assert_eq!(desk.found("koln"), ["wide.csv"]);
    assert_eq!(reason(&report.skipped, "harbour.png"), "it is a binary file");
    for words in ["harbour", "png image", "travel"] {
        assert_eq!(desk.found(words), ["travel/2024/harbour.png"], "{words}");
    }
    assert_eq!(desk.chunks("travel/2024/harbour.png")[0].text, "harbour.png · PNG image · travel/2024");
}

#[test]
fn the_first_chunk_stores_its_qualification_and_the_others_only_embed_it() {
    let part = |heading: &str, word: &str| format!("## {heading}\n\n{}\n\n", format!("{word} words here. ").repeat(100));
    let text = format!("# Boiler warranty\n\n{}{}", part("Claims", "claim"), part("Repairs", "repair"));
    let desk = Desk::with(&[("home/insurance/boiler.md", &text)]);
    desk.sync();
    let chunks = desk.chunks("home/insurance/boiler.md");
    assert!(chunks[0].text.starts_with("boiler.md · Boiler warranty · home/insurance\n\n# Boiler warranty\n"));
    assert_eq!(chunks[0].context, "");
    let repair = chunks.iter().find(|chunk| chunk.text.starts_with("repair")).or(chunks.last()).expect("several");
    assert!(repair.context.starts_with("boiler.md · Boiler warranty · home/insurance"), "{}", repair.context);
    assert!(chunks[1..].iter().all(|chunk| !chunk.text.contains("home/insurance")));
    assert_eq!(desk.found("insurance"), ["home/insurance/boiler.md"]);
    assert!(chunks.iter().any(|chunk| chunk.context.ends_with("· Claims") || chunk.context.ends_with("· Repairs")), "{chunks:?}");
}

#[test]
fn locations_are_bytes_and_lines_of_the_file() {
    let text = "first line\r\nsecond é\n\n".to_owned() + &"many words follow here\n".repeat(100);
    let desk = Desk::with(&[("a.txt", &text)]);
    desk.sync();
    let chunks = desk.chunks("a.txt");
    assert_eq!(chunks[0].location.lines.0, 1);
    for (at, chunk) in chunks.iter().enumerate() {
        let place = &chunk.location;
        let body = &text[place.bytes.start as usize..place.bytes.end as usize];
        assert!(if at == 0 { chunk.text.ends_with(&format!("\n\n{body}")) } else { chunk.text == body });
        let line = |byte: u64| 1 + text[..byte as usize].matches('\n').count() as u32;
        assert_eq!(place.lines, (line(place.bytes.start), line(place.bytes.end)));
    }
    assert_eq!(chunks.last().map(|chunk| chunk.location.lines.1), Some(103), "the text has 103 lines");
}

#[test]
fn what_is_embedded_can_be_had_from_the_store_again() {
    let long = (0..200).map(|i| format!("# Part {i}\n\n{}\n\n", "some text ".repeat(i % 30))).collect::<String>();
    let desk =
        Desk::with(&[("long.md", &long), ("page.html", "<title>A page</title><h1>Top</h1><p>text"), ("p.png", "\0"), ("e", "")]);
    desk.sync();
    let mut embedded = desk.embedder.passages();
    let mut rebuilt: Vec<String> =
        desk.stored().iter().flat_map(|name| desk.chunks(name)).map(|chunk| embedded_text(&chunk).into_owned()).collect();
    embedded.sort();
    rebuilt.sort();
    assert!(embedded.len() > 20);
    assert_eq!(embedded, rebuilt);
}

/// A window of 32 with a name and folders of far more: most of the window stays for the text.
#[test]
fn a_long_name_leaves_most_of_a_small_chunk_to_the_text() {
    let body = "pack the blue tent and the zebra";
    let desk = Desk::with(&[(&format!("{0}/{0}.txt", "very-long-name-of-something"), body)]);
    desk.sync_with(desk.builder().chunk_size(body.len()).overlap(0));
    let [text] = &desk.embedder.passages()[..] else { panic!("one chunk") };
    assert!(text.ends_with(body));
    assert!(text.chars().count() <= body.len() + body.len() / 4 + "\n\n".len(), "{text}");
}

#[test]
fn chunks_keep_to_the_size_asked_for() {
    let desk = Desk::with(&[("a.txt", "abcdefghijklmnopqrstuvw")]);
    desk.sync_with(desk.builder().chunk_size(10).overlap(3));
    let chunks = desk.chunks("a.txt");
    let spans: Vec<_> = chunks.iter().map(|chunk| chunk.location.bytes.clone()).collect();
    assert!(spans.iter().all(|span| span.end - span.start <= 10), "{spans:?}");
    assert!(spans.windows(2).all(|pair| pair[1].start <= pair[0].end), "{spans:?}");
    assert_eq!((spans[0].start, spans.last().map(|span| span.end)), (0, Some(23)));
}

#[test]
fn source_code_json_and_logs_are_text() {
    let desk = Desk::with(&[
        ("main.rs", "fn open_ledger() {}"),
        ("data.json", "{\"city\": \"Porto\"}"),
        ("server.log", "ERROR disk full"),
        ("Makefile", "all: build"),
    ]);
    assert!(desk.sync().skipped.is_empty());
    assert_eq!(desk.found("porto"), ["data.json"]);
    assert_eq!(desk.found("disk"), ["server.log"]);
    assert_eq!(desk.found("ledger"), ["main.rs"]);
}

#[test]
fn progress_tells_every_file_once_and_in_order() {
    let desk = Desk::with(&[("a.md", "alpha"), ("b.md", ""), ("c.txt", &"gamma ".repeat(40_000))]);
    let mut events = Vec::new();
    let report = desk.sync_watched(|event| events.push(event));
    assert!(matches!(events[0], Event::Found { files: 3, .. }), "{:?}", events[0]);
    let Event::Started { files: 3, bytes, unchanged: 0, removed: 0 } = events[1] else { panic!("{:?}", events[1]) };
    assert_eq!(bytes, report.bytes);
    let finished = events.iter().filter_map(|event| if let Event::Finished { bytes, .. } = event { Some(bytes) } else { None });
    assert_eq!((finished.clone().count(), finished.sum::<u64>()), (3, bytes));
    let embedded: usize = events.iter().map(|event| if let Event::Embedded { chunks } = event { *chunks } else { 0 }).sum();
    assert_eq!(embedded as u64, report.chunks);
    assert_eq!(events.last(), Some(&Event::Maintaining));
}
