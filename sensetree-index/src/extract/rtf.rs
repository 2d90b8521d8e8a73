//! RTF: the text of the document, without its footnotes and its tables of fonts and styles.

use rtf_parser::RtfDocument;

use super::{Source, Text, Unreadable, decode::decode};

/// The library makes room for as many bytes as are said to follow a character, which are one or two.
const MOST_FALLBACK: u64 = 1000;

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    let rtf = decode(source.bytes, None)?.text;
    if largest_fallback(&rtf) > MOST_FALLBACK {
        return Err(Unreadable("its RTF says that characters have absurdly long replacements".into()));
    }
    let document =
        RtfDocument::try_from(with_breaks(&rtf)).map_err(|error| Unreadable(format!("its RTF cannot be parsed: {error}")))?;
    let mut out = source.out();
    out.block(&document.get_text());
    Ok(out.finish("RTF", None))
}

/// The library knows the ends of lines, but not those of paragraphs, cells and rows, and would run their words together.
fn with_breaks(rtf: &str) -> String {
    let mut text = String::with_capacity(rtf.len());
    let mut rest = rtf;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
        let (word, after) = rest.split_at(letters);
        text.push_str(match word {
            "par" | "sect" | "page" | "row" | "nestrow" | "author" | "operator" | "creatim" => "line",
            "cell" | "nestcell" => "tab",
            word => word,
        });
        // What is escaped begins no word.
        let escaped = if word.is_empty() { after.chars().next().map_or(0, char::len_utf8) } else { 0 };
        text.push_str(&after[..escaped]);
        rest = &after[escaped..];
    }
    text.push_str(rest);
    text
}

/// The largest number after a `\uc`; a negative one is as bad as a large one.
fn largest_fallback(rtf: &str) -> u64 {
    let number = |after: &str| match after.strip_prefix('-') {
        Some(_) => u64::MAX,
        None => {
            let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            // Without digits it is another word.
            if digits == 0 { 0 } else { after[..digits].parse().unwrap_or(u64::MAX) }
        }
    };
    rtf.split("\\uc").skip(1).map(number).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_cells_end_and_escaped_words_are_none() {
        assert_eq!(
            with_breaks(r"{\rtf1 a\par b\pard c\cell d\row \\par \'e4\par}"),
            r"{\rtf1 a\line b\pard c\tab d\line \\par \'e4\line}"
        );
        assert_eq!(with_breaks("a\\"), "a\\");
        assert_eq!(with_breaks("\\é\\par"), "\\é\\line");
    }

    #[test]
    fn absurd_fallbacks_are_found() {
        let all = [r"\uc1 \uc2", r"\ucx \uc", r"\uc-1", r"\uc99999999999999999999"].map(largest_fallback);
        assert_eq!(all, [2, 0, u64::MAX, u64::MAX]);
    }
}
