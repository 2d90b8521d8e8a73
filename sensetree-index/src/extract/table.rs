//! Tables as text: CSV and the like, kept as they are. The header row stands over all others, as a heading does.

use super::{Source, Text, Unreadable, decode::decode};
use crate::{
    chunk::Structure,
    headings::{Heading, Outline, body_start},
};

/// A longer first line is data.
const MOST_HEADER: usize = 400;

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    let decoded = decode(source.bytes, None)?;
    let start = body_start(&decoded.text);
    let line = decoded.text[start..].lines().next().unwrap_or_default();
    let cells: Vec<&str> =
        line.split([',', ';', '\t', '|']).map(|cell| cell.trim_matches(['"', ' '])).filter(|cell| !cell.is_empty()).collect();
    // Names of columns are words; a row of values has numbers in it.
    let is_header = cells.len() > 1 && line.len() <= MOST_HEADER && cells.iter().all(|cell| cell.parse::<f64>().is_err());
    let headings = if is_header { vec![Heading { start, level: 6, text: cells.join(", ") }] } else { Vec::new() };
    let note = decoded.note("table");
    Ok(Text { text: decoded.text, structure: Structure::Plain, outline: Outline { title: None, headings }, note })
}

#[cfg(test)]
mod tests {
    use crate::extract::extract;

    fn header(csv: &str) -> Option<String> {
        let text = extract(std::path::Path::new("a.csv"), csv.as_bytes()).expect("it is text");
        text.outline.headings.into_iter().next().map(|heading| heading.text)
    }

    #[test]
    fn the_header_row_stands_over_the_others() {
        assert_eq!(header("Name;\"City\";;Sum\r\nJürgen;Köln;;3\r\n").as_deref(), Some("Name, City, Sum"));
        assert_eq!(header("1,2,3\n4,5,6\n"), None);
        assert_eq!(header("one column\nof text\n"), None);
    }
}
