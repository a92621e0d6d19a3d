//! Whether a failed request is sent again, and after how long. A pure function: the clock and the
//! dice are the caller's.

use std::time::Duration;

use super::{ProviderError, Recovery};

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
pub enum Next {
    /// Send the request again.
    Again(Again),
    /// Give the failure to whoever asked.
    Stop,
}

/// A request that is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// After this long.
    pub pause: Duration,
    /// How often it will have been sent again, this time included.
    pub number: u32,
    /// How often it is sent again at most.
    pub of: u32,
}

/// What had come of the answer before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// Nothing.
    Nothing,
    /// A part of it.
    Part,
}

/// Decides after the `failures`-th failure in a row, counted from 1. `fraction` is random, from 0
/// to 1: the pause is that part of what it could be at most (full jitter), so that clients that
/// failed together do not come back together.
pub fn next(failures: u32, error: &ProviderError, came: Came, fraction: f64) -> Next {
    let doublings = failures.saturating_sub(1).min(16);
    let fraction = fraction.clamp(0.0, 1.0);
    let pause = match error.recovery {
        Recovery::RetryAfter(asked) => asked.min(LONGEST_ASKED),
        Recovery::Retry => LONGEST.min(FIRST * 2_u32.pow(doublings)).mul_f64(fraction),
        // Nobody is there to be spared, and no pause at all would help no server to start.
        Recovery::RetryBriefly => {
            (FIRST_WHEN_REFUSED * 2_u32.pow(doublings)).mul_f64(0.5 + fraction / 2.0)
        }
        Recovery::Compact | Recovery::LeaveImagesOut | Recovery::AskPerson | Recovery::GiveUp => {
            return Next::Stop;
        }
    };
    let of = retries(error, came);
    if failures > of { Next::Stop } else { Next::Again(Again { pause, number: failures, of }) }
}

fn retries(error: &ProviderError, came: Came) -> u32 {
    match (error.recovery, error.status, came) {
        (Recovery::RetryBriefly, _, _) => RETRIES_WHEN_REFUSED,
        (_, Some(429), _) => RETRIES_WHEN_LIMITED,
        (_, Some(_), Came::Part) => RETRIES_IN_MIDST,
        (_, None, Came::Part) => RETRIES_WHEN_CUT,
        (_, Some(_) | None, Came::Nothing) => RETRIES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: Option<u16>, recovery: Recovery) -> ProviderError {
        ProviderError { message: "no".into(), status, recovery }
    }

    fn pauses(error: &ProviderError, came: Came, fraction: f64) -> Vec<u128> {
        let again = |failures| match next(failures, error, came, fraction) {
            Next::Again(again) => Some(again.pause.as_millis()),
            Next::Stop => None,
        };
        (1..).map_while(again).collect()
    }

    #[test]
    fn pauses_double_to_a_limit_and_are_jittered() {
        let limited = error(Some(429), Recovery::Retry);
        assert_eq!(pauses(&limited, Came::Nothing, 1.0), [500, 1000, 2000, 4000, 8000]);
        assert_eq!(pauses(&limited, Came::Nothing, 0.25), [125, 250, 500, 1000, 2000]);
        assert_eq!(pauses(&limited, Came::Nothing, 0.0), [0; 5]);
        let busy = error(Some(503), Recovery::Retry);
        let all = pauses(&busy, Came::Nothing, 1.0);
        assert_eq!(all, [500, 1000, 2000, 4000, 8000, 16000, 32000, 32000, 32000, 32000]);
    }

    #[test]
    fn how_often_depends_on_what_failed_and_when() {
        let table = [
            (Some(429), Recovery::Retry, Came::Nothing, 5),
            (Some(429), Recovery::RetryAfter(Duration::from_secs(1)), Came::Part, 5),
            (Some(500), Recovery::Retry, Came::Nothing, 10),
            (Some(529), Recovery::RetryAfter(Duration::from_secs(1)), Came::Nothing, 10),
            (Some(529), Recovery::Retry, Came::Part, 5),
            (None, Recovery::Retry, Came::Nothing, 10),
            (None, Recovery::Retry, Came::Part, 1),
            (None, Recovery::RetryBriefly, Came::Nothing, 4),
        ];
        for (status, recovery, came, times) in table {
            let failed = error(status, recovery);
            assert_eq!(pauses(&failed, came, 0.0).len(), times, "{status:?} {recovery:?} {came:?}");
        }
    }

    #[test]
    fn where_nobody_listens_it_is_over_within_five_seconds() {
        let refused = error(None, Recovery::RetryBriefly);
        let longest: u128 = pauses(&refused, Came::Nothing, 1.0).iter().sum();
        let shortest: u128 = pauses(&refused, Came::Nothing, 0.0).iter().sum();
        assert!(longest < 4_000 && shortest > 1_500, "{shortest} to {longest} ms");
    }

    #[test]
    fn what_the_server_asks_for_is_kept_within_a_minute() {
        let asks = |seconds| {
            let recovery = Recovery::RetryAfter(Duration::from_secs(seconds));
            next(1, &error(Some(429), recovery), Came::Nothing, 0.5)
        };
        let again = |pause| Next::Again(Again { pause, number: 1, of: 5 });
        assert_eq!(asks(7), again(Duration::from_secs(7)));
        assert_eq!(asks(7200), again(LONGEST_ASKED));
    }

    #[test]
    fn what_would_fail_again_is_not_sent_again() {
        for recovery in [Recovery::Compact, Recovery::AskPerson, Recovery::GiveUp] {
            assert_eq!(next(1, &error(None, recovery), Came::Nothing, 1.0), Next::Stop);
        }
    }
}
