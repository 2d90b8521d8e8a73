//! What the PDF library would follow in circles, or make too much room for, is taken out before it sees it.
//!
//! A stack that overflows or memory that runs out takes the process along, so these cannot be left to the watch.

use std::{collections::HashSet, io::Read};

use flate2::read::ZlibDecoder;
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};

use super::super::{Source, Unreadable};

/// Forms drawn inside forms; the library goes one call deeper for each.
const MOST_FORMS: usize = 12;
/// Levels of the page tree over a page.
const MOST_LEVELS: usize = 64;
/// Characters that the tables of one font may speak of.
const MOST_CODES: u64 = 1 << 18;
/// LZW packs to 1 : 2700 at most and cannot be measured with what is here.
const MOST_LZW: usize = 100 << 10;

/// Before the library reads the file: everything packed in it unpacks to less than the limit.
pub(super) fn check_bytes(source: &Source) -> Result<(), Unreadable> {
    let (mut left, mut rest) = (source.limits.unpacked_bytes, source.bytes);
    while let Some(at) = find(rest, b"stream") {
        rest = &rest[at + b"stream".len()..];
        let data = rest.trim_ascii_start();
        // The first byte of zlib data with any window, and of nothing else that follows the word.
        if data.first().is_some_and(|first| first & 0x0F == 8) {
            left = left.checked_sub(unpacked(data, left)).ok_or_else(|| source.unpacks_to_too_much())?;
        }
    }
    Ok(())
}

/// Bytes that this unpacks to, or one more than `most`.
fn unpacked(zlib: &[u8], most: u64) -> u64 {
    let mut counted = 0;
    let mut buffer = [0; 1 << 14];
    let mut decoder = ZlibDecoder::new(zlib);
    while counted <= most {
        match decoder.read(&mut buffer) {
            Ok(0) | Err(_) => return counted,
            Ok(count) => counted += count as u64,
        }
    }
    most.saturating_add(1)
}

/// Before the library reads the pages.
pub(super) fn tame(document: &mut Document, source: &Source) -> Result<(), Unreadable> {
    for page in document.get_pages().into_values() {
        if levels_over(document, page) > MOST_LEVELS {
            return Err(Unreadable("its page tree runs in a circle".into()));
        }
    }
    let ids: Vec<ObjectId> = document.objects.keys().copied().collect();
    let mut left = source.limits.unpacked_bytes;
    for id in ids {
        let Some(object) = document.objects.get_mut(&id) else { continue };
        if let Object::Stream(stream) = object {
            calm(stream);
            // Encrypted streams could not be measured before.
            let data = stream.content.as_slice();
            if data.first().is_some_and(|first| first & 0x0F == 8) {
                left = left.checked_sub(unpacked(data, left)).ok_or_else(|| source.unpacks_to_too_much())?;
            }
        }
        tame_fonts(document, id);
    }
    cut_circles(document);
    Ok(())
}

/// Empties pictures, which the library would read as text, and what is packed so that it cannot be measured.
fn calm(stream: &mut Stream) {
    let is_picture = stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Image");
    let filters = stream.filters().unwrap_or_default();
    let packed = filters.iter().filter(|filter| matches!(**filter, b"FlateDecode" | b"Fl" | b"LZWDecode" | b"LZW")).count();
    let is_lzw = filters.iter().any(|filter| matches!(*filter, b"LZWDecode" | b"LZW"));
    if is_picture || packed > 1 || (is_lzw && stream.content.len() > MOST_LZW) {
        empty(stream);
    } else if filters.is_empty() {
        // An indirect filter is not looked up by the library either.
        stream.dict.remove(b"Filter");
    }
    // A form without resources uses those of the page, and so may draw itself.
    if stream.dict.get(b"Subtype").and_then(Object::as_name).is_ok_and(|kind| kind == b"Form") && !stream.dict.has(b"Resources") {
        stream.dict.set("Resources", Dictionary::new());
    }
}

fn empty(stream: &mut Stream) {
    stream.dict.remove(b"Filter");
    stream.dict.remove(b"DecodeParms");
    stream.set_content(Vec::new());
}

fn levels_over(document: &Document, page: ObjectId) -> usize {
    let parent = |id: &ObjectId| document.get_dictionary(*id).ok()?.get(b"Parent").and_then(Object::as_reference).ok();
    std::iter::successors(Some(page), parent).take(MOST_LEVELS + 1).count()
}

/// Takes out the tables of a font that speak of more characters than there are.
fn tame_fonts(document: &mut Document, id: ObjectId) {
    let Some(font) = document.objects.get(&id).and_then(|object| object.as_dict().ok()) else { return };
    let widths = font.get_deref(b"W", document).and_then(Object::as_array).map_or(0, |widths| spans(document, widths));
    let to_unicode = font.get(b"ToUnicode").and_then(Object::as_reference).ok();
    let map = to_unicode.and_then(|id| document.get_object(id).and_then(Object::as_stream).ok());
    let map = map.and_then(|stream| stream.get_plain_content().ok()).map_or(0, |map| codes(&map));
    let Some(Ok(font)) = document.objects.get_mut(&id).map(Object::as_dict_mut) else { return };
    if widths > MOST_CODES {
        font.remove(b"W");
    }
    if map > MOST_CODES {
        font.remove(b"ToUnicode");
    }
}

/// How many widths `first last width` triples give, in an array that has `first [width …]` pairs as well.
fn spans(document: &Document, widths: &[Object]) -> u64 {
    let plain = |object: &Object| document.dereference(object).ok().and_then(|(_, object)| object.as_float().ok());
    let (mut total, mut at) = (0u64, 0);
    while at + 1 < widths.len() {
        match plain(&widths[at + 1]) {
            Some(last) => {
                let first = plain(&widths[at]).unwrap_or(0.0);
                // Saturates where the numbers are absurd.
                total = total.saturating_add((last - first).max(0.0) as u64);
                at += 3;
            }
            None => at += 2,
        }
    }
    total
}

/// How many characters the ranges of a character map span.
fn codes(map: &[u8]) -> u64 {
    let (mut total, mut rest) = (0u64, map);
    while let Some(at) = find(rest, b"beginbfrange") {
        rest = &rest[at + b"beginbfrange".len()..];
        let end = find(rest, b"endbfrange").unwrap_or(rest.len());
        let text = String::from_utf8_lossy(&rest[..end]);
        let mut numbers = Vec::new();
        let mut depth = 0usize;
        for part in text.split_inclusive(['>', ']', '[']) {
            if let Some((_, hex)) = part.trim_end_matches('>').rsplit_once('<')
                && part.ends_with('>')
                && depth == 0
            {
                let hex: String = hex.split_whitespace().collect();
                numbers.push(u64::from_str_radix(&hex[hex.len().saturating_sub(8)..], 16).unwrap_or(0));
            }
            match part.as_bytes().last() {
                Some(b'[') => depth += 1,
                Some(b']') => {
                    depth = depth.saturating_sub(1);
                    // The list stands where the first target would.
                    numbers.push(0);
                }
                _ => {}
            }
        }
        for range in numbers.chunks(3).filter(|range| range.len() > 1) {
            total = total.saturating_add(range[1].saturating_sub(range[0]));
        }
    }
    total
}

/// Empties each form that would draw itself, or lies too deep in others.
fn cut_circles(document: &mut Document) {
    let mut cut = HashSet::new();
    let mut done = HashSet::new();
    for id in document.objects.keys().copied() {
        // The way down so far: what was entered, and what it draws that was not looked at yet.
        let mut way = vec![(id, forms(document, id))];
        while let Some((_, open)) = way.last_mut() {
            let Some(next) = open.pop() else {
                done.extend(way.pop().map(|(id, _)| id));
                continue;
            };
            if way.len() > MOST_FORMS || way.iter().any(|(id, _)| *id == next) {
                cut.insert(next);
            } else if !done.contains(&next) && !cut.contains(&next) {
                way.push((next, forms(document, next)));
            }
        }
    }
    for id in cut {
        if let Some(Object::Stream(stream)) = document.objects.get_mut(&id) {
            empty(stream);
        }
    }
}

/// The forms in the resources of an object.
fn forms(document: &Document, id: ObjectId) -> Vec<ObjectId> {
    let dict = match document.objects.get(&id) {
        Some(Object::Stream(stream)) => &stream.dict,
        Some(Object::Dictionary(dict)) => dict,
        _ => return Vec::new(),
    };
    let resources = dict.get_deref(b"Resources", document).and_then(Object::as_dict).ok();
    let drawn = resources.and_then(|resources| resources.get_deref(b"XObject", document).and_then(Object::as_dict).ok());
    let ids = drawn.into_iter().flatten().filter_map(|(_, object)| object.as_reference().ok());
    // A reference may point to another one.
    let end = |id: ObjectId| document.dereference(&Object::Reference(id)).ok().and_then(|(end, _)| end).unwrap_or(id);
    ids.map(end).collect()
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let first = what[0];
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == first) {
        if bytes[from + at..].starts_with(what) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_character_maps_are_counted() {
        let map = b"2 beginbfrange\n<0000> <00FF> <0041>\n<0100><0102>[<0041> <0042> <0043>]\nendbfrange\n1 beginbfrange <00> <FFFFFFFF> <0041> endbfrange";
        assert_eq!(codes(map), 255 + 2 + 0xFFFF_FFFF);
    }

    #[test]
    fn what_zlib_unpacks_to_is_counted_up_to_a_limit() {
        let mut packed = flate2::read::ZlibEncoder::new(std::io::repeat(0).take(1_000_000), flate2::Compression::best());
        let mut bytes = Vec::new();
        packed.read_to_end(&mut bytes).expect("memory");
        assert_eq!(unpacked(&bytes, 2_000_000), 1_000_000);
        assert!(unpacked(&bytes, 1000) > 1000);
    }
}
