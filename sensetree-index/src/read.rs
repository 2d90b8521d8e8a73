//! Reading, extracting and chunking, on threads of their own.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use sensetree_core::{Document, DocumentInfo, DocumentKey, Error, Result};
use tokio::sync::mpsc;

use crate::{
    chunk::Chunker,
    context::Qualification,
    draft::{Draft, by_name_reason},
    extract::{Unreadable, extract_within, kind, panic_message},
    indexer::Config,
    plan::Job,
    stamp::{Observed, now},
    walk::Found,
};

/// Enough of a file that is not read to tell what it is.
const SIGNATURE_BYTES: u64 = 8192;

/// What became of a job.
#[derive(Debug)]
pub(crate) struct FileRead {
    pub(crate) path: PathBuf,
    pub(crate) key: DocumentKey,
    pub(crate) size: u64,
    pub(crate) took: Duration,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    /// New or changed.
    Draft(Box<Draft>),
    /// The same as in the store; why it has no text, if so.
    Unchanged {
        by_name: Option<String>,
    },
    /// It vanished since the walk.
    Gone {
        was_known: bool,
    },
    Failed(Error),
}

/// Starts the threads. Every job gives one answer, in no particular order. The threads end with the jobs, or soon after the
/// receiver is dropped; as many answers as there are threads wait to be taken.
///
/// # Errors
/// [`Error::Other`] when the system gives no thread.
pub(crate) fn start(config: &Arc<Config>, chunker: &Chunker, jobs: Vec<Job>) -> Result<mpsc::Receiver<FileRead>> {
    let threads = config.threads.min(jobs.len());
    let (answers, receiver) = mpsc::channel(threads.max(1));
    let jobs = Arc::new((jobs, AtomicUsize::new(0)));
    for number in 0..threads {
        let (config, chunker, answers, jobs) = (config.clone(), chunker.clone(), answers.clone(), jobs.clone());
        let work = move || {
            let (jobs, next) = &*jobs;
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if answers.is_closed() || answers.blocking_send(answer(&config, &chunker, job)).is_err() {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name(format!("sensetree-read-{number}")).spawn(work);
        started.map_err(|error| Error::other("start a thread for reading files", error))?;
    }
    Ok(receiver)
}

fn answer(config: &Config, chunker: &Chunker, job: &Job) -> FileRead {
    let started = Instant::now();
    let content = catch_unwind(AssertUnwindSafe(|| read(config, chunker, job)))
        .unwrap_or_else(|panic| Err(Error::contract("reader", format!("it panicked: {}", panic_message(&*panic)))))
        .unwrap_or_else(|error| match error {
            Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => Content::Gone { was_known: job.known.is_some() },
            error => Content::Failed(error),
        });
    let Found { path, key, observed, .. } = &job.found;
    FileRead { path: path.clone(), key: key.clone(), size: observed.size, took: started.elapsed(), content }
}

fn read(config: &Config, chunker: &Chunker, job: &Job) -> Result<Content> {
    let Found { path, key, folder, .. } = &job.found;
    // A file may have become a pipe since the walk, and opening a pipe waits for a writer.
    let metadata = std::fs::metadata(path).map_err(Error::io("read", path))?;
    if !metadata.is_file() {
        return Err(Error::io("read", path)(std::io::Error::other("it is no regular file any more")));
    }
    let reading = now();
    let mut file = File::open(path).map_err(Error::io("read", path))?;
    let observed = Observed::of(&file.metadata().map_err(Error::io("read", path))?);
    let mut bytes = Vec::new();
    let mut take = |bytes: &mut Vec<u8>, most: u64| (&mut file).take(most).read_to_end(bytes).map_err(Error::io("read", path));
    let is_large = observed.size > config.max_file_size || {
        take(&mut bytes, config.max_file_size.saturating_add(1))?;
        bytes.len() as u64 > config.max_file_size
    };
    if is_large && bytes.is_empty() {
        take(&mut bytes, SIGNATURE_BYTES)?;
    }
    let hash = if is_large { String::new() } else { blake3::hash(&bytes).to_hex().to_string() };
    if let Some(known) = job.known.as_ref().filter(|known| is_same(known, job, &hash)) {
        return Ok(Content::Unchanged { by_name: by_name_reason(&known.note).map(str::to_owned) });
    }
    let document = || Document {
        key: key.clone(),
        path: path.clone(),
        stamp: observed.stamp(reading, hash.clone()),
        note: String::new(),
        chunks: Vec::new(),
    };
    let about = Qualification::new(path, folder, chunker);
    let bytes = Arc::new(bytes);
    let kind = || kind(path, &bytes[..bytes.len().min(SIGNATURE_BYTES as usize)]);
    let by_name = |Unreadable(reason)| Draft::by_name(document(), &about, &kind(), &reason);
    let text = if is_large { Ok(Err(too_large(config))) } else { extract_within(&config.extract_limits, path, &bytes) };
    let mut draft = match text {
        Ok(Ok(text)) => Draft::of_text(document(), &text, about.clone(), chunker)
            .unwrap_or_else(|| by_name(Unreadable("it has no text that could be searched".into()))),
        Ok(Err(unreadable)) => by_name(unreadable),
        Err(late @ Error::OutOfTime { .. }) => Draft::failed(document(), &about, &kind(), late),
        Err(error) => return Err(error),
    };
    draft.is_known = job.known.is_some();
    Ok(Content::Draft(Box::new(draft)))
}

/// A file over the size cap has no hash; what is stored about it comes from its name, which is still the same.
fn is_same(known: &DocumentInfo, job: &Job, hash: &str) -> bool {
    known.stamp.hash == hash && *known.path == job.found.path && (!hash.is_empty() || by_name_reason(&known.note).is_some())
}

fn too_large(config: &Config) -> Unreadable {
    Unreadable(format!("it is larger than {} bytes", config.max_file_size))
}
