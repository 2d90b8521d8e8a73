//! What a sync costs apart from models, with a mock embedder of 16 dimensions; with the store in memory, and in LanceDB.
//!
//! - 100,000 files of 200 to 400 bytes in 1,000 folders: time and peak memory when all are new, unchanged, moved and removed. A sync in
//!   which nothing has changed is compared with walking the folders and asking for the state of every file, in the same process on the
//!   same warm cache; the bound is 3 times that.
//! - One log of 2 GiB, over the size cap, and one just under it, which is read whole: time and peak memory.
//!
//! - 1,000 re-indexings of one of 20 files in LanceDB: how large the store stays.
//!
//! Each runs in a process of its own, since the peak memory of a process never falls. What the in-memory store takes for 100,000
//! documents is measured without files, so that it can be told from what the sync takes.
//!
//! `cargo bench --profile dev --all-features --bench scale [-- FILES]`; one part alone: `-- files memory FILES`

use std::{
    env,
    error::Error,
    fs::{self, File},
    io::Write,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use sensetree::{
    Chunk, Document, Embedder, Embedding, FileStamp, Store,
    index::{DEFAULT_MAX_FILE_SIZE, Indexer, Report},
    memory::MemoryStore,
    store::LanceStore,
    testing::MockEmbedder,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const FILES: usize = 100_000;
const LINE: &str = "2031-04-09T12:00:00Z INFO request served path=/notes/boiler.md status=200 ms=12\n";
const MIB: u64 = 1024 * 1024;

/// Each part, and the stores that it is measured with.
const PARTS: &[(&str, &[&str])] = &[
    ("store", &["memory"]),
    ("files", &["memory", "lance"]),
    ("huge-log", &["memory", "lance"]),
    ("large-log", &["memory", "lance"]),
    ("changes", &["lance"]),
];

fn main() -> Outcome {
    // Cargo passes options of its own.
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let count = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(FILES);
    if let Some((part, store)) = arguments.first().zip(arguments.get(1)) {
        return match part.as_str() {
            "store" => store_alone(count),
            "files" => files(&Desk::new(store)?, count),
            "huge-log" => log(&Desk::new(store)?, 2 << 30),
            "large-log" => log(&Desk::new(store)?, DEFAULT_MAX_FILE_SIZE),
            "changes" => changes(&Desk::new(store)?),
            other => Err(format!("there is no part {other}").into()),
        };
    }
    for (part, stores) in PARTS {
        for store in *stores {
            println!("\n== {part}, {store}");
            let status = Command::new(env::current_exe()?).args([part, store, &*count.to_string()]).status()?;
            assert!(status.success(), "{part} failed");
        }
    }
    Ok(())
}

/// Syncs a folder and says what it took.
struct Desk {
    folder: TempDir,
    // Beside the files.
    _place: TempDir,
    store: Arc<dyn Store>,
    indexer: Indexer,
    runtime: Runtime,
}

impl Desk {
    fn new(store: &str) -> Outcome<Self> {
        let runtime = Runtime::new()?;
        let (folder, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let embedder = Arc::new(MockEmbedder::new(16));
        let store: Arc<dyn Store> = match store {
            "lance" => Arc::new(runtime.block_on(LanceStore::open(place.path(), embedder.fingerprint()))?),
            _ => Arc::new(MemoryStore::new(embedder.fingerprint().clone())),
        };
        let indexer = Indexer::builder(embedder, store.clone()).build()?;
        Ok(Self { folder, _place: place, store, indexer, runtime })
    }

    fn sync(&self, what: &str) -> Outcome<(Report, Duration)> {
        let started = Instant::now();
        let report = self.runtime.block_on(self.indexer.sync(&[self.folder.path()], |_| {}))?;
        let took = started.elapsed();
        println!("\n{what}: {:.3} s, peak {} MiB\n{report}", took.as_secs_f64(), peak_mib());
        Ok((report, took))
    }
}

fn files(desk: &Desk, count: usize) -> Outcome {
    for number in 0..count {
        let folder = desk.folder.path().join(format!("old/{:02}/{:03}", number % 10, number % 1000));
        fs::create_dir_all(&folder)?;
        let text = format!("# Note {number}\n\n{}", "some words of it ".repeat(12 + number % 12));
        fs::write(folder.join(format!("note-{number}.md")), text)?;
    }
    println!("{count} files; peak before {} MiB", peak_mib());
    // Files are only trusted when they are older than two seconds.
    std::thread::sleep(Duration::from_millis(2100));
    let (report, took) = desk.sync("all new")?;
    assert_eq!(report.new, count as u64);
    println!("{:.0} files/s", count as f64 / took.as_secs_f64());

    let mut ratios = Vec::new();
    for _ in 0..5 {
        let (report, synced) = desk.sync("unchanged")?;
        assert_eq!((report.unchanged, report.bytes), (count as u64, 0));
        let started = Instant::now();
        assert_eq!(stat_all(desk.folder.path())?, count);
        let walked = started.elapsed();
        println!("walking and stat-ing alone: {:.3} s", walked.as_secs_f64());
        ratios.push(synced.as_secs_f64() / walked.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!("\nunchanged sync / walk and stat: {:.2} (median of 5, {:.2} to {:.2})", ratios[2], ratios[0], ratios[4]);

    fs::rename(desk.folder.path().join("old"), desk.folder.path().join("new"))?;
    let (report, _) = desk.sync("everything moved")?;
    assert_eq!((report.moved, report.chunks_embedded), (count as u64, 0));

    fs::remove_dir_all(desk.folder.path().join("new"))?;
    fs::write(desk.folder.path().join("other.md"), "a folder that is empty keeps its documents")?;
    let (report, _) = desk.sync("everything removed")?;
    assert_eq!(report.removed, count as u64);
    Ok(())
}

/// The documents that `files` makes, by hand.
fn store_alone(count: usize) -> Outcome {
    let runtime = Runtime::new()?;
    let embedder = MockEmbedder::new(16);
    let store = MemoryStore::new(embedder.fingerprint().clone());
    println!("peak before {} MiB", peak_mib());
    for number in 0..count {
        let text = format!("note-{number}.md\n\n# Note {number}\n\n{}", "some words of it ".repeat(12 + number % 12));
        let chunk = Chunk::new(text, Embedding::new(vec![1.0; 16])?);
        let stamp = FileStamp { hash: "0".repeat(64), ..FileStamp::default() };
        let path = format!("/home/person/old/{:02}/{:03}/note-{number}.md", number % 10, number % 1000);
        let document = Document::new(path).with_chunk(chunk).with_stamp(stamp);
        runtime.block_on(store.commit(vec![document], &[]))?;
    }
    println!("{count} documents in memory: peak {} MiB", peak_mib());
    Ok(())
}

/// A log of so many bytes: lines up to the size cap, and a hole after that.
fn log(desk: &Desk, bytes: u64) -> Outcome {
    let mut file = File::create(desk.folder.path().join("server.log"))?;
    let text = LINE.repeat((MIB / LINE.len() as u64) as usize);
    for _ in 0..bytes.min(DEFAULT_MAX_FILE_SIZE) / text.len() as u64 {
        file.write_all(text.as_bytes())?;
    }
    if bytes > DEFAULT_MAX_FILE_SIZE {
        file.set_len(bytes)?;
    }
    println!("a log of {} MiB; peak before {} MiB", file.metadata()?.len() / MIB, peak_mib());
    let (report, _) = desk.sync("new")?;
    assert_eq!(report.new, 1);
    Ok(())
}

/// What a file that is saved again and again leaves in the store.
fn changes(desk: &Desk) -> Outcome {
    for number in 0..20 {
        fs::write(desk.folder.path().join(format!("{number}.md")), format!("# Note {number}\n\n{}", "words of it ".repeat(200)))?;
    }
    let started = Instant::now();
    for round in 0..=1000 {
        let name = format!("{}.md", round % 20);
        fs::write(desk.folder.path().join(name), format!("# Note {round}\n\n{}", "other words ".repeat(200)))?;
        desk.runtime.block_on(desk.indexer.sync(&[desk.folder.path()], |_| {}))?;
        if round % 100 == 0 {
            let stats = desk.runtime.block_on(desk.store.stats())?;
            let seconds = started.elapsed().as_secs_f64();
            println!(
                "{round} changes in {seconds:.1} s: {} chunks, {} versions, {} bytes",
                stats.chunks, stats.versions, stats.bytes
            );
        }
    }
    Ok(())
}

fn stat_all(folder: &Path) -> std::io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        count += if metadata.is_dir() { stat_all(&entry.path())? } else { usize::from(metadata.is_file()) };
    }
    Ok(count)
}

/// Of this process, where the system tells.
fn peak_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}
