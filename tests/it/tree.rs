//! `examples/tree.rs` as a person runs it: a process, with the real model and the real database.

use std::{fs, process::Output};

use serde_json::Value;

use super::support::{Place, err, example, out};

fn show(place: &Place, arguments: &[&str]) -> Output {
    place.command("tree", arguments).output().expect("the example starts")
}

const FILES: &[(&str, &str)] = &[
    ("house/heating/boiler.md", "# Boiler\n\nThe plumber serviced the boiler and the radiators in May.\n"),
    ("house/heating/invoice.txt", "Invoice for repairing the heating system, 240 euros.\n"),
    ("kitchen/bread.md", "# Bread\n\nMix flour, water and salt, and wait.\n"),
];

#[test]
fn a_person_sees_which_folder_a_question_is_about() {
    let place = Place::indexed(FILES);
    let json = show(&place, &["who repaired the heating?", "--json"]);
    assert_eq!(json.status.code(), Some(0), "{}", err(&json));
    let tree: Value = serde_json::from_str(&out(&json)).expect("one JSON object");
    let root = &tree["root"];
    assert_eq!((&root["files"], &root["children"][0]["name"]), (&3.into(), &"house".into()), "{tree:#}");
    assert_eq!(root["children"][0]["score"], root["score"]);
    assert!(root["score"].as_f64() > root["children"][1]["score"].as_f64(), "{tree:#}");

    let text = out(&show(&place, &["who repaired the heating?"]));
    assert!(text.contains("├─ house/heating/") && text.contains("bread.md"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80) && !text.contains('\u{1b}'), "{text}");
    let shallow = out(&show(&place, &["who repaired the heating?", "--depth", "1"]));
    assert!(shallow.contains("house/heating/") && !shallow.contains("boiler.md"), "{shallow}");

    let kitchen = place.files().join("kitchen");
    let under = out(&show(&place, &["heating", "--under", kitchen.to_str().expect("text"), "--json"]));
    assert_eq!(serde_json::from_str::<Value>(&under).expect("JSON")["root"]["files"], 1);

    let page = place.store().with_file_name("tree.html");
    let written = show(&place, &["heating", "--html", page.to_str().expect("text")]);
    assert_eq!(written.status.code(), Some(0), "{}", err(&written));
    let html = fs::read_to_string(&page).expect("the page is written");
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("boiler.md"));

    fs::remove_file(place.files().join("kitchen/bread.md")).expect("the file is removed");
    assert!(!out(&show(&place, &["bread"])).contains("bread.md"), "a file that is gone is not shown");
}

#[test]
fn an_empty_tree_and_an_error_have_exit_codes_of_their_own() {
    let place = Place::indexed(&FILES[..1]);
    let blank = show(&place, &["  "]);
    assert_eq!((blank.status.code(), out(&blank).as_str()), (Some(1), "Nothing to show: blank query.\n"));
    let elsewhere = show(&place, &["boiler", "--under", "/no/such/folder"]);
    assert_eq!((elsewhere.status.code(), out(&elsewhere).as_str()), (Some(1), "Nothing to show: nothing was found.\n"));
    let nowhere = place.store().with_file_name("none");
    let missing = example("tree").arg("--store").arg(&nowhere).arg("boiler").output().expect("it starts");
    assert_eq!(missing.status.code(), Some(2));
    assert!(err(&missing).starts_with("error: ") && err(&missing).contains(nowhere.to_str().expect("text")), "{}", err(&missing));
    assert!(!nowhere.exists(), "a question creates no store");
}
