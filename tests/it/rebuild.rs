//! Rebuilding a store for another model, killed.

use std::{process::Stdio, thread::sleep, time::Instant};

use super::{
    faults::signal,
    support::{Place, err, out},
};

const NOTES: usize = 40;

#[test]
fn whatever_moment_a_rebuild_is_killed_at_the_store_answers_whole_by_the_old_model_or_the_new() {
    let place = Place::new();
    for i in 0..NOTES {
        let text = "Some words about a subject that fill a line of a note. ".repeat(10);
        place.write(&format!("{i:02}.md"), &format!("# Note {i}\n\nIt is about subject{i}.\n\n{text}"));
    }
    let settings = ["int8", "fp32"].map(|precision| {
        let file = place.files().with_file_name(format!("{precision}.toml"));
        std::fs::write(&file, format!("[embedding]\nprecision = \"{precision}\"\n")).expect("a file is written");
        file.to_str().expect("text").to_owned()
    });
    let files = place.files();
    let files = files.to_str().expect("text");
    let rebuild = |model: usize| place.run(&["--settings", &settings[model], "index", "--rebuild", files]);
    let ask = |model: usize| place.run(&["--settings", &settings[model], "query", "subject7", "--no-rerank", "--json"]);

    assert_eq!(rebuild(0).status.code(), Some(0));
    // To fp32 and back.
    let [to_fp32, to_int8] = [1, 0].map(|model| {
        let started = Instant::now();
        let whole = rebuild(model);
        assert_eq!(whole.status.code(), Some(0), "{}", err(&whole));
        started.elapsed()
    });
    let (mut kills, mut kept, mut taken) = (0, 0, 0);
    for round in 0..12u32 {
        let (old, new, whole_run) = if round % 2 == 0 { (0, 1, to_fp32) } else { (1, 0, to_int8) };
        let mut child = place
            .command("search", &["--settings", &settings[new], "index", "--rebuild", files])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the example starts");
        // From when the model is loaded to when the store is tidied up.
        sleep(whole_run * (2 + round * 5 % 12) / 14);
        signal("KILL", child.id());
        kills += usize::from(child.wait().expect("the child ends").code().is_none());
        assert_eq!(place.documents(), NOTES, "kill {round}");
        let answers = [ask(old), ask(new)];
        let (answer, refusal) = match answers[0].status.code() {
            Some(0) => (&answers[0], &answers[1]),
            _ => (&answers[1], &answers[0]),
        };
        let counted = if answers[0].status.code() == Some(0) { &mut kept } else { &mut taken };
        *counted += 1;
        assert!(
            out(answer).contains("07.md") && out(answer).contains("\"ran\""),
            "kill {round}: {} {}",
            out(answer),
            err(answer)
        );
        assert!(err(refusal).contains("model"), "kill {round}: {}", err(refusal));
        let ended = rebuild(new);
        assert_eq!(ended.status.code(), Some(0), "{}", err(&ended));
        assert!(out(&ended).contains(&format!("{NOTES} unchanged")), "no file is read again: {}", out(&ended));
        assert_eq!((place.documents(), ask(new).status.code()), (NOTES, Some(0)), "kill {round}");
        assert!(!place.store().with_file_name("store.rebuilding").exists());
    }
    eprintln!("{kills} kills; {kept} times the old store answered, {taken} times the new one");
    assert!(kills >= 4 && kept > 0, "{kills} runs were stopped before they ended, {kept} of them before the new store stood");
}
