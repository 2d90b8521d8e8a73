//! A hub on this machine: `info`, `tree`, `resolve`, and a second host to which large files are redirected.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    thread,
};

use serde_json::json;
use sha2::{Digest, Sha256};

/// Larger files than this are redirected, as the hub does with those in LFS.
const LARGE: usize = 4096;

pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// What goes wrong with the next request whose path contains a text.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// Answers with this status and header.
    Status(u16, &'static str),
    /// Closes the connection after so many bytes of the body.
    CutAfter(usize),
    /// Turns one bit of the body.
    Altered,
    /// Answers with everything, whatever was asked for.
    Whole,
    /// Accepts and says nothing.
    Silence,
}

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) large: bool,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
struct State {
    /// By `owner/name`: what each branch, tag and commit has.
    repositories: BTreeMap<String, BTreeMap<String, (String, Files)>>,
    requests: Vec<Request>,
    faults: Vec<(String, Fault)>,
    token: Option<String>,
    has_tree: bool,
    names_no_commit: bool,
    large_address: String,
}

#[derive(Debug, Clone)]
pub(super) struct Server {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(super) fn start() -> Self {
        let hub = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let large = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = |listener: &TcpListener| format!("http://{}", listener.local_addr().expect("it is bound"));
        let large_address = address(&large);
        let state = State { has_tree: true, large_address, ..State::default() };
        let server = Self { address: address(&hub), state: Arc::new(Mutex::new(state)) };
        for (listener, is_large) in [(hub, false), (large, true)] {
            let server = server.clone();
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let server = server.clone();
                    // A client may go away in the middle.
                    thread::spawn(move || server.answer(stream, is_large).ok());
                }
            });
        }
        server
    }

    /// A server with one repository whose `main` has these files.
    pub(super) fn with(repository: &str, files: Files) -> Self {
        let server = Self::start();
        server.publish(repository, &["main"], files);
        server
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Adds a commit, which the references point to from now on, and returns it.
    pub(super) fn publish(&self, repository: &str, references: &[&str], files: Files) -> String {
        let mut state = self.state();
        let revisions = state.repositories.entry(repository.to_owned()).or_default();
        let commit = hex(&Sha256::digest(format!("{references:?} {:?}", files)))[..40].to_owned();
        for reference in references.iter().copied().chain([commit.as_str()]) {
            revisions.insert(reference.to_owned(), (commit.clone(), files.clone()));
        }
        commit
    }

    /// The next request whose path contains `path` goes wrong; several follow each other.
    pub(super) fn fail(&self, path: &str, fault: Fault) {
        self.state().faults.push((path.to_owned(), fault));
    }

    pub(super) fn want_token(&self, token: &str) {
        self.state().token = Some(token.to_owned());
    }

    /// From now on only the names of files are listed, as by some mirrors.
    pub(super) fn list_names_only(&self) {
        self.state().has_tree = false;
    }

    pub(super) fn name_no_commit(&self) {
        self.state().names_no_commit = true;
    }

    /// All requests since the last call.
    pub(super) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.state().requests)
    }

    /// The files whose bytes were asked for since the last call, in alphabetical order, without repeats.
    pub(super) fn files_asked(&self) -> Vec<String> {
        let file = |path: &str| path.split_once("/resolve/").and_then(|(_, rest)| Some(rest.split_once('/')?.1.to_owned()));
        let mut files: Vec<_> = self.requests().iter().filter(|r| r.method == "GET").filter_map(|r| file(&r.path)).collect();
        files.sort();
        files.dedup();
        files
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics in here")
    }

    fn answer(&self, stream: TcpStream, large: bool) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let mut words = first.split_whitespace().map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(": ") else { break };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let request = Request { large, method, path, headers };
        let mut state = self.state();
        state.requests.push(request.clone());
        let fault = state.faults.iter().position(|(path, _)| request.path.contains(path.as_str()));
        let fault = fault.map(|i| state.faults.remove(i).1);
        let answer = state.answer(&request);
        drop(state);
        answer.send(reader.into_inner(), &request, fault)
    }
}

#[derive(Debug, Default)]
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl State {
    fn answer(&self, request: &Request) -> Answer {
        let path = request.path.replace("%2F", "/");
        let plain = |status| Answer { status, ..Answer::default() };
        if request.large {
            let all = self.repositories.values().flat_map(|revisions| revisions.values()).flat_map(|(_, files)| files.values());
            let wanted = path.trim_start_matches("/blob/").split('?').next().unwrap_or_default();
            let body = all.into_iter().find(|body| hex(&Sha256::digest(body.as_slice())) == wanted).cloned();
            return body.map_or(plain(404), |body| Answer { status: 200, body, ..Answer::default() });
        }
        let given = request.headers.get("authorization").cloned();
        if self.token.as_ref().is_some_and(|token| given != Some(format!("Bearer {token}"))) {
            return Answer {
                status: 401,
                headers: vec![("X-Error-Message", "Invalid username or password.".into())],
                ..Answer::default()
            };
        }
        for (repository, revisions) in &self.repositories {
            let api = path.split('?').next().and_then(|path| path.strip_prefix(&format!("/api/models/{repository}")));
            let asked = api.map(|api| api.trim_start_matches('/').split_once('/').unwrap_or(("revision", "main")));
            if let Some((what, revision)) = asked {
                return match (what, revisions.get(revision)) {
                    ("revision", Some((commit, files))) => self.info(commit, files),
                    ("tree", Some((_, files))) if self.has_tree => tree(files),
                    _ => plain(404),
                };
            }
            if let Some(rest) = path.strip_prefix(&format!("/{repository}/resolve/")) {
                let found = revisions.iter().find_map(|(revision, (commit, files))| {
                    let file = rest.strip_prefix(revision.as_str())?.strip_prefix('/')?;
                    Some((commit, files.get(file)?))
                });
                return found.map_or(plain(404), |(commit, body)| self.resolve(commit, body));
            }
        }
        plain(404)
    }

    fn info(&self, commit: &str, files: &Files) -> Answer {
        let siblings: Vec<_> = files.keys().map(|name| json!({ "rfilename": name })).collect();
        let sha = if self.names_no_commit { "../../../../escaped" } else { commit };
        json_answer(json!({ "id": "a/b", "sha": sha, "siblings": siblings }))
    }

    fn resolve(&self, commit: &str, body: &[u8]) -> Answer {
        let mut headers = vec![("X-Repo-Commit", commit.to_owned())];
        if body.len() <= LARGE {
            headers.push(("ETag", format!("W/\"{}\"", git_id(body))));
            return Answer { status: 200, headers, body: body.to_vec() };
        }
        let sha256 = hex(&Sha256::digest(body));
        headers.push(("X-Linked-Etag", format!("\"{sha256}\"")));
        headers.push(("X-Linked-Size", body.len().to_string()));
        headers.push(("Location", format!("{}/blob/{sha256}?signature=signed-secret", self.large_address)));
        Answer { status: 302, headers, body: Vec::new() }
    }
}

fn tree(files: &Files) -> Answer {
    let entries = files.iter().map(|(path, body)| match body.len() > LARGE {
        false => json!({ "type": "file", "path": path, "size": body.len(), "oid": git_id(body) }),
        true => json!({
            "type": "file",
            "path": path,
            "size": body.len(),
            "oid": git_id(b"a note that stands for it"),
            "lfs": { "oid": sha256(body), "size": body.len(), "pointerSize": 134 },
        }),
    });
    json_answer(json!(
        [json!({ "type": "directory", "path": "onnx", "oid": "0" })].into_iter().chain(entries).collect::<Vec<_>>()
    ))
}

fn json_answer(value: serde_json::Value) -> Answer {
    Answer { status: 200, headers: vec![("Content-Type", "application/json".into())], body: value.to_string().into_bytes() }
}

impl Answer {
    fn send(mut self, mut stream: TcpStream, request: &Request, fault: Option<Fault>) -> std::io::Result<()> {
        let range: Option<usize> =
            request.headers.get("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
        let mut cut = usize::MAX;
        match fault {
            Some(Fault::Status(status, header)) => {
                let (name, value) = header.split_once(": ").unwrap_or(("X-Nothing", header));
                self = Self { status, headers: vec![(name, value.to_owned())], body: b"an error page".to_vec() };
            }
            Some(Fault::CutAfter(count)) => cut = count,
            Some(Fault::Altered) => {
                let middle = self.body.len() / 2;
                self.body[middle] ^= 1;
            }
            Some(Fault::Silence) => {
                thread::sleep(std::time::Duration::from_secs(60));
                return Ok(());
            }
            Some(Fault::Whole) | None => {}
        }
        match range {
            Some(from) if self.status == 200 && !matches!(fault, Some(Fault::Whole)) => {
                let whole: usize = self.body.len();
                if from < whole {
                    self.status = 206;
                    self.body.drain(..from);
                    self.headers.push(("Content-Range", format!("bytes {from}-{}/{whole}", whole - 1)));
                } else {
                    self.status = 416;
                    self.body.clear();
                }
            }
            _ => {}
        }
        write!(stream, "HTTP/1.1 {} \r\nConnection: close\r\nContent-Length: {}\r\n", self.status, self.body.len())?;
        for (name, value) in &self.headers {
            write!(stream, "{name}: {value}\r\n")?;
        }
        write!(stream, "\r\n")?;
        if request.method != "HEAD" {
            stream.write_all(&self.body[..self.body.len().min(cut)])?;
        }
        stream.flush()
    }
}

/// All files of a folder, by their paths in it.
pub(super) fn files_of(folder: &Path) -> Files {
    fn walk(root: &Path, folder: &Path, files: &mut Files) {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(root, &path, files);
            } else {
                let name = path.strip_prefix(root).expect("it is inside").to_str().expect("a path in UTF-8").replace('\\', "/");
                files.insert(name, fs::read(&path).expect("the file is read"));
            }
        }
    }
    let mut files = Files::new();
    walk(folder, folder, &mut files);
    files
}

pub(super) fn sha256(body: &[u8]) -> String {
    hex(&Sha256::digest(body))
}

fn git_id(body: &[u8]) -> String {
    let mut hasher = sha1_smol::Sha1::new();
    hasher.update(format!("blob {}\0", body.len()).as_bytes());
    hasher.update(body);
    hasher.digest().to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
