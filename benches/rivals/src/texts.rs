//! Lines of `{"text": …}`, and documents cut to chunks as the indexer cuts plain text: 1000 characters, of which 150 overlap.

use std::{fs, io::Write, path::Path};

use serde_json::{Value, json};
use text_splitter::{ChunkConfig, TextSplitter};

use crate::Result;

const CHUNK_CHARS: usize = 1000;
const OVERLAP: usize = 150;

pub fn read(path: &Path) -> Result<Vec<String>> {
    let text = |line: &str| Ok(serde_json::from_str::<Value>(line)?["text"].as_str().ok_or("a line has no text")?.to_owned());
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?.lines().map(text).collect()
}

pub fn cut(documents: &Path, texts: &Path) -> Result {
    let splitter = TextSplitter::new(ChunkConfig::new(CHUNK_CHARS).with_overlap(OVERLAP)?);
    let mut file = std::io::BufWriter::new(fs::File::create(texts)?);
    for document in read(documents)? {
        for text in splitter.chunks(&document) {
            writeln!(file, "{}", json!({ "text": text }))?;
        }
    }
    Ok(file.flush()?)
}
