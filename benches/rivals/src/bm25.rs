//! Words alone: milliseconds for the best 120 texts of tantivy with its English stemmer, texts included; in one line of JSON.
//!
//! The index is in a folder, as a program would keep it, in one segment, and is made anew in each run. The first round fills caches
//! and is not counted.

use std::{fs, path::Path, time::Instant};

use serde_json::{Value, json};
use tantivy::{
    Index, IndexWriter, TantivyDocument,
    collector::TopDocs,
    doc,
    query::QueryParser,
    schema::{IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value as _},
};

use crate::Result;

const POOL: usize = 120;
const ROUNDS: usize = 4;
const WRITER_BYTES: usize = 200 << 20;

pub fn measure(texts: &[String], queries: &Path, folder: &Path) -> Result {
    let queries: Vec<Value> = serde_json::from_slice(&fs::read(queries)?)?;
    let mut schema = Schema::builder();
    let stems = TextFieldIndexing::default().set_tokenizer("en_stem").set_index_option(IndexRecordOption::WithFreqs);
    let field = schema.add_text_field("text", TextOptions::from(STORED).set_indexing_options(stems));
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let started = Instant::now();
    let index = Index::create_in_dir(folder, schema.build())?;
    let mut writer: IndexWriter = index.writer(WRITER_BYTES)?;
    for text in texts {
        writer.add_document(doc!(field => text.as_str()))?;
    }
    writer.commit()?;
    writer.merge(&index.searchable_segment_ids()?).wait()?;
    let built = started.elapsed().as_secs_f64();
    let searcher = index.reader()?.searcher();
    let parser = QueryParser::for_index(&index, vec![field]);
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        for query in &queries {
            let started = Instant::now();
            let text = query["text"].as_str().ok_or("a query has no text")?;
            // People's questions have signs that mean something to its query language.
            let (parsed, _) = parser.parse_query_lenient(text);
            let mut characters = 0;
            for (_, address) in searcher.search(&parsed, &TopDocs::with_limit(POOL).order_by_score())? {
                let found: TantivyDocument = searcher.doc(address)?;
                characters += found.get_first(field).and_then(|value| value.as_str()).map_or(0, str::len);
            }
            std::hint::black_box(characters);
            if round > 0 {
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times[times.len() * share / 100];
    let line = json!({ "name": "tantivy", "n": texts.len(), "p50_ms": at(50), "p95_ms": at(95), "build_seconds": built });
    println!("{line}");
    Ok(())
}
