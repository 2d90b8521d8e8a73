//! Everything else that is text: prose, source code, JSON, CSV, logs.

use super::{Text, Unreadable, decode::decode};
use crate::{chunk::Structure, headings::Outline};

pub(super) fn read(bytes: &[u8]) -> Result<Text, Unreadable> {
    let decoded = decode(bytes, None)?;
    Ok(Text { note: decoded.note("text"), text: decoded.text, structure: Structure::Plain, outline: Outline::default() })
}
