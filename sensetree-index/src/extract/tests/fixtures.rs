//! Each file says what the program that wrote it was told.

use super::*;

fn read(name: &str) -> Text {
    extract(Path::new(name), &fixture(name)).unwrap_or_else(|Unreadable(reason)| panic!("{name}: {reason}"))
}

/// Headings of a text with their levels. Those of level 6 are the header rows of tables.
fn headings(text: &Text) -> Vec<(u8, &str)> {
    text.outline.headings.iter().map(|heading| (heading.level, heading.text.as_str())).collect()
}

#[track_caller]
fn has(name: &str, text: &Text, parts: &[&str]) {
    for part in parts {
        assert!(text.text.contains(part), "{name} has no {part:?}:\n{}", text.text);
    }
}

#[track_caller]
fn has_not(name: &str, text: &Text, parts: &[&str]) {
    for part in parts {
        assert!(!text.text.contains(part), "{name} has {part:?}:\n{}", text.text);
    }
}

const TENDER: &[&str] = &[
    "Die Stadtwerke Grünau schreiben die Erneuerung der Straßenbeleuchtung",
    "Masten aus Aluminium",
    "Mühlenviertel",
    "480",
    "Hafenstraße",
    "Façade, naïve",
    "“café”",
    "Verspätete Angebote werden nicht geöffnet.",
];
const TENDER_TITLE: Option<&str> = Some("Ausschreibung Straßenbeleuchtung");

#[test]
fn texts_of_word_processors_have_structure_tables_and_notes() {
    for name in ["tender.docx", "tender.odt"] {
        let text = read(name);
        has(name, &text, TENDER);
        has(name, &text, &["Author: Beate Öztürk", "\n- Los 1: Masten", "\n| 2 | 480 | Hafenstraße |", "Vergabestelle.[^"]);
        assert_eq!((text.outline.title.as_deref(), text.structure), (TENDER_TITLE, Structure::Markdown), "{name}");
        let headings = headings(&text);
        for heading in [(1, "Gegenstand"), (2, "Lose"), (6, "Los, Menge, Ort"), (1, "Zuschlag")] {
            assert!(headings.contains(&heading), "{name}: {headings:?}");
        }
    }
}

#[test]
fn notes_comments_headers_and_footers_are_told_once_and_after_the_text() {
    for name in ["letter.docx", "letter.odt"] {
        let text = read(name);
        has(
            name,
            &text,
            &["Author: Jörg Weiß", "zum 31. März.\n", "Die Schlüssel\tliegen\nbeim Hausmeister.[^", "drei Monatsmieten."],
        );
        let body = text.text.find("Monatsmieten").expect("it was there");
        for aside in [
            "Hausmeister ist Herr Grün.",
            "Comment by Anna: Frist noch prüfen",
            "Hausverwaltung Süd – vertraulich",
            "Aktenzeichen 4711-B",
        ] {
            assert_eq!(text.text.matches(aside).count(), 1, "{name}: {aside}");
            assert!(text.text.find(aside) > Some(body), "{name}: {aside}");
        }
        assert_eq!(text.outline.title.as_deref(), Some("Kündigung des Mietvertrags"));
        assert_eq!(headings(&text), [(1, "Kündigung"), (2, "Kaution")]);
    }
}

#[test]
fn sheets_have_names_header_rows_and_values() {
    for name in ["budget.xlsx", "budget.xls", "budget.ods"] {
        let text = read(name);
        has(name, &text, &["| Dachrinne & Fallrohr | 1240.5 | 2025-11-14 |", "|  | Summe unten |", "| Familie Özdemir | 900 |"]);
        has_not(name, &text, &["Page", "???"]);
        assert_eq!(
            headings(&text),
            [(1, "Ausgaben"), (6, "Posten, Betrag, Fällig"), (1, "Einnahmen"), (6, "Mieter, Miete")],
            "{name}"
        );
        // The oldest of the three formats keeps its title where the library does not look.
        let title = if name == "budget.xls" { "Ausgaben" } else { "Haushalt 2025" };
        assert_eq!(text.outline.title.as_deref(), Some(title), "{name}");
    }
}

#[test]
fn slides_are_sections_with_their_tables_and_notes() {
    for name in ["talk.pptx", "talk.odp"] {
        let text = read(name);
        has(
            name,
            &text,
            &["Das Haus verliert Wärme über das Dach.", "## Notes\n\nHier die Thermografie zeigen.", "| Pumpe | 14000 |"],
        );
        has_not(name, &text, &["<number>"]);
        assert_eq!(text.outline.title.as_deref(), Some("Wärmepumpen im Altbau"), "{name}");
        let headings = headings(&text);
        assert_eq!(headings[1..], [(1, "Ausgangslage"), (2, "Notes"), (1, "Kosten"), (6, "Maßnahme, Euro")], "{name}");
    }
}

#[test]
fn printed_pages_are_lines_and_paragraphs() {
    let text = read("tender.pdf");
    has("tender.pdf", &text, TENDER);
    has("tender.pdf", &text, &["Author: Beate Öztürk", "1 120 Mühlenviertel\n2 480 Hafenstraße", "\n\nZuschlag\n\n"]);
    assert_eq!((text.outline.title.as_deref(), text.structure), (TENDER_TITLE, Structure::Plain));
    // A file that anybody may read, although it is encrypted.
    for name in ["invoice.pdf", "invoice-empty-password.pdf"] {
        let text = read(name);
        has(
            name,
            &text,
            &["Carpenter Łukasz Żółć bills the repair of the garden gate in Zürich.", "1.240,50 € to IBAN DE89 3704"],
        );
        has(name, &text, &["\n\nSecond page\n\nThe gate has a warranty of five years."]);
        assert_eq!(text.outline.title.as_deref(), Some("Invoice 2025-117"), "{name}");
    }
}

#[test]
fn books_are_read_in_the_order_of_their_chapters() {
    let text = read("tender.epub");
    has("tender.epub", &text, TENDER);
    has("tender.epub", &text, &["Author: Beate Öztürk"]);
    assert_eq!(text.outline.title.as_deref(), TENDER_TITLE);
    assert_eq!(headings(&text)[1..], [(1, "Gegenstand"), (2, "Lose"), (1, "Zuschlag")]);
}

#[test]
fn mails_have_subject_people_date_text_and_names_of_attachments() {
    let text = read("damage.eml");
    let start = "Subject: Wasserschaden im Keller – Termin\nFrom: Jürgen Groß <juergen@example.org>\n\
                 To: Hausverwaltung <buero@example.org>, Zoë <zoe@example.org>\nCc: archiv@example.org\nDate: 2025-11-04T09:15:00+01:00\n\n";
    assert!(text.text.starts_with(start), "{}", text.text);
    has("damage.eml", &text, &["\n-- \nJürgen Groß", "Attachments: Schadensmeldung März.pdf"]);
    assert_eq!(text.text.matches("zehn Zentimeter").count(), 1, "not the HTML that says the same");
    assert_eq!(text.outline.title.as_deref(), Some("Wasserschaden im Keller – Termin"));
    assert_eq!((text.structure, headings(&text)), (Structure::Plain, Vec::new()), "a signature is no heading");

    let page = read("parcel.eml");
    has("parcel.eml", &page, &["Subject: Your parcel", "The kettle arrives on **Friday**."]);
    has_not("parcel.eml", &page, &["color"]);
    assert_eq!(headings(&page), [(1, "On its way")]);
    let nothing = extract(Path::new("a.eml"), b"just words, no headers").expect("it is text");
    assert_eq!((nothing.note.as_str(), nothing.text.as_str()), ("text", "just words, no headers"));
}

#[test]
fn notebooks_have_their_markdown_code_and_output() {
    let text = read("tender.ipynb");
    has("tender.ipynb", &text, TENDER);
    has("tender.ipynb", &text, &["```python\nmasten = 120\nprint(masten * 2)\n```", "```\n240\n```"]);
    has_not("tender.ipynb", &text, &["iVBORw0KGgo", "cell_type"]);
    assert_eq!(headings(&text), [(1, "Gegenstand"), (2, "Lose"), (1, "Zuschlag")]);
}

#[test]
fn rich_text_has_its_words_apart() {
    let text = read("tender.rtf");
    // The library leaves out footnotes.
    has("tender.rtf", &text, &TENDER[..TENDER.len() - 1]);
    let words: Vec<&str> = text.text.split_whitespace().collect();
    for word in ["Öztürk", "Gegenstand", "Vergabestelle.", "120", "Mühlenviertel", "480", "Hafenstraße", "Zuschlag"] {
        assert!(words.contains(&word), "{word}: {}", text.text);
    }
}

/// The test of a format is only as good as its fixture: one that nobody reads would prove nothing.
#[test]
fn every_fixture_is_named_in_a_test() {
    let tests = [include_str!("fixtures.rs"), include_str!("damaged.rs")].concat();
    for name in fixture_names() {
        assert!(tests.contains(&format!("\"{name}\"")), "{name}");
    }
}
