//! Markdown, kept as it is.

use super::{Text, Unreadable, decode::decode};
use crate::{chunk::Structure, headings::Outline};

pub(super) fn read(bytes: &[u8]) -> Result<Text, Unreadable> {
    let decoded = decode(bytes, None)?;
    let outline = Outline::of(&decoded.text);
    Ok(Text { note: decoded.note("Markdown"), text: decoded.text, structure: Structure::Markdown, outline })
}
