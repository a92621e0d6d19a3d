//! Decides whether a failed request is sent again, and after what pause. Pure: the caller provides
//! the clock and the random number.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ErrorRecovery, ProviderError};

/// Retries after 429, "too many requests".
pub const RETRIES_WHEN_LIMITED: u32 = 5;

/// Retries if no server listens that has answered before: enough for a server that is starting, and over
/// in less than five seconds, since the address may be wrong and only the user can tell.
pub const RETRIES_WHEN_REFUSED: u32 = 4;

/// Retries if a server that has answered before no longer listens: enough for one that is restarted and
/// loads its model again, and over in about two minutes.
pub const RETRIES_WHEN_RESTARTING: u32 = 17;

/// Retries if a server says that it is loading its model: for about three minutes with the pauses of five
/// seconds that slug makes then.
pub const RETRIES_WHEN_LOADING: u32 = 36;

/// The longest pause that is taken for that of a server that loads.
const LOADING_PAUSE: Duration = Duration::from_secs(5);

/// Retries after a response whose connection broke halfway. The part that came has been paid for.
pub const RETRIES_WHEN_CUT: u32 = 3;

/// Retries after an error that a server reported within its response.
pub const RETRIES_IN_MIDST: u32 = 5;

/// Retries after any other transient failure.
pub const RETRIES: u32 = 10;

/// The longest pause that a server may ask for; a longer one is cut to this.
pub const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// The pause of all requests to an overloaded server that names no time.
const OVERLOADED_PAUSE: Duration = Duration::from_secs(1);

/// The longest and the first pause of slug's own choosing, both before jitter. The first one is
/// that of the vendors' own client libraries, which retry less often.
const LONGEST: Duration = Duration::from_secs(32);
const FIRST: Duration = Duration::from_millis(500);

/// The first pause if no server listens.
const FIRST_WHEN_REFUSED: Duration = Duration::from_millis(250);

/// The longest pause if a server that has answered before does not listen.
const LONGEST_WHEN_RESTARTING: Duration = Duration::from_secs(10);

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Send the request again.
    Retry(RetryAttempt),
    /// Report the failure to the caller.
    Stop,
}

/// The next attempt at a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RetryAttempt {
    /// The wait before it is sent.
    pub pause: Duration,
    /// The number of this retry, counted from 1.
    pub number: u32,
    /// The most retries for this kind of failure.
    pub of: u32,
}

/// How much of the response came before the failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceivedContent {
    /// Not a single event of it.
    Nothing,
    /// Some events, but not the end.
    Part,
}

/// What is known of the server at which a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerHistory {
    /// It has not answered yet.
    Unknown,
    /// It has answered before.
    HasAnswered,
}

/// Decides after the `failures`-th failure in a row, counted from 1. `fraction` is random, from 0
/// to 1: the pause is that fraction of the longest possible one (full jitter), so that clients that
/// failed together do not return together.
pub fn next(
    failures: u32,
    error: &ProviderError,
    (received, history): (ReceivedContent, ServerHistory),
    fraction: f64,
) -> RetryDecision {
    let doublings = failures.saturating_sub(1).min(16);
    let fraction = fraction.clamp(0.0, 1.0);
    let pause = match error.recovery {
        ErrorRecovery::RetryAfter(asked) => asked.min(LONGEST_ASKED),
        ErrorRecovery::Retry => LONGEST.min(FIRST * 2_u32.pow(doublings)).mul_f64(fraction),
        // No server is there to protect from load, and without a pause it would get no time to
        // start.
        ErrorRecovery::RetryBriefly => {
            let pause = FIRST_WHEN_REFUSED * 2_u32.pow(doublings);
            match history {
                ServerHistory::Unknown => pause.mul_f64(0.5 + fraction / 2.0),
                ServerHistory::HasAnswered => {
                    LONGEST_WHEN_RESTARTING.min(pause).mul_f64(0.8 + fraction / 5.0)
                }
            }
        }
        ErrorRecovery::Compact(_)
        | ErrorRecovery::DescribeTools
        | ErrorRecovery::LeaveImagesOut
        | ErrorRecovery::AskUser
        | ErrorRecovery::GiveUp => {
            return RetryDecision::Stop;
        }
    };
    let of = retries(error, received, history);
    if failures > of {
        RetryDecision::Stop
    } else {
        RetryDecision::Retry(RetryAttempt { pause, number: failures, of })
    }
}

/// How long all requests to the same server pause after this failure; `None` if the others go on.
pub fn pause_of_all(error: &ProviderError) -> Option<Duration> {
    let is_overloaded = matches!(error.status, Some(429 | 529));
    match error.recovery {
        ErrorRecovery::RetryAfter(asked) => Some(asked.min(LONGEST_ASKED)),
        ErrorRecovery::Retry if is_overloaded => Some(OVERLOADED_PAUSE),
        ErrorRecovery::Retry
        | ErrorRecovery::RetryBriefly
        | ErrorRecovery::Compact(_)
        | ErrorRecovery::DescribeTools
        | ErrorRecovery::LeaveImagesOut
        | ErrorRecovery::AskUser
        | ErrorRecovery::GiveUp => None,
    }
}

fn retries(error: &ProviderError, received: ReceivedContent, history: ServerHistory) -> u32 {
    match (error.recovery, error.status, received) {
        (ErrorRecovery::RetryBriefly, _, _) => match history {
            ServerHistory::Unknown => RETRIES_WHEN_REFUSED,
            ServerHistory::HasAnswered => RETRIES_WHEN_RESTARTING,
        },
        (ErrorRecovery::RetryAfter(asked), Some(503), ReceivedContent::Nothing)
            if asked <= LOADING_PAUSE =>
        {
            RETRIES_WHEN_LOADING
        }
        (_, Some(429), _) => RETRIES_WHEN_LIMITED,
        (_, Some(_), ReceivedContent::Part) => RETRIES_IN_MIDST,
        (_, None, ReceivedContent::Part) => RETRIES_WHEN_CUT,
        (_, Some(_) | None, ReceivedContent::Nothing) => RETRIES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::RequestOverflow;

    fn error(status: Option<u16>, recovery: ErrorRecovery) -> ProviderError {
        ProviderError { message: "no".into(), status, recovery }
    }

    #[test]
    fn each_error_pauses_the_others_for_its_time() {
        let after = |seconds| ErrorRecovery::RetryAfter(Duration::from_secs(seconds));
        let table = [
            (error(Some(429), after(7)), Some(7)),
            (error(Some(503), after(5)), Some(5)),
            (error(Some(429), after(7200)), Some(60)),
            (error(Some(429), ErrorRecovery::Retry), Some(1)),
            (error(Some(529), ErrorRecovery::Retry), Some(1)),
            (error(Some(500), ErrorRecovery::Retry), None),
            (error(Some(429), ErrorRecovery::AskUser), None),
            (error(Some(400), ErrorRecovery::Compact(RequestOverflow::default())), None),
        ];
        for (error, seconds) in table {
            let pause = pause_of_all(&error).map(|pause| pause.as_secs());
            assert_eq!(pause, seconds, "{error:?}");
        }
    }

    fn pauses(error: &ProviderError, received: ReceivedContent, fraction: f64) -> Vec<u128> {
        pauses_of(error, (received, ServerHistory::Unknown), fraction)
    }

    fn pauses_of(
        error: &ProviderError,
        known: (ReceivedContent, ServerHistory),
        fraction: f64,
    ) -> Vec<u128> {
        let retry = |failures| match next(failures, error, known, fraction) {
            RetryDecision::Retry(retry) => Some(retry.pause.as_millis()),
            RetryDecision::Stop => None,
        };
        (1..).map_while(retry).collect()
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
            (
                Some(503),
                ErrorRecovery::RetryAfter(Duration::from_secs(5)),
                ReceivedContent::Nothing,
                36,
            ),
            (
                Some(503),
                ErrorRecovery::RetryAfter(Duration::from_secs(20)),
                ReceivedContent::Nothing,
                10,
            ),
            (None, ErrorRecovery::Retry, ReceivedContent::Nothing, 10),
            (None, ErrorRecovery::Retry, ReceivedContent::Part, 3),
            (None, ErrorRecovery::RetryBriefly, ReceivedContent::Nothing, 4),
        ];
        for (status, recovery, received, times) in table {
            let failed = error(status, recovery);
            assert_eq!(
                pauses(&failed, received, 0.0).len(),
                times,
                "{status:?} {recovery:?} {received:?}"
            );
        }
    }

    #[test]
    fn retries_without_a_listening_server_end_within_five_seconds() {
        let refused = error(None, ErrorRecovery::RetryBriefly);
        let longest: u128 = pauses(&refused, ReceivedContent::Nothing, 1.0).iter().sum();
        let shortest: u128 = pauses(&refused, ReceivedContent::Nothing, 0.0).iter().sum();
        assert!(longest < 4_000 && shortest > 1_500, "{shortest} to {longest} ms");
    }

    #[test]
    fn a_server_that_has_answered_before_has_two_minutes_to_come_back() {
        let refused = error(None, ErrorRecovery::RetryBriefly);
        let known = (ReceivedContent::Nothing, ServerHistory::HasAnswered);
        let longest: u128 = pauses_of(&refused, known, 1.0).iter().sum();
        let shortest: u128 = pauses_of(&refused, known, 0.0).iter().sum();
        assert!(longest < 130_000 && shortest > 100_000, "{shortest} to {longest} ms");
        assert!(pauses_of(&refused, known, 1.0).iter().all(|pause| *pause <= 10_000));
    }

    #[test]
    fn a_pause_that_the_server_asks_for_is_at_most_a_minute() {
        let asks = |seconds| {
            let recovery = ErrorRecovery::RetryAfter(Duration::from_secs(seconds));
            let known = (ReceivedContent::Nothing, ServerHistory::Unknown);
            next(1, &error(Some(429), recovery), known, 0.5)
        };
        let again = |pause| RetryDecision::Retry(RetryAttempt { pause, number: 1, of: 5 });
        assert_eq!(asks(7), again(Duration::from_secs(7)));
        assert_eq!(asks(7200), again(LONGEST_ASKED));
    }

    #[test]
    fn permanent_failures_are_not_retried() {
        for recovery in [
            ErrorRecovery::Compact(RequestOverflow::default()),
            ErrorRecovery::AskUser,
            ErrorRecovery::GiveUp,
        ] {
            let known = (ReceivedContent::Nothing, ServerHistory::HasAnswered);
            assert_eq!(next(1, &error(None, recovery), known, 1.0), RetryDecision::Stop);
        }
    }
}
