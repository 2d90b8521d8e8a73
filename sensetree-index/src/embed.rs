//! Vectors for drafts, in calls of a bounded size, so that one bad text costs one file and one bad model ends the run.

use std::{any::Any, panic::AssertUnwindSafe};

use futures::FutureExt;
use sensetree_core::{Embedder, Embedding, Error, Result};

use crate::{draft::Draft, extract::panic_message};

/// Texts that go to the embedder in one call.
pub(crate) const CALL_TEXTS: usize = 64;

/// A text that no file can be blamed for.
const PROBE: &str = "A short sentence that every embedder can read.";

/// Probes that may fail one after the other, when the failure may pass.
const PROBES: u32 = 2;

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Only calls that are full; the chunks at the end wait for company.
    FullCalls,
    Everything,
}

/// Gives chunks their vectors, in order, or their draft a failure. `embedded` is told how many chunks each call did.
///
/// After a call that failed, a probe tells whether the texts are to blame. If so, the call is repeated document by document.
///
/// # Errors
/// What the embedder says to the probe: it cannot embed anything at the moment, and asking for each document on its own would
/// only wait for as many time-outs. When that may pass, it has failed three times in a row.
pub(crate) async fn embed(
    embedder: &dyn Embedder,
    drafts: &mut [Draft],
    extent: Extent,
    mut embedded: impl FnMut(usize),
) -> Result<()> {
    let places = |(at, draft): (usize, &Draft)| draft.open().map(|chunk| (at, chunk)).collect::<Vec<_>>();
    let mut all: Vec<(usize, usize)> = drafts.iter().enumerate().flat_map(places).collect();
    if extent == Extent::FullCalls {
        all.truncate(all.len() - all.len() % CALL_TEXTS);
    }
    for window in all.chunks(CALL_TEXTS) {
        // A draft that failed in an earlier call needs no more.
        let open: Vec<_> = window.iter().copied().filter(|&(draft, _)| drafts[draft].failure.is_none()).collect();
        if open.is_empty() {
            continue;
        }
        let Err(error) = call(embedder, drafts, &open).await else {
            embedded(open.len());
            continue;
        };
        probe(embedder).await?;
        tracing::debug!(texts = open.len(), error = error.chain(), "the embedder refused a text; trying document by document");
        let mut parts = open.chunk_by(|a, b| a.0 == b.0).peekable();
        let mut refused = Some(error);
        while let Some(part) = parts.next() {
            let is_only = parts.peek().is_none() && part.len() == open.len();
            // The only document of a call has had its try.
            let result = match refused.take_if(|_| is_only) {
                Some(error) => Err(error),
                None => call(embedder, drafts, part).await,
            };
            match result {
                Ok(()) => embedded(part.len()),
                Err(error) => {
                    if error.is_transient() && !is_only {
                        probe(embedder).await?;
                    }
                    drafts[part[0].0].failure = Some(error);
                }
            }
        }
    }
    Ok(())
}

async fn call(embedder: &dyn Embedder, drafts: &mut [Draft], places: &[(usize, usize)]) -> Result<()> {
    let texts: Vec<_> = places.iter().map(|&(draft, chunk)| drafts[draft].chunks[chunk].embedded_text()).collect();
    let vectors = embed_texts(embedder, &texts.iter().map(AsRef::as_ref).collect::<Vec<_>>()).await?;
    drop(texts);
    for (&(draft, chunk), vector) in places.iter().zip(vectors) {
        drafts[draft].chunks[chunk].embedding = Some(vector);
    }
    Ok(())
}

/// Whether the embedder works at all. It waits between its own tries, if waiting can help.
async fn probe(embedder: &dyn Embedder) -> Result<()> {
    let mut left = PROBES;
    loop {
        left -= 1;
        match embed_texts(embedder, &[PROBE]).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_transient() && left > 0 => {}
            Err(error) => return Err(error),
        }
    }
}

/// Waits for a plug-in; a panic in it is an error like any other.
pub(crate) async fn guarded<T>(part: &str, call: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let panicked = |panic: Box<dyn Any + Send>| Err(Error::contract(part, format!("it panicked: {}", panic_message(&*panic))));
    AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(panicked)
}

/// Calls the embedder and checks what comes back.
async fn embed_texts(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Embedding>> {
    let vectors = guarded("embedder", embedder.embed_passages(texts)).await?;
    if vectors.len() != texts.len() {
        return Err(Error::contract("embedder", format!("it returned {} vectors for {} texts", vectors.len(), texts.len())));
    }
    let dimension = embedder.fingerprint().dimension();
    match vectors.iter().find(|vector| vector.dimension() != dimension) {
        None => Ok(vectors),
        Some(odd) => Err(Error::contract(
            "embedder",
            format!("it returned a vector of {} dimensions instead of {dimension}", odd.dimension()),
        )),
    }
}
