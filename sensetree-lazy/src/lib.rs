//! Late loading, shared by `LazyEmbedder` and `LazyReranker`.
//!
//! A [`Lazy`] part costs nothing until it is first used. Whoever comes while it is loading waits for that one load; after an
//! idle time that the caller sets, it is dropped, and loaded anew at the next use.
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//! use sensetree_lazy::Lazy;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> sensetree_core::Result<()> {
//! let greeting = Lazy::new("greeting", || async { Ok(Arc::<str>::from("hello")) }).release_after(Duration::from_secs(300));
//! assert_eq!(greeting.get().await?.len(), 5);
//! # Ok(()) }
//! ```

use std::{
    fmt,
    future::Future,
    ops::Deref,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use sensetree_core::{Error, Result};
use tokio::{
    runtime::Handle,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

/// The one load that everybody waits for. It stays here when it is done, with what it loaded.
type Loading<T> = Shared<BoxFuture<'static, Result<Arc<T>, Arc<Error>>>>;

/// A part that is loaded when it is first used.
pub struct Lazy<T: ?Sized> {
    shared: Arc<SharedState<T>>,
}

struct SharedState<T: ?Sized> {
    name: String,
    load: Arc<dyn Fn() -> BoxFuture<'static, Result<Arc<T>>> + Send + Sync>,
    state: Mutex<State<T>>,
}

struct State<T: ?Sized> {
    loading: Option<Loading<T>>,
    users: usize,
    last_use: Instant,
    release_after: Option<Duration>,
    releaser: Option<JoinHandle<()>>,
}

impl<T: ?Sized + Send + Sync + 'static> Lazy<T> {
    /// A part of this name, had from `load`, which must not block the executor.
    pub fn new<F>(name: impl Into<String>, load: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Arc<T>>> + Send + 'static,
    {
        let load = Arc::new(move || load().boxed());
        let state = State { loading: None, users: 0, last_use: Instant::now(), release_after: None, releaser: None };
        Self { shared: Arc::new(SharedState { name: name.into(), load, state: Mutex::new(state) }) }
    }

    /// Drops the part when nobody has used it for `idle`; the next use loads it again. Default: it stays.
    #[must_use]
    pub fn release_after(self, idle: Duration) -> Self {
        self.shared.state().release_after = Some(idle);
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Whether it is loaded now.
    pub fn is_loaded(&self) -> bool {
        self.shared.state().loading.as_ref().is_some_and(|loading| matches!(loading.peek(), Some(Ok(_))))
    }

    /// Starts loading, unless it is loaded, and returns at once. If it fails, the next use tries again and tells.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] outside a tokio runtime.
    pub fn preload(&self) -> Result<()> {
        self.shared.start(&mut self.shared.state()).map(drop)
    }

    /// The part; loaded first if it is not. It is not released as long as what this returns lives.
    ///
    /// The load runs on in a task of its own when this future is dropped, so a caller with little time does not throw it away.
    ///
    /// # Errors
    /// What the load failed with, told to everybody who waited for it; the next call tries again. [`Error::Contract`] when the
    /// load panicked, [`Error::InvalidInput`] outside a tokio runtime.
    pub async fn get(&self) -> Result<InUse<T>> {
        let (loading, using) = {
            let mut state = self.shared.state();
            let loading = self.shared.start(&mut state)?;
            state.users += 1;
            (loading, Using(self.shared.clone()))
        };
        match loading.await {
            Ok(part) => Ok(InUse { part, _using: using }),
            Err(error) => Err(told(&self.shared.name, &error)),
        }
    }
}

impl<T: ?Sized> SharedState<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Nothing that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized + Send + Sync + 'static> SharedState<T> {
    /// The load that is running or done; a new one when there is none, or when the last one failed.
    fn start(self: &Arc<Self>, state: &mut State<T>) -> Result<Loading<T>> {
        let runtime = Handle::try_current()
            .map_err(|_| Error::invalid(format!("{} loads late, which needs a tokio runtime; call it from one", self.name)))?;
        // A releaser ends with the runtime that it was started on.
        if let Some(idle) = state.release_after
            && state.releaser.as_ref().is_none_or(JoinHandle::is_finished)
        {
            state.releaser = Some(runtime.spawn(release(Arc::downgrade(self), idle)));
        }
        if let Some(loading) = &state.loading
            && !matches!(loading.peek(), Some(Err(_)))
        {
            return Ok(loading.clone());
        }
        let (load, name) = (self.load.clone(), self.name.clone());
        let guarded = async move {
            // A load that panicked must not take everybody who waits for it along.
            let loaded = AssertUnwindSafe(async move { load().await }).catch_unwind().await;
            loaded.unwrap_or_else(|_| Err(Error::contract(name, "loading it panicked"))).map_err(Arc::new)
        };
        let loading = guarded.boxed().shared();
        state.loading = Some(loading.clone());
        let (weak, waiting) = (Arc::downgrade(self), loading.clone());
        runtime.spawn(async move {
            let loaded = waiting.await;
            let Some(shared) = weak.upgrade() else { return };
            shared.state().last_use = Instant::now();
            match loaded {
                Ok(_) => tracing::debug!(name = shared.name, "loaded"),
                Err(error) => tracing::warn!(name = shared.name, error = error.chain(), "loading failed"),
            }
        });
        Ok(loading)
    }
}

/// Waits until nobody has used the part for `idle`, and drops it.
async fn release<T: ?Sized + Send + Sync + 'static>(shared: Weak<SharedState<T>>, idle: Duration) {
    let mut wake = Instant::now() + idle;
    loop {
        sleep_until(wake).await;
        let Some(shared) = shared.upgrade() else { return };
        let mut state = shared.state();
        let busy = state.users > 0 || state.loading.as_ref().is_some_and(|loading| loading.peek().is_none());
        let now = Instant::now();
        wake = if busy { now + idle } else { state.last_use + idle };
        if !busy && wake <= now {
            let part = state.loading.take();
            state.releaser = None;
            tracing::debug!(name = shared.name, "released");
            // A model ends its threads and gives gigabytes back: not on the executor.
            tokio::task::spawn_blocking(move || {
                drop(part);
                return_free_memory();
            });
            return;
        }
    }
}

/// Makes the allocator return what is free. glibc keeps freed blocks of up to 32 MiB, which is most of a model, in its arenas.
fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes no pointer, and may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The error again, for each who waited. Those that callers tell apart keep their variant.
fn told(name: &str, error: &Arc<Error>) -> Error {
    match &**error {
        Error::InvalidInput(what) => Error::InvalidInput(what.clone()),
        Error::Runtime { reason } => Error::Runtime { reason: reason.clone() },
        Error::ModelUnavailable { model, hint } => Error::ModelUnavailable { model: model.clone(), hint: hint.clone() },
        Error::Model { model, reason, source: None } => {
            Error::Model { model: model.clone(), reason: reason.clone(), source: None }
        }
        Error::FingerprintMismatch { stored, given } => {
            Error::FingerprintMismatch { stored: stored.clone(), given: given.clone() }
        }
        Error::Remote { doing, endpoint, reason, transient } => {
            Error::Remote { doing, endpoint: endpoint.clone(), reason: reason.clone(), transient: *transient }
        }
        Error::InvalidEmbedding(what) => Error::InvalidEmbedding(what.clone()),
        Error::Contract { part, reason } => Error::contract(part, reason),
        _ => Error::other(format!("load {name}"), error.clone()),
    }
}

impl<T: ?Sized> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").field("name", &self.shared.name).finish_non_exhaustive()
    }
}

/// A loaded part; while this lives, the part is not released.
pub struct InUse<T: ?Sized> {
    // Dropped before `_using`, which says that nobody holds the part any more.
    part: Arc<T>,
    _using: Using<T>,
}

impl<T: ?Sized> Deref for InUse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.part
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for InUse<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)
    }
}

struct Using<T: ?Sized>(Arc<SharedState<T>>);

impl<T: ?Sized> Drop for Using<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.users -= 1;
        state.last_use = Instant::now();
    }
}

#[cfg(test)]
mod tests;
