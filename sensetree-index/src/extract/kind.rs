//! What to call a file whose content is not read.

use std::path::Path;

use infer::MatcherType;

/// As a person would say it: "PNG image", "ZIP archive", "XCF file".
pub(crate) fn kind(path: &Path, first_bytes: &[u8]) -> String {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_uppercase());
    // The short signatures also fit texts: a report on BMWs is no bitmap.
    let found = infer::get(first_bytes).filter(|_| !is_ascii_text(first_bytes));
    match (found, extension) {
        (Some(found), _) => format!("{} {}", found.extension().to_uppercase(), noun(found.extension(), found.matcher_type())),
        (None, Some(extension)) => format!("{extension} file"),
        (None, None) => "file".to_owned(),
    }
}

/// Whether a signature or control characters show that this is no text; for bytes that are not UTF-8.
pub(super) fn looks_binary(bytes: &[u8]) -> bool {
    let control = bytes
        .iter()
        .filter(|&&byte| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0b | 0x0c | 0x1a | 0x1b))
        .count();
    control * 20 > bytes.len() || infer::get(bytes).is_some_and(|found| is_signed(found.matcher_type(), bytes))
}

/// Two bytes are too few to believe: they can be the start of any word.
fn is_signed(matcher: MatcherType, bytes: &[u8]) -> bool {
    matcher != MatcherType::Text && !bytes[..bytes.len().min(4)].iter().all(u8::is_ascii_alphanumeric)
}

fn noun(extension: &str, matcher: MatcherType) -> &'static str {
    match (extension, matcher) {
        // The library files these under archives.
        ("pdf" | "rtf" | "ps", _) | (_, MatcherType::Doc) => "document",
        (_, MatcherType::App) => "program",
        (_, MatcherType::Archive) => "archive",
        (_, MatcherType::Audio) => "audio",
        (_, MatcherType::Book) => "book",
        (_, MatcherType::Font) => "font",
        (_, MatcherType::Image) => "image",
        (_, MatcherType::Video) => "video",
        (_, MatcherType::Text | MatcherType::Custom) => "file",
    }
}

fn is_ascii_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) && !bytes.starts_with(b"%PDF-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_signatures_have_names_and_unknown_files_their_extension() {
        let name = |path: &str, bytes: &[u8]| kind(Path::new(path), bytes);
        assert_eq!(name("a.dat", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), "PNG image");
        assert_eq!(name("a", b"PK\x03\x04\x14\0\0\0"), "ZIP archive");
        assert_eq!(name("a.pdf", b"%PDF-1.7\n"), "PDF document");
        assert_eq!(name("a.xcf", b"\0\x01\x02"), "XCF file");
        assert_eq!(name("a.txt", b"BMWs are cars"), "TXT file");
        assert_eq!(name("a", b"\0\x01\x02"), "file");
    }
}
