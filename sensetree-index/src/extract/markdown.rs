//! Markdown, kept as it is.

use super::{Source, Text, Unreadable, decode::decode};
use crate::{chunk::Structure, headings::Outline};

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    let decoded = decode(source.bytes, None)?;
    let outline = Outline::of(&decoded.text);
    Ok(Text { note: decoded.note("Markdown"), text: decoded.text, structure: Structure::Markdown, outline })
}
