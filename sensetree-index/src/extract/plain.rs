//! Everything else that is text: prose, source code, JSON, CSV, logs.

use super::{Source, Text, Unreadable, decode::decode};
use crate::{chunk::Structure, headings::Outline};

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    let decoded = decode(source.bytes, None)?;
    Ok(Text { note: decoded.note("text"), text: decoded.text, structure: Structure::Plain, outline: Outline::default() })
}
