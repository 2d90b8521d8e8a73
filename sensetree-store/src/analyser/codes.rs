//! Codes that people write in several ways. What is stored is what the document says, and one more word for a date or a
//! telephone number; what is asked is also spelled in the other ways.

use super::letters::is_letter;

/// Telephone numbers agree in their last digits: +33 6 12 34 56 78 is 06 12 34 56 78 at home.
const TAIL: usize = 8;
/// Digits of a telephone number that is written out, with the number of the country or the area.
const TELEPHONE: std::ops::RangeInclusive<usize> = 9..=15;

/// Words for the dates of a text, as 20310409, and for its long numbers, as a plus and their last eight digits; and how many
/// groups of digits each is written in.
pub(super) fn numbers(text: &str, mut take: impl FnMut(&str, usize)) {
    let mut rest = text;
    let mut before = ' ';
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        before = rest[..start].chars().next_back().unwrap_or(before);
        let digits_and_signs = |c: char| c.is_ascii_digit() || " .-/()".contains(c);
        let end = start + rest[start..].find(|c| !digits_and_signs(c)).unwrap_or(rest.len() - start);
        let (groups, gaps) = groups(rest[start..end].trim_end_matches(|c: char| !c.is_ascii_digit()));
        dates(&groups, &gaps, &mut take);
        if is_long_number(before, &groups, &gaps) && !before.is_alphanumeric() {
            let digits = groups.concat();
            take(&format!("+{}", &digits[digits.len() - TAIL..]), groups.len());
        }
        before = rest[..end].chars().next_back().unwrap_or(' ');
        rest = &rest[end..];
    }
}

/// The runs of digits, and what is between each two of them.
fn groups(text: &str) -> (Vec<&str>, Vec<&str>) {
    let is_digit = |c: char| c.is_ascii_digit();
    let groups = text.split(|c| !is_digit(c)).filter(|group| !group.is_empty()).collect();
    let gaps = text.split(is_digit).filter(|gap| !gap.is_empty()).collect();
    (groups, gaps)
}

/// `2031-04-09`, `09.04.2031` and `9/4/2031`; the last is April 9 or September 4, so it is both.
fn dates(groups: &[&str], gaps: &[&str], take: &mut impl FnMut(&str, usize)) {
    for (at, three) in groups.windows(3).enumerate() {
        let gap = gaps[at];
        let alone = |gap: Option<&&str>| gap.is_none_or(|gap| gap.contains([' ', '(', ')']));
        let lonely = alone(at.checked_sub(1).and_then(|before| gaps.get(before))) && alone(gaps.get(at + 2));
        if gap != gaps[at + 1] || !["-", ".", "/"].contains(&gap) || !lonely {
            continue;
        }
        match (three[0].len(), three[1].len(), three[2].len()) {
            (4, 1..=2, 1..=2) => date(three[0], three[1], three[2], take),
            (1..=2, 1..=2, 4) => {
                date(three[2], three[1], three[0], take);
                if gap != "." && three[0] != three[1] {
                    date(three[2], three[0], three[1], take);
                }
            }
            _ => {}
        }
    }
}

fn date(year: &str, month: &str, day: &str, take: &mut impl FnMut(&str, usize)) {
    let number = |digits: &str| digits.parse::<u32>().unwrap_or(0);
    if (1..=12).contains(&number(month)) && (1..=31).contains(&number(day)) {
        take(&format!("{year}{month:0>2}{day:0>2}"), 3);
    }
}

/// Whether groups of digits are one number: they start like a telephone number (`+33 6`, `(415)`, `06 12`), or nothing but
/// hyphens or points holds them together. Years, pages and prices in a row are numbers of their own.
fn is_long_number(before: char, groups: &[&str], gaps: &[&str]) -> bool {
    if !TELEPHONE.contains(&groups.iter().map(|group| group.len()).sum()) {
        return false;
    }
    let hyphenated =
        gaps.iter().all(|gap| gap.len() == 1 && *gap != " ") && (gaps.len() > 1 || gaps.iter().all(|gap| *gap != "."));
    let dialled = before == '+' || before == '(' || groups[0].starts_with('0') && groups.iter().all(|group| group.len() > 1);
    hyphenated || dialled && gaps.iter().all(|gap| gap.len() <= 2) && gaps != ["."]
}

/// Other spellings of the codes in a query: in groups of four what is written in one, and in one what is written in
/// groups.
pub(super) fn other_spellings(query: &str, take: &mut impl FnMut(&str)) {
    let lower = query.to_lowercase();
    let words: Vec<&str> = lower.split(|c| !is_letter(c)).filter(|word| !word.is_empty()).collect();
    for word in words.iter().filter(|word| word.is_ascii()) {
        in_fours(word, take);
    }
    let is_group = |word: &str| word.is_ascii() && (word.len() <= 4 || is_number(word));
    for run in words.split(|word| !is_group(word)) {
        for from in 0..run.len() {
            for to in from + 2..=run.len().min(from + 9) {
                let whole = run[from..to].concat();
                if (5..=34).contains(&whole.len()) && whole.contains(|c: char| c.is_ascii_digit()) {
                    take(&whole);
                }
            }
        }
    }
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}

fn in_fours(word: &str, take: &mut impl FnMut(&str)) {
    if word.len() >= 12 && word.bytes().filter(u8::is_ascii_digit).count() >= 8 {
        word.as_bytes().chunks(4).for_each(|group| take(&String::from_utf8_lossy(group)));
    }
}
