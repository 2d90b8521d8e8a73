//! Names of files are written by anybody: how they are shown, cut and linked.

use std::{borrow::Cow, path::Path};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The name with every character spelt out that would not be seen: line breaks, controls (escape sequences begin with one),
/// marks that turn the direction of writing, spaces without width.
pub(crate) fn visible(name: &str) -> Cow<'_, str> {
    if !name.contains(is_hidden) {
        return Cow::Borrowed(name);
    }
    let mut shown = String::with_capacity(name.len());
    for c in name.chars() {
        if is_hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}')
}

/// The name in at most `width` columns of a terminal, cut in the middle: both ends tell files apart.
pub(super) fn fitted(name: &str, width: usize) -> Cow<'_, str> {
    if name.width() <= width {
        return Cow::Borrowed(name);
    }
    let room = width.saturating_sub(1);
    let end = room / 2;
    let mut head = head(name, room - end);
    // Marks belong to the character before them, so the end must not begin with one.
    let tail = name.char_indices().rev().map(|(at, _)| &name[at..]).take_while(|tail| columns(tail) <= end).last().unwrap_or("");
    let tail = tail.trim_start_matches(|c: char| c.width() == Some(0));
    head.push('…');
    head.push_str(tail);
    if width == 0 { Cow::Borrowed("") } else { Cow::Owned(head) }
}

fn head(name: &str, width: usize) -> String {
    let ends = name.char_indices().map(|(at, c)| at + c.len_utf8());
    ends.map(|end| &name[..end]).take_while(|head| columns(head) <= width).last().unwrap_or("").to_owned()
}

/// Never less than the terminal takes: sequences of characters that become one are counted as what takes more.
fn columns(text: &str) -> usize {
    text.width().max(text.chars().map(|c| c.width().unwrap_or(0)).sum())
}

/// What need not be written as `%xx` in the path of a URL.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b':').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The `file:` URL of an absolute path.
pub(crate) fn file_url(path: &Path) -> Option<String> {
    if !path.is_absolute() {
        return None;
    }
    let bytes = path.as_os_str().as_encoded_bytes();
    if !cfg!(windows) {
        return Some(format!("file://{}", percent_encode(bytes, PLAIN)));
    }
    let slashed: Vec<u8> = bytes.iter().map(|&b| if b == b'\\' { b'/' } else { b }).collect();
    let plain = slashed.strip_prefix(b"//?/").unwrap_or(&slashed);
    Some(match (plain.strip_prefix(b"UNC/"), plain.strip_prefix(b"//")) {
        (Some(share), _) | (None, Some(share)) => format!("file://{}", percent_encode(share, PLAIN)),
        (None, None) => format!("file:///{}", percent_encode(plain, PLAIN)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_cannot_be_seen_is_spelt_out() {
        assert_eq!(visible("a\nb\u{1b}[31m\u{202e}gpj.exe"), r"a\nb\u{1b}[31m\u{202e}gpj.exe");
        assert_eq!(visible("Grüße 保証書 👩‍👩‍👧.md"), "Grüße 保証書 👩‍👩‍👧.md");
    }

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(fitted("report-of-the-year-2024.pdf", 16), "report-o…024.pdf");
        assert_eq!(fitted("保証書保証書保証書.md", 9), "保証….md");
        assert_eq!(fitted("short.md", 9), "short.md");
    }

    #[cfg(unix)]
    #[test]
    fn a_url_holds_every_byte_of_a_path() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/a b/#?%\xff\"<.md"));
        assert_eq!(file_url(path).as_deref(), Some("file:///a%20b/%23%3F%25%FF%22%3C.md"));
        assert_eq!(file_url(Path::new("a/b")), None);
    }

    proptest! {
        #[test]
        fn a_fitted_name_is_never_too_wide(name in "\\PC{0,40}", width in 0usize..30) {
            prop_assert!(fitted(&name, width).width() <= width);
        }

        #[test]
        fn a_shown_name_is_one_line_and_tells_what_it_hides(name in any::<String>()) {
            let shown = visible(&name);
            prop_assert!(!shown.contains(is_hidden), "{:?}", shown);
            prop_assert_eq!(name.contains(is_hidden), shown != name);
        }
    }
}
