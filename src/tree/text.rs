//! The tree for a terminal.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::{
    MeaningTree, TreeNode, heat,
    name::{fitted, visible},
    plural,
};

const BAR_COLUMNS: usize = 8;
const SCORE_COLUMNS: usize = 4;
/// A narrower terminal gets lines that are too long.
const NARROWEST: usize = 24;
/// Narrower terminals get no bars.
const WITH_BARS: usize = 50;
const BRANCH_COLUMNS: usize = 3;
const GAP: usize = 2;

/// From cool to hot.
const HEAT: [Style; 4] =
    [Style::new().dimmed(), AnsiColor::Cyan.on_default(), AnsiColor::Yellow.on_default(), AnsiColor::Red.on_default()];
const QUIET: Style = Style::new().dimmed();

/// Whether text for a terminal is coloured. Up to the caller, who knows where it goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Colours {
    /// Plain text.
    #[default]
    None,
    /// ANSI escape sequences, in the terminal's own sixteen colours.
    Ansi,
}

/// How a [`MeaningTree`] is written for a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextOptions {
    width: usize,
    depth: usize,
    colours: Colours,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 80, depth: usize::MAX, colours: Colours::None }
    }
}

impl TextOptions {
    /// Columns of the terminal; 80 by default, at least 24.
    #[must_use]
    pub fn with_width(mut self, columns: usize) -> Self {
        self.width = columns.max(NARROWEST);
        self
    }

    /// Levels below the root; all by default. Counts and scores are always those of the whole tree.
    #[must_use]
    pub fn with_depth(mut self, levels: usize) -> Self {
        self.depth = levels;
        self
    }

    /// Whether to colour by relevance; not by default.
    #[must_use]
    pub fn with_colours(mut self, colours: Colours) -> Self {
        self.colours = colours;
        self
    }

    fn paint(&self, style: Style, text: &str) -> String {
        match self.colours {
            Colours::Ansi if !text.is_empty() => format!("{style}{text}{style:#}"),
            _ => text.to_owned(),
        }
    }
}

/// A node and how it hangs on those before it.
struct Row<'a> {
    branches: String,
    node: &'a TreeNode,
}

impl MeaningTree {
    /// One line for each folder and file: its name, a bar and a number for its relevance, and for a folder how many files are
    /// in it. No line is wider than the terminal; names that are too long are cut in the middle, and characters that would
    /// not be seen are spelt out.
    ///
    /// The bar is as long as the score; the colour tells how warm the score is among those of this tree.
    pub fn to_text(&self, options: &TextOptions) -> String {
        let note = self.note.as_deref().map(visible);
        if self.is_empty() {
            return format!("Nothing to show: {}.\n", note.unwrap_or_default());
        }
        let mut rows = vec![Row { branches: String::new(), node: &self.root }];
        collect(&self.root, "", options.depth, &mut rows);
        let counts = |node: &TreeNode| if node.is_folder() { plural(node.files, "file") } else { String::new() };
        let count_columns = rows.iter().map(|row| counts(row.node).width()).max().unwrap_or(0);
        let bar_columns = if options.width < WITH_BARS { 0 } else { BAR_COLUMNS + 1 };
        let right = GAP + bar_columns + SCORE_COLUMNS + if count_columns > 0 { 2 + count_columns } else { 0 };
        let room = options.width.saturating_sub(right).max(4);
        let labels: Vec<(String, String)> = rows.iter().map(|row| label(row, room)).collect();
        let left = labels.iter().map(|(branches, name)| branches.width() + name.width()).max().unwrap_or(0);
        let range = self.range();
        let mut text = String::new();
        for (row, (branches, name)) in rows.iter().zip(labels) {
            let style = HEAT[heat(row.node.score, range)];
            let gap = " ".repeat(left - branches.width() - name.width() + GAP);
            let name = options.paint(if row.node.is_folder() { style.bold() } else { style }, &name);
            let bar = if bar_columns > 0 { format!("{:<BAR_COLUMNS$} ", bar(row.node.score)) } else { String::new() };
            let bar = options.paint(style, &bar);
            let count = counts(row.node);
            let count = if count.is_empty() { count } else { options.paint(QUIET, &format!("  {count:>count_columns$}")) };
            let branches = options.paint(QUIET, &branches);
            let _ = writeln!(text, "{branches}{name}{gap}{bar}{:.2}{count}", row.node.score);
        }
        if let Some(note) = note {
            let _ = writeln!(text, "{}", options.paint(QUIET, &note));
        }
        text
    }
}

fn collect<'a>(node: &'a TreeNode, before: &str, levels: usize, rows: &mut Vec<Row<'a>>) {
    if levels == 0 {
        return;
    }
    for (place, child) in (1..).zip(&node.children) {
        let last = place == node.children.len();
        rows.push(Row { branches: format!("{before}{}", if last { "└─ " } else { "├─ " }), node: child });
        collect(child, &format!("{before}{}", if last { "   " } else { "│  " }), levels - 1, rows);
    }
}

/// Branches and name in `room` columns together. Deep down the name is worth more than the branches.
fn label(row: &Row<'_>, room: usize) -> (String, String) {
    let mut branches = row.branches.clone();
    let most = room / 2;
    if branches.width() > most {
        let levels = (most.saturating_sub(1) / BRANCH_COLUMNS).max(1);
        let skip = branches.chars().count() - levels * BRANCH_COLUMNS;
        branches = format!("…{}", branches.chars().skip(skip).collect::<String>());
    }
    let slash = if row.node.is_folder() && !row.node.name.ends_with('/') { "/" } else { "" };
    let name = format!("{}{slash}", visible(&row.node.name));
    let name = fitted(&name, room.saturating_sub(branches.width())).into_owned();
    (branches, name)
}

/// A bar of eighths of a column.
fn bar(score: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (score.clamp(0.0, 1.0) * (BAR_COLUMNS * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}
