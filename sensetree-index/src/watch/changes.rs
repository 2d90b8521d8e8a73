//! What has changed, collected until it pauses.

use std::{
    collections::BTreeSet,
    mem,
    path::PathBuf,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// With more paths than this, everything is looked at.
const MOST_PATHS: usize = 256;
/// Changes that never pause are synced after this many times the wait.
pub(super) const MOST_WAITS: u32 = 10;

/// Paths that may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Changes {
    Paths(BTreeSet<PathBuf>),
    /// Too many to list, or not known.
    Everything,
}

impl Default for Changes {
    fn default() -> Self {
        Self::Paths(BTreeSet::new())
    }
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn add(&mut self, more: Self) {
        match (&mut *self, more) {
            (Self::Paths(paths), Self::Paths(more)) if paths.len() + more.len() <= MOST_PATHS => paths.extend(more),
            _ => *self = Self::Everything,
        }
    }
}

/// Between the thread of the events, the one that waits for a pause, and the watch itself.
#[derive(Debug, Default)]
pub(super) struct Shared {
    seen: Mutex<Seen>,
    something: Condvar,
}

#[derive(Debug, Default)]
struct Seen {
    changes: Changes,
    /// Roots that went away or changed places, so that what is at their path now may not be followed.
    lost: BTreeSet<PathBuf>,
    /// When the first and the last of them came.
    since: Option<(Instant, Instant)>,
    /// Why not everything can be followed.
    trouble: Option<String>,
    is_over: bool,
}

impl Shared {
    pub(super) fn add(&self, more: Changes) {
        self.note(|seen| seen.changes.add(more));
    }

    pub(super) fn lose(&self, root: PathBuf) {
        self.note(|seen| _ = seen.lost.insert(root));
    }

    pub(super) fn set_trouble(&self, reason: String) {
        self.lock().trouble = Some(reason);
    }

    pub(super) fn take_trouble(&self) -> Option<String> {
        self.lock().trouble.take()
    }

    pub(super) fn end(&self) {
        self.lock().is_over = true;
        self.something.notify_one();
    }

    /// The changes and the lost roots up to a pause of `wait`, or neither when nothing comes for `idle`; none when the watch is
    /// over.
    pub(super) fn after_a_pause(&self, wait: Duration, idle: Duration) -> Option<(Changes, BTreeSet<PathBuf>)> {
        let idle_until = Instant::now() + idle;
        let mut seen = self.lock();
        loop {
            if seen.is_over {
                return None;
            }
            let due = seen.since.map_or(idle_until, |(first, last)| (last + wait).min(first + wait * MOST_WAITS));
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                seen.since = None;
                return Some((mem::take(&mut seen.changes), mem::take(&mut seen.lost)));
            }
            seen = self.something.wait_timeout(seen, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        let now = Instant::now();
        let mut seen = self.lock();
        change(&mut seen);
        let first = seen.since.map_or(now, |(first, _)| first);
        seen.since = Some((first, now));
        drop(seen);
        self.something.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_flood_becomes_everything_and_a_pause_ends_the_collecting() {
        let shared = Shared::default();
        let paths =
            |range: std::ops::Range<usize>| Changes::Paths(range.map(|number| PathBuf::from(format!("/r/{number}"))).collect());
        shared.add(paths(0..200));
        shared.add(paths(0..50));
        assert_eq!(shared.after_a_pause(SHORT, LONG), Some((paths(0..200), BTreeSet::new())));
        shared.add(paths(0..200));
        shared.add(paths(200..300));
        shared.add(paths(0..1));
        assert_eq!(shared.after_a_pause(SHORT, LONG), Some((Changes::Everything, BTreeSet::new())));
        shared.lose("/r".into());
        assert_eq!(shared.after_a_pause(SHORT, LONG), Some((Changes::default(), BTreeSet::from(["/r".into()]))));
        assert_eq!(shared.after_a_pause(LONG, SHORT), Some(Default::default()), "nothing came");
        shared.end();
        assert_eq!(shared.after_a_pause(LONG, LONG), None);
    }

    #[test]
    fn changes_that_never_pause_are_given_after_ten_waits() {
        let shared = Shared::default();
        let wait = Duration::from_millis(50);
        let started = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while started.elapsed() < wait * 40 {
                    shared.add(Changes::Paths(BTreeSet::from(["/r/a".into()])));
                    std::thread::sleep(wait / 10);
                }
            });
            let given = shared.after_a_pause(wait, LONG);
            assert!(given.is_some_and(|(changes, _)| !changes.is_empty()));
            assert!(started.elapsed() < wait * 30, "{:?}", started.elapsed());
        });
    }
}
