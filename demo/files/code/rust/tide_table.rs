//! Reads the harbour office's tide table and answers "how deep is it at half past four?".
//!
//! The table is a text file, one line per high or low water:
//! `2024-08-07 05:12 H 9.31`. Times are minutes since midnight in here.

use std::fmt;

/// High or low water.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TideKind {
    High,
    Low,
}

/// One turning point of the tide.
#[derive(Debug, Clone, PartialEq)]
pub struct TideEvent {
    pub date: String,
    pub minute_of_day: u32,
    pub kind: TideKind,
    pub height_m: f64,
}

/// Why a line could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseTideError {
    pub line_number: usize,
    pub reason: &'static str,
}

impl fmt::Display for ParseTideError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line_number, self.reason)
    }
}

impl std::error::Error for ParseTideError {}

/// Parses the whole table. Blank lines and lines starting with `#` are skipped.
pub fn parse_tide_table(text: &str) -> Result<Vec<TideEvent>, ParseTideError> {
    let mut events = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let fail = |reason| ParseTideError { line_number: index + 1, reason };
        let mut fields = line.split_whitespace();
        let date = fields.next().ok_or_else(|| fail("no date"))?.to_string();
        let (hours, minutes) = fields
            .next()
            .and_then(|clock| clock.split_once(':'))
            .ok_or_else(|| fail("no time"))?;
        let hours: u32 = hours.parse().map_err(|_| fail("bad hour"))?;
        let minutes: u32 = minutes.parse().map_err(|_| fail("bad minute"))?;
        let kind = match fields.next() {
            Some("H") => TideKind::High,
            Some("L") => TideKind::Low,
            _ => return Err(fail("neither H nor L")),
        };
        let height_m = fields
            .next()
            .and_then(|height| height.parse().ok())
            .ok_or_else(|| fail("bad height"))?;
        events.push(TideEvent { date, minute_of_day: hours * 60 + minutes, kind, height_m });
    }
    Ok(events)
}

/// Height of the water between two turning points, by a half cosine.
///
/// Returns `None` if `minute` does not lie between the two.
pub fn interpolate_height(before: &TideEvent, after: &TideEvent, minute: u32) -> Option<f64> {
    let (start, end) = (before.minute_of_day, after.minute_of_day);
    if start >= end || minute < start || minute > end {
        return None;
    }
    let phase = f64::from(minute - start) / f64::from(end - start) * std::f64::consts::PI;
    let middle = (before.height_m + after.height_m) / 2.0;
    let half_range = (before.height_m - after.height_m) / 2.0;
    Some(middle + half_range * phase.cos())
}
