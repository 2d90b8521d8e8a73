//! How much one file may cost.

use std::time::{Duration, Instant};

use super::{Unreadable, out::Out};

/// Clocks have an end.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// What reading one file may cost at most. A file that would cost more is found by name only, with the reason, or, where only
/// its text is too long, by the start of its text. One that took too long is tried in three syncs, since the machine may have been
/// busy.
///
/// What unpacks or parses to too much is stopped by counting, not by believing headers. Time is different: a thread cannot be
/// stopped from outside, so a reader that is late is left behind. It goes on with its memory until it ends by itself, which
/// all loops of this crate do soon after the time is over; a hang inside a library may never end. At most 8 readers are left
/// behind at once in a process; while there are so many, further files [fail](crate::Report::failed), and are tried again by the
/// next sync. Text, Markdown, tables and source code are only decoded, which needs no limit of time, and are read all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtractLimits {
    /// Bytes of text that are kept of one file; 20 MiB by default. The rest is left out, and the document's note says so.
    pub text_bytes: usize,
    /// Bytes that compressed parts of one file (of an office document, a book, a PDF) may unpack to in all; 256 MiB by default.
    pub unpacked_bytes: u64,
    /// Entries that a packed file may have; 20,000 by default.
    pub entries: usize,
    /// Time for one file; 30 seconds by default, [`Duration::MAX`] for no limit.
    pub time: Duration,
}

impl Default for ExtractLimits {
    fn default() -> Self {
        Self { text_bytes: 20 << 20, unpacked_bytes: 256 << 20, entries: 20_000, time: Duration::from_secs(30) }
    }
}

impl ExtractLimits {
    /// When the time for a file that is begun now is over.
    pub(super) fn until(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.time).unwrap_or(now + FOR_EVER)
    }

    /// Sets [`text_bytes`](Self::text_bytes).
    #[must_use]
    pub fn with_text_bytes(self, text_bytes: usize) -> Self {
        Self { text_bytes, ..self }
    }

    /// Sets [`unpacked_bytes`](Self::unpacked_bytes).
    #[must_use]
    pub fn with_unpacked_bytes(self, unpacked_bytes: u64) -> Self {
        Self { unpacked_bytes, ..self }
    }

    /// Sets [`entries`](Self::entries).
    #[must_use]
    pub fn with_entries(self, entries: usize) -> Self {
        Self { entries, ..self }
    }

    /// Sets [`time`](Self::time).
    #[must_use]
    pub fn with_time(self, time: Duration) -> Self {
        Self { time, ..self }
    }
}

/// A file that is being read, and what that may cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) bytes: &'a [u8],
    /// In lower case, without the dot; empty when the name has none.
    pub(super) extension: &'a str,
    pub(super) limits: &'a ExtractLimits,
    /// When the time is over.
    pub(super) until: Instant,
}

impl Source<'_> {
    pub(super) fn out(&self) -> Out {
        Out::new(self.limits.text_bytes, self.until)
    }

    pub(super) fn unpacks_to_too_much(&self) -> Unreadable {
        Unreadable(format!("it unpacks to more than {} bytes", self.limits.unpacked_bytes))
    }
}
