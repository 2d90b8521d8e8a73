//! The page in a real browser.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{
    MeaningTree,
    tests::{HOSTILE, tree_of},
};

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

const FILES: &[(&str, f64)] = &[
    ("/home/mara/House/Renovation 2024/Heating/heat pump offer Lindner GmbH & Co. KG.pdf", 0.72),
    ("/home/mara/House/Renovation 2024/Heating/old boiler service log.xlsx", 0.66),
    ("/home/mara/House/Renovation 2024/Permits/Bescheid_Bauamt_2024-03-11_Az_63-2024-001182_Dachgeschossausbau.pdf", 0.57),
    ("/home/mara/House/Renovation 2024/costs.xlsx", 0.64),
    ("/home/mara/House/land register.pdf", 0.36),
    ("/home/mara/Invoices/2024/03/4471-plumber.pdf", 0.52),
    ("/home/mara/Invoices/2023/11/3901-dentist.pdf", 0.33),
    ("/home/mara/Mail/Archive/2024/Re: Re: Fwd: appointment for the heat pump on Thursday.eml", 0.46),
    ("/home/mara/Code/energy-model/src/building/walls/layers/materials/thermalconductivityofinsulationmaterials.json", 0.3),
    ("/home/mara/Übersetzungen/住宅改修の見積書.docx", 0.34),
    ("/home/mara/Übersetzungen/عرض أسعار التدفئة.pdf", 0.32),
    ("/home/mara/todo.txt", 0.2),
];

/// Measures the page in a frame of this width, which can be narrower than a window, and puts what it found into the title. The
/// frame takes the colour scheme of what surrounds it.
const MEASURE: &str = r#"<!DOCTYPE html><meta charset="utf-8">
<style>:root { color-scheme: SCHEME } iframe { width: WIDTHpx; height: 800px; border: 0 }</style>
<iframe srcdoc="PAGE"></iframe>
<script>
onload = () => {
  const page = frames[0].document, style = e => frames[0].getComputedStyle(e);
  const all = what => [...page.querySelectorAll(what)], seen = e => e.checkVisibility();
  const distinct = list => [...new Set(list.map(Math.round))];
  const light = colour => colour.match(/\d+/g).slice(0, 3)
    .map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const contrast = (a, b) => (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  const paper = light(style(page.body).backgroundColor);
  const rows = all("summary, .file").filter(seen), names = all(".name").filter(seen);
  const bars = all(".bar").filter(seen), track = e => light(style(e).backgroundColor);
  const focused = all("summary, a").filter(seen).map(e => {
    e.focus({ focusVisible: true });
    return page.activeElement === e && style(e).outlineStyle !== "none";
  });
  const open = () => all(".file").filter(seen).length, before = open();
  document.title = JSON.stringify({
    dark: paper < .5,
    rows: rows.length,
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    sideways: page.querySelector("main").scrollWidth - page.querySelector("main").clientWidth,
    cut: names.filter(e => e.scrollWidth > e.clientWidth).length,
    overlaps: rows.filter(e => e.querySelector(".name").getBoundingClientRect().right
      > e.querySelector(".bar").getBoundingClientRect().left).length,
    scores: distinct(all(".score").filter(seen).map(e => e.getBoundingClientRect().right)).length,
    bars: distinct(bars.map(e => e.getBoundingClientRect().left)).length,
    shares: bars.map(e => Math.round(100 * e.firstChild.getBoundingClientRect().width / e.getBoundingClientRect().width)),
    text: Math.min(...all("h1, header p, .name, .count, .score").filter(seen).map(e => contrast(light(style(e).color), paper))),
    fill: Math.min(...bars.map(e => contrast(light(style(e.firstChild).backgroundColor), track(e)))),
    focusable: focused.length,
    unfocused: focused.filter(right => !right).length,
    closes: (all("summary")[0].click(), before - open()),
  });
};
</script>"#;

/// The browser; none when CHROMIUM says so.
fn browser() -> Option<PathBuf> {
    let starts = |program: &PathBuf| Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success());
    match std::env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        Some(none) if none == "none" => {
            eprintln!("SKIPPED: no browser shows the meaning tree's page, since CHROMIUM=none");
            None
        }
        Some(named) => {
            let program = PathBuf::from(named);
            assert!(starts(&program), "CHROMIUM names {}, which does not start; name another, or unset it", program.display());
            Some(program)
        }
        None => Some(BROWSERS.map(PathBuf::from).into_iter().find(starts).unwrap_or_else(|| {
            panic!(
                "there is no browser to show the meaning tree's page: run `make setup-tests` (on Debian `apt-get install chromium`), \
                 name the program of a Chromium or Chrome in CHROMIUM, or set CHROMIUM=none to leave this test out"
            )
        })),
    }
}

fn run(browser: &Path, page: &Path, arguments: &[OsString]) -> String {
    let profile = page.with_extension("profile");
    let out = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .arg(page)
        .output()
        .expect("the browser starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("the DOM is text")
}

/// The document after the browser has read it, as it writes it back.
fn dom(browser: &Path, html: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("tree.html");
    fs::write(&page, html).expect("the page is written");
    run(browser, &page, &["--dump-dom".into()])
}

fn screenshot(browser: &Path, html: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let (page, shot) = (folder.path().join("tree.html"), folder.path().join("tree.png"));
    fs::write(&page, html).expect("the page is written");
    let mut to = OsString::from("--screenshot=");
    to.push(&shot);
    run(browser, &page, &[to, "--window-size=900,700".into()]);
    fs::read(&shot).expect("there is a screenshot")
}

fn measured(browser: &Path, tree: &MeaningTree, width: usize, scheme: &str) -> Value {
    let page = tree.to_html().replace('&', "&amp;").replace('"', "&quot;");
    let html = MEASURE.replace("SCHEME", scheme).replace("WIDTH", &width.to_string()).replace("PAGE", &page);
    let dom = dom(browser, &html);
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).expect("the script has run").0;
    serde_json::from_str(title).unwrap_or_else(|e| panic!("{e}: {title}"))
}

#[test]
fn a_browser_shows_hostile_names_as_text() {
    let Some(browser) = browser() else { return };
    let files: Vec<(&str, f64)> = HOSTILE.iter().map(|path| (*path, 0.5)).collect();
    let mut tree = tree_of(&files);
    tree.query = "</title><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">".to_owned();
    let dom = dom(&browser, &tree.to_html());
    assert_eq!(dom.matches("<li>").count(), files.len(), "{dom}");
    assert!(!dom.contains("<script") && !dom.contains("<img") && !dom.contains("<title>run"), "{dom}");
    // What the browser writes back is what it took for text.
    assert!(
        dom.contains("<bdi>&lt;script&gt;alert(1).md</bdi>") && dom.contains("<bdi>&lt;img src=x onerror=alert(1)&gt;.md</bdi>"),
        "{dom}"
    );
    assert!(!dom.contains(" onmouseover=\""), "{dom}");
}

#[test]
fn a_page_forbids_itself_to_run_scripts() {
    let Some(browser) = browser() else { return };
    let script = "<script>document.title='run'</script></main>";
    let page = tree_of(FILES).to_html().replace("</main>", script);
    assert!(dom(&browser, &page).contains("<title>query</title>"));
    let free = page.replace("default-src 'none'", "default-src 'unsafe-inline'");
    assert!(dom(&browser, &free).contains("<title>run</title>"), "the browser would have run it");
}

#[test]
fn names_bars_and_scores_stand_in_line_and_can_be_read_and_reached_on_any_screen() {
    let Some(browser) = browser() else { return };
    let tree = tree_of(FILES).collapsed();
    for width in [1280, 400] {
        for scheme in ["light", "dark"] {
            let found = measured(&browser, &tree, width, scheme);
            let number = |name: &str| found[name].as_f64().unwrap_or(f64::NAN);
            let place = format!("{width} pixels, {scheme}: {found:#}");
            assert_eq!(found["dark"], scheme == "dark", "{place}");
            assert_eq!(number("rows") as usize, tree.to_html().matches("<li>").count(), "{place}");
            for nothing in ["overflow", "sideways", "cut", "overlaps", "unfocused"] {
                assert_eq!(number(nothing), 0.0, "{nothing} at {place}");
            }
            assert_eq!((number("scores"), number("bars")), (1.0, 1.0), "{place}");
            let shares: Vec<u64> = found["shares"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect();
            assert!(shares.first() == Some(&72) && shares.last() == Some(&20), "{place}");
            assert!(number("text") >= 4.5 && number("fill") >= 3.0, "{place}");
            assert_eq!((number("focusable"), number("closes")), (number("rows"), 5.0), "{place}");
        }
    }
}

#[test]
fn a_browser_paints_the_page() {
    let Some(browser) = browser() else { return };
    let files: Vec<(String, f64)> =
        (0..1000).map(|i| (format!("/n/{}/{}/file {i}.md", i % 9, i % 4), f64::from(i) / 1000.0)).collect();
    let shot = screenshot(&browser, &tree_of(&files).to_html());
    let side = |at: usize| u32::from_be_bytes(shot[at..at + 4].try_into().expect("four bytes"));
    assert_eq!((side(16), side(20)), (900, 700), "the size in the header of the PNG");
    let blank = screenshot(&browser, "<!DOCTYPE html>");
    assert!(shot.len() > 5 * blank.len(), "{} bytes, an empty page has {}", shot.len(), blank.len());
}
