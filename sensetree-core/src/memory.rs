//! An exact store in memory, with BM25: the reference that other stores are tested against, and enough for small collections.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, PoisonError, RwLock},
};

use async_trait::async_trait;

use crate::{
    Chunk, ChunkId, Document, DocumentInfo, DocumentKey, Embedding, Error, Filter, Fingerprint, Hit, Passage, Result,
    SparseRetriever, Store, StoreStats, order, text::fold,
};

/// Term frequency saturation of BM25.
const K1: f64 = 1.2;
/// Length normalisation of BM25.
const B: f64 = 0.75;

/// Keeps everything in memory and compares the query with every chunk.
///
/// Words are runs of letters and digits, folded by [`fold`]; scripts written without spaces are searched by single characters.
/// BM25 is Lucene's: `idf = ln(1 + (N − n + 0.5) / (n + 0.5))`, k₁ = 1.2, b = 0.75. Statistics are those of the whole store,
/// whatever the filter.
#[derive(Debug)]
pub struct MemoryStore {
    fingerprint: Fingerprint,
    documents: RwLock<BTreeMap<DocumentKey, Entry>>,
}

#[derive(Debug)]
struct Entry {
    info: DocumentInfo,
    chunks: Vec<Chunk>,
    words: Vec<Words>,
}

/// A chunk's words with their counts.
#[derive(Debug, Default)]
struct Words {
    counts: HashMap<String, u32>,
    length: u32,
}

impl MemoryStore {
    /// An empty store for vectors made by this fingerprint.
    pub fn new(fingerprint: Fingerprint) -> Self {
        Self { fingerprint, documents: RwLock::default() }
    }

    fn read<T>(&self, work: impl FnOnce(&BTreeMap<DocumentKey, Entry>) -> T) -> T {
        // Every write replaces whole entries, so a writer that panicked left nothing half done.
        work(&self.documents.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, work: impl FnOnce(&mut BTreeMap<DocumentKey, Entry>) -> T) -> T {
        work(&mut self.documents.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The best `limit` chunks by `score`, those without a score left out.
    fn best(&self, filter: &Filter, limit: usize, score: impl Fn(&Chunk, &Words) -> Option<f64>) -> Vec<Hit> {
        self.read(|documents| {
            let mut scored: Vec<(f64, ChunkId)> = Vec::new();
            for (key, entry) in documents.iter().filter(|(_, entry)| entry.passes(filter)) {
                for (index, (chunk, words)) in (0u32..).zip(entry.chunks.iter().zip(&entry.words)) {
                    scored.extend(score(chunk, words).map(|score| (score, ChunkId::new(key.clone(), index))));
                }
            }
            order::sort_ranked(&mut scored, |s| s.0, |s| &s.1);
            scored.truncate(limit);
            scored.into_iter().map(|(score, id)| documents[&id.key].hit(id, score)).collect()
        })
    }
}

impl Entry {
    fn new(document: Document) -> Self {
        let Document { key, path, stamp, note, chunks } = document;
        let words = chunks.iter().map(|chunk| Words::of(&chunk.text)).collect();
        Self { info: DocumentInfo { key, path: Arc::new(path), stamp, note }, chunks, words }
    }

    fn passes(&self, filter: &Filter) -> bool {
        filter.matches(&self.info.key, self.info.stamp.modified)
    }

    fn hit(&self, id: ChunkId, score: f64) -> Hit {
        let chunk = &self.chunks[id.index as usize];
        let passage = Passage {
            text: chunk.text.clone(),
            path: self.info.path.clone(),
            location: chunk.location.clone(),
            modified: self.info.stamp.modified,
        };
        Hit { id, score: score as f32, passage: Arc::new(passage) }
    }
}

impl Words {
    fn of(text: &str) -> Self {
        let mut words = Self::default();
        for word in split_words(text) {
            *words.counts.entry(word).or_default() += 1;
            words.length += 1;
        }
        words
    }
}

fn split_words(text: &str) -> Vec<String> {
    let folded = fold(text);
    let mut words = Vec::new();
    for run in folded.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        let mut word = String::new();
        for c in run.chars() {
            if written_without_spaces(c) {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.push(c.to_string());
            } else {
                word.push(c);
            }
        }
        words.extend((!word.is_empty()).then_some(word));
    }
    words
}

fn written_without_spaces(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[async_trait]
impl Store for MemoryStore {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    async fn nearest(&self, vector: &Embedding, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        if vector.dimension() != self.fingerprint.dimension() {
            return Err(Error::InvalidEmbedding(format!(
                "the query has {} dimensions, the store has {}",
                vector.dimension(),
                self.fingerprint.dimension()
            )));
        }
        Ok(self.best(filter, limit, |chunk, _| Some(f64::from(vector.cosine(&chunk.embedding).clamp(0.0, 1.0)))))
    }

    async fn commit(&self, documents: Vec<Document>, removed: &[DocumentKey]) -> Result<()> {
        for (at, document) in documents.iter().enumerate() {
            document.check(&self.fingerprint)?;
            if documents[..at].iter().any(|earlier| earlier.key == document.key) {
                return Err(Error::invalid(format!("the document {} stands twice in one commit", document.key)));
            }
        }
        self.write(|stored| {
            for key in removed {
                stored.remove(key);
            }
            stored.extend(documents.into_iter().map(|document| (document.key.clone(), Entry::new(document))));
        });
        Ok(())
    }

    async fn remove(&self, filter: &Filter) -> Result<u64> {
        Ok(self.write(|stored| {
            let before = stored.len();
            stored.retain(|_, entry| !entry.passes(filter));
            (before - stored.len()) as u64
        }))
    }

    async fn documents(&self, filter: &Filter) -> Result<Vec<DocumentInfo>> {
        Ok(self.read(|stored| stored.values().filter(|entry| entry.passes(filter)).map(|e| e.info.clone()).collect()))
    }

    async fn chunks(&self, key: &DocumentKey) -> Result<Vec<Chunk>> {
        Ok(self.read(|stored| stored.get(key).map(|entry| entry.chunks.clone()).unwrap_or_default()))
    }

    async fn stats(&self) -> Result<StoreStats> {
        Ok(self.read(|stored| StoreStats {
            documents: stored.len() as u64,
            chunks: stored.values().map(|entry| entry.chunks.len() as u64).sum(),
            ..StoreStats::default()
        }))
    }

    async fn maintain(&self) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl SparseRetriever for MemoryStore {
    async fn retrieve(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>> {
        let mut wanted = split_words(query);
        wanted.sort();
        wanted.dedup();
        let weights = self.read(|stored| {
            let all = || stored.values().flat_map(|entry| &entry.words);
            let count = all().count() as f64;
            let mean_length = all().map(|words| f64::from(words.length)).sum::<f64>() / count.max(1.0);
            let idf = |word: &String| {
                let having = all().filter(|words| words.counts.contains_key(word)).count() as f64;
                (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
            };
            let idfs: Vec<f64> = wanted.iter().map(idf).collect();
            (idfs, mean_length.max(1.0))
        });
        let (idfs, mean_length) = weights;
        Ok(self.best(filter, limit, |_, words| {
            let norm = K1 * (1.0 - B + B * f64::from(words.length) / mean_length);
            let score: f64 = (wanted.iter().zip(&idfs))
                .filter_map(|(word, idf)| words.counts.get(word).map(|&count| idf * f64::from(count) / (f64::from(count) + norm)))
                .sum();
            (score > 0.0).then_some(score)
        }))
    }
}
