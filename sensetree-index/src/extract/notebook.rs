//! Jupyter notebooks: Markdown, code, and the start of what the code printed.

use sensetree_core::text::first_chars;
use serde::Deserialize;

use super::{Source, Text, Unreadable, decode::decode, plain};

/// Characters that are kept of one output.
const MOST_OUTPUT: usize = 2000;

#[derive(Deserialize)]
struct Notebook {
    cells: Vec<Cell>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    language_info: Option<Language>,
}

#[derive(Deserialize)]
struct Language {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    source: Lines,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Deserialize, Default)]
struct Output {
    #[serde(default)]
    text: Option<Lines>,
    #[serde(default)]
    data: Option<Data>,
    #[serde(default)]
    ename: Option<String>,
    #[serde(default)]
    evalue: Option<String>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(default, rename = "text/plain")]
    plain: Option<Lines>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    One(String),
    Many(Vec<String>),
}

impl Lines {
    fn joined(&self) -> String {
        match self {
            Self::One(text) => text.clone(),
            Self::Many(lines) => lines.concat(),
        }
    }
}

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    let decoded = decode(source.bytes, None)?;
    // What is no notebook, or one of before 2015, is text all the same. The parser refuses what is nested too deep.
    let Ok(notebook) = serde_json::from_str::<Notebook>(decoded.text.trim_start_matches('\u{FEFF}')) else {
        return plain::read(source);
    };
    let language = notebook.metadata.language_info.map(|language| language.name).unwrap_or_default();
    let mut out = source.out();
    for cell in &notebook.cells {
        if !out.goes_on() {
            break;
        }
        let text = cell.source.joined();
        match &*cell.cell_type {
            "markdown" => out.block(&text),
            "code" if !text.trim().is_empty() => out.block(&fenced(&language, &text)),
            _ => {}
        }
        for output in &cell.outputs {
            let printed = output.text.as_ref().or(output.data.as_ref().and_then(|data| data.plain.as_ref())).map(Lines::joined);
            let error = output.ename.as_ref().map(|name| format!("{name}: {}", output.evalue.as_deref().unwrap_or_default()));
            let said = printed.or(error).unwrap_or_default();
            if !said.trim().is_empty() {
                out.block(&fenced("", first_chars(&said, MOST_OUTPUT)));
            }
        }
    }
    Ok(out.finish("Jupyter notebook", notebook.metadata.title))
}

fn fenced(language: &str, text: &str) -> String {
    // A fence inside must be shorter.
    let longest = text.lines().map(|line| line.trim_start().bytes().take_while(|&byte| byte == b'`').count()).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}
