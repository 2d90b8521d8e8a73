//! Source code, kept as it is and cut where its syntax allows.

use super::{Source, Text, Unreadable, plain};
use crate::chunk::{Language, Structure};

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    let mut text = plain::read(source)?;
    if let Some(language) = Language::of(source.extension) {
        text.structure = Structure::Code(language);
    }
    Ok(text)
}
