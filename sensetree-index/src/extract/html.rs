//! HTML, turned into Markdown: the structure stays, what only browsers need goes.

use std::{rc::Rc, sync::LazyLock};

use encoding_rs::Encoding;
use htmd::{Element, HtmlToMarkdown, Node, element_handler::Handlers};

use super::{Source, Text, Unreadable, decode::decode};
use crate::{chunk::Structure, headings::Outline};

/// Elements whose content is not what the page says.
const SKIPPED: &[&str] = &["script", "style", "noscript", "template", "nav", "svg", "title", "iframe", "object"];
/// The converter goes one call deeper for each level, and a stack that overflows would take the whole process with it.
const MOST_LEVELS: usize = 256;
/// Elements that nest without limit. The parser looks through all open ones at each of them, so a page that opens a hundred
/// thousand takes a minute; it is refused before it is parsed.
const NESTING: &[&str] = &[
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figure",
    "footer",
    "form",
    "header",
    "hgroup",
    "main",
    "menu",
    "ol",
    "section",
    "ul",
];
/// Generous, since what is counted in the source may stand in a script.
const MOST_OPEN: usize = 4 * MOST_LEVELS;
/// Elements whose lines are indented, and by how many characters at most.
const INDENTING: &[&str] = &["blockquote", "dd", "ol", "ul"];
const INDENT: usize = 4;
/// Where a declaration of the encoding must stand, by the standard.
const DECLARED_WITHIN: usize = 1024;

/// Links become their text and pictures their description: addresses are noise in a text that is searched by meaning.
static CONVERTER: LazyLock<HtmlToMarkdown> = LazyLock::new(|| {
    HtmlToMarkdown::builder()
        .skip_tags(SKIPPED.to_vec())
        .add_handler(vec!["a"], |handlers: &dyn Handlers, element: Element| Some(handlers.walk_children(element.node)))
        .add_handler(vec!["img"], |_: &dyn Handlers, element: Element| {
            let alt = element.attrs.iter().find(|attribute| &*attribute.name.local == "alt")?;
            Some(alt.value.to_string().into())
        })
        .build()
});

pub(super) fn sniff(bytes: &[u8]) -> bool {
    let start = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    let starts = |with: &[u8]| start.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    starts(b"<!doctype html") || starts(b"<html")
}

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    let (text, note) = markdown(source)?;
    let mut outline = Outline::of(&text);
    outline.title = title(&decode(source.bytes, declared(source.bytes))?.text).or(outline.title);
    Ok(Text { note, text, structure: Structure::Markdown, outline })
}

/// The page as Markdown, and the format with its encoding.
pub(super) fn markdown(source: &Source) -> Result<(String, String), Unreadable> {
    let decoded = decode(source.bytes, declared(source.bytes))?;
    let html = decoded.text.trim_start_matches('\u{FEFF}');
    let too_deep = || Unreadable(format!("its elements are nested more than {MOST_LEVELS} deep"));
    if most_open(html, NESTING) > MOST_OPEN {
        return Err(too_deep());
    }
    // Each line of a list or quote is indented by all that it lies in, so a page of a few megabytes can become gigabytes.
    let indented = most_open(html, INDENTING).saturating_mul(INDENT);
    if indented.saturating_mul(html.matches('<').count()) > source.limits.text_bytes.saturating_mul(4) {
        return Err(Unreadable("its lists or quotes are nested too deep for a page of its length".into()));
    }
    let tree = CONVERTER.html_to_tree(html).map_err(|error| Unreadable(format!("its HTML cannot be parsed: {error}")))?;
    if levels(&tree) > MOST_LEVELS {
        return Err(too_deep());
    }
    Ok((unescaped(&CONVERTER.tree_to_markdown(&tree)), decoded.note("HTML")))
}

/// `<meta charset="…">` or the `charset=` of a `content` attribute.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARED_WITHIN)]).to_ascii_lowercase();
    let (_, after) = head.split_once("charset=")?;
    let label = after.trim_start_matches(['"', '\'', ' ']).split(['"', '\'', ' ', ';', '>', '/']).next()?;
    Encoding::for_label(label.as_bytes())
}

/// The most elements of these names that are open at once, as far as the source shows.
fn most_open(html: &str, counted: &[&str]) -> usize {
    let (mut open, mut most) = (0usize, 0);
    for tag in html.split('<').skip(1) {
        let closes = tag.starts_with('/');
        let name = tag.trim_start_matches('/');
        let name = &name[..name.bytes().take_while(u8::is_ascii_alphanumeric).count()];
        if counted.iter().any(|element| element.eq_ignore_ascii_case(name)) {
            open = if closes { open.saturating_sub(1) } else { open + 1 };
            most = most.max(open);
        }
    }
    most
}

/// Depth of the tree, found without recursion.
fn levels(tree: &Rc<Node>) -> usize {
    let mut deepest = 0;
    let mut open = vec![(tree.clone(), 1)];
    while let Some((node, level)) = open.pop() {
        deepest = deepest.max(level);
        open.extend(node.children.borrow().iter().map(|child| (child.clone(), level + 1)));
    }
    deepest
}

/// The text of the first `<title>`; the first one in the source is the document's unless a comment holds one.
fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower[open..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    // The title holds no elements, only character references, which the parser resolves.
    let text = unescaped(&CONVERTER.convert(&html[start..end].replace('<', "&lt;")).ok()?);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// Takes back the backslashes inside lines that keep Markdown literal: `open\_ledger` is not what a person searches for.
/// Code blocks have none.
fn unescaped(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut in_code = false;
    for line in markdown.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            text.push_str(line);
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find('\\') {
            text.push_str(&rest[..at]);
            let escaped = rest[at + 1..].chars().next().filter(|c| matches!(c, '\\' | '*' | '_' | '`' | '[' | ']' | '<'));
            match escaped {
                Some(c) => text.push(c),
                None => text.push('\\'),
            }
            rest = &rest[at + 1 + escaped.map_or(0, char::len_utf8)..];
        }
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::extract::ExtractLimits;

    fn try_page(html: &[u8]) -> Result<Text, Unreadable> {
        let limits = ExtractLimits::default();
        read(&Source { bytes: html, extension: "html", limits: &limits, until: Instant::now() + limits.time })
    }

    fn page(html: &str) -> Text {
        try_page(html.as_bytes()).expect("it is HTML")
    }

    #[test]
    fn structure_stays_and_browser_matter_goes() {
        let text = page(
            "<!doctype html><html><head><title>Night &amp; ferry</title><style>p{}</style><script>x()</script></head><body>\
             <nav><a href='/'>Home</a></nav><h1>Ferry</h1><p>Runs <a href='https://example.org/x'>at night</a>, \
             <img src='data:image/png;base64,AAAA' alt='a ferry'> see open_ledger_file.</p><ul><li>one</li></ul>\
             <pre><code>let a_b = '\\*';</code></pre></body></html>",
        );
        assert_eq!(text.text, "# Ferry\n\nRuns at night, a ferry see open_ledger_file.\n\n*   one\n\n```\nlet a_b = '\\*';\n```");
        assert_eq!(text.outline.title.as_deref(), Some("Night & ferry"));
    }

    #[test]
    fn without_a_title_the_first_heading_is_it() {
        assert_eq!(page("<h2>Only <b>this</b></h2><p>x").outline.title.as_deref(), Some("Only this"));
    }

    #[test]
    fn a_declared_encoding_is_read() {
        let mut bytes = b"<meta http-equiv=content-type content='text/html; charset=windows-1251'><p>".to_vec();
        bytes.extend(encoding_rs::WINDOWS_1251.encode("да").0.iter());
        let text = try_page(&bytes).expect("it is HTML");
        assert_eq!((text.text.as_str(), text.note.as_str()), ("да", "HTML, windows-1251"));
    }

    #[test]
    fn deep_nesting_is_a_reason_and_neither_an_overflow_nor_a_long_wait() {
        let started = std::time::Instant::now();
        for tag in ["<div>", "<DIV class=a>", "<ul><li>", "<b>", "<span>x"] {
            let html = format!("{}x", tag.repeat(200_000));
            // As small a stack as any caller's thread may have.
            let read =
                std::thread::Builder::new().stack_size(2 << 20).spawn(move || try_page(html.as_bytes()).map(|text| text.text));
            let text = read.expect("a thread").join().expect("no overflow");
            assert!(text.is_err_and(|Unreadable(reason)| reason.contains("nested")), "{tag}");
        }
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }

    #[test]
    fn many_elements_side_by_side_are_no_nesting() {
        let html = "<div><ul><li>one<li>two</ul></div>".repeat(5000);
        assert!(page(&html).text.contains("two"));
    }

    #[test]
    fn the_deepest_page_that_is_read_fits_the_stack() {
        for (tag, levels) in
            [("<div>", 1), ("<b>", 1), ("<ul><li>", 2), ("<blockquote>", 1), ("<table><tr><td>", 4), ("<span>", 1)]
        {
            let html = format!("{}x", tag.repeat(MOST_LEVELS / levels - 4));
            let read =
                std::thread::Builder::new().stack_size(2 << 20).spawn(move || try_page(html.as_bytes()).map(|text| text.text));
            let text = read.expect("a thread").join().expect("no overflow");
            assert!(text.is_ok_and(|text| text.contains('x')), "{tag}");
        }
    }

    #[test]
    fn broken_pages_are_read_as_far_as_they_go() {
        for html in ["<title>a", "<", "<p", "<a href=", "<!--", "&#xFFFFFFFF;a", "</p></div>a", "<?xml version='1.0'?><html><p>a"]
        {
            let _ = page(html);
        }
    }
}
