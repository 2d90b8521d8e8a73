//! Calling something flaky until it works, without hammering it.
//!
//! Used by the outstation poller: modems in the valley drop about one call in
//! twenty and the carrier blocks a SIM that redials too quickly.

use std::thread;
use std::time::Duration;

/// How often and how patiently to try again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BackoffPolicy {
    /// Wait after the first failure.
    pub initial_delay: Duration,
    /// The wait never grows beyond this.
    pub max_delay: Duration,
    /// Growth factor from one wait to the next, usually 2.
    pub multiplier: f64,
    /// Total number of attempts, the first one included.
    pub max_attempts: u32,
}

impl Default for BackoffPolicy {
    fn default() -> Self {
        Self {
            initial_delay: Duration::from_millis(250),
            max_delay: Duration::from_secs(30),
            multiplier: 2.0,
            max_attempts: 6,
        }
    }
}

impl BackoffPolicy {
    /// The wait before attempt number `attempt` (attempt 0 is not delayed).
    ///
    /// `jitter` is a number in `0.0..1.0`; it spreads callers that failed at the
    /// same moment over half of the interval.
    pub fn delay_before(&self, attempt: u32, jitter: f64) -> Duration {
        if attempt == 0 {
            return Duration::ZERO;
        }
        let grown = self.initial_delay.as_secs_f64() * self.multiplier.powi(attempt as i32 - 1);
        let capped = grown.min(self.max_delay.as_secs_f64());
        Duration::from_secs_f64(capped * (0.5 + jitter.clamp(0.0, 1.0) / 2.0))
    }
}

/// Whether an error is worth another attempt.
pub trait Transient {
    /// `false` for errors that will not go away by themselves, such as a wrong PIN.
    fn is_transient(&self) -> bool;
}

/// Runs `operation` until it succeeds, fails for good, or attempts run out.
pub fn retry_with_backoff<T, E, F>(
    policy: &BackoffPolicy,
    mut next_jitter: impl FnMut() -> f64,
    mut operation: F,
) -> Result<T, E>
where
    E: Transient,
    F: FnMut(u32) -> Result<T, E>,
{
    let mut attempt = 0;
    loop {
        thread::sleep(policy.delay_before(attempt, next_jitter()));
        match operation(attempt) {
            Ok(value) => return Ok(value),
            Err(err) if !err.is_transient() || attempt + 1 >= policy.max_attempts => {
                return Err(err);
            }
            Err(_) => attempt += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_is_capped() {
        let policy = BackoffPolicy::default();
        assert_eq!(policy.delay_before(40, 1.0), Duration::from_secs(30));
    }

    #[test]
    fn first_attempt_is_immediate() {
        assert_eq!(BackoffPolicy::default().delay_before(0, 0.7), Duration::ZERO);
    }
}
