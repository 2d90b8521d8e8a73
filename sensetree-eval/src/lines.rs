//! Line by line through a text file, so that what is wrong is told with its file and line.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    str,
};

use sensetree_core::{Error, Result};

/// Shows `visit` every line that is not blank. What it refuses becomes an error with the file and the line's number.
///
/// Files come from anywhere: a byte order mark and Windows line ends are no part of a line.
pub(crate) fn each_line(path: &Path, mut visit: impl FnMut(&str) -> Result<(), String>) -> Result<()> {
    let mut file = BufReader::new(File::open(path).map_err(Error::io("read", path))?);
    let mut bytes = Vec::new();
    let mut number = 0;
    while file.read_until(b'\n', &mut bytes).map_err(Error::io("read", path))? > 0 {
        number += 1;
        let visited = match str::from_utf8(&bytes) {
            Ok(line) => {
                let line = if number == 1 { line.trim_start_matches('\u{FEFF}') } else { line };
                let line = line.trim_end_matches(['\r', '\n']);
                if line.trim().is_empty() { Ok(()) } else { visit(line) }
            }
            Err(_) => Err("the line is not UTF-8".to_owned()),
        };
        visited.map_err(|reason| Error::invalid(format!("cannot read {}, line {number}: {reason}", path.display())))?;
        bytes.clear();
    }
    Ok(())
}

/// Shows `visit` every row of a table with tabs between its columns, after the line that names them.
pub(crate) fn each_row<const N: usize>(
    path: &Path,
    columns: [&str; N],
    mut visit: impl FnMut([&str; N]) -> Result<(), String>,
) -> Result<()> {
    let mut named = false;
    each_line(path, |line| {
        let row: Vec<&str> = line.split('\t').collect();
        let row = <[&str; N]>::try_from(row)
            .map_err(|row| format!("{} columns where {N} belong: {}", row.len(), columns.join(", ")))?;
        if !named {
            named = true;
            // Without this check, a table that names no columns would lose its first row unnoticed.
            let said = format!("the first line must name the columns, with tabs between them: {}", columns.join(", "));
            return if row == columns { Ok(()) } else { Err(said) };
        }
        match row.iter().position(|value| value.trim().is_empty()) {
            Some(empty) => Err(format!("the column {} is empty", columns[empty])),
            None => visit(row),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(content: &[u8]) -> Result<Vec<[String; 2]>> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), content).expect("it can be written");
        let mut rows = Vec::new();
        each_row(file.path(), ["a", "b"], |row| {
            rows.push(row.map(str::to_owned));
            Ok(())
        })?;
        Ok(rows)
    }

    #[test]
    fn marks_and_line_ends_of_other_systems_are_no_content() {
        let expected = [["1".to_owned(), "x y".to_owned()], ["2".to_owned(), "z".to_owned()]];
        for content in ["a\tb\n1\tx y\n2\tz\n", "\u{FEFF}a\tb\r\n1\tx y\r\n\r\n2\tz", "\na\tb\n1\tx y\n  \n2\tz"] {
            assert_eq!(rows(content.as_bytes()).expect("a whole table"), expected, "{content:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (content, said) in [
            (&b"a\tb\n1\tx\n2\n"[..], "line 3: 1 columns where 2 belong: a, b"),
            (b"a\tb\n1\tx\ty\n", "line 2: 3 columns"),
            (b"1\tx\n2\ty\n", "line 1: the first line must name the columns"),
            (b"a\tb\n\n\t x\n", "line 3: the column a is empty"),
            (b"a\tb\n1\t\xff\n", "line 2: the line is not UTF-8"),
        ] {
            let error = rows(content).expect_err("the table is damaged");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains(said)), "{error}");
        }
    }
}
