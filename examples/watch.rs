//! Keeps the index in step with folders and tells each change.
//!
//! ```text
//! watch FOLDER…
//! search query "what I have just written"
//! ```

mod shared;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Parser;
use sensetree::{
    Engine, Result,
    index::{Event, Outcome, Report},
};
use shared::{BAD, DIM, GOOD, PATH, StoreArguments, WARN};

/// Follow folders: what is saved can be found a moment later. Ctrl-C ends it.
#[derive(Parser)]
#[command(name = "watch")]
struct Arguments {
    /// Folders or files
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    common: StoreArguments,
    /// Seconds without a change before the index follows
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    wait: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    tokio::select! {
        ended = follow(Arguments::parse()) => match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(e) => {
                anstream::eprintln!("{BAD}error:{BAD:#} {}", e.chain());
                ExitCode::from(2)
            }
        },
        // What is stored stays; the next start looks at everything once and goes on.
        _ = tokio::signal::ctrl_c() => ExitCode::SUCCESS,
    }
}

async fn follow(arguments: Arguments) -> Result<()> {
    let indexer = Engine::open(&arguments.common.settings()?).await?.indexer()?.build()?;
    let mut watching = indexer.watch(&arguments.folders, Duration::from_secs(arguments.wait)).await?;

    let bar = shared::bar();
    let report = watching.next(|event| shared::follow(&bar, &event)).await?;
    bar.finish_and_clear();
    println!("{report}");
    anstream::println!("{DIM}following; Ctrl-C ends it{DIM:#}");
    loop {
        print_troubles(&watching.next(print_change).await?);
    }
}

fn print_change(event: Event) {
    let (what, path) = match event {
        Event::Finished { path, outcome: Outcome::New, .. } => ("new", path),
        Event::Finished { path, outcome: Outcome::Changed, .. } => ("changed", path),
        Event::Finished { path, outcome: Outcome::Moved { .. }, .. } => ("moved", path),
        Event::Finished { path, outcome: Outcome::Removed, .. } | Event::Removed { path } => ("removed", path),
        Event::Finished { path, outcome: Outcome::Failed { reason }, .. } => {
            anstream::println!("{BAD}{:<8}{BAD:#} {PATH}{}{PATH:#} {reason}", "failed", path.display());
            return;
        }
        _ => return,
    };
    anstream::println!("{GOOD}{what:<8}{GOOD:#} {PATH}{}{PATH:#}", path.display());
}

fn print_troubles(report: &Report) {
    for trouble in report.stopped.iter().chain(&report.warnings) {
        anstream::println!("{WARN}warning:{WARN:#} {trouble}");
    }
}
