//! Where a graph keeps the weights that are not in its own file.
//!
//! Graphs above 2 GiB, and many smaller ones, keep their tensors in files beside them, under any name (`model.onnx_data`,
//! `Constant_7_attr__value`); only the graph says which. Read here from `onnx.proto`: a tensor has pairs of strings
//! `external_data`, one of which is `location`, a path relative to the graph's folder.
//!
//! A walk over the wire format rather than a decoder, which would want the whole file in memory: tensors are skipped on disk.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

/// Messages of `onnx.proto` on the way to a location: each field number that leads on, and to what.
#[derive(Debug, Clone, Copy)]
enum Message {
    Model,
    Function,
    Graph,
    Node,
    Attribute,
    SparseTensor,
    Tensor,
    Pair,
}

impl Message {
    fn field(self, number: u64) -> Option<Self> {
        match (self, number) {
            (Self::Model, 7) | (Self::Attribute, 6 | 11) => Some(Self::Graph),
            (Self::Model, 25) => Some(Self::Function),
            (Self::Graph, 1) | (Self::Function, 7) => Some(Self::Node),
            (Self::Node, 5) | (Self::Function, 11) => Some(Self::Attribute),
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::SparseTensor, 1 | 2) => Some(Self::Tensor),
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Some(Self::SparseTensor),
            (Self::Tensor, 13) => Some(Self::Pair),
            _ => None,
        }
    }
}

/// Locations deeper than this are not looked for; graphs nest a handful of levels.
const DEEPEST: u32 = 64;

/// The locations that a graph names, in order, each once.
///
/// # Errors
/// When the file cannot be read or is not an ONNX graph.
pub(super) fn locations(graph: &Path) -> io::Result<BTreeSet<String>> {
    let file = File::open(graph)?;
    let end = file.metadata()?.len();
    let mut walk = Walk { file: BufReader::new(file), at: 0, found: BTreeSet::new() };
    walk.message(Message::Model, end, 0)?;
    Ok(walk.found)
}

struct Walk {
    file: BufReader<File>,
    at: u64,
    found: BTreeSet<String>,
}

impl Walk {
    fn message(&mut self, message: Message, end: u64, depth: u32) -> io::Result<()> {
        let (mut key, mut value) = (String::new(), String::new());
        while self.at < end {
            let tag = self.varint()?;
            let (number, kind) = (tag >> 3, tag & 7);
            let length = match kind {
                0 => {
                    self.varint()?;
                    continue;
                }
                1 => 8,
                2 => self.varint()?,
                5 => 4,
                _ => return Err(damaged()),
            };
            let field_end = self.at.checked_add(length).filter(|&e| e <= end).ok_or_else(damaged)?;
            match (kind, message, message.field(number)) {
                (2, _, Some(inner)) if depth < DEEPEST => self.message(inner, field_end, depth + 1)?,
                (2, Message::Pair, _) if number == 1 => key = self.text(length)?,
                (2, Message::Pair, _) if number == 2 => value = self.text(length)?,
                _ => {}
            }
            self.skip_to(field_end)?;
        }
        if matches!(message, Message::Pair) && key == "location" {
            self.found.insert(value);
        }
        Ok(())
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.file.read_exact(&mut byte)?;
            self.at += 1;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(value);
            }
        }
        Err(damaged())
    }

    fn text(&mut self, length: u64) -> io::Result<String> {
        // The length was checked against the file's, so a damaged one cannot ask for more memory than that.
        let mut bytes = Vec::new();
        self.at += (&mut self.file).take(length).read_to_end(&mut bytes)? as u64;
        String::from_utf8(bytes).map_err(|_| damaged())
    }

    fn skip_to(&mut self, end: u64) -> io::Result<()> {
        let rest = end.checked_sub(self.at).ok_or_else(damaged)?;
        self.file.seek_relative(i64::try_from(rest).map_err(|_| damaged())?)?;
        self.at = end;
        Ok(())
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is not an ONNX graph, or it was cut short")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One length-delimited field.
    fn field(number: u64, content: &[u8]) -> Vec<u8> {
        let mut bytes = varint(number << 3 | 2);
        bytes.extend(varint(content.len() as u64));
        bytes.extend(content);
        bytes
    }

    fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    fn tensor(location: &str) -> Vec<u8> {
        let pair = |key: &str, value: &str| field(13, &[field(1, key.as_bytes()), field(2, value.as_bytes())].concat());
        // A data type as a plain number, a name, then what is looked for.
        [varint(2 << 3), varint(1), field(8, b"weights"), pair("location", location), pair("offset", "0")].concat()
    }

    fn found(bytes: &[u8]) -> io::Result<Vec<String>> {
        let folder = std::env::temp_dir().join(format!("external-{}-{:p}", std::process::id(), bytes));
        std::fs::write(&folder, bytes).expect("the file is written");
        let found = locations(&folder);
        std::fs::remove_file(&folder).expect("the file is removed");
        Ok(found?.into_iter().collect())
    }

    #[test]
    fn weights_are_found_in_initializers_and_in_constants() {
        let initializer = field(5, &tensor("model.onnx_data"));
        let constant = field(1, &field(5, &field(5, &tensor("Constant_7_attr__value"))));
        let inner_graph = field(1, &field(5, &field(6, &field(5, &tensor("branch.data")))));
        let graph = field(7, &[initializer.clone(), constant, inner_graph, initializer].concat());
        let model = [varint(1 << 3), varint(8), graph].concat();
        assert_eq!(found(&model).expect("it is a graph"), ["Constant_7_attr__value", "branch.data", "model.onnx_data"]);
    }

    #[test]
    fn a_graph_that_was_cut_is_an_error_and_ends() {
        let model = field(7, &field(5, &tensor("model.onnx_data")));
        for cut in 1..model.len() {
            assert!(found(&model[..cut]).is_err(), "cut at {cut} of {}", model.len());
        }
        assert!(found(&[0xff; 40]).is_err());
        assert!(found(b"<html>an error page</html>").is_err());
        assert!(found(b"").expect("an empty file names nothing").is_empty());
    }
}
