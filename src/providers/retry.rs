//! Whether a failed request is sent again, and after how long. A pure function: the clock and the
//! dice are the caller's.

use std::time::Duration;

use super::{ErrorRecovery, ProviderError};

/// How often a request is sent again after 429, "too many requests".
pub const RETRIES_WHEN_LIMITED: u32 = 5;

/// How often where nobody listens: enough for a server that is just starting, and over in less
/// than five seconds.
pub const RETRIES_WHEN_REFUSED: u32 = 4;

/// How often after an answer whose connection broke in its midst. What had come was paid for.
pub const RETRIES_WHEN_CUT: u32 = 1;

/// How often after an error that a server reported in the midst of its answer.
pub const RETRIES_IN_MIDST: u32 = 5;

/// How often after any other passing failure.
pub const RETRIES: u32 = 10;

/// The longest wait that a server may ask for; what is longer is cut to this.
pub const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// The longest pause of slug's own choosing, and the first one; both before jitter. The first is
/// that of the vendors' own client libraries, which try less often.
const LONGEST: Duration = Duration::from_secs(32);
const FIRST: Duration = Duration::from_millis(500);

/// The first pause where nobody listens.
const FIRST_WHEN_REFUSED: Duration = Duration::from_millis(250);

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Send the request again.
    Retry(RetryAttempt),
    /// Give the failure to whoever asked.
    Stop,
}

/// A request that is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryAttempt {
    /// After this long.
    pub pause: Duration,
    /// How often it will have been sent again, this time included.
    pub number: u32,
    /// How often it is sent again at most.
    pub of: u32,
}

/// What had come of the answer before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceivedContent {
    /// Nothing.
    Nothing,
    /// A part of it.
    Part,
}

/// Decides after the `failures`-th failure in a row, counted from 1. `fraction` is random, from 0
/// to 1: the pause is that part of what it could be at most (full jitter), so that clients that
/// failed together do not come back together.
pub fn next(
    failures: u32,
    error: &ProviderError,
    came: ReceivedContent,
    fraction: f64,
) -> RetryDecision {
    let doublings = failures.saturating_sub(1).min(16);
    let fraction = fraction.clamp(0.0, 1.0);
    let pause = match error.recovery {
        ErrorRecovery::RetryAfter(asked) => asked.min(LONGEST_ASKED),
        ErrorRecovery::Retry => LONGEST.min(FIRST * 2_u32.pow(doublings)).mul_f64(fraction),
        // Nobody is there to be spared, and no pause at all would help no server to start.
        ErrorRecovery::RetryBriefly => {
            (FIRST_WHEN_REFUSED * 2_u32.pow(doublings)).mul_f64(0.5 + fraction / 2.0)
        }
        ErrorRecovery::Compact
        | ErrorRecovery::LeaveImagesOut
        | ErrorRecovery::AskUser
        | ErrorRecovery::GiveUp => {
            return RetryDecision::Stop;
        }
    };
    let of = retries(error, came);
    if failures > of {
        RetryDecision::Stop
    } else {
        RetryDecision::Retry(RetryAttempt { pause, number: failures, of })
    }
}

fn retries(error: &ProviderError, came: ReceivedContent) -> u32 {
    match (error.recovery, error.status, came) {
        (ErrorRecovery::RetryBriefly, _, _) => RETRIES_WHEN_REFUSED,
        (_, Some(429), _) => RETRIES_WHEN_LIMITED,
        (_, Some(_), ReceivedContent::Part) => RETRIES_IN_MIDST,
        (_, None, ReceivedContent::Part) => RETRIES_WHEN_CUT,
        (_, Some(_) | None, ReceivedContent::Nothing) => RETRIES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: Option<u16>, recovery: ErrorRecovery) -> ProviderError {
        ProviderError { message: "no".into(), status, recovery }
    }

    fn pauses(error: &ProviderError, came: ReceivedContent, fraction: f64) -> Vec<u128> {
        let again = |failures| match next(failures, error, came, fraction) {
            RetryDecision::Retry(again) => Some(again.pause.as_millis()),
            RetryDecision::Stop => None,
        };
        (1..).map_while(again).collect()
    }

    #[test]
    fn pauses_double_to_a_limit_and_are_jittered() {
        let limited = error(Some(429), ErrorRecovery::Retry);
        assert_eq!(pauses(&limited, ReceivedContent::Nothing, 1.0), [500, 1000, 2000, 4000, 8000]);
        assert_eq!(pauses(&limited, ReceivedContent::Nothing, 0.25), [125, 250, 500, 1000, 2000]);
        assert_eq!(pauses(&limited, ReceivedContent::Nothing, 0.0), [0; 5]);
        let busy = error(Some(503), ErrorRecovery::Retry);
        let all = pauses(&busy, ReceivedContent::Nothing, 1.0);
        assert_eq!(all, [500, 1000, 2000, 4000, 8000, 16000, 32000, 32000, 32000, 32000]);
    }

    #[test]
    fn how_often_depends_on_what_failed_and_when() {
        let table = [
            (Some(429), ErrorRecovery::Retry, ReceivedContent::Nothing, 5),
            (
                Some(429),
                ErrorRecovery::RetryAfter(Duration::from_secs(1)),
                ReceivedContent::Part,
                5,
            ),
            (Some(500), ErrorRecovery::Retry, ReceivedContent::Nothing, 10),
            (
                Some(529),
                ErrorRecovery::RetryAfter(Duration::from_secs(1)),
                ReceivedContent::Nothing,
                10,
            ),
            (Some(529), ErrorRecovery::Retry, ReceivedContent::Part, 5),
            (None, ErrorRecovery::Retry, ReceivedContent::Nothing, 10),
            (None, ErrorRecovery::Retry, ReceivedContent::Part, 1),
            (None, ErrorRecovery::RetryBriefly, ReceivedContent::Nothing, 4),
        ];
        for (status, recovery, came, times) in table {
            let failed = error(status, recovery);
            assert_eq!(pauses(&failed, came, 0.0).len(), times, "{status:?} {recovery:?} {came:?}");
        }
    }

    #[test]
    fn where_nobody_listens_it_is_over_within_five_seconds() {
        let refused = error(None, ErrorRecovery::RetryBriefly);
        let longest: u128 = pauses(&refused, ReceivedContent::Nothing, 1.0).iter().sum();
        let shortest: u128 = pauses(&refused, ReceivedContent::Nothing, 0.0).iter().sum();
        assert!(longest < 4_000 && shortest > 1_500, "{shortest} to {longest} ms");
    }

    #[test]
    fn what_the_server_asks_for_is_kept_within_a_minute() {
        let asks = |seconds| {
            let recovery = ErrorRecovery::RetryAfter(Duration::from_secs(seconds));
            next(1, &error(Some(429), recovery), ReceivedContent::Nothing, 0.5)
        };
        let again = |pause| RetryDecision::Retry(RetryAttempt { pause, number: 1, of: 5 });
        assert_eq!(asks(7), again(Duration::from_secs(7)));
        assert_eq!(asks(7200), again(LONGEST_ASKED));
    }

    #[test]
    fn what_would_fail_again_is_not_sent_again() {
        for recovery in [ErrorRecovery::Compact, ErrorRecovery::AskUser, ErrorRecovery::GiveUp] {
            assert_eq!(
                next(1, &error(None, recovery), ReceivedContent::Nothing, 1.0),
                RetryDecision::Stop
            );
        }
    }
}
