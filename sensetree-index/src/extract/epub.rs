//! Electronic books: XHTML chapters in the order of their spine.

use std::collections::HashMap;

use super::{
    Source, Text, Unreadable, html,
    package::{Parts, resolve},
    xml::{self, Node},
};

pub(super) fn read(source: &Source, parts: &mut Parts) -> Result<Text, Unreadable> {
    if parts.optional("META-INF/encryption.xml")?.is_some() && parts.has("META-INF/rights.xml") {
        return Err(Unreadable("it is protected against reading".into()));
    }
    let mut package = None;
    xml::walk(&parts.part("META-INF/container.xml")?, |node| {
        if let Node::Start(element) = node
            && element.name == "rootfile"
        {
            package = element.get("full-path").map(|path| path.into_owned());
        }
        package.is_none()
    })?;
    let package = package.ok_or_else(|| Unreadable("its container names no package".into()))?;
    let opf = parts.part(&package)?;
    let [title, author] = xml::texts(&opf, ["title", "creator"]);
    let chapters = spine(&opf, &package, source.limits.entries)?;
    let mut out = source.out();
    if let Some(author) = author {
        out.block(&format!("Author: {author}"));
    }
    let mut unread = 0;
    for name in &chapters {
        if !out.goes_on() {
            break;
        }
        match parts.optional(name)?.map(|chapter| html::markdown(&Source { bytes: &chapter, ..*source })) {
            Some(Ok((chapter, _))) => out.block(&chapter),
            Some(Err(_)) | None => unread += 1,
        }
    }
    let mut text = out.finish("EPUB book", title);
    if unread > 0 {
        text.note = format!("{}, {unread} of {} chapters missing or damaged", text.note, chapters.len());
    }
    Ok(text)
}

/// The parts of the book in reading order.
fn spine(opf: &[u8], at: &str, most: usize) -> Result<Vec<String>, Unreadable> {
    let mut items = HashMap::new();
    let mut spine = Vec::new();
    xml::walk(opf, |node| {
        if let Node::Start(element) = node {
            match element.name {
                "item" => {
                    if let (Some(id), Some(target)) = (element.get("id"), element.get("href")) {
                        items.insert(id.into_owned(), resolve(at, &unescaped(&target)));
                    }
                }
                "itemref" => spine.extend(element.get("idref").map(|id| id.into_owned())),
                _ => {}
            }
        }
        spine.len() <= most
    })?;
    Ok(spine.iter().filter_map(|id| items.get(id).cloned()).collect())
}

/// A path from a URL: `%20` is a space.
fn unescaped(url: &str) -> String {
    let mut bytes = Vec::with_capacity(url.len());
    let mut rest = url.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = (first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok()).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_in_paths_are_resolved() {
        assert_eq!(unescaped("Ch%201%C3%A4.xhtml%"), "Ch 1ä.xhtml%");
    }
}
