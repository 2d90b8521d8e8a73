//! Talks about your own files with a chat model behind an OpenAI-compatible endpoint, and cites them.
//!
//! What you ask, and the excerpts that are found for it, go to that endpoint.
//!
//! ```text
//! search index FOLDER…
//! chat --endpoint http://localhost:11434/v1 --model qwen3 "when is the tender due?"
//! chat --endpoint https://api.openai.com/v1 --model gpt-4.1-mini --key-env OPENAI_API_KEY
//! ```

mod shared;

use std::{
    io::{self, BufRead, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::Parser;
use sensetree::{
    Budget, Error, Filter, Pipeline, Query, Result, Scope, SearchFilesTool, Source, Sources, StageStatus,
    http::{ApiKey, ChatClient, HttpClient, Message, Tool},
};
use shared::{BAD, BOLD, DIM, PATH, StoreArguments, WARN};

const TASK: &str = "You answer questions about the user's own files, briefly and in the language of the question.";
const NO_MORE: &str = "Error: no more searches for this question. Answer with what was found.";

/// Ask a chat model about your own files.
#[derive(Parser)]
#[command(name = "chat")]
struct Arguments {
    /// The question; without it, questions are read line by line
    question: Option<String>,
    /// Base URL of the chat API
    #[arg(long, value_name = "URL")]
    endpoint: String,
    /// The chat model's name
    #[arg(long, value_name = "NAME")]
    model: String,
    /// Environment variable that holds the API key [default: no key is sent]
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,
    #[command(flatten)]
    common: StoreArguments,
    /// Only files under this folder
    #[arg(long, value_name = "FOLDER")]
    under: Option<PathBuf>,
    /// How often the chat model may search by itself for one question; 0 for models that cannot call tools
    #[arg(long, value_name = "N", default_value_t = 4)]
    rounds: usize,
}

struct Chat {
    client: ChatClient,
    pipeline: Pipeline,
    filter: Filter,
    tool: SearchFilesTool,
    rounds: usize,
    /// What was said so far, without excerpts.
    history: Vec<Message>,
    sources: Sources,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(code) => code,
        Err(e) => {
            print_error(&e);
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: Arguments) -> Result<ExitCode> {
    let mut client = HttpClient::new(&arguments.endpoint)?;
    if let Some(variable) = &arguments.key_env {
        client = client.with_key(ApiKey::from_env(variable)?);
    }
    let settings = arguments.common.settings()?;
    let pipeline = shared::open_existing(&settings).await?.pipeline().build()?;
    let mut filter = Filter::everything();
    if let Some(folder) = arguments.under {
        filter = filter.under(Scope::folder(folder)?);
    }
    let mut chat = Chat {
        client: ChatClient::new(client, arguments.model),
        tool: SearchFilesTool::new(pipeline.clone()).with_filter(filter.clone()),
        pipeline,
        filter,
        rounds: arguments.rounds,
        history: Vec::new(),
        sources: Sources::new(),
    };
    match arguments.question {
        Some(question) => {
            let answer = chat.ask(&question).await?;
            let cites = print_answer(&answer, &chat.sources);
            Ok(if cites { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
        None => chat.converse().await,
    }
}

impl Chat {
    /// Answers a question: searches, asks the model, and searches again as often as the model wants and may.
    async fn ask(&mut self, question: &str) -> Result<String> {
        let query = Query::new(question).filter(self.filter.clone());
        let grounding = self.pipeline.ground(query, &Budget::default(), &mut self.sources).await?;
        for stage in grounding.page.stages.iter().filter(|stage| stage.status == StageStatus::Failed) {
            anstream::eprintln!("{WARN}{} failed:{WARN:#} {}", stage.name, stage.reason.as_deref().unwrap_or_default());
        }
        let mut messages = vec![Message::system(format!("{TASK}\n\n{}", grounding.text))];
        messages.extend(self.history.iter().cloned());
        messages.push(Message::user(question));
        for round in 0..=self.rounds + 1 {
            let tools = if round < self.rounds { vec![self.description()] } else { Vec::new() };
            let reply = self.client.complete(&messages, &tools).await?.message;
            let calls = reply.tool_calls.clone();
            if calls.is_empty() {
                self.history.extend([Message::user(question), reply.clone()]);
                return Ok(reply.content);
            }
            messages.push(reply);
            for call in calls {
                let text = match call.name.as_str() {
                    _ if round >= self.rounds => NO_MORE.to_owned(),
                    SearchFilesTool::NAME => self.search(&call.arguments).await,
                    other => format!("Error: there is no tool {other:?}, only {}.", SearchFilesTool::NAME),
                };
                messages.push(Message::tool(call.id, text));
            }
        }
        let part = format!("chat model {}", self.client.model());
        Err(Error::contract(part, format!("it still wants to search after {} rounds; give it more with --rounds", self.rounds)))
    }

    async fn search(&mut self, arguments: &str) -> String {
        let reply = self.tool.call(arguments, &mut self.sources).await;
        match &reply.outcome {
            Ok(page) => anstream::eprintln!("{DIM}searched {}: {} results{DIM:#}", one_line(arguments), page.results.len()),
            Err(e) => anstream::eprintln!("{DIM}could not search {}: {}{DIM:#}", one_line(arguments), one_line(&e.chain())),
        }
        reply.text
    }

    fn description(&self) -> Tool {
        Tool {
            name: SearchFilesTool::NAME.to_owned(),
            description: SearchFilesTool::DESCRIPTION.to_owned(),
            parameters: self.tool.parameters(),
        }
    }

    /// One question for each line of standard input.
    async fn converse(&mut self) -> Result<ExitCode> {
        let input = io::stdin();
        loop {
            if input.is_terminal() {
                anstream::eprint!("{BOLD}>{BOLD:#} ");
            }
            let mut line = String::new();
            let read = input.lock().read_line(&mut line).map_err(Error::io("read", "standard input"))?;
            if read == 0 {
                return Ok(ExitCode::SUCCESS);
            }
            if line.trim().is_empty() {
                continue;
            }
            match self.ask(line.trim()).await {
                Ok(answer) => {
                    print_answer(&answer, &self.sources);
                }
                Err(e) => print_error(&e),
            }
        }
    }
}

fn print_error(e: &Error) {
    anstream::eprintln!("{BAD}error:{BAD:#} {}", e.chain());
}

/// Prints the answer and the sources it cites; says whether it cites any.
fn print_answer(answer: &str, sources: &Sources) -> bool {
    // A model may repeat escape sequences of a file.
    let answer: String = answer.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let found = sources.cited(&answer);
    let mut linked = String::new();
    let mut from = 0;
    for mark in &found.marks {
        // A mark such as [2-4] is one stretch of text for several numbers, and links to the first.
        if let Some(source) = sources.get(mark.number).filter(|_| mark.at.start >= from) {
            linked.push_str(&answer[from..mark.at.start]);
            linked.push_str(&link(source, &answer[mark.at.clone()]));
            from = mark.at.end;
        }
    }
    linked.push_str(&answer[from..]);
    println!("{linked}");
    if !found.cited.is_empty() {
        println!();
    }
    for source in found.cited.iter().filter_map(|number| sources.get(*number)) {
        let path = one_line(&source.path.to_string_lossy());
        let (first, last) = source.location.lines;
        let lines = if first > 0 { format!(":{first}-{last}") } else { String::new() };
        anstream::println!("[{}] {PATH}{}{PATH:#}{DIM}{lines}{DIM:#}", source.number, link(source, &path));
    }
    for number in &found.unknown {
        anstream::eprintln!("{WARN}warning:{WARN:#} the answer cites [{number}], which is no source");
    }
    let _ = io::stdout().flush();
    !found.cited.is_empty()
}

/// The text as a link to the file (OSC 8) where there is a terminal to click in.
fn link(source: &Source, text: &str) -> String {
    match source.url().filter(|_| io::stdout().is_terminal()) {
        Some(url) => format!("\u{1b}]8;;{url}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\"),
        None => text.to_owned(),
    }
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
