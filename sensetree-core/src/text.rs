//! Small text rules that more than one crate needs.

use unicode_normalization::UnicodeNormalization;

/// The first `count` characters. Never cuts inside a character.
///
/// ```
/// assert_eq!(sensetree_core::text::first_chars("crème", 3), "crè");
/// ```
pub fn first_chars(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

/// Whether there is nothing in the text that a person would call content: only white space, control and zero-width characters.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c.is_control() || is_zero_width(c))
}

/// Whether the text has a letter or a digit, in any script.
pub fn has_word(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// Whether the character is of a script whose words no spaces tell apart, or of Korean, whose words change at their ends: Thai, Lao,
/// Burmese, Khmer, Japanese, Chinese. Searched by pairs of characters.
pub fn is_written_without_spaces(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{00AD}' | '\u{202A}'..='\u{202E}')
}

/// Lower case without accents, in a form where composed and decomposed spellings are equal.
///
/// ```
/// use sensetree_core::text::fold;
/// assert_eq!(fold("Crème Brûlée, ŁÓDKA"), "creme brulee, lodka");
/// assert_eq!(fold("がん"), "がん");
/// ```
pub fn fold(text: &str) -> String {
    // Most words are plain, and need no tables.
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd().filter(|c| !is_accent(*c)).flat_map(char::to_lowercase).map(plain_letter).nfc().collect()
}

/// Combining accents of Latin, Greek and Cyrillic letters. The marks of Thai, Hindi, Arabic or kana are letters in all but name.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036F}')
}

/// Letters whose stroke or ligature Unicode does not decompose.
fn plain_letter(c: char) -> char {
    match c {
        'ł' => 'l',
        'ø' => 'o',
        'đ' | 'ð' => 'd',
        'ħ' => 'h',
        'ŧ' => 't',
        'ı' => 'i',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_at_characters() {
        let text = format!("{}é🚲 and more", "a".repeat(799));
        let cut = first_chars(&text, 800);
        assert_eq!(cut.chars().count(), 800);
        assert!(cut.ends_with('é'));
    }

    #[test]
    fn blank_is_what_a_person_would_call_blank() {
        for blank in ["", "   ", "\u{200B}", "\n\t\u{FEFF}"] {
            assert!(is_blank(blank), "{blank:?}");
        }
        assert!(!is_blank("!!!"));
        assert!(!has_word("!!! — …"));
        assert!(has_word("保証書"));
    }
}
