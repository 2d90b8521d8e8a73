//! What is searched, and what should be found.

use std::{
    collections::HashSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::Instant,
};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sensetree::{
    Chunk, Document, DocumentKey, Embedder, Engine, Error, Page, Pipeline, Query, Result, SearchResult, Settings, StageReport,
    StageStatus, Store,
    eval::{Collection, Judgements, Run, read_questions},
};

use crate::{
    Arguments, Row,
    shared::{self, DIM},
};

/// Results of a page; the pool of each leg is six times this.
const LIMIT: usize = 20;
/// Documents of one commit.
const BATCH: usize = 512;
/// What the files of a collection end in.
const TEXT: &str = ".txt";

/// A folder of files or a collection, with questions and judgements.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) judgements: Judgements,
    queries: Vec<(String, String)>,
    content: Content,
}

#[derive(Hash)]
enum Content {
    /// Identifier and text of each document.
    Documents(Vec<(String, String)>),
    Files(PathBuf),
}

impl Subject {
    pub(crate) fn read(arguments: &Arguments, folder: &Path) -> Result<Self> {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        let most = arguments.queries.unwrap_or(usize::MAX);
        let mut judgements = Judgements::default();
        if let Some(file) = &arguments.questions {
            let mut queries = Vec::new();
            for (question, files) in read_questions(file)?.into_iter().take(most) {
                files.into_iter().for_each(|file| judgements.insert(question.clone(), file, 1));
                queries.push((question.clone(), question));
            }
            let folder = std::path::absolute(folder).map_err(Error::io("find", folder))?;
            return Ok(Self { name, judgements, queries, content: Content::Files(folder) });
        }
        let collection = Collection::read(folder, &arguments.split)?;
        let queries: Vec<(String, String)> =
            collection.judged_queries().take(most).map(|(id, text)| (id.to_owned(), text.to_owned())).collect();
        for (query, _) in &queries {
            for document in collection.judgements().relevant(query) {
                judgements.insert(query, document, collection.judgements().grade(query, document));
            }
        }
        let documents = collection.documents().iter().map(|document| (document.id.clone(), document.full_text())).collect();
        Ok(Self { name, judgements, queries, content: Content::Documents(documents) })
    }

    /// Asks every question with the settings of each row; rows of one index stand together.
    pub(crate) async fn ask(&self, rows: &[Row]) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for rows in rows.chunk_by(|a, b| a.settings.indexing == b.settings.indexing) {
            let place = self.place(&rows[0].settings)?;
            let engine = self.engine(&rows[0].settings, &place).await?;
            for row in rows {
                let pipeline = engine.pipeline().settings(&row.settings);
                // Documents of a collection are not files, so their existence is not checked.
                runs.push(self.run(&row.name, &pipeline.without_existence_check().build()?, &place).await?);
            }
        }
        Ok(runs)
    }

    /// The folder that is indexed, if any: a collection's documents are made files when they are to be cut into chunks.
    fn place(&self, settings: &Settings) -> Result<Option<PathBuf>> {
        let documents = match &self.content {
            Content::Files(folder) => return Ok(Some(folder.clone())),
            Content::Documents(_) if settings.indexing.chunk_size.is_none() => return Ok(None),
            Content::Documents(documents) => documents,
        };
        let folder = shared::cache()?.join("evaluate").join(format!("{}-{:016x}-files", self.name, self.identity()));
        fs::create_dir_all(&folder).map_err(Error::io("make the folder", &folder))?;
        for (id, text) in documents {
            let file = folder.join(file_name(id));
            // A file that is written anew is read anew.
            if fs::read(&file).ok().as_deref() != Some(text.as_bytes()) {
                fs::write(&file, text).map_err(Error::io("write", &file))?;
            }
        }
        Ok(Some(folder))
    }

    /// The subject's index; what an earlier run stored is kept.
    async fn engine(&self, settings: &Settings, place: &Option<PathBuf>) -> Result<Engine> {
        let mut settings = settings.clone();
        let size = settings.indexing.chunk_size.map(|size| format!("-{size}")).unwrap_or_default();
        let name = format!("{}-{:016x}-{}{size}", self.name, self.identity(), settings.embedding.precision);
        settings.store = Some(shared::cache()?.join("evaluate").join(name));
        let engine = shared::open_kept(&settings).await?;
        match (place, &self.content) {
            (Some(folder), _) => {
                let bar = shared::bar();
                engine.indexer()?.build()?.sync(&[folder], |event| shared::follow(&bar, &event)).await?;
                bar.finish_and_clear();
            }
            (None, Content::Documents(documents)) => fill(&engine, documents).await?,
            (None, Content::Files(_)) => unreachable!("a folder of files is a place"),
        }
        Ok(engine)
    }

    /// Tells subjects of one name apart, and states of a collection.
    fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.content.hash(&mut hasher);
        hasher.finish()
    }

    async fn run(&self, row: &str, pipeline: &Pipeline, place: &Option<PathBuf>) -> Result<Run> {
        let mut run = Run::default();
        let started = Instant::now();
        for (id, text) in &self.queries {
            let mut query = Query::new(text).limit(LIMIT);
            if let Some(folder) = place {
                query = query.under(folder)?;
            }
            let page = pipeline.search(query).await?;
            // What was skipped although it had something to do is no row of its own.
            let is_missing = |stage: &&StageReport| stage.status != StageStatus::Ran && stage.input > 0;
            if let Some(stage) = page.stages.iter().find(is_missing) {
                return Err(Error::contract(&stage.name, stage.reason.clone().unwrap_or_default()));
            }
            run.insert(id, self.ranking(&page, place));
            let ran = page.stages.iter().filter(|stage| stage.status == StageStatus::Ran);
            run.insert_stages(id, ran.map(|stage| stage.name.clone()));
        }
        let each = started.elapsed().as_secs_f64() * 1e3 / run.len().max(1) as f64;
        anstream::eprintln!("{DIM}{}: {row}, {each:.1} ms a query{DIM:#}", self.name);
        Ok(run)
    }

    /// The page's order, as scores: what a page shows is not what it is ordered by.
    fn ranking(&self, page: &Page, place: &Option<PathBuf>) -> Vec<(String, f64)> {
        let name = |result: &SearchResult| {
            let Some(folder) = place else { return result.key.to_string() };
            let file = result.path.strip_prefix(folder).unwrap_or(&result.path).to_string_lossy();
            match self.content {
                Content::Files(_) => file.into_owned(),
                Content::Documents(_) => document_of(&file),
            }
        };
        page.results.iter().zip(1u32..).map(|(result, rank)| (name(result), 1.0 / f64::from(rank))).collect()
    }
}

/// Stores whole documents, those that are not there yet.
async fn fill(engine: &Engine, documents: &[(String, String)]) -> Result<()> {
    let (embedder, store) = (engine.embedder(), engine.store());
    let stored: HashSet<DocumentKey> =
        store.documents(&Default::default()).await?.into_iter().map(|document| document.key).collect();
    let missing: Vec<_> = documents.iter().filter(|(id, _)| !stored.contains(&key(id))).collect();
    let bar = shared::bar();
    bar.set_length(missing.len() as u64);
    bar.set_message("embedding");
    for batch in missing.chunks(BATCH) {
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = embedder.embed_passages(&texts).await?;
        let document = |((id, text), vector): (&&(String, String), _)| Document {
            key: key(id),
            ..Document::new(id).with_chunk(Chunk::new(text, vector))
        };
        store.commit(batch.iter().zip(vectors).map(document).collect(), &[]).await?;
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    store.maintain().await
}

/// Identifiers are not paths; they are kept as they are.
fn key(id: &str) -> DocumentKey {
    DocumentKey::from_stored(id)
}

/// An identifier as the name of a file, and back.
fn file_name(id: &str) -> String {
    format!("{}{TEXT}", utf8_percent_encode(id, NON_ALPHANUMERIC))
}

fn document_of(file: &str) -> String {
    percent_decode_str(file.trim_end_matches(TEXT)).decode_utf8_lossy().into_owned()
}
