//! Files of every format in one folder, damaged ones among them.

use std::time::Duration;

use super::*;
use crate::{ExtractLimits, Status};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(fixtures().join(name)).expect("a fixture")
}

fn status(desk: &Desk, name: &str) -> Status {
    let path = desk.path(name);
    Status::of(&desk.documents().into_iter().find(|document| *document.path == path).expect("it is stored"))
}

#[test]
fn every_format_is_found_by_its_content_and_what_is_locked_by_its_name() {
    let desk = Desk::new();
    let mut count = 0;
    for entry in fs::read_dir(fixtures()).expect("the fixtures") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        desk.write(&name, fixture(&name));
        count += 1;
    }
    let report = desk.sync();
    assert_eq!((counts(&report), report.failed.len(), report.skipped.len()), ((count, 0, 0, 0), 0, 2));
    for name in ["invoice-password.pdf", "letter-password.docx"] {
        assert!(reason(&report.skipped, name).contains("encrypted with a password"));
    }
    let found: &[(&str, &[&str])] = &[
        ("hafenstraße 480", &["tender.docx", "tender.epub", "tender.ipynb", "tender.odt", "tender.pdf", "tender.rtf"]),
        ("lindenallee", &["letter.docx", "letter.odt"]),
        ("özdemir", &["budget.ods", "budget.xls", "budget.xlsx"]),
        ("thermografie", &["talk.odp", "talk.pptx"]),
        ("garden gate zürich", &["invoice-empty-password.pdf", "invoice.pdf"]),
        ("zehn zentimeter", &["damage.eml"]),
        ("schadensmeldung", &["damage.eml"]),
        ("kettle friday", &["parcel.eml"]),
        ("password docx", &["letter-password.docx"]),
    ];
    for (words, names) in found {
        let all = desk.found(words);
        assert!(names.iter().all(|name| all.iter().any(|found| found == name)), "{words}: {all:?}");
    }
}

#[test]
fn headings_and_header_rows_of_a_document_stand_over_its_chunks() {
    let desk = Desk::new();
    desk.write("tender.docx", fixture("tender.docx"));
    desk.write("sums.csv", format!("Item,Sum\n{}", "Roof gutter,1240\n".repeat(30)));
    desk.sync_with(desk.builder().chunk_size(120).overlap(0));
    let contexts = |name: &str| desk.chunks(name).into_iter().map(|chunk| chunk.context).collect::<Vec<_>>().join("\n");
    for (name, heading) in [("tender.docx", "Lose"), ("sums.csv", "Item, Sum")] {
        let contexts = contexts(name);
        assert!(contexts.contains(heading), "{name}: {contexts}");
    }
    assert!(desk.chunks("tender.docx")[0].text.starts_with("tender.docx · Ausschreibung"));
}

#[test]
fn what_is_damaged_is_skipped_with_a_reason_and_the_others_are_indexed() {
    let whole = fixture("tender.docx");
    let desk = Desk::with(&[("notes.md", "alpha"), ("code.rs", "fn beta() {}")]);
    desk.write("whole/tender.docx", &whole);
    desk.write("half/offer.docx", &whole[..whole.len() / 2]);
    // Half of a character, which the library of this format cannot take.
    desk.write("half/bicycle.rtf", r"{\rtf1\ansi \u55357 ?}");
    desk.write("half/circle.pdf", "%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[2 0 R]>>\nendobj\n\
         xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000054 00000 n \ntrailer\n<</Size 3/Root 1 0 R>>\nstartxref\n97\n%%EOF\n");
    let report = desk.sync();
    assert_eq!((counts(&report), report.failed.len()), ((6, 0, 0, 0), 0));
    for (name, part) in
        [("offer.docx", "ZIP archive is damaged"), ("bicycle.rtf", "RTF reader panicked"), ("circle.pdf", "no pages")]
    {
        let name = format!("half/{name}");
        assert!(
            matches!(status(&desk, &name), Status::Skipped { reason } if reason.contains(part)),
            "{:?}",
            status(&desk, &name)
        );
        let words = name.replace(['/', '.'], " ");
        assert!(desk.found(&words).contains(&name), "{words}");
    }
    assert_eq!((desk.found("alpha"), desk.found("beta")), (vec!["notes.md".to_owned()], vec!["code.rs".to_owned()]));
    assert_eq!(desk.found("dämmerungsschalter"), ["whole/tender.docx"]);
    assert_eq!(counts(&desk.sync()), (0, 0, 6, 0), "nothing is tried again while it stays the same");
}

#[test]
fn limits_are_those_of_the_builder() {
    let desk = Desk::with(&[("long.md", &"alpha ".repeat(1000)), ("short.md", "beta")]);
    desk.write("tender.docx", fixture("tender.docx"));
    let limits = ExtractLimits::default().with_text_bytes(100).with_unpacked_bytes(1000);
    let report = desk.sync_with(desk.builder().extract_limits(limits));
    assert_eq!(status(&desk, "long.md"), Status::Indexed { how: "Markdown, only the first 100 bytes of its text".into() });
    assert_eq!(status(&desk, "short.md"), Status::Indexed { how: "Markdown".into() });
    assert_eq!(reason(&report.skipped, "tender.docx"), "it unpacks to more than 1000 bytes");
}

/// Syncs with no time for what needs a reader of its own.
fn sync_in_haste(desk: &Desk) -> Report {
    desk.sync_with(desk.builder().extract_limits(ExtractLimits::default().with_time(Duration::from_nanos(1))))
}

#[test]
fn a_reader_that_is_late_costs_its_file_only() {
    let desk = Desk::with(&[("notes.md", "alpha"), ("data.csv", "a,b\nbeta,1")]);
    desk.write("tender.pdf", fixture("tender.pdf"));
    let report = sync_in_haste(&desk);
    assert_eq!((counts(&report), report.failed.len()), ((2, 0, 0, 0), 1));
    let why = "the PDF reader did not finish within the file's time budget of 1ns";
    assert_eq!(reason(&report.failed, "tender.pdf"), why);
    assert_eq!((desk.found("alpha").len(), desk.found("beta").len(), desk.found("tender").len()), (1, 1, 1));
}

#[test]
fn a_file_that_was_late_is_tried_in_three_syncs() {
    let desk = Desk::new();
    desk.write("tender.pdf", fixture("tender.pdf"));
    for tries in 1..=3 {
        let report = sync_in_haste(&desk);
        assert_eq!((report.failed.len(), report.failed[0].tries), (1, tries));
        assert_eq!(desk.found("tender").len(), 1, "it is found by its name");
    }
    assert!(matches!(status(&desk, "tender.pdf"), Status::Failed { tries: 3, is_final: true, .. }));
    desk.settle("tender.pdf");
    let report = desk.sync();
    assert_eq!((report.failed[0].tries, report.bytes), (3, 0), "it is left alone until it changes");
}

#[test]
fn a_file_that_was_late_is_indexed_when_there_is_time() {
    let desk = Desk::new();
    desk.write("tender.pdf", fixture("tender.pdf"));
    sync_in_haste(&desk);
    assert!(matches!(status(&desk, "tender.pdf"), Status::Failed { tries: 1, is_final: false, .. }));
    assert_eq!(counts(&desk.sync()), (0, 1, 0, 0));
    assert!(matches!(status(&desk, "tender.pdf"), Status::Indexed { .. }));
}

#[test]
fn a_changed_file_that_is_late_is_found_by_the_content_that_it_had() {
    let desk = Desk::with(&[("page.html", "<p>apple</p>")]);
    desk.sync();
    desk.write("page.html", "<p>banana</p>");
    assert_eq!(sync_in_haste(&desk).failed.len(), 1);
    assert_eq!(desk.found("apple"), ["page.html"]);
    desk.sync();
    assert_eq!((desk.found("apple").len(), desk.found("banana").len()), (0, 1));
}

/// The stored place of every chunk, checked against a text: its bytes are the chunk, its lines are counted in it.
fn check_places(desk: &Desk, name: &str, text: &str) {
    let chunks = desk.chunks(name);
    assert!(chunks.len() > 2, "{name}");
    for (at, chunk) in chunks.iter().enumerate() {
        let place = &chunk.location;
        let body = &text[place.bytes.start as usize..place.bytes.end as usize];
        assert!(
            if at == 0 { chunk.text.ends_with(body) } else { chunk.text == body },
            "{name}: {body:?} is not {:?}",
            chunk.text
        );
        let line = |byte: u64| 1 + text[..byte as usize].matches('\n').count() as u32;
        assert_eq!(place.lines, (line(place.bytes.start), line(place.bytes.end)), "{name}");
    }
}

#[test]
fn places_are_those_of_the_file_where_its_text_is_kept_as_it_is() {
    let prose = "Erste Zeile.\r\nZweite: crème.\r\n\r\n".repeat(60);
    let markdown = (0..100).map(|part| format!("# Part {part}\n\nSome words é.\n\n- one\n- two\n\n")).collect::<String>();
    let code =
        (0..60).map(|item| format!("/// Größe {item}.\nfn item{item}() {{\n    let x = {item};\n}}\n\n")).collect::<String>();
    let json = "{\"city\": \"Köln\"},\n".repeat(200);
    let csv = format!("\u{FEFF}name;city\n{}", "Jürgen;Köln\n".repeat(300));
    let files = [("a.txt", &prose), ("a.md", &markdown), ("a.rs", &code), ("a.json", &json), ("a.csv", &csv)];
    let desk = Desk::new();
    files.iter().for_each(|(name, text)| desk.write(name, text));
    // Of other encodings the lines are those of the file, and the bytes those of its text as UTF-8.
    desk.write("wide.txt", format!("\u{FEFF}{prose}").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    desk.write("latin.txt", encoding_rs::WINDOWS_1252.encode(&prose).0);
    desk.sync();
    files.iter().for_each(|(name, text)| check_places(&desk, name, text));
    check_places(&desk, "wide.txt", &prose);
    check_places(&desk, "latin.txt", &prose);
}

#[test]
fn places_are_those_of_the_extracted_text_for_other_formats() {
    let desk = Desk::new();
    for name in ["tender.docx", "invoice.pdf", "tender.ipynb", "damage.eml"] {
        let text = crate::extract::extract(Path::new(name), &fixture(name)).expect("it is read").text;
        desk.write(name, fixture(name));
        desk.sync_with(desk.builder().chunk_size(60).overlap(10));
        check_places(&desk, name, &text);
    }
}
