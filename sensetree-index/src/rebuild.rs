//! Another model: the same texts, embedded anew into another store.

use std::collections::HashMap;

use sensetree_core::{DocumentInfo, Embedder, Error, Filter, Result, Store};
use serde::Serialize;

use crate::{
    Event, FileNote,
    batch::{Batch, REMOVALS},
    draft::Draft,
    embed::{CALL_TEXTS, Extent, embed},
    run::TIDY_AFTER,
};

/// What a rebuild did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rebuilt {
    /// Documents embedded and written.
    pub documents: u64,
    /// Their chunks.
    pub chunks: u64,
    /// Documents that the new store held already, from a rebuild that was interrupted.
    pub kept: u64,
    /// Documents that left the new store, since the old one does not hold them.
    pub removed: u64,
    /// Documents with a text that the embedder refuses. The new store does not hold them; a sync reads their files.
    pub failed: Vec<FileNote>,
}

/// Fills `new` with the documents of `old`, their texts embedded by `embedder`. No file is read and no qualifier is asked: texts
/// and contexts are those that are stored.
///
/// `old` is only read and answers searches the while; a sync of it that runs meanwhile is not taken over, so let the next sync go
/// to `new`. Interrupted, by an error, a killed process or a dropped future, it goes on where it stopped when it is called again.
/// `progress` is told [`Event::Started`], [`Event::Embedded`], [`Event::Committed`] and [`Event::Maintaining`].
///
/// # Errors
/// [`Error::FingerprintMismatch`] when `new` is not for this embedder. What the stores say; what the embedder says when it cannot
/// embed anything, after the documents that were ready are committed.
pub async fn rebuild(
    old: &dyn Store,
    new: &dyn Store,
    embedder: &dyn Embedder,
    mut progress: impl FnMut(Event) + Send,
) -> Result<Rebuilt> {
    new.fingerprint().expect(embedder.fingerprint())?;
    let mut rebuilt = Rebuilt::default();
    let mut done: HashMap<_, DocumentInfo> =
        new.documents(&Filter::everything()).await?.into_iter().map(|info| (info.key.clone(), info)).collect();
    let mut open = Vec::new();
    for info in old.documents(&Filter::everything()).await? {
        match done.remove(&info.key) {
            Some(same) if same == info => rebuilt.kept += 1,
            _ => open.push(info),
        }
    }
    let mut stale: Vec<_> = done.into_keys().collect();
    stale.sort();
    let bytes = open.iter().map(|info| info.stamp.size).sum();
    progress(Event::Started { files: open.len() as u64, bytes, unchanged: rebuilt.kept, removed: stale.len() as u64 });
    for stale in stale.chunks(REMOVALS) {
        new.commit(Vec::new(), stale).await?;
        rebuilt.removed += stale.len() as u64;
        progress(Event::Committed { documents: 0, chunks: 0, removed: stale.len() as u64 });
    }
    let mut batch = Batch::default();
    let mut commits = 0;
    for info in open {
        let chunks = old.chunks(&info.key).await?;
        // It left since the list was made.
        if chunks.is_empty() {
            continue;
        }
        let mut draft = Draft::of_stored(info, chunks);
        draft.chunks.iter_mut().for_each(|chunk| chunk.embedding = None);
        batch.waiting.push(draft);
        batch.note_time();
        if batch.waiting_chunks() >= CALL_TEXTS {
            embed_waiting(embedder, new, &mut batch, Extent::FullCalls, &mut rebuilt, &mut progress).await?;
        }
        if batch.is_old() {
            embed_waiting(embedder, new, &mut batch, Extent::Everything, &mut rebuilt, &mut progress).await?;
        }
        if batch.is_old() || batch.is_full() {
            commit(new, &mut batch, &mut rebuilt, &mut progress).await?;
            commits += 1;
            if commits % TIDY_AFTER == 0 {
                new.maintain().await?;
            }
        }
    }
    embed_waiting(embedder, new, &mut batch, Extent::Everything, &mut rebuilt, &mut progress).await?;
    commit(new, &mut batch, &mut rebuilt, &mut progress).await?;
    if rebuilt.documents + rebuilt.removed > 0 {
        progress(Event::Maintaining);
        new.maintain().await?;
    }
    Ok(rebuilt)
}

async fn embed_waiting(
    embedder: &dyn Embedder,
    new: &dyn Store,
    batch: &mut Batch,
    extent: Extent,
    rebuilt: &mut Rebuilt,
    progress: &mut (dyn FnMut(Event) + Send),
) -> Result<()> {
    let mut drafts = std::mem::take(&mut batch.waiting);
    let result = embed(embedder, &mut drafts, extent, |chunks| progress(Event::Embedded { chunks })).await;
    let (ready, waiting): (Vec<_>, Vec<_>) = drafts.into_iter().partition(|draft| draft.open().next().is_none());
    batch.ready.extend(ready);
    batch.waiting = waiting;
    if let Err(error) = result {
        commit(new, batch, rebuilt, progress).await?;
        return Err(Error::other("embed the stored texts anew; call it again to go on from here", error));
    }
    Ok(())
}

async fn commit(
    new: &dyn Store,
    batch: &mut Batch,
    rebuilt: &mut Rebuilt,
    progress: &mut (dyn FnMut(Event) + Send),
) -> Result<()> {
    let (ready, _) = batch.take_ready();
    let mut documents = Vec::with_capacity(ready.len());
    for draft in ready {
        let path = draft.document.path.clone();
        match draft.finish() {
            Ok(document) => documents.push(document),
            Err(error) => rebuilt.failed.push(FileNote::new(path, error.chain()).tried(1)),
        }
    }
    if documents.is_empty() {
        return Ok(());
    }
    let (count, chunks) = (documents.len() as u64, documents.iter().map(|document| document.chunks.len() as u64).sum());
    new.commit(documents, &[]).await?;
    rebuilt.documents += count;
    rebuilt.chunks += chunks;
    progress(Event::Committed { documents: count, chunks, removed: 0 });
    Ok(())
}
