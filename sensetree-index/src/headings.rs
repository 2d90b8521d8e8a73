//! The headings of a Markdown text, found line by line in one pass.

/// What a Markdown text says about its own structure.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// From the front matter, else the first heading.
    pub(crate) title: Option<String>,
    pub(crate) headings: Vec<Heading>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// Byte at which its line starts.
    pub(crate) start: usize,
    /// 1 to 6.
    pub(crate) level: u8,
    /// Without markup.
    pub(crate) text: String,
}

impl Outline {
    /// Knows ATX headings, setext headings of one line, fenced code and YAML front matter; what only a full parser can tell
    /// (a heading inside a list item or a quote) is not a heading here.
    pub(crate) fn of(markdown: &str) -> Self {
        let body = body_start(markdown);
        let (front, front_title) = front_matter(&markdown[body..]);
        let mut headings: Vec<Heading> = Vec::new();
        let mut fence: Option<Fence> = None;
        // The line before, when it can be the text of a setext heading.
        let mut paragraph: Option<(usize, &str)> = None;
        let mut start = body + front;
        for line in markdown[start..].split_inclusive('\n') {
            let (at, text) = (start, line.trim_end());
            start += line.len();
            if let Some(open) = fence {
                if open.is_closed_by(text) {
                    fence = None;
                }
            } else if let Some(open) = Fence::opened_by(text) {
                (fence, paragraph) = (Some(open), None);
            } else if let Some((level, text)) = atx(text) {
                headings.push(Heading { start: at, level, text: plain(text) });
                paragraph = None;
            } else if let (Some((at, text)), Some(level)) = (paragraph, setext(text)) {
                headings.push(Heading { start: at, level, text: plain(text) });
                paragraph = None;
            } else {
                paragraph = (paragraph.is_none() && can_be_heading_text(text)).then_some((at, text));
            }
        }
        headings.retain(|heading| !heading.text.is_empty());
        let title = front_title.or_else(|| headings.first().map(|heading| heading.text.clone()));
        Self { title, headings }
    }
}

/// Follows the headings while a position moves forward through the text.
#[derive(Debug)]
pub(crate) struct Trail<'a> {
    coming: &'a [Heading],
    open: Vec<&'a Heading>,
}

impl<'a> Trail<'a> {
    pub(crate) fn new(headings: &'a [Heading]) -> Self {
        Self { coming: headings, open: Vec::new() }
    }

    /// The headings over what starts at `position`, outermost first. One that starts right there is not among them, since it is
    /// shown. Positions must not decrease from call to call.
    pub(crate) fn over(&mut self, position: usize) -> Vec<&'a str> {
        while let Some((next, rest)) = self.coming.split_first()
            && next.start <= position
        {
            self.open.retain(|heading| heading.level < next.level);
            self.open.push(next);
            self.coming = rest;
        }
        self.open.iter().filter(|heading| heading.start < position).map(|heading| heading.text.as_str()).collect()
    }
}

/// Where the text starts after a byte order mark, which some editors leave in UTF-8 files.
pub(crate) fn body_start(text: &str) -> usize {
    text.len() - text.trim_start_matches('\u{FEFF}').len()
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = unindented(line)?;
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|&c| c == mark).count();
        (length >= 3).then_some(Self { mark, length })
    }

    fn is_closed_by(self, line: &str) -> bool {
        Self::opened_by(line).is_some_and(|other| {
            other.mark == self.mark && other.length >= self.length && line.trim_start().len() == other.length
        })
    }
}

/// The line without up to three spaces of indentation; more makes it code.
fn unindented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3).then_some(text)
}

fn atx(line: &str) -> Option<(u8, &str)> {
    let line = unindented(line)?;
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let separated = text.is_empty() || text.starts_with([' ', '\t']);
    ((1..=6).contains(&level) && separated).then(|| (level as u8, text.trim()))
}

/// The level that an underline gives to the line above. A single `-` is more often an empty list item.
fn setext(line: &str) -> Option<u8> {
    let line = unindented(line)?;
    let only = |mark: char, least: usize| line.len() >= least && line.chars().all(|c| c == mark);
    if only('=', 2) { Some(1) } else { only('-', 3).then_some(2) }
}

/// Whether a line is what makes the line above it a heading.
pub(crate) fn is_underline(line: &str) -> bool {
    setext(line).is_some()
}

fn can_be_heading_text(line: &str) -> bool {
    unindented(line).is_some_and(|text| !text.is_empty() && !text.starts_with(['>', '|', '-', '+', '*', '<', '=']))
}

/// How long the YAML front matter is, and the title in it. `---` that never closes is a thematic break.
fn front_matter(text: &str) -> (usize, Option<String>) {
    const MOST_LINES: usize = 200;
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else { return (0, None) };
    let (mut length, mut title) = (first.len(), None);
    for line in lines.take(MOST_LINES) {
        length += line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return (length, title);
        }
        if let Some(value) = line.strip_prefix("title:") {
            title = Some(value.trim().trim_matches(['"', '\'']).trim().to_owned()).filter(|title| !title.is_empty());
        }
    }
    (0, None)
}

/// A heading as a person reads it: no emphasis, no code marks, links as their text, no closing `#`.
fn plain(heading: &str) -> String {
    let closed = heading.trim_end_matches('#');
    let mut rest = if closed.is_empty() || closed.ends_with([' ', '\t']) { closed.trim() } else { heading };
    let mut text = String::with_capacity(rest.len());
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '*' | '`' | '[' => {}
            '!' if rest.starts_with('[') => {}
            ']' => {
                if let Some(end) = rest.strip_prefix('(').and_then(|target| target.find(')')) {
                    rest = &rest[end + 2..];
                }
            }
            '\\' => {}
            c => text.push(c),
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(markdown: &str) -> Vec<(u8, String)> {
        Outline::of(markdown).headings.into_iter().map(|h| (h.level, h.text)).collect()
    }

    #[test]
    fn both_kinds_of_headings_are_found_and_code_is_not() {
        let text = "# One #\r\n\r\n```sh\n# not one\n```\n\nTwo\n---\n~~~\n```\n# nor this\n~~~\n###### Six\n####### seven\n#tag\n    # code\n";
        assert_eq!(outline(text), [(1, "One".into()), (2, "Two".into()), (6, "Six".into())]);
    }

    #[test]
    fn rules_lists_tables_and_paragraphs_of_two_lines_are_not_headings() {
        assert_eq!(outline("a\nb\n---\n\n---\n\n- x\n---\n\n| a |\n---\n\n#\n"), []);
    }

    #[test]
    fn heading_starts_are_bytes_of_the_text() {
        let text = "\u{FEFF}é\n\nTitle\n=====\n## Ü\n";
        let headings = Outline::of(text).headings;
        assert!(text[headings[0].start..].starts_with("Title\n="));
        assert!(text[headings[1].start..].starts_with("## Ü"));
    }

    #[test]
    fn the_front_matter_gives_the_title_and_is_no_heading() {
        let outline = Outline::of("---\nlayout: post\ntitle: \"Night ferry\"\n---\n# Other\n");
        assert_eq!(outline.title.as_deref(), Some("Night ferry"));
        assert_eq!(outline.headings.len(), 1);
        assert_eq!(Outline::of("---\ntitle: x\nnever closed").title, None);
    }

    #[test]
    fn titles_are_read_as_a_person_reads_them() {
        assert_eq!(plain("**Bold** and `code_name`"), "Bold and code_name");
        assert_eq!(plain("[Install](#install) ![x](y.png) [a]"), "Install x a");
        assert_eq!(plain("C#"), "C#");
        assert_eq!(plain("closed ##"), "closed");
    }

    #[test]
    fn the_trail_names_what_stands_over_a_position() {
        let text = "# A\nx\n## B\ny\n### C\nz\n## D\nw\n";
        let outline = Outline::of(text);
        let mut trail = Trail::new(&outline.headings);
        let at = |what: &str| text.find(what).expect("it is in the text");
        assert_eq!(trail.over(at("z")), ["A", "B", "C"]);
        assert_eq!(trail.over(at("## D")), ["A"], "B and C are closed, D is shown");
        assert_eq!(trail.over(at("w")), ["A", "D"]);
    }
}
