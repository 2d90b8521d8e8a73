//! Which reader takes a file, what it makes of files that real programs wrote, and what damaged ones cost.

mod damaged;
mod fixtures;

use std::{
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use super::*;

/// A file that a real program wrote; see `scripts/make_format_fixtures.sh`.
fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of all of them.
fn fixture_names() -> Vec<String> {
    let folder = std::fs::read_dir(format!("{}/tests/fixtures", env!("CARGO_MANIFEST_DIR"))).expect("the folder of fixtures");
    let mut names: Vec<String> =
        folder.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn try_read(limits: &ExtractLimits, path: &str, bytes: &[u8]) -> Result<Text, String> {
    let read = extract_within(limits, Path::new(path), &Arc::new(bytes.to_vec())).expect("a thread");
    read.map_err(|Unreadable(reason)| reason)
}

fn note(path: &str, bytes: &[u8]) -> Result<String, String> {
    extract(Path::new(path), bytes).map(|text| text.note).map_err(|Unreadable(reason)| reason)
}

#[test]
fn signatures_decide_before_the_extension_and_that_before_a_guess() {
    assert_eq!(note("a.md", b"<html>x</html>").as_deref(), Ok("HTML"));
    assert_eq!(note("a.php", b"<html><?php echo 1 ?></html>").as_deref(), Ok("text"));
    assert_eq!(note("a.HTM", b"just words").as_deref(), Ok("HTML"));
    assert_eq!(note("page", b"\n<!doctype html><p>x").as_deref(), Ok("HTML"));
    assert_eq!(note("a.rs", b"fn main() {}").as_deref(), Ok("text"));
}

#[test]
fn nothing_readable_has_a_reason() {
    assert!(note("a.txt", b"").is_err_and(|reason| reason.contains("empty")));
    assert!(note("a.md", b" \n\t\n").is_err_and(|reason| reason.contains("white space")));
    assert!(note("a.html", b"<script>let x = 1</script>").is_err_and(|reason| reason.contains("white space")));
    assert!(note("a.html", b"\0\x01\x02\0").is_err_and(|reason| reason.contains("binary")));
}

#[test]
fn a_panic_in_a_reader_is_a_reason() {
    static ODD: [Format; 1] =
        [Format { name: "odd", extensions: &["odd"], read: |_| panic!("seven is not a number"), ..BY_EXTENSION }];
    let bytes = Arc::new(b"x".to_vec());
    let read = extract_with(&ODD, &ExtractLimits::default(), Path::new("a.odd"), &bytes).expect("a thread");
    let Unreadable(reason) = read.expect_err("it panics");
    assert_eq!(reason, "the odd reader panicked: seven is not a number");
}

/// What the reader that hangs waits for.
static GATE: std::sync::Mutex<Option<Receiver<()>>> = std::sync::Mutex::new(None);

#[test]
fn a_hang_in_a_reader_is_a_reason_and_plain_text_is_read_meanwhile() {
    fn hang(_: &Source) -> Result<Text, Unreadable> {
        let gate = GATE.lock().expect("no test panics with it").take();
        let _ = gate.map(|gate| gate.recv());
        Err(Unreadable("the gate is open".into()))
    }
    static ODD: [Format; 2] = [
        Format { name: "odd", extensions: &["odd"], read: hang, ..BY_EXTENSION },
        Format { sniff: |_| true, read: plain::read, ..AS_IT_IS },
    ];
    let (open, gate) = channel();
    *GATE.lock().expect("no test panics with it") = Some(gate);
    let limits = ExtractLimits::default().with_time(Duration::from_millis(50));
    let bytes = Arc::new(b"just words".to_vec());
    let read = |path: &str| extract_with(&ODD, &limits, Path::new(path), &bytes);
    let late = read("a.odd").expect_err("it hangs").to_string();
    assert_eq!(late, "the odd reader did not finish within the file's time budget of 50ms");
    assert_eq!(read("a.txt").expect("a thread").expect("it is text").text, "just words");
    drop(open);
}

#[test]
fn a_reader_that_stops_when_its_time_is_over_has_not_read_the_file() {
    static SLOW: [Format; 1] = [Format {
        name: "slow",
        extensions: &["slow"],
        read: |source| {
            let mut out = source.out();
            while out.goes_on() {
                out.block("word");
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(out.finish("slow", None))
        },
        ..BY_EXTENSION
    }];
    let limits = ExtractLimits::default().with_time(Duration::from_millis(20));
    let late = extract_with(&SLOW, &limits, Path::new("a.slow"), &Arc::new(b"x".to_vec())).expect_err("half of it");
    assert_eq!(late.to_string(), "the slow reader did not finish within the file's time budget of 20ms");
}

#[test]
fn limits_without_end_are_limits() {
    let none = ExtractLimits::default()
        .with_text_bytes(usize::MAX)
        .with_unpacked_bytes(u64::MAX)
        .with_entries(usize::MAX)
        .with_time(Duration::MAX);
    for name in ["letter.docx", "budget.xlsx", "invoice.pdf", "tender.epub"] {
        let (all, most) = (try_read(&none, name, &fixture(name)), extract(Path::new(name), &fixture(name)));
        assert_eq!(all.expect("it is read").text, most.expect("it is read").text);
    }
}
