//! From bytes of any encoding to text. Nothing but a binary file is refused.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use super::{Unreadable, kind::looks_binary};

/// A text, and the encoding it was written in.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) text: String,
    encoding: &'static str,
}

impl Decoded {
    /// How the text was had, for the document's note.
    pub(super) fn note(&self, format: &str) -> String {
        if self.encoding == UTF_8.name() { format.to_owned() } else { format!("{format}, {}", self.encoding) }
    }

    fn new(text: String, encoding: &'static str) -> Result<Self, Unreadable> {
        if is_garbled(&text) { Err(binary()) } else { Ok(Self { text, encoding }) }
    }
}

/// The text of a file that may say its encoding itself (`declared`). In order: a byte order mark, UTF-8, UTF-16 without a
/// mark, what was declared, a guess from the frequencies of bytes.
///
/// UTF-16 without a mark is recognised by the zero bytes of Latin letters; other scripts need the mark.
pub(super) fn decode(bytes: &[u8], declared: Option<&'static Encoding>) -> Result<Decoded, Unreadable> {
    if let Some(text) = utf32(bytes) {
        return Decoded::new(text, "UTF-32");
    }
    match Encoding::for_bom(bytes) {
        // The mark stays in UTF-8 texts, so that places in the text are places in the file.
        Some((encoding, _)) if encoding == UTF_8 => {
            return Decoded::new(String::from_utf8_lossy(bytes).into_owned(), UTF_8.name());
        }
        Some((encoding, mark)) => return with(encoding, &bytes[mark..]),
        None => {}
    }
    if bytes.contains(&0) {
        return with(utf16_without_mark(bytes).ok_or_else(binary)?, bytes);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return match iso_2022_jp(bytes) {
            true => with(ISO_2022_JP, bytes),
            false => Decoded::new(text.to_owned(), UTF_8.name()),
        };
    }
    if looks_binary(bytes) {
        return Err(binary());
    }
    if mostly_utf8(bytes) {
        return Decoded::new(String::from_utf8_lossy(bytes).into_owned(), UTF_8.name());
    }
    with(declared.unwrap_or_else(|| guess(bytes)), bytes)
}

fn binary() -> Unreadable {
    Unreadable("it is a binary file".into())
}

fn with(encoding: &'static Encoding, bytes: &[u8]) -> Result<Decoded, Unreadable> {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    Decoded::new(text.into_owned(), encoding.name())
}

/// Whether more than one character in twenty is a control character that no text has.
fn is_garbled(text: &str) -> bool {
    let odd = text
        .chars()
        .filter(|&c| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\x08' | '\x0b' | '\x0c' | '\x1a' | '\x1b'))
        .count();
    odd * 20 > text.chars().count()
}

/// `encoding_rs` leaves UTF-32 out, whose little-endian mark starts like that of UTF-16.
fn utf32(bytes: &[u8]) -> Option<String> {
    let (from, units): (fn([u8; 4]) -> u32, _) = if let Some(units) = bytes.strip_prefix(&[0xFF, 0xFE, 0, 0]) {
        (u32::from_le_bytes, units)
    } else {
        (u32::from_be_bytes, bytes.strip_prefix(&[0, 0, 0xFE, 0xFF])?)
    };
    let character = |unit: &[u8]| unit.try_into().ok().and_then(|unit| char::from_u32(from(unit))).unwrap_or('\u{FFFD}');
    Some(units.chunks(4).map(character).collect())
}

/// In Latin text every second byte of UTF-16 is zero, and the bytes between are not.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let zeros = |offset: usize| bytes.iter().skip(offset).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd, pairs) = (zeros(0), zeros(1), bytes.len() / 2);
    let many = |count: usize| pairs > 0 && count * 10 >= pairs * 4;
    let few = |count: usize| count * 100 <= pairs;
    let encoding = if many(odd) && few(even) { UTF_16LE } else { (many(even) && few(odd)).then_some(UTF_16BE)? };
    let (_, failed) = encoding.decode_without_bom_handling(&bytes[..pairs * 2]);
    (!failed).then_some(encoding)
}

/// Japanese mail is plain ASCII with escapes that no terminal log has.
fn iso_2022_jp(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\x1b$") && !ISO_2022_JP.decode_without_bom_handling(bytes).1
}

/// UTF-8 with a few damaged places is not some other encoding: in the others, sequences that are valid by chance are rare.
fn mostly_utf8(bytes: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    valid >= 10 * invalid
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{EUC_KR, SHIFT_JIS, WINDOWS_1251};

    use super::*;

    fn read(bytes: &[u8]) -> (String, String) {
        let decoded = decode(bytes, None).expect("it is text");
        (decoded.note("text"), decoded.text)
    }

    fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn marks_decide() {
        assert_eq!(read("\u{FEFF}é".as_bytes()), ("text".into(), "\u{FEFF}é".into()));
        assert_eq!(read(&utf16("\u{FEFF}Прüf", u16::to_le_bytes)), ("text, UTF-16LE".into(), "Прüf".into()));
        assert_eq!(read(&utf16("\u{FEFF}Прüf", u16::to_be_bytes)), ("text, UTF-16BE".into(), "Прüf".into()));
        let utf32: Vec<u8> = "\u{FEFF}a🚲".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        assert_eq!(read(&utf32), ("text, UTF-32".into(), "a🚲".into()));
    }

    #[test]
    fn utf16_of_latin_text_needs_no_mark() {
        assert_eq!(read(&utf16("Crème brûlée\r\n", u16::to_le_bytes)).1, "Crème brûlée\r\n");
        assert_eq!(read(&utf16("Crème brûlée\r\n", u16::to_be_bytes)).1, "Crème brûlée\r\n");
    }

    #[test]
    fn old_encodings_are_guessed() {
        let latin1 = b"La cr\xe8me br\xfbl\xe9e est pr\xeate, et le caf\xe9 aussi.";
        assert_eq!(read(latin1), ("text, windows-1252".into(), "La crème brûlée est prête, et le café aussi.".into()));
        for (encoding, text) in [
            (WINDOWS_1251, "Договор аренды квартиры подписан в мае, оплата до десятого числа каждого месяца."),
            (SHIFT_JIS, "新しい冷蔵庫の保証書です。修理のときに必要になりますので、大切に保管してください。"),
            (EUC_KR, "보일러 보증서는 오년 동안 유효합니다. 수리를 신청할 때 필요하므로 잘 보관하십시오."),
        ] {
            assert_eq!(read(&encoding.encode(text).0), (format!("text, {}", encoding.name()), text.into()));
        }
        assert_eq!(read(b"\x1b$B?7$7$$\x1b(B").1, "新しい");
    }

    #[test]
    fn a_damaged_place_does_not_turn_utf8_into_another_encoding() {
        let mut bytes = "Größe, Maße, Füße, Öl, Übel, Äpfel, süß".repeat(3).into_bytes();
        bytes.push(0xC3);
        let (note, text) = read(&bytes);
        assert_eq!(note, "text");
        assert!(text.starts_with("Größe") && text.ends_with('\u{FFFD}'));
    }

    #[test]
    fn a_declared_encoding_is_used_where_nothing_better_is_known() {
        let (cyrillic, _, _) = WINDOWS_1251.encode("да");
        assert_eq!(decode(&cyrillic, Some(WINDOWS_1251)).expect("it is text").text, "да");
        assert_eq!(decode("да".as_bytes(), Some(WINDOWS_1251)).expect("it is text").text, "да");
    }

    #[test]
    fn binary_files_are_refused() {
        let mut random = vec![0u8; 4096];
        let mut state = 7u32;
        random.fill_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        let without_zeros: Vec<u8> = random.iter().map(|&byte| byte.max(1)).collect();
        for bytes in
            [&b"\0"[..], b"text with a \0 in it", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &random, &without_zeros, &[1, 2, 3, 4, 5, 6]]
        {
            assert!(decode(bytes, None).is_err(), "{:?}", &bytes[..bytes.len().min(20)]);
        }
    }

    #[test]
    fn control_characters_of_logs_and_terminals_are_text() {
        assert_eq!(read(b"\x1b[31merror\x1b[0m\x0c\n").1, "\x1b[31merror\x1b[0m\x0c\n");
    }
}
