//! How long an answer is waited for.
//!
//! Each answer has limits: to its first byte, between two pieces, with nothing but keep-alives, and
//! in all. A machine that has slept finds its connections dead without being told so; the wall
//! clock, which goes on in sleep while timers stand still, tells.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, timeout_at};

use super::HttpEndpoint;
use crate::providers::failure::RequestTarget;
use crate::providers::{ErrorRecovery, ProviderError};

/// How often a wait looks whether the machine has slept.
const SLEEP_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// What is longer than this between two clocks was sleep.
const SLEEP: Duration = Duration::from_secs(20);

/// So many times as long as silence may be, nothing but keep-alives may come. A server that has a
/// model think for long sends them for many minutes; one that sends them for ever is stuck.
const KEEP_ALIVES: u32 = 20;

/// The limits of time that the person has set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeoutSettings {
    /// For the first byte of an answer.
    pub first_byte: Option<Duration>,
    /// Between two pieces of it.
    pub idle: Option<Duration>,
    /// For all of it.
    pub total: Option<Duration>,
}

/// How long to wait for bytes, comments and keep-alives included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the first byte of the answer, from the moment of asking. A server on this machine has
    /// no such limit: reading a long prompt takes it minutes.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// For the whole answer, from the moment of asking. A slow machine may write for hours.
    pub total: Option<Duration>,
    /// What a sleep of this machine means.
    pub sleep: SleepEffect,
}

/// What a sleep of this machine does to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepEffect {
    /// The other side, which stayed awake, has given it up.
    ConnectionLost,
    /// The other side slept, too.
    ConnectionKept,
}

impl Timeouts {
    /// What `endpoint` is given, where the person has set nothing else.
    pub fn towards(endpoint: &HttpEndpoint, set: TimeoutSettings) -> Self {
        let elsewhere = |limit: u64| (!endpoint.is_local()).then_some(Duration::from_secs(limit));
        Self {
            first_byte: set.first_byte.or_else(|| elsewhere(60)),
            idle: set.idle.unwrap_or(Duration::from_secs(90)),
            total: set.total.or_else(|| elsewhere(3600)),
            sleep: if endpoint.is_local() {
                SleepEffect::ConnectionKept
            } else {
                SleepEffect::ConnectionLost
            },
        }
    }

    /// How long keep-alives alone are an answer.
    pub(in crate::providers) fn keep_alives(&self) -> Duration {
        self.idle.saturating_mul(KEEP_ALIVES)
    }
}

/// A question, from the moment of asking.
#[derive(Debug)]
pub(in crate::providers) struct RequestTimer {
    /// Who is asked.
    pub(in crate::providers) site: RequestTarget,
    timeouts: Timeouts,
    at: Instant,
    clock: SleepDetector,
}

/// The clock on the wall, and how often a wait looks at it.
#[derive(Debug, Clone, Copy)]
struct SleepDetector {
    wall: fn() -> SystemTime,
    poll_interval: Duration,
}

/// Why an answer is waited for no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::providers) enum TimeoutError {
    Silent(Duration),
    KeepAlives(Duration),
    Total(Duration),
    Slept,
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpResponseStage {
    NothingYet,
    Begun,
}

impl RequestTimer {
    /// Asked just now.
    pub(in crate::providers) fn start(site: RequestTarget, patience: Timeouts) -> Self {
        let clock = SleepDetector { wall: SystemTime::now, poll_interval: SLEEP_POLL_INTERVAL };
        Self { site, timeouts: patience, at: Instant::now(), clock }
    }

    /// Waits for the next piece within all limits. What is there counts before what is over.
    pub(super) async fn within<F: Future>(
        &self,
        stage: HttpResponseStage,
        piece: F,
    ) -> Result<F::Output, ProviderError> {
        let waited = self.wait(stage, piece).await;
        waited.map_err(|overdue| overdue.into_provider_error(&self.site.server))
    }

    async fn wait<F: Future>(
        &self,
        stage: HttpResponseStage,
        piece: F,
    ) -> Result<F::Output, TimeoutError> {
        let mut piece = pin!(piece);
        let (began, wall) = (Instant::now(), (self.clock.wall)());
        let silent = match stage {
            HttpResponseStage::NothingYet => {
                self.timeouts.first_byte.map(|limit| (self.at + limit, limit))
            }
            HttpResponseStage::Begun => Some((began + self.timeouts.idle, self.timeouts.idle)),
        };
        let total = self.timeouts.total.map(|limit| (self.at + limit, limit));
        loop {
            let now = Instant::now();
            if let Some((at, limit)) = total
                && now >= at
            {
                return Err(TimeoutError::Total(limit));
            }
            let glance = match self.timeouts.sleep {
                SleepEffect::ConnectionLost => Some(now + self.clock.poll_interval),
                SleepEffect::ConnectionKept => None,
            };
            let ends = [silent.map(|(at, _)| at), total.map(|(at, _)| at), glance];
            let Some(end) = ends.into_iter().flatten().min() else { return Ok(piece.await) };
            if let Ok(output) = timeout_at(end, piece.as_mut()).await {
                return Ok(output);
            }
            let now = Instant::now();
            if self.timeouts.sleep == SleepEffect::ConnectionLost {
                // A clock that was set back is no sleep.
                let passed = (self.clock.wall)().duration_since(wall).unwrap_or_default();
                if slept(passed, now.duration_since(began)) {
                    return Err(TimeoutError::Slept);
                }
            }
            if let Some((at, limit)) = silent
                && now >= at
            {
                return Err(TimeoutError::Silent(limit));
            }
        }
    }
}

/// Whether the machine slept in a time that the wall clock and a timer measured. A clock that was
/// set looks the same, and costs one request.
fn slept(wall: Duration, ticked: Duration) -> bool {
    wall.saturating_sub(ticked) > SLEEP
}

impl TimeoutError {
    pub(in crate::providers) fn into_provider_error(self, server: &str) -> ProviderError {
        let (message, recovery) = match self {
            Self::Silent(limit) => (
                format!(
                    "{server} has sent nothing for {} s. It may be overloaded, or the network is \
                     down.",
                    limit.as_secs()
                ),
                ErrorRecovery::Retry,
            ),
            Self::KeepAlives(limit) => (
                format!(
                    "{server} has sent nothing but keep-alives for {} s. Where that is to be \
                     expected, raise `timeouts.idle` in ~/.slug/config.toml.",
                    limit.as_secs()
                ),
                ErrorRecovery::Retry,
            ),
            Self::Total(limit) => (
                format!(
                    "{server} was still answering after {} s. Where that is to be expected, raise \
                     `timeouts.total` in ~/.slug/config.toml.",
                    limit.as_secs()
                ),
                ErrorRecovery::GiveUp,
            ),
            Self::Slept => (
                format!("The connection to {server} did not outlast this machine's sleep."),
                ErrorRecovery::Retry,
            ),
        };
        ProviderError { message, status: None, recovery }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::providers::http::PlainHttp;

    fn parse(text: &str) -> HttpEndpoint {
        HttpEndpoint::parse(text, PlainHttp::LoopbackOnly).unwrap()
    }

    #[test]
    fn r37_sleep_is_what_the_wall_clock_has_and_the_timer_has_not() {
        let seconds = Duration::from_secs;
        let table = [
            (seconds(5), seconds(5), false),
            (seconds(90), seconds(89), false),
            (seconds(20), seconds(5), false),
            (seconds(3600), seconds(3), true),
            // The clock was set back meanwhile.
            (seconds(0), seconds(5), false),
        ];
        for (wall, ticked, expected) in table {
            assert_eq!(slept(wall, ticked), expected, "{wall:?} {ticked:?}");
        }
        let told = TimeoutError::Slept.into_provider_error("https://api.example.com/v1");
        assert_eq!(told.recovery, ErrorRecovery::Retry);
        assert!(told.message.contains("sleep"), "{told}");
    }

    /// A clock that goes on by an hour from look to look.
    fn after_a_nap() -> SystemTime {
        static HOURS: AtomicU64 = AtomicU64::new(0);
        let hours = HOURS.fetch_add(1, Ordering::Relaxed);
        SystemTime::UNIX_EPOCH + Duration::from_secs(3600 * hours)
    }

    #[tokio::test]
    async fn r37_after_a_sleep_a_stream_from_elsewhere_is_failed_at_once() {
        let never = Duration::from_secs(3600);
        let patience = |sleep| Timeouts { first_byte: None, idle: never, total: None, sleep };
        let clock = SleepDetector { wall: after_a_nap, poll_interval: Duration::from_millis(1) };
        let asked = |sleep| RequestTimer {
            clock,
            ..RequestTimer::start(RequestTarget::default(), patience(sleep))
        };
        let waited = asked(SleepEffect::ConnectionLost)
            .wait(HttpResponseStage::Begun, pending::<()>())
            .await;
        assert_eq!(waited, Err(TimeoutError::Slept));
        // What has come meanwhile counts first, and a server that slept, too, is waited for.
        let come =
            asked(SleepEffect::ConnectionLost).wait(HttpResponseStage::Begun, async { 1 }).await;
        assert_eq!(come, Ok(1));
        let slow = tokio::time::sleep(Duration::from_millis(20));
        assert_eq!(
            asked(SleepEffect::ConnectionKept).wait(HttpResponseStage::Begun, slow).await,
            Ok(())
        );
    }

    #[test]
    fn a_server_on_this_machine_may_read_and_write_as_long_as_it_needs() {
        let towards = |text, set| Timeouts::towards(&parse(text), set);
        let (far, near) = ("https://api.example.com/v1", "http://localhost:8000/v1");
        let seconds = Duration::from_secs;
        let patience = Timeouts {
            first_byte: Some(seconds(60)),
            idle: seconds(90),
            total: Some(seconds(3600)),
            sleep: SleepEffect::ConnectionLost,
        };
        assert_eq!(towards(far, TimeoutSettings::default()), patience);
        let here = Timeouts {
            first_byte: None,
            total: None,
            sleep: SleepEffect::ConnectionKept,
            ..patience
        };
        assert_eq!(towards(near, TimeoutSettings::default()), here);
        let set = TimeoutSettings {
            first_byte: Some(seconds(1)),
            idle: Some(seconds(2)),
            total: Some(seconds(3)),
        };
        for address in [far, near] {
            let own = towards(address, set);
            let limits = (own.first_byte, own.idle, own.total);
            assert_eq!(limits, (Some(seconds(1)), seconds(2), Some(seconds(3))));
        }
    }
}
