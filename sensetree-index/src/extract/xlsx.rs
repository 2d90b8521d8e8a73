//! Excel workbooks: each sheet is a table under its name.

use std::io::Cursor;

use calamine::{DataRef, ExcelDateTime, Reader, Xlsx};

use super::{
    Source, Text, Unreadable,
    docx::core_properties,
    out::Out,
    package::Parts,
    xml::{self, Node},
};

/// Empty cells between two others that keep the place of the second; more is layout.
const MOST_EMPTY_CELLS: u32 = 50;

pub(super) fn read(source: &Source, parts: &mut Parts) -> Result<Text, Unreadable> {
    let [title, author] = core_properties(parts)?;
    check_strings(parts)?;
    parts.measure(|name| !name.starts_with("xl/media/"))?;
    let damaged = |error| Unreadable(format!("it is no readable workbook: {error}"));
    let mut workbook = Xlsx::new(Cursor::new(source.bytes)).map_err(damaged)?;
    let mut out = source.out();
    if let Some(author) = author {
        out.block(&format!("Author: {author}"));
    }
    let mut unread = Vec::new();
    for name in workbook.sheet_names() {
        out.heading(1, &name);
        // A sheet that holds a chart has no cells.
        let Ok(mut cells) = workbook.worksheet_cells_reader(&name) else { continue };
        let mut table = Rows::new(&mut out);
        loop {
            match cells.next_cell() {
                Ok(Some(cell)) => {
                    let (row, column) = cell.get_position();
                    table.cell(row, column, shown_ref(cell.get_value()));
                }
                Ok(None) => break,
                Err(error) => {
                    unread.push(format!("the sheet {name} is damaged: {error}"));
                    break;
                }
            }
            if !table.out.goes_on() {
                break;
            }
        }
        table.end();
    }
    let mut text = out.finish("Excel workbook", title);
    for note in unread {
        text.note = format!("{}, {note}", text.note);
    }
    Ok(text)
}

/// The library makes room for as many strings as the part says that it has.
fn check_strings(parts: &mut Parts) -> Result<(), Unreadable> {
    for name in parts.names().iter().filter(|name| name.to_lowercase().ends_with("strings.xml")) {
        let strings = parts.part(name)?;
        let mut count = 0;
        xml::walk(&strings, |node| {
            if let Node::Start(element) = node {
                count = element.get("uniqueCount").and_then(|count| count.parse().ok()).unwrap_or(0).max(count);
                return element.name != "sst";
            }
            true
        })?;
        if count > strings.len() {
            return Err(Unreadable("its table of strings lies about its length".into()));
        }
    }
    Ok(())
}

/// Cells that come row by row, as rows of a table.
pub(super) struct Rows<'a> {
    pub(super) out: &'a mut Out,
    row: u32,
    cells: Vec<String>,
    /// The column after the last cell.
    column: u32,
}

impl<'a> Rows<'a> {
    pub(super) fn new(out: &'a mut Out) -> Self {
        Self { out, row: 0, cells: Vec::new(), column: 0 }
    }

    pub(super) fn cell(&mut self, row: u32, column: u32, text: String) {
        if row != self.row {
            self.end_row();
            self.row = row;
        }
        if text.trim().is_empty() {
            return;
        }
        let gap = column.saturating_sub(self.column).min(MOST_EMPTY_CELLS);
        self.cells.extend((0..gap).map(|_| String::new()));
        self.cells.push(text);
        self.column = column.saturating_add(1);
    }

    pub(super) fn end(mut self) {
        self.end_row();
        self.out.end_table();
    }

    fn end_row(&mut self) {
        self.out.row(&std::mem::take(&mut self.cells));
        self.column = 0;
    }
}

fn shown_ref(value: &DataRef) -> String {
    match value {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number.to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(yes) => yes.to_string(),
        DataRef::DateTime(time) => shown_time(time),
        DataRef::Error(error) => error.to_string(),
        DataRef::Empty => String::new(),
    }
}

/// As ISO 8601 writes it; without the time when that is midnight, without the date when there is none.
pub(super) fn shown_time(time: &ExcelDateTime) -> String {
    if time.is_duration() {
        let seconds = (time.as_f64() * 86_400.0).round() as i64;
        return format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let clock = format!("{hour:02}:{minute:02}:{second:02}");
    if (0.0..1.0).contains(&time.as_f64()) {
        return clock;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    if (hour, minute, second) == (0, 0, 0) { date } else { format!("{date} {clock}") }
}
