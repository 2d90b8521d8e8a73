//! Whether a file is still the one that was indexed, as far as that can be told without reading it.

use std::{
    fs::Metadata,
    time::{Duration, SystemTime},
};

use sensetree_core::FileStamp;

/// How much older than the reading a change must be to be trusted. File systems round times, FAT to two seconds: a file
/// that changed closer to the reading may have changed again with the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// Size and time of the last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) size: u64,
    /// When the content was last written, 0 when unknown.
    pub(crate) modified: i64,
    /// The later of that and, where the system knows it, of the last change of the metadata. A program can set the former
    /// back but not the latter, so a change with a restored modification time is seen. 0 when unknown.
    pub(crate) changed: i64,
}

impl Observed {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().map(FileStamp::nanoseconds).unwrap_or_default();
        // The size of a folder says nothing.
        let size = if metadata.is_dir() { 0 } else { metadata.len() };
        Self { size, modified, changed: modified.max(metadata_changed(metadata)) }
    }

    /// What is stored about a file in this state, read at `read`. The hash is empty when the content was not looked at.
    pub(crate) fn stamp(self, read: i64, hash: String) -> FileStamp {
        FileStamp { size: self.size, modified: self.modified, changed: self.changed, read, hash }
    }

    /// Whether nothing that can be seen without reading differs from the stored state.
    pub(crate) fn looks_like(self, stored: &FileStamp) -> bool {
        self.size == stored.size && self.modified == stored.modified && self.changed == stored.changed
    }

    /// Whether the stored state is certainly this one. When in doubt it is not, and the hash of the content decides.
    ///
    /// A file above the size cap is known by size and time alone, and has no hash; it also stops being current when the
    /// cap moves across its size.
    pub(crate) fn is_current(self, stored: &FileStamp, size_cap: u64) -> bool {
        let same = self.size == stored.size && self.changed == stored.changed && self.changed != 0;
        let settled = self.changed.saturating_add(SETTLED.as_nanos() as i64) <= stored.read;
        if self.size > size_cap { same && stored.hash.is_empty() } else { same && settled && !stored.hash.is_empty() }
    }
}

pub(crate) fn now() -> i64 {
    FileStamp::nanoseconds(SystemTime::now())
}

#[cfg(unix)]
fn metadata_changed(metadata: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn metadata_changed(_metadata: &Metadata) -> i64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: u64 = 1000;
    const SECOND: i64 = 1_000_000_000;

    fn stored(changed: i64, read: i64) -> FileStamp {
        FileStamp { size: 3, modified: 0, changed, read, hash: "abc".into() }
    }

    #[test]
    fn a_settled_file_of_the_same_size_and_time_is_current() {
        let observed = Observed { size: 3, modified: 0, changed: 10 * SECOND };
        assert!(observed.is_current(&stored(10 * SECOND, 12 * SECOND), CAP));
        assert!(!observed.is_current(&stored(11 * SECOND, 20 * SECOND), CAP));
        assert!(!Observed { size: 4, ..observed }.is_current(&stored(10 * SECOND, 12 * SECOND), CAP));
    }

    #[test]
    fn a_time_too_close_to_the_reading_or_after_it_or_unknown_is_not_trusted() {
        let observed = Observed { size: 3, modified: 0, changed: 10 * SECOND };
        assert!(!observed.is_current(&stored(10 * SECOND, 12 * SECOND - 1), CAP));
        assert!(!observed.is_current(&stored(10 * SECOND, 5 * SECOND), CAP));
        assert!(!Observed { size: 3, modified: 0, changed: 0 }.is_current(&stored(0, 12 * SECOND), CAP));
    }

    #[test]
    fn a_file_over_the_cap_has_no_hash_and_is_read_once_the_cap_lets_it_through() {
        let observed = Observed { size: 3, modified: 0, changed: 10 * SECOND };
        let unread = FileStamp { hash: String::new(), ..stored(10 * SECOND, 10 * SECOND) };
        assert!(observed.is_current(&unread, 2));
        assert!(!observed.is_current(&unread, 3));
        assert!(!observed.is_current(&stored(10 * SECOND, 20 * SECOND), 2));
    }
}
