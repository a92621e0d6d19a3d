//! Whether a failed request is sent again, and after how long. A pure function: the clock and the
//! dice are the caller's.

use std::time::Duration;

use super::{ProviderError, Recovery};

/// How often a request is sent again after 429, "too many requests".
pub const RETRIES_WHEN_LIMITED: u32 = 5;

/// How often a request is sent again after any other passing failure.
pub const RETRIES: u32 = 3;

/// The longest wait that a server may ask for; what is longer is cut to this.
pub const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// The longest pause of slug's own choosing, and the first one; both before jitter. They are
/// those of the vendors' own client libraries.
const LONGEST: Duration = Duration::from_secs(8);
const FIRST: Duration = Duration::from_millis(500);

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Send the request again after this long.
    Wait(Duration),
    /// Give the failure to whoever asked.
    Stop,
}

/// Decides after the `failures`-th failure in a row, counted from 1. `fraction` is random, from 0
/// to 1: the pause is that part of what it could be at most (full jitter), so that clients that
/// failed together do not come back together.
pub fn next(failures: u32, error: &ProviderError, fraction: f64) -> Next {
    let retries = if error.status == Some(429) { RETRIES_WHEN_LIMITED } else { RETRIES };
    if failures > retries {
        return Next::Stop;
    }
    match error.recovery {
        Recovery::RetryAfter(asked) => Next::Wait(asked.min(LONGEST_ASKED)),
        Recovery::Retry => {
            let doublings = failures.saturating_sub(1).min(16);
            let longest = LONGEST.min(FIRST * 2_u32.pow(doublings));
            Next::Wait(longest.mul_f64(fraction.clamp(0.0, 1.0)))
        }
        Recovery::Compact | Recovery::LeaveImagesOut | Recovery::AskPerson | Recovery::GiveUp => {
            Next::Stop
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: Option<u16>, recovery: Recovery) -> ProviderError {
        ProviderError { message: "no".into(), status, recovery }
    }

    #[test]
    fn pauses_double_to_a_limit_and_are_jittered() {
        let failed = error(Some(429), Recovery::Retry);
        let pauses: Vec<Next> = (1..=6).map(|failures| next(failures, &failed, 1.0)).collect();
        let wait = |ms| Next::Wait(Duration::from_millis(ms));
        assert_eq!(pauses, [wait(500), wait(1000), wait(2000), wait(4000), wait(8000), Next::Stop]);
        assert_eq!(next(3, &failed, 0.25), wait(500));
        assert_eq!(next(3, &failed, 0.0), wait(0));
    }

    #[test]
    fn other_failures_are_retried_three_times() {
        let failed = error(Some(503), Recovery::Retry);
        assert!(matches!(next(3, &failed, 1.0), Next::Wait(_)));
        assert_eq!(next(4, &failed, 1.0), Next::Stop);
    }

    #[test]
    fn what_the_server_asks_for_is_kept_within_a_minute() {
        let asks = |seconds| {
            let failed = error(Some(429), Recovery::RetryAfter(Duration::from_secs(seconds)));
            next(1, &failed, 0.5)
        };
        assert_eq!(asks(7), Next::Wait(Duration::from_secs(7)));
        assert_eq!(asks(7200), Next::Wait(LONGEST_ASKED));
    }

    #[test]
    fn what_would_fail_again_is_not_sent_again() {
        for recovery in [Recovery::Compact, Recovery::AskPerson, Recovery::GiveUp] {
            assert_eq!(next(1, &error(None, recovery), 1.0), Next::Stop);
        }
    }
}
