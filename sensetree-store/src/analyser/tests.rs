use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;

/// The words of a document before [`letters::as_letter`].
fn legible(text: &str) -> String {
    let legible = |c: char| ['~', '.', '+', '\u{E48}'].into_iter().find(|sign| letters::as_letter(*sign) == c).unwrap_or(c);
    document_words(text).chars().map(legible).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The documents that the query finds, best first, by BM25.
fn search<'a>(documents: &[&'a str], query: &str) -> Vec<&'a str> {
    let stored: Vec<Vec<String>> = documents.iter().map(|text| words(&document_words(text))).collect();
    let average = stored.iter().map(Vec::len).sum::<usize>() as f64 / stored.len() as f64;
    let mut holders: HashMap<&str, f64> = HashMap::new();
    for document in &stored {
        for word in document.iter().map(String::as_str).collect::<HashSet<_>>() {
            *holders.entry(word).or_default() += 1.0;
        }
    }
    let score = |document: &[String]| -> f64 {
        let one = |word: &String| {
            let count = document.iter().filter(|other| *other == word).count() as f64;
            let holders = holders.get(word.as_str()).copied().unwrap_or(0.0);
            let rarity = (1.0 + (stored.len() as f64 - holders + 0.5) / (holders + 0.5)).ln();
            rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * document.len() as f64 / average))
        };
        words(&query_words(query)).iter().map(one).sum()
    };
    let mut found: Vec<(f64, &str)> = documents.iter().zip(&stored).map(|(text, words)| (score(words), *text)).collect();
    found.retain(|(score, _)| *score > 0.0);
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, text)| text).collect()
}

/// Each of the spellings, asked for, finds each of the spellings, stored, before anything in the folder.
fn are_one(spellings: &[&str]) {
    for stored in spellings {
        let document = format!("The number is {stored}, please keep it with the papers.");
        let mut folder = FOLDER.to_vec();
        folder.push(&document);
        for asked in spellings {
            assert_eq!(search(&folder, asked).first(), Some(&document.as_str()), "{asked:?} is in {document:?}");
        }
    }
}

fn finds(document: &str, query: &str) -> bool {
    let document = words(&document_words(document));
    words(&query_words(query)).iter().any(|word| document.contains(word))
}

/// A mixed folder, with numbers that are nothing but numbers.
const FOLDER: &[&str] = &[
    "The boiler was serviced in May 2031 by the plumber, who found a leak and changed three valves for 1,204.50 euros.",
    "Minutes of 2029, 2030 and 2031: pages 12-15 and 3704, rooms 44, 53 and 71, twelve chairs at 12.34 each, 06 to 12 hours.",
    "Die Rechnungen für die Heizung liegen im Ordner, und der Vertrag mit der Versicherung ist noch nicht gekündigt.",
    "Les factures de la chaudière sont dans le dossier avec le contrat, mais l'assurance n'a pas encore répondu.",
    "La caldera fue revisada por el técnico y las facturas están en la carpeta con los contratos de la casa.",
    "As informações sobre a caldeira estão no contrato, e não foram pagas as prestações de março para a empresa.",
    "fn openLedgerFile(path: &Path) -> Ledger { parse_header(path); read_ledger(path) } // src/ledger/open_ledger.rs",
    "Anna lives in room 4, has 555 books, 2671 stamps and 33 plants; SN is the code of the country, XB of nothing.",
];

#[test]
fn a_serial_number_is_found_in_any_spelling() {
    are_one(&["SN-4471-XB", "sn4471xb", "SN 4471 XB", "SN_4471_XB", "sn 4471-xb"]);
}

#[test]
fn an_iban_is_found_in_any_spelling() {
    are_one(&["DE89 3704 0044 0532 0130 00", "DE89370400440532013000", "de89-3704-0044-0532-0130-00"]);
    are_one(&["4111 1111 2222 3333", "4111111122223333", "4111-1111-2222-3333"]);
}

#[test]
fn a_telephone_number_is_found_in_any_spelling() {
    are_one(&["+33 6 12 34 56 78", "0612345678", "06.12.34.56.78", "06-12-34-56-78", "+33 (0)6 12 34 56 78", "0033612345678"]);
    are_one(&["+49 30 1234567", "030 1234567", "030/1234567", "0301234567", "(030) 1234567"]);
    are_one(&["(415) 555-2671", "415-555-2671", "+1 415 555 2671", "4155552671", "415.555.2671"]);
}

#[test]
fn a_date_is_found_in_any_spelling_in_digits() {
    are_one(&["2031-04-09", "09.04.2031", "9.4.2031", "20310409", "2031/04/09", "9/4/2031", "09-04-2031", "4/9/2031"]);
    assert!(document_words("saved 2031-04-09T12:30:00Z").contains("20310409 "));
    assert!(!document_words("09.13.2031 and 32.01.2031 and 1.2.3.2031").contains("2031 20"), "no such day");
}

#[test]
fn numbers_that_stand_apart_stay_apart() {
    for apart in [
        "2019 2020 2021",
        "2019-2021",
        "12-15",
        "12.50",
        "3 4 5 6 7 8 9 10 11 12",
        "10.50 12.75 13.20 99.95",
        "0.25 0.31 0.44 0.57",
        "0.123456789",
        "1 200 300",
        "1024 x 768",
        "100 200 300 400 500",
    ] {
        for word in words(&legible(apart)) {
            assert!(apart.contains(&word), "{word} is not written in {apart}");
        }
    }
    assert!(!finds("pages 12-15", "1215") && !finds("12.34", "1234") && !finds("2030 2031", "20302031"));
}

#[test]
fn names_of_code_are_found_whole_first_and_by_their_parts() {
    for (name, parts) in [
        ("openLedgerFile", "open ledger file"),
        ("parse_header", "parse header"),
        ("max-retries", "max retries"),
        ("HTTPServer", "http server"),
        ("guard.rs", "guard rs"),
        ("src/pipeline/guard.rs", "src pipeline guard rs"),
    ] {
        let scattered = format!("Of all the things that {} we say nothing, and then {parts}.", parts.replace(' ', " and "));
        let exact = format!("We call {name} once, and here are some more words that say what it does and why it is here.");
        assert_eq!(search(&[&scattered, &exact], name).first(), Some(&exact.as_str()), "{name}");
    }
    for part in ["ledger", "open ledger", "openledgerfile", "open_ledger_file", "open-ledger-file", "OPENLEDGERFILE"] {
        assert_eq!(search(FOLDER, part).first(), Some(&FOLDER[6]), "{part}");
    }
    assert!(finds("an e-mail", "email") && finds("emails", "e-mail"));
}

#[test]
fn versions_are_numbers_with_points() {
    let documents =
        ["rust 1.94 is out, with 194 fixes", "section 94 of part 1 of the rust book", "version v1.2.3 of it", "parts 3, 2 and 1"];
    assert_eq!(search(&documents, "1.94").first(), Some(&documents[0]));
    assert_eq!(search(&documents, "1.2.3").first(), Some(&documents[2]));
    assert_eq!(search(&documents, "v1.2.3").first(), Some(&documents[2]));
}

#[test]
fn short_queries_find_the_other_forms_of_a_word_in_its_language() {
    for (query, place) in [
        ("Rechnung", 2),
        ("Versicherungen", 2),
        ("Verträge kündigen", 2),
        ("facture", 3),
        ("chaudières", 3),
        ("factura", 4),
        ("contrato de casas", 4),
        ("empresas", 5),
        ("informação", 5),
        ("boilers", 0),
        ("valve", 0),
    ] {
        let found = search(FOLDER, query);
        assert!(found.iter().take(2).any(|text| *text == FOLDER[place]), "{query}: {found:?}");
    }
    for (document, query) in [
        ("Договоры лежат в папке, и счёт ещё не оплачен", "договор"),
        ("Счета за отопление", "счёт"),
        ("ёлка", "елка"),
        ("Οι λογαριασμοί της θέρμανσης", "λογαριασμός"),
        ("العقود في المجلد مع الفواتير", "عقود"),
        ("مكتبة كبيرة", "المكتبة"),
        ("किताबें मेज पर हैं", "किताब"),
        ("보증서는 서랍에 있다", "보증서"),
    ] {
        assert!(finds(document, query), "{query}: {} / {}", document_words(document), query_words(query));
    }
}

#[test]
fn a_name_is_found_in_every_language() {
    let german = "Der Kessel von Siemens wurde im Mai gewartet, und die Rechnung ist noch nicht bezahlt.";
    for query in ["Siemens", "the Siemens boiler", "la chaudière de Siemens", "when was it serviced by Siemens?"] {
        assert!(finds(german, query), "{query}");
    }
}

#[test]
fn words_that_every_text_has_are_left_out_in_their_language_only() {
    assert_eq!(legible("the boiler is in the cellar"), "boiler cellar ");
    assert_eq!(legible("und der Kessel ist in dem Keller"), "~kessel ~kell ");
    let film = "a film: they die hard, and die again";
    assert!(finds(film, "die") && finds(film, "die hard"), "an English word that German leaves out");
}

#[test]
fn source_code_is_english() {
    let code = "let mut die = Die::new(6); while no < 3 { die.roll(); on_roll(i, no); } // go";
    assert!(!legible(code).contains('~'), "{}", legible(code));
}

#[test]
fn spellings_of_one_word_are_one_word() {
    let same: &[(&str, &[&str])] = &[
        (
            "creme brulee",
            &["crème brûlée", "cre\u{300}me bru\u{302}le\u{301}e", "CREME BRULEE", "Crème Brûlée!", "crè\u{AD}me brûlée"],
        ),
        ("lodka", &["łódka", "ŁÓDKA", "lodka"]),
        ("strasse", &["Straße", "STRASSE"]),
        ("office", &["oﬃce", "ｏｆｆｉｃｅ", "of\u{AD}fice", "of\u{200D}fice", "\u{FEFF}office"]),
        ("مكتب", &["مَكْتَب", "مكتـــب"]),
        ("احمد", &["أحمد", "إحمد", "آحمد"]),
        ("مدرسه", &["مدرسة"]),
        ("مستشفي", &["مستشفى"]),
        ("علي", &["علي"]),
        ("שלום", &["שָׁלוֹם"]),
        ("a4 2031", &["Ａ４ ２０３１", "A4 ٢٠٣١"]),
    ];
    for (word, spellings) in same {
        for spelling in *spellings {
            assert!(finds(spelling, word), "{spelling}: {} / {}", document_words(spelling), query_words(word));
            assert!(finds(word, spelling), "{word} by {spelling}");
        }
    }
    let german = "Herr Müller und die Straße, in der er ist";
    assert!(finds(german, "Mueller") && finds(german, "Muller") && finds(german, "strasse"));
}

#[test]
fn an_apostrophe_leaves_no_letters_behind() {
    assert_eq!(legible("Anna's tin"), "anna tin ");
    assert_eq!(legible("l'eau d’Anna"), "eau anna ");
    assert!(finds("rock 'n' roll, vitamin C", "vitamin C"));
}

#[test]
fn scripts_without_spaces_are_pairs_and_chinese_characters_stand_alone_too() {
    assert_eq!(legible("冷蔵庫 A4"), "冷 蔵 庫 冷蔵 蔵庫 a4 ");
    assert_eq!(query_words("保証書"), "保証 証書");
    assert_eq!(query_words("水"), "水");
    assert_eq!(legible("水A"), "水 a ");
    assert_eq!(legible("カーテン"), "カー ーテ テン ");
    assert_eq!(legible("ที่ดิน"), "ที ี่ ่ด ดิ ิน ");
    for (document, query) in [("ใบรับประกันตู้เย็น", "ตู้เย็น"), ("ໃບຮັບປະກັນ", "ປະກັນ"), ("លិខិតធានា", "ធានា"), ("အာမခံလက်မှတ်", "လက်မှတ်")]
    {
        assert!(finds(document, query), "{query}");
    }
}

#[test]
fn queries_without_a_word_are_empty_and_long_ones_are_cut() {
    for nothing in ["", "  ", "!!!", "\u{200B}", "🚲", "⚙\u{FE0F}", "\u{301}", "the of to"] {
        assert_eq!(query_words(nothing), "", "{nothing:?}");
    }
    let once = words(&query_words("tin"));
    assert_eq!(
        words(&query_words("tin TIN tins")).iter().filter(|word| *word == "tin").count(),
        3 * once.iter().filter(|word| *word == "tin").count()
    );
    let long: String = (0..5000).map(|i| format!("w{i} ")).collect();
    assert_eq!(query_words(&long).split(' ').count(), MAX_QUERY_WORDS);
}

#[test]
fn few_words_are_stored_for_each_word_of_a_text() {
    for text in FOLDER {
        let (stored, written) = (
            words(&document_words(text)).len(),
            text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count(),
        );
        assert!(stored <= written * 2, "{stored} for {written}: {text}");
    }
}

proptest! {
    #[test]
    fn any_text_becomes_words_of_letters_and_digits(text in any::<String>(), more in "[a-zA-Z0-9ÄßéИйخة가ก字_.'+/() \u{301}\u{94D}\u{FE0F}-]{0,60}") {
        for text in [&text, &more, &format!("{more}{text}")] {
            let stored = document_words(text);
            prop_assert!(stored.is_empty() || stored.ends_with(' '));
            for words in [stored.trim_end_matches(' '), &query_words(text)] {
                let sound = |word: &str| !word.is_empty() && word.chars().all(char::is_alphanumeric);
                prop_assert!(words.is_empty() || words.split(' ').all(sound), "{words:?} of {text:?}");
            }
            prop_assert!(query_words(text).split(' ').count() <= MAX_QUERY_WORDS);
            prop_assert_eq!(document_words(text), stored);
        }
    }

    #[test]
    fn a_text_is_found_by_each_of_its_names(before in "[a-z ]{0,30}", name in "[a-zA-Z]{2,9}([-_][a-zA-Z0-9]{1,6}){0,2}[0-9]{1,3}", after in "[a-z ]{0,30}") {
        let text = format!("{before} {name} {after}");
        prop_assert!(finds(&text, &name), "{}", text);
    }
}
