//! Files that are broken, locked or hostile cost themselves and nothing else.

use std::{
    io::{Cursor, Read, Write},
    time::Instant,
};

use proptest::prelude::*;
use zip::{ZipArchive, ZipWriter, write::SimpleFileOptions};

use super::*;
use crate::{chunk::Chunker, measure::Measure};

/// A reason, or a text that keeps to the limits and can be cut. Nobody may see a panic of a library.
#[track_caller]
fn check(limits: &ExtractLimits, what: &str, read: &Result<Text, String>) {
    match read {
        Ok(text) => {
            assert!(text.text.len() <= limits.text_bytes, "{what}: {} bytes", text.text.len());
            assert!(text.outline.headings.iter().all(|heading| text.text.is_char_boundary(heading.start)), "{what}");
            assert!(text.outline.headings.is_sorted_by_key(|heading| heading.start), "{what}");
            Chunker { size: 100, overlap: 10, measure: Measure::Characters }.split(
                &text.text,
                text.structure,
                &text.outline.headings,
            );
        }
        Err(reason) => assert!(!reason.is_empty() && !reason.contains('\n'), "{what}: {reason:?}"),
    }
}

fn reason(name: &str, bytes: &[u8]) -> String {
    match try_read(&ExtractLimits::default(), name, bytes) {
        Ok(text) => panic!("{name} is read: {}", text.text),
        Err(reason) => reason,
    }
}

/// An archive of these parts.
fn packed(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).expect("memory");
        archive.write_all(bytes).expect("memory");
    }
    archive.finish().expect("memory").into_inner()
}

/// A fixture with one of its parts replaced, or added.
fn repacked(name: &str, part: &str, content: &[u8]) -> Vec<u8> {
    let mut archive = ZipArchive::new(Cursor::new(fixture(name))).expect("it is whole");
    let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).expect("it is whole");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("it is whole");
        parts.push((entry.name().expect("it has one").into_owned(), bytes));
    }
    parts.retain(|(name, _)| name != part);
    let mut all: Vec<(&str, &[u8])> = parts.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    all.push((part, content));
    packed(&all)
}

/// A PDF of these objects, numbered from 1; the first is the catalogue.
fn pdf(objects: &[&str]) -> Vec<u8> {
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", at + 1).bytes());
    }
    let table = file.len();
    let rows: String = places.iter().map(|place| format!("{place:010} 00000 n \n")).collect();
    let count = objects.len() + 1;
    let end =
        format!("xref\n0 {count}\n0000000000 65535 f \n{rows}trailer\n<</Size {count}/Root 1 0 R>>\nstartxref\n{table}\n%%EOF\n");
    file.extend(end.bytes());
    file
}

fn stream(dictionary: &str, content: &str) -> String {
    format!("<<{dictionary}/Length {}>>\nstream\n{content}\nendstream", content.len())
}

const CATALOG: &str = "<</Type/Catalog/Pages 2 0 R>>";
const FONT: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";
const PAGE: &str =
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>";

#[test]
fn what_is_cut_off_anywhere_is_read_in_part_or_has_a_reason() {
    let limits = ExtractLimits::default();
    for name in fixture_names() {
        let bytes = fixture(&name);
        let cuts = (1..20).map(|twentieth| bytes.len() * twentieth / 20);
        for cut in cuts.chain([1, 4, 8, 9, 600, bytes.len() - 30, bytes.len() - 1]) {
            let started = Instant::now();
            check(&limits, &format!("{name} to {cut}"), &try_read(&limits, &name, &bytes[..cut.min(bytes.len())]));
            assert!(started.elapsed() < Duration::from_secs(10), "{name} to {cut}");
        }
        let half = try_read(&limits, &name, &bytes[..bytes.len() / 2]);
        if bytes.starts_with(b"PK") {
            assert!(half.is_err_and(|reason| reason.contains("damaged")), "{name}: the list of parts is at the end");
        }
    }
}

/// The same damage in every run.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

#[test]
fn bytes_that_flipped_cost_the_file_at_most() {
    let limits =
        ExtractLimits::default().with_text_bytes(50_000).with_unpacked_bytes(10 << 20).with_time(Duration::from_secs(20));
    for (at, name) in fixture_names().iter().enumerate() {
        let bytes = fixture(name);
        let mut number = numbers(at as u64);
        for round in 0..40 {
            let mut damaged = bytes.clone();
            for _ in 0..=number(1 + round) {
                let place = number(damaged.len());
                damaged[place] = number(256) as u8;
            }
            check(&limits, &format!("{name}, damage {round}"), &try_read(&limits, name, &damaged));
        }
    }
}

/// Inside of packed parts damage comes past the check sums only when it was there before.
#[test]
fn parts_with_damaged_xml_cost_the_file_at_most() {
    let limits = ExtractLimits::default().with_text_bytes(50_000).with_unpacked_bytes(10 << 20);
    let parts = [
        ("letter.docx", "word/document.xml"),
        ("letter.docx", "word/styles.xml"),
        ("tender.odt", "content.xml"),
        ("budget.ods", "content.xml"),
        ("budget.xlsx", "xl/worksheets/sheet1.xml"),
        ("budget.xlsx", "xl/sharedStrings.xml"),
        ("budget.xlsx", "xl/workbook.xml"),
        ("talk.pptx", "ppt/presentation.xml"),
        ("talk.pptx", "ppt/slides/slide1.xml"),
        ("tender.epub", "META-INF/container.xml"),
    ];
    for (at, (name, part)) in parts.into_iter().enumerate() {
        let mut archive = ZipArchive::new(Cursor::new(fixture(name))).expect("it is whole");
        let mut bytes = Vec::new();
        archive.by_name(part).expect("it has the part").read_to_end(&mut bytes).expect("it is whole");
        let mut number = numbers(at as u64);
        for round in 0..15 {
            let mut damaged = bytes.clone();
            for _ in 0..=number(1 + round) {
                let (place, count) = (number(damaged.len()), number(40));
                let from = number(damaged.len());
                let piece = damaged[from..(from + count).min(damaged.len())].to_vec();
                damaged.splice(place..(place + count).min(damaged.len()), piece);
            }
            check(&limits, &format!("{name}/{part}, damage {round}"), &try_read(&limits, name, &repacked(name, part, &damaged)));
        }
    }
}

#[test]
fn what_needs_a_password_says_so() {
    for name in ["invoice-password.pdf", "letter-password.docx"] {
        assert!(reason(name, &fixture(name)).contains("encrypted with a password"), "{name}");
    }
    let rights: &[(&str, &[u8])] = &[
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", b"<container/>"),
        ("META-INF/encryption.xml", b"<encryption/>"),
        ("META-INF/rights.xml", b"<rights/>"),
    ];
    assert!(reason("bought.epub", &packed(rights)).contains("protected"));
    let manifest = b"<manifest:file-entry manifest:full-path='content.xml'><manifest:encryption-data/></manifest:file-entry>";
    assert!(reason("a.odt", &repacked("letter.odt", "META-INF/manifest.xml", manifest)).contains("encrypted with a password"));
}

#[test]
fn a_bomb_is_stopped_where_its_size_passes_the_limit() {
    let limits = ExtractLimits::default().with_unpacked_bytes(1 << 20);
    let bomb = vec![b' '; 4 << 20];
    for (name, part) in [
        ("letter.docx", "word/document.xml"),
        ("letter.docx", "word/styles.xml"),
        ("budget.xlsx", "xl/worksheets/sheet2.xml"),
        ("budget.xlsx", "xl/sharedStrings.xml"),
        ("talk.pptx", "ppt/slides/slide2.xml"),
        ("letter.odt", "content.xml"),
        ("tender.epub", "META-INF/container.xml"),
    ] {
        let file = repacked(name, part, &bomb);
        assert!(file.len() < 100_000);
        assert_eq!(try_read(&limits, name, &file).expect_err("a bomb"), "it unpacks to more than 1048576 bytes", "{name}/{part}");
    }
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&bomb).expect("memory");
    let mut file = format!("%PDF-1.7\n1 0 obj\n<</Filter/FlateDecode/Length {}>>\nstream\n", 1 << 12).into_bytes();
    file.extend(zlib.finish().expect("memory"));
    assert_eq!(try_read(&limits, "a.pdf", &file).expect_err("a bomb"), "it unpacks to more than 1048576 bytes");
    // What unpacks to less than the limit is read.
    assert!(try_read(&limits, "letter.docx", &fixture("letter.docx")).is_ok());
}

#[test]
fn a_bomb_under_the_default_limits_takes_seconds() {
    let started = Instant::now();
    let bomb = vec![b' '; (256 << 20) + 1];
    let file = repacked("letter.docx", "word/document.xml", &bomb);
    eprintln!("{} bytes unpack to 256 MiB; packed in {:?}", file.len(), started.elapsed());
    let started = Instant::now();
    assert_eq!(reason("letter.docx", &file), "it unpacks to more than 268435456 bytes");
    eprintln!("refused after {:?}", started.elapsed());
}

#[test]
fn an_archive_of_too_many_parts_is_not_opened() {
    let names: Vec<String> = (0..101).map(|number| format!("word/{number}.xml")).collect();
    let parts: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let limits = ExtractLimits::default().with_entries(100);
    assert_eq!(try_read(&limits, "a.docx", &packed(&parts)).expect_err("101 parts"), "it has more than 100 entries");
    assert!(try_read(&limits, "a.docx", &packed(&parts[..100])).expect_err("no document").contains("archive"));
}

#[test]
fn a_text_that_is_too_long_is_kept_up_to_the_limit_and_the_note_says_so() {
    let limits = ExtractLimits::default().with_text_bytes(100);
    let words = "wörter ".repeat(100);
    let page = format!("<p>{words}</p>");
    let mail = format!("From: a@example.org\r\n\r\n{words}");
    let rtf = format!("{{\\rtf1 {}}}", "words ".repeat(100));
    let files: &[(&str, &[u8])] = &[
        ("a.txt", words.as_bytes()),
        ("a.md", words.as_bytes()),
        ("a.html", page.as_bytes()),
        ("a.eml", mail.as_bytes()),
        ("a.rtf", rtf.as_bytes()),
    ];
    let real =
        ["tender.docx", "tender.odt", "tender.epub", "tender.pdf", "tender.ipynb", "budget.xlsx", "budget.xls", "talk.pptx"];
    let real: Vec<_> = real.iter().map(|name| (*name, fixture(name))).collect();
    for (name, bytes) in files.iter().copied().chain(real.iter().map(|(name, bytes)| (*name, bytes.as_slice()))) {
        let read = try_read(&limits, name, bytes);
        check(&limits, name, &read);
        let text = read.unwrap_or_else(|reason| panic!("{name}: {reason}"));
        assert!((95..=100).contains(&text.text.len()), "{name}: {} bytes", text.text.len());
        assert!(text.note.ends_with(", only the first 100 bytes of its text"), "{name}: {}", text.note);
    }
}

#[test]
fn a_pdf_that_runs_in_circles_has_a_reason_or_the_text_of_its_pages() {
    let text = stream("", "BT /F 12 Tf 50 700 Td (Night ferry) Tj ET /X Do");
    let form = |resources: &str| stream(&format!("/Type/XObject/Subtype/Form/BBox[0 0 9 9]{resources}"), "/X Do");
    let whole = pdf(&[CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 1>>", PAGE, &text, FONT, &form("")]);
    let read = try_read(&ExtractLimits::default(), "a.pdf", &whole).expect("a form that draws itself draws nothing");
    assert_eq!(read.text.trim(), "Night ferry");
    let drawn = form("/Resources<</XObject<</X 6 0 R>>>>");
    let read = try_read(
        &ExtractLimits::default(),
        "a.pdf",
        &pdf(&[CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 1>>", PAGE, &text, FONT, &drawn]),
    );
    assert_eq!(read.expect("so does this one").text.trim(), "Night ferry");

    let trees: &[&[&str]] = &[
        &[CATALOG, "<</Type/Pages/Kids[2 0 R]/Count 1>>"],
        &[CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Pages/Kids[2 0 R]/Count 1>>"],
        &[CATALOG, "<</Type/Pages/Parent 2 0 R/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R>>"],
        &[CATALOG, "<</Type/Pages/Parent 3 0 R/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R>>"],
        &["<</Type/Catalog/Pages 1 0 R/Kids[1 0 R]>>"],
        &[CATALOG, "2 0 R"],
    ];
    for tree in trees {
        let why = reason("a.pdf", &pdf(tree));
        assert!(["circle", "no pages", "no readable PDF"].iter().any(|part| why.contains(part)), "{tree:?}: {why}");
    }
    // Tables of places that name each other.
    let mut chained = b"%PDF-1.7\n".to_vec();
    chained.extend(b"xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 1/Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF\n");
    let _ = reason("a.pdf", &chained);
}

#[test]
fn one_page_that_is_listed_often_ends_in_time() {
    let kids = "3 0 R ".repeat(100_000);
    let pages = format!("<</Type/Pages/Kids[{kids}]/Count 100000>>");
    let file = pdf(&[CATALOG, &pages, PAGE, &stream("", "BT /F 12 Tf 50 700 Td (Night ferry) Tj ET"), FONT, "<<>>"]);
    let started = Instant::now();
    let limits = ExtractLimits::default();
    check(&limits, "pages", &try_read(&limits, "a.pdf", &file));
    assert!(started.elapsed() < limits.time + Duration::from_secs(5), "{:?}", started.elapsed());
}

/// A stack that overflows ends the process, and with it this test.
#[test]
fn deep_nesting_is_no_overflow() {
    let (many, limits) = (200_000, ExtractLimits::default());
    let nest = |open: &str, close: &str| format!("{}x{}", open.repeat(many), close.repeat(many)).into_bytes();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    let page = |content: &str| pdf(&[CATALOG, "<</Type/Pages/Kids[3 0 R]/Count 1>>", PAGE, &stream("", content), FONT, "<<>>"]);
    let mut multipart: String = "From: a\r\n".into();
    (0..many / 20)
        .for_each(|level| multipart += &format!("Content-Type: multipart/mixed; boundary={level}\r\n\r\n--{level}\r\n"));
    let files = [
        ("a.docx", repacked("letter.docx", "word/document.xml", &nest("<w:p>", "</w:p>"))),
        ("a.odt", repacked("letter.odt", "content.xml", &nest("<text:p>", "</text:p>"))),
        ("a.pptx", repacked("talk.pptx", "ppt/slides/slide1.xml", &nest("<p:sp>", "</p:sp>"))),
        ("a.xlsx", repacked("budget.xlsx", "xl/worksheets/sheet1.xml", &nest("<row>", "</row>"))),
        ("a.html", nest("<div>", "</div>")),
        ("a.rtf", [b"{\\rtf1 ".to_vec(), nest("{", "}"), b"}".to_vec()].concat()),
        ("a.rtf", format!("{{\\rtf1 {}}}", "\\b ".repeat(many)).into_bytes()),
        ("a.ipynb", nest("[", "]")),
        ("a.ipynb", nest("{\"cells\":", "}")),
        ("a.eml", multipart.into_bytes()),
        ("a.eml", "Content-Type: message/rfc822\r\n\r\n".repeat(many / 10).into_bytes()),
        ("a.pdf", pdf(&[CATALOG, &text(nest("[", "]"))])),
        ("a.pdf", pdf(&[CATALOG, &text(nest("<</A ", ">>"))])),
        ("a.pdf", pdf(&[CATALOG, &text(nest("(", ")"))])),
        ("a.pdf", page(&text(nest("[", "]")))),
        ("a.pdf", page(&text(nest("q ", "Q ")))),
    ];
    for (at, (name, bytes)) in files.iter().enumerate() {
        let started = Instant::now();
        let read = try_read(&limits, name, bytes);
        check(&limits, name, &read);
        eprintln!("{at}: {name} of {} bytes in {:?}: {:?}", bytes.len(), started.elapsed(), read.map(|text| text.note));
    }
}

#[test]
fn numbers_that_lie_about_sizes_are_not_believed() {
    let strings = b"<sst uniqueCount='4000000000'><si><t>a</t></si></sst>";
    assert!(reason("a.xlsx", &repacked("budget.xlsx", "xl/sharedStrings.xml", strings)).contains("lies"));
    assert!(reason("a.rtf", b"{\\rtf1\\uc2000000000 \\u228 x}").contains("absurd"));
    assert!(reason("a.rtf", b"{\\rtf1\\uc-3 \\u228 x}").contains("absurd"));
    assert!(try_read(&ExtractLimits::default(), "a.rtf", b"{\\rtf1\\uc1 \\u228\\'e4 x}").is_ok());
}

#[test]
fn a_book_with_a_missing_chapter_is_read_without_it() {
    let read = extract(Path::new("tender.epub"), &fixture("tender.epub")).expect("it is whole");
    let mut archive = ZipArchive::new(Cursor::new(fixture("tender.epub"))).expect("it is whole");
    let names: Vec<String> = archive.file_names().flatten().map(|name| name.into_owned()).collect();
    let chapter = names.iter().rfind(|name| name.contains("ch00")).expect("it has chapters");
    let mut all = Vec::new();
    for name in names.iter().filter(|name| *name != chapter) {
        let mut bytes = Vec::new();
        archive.by_name(name).expect("it has the part").read_to_end(&mut bytes).expect("it is whole");
        all.push((name.as_str(), bytes));
    }
    let parts: Vec<(&str, &[u8])> = all.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    let without = try_read(&ExtractLimits::default(), "a.epub", &packed(&parts)).expect("the rest is there");
    assert!(without.note.contains("1 of "), "{}", without.note);
    assert!(without.text.len() < read.text.len());
}

fn extensions() -> impl Strategy<Value = &'static str> {
    let mut all: Vec<&str> = FORMATS.iter().flat_map(|format| format.extensions).copied().collect();
    all.extend(["", "bin", "txt", "json", "log", "rtf", "docx", "xlsx", "pptx", "odt", "epub", "xls"]);
    prop::sample::select(all)
}

fn starts() -> impl Strategy<Value = &'static [u8]> {
    let starts: [&[u8]; 14] = [
        b"",
        b"",
        b"%PDF-1.7\n1 0 obj\n<<",
        b"PK\x03\x04",
        b"PK\x05\x06\0\0\0\0",
        b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
        b"{\\rtf1\\ansi ",
        b"<!doctype html><p>",
        b"Received: x\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n",
        b"{\"cells\": [",
        b"\xFF\xFE",
        b"\xFF\xFE\0\0",
        b"\xEF\xBB\xBF",
        b"a;b\r\n",
    ];
    prop::sample::select(starts.to_vec())
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        "[ -~\n]{0,80}".prop_map(String::into_bytes),
        "\\PC{0,40}".prop_map(String::into_bytes),
        "\\{?\\\\[a-z']{1,4}-?[0-9a-f]{0,6} ?[a-z ]{0,9}\\}?".prop_map(String::into_bytes),
        "</?[a-z]{1,10}( [a-z]{1,4}=\"[ -~]{0,9}\")?>".prop_map(String::into_bytes),
        "[0-9]{1,2} 0 obj\n<</[A-Z][a-z]{1,8} [0-9]{1,2} 0 R/Length [0-9]{1,3}>>\nstream\n[ -~]{0,40}\nendstream\nendobj\n"
            .prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_bytes_under_any_name_keep_to_the_limits(extension in extensions(), start in starts(), content in contents()) {
        let limits = ExtractLimits::default().with_text_bytes(300).with_unpacked_bytes(10_000).with_entries(20);
        let bytes = [start, &content].concat();
        let read = try_read(&limits, &format!("a.{extension}"), &bytes);
        check(&limits, extension, &read);
        prop_assert!(!read.is_err_and(|reason| reason.contains("took longer")));
    }
}
