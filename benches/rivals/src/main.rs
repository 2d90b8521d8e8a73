//! The measured sides that are written in Rust. `../drive.py` starts them and makes the table.
//!
//! ONNX Runtime has one environment per process, and each library makes its own, so each side is a process. It does its work once
//! for each line that it is sent, and answers with a line of JSON: so two sides can be measured in turn.

mod bm25;
mod embed;
mod rerank;
mod texts;

use std::{
    error::Error,
    io::{Write, stdin, stdout},
    path::PathBuf,
    time::Instant,
};

use serde_json::Value;

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "rivals cut DOCUMENTS TEXTS | embed SIDE PRECISION MODEL TEXTS | questions PRECISION MODEL TEXTS \
                     | rerank SIDE PRECISION MODEL TEXTS | tantivy TEXTS QUERIES FOLDER";

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = |number: usize| PathBuf::from(&arguments[number]);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["cut", _, _] => texts::cut(&path(1), &path(2)),
        ["embed", side, precision, _, _] => embed::serve(side, precision, &path(3), &texts::read(&path(4))?),
        ["questions", precision, _, _] => embed::serve_questions(precision, &path(2), &texts::read(&path(3))?),
        ["rerank", side, precision, _, _] => rerank::serve(side, precision, &path(3), &texts::read(&path(4))?),
        ["tantivy", _, _, _] => bm25::measure(&texts::read(&path(1))?, &path(2), &path(3)),
        _ => Err(USAGE.into()),
    }
}

/// Says that it is ready, then does the work once for each line on standard input. `seconds` is what the work took, unless it says so
/// itself.
fn serve(ready: &Value, mut work: impl FnMut() -> Result<Value>) -> Result {
    let mut output = stdout();
    writeln!(output, "{ready}")?;
    for line in stdin().lines() {
        line?;
        let started = Instant::now();
        let mut answer = work()?;
        answer["seconds"] = started.elapsed().as_secs_f64().into();
        writeln!(output, "{answer}")?;
    }
    Ok(())
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
