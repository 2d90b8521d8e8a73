//! ZIP archives that are one document: which kind, and their parts. Archives inside of them stay closed.

use std::io::{Cursor, Read};

use zip::ZipArchive;

use super::{Source, Text, Unreadable, docx, epub, odf, pptx, xlsx};

/// A kind of packed document.
struct Package {
    /// A part that only this kind has.
    part: &'static str,
    /// What the part starts with; empty where its name is enough.
    starts: &'static str,
    read: fn(&Source, &mut Parts) -> Result<Text, Unreadable>,
}

const PACKAGES: &[Package] = &[
    Package { part: "word/document.xml", starts: "", read: docx::read },
    Package { part: "ppt/presentation.xml", starts: "", read: pptx::read },
    Package { part: "xl/workbook.xml", starts: "", read: xlsx::read },
    Package { part: "mimetype", starts: "application/epub+zip", read: epub::read },
    Package { part: "mimetype", starts: "application/vnd.oasis.opendocument.", read: odf::read },
    Package { part: "META-INF/container.xml", starts: "", read: epub::read },
];

pub(super) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

pub(super) fn read(source: &Source) -> Result<Text, Unreadable> {
    let mut parts = Parts::open(source)?;
    for package in PACKAGES {
        if parts.has(package.part) && parts.starts_with(package.part, package.starts) {
            return (package.read)(source, &mut parts);
        }
    }
    Err(Unreadable("it is an archive; what is packed in it is not read".into()))
}

/// The parts of a packed document, unpacked one by one within one budget.
pub(super) struct Parts<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
    source: Source<'a>,
}

impl<'a> Parts<'a> {
    fn open(source: &Source<'a>) -> Result<Self, Unreadable> {
        let most = source.limits.entries;
        // Counted in the bytes, since the library makes room for all entries before it can be asked.
        if count(source.bytes, b"PK\x01\x02", most) > most {
            return Err(Unreadable(format!("it has more than {most} entries")));
        }
        let archive = ZipArchive::new(Cursor::new(source.bytes)).map_err(damaged)?;
        Ok(Self { archive, left: source.limits.unpacked_bytes, source: *source })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.archive.index_for_name(name).is_some()
    }

    /// Names of all parts, in order of the archive.
    pub(super) fn names(&self) -> Vec<String> {
        self.archive.file_names().flatten().map(|name| name.into_owned()).collect()
    }

    /// A part that the document cannot do without.
    pub(super) fn part(&mut self, name: &str) -> Result<Vec<u8>, Unreadable> {
        self.optional(name)?.ok_or_else(|| Unreadable(format!("its part {name} is missing")))
    }

    /// A part that some documents have.
    pub(super) fn optional(&mut self, name: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        let Some(index) = self.archive.index_for_name(name) else { return Ok(None) };
        let entry = self.archive.by_index(index).map_err(damaged)?;
        let mut bytes = Vec::new();
        let read = entry.take(self.left.saturating_add(1)).read_to_end(&mut bytes);
        if bytes.len() as u64 > self.left {
            return Err(self.source.unpacks_to_too_much());
        }
        read.map_err(|error| Unreadable(format!("its part {name} cannot be unpacked: {error}")))?;
        self.left -= bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// Checks that these parts unpack to no more than is left, for a library that unpacks them itself.
    pub(super) fn measure(&mut self, is_meant: impl Fn(&str) -> bool) -> Result<(), Unreadable> {
        for name in self.names().iter().filter(|name| is_meant(name)) {
            let Some(index) = self.archive.index_for_name(name) else { continue };
            let entry = self.archive.by_index(index).map_err(damaged)?;
            let size = std::io::copy(&mut entry.take(self.left.saturating_add(1)), &mut std::io::sink());
            // What is damaged is the library's to tell.
            self.left = self.left.checked_sub(size.unwrap_or(0)).ok_or_else(|| self.source.unpacks_to_too_much())?;
        }
        Ok(())
    }

    fn starts_with(&mut self, name: &str, start: &str) -> bool {
        let mut first = vec![0; start.len()];
        let Some(index) = self.archive.index_for_name(name) else { return false };
        start.is_empty()
            || self
                .archive
                .by_index(index)
                .is_ok_and(|mut entry| entry.read_exact(&mut first).is_ok() && first == start.as_bytes())
    }
}

/// Where a target that a part at `base` names lies in the archive.
pub(super) fn resolve(base: &str, target: &str) -> String {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let folder = if target.starts_with('/') { "" } else { base.rsplit_once('/').map_or("", |(folder, _)| folder) };
    let mut path: Vec<&str> = folder.split('/').collect();
    for step in target.split('/') {
        match step {
            ".." => drop(path.pop()),
            "." => {}
            step => path.push(step),
        }
    }
    path.retain(|step| !step.is_empty());
    path.join("/")
}

fn count(bytes: &[u8], mark: &[u8], most: usize) -> usize {
    bytes.windows(mark.len()).filter(|window| *window == mark).take(most.saturating_add(1)).count()
}

fn damaged(error: impl std::fmt::Display) -> Unreadable {
    Unreadable(format!("its ZIP archive is damaged: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_from_the_part_that_names_them() {
        assert_eq!(resolve("ppt/slides/slide1.xml", "../notesSlides/n.xml"), "ppt/notesSlides/n.xml");
        assert_eq!(resolve("ppt/presentation.xml", "/ppt/slides/a.xml"), "ppt/slides/a.xml");
        assert_eq!(resolve("content.opf", "text/ch1.xhtml#part"), "text/ch1.xhtml");
        assert_eq!(resolve("a/b", "../../../etc/passwd"), "etc/passwd");
    }
}
