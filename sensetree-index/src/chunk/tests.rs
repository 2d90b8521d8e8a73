use std::{
    slice,
    time::{Duration, Instant},
};

use proptest::prelude::*;
use sensetree_core::{TokenCounter, text::is_blank};

use super::*;
use crate::headings::Outline;

const BOTH: [Structure; 2] = [Structure::Plain, Structure::Markdown];

fn split(text: &str, structure: Structure, size: usize, overlap: usize) -> Vec<Range<usize>> {
    split_by(&Measure::Characters, text, structure, size, overlap)
}

fn split_by(measure: &Measure, text: &str, structure: Structure, size: usize, overlap: usize) -> Vec<Range<usize>> {
    Chunker { size, overlap, measure: measure.clone() }.split(text, structure, &Outline::of(text).headings)
}

/// What must hold for every text: bounded, in order, not blank, and nothing lost.
fn check(text: &str, structure: Structure, size: usize, overlap: usize) -> Vec<Range<usize>> {
    check_by(&Measure::Characters, text, structure, size, overlap)
}

fn check_by(measure: &Measure, text: &str, structure: Structure, size: usize, overlap: usize) -> Vec<Range<usize>> {
    let chunks = split_by(measure, text, structure, size, overlap);
    for chunk in &chunks {
        let piece = &text[chunk.clone()];
        let count = measure.count(piece);
        assert!(count <= size || piece.chars().count() == 1, "{structure:?}: {piece:?} counts {count} of {size}");
        assert!(!is_blank(piece), "{structure:?}: blank {piece:?}");
        assert_eq!(piece.trim_end(), piece);
    }
    for pair in chunks.windows(2) {
        assert!(pair[0].start < pair[1].start && pair[0].end < pair[1].end, "{structure:?}: {pair:?}");
    }
    let mut covered = 0;
    for (start, end) in chunks.iter().map(|c| (c.start, c.end)).chain([(text.len(), text.len())]) {
        let lost = text.get(covered..start).unwrap_or_default();
        assert!(is_blank(lost), "{structure:?}: {lost:?} is in no chunk");
        covered = end;
    }
    chunks
}

fn tokens(count: impl Fn(&str) -> usize + Send + Sync + 'static) -> Measure {
    Measure::Tokens(TokenCounter::new(count))
}

/// Tokenizers of every kind: words; parts of words and marks; bytes with a token before each text, so more than there are bytes; and one
/// that joins what stands together, so that the whole is more or less than its parts.
fn tokenizers() -> [Measure; 4] {
    [
        tokens(|text| text.split_whitespace().count()),
        tokens(|text| {
            let words = text.split(|c: char| !c.is_alphanumeric());
            let marks = text.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()).count();
            marks + words.map(|word| word.chars().count().div_ceil(3)).sum::<usize>()
        }),
        tokens(|text| if text.is_empty() { 0 } else { text.len() + 1 }),
        tokens(|text| text.len().div_ceil(3) + text.matches(". ").count() * 2),
    ]
}

#[test]
fn a_short_text_is_one_chunk_without_the_space_around_it() {
    for structure in BOTH {
        assert_eq!(check("\n\n  One line.  \n", structure, 1000, 150), slice::from_ref(&(4..13)));
        assert_eq!(check(&format!("{}ok", " ".repeat(2000)), structure, 1000, 150), slice::from_ref(&(2000..2002)));
    }
}

#[test]
fn blank_texts_have_no_chunk() {
    for structure in BOTH {
        for blank in ["", " ", "\n\n\t\r\n", "\u{200B}\u{FEFF}", &"\n".repeat(5000), &"\r\n".repeat(5000)] {
            assert!(check(blank, structure, 100, 20).is_empty());
        }
    }
}

#[test]
fn a_byte_order_mark_is_counted_but_not_in_the_chunk() {
    assert_eq!(check("\u{FEFF}abc", Structure::Plain, 10, 3), slice::from_ref(&(3..6)));
}

#[test]
fn a_small_size_with_overlap_covers_everything() {
    for structure in BOTH {
        let chunks = check("abcdefghijklmnopqrstuvw", structure, 10, 3);
        assert!(chunks.len() >= 3);
    }
}

#[test]
fn pieces_just_below_the_size_terminate() {
    let text = (0..20).map(|i| format!("{i}{}", "a".repeat(88))).collect::<Vec<_>>().join("\n\n");
    for structure in BOTH {
        assert_eq!(check(&text, structure, 100, 20).len(), 20);
    }
}

#[test]
fn words_stay_whole() {
    let text = "boiler warranty certificate number ".repeat(60);
    for structure in BOTH {
        for chunk in check(&text, structure, 100, 20) {
            for word in text[chunk].split_whitespace() {
                assert!(["boiler", "warranty", "certificate", "number"].contains(&word), "{word}");
            }
        }
    }
}

#[test]
fn neighbours_overlap_by_at_most_what_was_asked() {
    let text = "one two three four five. ".repeat(100);
    let chunks = check(&text, Structure::Plain, 200, 50);
    let shared: Vec<_> = chunks.windows(2).map(|pair| pair[0].end.saturating_sub(pair[1].start)).collect();
    assert!(shared.iter().all(|&shared| shared <= 50), "{shared:?}");
    assert!(shared.iter().any(|&shared| shared > 0), "{shared:?}");
}

#[test]
fn markdown_is_cut_before_a_heading_rather_than_in_a_section() {
    let section = |name: &str| format!("## {name}\n\n{}\n\n", "some words here ".repeat(40).trim());
    let text = [section("A"), section("B"), section("C")].concat();
    let chunks = check(&text, Structure::Markdown, 700, 0);
    assert!(chunks.iter().all(|chunk| text[chunk.clone()].starts_with("## ")), "{chunks:?}");
}

#[test]
fn a_long_markdown_text_is_sectioned_at_headings() {
    let text: String = (0..400).map(|i| format!("## Part {i}\n\n{}\n\n", "words ".repeat(30).trim())).collect();
    let outline = Outline::of(&text);
    let sections: Vec<_> = Sections { text: &text, headings: &outline.headings, at: 0, most: 8192, is_code: false }.collect();
    assert!(sections.len() > 5);
    assert!(sections.iter().all(|section| text[section.clone()].starts_with("## Part")));
}

#[test]
fn lines_are_counted_from_one_and_include_the_last() {
    let text = "a\nb\r\nc\n\nd";
    let mut lines = Lines::new(text);
    assert_eq!(lines.of(&(0..1)), (1, 1));
    assert_eq!(lines.of(&(2..6)), (2, 3));
    assert_eq!(lines.of(&(5..9)), (3, 5));
}

/// Texts that made splitters of this kind hang or lose parts: without spaces, only spaces, only marks, many marks.
#[test]
fn nasty_texts_end_in_time() {
    let mut units = vec!["\n".repeat(31) + "a", "\n".repeat(40) + "a", "- ".repeat(3) + "a\n", "a\u{301}".into(), "a ".into()];
    units.extend("\n \t\0x>*-_#`[(<|&\\~.é🚲保\u{301}\u{200B}$".chars().map(String::from));
    units.extend(
        ["\r\n", "a\n\n", "> ", "![", "](", "1. ", "---\n", "# a\n", "> a\n", "|a|\n|-|\n", "**a** ", "<!--", "[a]: b\n", "[^a]"]
            .map(String::from),
    );
    let started = Instant::now();
    let gaps = ["\n", "\r\n", " \n"].map(|gap| format!("a{}b", gap.repeat(20_000)));
    let repeated = units.iter().map(|unit| unit.repeat(60_000 / unit.chars().count()));
    for text in repeated.chain(gaps) {
        for structure in BOTH {
            let before = Instant::now();
            check(&text, structure, 1000, 150);
            assert!(
                before.elapsed() < Duration::from_secs(10),
                "{:?} as {structure:?} took {:?}",
                &text[..text.floor_char_boundary(20)],
                before.elapsed()
            );
        }
    }
    eprintln!("{} texts of 60,000 characters, twice each, in {:?}", units.len(), started.elapsed());
}

/// Time must grow with the length, not with its square: eight times the text may take at most thirty-two times as long.
#[test]
fn the_time_grows_with_the_length() {
    let paragraph = "The boiler was serviced in May. Nobody read the note, of course! Then came winter.\n\n";
    let time = |bytes: usize, structure| {
        let text = paragraph.repeat(bytes / paragraph.len());
        // The best of three: something else may have had the processor.
        let once = |_| {
            let started = Instant::now();
            split(&text, structure, 1000, 150);
            started.elapsed()
        };
        (0..3).map(once).min().unwrap_or_default()
    };
    for structure in BOTH {
        let (small, large) = (time(625_000, structure), time(5_000_000, structure));
        eprintln!("{structure:?}: 5 MB in {large:?}");
        assert!(large < small * 32, "{structure:?}: {small:?} for an eighth, {large:?} for the whole");
    }
}

#[test]
fn a_chunk_that_the_next_one_repeats_whole_is_left_out() {
    check("\n```\na\n \n \na\n```\n", Structure::Markdown, 5, 1);
}

#[test]
fn a_heading_is_never_a_chunk_without_the_text_under_it() {
    let words = |word: &str, count: usize| format!("{word} words here and more. ").repeat(count);
    let texts = [
        format!("# T\n\n## A\n\n{}\n\n## B\n\n{}\n", words("a", 100), words("b", 100)),
        format!("# T\n\n## A\n\n### A1\n\n{}\n\n{}\n\n### A2\n\n{}\n", words("a", 25), words("c", 35), words("d", 30)),
        format!("T\n===\n\n{}\n\n## A\n\n{}\n\n## B\n", words("a", 41), words("b", 41)),
    ];
    for text in &texts {
        for overlap in [0, 10, 150] {
            let outline = Outline::of(text);
            let chunks = check(text, Structure::Markdown, 1000, overlap);
            let alone = chunks[..chunks.len() - 1].iter().filter(|chunk| is_headings_only(text, chunk, &outline.headings));
            assert_eq!(alone.count(), 0, "{chunks:?}");
            assert!(chunks.iter().all(|chunk| chunk.len() > 100), "a chunk is tiny: {chunks:?}");
        }
    }
}

#[test]
fn chunks_fill_their_tokens_and_overlap_by_no_more_than_was_asked() {
    let text = "the boiler was serviced in may and nobody read the note about it at all. ".repeat(100);
    let [words, ..] = tokenizers();
    for structure in BOTH {
        let chunks = check_by(&words, &text, structure, 60, 20);
        let counts: Vec<_> = chunks.iter().map(|chunk| words.count(&text[chunk.clone()])).collect();
        assert!(counts[..counts.len() - 1].iter().all(|&count| count > 40), "{counts:?}");
        let shared: Vec<_> = chunks.windows(2).map(|pair| words.count(&text[pair[1].start..pair[0].end])).collect();
        assert!(shared.iter().all(|&shared| (1..=20).contains(&shared)), "{shared:?}");
    }
}

#[test]
fn a_heading_is_counted_with_the_text_under_it() {
    let body = |word: &str| format!("{word} words here and more. ").repeat(30);
    let text = format!("# One title\n\n## Two\n\n{}\n\n## Three of them\n\n{}\n", body("a"), body("b"));
    let outline = Outline::of(&text);
    for measure in tokenizers() {
        for (size, overlap) in [(60, 0), (60, 15), (300, 40)] {
            let chunks = check_by(&measure, &text, Structure::Markdown, size, overlap);
            let alone = chunks[..chunks.len() - 1].iter().filter(|chunk| is_headings_only(&text, chunk, &outline.headings));
            assert_eq!(alone.count(), 0, "{size}: {chunks:?}");
        }
    }
}

/// What a real tokenizer does for a text is what costs: it may be asked for so many times the text.
#[test]
fn the_tokenizer_reads_little_more_than_the_text_once() {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    };
    let words = ["boiler", "warranty", "certificate", "number", "the", "of", "a", "serviced.", "May,", "winter\n\n"];
    let spaced: String = (0..100_000usize).map(|at| format!("{}{} ", words[at * 7919 % 10], at % 5000)).collect();
    // No word comes again, and no space tells them apart.
    let letter = |at: u32| char::from_u32(0x4E00 + at.wrapping_mul(2_654_435_761) % 20_000).expect("a Chinese character");
    let unspaced: String = (0..300_000u32).map(|at| if at % 14 == 13 { '。' } else { letter(at) }).collect();
    let read = Arc::new(AtomicUsize::new(0));
    let count = read.clone();
    let measure = tokens(move |text| {
        count.fetch_add(text.len(), Relaxed);
        text.len().div_ceil(4)
    });
    for (text, most) in [(spaced, 3.0), (unspaced, 5.0)] {
        for structure in BOTH {
            read.store(0, Relaxed);
            split_by(&measure, &text, structure, 200, 30);
            let times = read.load(Relaxed) as f64 / text.len() as f64;
            eprintln!("{structure:?}: {times:.2} times {} bytes", text.len());
            assert!(times < most, "{structure:?}: {times}");
        }
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zé]{1,12}",
        "[ \\t]{1,5}",
        "[.!?,] ",
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\u{FEFF}".to_owned()),
        Just(" \n".repeat(GAP_LINES)),
        Just("\r\n".repeat(GAP_LINES + 1)),
        "\n#{1,6} [a-z]{1,8}\n",
        "\n[-*] [a-z]{1,8}",
        "\n> [a-z]{1,8}",
        "\n```\n[a-z \n]{1,20}\n```\n",
        "\\|[a-z]{1,3}\\|[a-z]{1,3}\\|\n\\|-\\|-\\|\n",
        "[*_`\\[\\]()<>|#~]{1,3}",
        "[保証書🚲\u{301}\u{200B}\u{A0}]{1,4}",
        "[a-z]{60,90}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn every_text_is_covered_by_bounded_chunks(text in pieces(), size in 1usize..120, share in 0usize..100) {
        for structure in BOTH {
            check(&text, structure, size, size * share / 100);
        }
    }

    #[test]
    fn every_text_is_covered_by_chunks_of_so_many_tokens(text in pieces(), size in 1usize..40, share in 0usize..100) {
        for measure in tokenizers() {
            for structure in BOTH {
                check_by(&measure, &text, structure, size, size * share / 100);
            }
        }
    }

    #[test]
    fn sections_lose_nothing_and_stay_bounded(text in pieces(), most in 1usize..60) {
        let outline = Outline::of(&text);
        let mut at = 0;
        for section in (Sections { text: &text, headings: &outline.headings, at: 0, most, is_code: most % 2 == 0 }) {
            prop_assert!(text[at..section.start].trim().is_empty());
            prop_assert!(!section.is_empty() && section.len() <= most.max(4));
            at = section.end;
        }
        prop_assert!(text[at..].trim().is_empty());
    }
}
