//! Workbooks of Excel 97 to 2003. Other documents of that time are told by their name only.

use std::{
    io::{Cursor, Read},
    time::Instant,
};

use calamine::{Data, Reader, Xls};
use cfb::CompoundFile;

use super::{
    Source, Text, Unreadable,
    xlsx::{Rows, shown_time},
};

/// The library makes room for whole rectangles, with no more than this many cells in all sheets here.
const MOST_CELLS: u64 = 1 << 22;
/// Records that begin and end a sheet or chart, and one that says where a sheet is.
const BEGIN: u16 = 0x0809;
const END: u16 = 0x000A;
const SHEET: u16 = 0x0085;

pub(super) fn is_compound(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1])
}

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    check(source)?;
    let damaged = |error| Unreadable(format!("it is no readable workbook: {error}"));
    let mut workbook = Xls::new(Cursor::new(source.bytes)).map_err(damaged)?;
    let mut out = source.out();
    for (name, range) in workbook.worksheets() {
        out.heading(1, &name);
        let mut table = Rows::new(&mut out);
        for (row, column, value) in range.used_cells() {
            table.cell(row as u32, column as u32, shown(value));
            if !table.out.goes_on() {
                break;
            }
        }
        table.end();
    }
    Ok(out.finish("Excel workbook", None))
}

/// Refuses what the library would follow in circles or make too much room for.
fn check(source: &Source) -> Result<(), Unreadable> {
    let damaged = |error| Unreadable(format!("its compound file is damaged: {error}"));
    // This library, unlike the other, checks that chains of sectors do not meet.
    let mut file = CompoundFile::open(Cursor::new(source.bytes)).map_err(damaged)?;
    if file.walk().take(source.limits.entries).any(|entry| entry.is_stream() && entry.len() > source.bytes.len() as u64) {
        return Err(Unreadable("its compound file lies about its length".into()));
    }
    if file.exists("/EncryptedPackage") {
        return Err(Unreadable("it is encrypted with a password".into()));
    }
    let name = ["/Workbook", "/Book"].into_iter().find(|name| file.is_stream(name));
    let name =
        name.ok_or_else(|| Unreadable("it is a document of an old Office program, of which only Excel's are read".into()))?;
    let mut records = Vec::new();
    let stream = file.open_stream(name).map_err(damaged)?;
    stream.take(source.bytes.len() as u64).read_to_end(&mut records).map_err(damaged)?;
    if cells(&records, source) > MOST_CELLS {
        return Err(Unreadable(format!("its sheets span more than {MOST_CELLS} cells")));
    }
    Ok(())
}

/// Cells of the rectangles that the sheets declare or span, in all. Walks as the library does: each sheet that is listed, wherever
/// it is said to start, without the charts in it.
fn cells(stream: &[u8], source: &Source) -> u64 {
    let sheets = Records(stream).take_while(|(kind, _)| *kind != END).filter(|(kind, _)| *kind == SHEET);
    let mut total = 0u64;
    for (_, data) in sheets {
        if total > MOST_CELLS || Instant::now() >= source.until {
            break;
        }
        let start = usize::try_from(long(data, 0)).ok().and_then(|start| stream.get(start..));
        total = total.saturating_add(start.map_or(0, rectangle));
    }
    total
}

/// The larger of what one sheet declares and what it spans, counted from its first row and column.
fn rectangle(sheet: &[u8]) -> u64 {
    let (mut declared, mut rows, mut columns, mut charts) = (0u64, 0u64, 0u64, 0usize);
    for (kind, data) in Records(sheet).skip(1) {
        match kind {
            BEGIN => charts += 1,
            END if charts == 0 => break,
            END => charts -= 1,
            _ if charts > 0 => {}
            // Dimensions, of Excel 5 with short rows, later with long ones. Where the last row is above the first, the library
            // makes room for billions.
            0x0200 => {
                let is_long = data.len() >= 14;
                let (first, last) = if is_long { (long(data, 0), long(data, 4)) } else { (short(data, 0), short(data, 2)) };
                let columns = short(data, if is_long { 10 } else { 6 });
                declared = declared.max(if first > last { u64::MAX } else { last.saturating_mul(columns) });
            }
            // Values of cells, and formulas.
            0x0006 | 0x00BD | 0x00D6 | 0x00FD | 0x0203..=0x0205 | 0x027E => {
                rows = rows.max(short(data, 0) + 1);
                // The last column of several cells stands at the end.
                let last = if kind == 0x00BD { short(data, data.len().saturating_sub(2)) } else { 0 };
                columns = columns.max(short(data, 2).max(last) + 1);
            }
            _ => {}
        }
    }
    declared.max(rows * columns)
}

/// The kinds and contents of records, one after the other.
struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_at_checked(4)?;
        let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let (data, rest) = rest.split_at(length.min(rest.len()));
        self.0 = rest;
        Some((u16::from_le_bytes([head[0], head[1]]), data))
    }
}

fn short(data: &[u8], at: usize) -> u64 {
    data.get(at..at + 2).map_or(0, |bytes| u64::from(u16::from_le_bytes([bytes[0], bytes[1]])))
}

fn long(data: &[u8], at: usize) -> u64 {
    short(data, at) | short(data, at + 2) << 16
}

fn shown(value: &Data) -> String {
    match value {
        Data::DateTime(time) => shown_time(time),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::ExtractLimits;

    fn record(kind: u16, data: &[u16]) -> Vec<u8> {
        let head = [kind, data.len() as u16 * 2];
        head.iter().chain(data).flat_map(|short| short.to_le_bytes()).collect()
    }

    #[test]
    fn a_sheet_is_as_large_as_it_says_or_spans() {
        let number = |row, column| record(0x0203, &[row, column, 0, 0, 0, 0, 0]);
        let sheet = |records: &[Vec<u8>]| rectangle(&[&[record(BEGIN, &[0; 8])], records].concat().concat());
        assert_eq!(sheet(&[number(9, 0), number(0, 4), record(END, &[]), number(99, 99)]), 50);
        assert_eq!(sheet(&[record(0x0200, &[0, 0, 200, 0, 0, 3, 0])]), 600);
        assert_eq!(sheet(&[record(0x0200, &[0, 0, 0, 1, 0, 256, 0])]), 65_536 * 256);
        assert_eq!(sheet(&[record(0x0200, &[5, 0, 1, 0, 0, 3, 0])]), u64::MAX, "the last row is above the first");
        // A chart in between has rows of its own.
        assert_eq!(sheet(&[number(9, 0), record(BEGIN, &[0; 8]), number(999, 0), record(END, &[]), number(0, 4)]), 50);
    }

    #[test]
    fn a_sheet_that_is_listed_again_and_again_is_counted_each_time() {
        let limits = ExtractLimits::default();
        let source = Source { bytes: &[], extension: "xls", limits: &limits, until: limits.until() };
        let list = |sheets: u16| (0..sheets).flat_map(|_| record(SHEET, &[4 * 12 + 4, 0, 0, 0])).collect::<Vec<_>>();
        let sheet = [record(BEGIN, &[0; 8]), record(0x0200, &[0, 0, 1000, 0, 0, 10, 0]), record(END, &[])].concat();
        let stream = [list(4), record(END, &[]), sheet].concat();
        assert_eq!(cells(&stream, &source), 40_000);
    }
}
