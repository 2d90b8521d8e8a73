use std::{collections::HashMap, path::Path};

use sensetree_core::Result;

use crate::lines::each_row;

/// Reads questions and the files that answer them: the form in which people write down their own.
///
/// ```text
/// question<TAB>file
/// when was the boiler serviced?<TAB>house/boiler.md
/// when was the boiler serviced?<TAB>house/bills.md
/// ```
///
/// The first line names the columns. A question with several right files has several lines. The questions come in the order of the
/// file, each once, with its files as they are written there.
///
/// # Errors
/// [`Error::Io`](sensetree_core::Error::Io) when the file cannot be read;
/// [`Error::InvalidInput`](sensetree_core::Error::InvalidInput), with file and line, when a line is not of that form.
pub fn read_questions(path: impl AsRef<Path>) -> Result<Vec<(String, Vec<String>)>> {
    let mut questions: Vec<(String, Vec<String>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    each_row(path.as_ref(), ["question", "file"], |row| {
        let [question, file] = row.map(str::trim);
        let place = *places.entry(question.to_owned()).or_insert(questions.len());
        if place == questions.len() {
            questions.push((question.to_owned(), Vec::new()));
        }
        let files = &mut questions[place].1;
        if !files.iter().any(|known| known == file) {
            files.push(file.to_owned());
        }
        Ok(())
    })?;
    Ok(questions)
}

#[cfg(test)]
mod tests {
    use sensetree_core::Error;

    use super::*;

    fn read(content: &str) -> Result<Vec<(String, Vec<String>)>> {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), content).expect("it can be written");
        read_questions(file.path())
    }

    #[test]
    fn lines_of_one_question_come_together() {
        let table =
            "question\tfile\nwhere is the lamp?\tattic.md\nsoup?\tsoup.md \nwhere is the lamp?\tcellar/list.md\nsoup?\tsoup.md\n";
        let questions = read(table).expect("a whole table");
        let shown: Vec<(&str, Vec<&str>)> =
            questions.iter().map(|(question, files)| (question.as_str(), files.iter().map(String::as_str).collect())).collect();
        assert_eq!(shown, [("where is the lamp?", vec!["attic.md", "cellar/list.md"]), ("soup?", vec!["soup.md"])]);
    }

    #[test]
    fn a_table_without_names_or_files_is_refused() {
        for (content, said) in [("where is the lamp?\tattic.md\n", "line 1"), ("question\tfile\nwhere is the lamp?\n", "line 2")]
        {
            let error = read(content).expect_err("the table is damaged");
            assert!(matches!(&error, Error::InvalidInput(what) if what.contains(said)), "{error}");
        }
        let error = read_questions("/no/such/questions.tsv").expect_err("there is no file");
        assert!(matches!(&error, Error::Io { path, .. } if path.ends_with("questions.tsv")), "{error}");
    }
}
