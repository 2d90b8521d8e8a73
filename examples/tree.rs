//! Shows which part of your own folders is about something.
//!
//! ```text
//! search index FOLDER…
//! tree "the renovation of the house"
//! tree "the renovation of the house" --html tree.html
//! ```

mod shared;

use std::{fs, path::PathBuf, process::ExitCode};

use clap::Parser;
use sensetree::{Colours, Error, Query, Result, TextOptions, TreeOptions};
use shared::{BAD, StoreArguments};

/// Columns when the output is no terminal.
const COLUMNS: usize = 80;

/// See which part of your folders is about something.
#[derive(Parser)]
#[command(name = "tree")]
struct Arguments {
    /// What it is about
    query: String,
    #[command(flatten)]
    common: StoreArguments,
    /// Only files under this folder
    #[arg(long, value_name = "FOLDER")]
    under: Option<PathBuf>,
    /// Nearest chunks that the tree is made of (10 to 1000)
    #[arg(long, value_name = "N", default_value_t = 400)]
    chunks: usize,
    /// Levels of folders to print [default: all]
    #[arg(long, value_name = "N", conflicts_with_all = ["html", "json"])]
    depth: Option<usize>,
    /// Write a page for a browser instead
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    html: Option<PathBuf>,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(code) => code,
        Err(e) => {
            anstream::eprintln!("{BAD}error:{BAD:#} {}", e.chain());
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Arguments) -> Result<ExitCode> {
    let settings = arguments.common.settings()?;
    let pipeline = shared::open_existing(&settings).await?.pipeline().build()?;

    let mut query = Query::new(arguments.query);
    if let Some(folder) = arguments.under {
        query = query.under(folder)?;
    }
    let tree = pipeline.meaning_tree(query, TreeOptions::default().with_chunks(arguments.chunks)).await?;
    let empty = tree.is_empty();
    if arguments.json {
        println!("{}", serde_json::to_string(&tree).map_err(|e| Error::other("write the tree as JSON", e))?);
    } else if let Some(file) = arguments.html {
        fs::write(&file, tree.collapsed().to_html()).map_err(Error::io("write", &file))?;
        println!("{}", file.display());
    } else {
        let width = terminal_size::terminal_size().map_or(COLUMNS, |(width, _)| usize::from(width.0));
        let options = TextOptions::default().with_width(width).with_depth(arguments.depth.unwrap_or(usize::MAX));
        // The stream drops the colours where the output is no terminal.
        anstream::print!("{}", tree.collapsed().to_text(&options.with_colours(Colours::Ansi)));
    }
    Ok(if empty { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
