//! The tree as a page for a browser.

use std::fmt::{self, Display, Formatter, Write};

use super::{
    MeaningTree, TreeNode, heat,
    name::{file_url, visible},
    plural,
};
use crate::ScoreKind;

const STYLE: &str = include_str!("page.css");
/// Up to this many folders and files the page opens with all of them in sight, beyond with the strongest branch.
const ALL_OPEN: usize = 60;

impl MeaningTree {
    /// One page that needs nothing else: no script, no font, no image, no request. Folders open and close by mouse and keyboard,
    /// colours follow the reader's light or dark setting, files link to themselves.
    ///
    /// Names are text, whatever is in them, and the page forbids itself to run or load anything.
    pub fn to_html(&self) -> String {
        let title = visible(&self.query);
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
             <body>\n<main>\n<header>\n<h1><bdi>{title}</bdi></h1>\n",
            title = Text(&title),
        );
        let note = self.note.as_deref().map(visible);
        if self.is_empty() {
            let _ = write!(page, "<p>Nothing to show: {}.</p>\n</header>\n", Text(&note.unwrap_or_default()));
        } else {
            let folders = folders(&self.root);
            let _ = write!(
                page,
                "<p class=\"where\"><bdi>{}</bdi></p>\n<p>{} in {}, {}. Bars show {}; colours compare within this page.</p>\n",
                Text(&visible(&self.root.name)),
                plural(self.root.files, "file"),
                plural(folders, "folder"),
                plural(self.root.chunks, "passage"),
                measure(self.root.score_kind),
            );
            if let Some(note) = note {
                let _ = writeln!(page, "<p class=\"note\">{}</p>", Text(&note));
            }
            page.push_str("</header>\n");
            let rows = Rows { range: self.range(), all_open: folders + self.root.files <= ALL_OPEN };
            rows.list(&mut page, &self.root.children, true);
        }
        page.push_str("</main>\n</body>\n</html>\n");
        page
    }
}

struct Rows {
    range: (f64, f64),
    all_open: bool,
}

impl Rows {
    /// `strongest`: whether the first of them is on the branch that leads to the best file.
    fn list(&self, page: &mut String, nodes: &[TreeNode], strongest: bool) {
        page.push_str("<ul>\n");
        for (place, node) in nodes.iter().enumerate() {
            page.push_str("<li>");
            if node.is_folder() {
                let strongest = strongest && place == 0;
                page.push_str(if strongest || self.all_open { "<details open><summary>" } else { "<details><summary>" });
                self.row(page, node, &plural(node.files, "file"));
                page.push_str("</summary>\n");
                self.list(page, &node.children, strongest);
                page.push_str("</details>");
            } else {
                page.push_str("<div class=\"file\">");
                self.row(page, node, &plural(node.chunks, "passage"));
                page.push_str("</div>");
            }
            page.push_str("</li>\n");
        }
        page.push_str("</ul>\n");
    }

    fn row(&self, page: &mut String, node: &TreeNode, count: &str) {
        let shown = visible(&node.name);
        let name = Name(&shown);
        let url = node.file.as_ref().and_then(|file| file_url(&file.path));
        let slash = if node.is_folder() && !shown.ends_with('/') { "/" } else { "" };
        let _ = match url {
            Some(url) => write!(page, "<a class=\"name\" href=\"{}\"><bdi>{name}</bdi>{slash}</a>", Text(&url)),
            None => write!(page, "<span class=\"name\"><bdi>{name}</bdi>{slash}</span>"),
        };
        let _ = write!(
            page,
            "<span class=\"count\">{count}</span><span class=\"bar h{}\" aria-hidden=\"true\"><i style=\"width:{:.1}%\"></i></span>\
             <span class=\"score\">{:.2}</span>",
            heat(node.score, self.range),
            node.score.clamp(0.0, 1.0) * 100.0,
            node.score,
        );
    }
}

fn folders(node: &TreeNode) -> usize {
    usize::from(node.is_folder()) + node.children.iter().map(folders).sum::<usize>()
}

fn measure(kind: ScoreKind) -> &'static str {
    match kind {
        ScoreKind::Rerank => "the reranker's score of the best passage",
        ScoreKind::Cosine => "how near the best passage is in meaning",
        _ => "the best passage's share of the best score possible",
    }
}

/// A name between tags, which may break into lines where its parts end rather than anywhere.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for part in self.0.split_inclusive(['_', '/']) {
            write!(f, "{}{}", Text(part), if part.ends_with(['_', '/']) { "<wbr>" } else { "" })?;
        }
        Ok(())
    }
}

/// Text between tags or in a quoted attribute.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
