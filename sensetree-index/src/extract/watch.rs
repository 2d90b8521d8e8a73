//! Work on a thread of its own that is left behind when it takes too long.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicUsize, Ordering},
        mpsc::{RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

use super::panic_message;

/// Readers recurse into what they parse; how deep they go is checked against this.
const STACK_BYTES: usize = 8 << 20;
/// So many late threads are left behind in a process before nothing new is started.
const MOST_LEFT: usize = 8;

/// Starts threads and counts those that were late and have not ended yet.
#[derive(Debug)]
pub(super) struct Watch {
    left: AtomicUsize,
}

/// The one of the process.
pub(super) static WATCH: Watch = Watch::new();

const RUNS: u8 = 0;
const ENDED: u8 = 1;
const IS_LEFT: u8 = 2;

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Stopped {
    /// With its message.
    Panicked(String),
    Late,
    /// Nothing was started: too many late threads are still at work, or the system gives no thread.
    NotStarted(String),
}

impl Watch {
    const fn new() -> Self {
        Self { left: AtomicUsize::new(0) }
    }

    /// # Errors
    /// See [`Stopped`]. A stack that overflows ends the process; no work may recurse without a bound.
    pub(super) fn run<T: Send + 'static>(
        &'static self,
        time: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        if self.left.load(Ordering::Relaxed) >= MOST_LEFT {
            return Err(Stopped::NotStarted(format!("{MOST_LEFT} earlier files still keep their readers busy")));
        }
        let (answer, answers) = sync_channel(1);
        let state = Arc::new(AtomicU8::new(RUNS));
        let watched = {
            let state = state.clone();
            move || {
                let result = run_here(work);
                if state.swap(ENDED, Ordering::AcqRel) == IS_LEFT {
                    self.left.fetch_sub(1, Ordering::Relaxed);
                }
                // Nobody waits any more when this was late.
                let _ = answer.send(result);
            }
        };
        let thread = thread::Builder::new().name("sensetree-extract".into()).stack_size(STACK_BYTES).spawn(watched);
        thread.map_err(|error| Stopped::NotStarted(error.to_string()))?;
        match answers.recv_timeout(time) {
            Ok(result) => result,
            Err(RecvTimeoutError::Disconnected) => Err(Stopped::Panicked("no message".into())),
            Err(RecvTimeoutError::Timeout) => {
                self.left.fetch_add(1, Ordering::Relaxed);
                if state.swap(IS_LEFT, Ordering::AcqRel) == ENDED {
                    self.left.fetch_sub(1, Ordering::Relaxed);
                }
                Err(Stopped::Late)
            }
        }
    }
}

/// For work that is known to end.
///
/// # Errors
/// [`Stopped::Panicked`].
pub(super) fn run_here<T>(work: impl FnOnce() -> T) -> Result<T, Stopped> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Stopped::Panicked(panic_message(&*panic).to_owned()))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn late_threads_are_left_and_counted_until_they_end() {
        // Not the one of the process, which other tests use at the same time.
        static OWN: Watch = Watch::new();
        let long = Duration::from_secs(600);
        assert_eq!(OWN.run(long, || 7).ok(), Some(7));
        assert!(
            matches!(OWN.run(long, || panic!("{}", "seven")), Err::<(), _>(Stopped::Panicked(message)) if message == "seven")
        );
        let mut gates = Vec::new();
        for _ in 0..MOST_LEFT {
            let (open, gate) = channel::<()>();
            gates.push(open);
            assert!(matches!(OWN.run(Duration::from_millis(5), move || gate.recv().is_ok()), Err(Stopped::Late)));
        }
        assert!(matches!(OWN.run(long, || 7), Err(Stopped::NotStarted(why)) if why.contains("earlier files")));
        drop(gates);
        while OWN.left.load(Ordering::Relaxed) > 0 {
            thread::yield_now();
        }
        assert_eq!(OWN.run(long, || 7).ok(), Some(7));
    }
}
