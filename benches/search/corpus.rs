//! What is searched: real texts, many times over, each copy a little different.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use async_trait::async_trait;
use sensetree::{
    Chunk, Document, Embedder, Embedding, Error, Filter, Fingerprint, Location, Result, Store,
    embed::{OnnxEmbedder, runtime::cache_folder},
    eval::{Collection, read_questions},
    index::Indexer,
    memory::MemoryStore,
    store::LanceStore,
};
use serde::{Deserialize, Serialize};

/// Characters of a text that make a chunk, as the indexer cuts by default.
const CHUNK_CHARS: usize = 1000;
/// Queries of each collection.
const QUERIES: usize = 35;
/// Documents of one commit.
const BATCH: usize = 2500;
/// Texts that are embedded at once.
const EMBED: usize = 256;
/// Chunks of one document.
const CHUNKS: usize = 4;
/// Folders of the corpus.
const FOLDERS: usize = 50;
/// One word in so many of a copy is another one.
const OTHER_WORD: usize = 5;
/// What is added to each of a copy's numbers is at most this, so that its cosine with the original is about 0.9.
const TURN: f32 = 0.04;

/// Texts and questions, with their vectors.
pub(crate) struct Originals {
    pub(crate) texts: Vec<(String, Embedding)>,
    pub(crate) queries: Vec<(String, Embedding)>,
}

/// What was seen while a store was filled.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Built {
    pub(crate) commit_seconds: f64,
    pub(crate) maintain_seconds: f64,
    pub(crate) peak_mebibytes: u64,
}

impl Originals {
    /// The texts of the collections in BEIR form that the variable `SENSETREE_BENCH_TEXTS` names (as `PATH` names folders), or of the demo.
    pub(crate) async fn read(embedder: &Arc<OnnxEmbedder>) -> Result<Self> {
        let Some(folders) = std::env::var_os("SENSETREE_BENCH_TEXTS") else { return Self::demo(embedder).await };
        let (mut texts, mut queries) = (Vec::new(), Vec::new());
        for folder in std::env::split_paths(&folders) {
            let collection = Collection::read(folder, "test")?;
            texts.extend(collection.documents().iter().map(|document| first_chars(&document.full_text())));
            queries.extend(collection.judged_queries().take(QUERIES).map(|(_, text)| text.to_owned()));
        }
        texts.retain(|text| !text.trim().is_empty());
        let vectors = Self::embedded(embedder, &texts).await?;
        Ok(Self { texts: texts.into_iter().zip(vectors).collect(), queries: asked(embedder, queries).await? })
    }

    async fn demo(embedder: &Arc<OnnxEmbedder>) -> Result<Self> {
        let demo = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("demo");
        let store = Arc::new(MemoryStore::new(embedder.fingerprint().clone()));
        Indexer::builder(embedder.clone(), store.clone()).build()?.sync(&[demo.join("files")], |_| {}).await?;
        let mut texts = Vec::new();
        for document in store.documents(&Filter::everything()).await? {
            texts.extend(store.chunks(&document.key).await?.into_iter().map(|chunk| (chunk.text, chunk.embedding)));
        }
        let questions = read_questions(demo.join("questions.tsv"))?.into_iter().map(|(question, _)| question).collect();
        Ok(Self { texts, queries: asked(embedder, questions).await? })
    }

    /// The vectors of texts, kept in a store of their own, since making them takes minutes.
    async fn embedded(embedder: &Arc<OnnxEmbedder>, texts: &[String]) -> Result<Vec<Embedding>> {
        let store = open(&folder("originals")?, embedder.fingerprint()).await?;
        let mut known: HashMap<String, Embedding> = HashMap::new();
        for document in store.documents(&Filter::everything()).await? {
            known.extend(store.chunks(&document.key).await?.into_iter().map(|chunk| (chunk.text, chunk.embedding)));
        }
        let missing: Vec<&str> = texts.iter().map(String::as_str).filter(|text| !known.contains_key(*text)).collect();
        for (number, batch) in missing.chunks(EMBED).enumerate() {
            eprint!("\rembedding {} of {}", number * EMBED, missing.len());
            let vectors = embedder.embed_passages(batch).await?;
            let chunks: Vec<Chunk> = batch.iter().zip(vectors).map(|(text, vector)| Chunk::new(*text, vector)).collect();
            known.extend(chunks.iter().map(|chunk| (chunk.text.clone(), chunk.embedding.clone())));
            let name = format!("/{:x}", known.len());
            store.commit(vec![Document { chunks, ..Document::new(name) }], &[]).await?;
        }
        Ok(texts.iter().map(|text| known[text].clone()).collect())
    }

    /// A store of so many chunks, filled unless an earlier run did.
    pub(crate) async fn store(&self, fingerprint: &Fingerprint, chunks: usize) -> Result<(Arc<LanceStore>, Built)> {
        let place = folder(&format!("chunks-{chunks}"))?;
        let store = Arc::new(open(&place, fingerprint).await?);
        let record = place.join("built.json");
        if let Some(built) = std::fs::read(&record).ok().and_then(|json| serde_json::from_slice(&json).ok()) {
            return Ok((store, built));
        }
        let started = Instant::now();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let done = store.stats().await?.chunks as usize;
        let numbers: Vec<usize> = (0..chunks.div_ceil(CHUNKS)).collect();
        for batch in numbers.chunks(BATCH) {
            let documents = batch.iter().map(|&number| self.document(number, chunks, &mut random)).collect::<Result<Vec<_>>>()?;
            let filled = (batch[batch.len() - 1] + 1) * CHUNKS;
            if filled > done {
                store.commit(documents, &[]).await?;
                eprint!("\rfilling: {filled} of {chunks} chunks");
            }
        }
        let commit_seconds = started.elapsed().as_secs_f64();
        eprintln!("\nmaintaining");
        let started = Instant::now();
        store.maintain().await?;
        let maintain_seconds = started.elapsed().as_secs_f64();
        let built = Built { commit_seconds, maintain_seconds, peak_mebibytes: peak_mebibytes() };
        let json = serde_json::to_vec(&built).map_err(|e| Error::other("write down what was measured", e))?;
        std::fs::write(&record, json).map_err(Error::io("write", &record))?;
        Ok((store, built))
    }

    fn document(&self, number: usize, chunks: usize, random: &mut Random) -> Result<Document> {
        let mut document = Document::new(format!("/bench/{:03}/{number}.md", number / 25 % FOLDERS));
        document.stamp.modified = 1_700_000_000_000_000_000 + number as i64 * 1_000_000_007;
        let (mut byte, mut line) = (0, 1);
        for at in (number * CHUNKS..chunks).take(CHUNKS) {
            let mut chunk = self.copy(at, random)?;
            let (bytes, lines) = (chunk.text.len() as u64, 1 + random.below(30) as u32);
            chunk.location = Location { bytes: byte..byte + bytes, lines: (line, line + lines) };
            (byte, line) = (byte + bytes, line + lines);
            document.chunks.push(chunk);
        }
        Ok(document)
    }

    /// The first copy of a text is the text itself.
    fn copy(&self, number: usize, random: &mut Random) -> Result<Chunk> {
        let (text, vector) = &self.texts[number % self.texts.len()];
        if number < self.texts.len() {
            return Ok(Chunk::new(text, vector.clone()));
        }
        Ok(Chunk::new(self.other_words(text, random), turned(vector, random)?))
    }

    fn other_words(&self, text: &str, random: &mut Random) -> String {
        let words = text.split_whitespace().map(|word| {
            if random.below(OTHER_WORD) > 0 {
                return word;
            }
            let (other, _) = &self.texts[random.below(self.texts.len())];
            let at = other.floor_char_boundary(random.below(other.len()));
            other[at..].split_whitespace().nth(1).unwrap_or(word)
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

fn turned(vector: &Embedding, random: &mut Random) -> Result<Embedding> {
    let length = vector.as_slice().iter().map(|v| v * v).sum::<f32>().sqrt();
    let values: Vec<f32> = vector.as_slice().iter().map(|v| v / length + TURN * random.signed()).collect();
    let length = values.iter().map(|v| v * v).sum::<f32>().sqrt();
    Embedding::new(values.into_iter().map(|v| v / length).collect::<Vec<f32>>())
}

async fn asked(embedder: &OnnxEmbedder, queries: Vec<String>) -> Result<Vec<(String, Embedding)>> {
    let mut all = Vec::new();
    for query in queries {
        let vector = embedder.embed_query(&query).await?;
        all.push((query, vector));
    }
    Ok(all)
}

fn first_chars(text: &str) -> String {
    text.chars().take(CHUNK_CHARS).collect()
}

/// A folder of the bench in the cache.
pub(crate) fn folder(name: &str) -> Result<PathBuf> {
    let cache =
        cache_folder().ok_or_else(|| Error::invalid("there is no home folder; set SENSETREE_CACHE to a folder of yours"))?;
    Ok(cache.join("bench").join(name))
}

/// A store that is kept to be faster next time: one of another version is made anew.
async fn open(place: &Path, fingerprint: &Fingerprint) -> Result<LanceStore> {
    match LanceStore::open(place, fingerprint).await {
        Err(Error::Format { .. }) => {
            std::fs::remove_dir_all(place).map_err(Error::io("remove", place))?;
            LanceStore::open(place, fingerprint).await
        }
        store => store,
    }
}

/// all-MiniLM-L6-v2 in the precision that the library chooses on CPUs.
pub(crate) async fn embedder() -> Result<Arc<OnnxEmbedder>> {
    let named = std::env::var_os("SENSETREE_MODEL_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = named.or_else(|| Some(cache_folder()?.join("models/all-MiniLM-L6-v2")));
    let folder = folder.ok_or_else(|| Error::invalid("there is no home folder; set SENSETREE_CACHE to a folder of yours"))?;
    Ok(Arc::new(OnnxEmbedder::open(folder).await?))
}

/// Xorshift: the same numbers in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end
    }

    /// Between −1 and 1.
    fn signed(&mut self) -> f32 {
        (self.next() % 20_001) as f32 / 1e4 - 1.0
    }
}

/// Gives the vectors of questions that have been embedded before, so that a search is timed without its model.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) vectors: HashMap<String, Embedding>,
}

#[async_trait]
impl Embedder for Known {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    async fn embed_query(&self, text: &str) -> Result<Embedding> {
        self.vectors.get(text).cloned().ok_or_else(|| Error::invalid("only the bench's own questions are known"))
    }

    async fn embed_passages(&self, _: &[&str]) -> Result<Vec<Embedding>> {
        Err(Error::invalid("only questions are known"))
    }
}

/// The most memory that this process had so far, as Linux tells it; 0 elsewhere.
pub(crate) fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).map_or(0, |kib| kib / 1024)
}
