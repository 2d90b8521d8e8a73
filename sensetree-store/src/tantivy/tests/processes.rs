//! Real processes: this test program, started again.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use super::*;

const TASK: &str = "SENSETREE_TANTIVY_TEST_TASK";
const FOLDER: &str = "SENSETREE_TANTIVY_TEST_FOLDER";

fn start(task: &str, folder: &TempDir) -> Child {
    Command::new(env::current_exe().expect("this program has a path"))
        .args(["--exact", "tantivy::tests::processes::what_another_process_does", "--ignored", "--nocapture"])
        .envs([(TASK, task)])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program can be started again")
}

const DOCUMENTS: usize = 20;

/// The rules, the lists of files and of the last commit, three locks.
const FILES: usize = 6;
/// Terms, where they are, where in the text, lengths by Tantivy, columns, texts, and which chunks are removed.
const FILES_OF_A_SEGMENT: usize = 7;

/// One commit: every document has the number of the round in both chunks.
async fn write_round(index: &TantivyRetriever, round: u64) {
    let text = format!("lamp round {round}");
    let padding = "boat ".repeat(200);
    commit(index, (0..DOCUMENTS).map(|i| document(&format!("/{i}"), &[&text, &padding])).collect()).await;
}

async fn read_round(index: &TantivyRetriever) -> Option<u64> {
    let hits = hits(index, "lamp").await;
    let rounds: BTreeSet<&str> = hits.iter().map(|hit| hit.passage.text.as_str()).collect();
    assert!(rounds.len() <= 1, "a commit is seen whole: {rounds:?}");
    assert!([0, DOCUMENTS].contains(&hits.len()), "{} documents", hits.len());
    assert_eq!(counts(index).await.1, 2 * hits.len() as u64);
    rounds.first().map(|text| text.rsplit(' ').next().and_then(|round| round.parse().ok()).expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the other tests of this file start it in processes of their own"]
async fn what_another_process_does() {
    let (Ok(task), Some(folder)) = (env::var(TASK), env::var_os(FOLDER)) else { return };
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{line}").and_then(|()| out.flush()).expect("the parent listens");
    };
    let index = TantivyRetriever::open(&folder).await.unwrap_or_else(|e| panic!("{}", e.chain()));
    if task == "write until killed" {
        let first = read_round(&index).await.map_or(0, |round| round + 1);
        for round in first.. {
            write_round(&index, round).await;
            say(format!("wrote {round}"));
        }
    }
    for round in 0..10 {
        commit(&index, vec![document(&format!("/{task}/{round}"), &["lamp"])]).await;
        say(format!("wrote {round}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_is_killed_leaves_its_last_commit() {
    let folder = folder();
    let reader = open(&folder).await;
    for kill in 0..10u32 {
        let mut child = start("write until killed", &folder);
        let lines = BufReader::new(child.stdout.take().expect("its output is ours")).lines();
        let rounds = |line: std::io::Result<String>| line.ok()?.strip_prefix("wrote ")?.parse::<u64>().ok();
        let mut rounds = lines.filter_map(rounds);
        let mut last = rounds.next().expect("it writes");
        for _ in 0..kill % 3 {
            last = rounds.next().expect("it writes on");
        }
        // A moment of its own each time, anywhere in a commit.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").subsec_nanos();
        std::thread::sleep(Duration::from_micros(u64::from(now / 1000 % 40_000)));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        last = rounds.last().unwrap_or(last);
        for index in [&open(&folder).await, &reader] {
            let round = read_round(index).await.expect("something was written");
            assert!((last..=last + 1).contains(&round), "told of {last}, found {round}");
        }
    }
    // What it left unfinished is cleared away by the next writer.
    let index = open(&folder).await;
    let round = read_round(&index).await.expect("something was written");
    write_round(&index, round + 1).await;
    let files: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert!(files.len() <= FILES + FILES_OF_A_SEGMENT * segments(&index).await, "{files:?}");
    assert_eq!(read_round(&reader).await, Some(round + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_in_other_processes_take_turns_and_are_seen() {
    let folder = folder();
    let mut children: Vec<Child> = ["one", "two", "three"].into_iter().map(|name| start(name, &folder)).collect();
    let index = open(&folder).await;
    for round in 0..10 {
        commit(&index, vec![document(&format!("/here/{round}"), &["lamp"])]).await;
    }
    for child in &mut children {
        assert!(child.wait().expect("it ends").success(), "no writer is refused");
    }
    assert_eq!(found(&index, "lamp").await.len(), 40, "every commit of every process is there, and seen at once");
}
