use std::time::{Duration, SystemTime};

/// How often a request is tried, and how long to wait in between.
///
/// The n-th wait is `first_delay · 2ⁿ⁻¹`, at most `max_delay`, of which a random half is left out so that many clients do not
/// come back at the same moment. A server that says how long to wait (`Retry-After`) is obeyed instead, up to `max_delay`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    tries: u32,
    first_delay: Duration,
    max_delay: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { tries: 3, first_delay: Duration::from_millis(500), max_delay: Duration::from_secs(30) }
    }
}

impl Retry {
    /// One try, no waiting.
    pub fn never() -> Self {
        Self::default().with_tries(1)
    }

    /// How often a request is sent at most, the first time included; 0 counts as 1. Default: 3.
    #[must_use]
    pub fn with_tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// The wait after the first failure. Default: half a second.
    #[must_use]
    pub fn with_first_delay(mut self, delay: Duration) -> Self {
        self.first_delay = delay;
        self
    }

    /// The longest wait, also when the server asks for more. Default: 30 seconds.
    #[must_use]
    pub fn with_max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }

    /// The wait after the `failed`-th try (from 1). `jitter` is in [0, 1].
    pub(crate) fn delay(&self, failed: u32, asked: Option<Duration>, jitter: f64) -> Duration {
        let delay = asked.unwrap_or_else(|| {
            let doubled = self.first_delay.saturating_mul(2u32.saturating_pow(failed.saturating_sub(1)));
            doubled.min(self.max_delay).mul_f64(1.0 - jitter / 2.0)
        });
        delay.min(self.max_delay)
    }
}

/// What a `Retry-After` header asks for: seconds, or a date (RFC 9110, 10.2.3). A date in the past asks for nothing.
pub(crate) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(header).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_limit_and_jitter_only_shortens_it() {
        let retry = Retry::default().with_first_delay(Duration::from_secs(1)).with_max_delay(Duration::from_secs(5));
        let waits = |jitter| [1, 2, 3, 4, 40].map(|failed| retry.delay(failed, None, jitter).as_millis());
        assert_eq!(waits(0.0), [1000, 2000, 4000, 5000, 5000]);
        assert_eq!(waits(1.0), [500, 1000, 2000, 2500, 2500]);
    }

    #[test]
    fn what_the_server_asks_for_replaces_the_wait_up_to_the_limit() {
        let retry = Retry::default().with_max_delay(Duration::from_secs(30));
        for (asked, waits) in [(0, 0), (7, 7), (3600, 30)] {
            assert_eq!(retry.delay(1, Some(Duration::from_secs(asked)), 0.5), Duration::from_secs(waits));
        }
    }

    #[test]
    fn both_forms_of_retry_after_are_read() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").expect("a date of the standard");
        let asked = |header| retry_after(header, now).map(|d| d.as_secs());
        assert_eq!(asked("120"), Some(120));
        assert_eq!(asked("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30));
        assert_eq!(asked("Sunday, 06-Nov-94 08:50:07 GMT"), Some(30), "the obsolete form");
        assert_eq!(asked("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0), "a date that has passed");
        assert_eq!(asked("soon"), None);
        assert_eq!(asked("-1"), None);
    }
}
