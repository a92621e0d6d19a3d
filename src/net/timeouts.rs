//! The time limits of a response.
//!
//! Each response has limits: until its first byte, between two pieces, with nothing but keep-alives,
//! and in total. A machine that has slept finds its connections dead without being notified. slug
//! detects sleep by the wall clock, which goes on while timers stand still.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, timeout_at};

use super::{FailurePersistence, HttpEndpoint, HttpTarget, TransportError};

/// How often a wait checks whether the machine has slept.
const SLEEP_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A larger difference between wall clock and timer counts as sleep.
const SLEEP: Duration = Duration::from_secs(20);

/// Keep-alives alone may come for this many times the limit for silence. A server whose model
/// thinks for long sends them for many minutes; one that sends them forever is stuck.
const KEEP_ALIVES: u32 = 20;

/// The time limits that the user has set; `None` means the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeoutSettings {
    /// Until the first byte of a response.
    pub first_byte: Option<Duration>,
    /// Between two pieces of a response.
    pub idle: Option<Duration>,
    /// From the request to the end of the response.
    pub total: Option<Duration>,
}

/// The time limits of one response. Comments and keep-alives count as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the request to the first byte of the response. `None` for a server on this machine, which
    /// may take minutes to read a long prompt.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the response.
    pub idle: Duration,
    /// From the request to the end of the response. `None` by default: a slow machine may write for
    /// hours.
    pub total: Option<Duration>,
    /// What a sleep of this machine does to the connection.
    pub sleep: SleepEffect,
}

/// What a sleep of this machine does to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SleepEffect {
    /// The other side stayed awake and has dropped it.
    ConnectionLost,
    /// The other side slept too.
    ConnectionKept,
}

impl Timeouts {
    /// The limits for `endpoint`: the user's, else the defaults.
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

    /// How long a response may consist of keep-alives only.
    pub(crate) fn keep_alives(&self) -> Duration {
        self.idle.saturating_mul(KEEP_ALIVES)
    }
}

/// The time limits of a running request, counted from its start.
#[derive(Debug)]
pub(crate) struct RequestTimer {
    pub(crate) target: HttpTarget,
    timeouts: Timeouts,
    at: Instant,
    clock: SleepDetector,
}

/// The wall clock, and how often a wait checks it.
#[derive(Debug, Clone, Copy)]
struct SleepDetector {
    wall: fn() -> SystemTime,
    poll_interval: Duration,
}

/// Which limit ended the wait for a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeoutError {
    Silent(Duration),
    KeepAlives(Duration),
    Total(Duration),
    Slept,
}

/// How much of a response has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpResponseStage {
    NothingYet,
    Begun,
}

impl RequestTimer {
    /// Starts the clock of a request now.
    pub(crate) fn start(target: HttpTarget, timeouts: Timeouts) -> Self {
        let clock = SleepDetector { wall: SystemTime::now, poll_interval: SLEEP_POLL_INTERVAL };
        Self { target, timeouts, at: Instant::now(), clock }
    }

    /// Waits for `next` within all limits. If a piece is already there, it counts even past a
    /// limit.
    pub(super) async fn within<F: Future>(
        &self,
        stage: HttpResponseStage,
        piece: F,
    ) -> Result<F::Output, TransportError> {
        let waited = self.wait(stage, piece).await;
        waited.map_err(|overdue| overdue.into_transport_error(&self.target.server))
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
            let next_poll = match self.timeouts.sleep {
                SleepEffect::ConnectionLost => Some(now + self.clock.poll_interval),
                SleepEffect::ConnectionKept => None,
            };
            let ends = [silent.map(|(at, _)| at), total.map(|(at, _)| at), next_poll];
            let Some(end) = ends.into_iter().flatten().min() else { return Ok(piece.await) };
            if let Ok(output) = timeout_at(end, piece.as_mut()).await {
                return Ok(output);
            }
            let now = Instant::now();
            if self.timeouts.sleep == SleepEffect::ConnectionLost {
                // A clock that was set back does not count as sleep.
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

/// Whether the machine slept, by the time that the wall clock and a timer measured. A clock that
/// was set forward looks the same, and costs one request.
fn slept(wall: Duration, ticked: Duration) -> bool {
    wall.saturating_sub(ticked) > SLEEP
}

impl TimeoutError {
    pub(crate) fn into_transport_error(self, server: &str) -> TransportError {
        let (message, persistence) = match self {
            Self::Silent(limit) => (
                format!(
                    "{server} has sent nothing for {} s. It may be overloaded, or the network is \
                     down.",
                    limit.as_secs()
                ),
                FailurePersistence::Passing,
            ),
            Self::KeepAlives(limit) => (
                format!(
                    "{server} has sent only keep-alives for {} s. If that is expected, raise \
                     `timeouts.idle` in ~/.slug/config.toml.",
                    limit.as_secs()
                ),
                FailurePersistence::Passing,
            ),
            Self::Total(limit) => (
                format!(
                    "{server} was still answering after {} s. If that is expected, raise \
                     `timeouts.total` in ~/.slug/config.toml.",
                    limit.as_secs()
                ),
                FailurePersistence::Final,
            ),
            Self::Slept => (
                format!("The connection to {server} was lost while this machine slept."),
                FailurePersistence::Passing,
            ),
        };
        TransportError { message, persistence }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::net::PlainHttp;

    fn parse(text: &str) -> HttpEndpoint {
        HttpEndpoint::parse(text, PlainHttp::LoopbackOnly).unwrap()
    }

    #[test]
    fn r37_sleep_is_the_difference_of_wall_clock_and_timer() {
        let seconds = Duration::from_secs;
        let table = [
            (seconds(5), seconds(5), false),
            (seconds(90), seconds(89), false),
            (seconds(20), seconds(5), false),
            (seconds(3600), seconds(3), true),
            // The clock was set back in between.
            (seconds(0), seconds(5), false),
        ];
        for (wall, ticked, expected) in table {
            assert_eq!(slept(wall, ticked), expected, "{wall:?} {ticked:?}");
        }
        let error = TimeoutError::Slept.into_transport_error("https://api.example.com/v1");
        assert_eq!(error.persistence, FailurePersistence::Passing);
        assert!(error.message.contains("slept"), "{error}");
    }

    /// A clock that advances by an hour with each look.
    fn after_a_nap() -> SystemTime {
        static HOURS: AtomicU64 = AtomicU64::new(0);
        let hours = HOURS.fetch_add(1, Ordering::Relaxed);
        SystemTime::UNIX_EPOCH + Duration::from_secs(3600 * hours)
    }

    #[tokio::test]
    async fn r37_after_a_sleep_a_stream_from_elsewhere_is_failed_at_once() {
        let never = Duration::from_secs(3600);
        let timeouts = |sleep| Timeouts { first_byte: None, idle: never, total: None, sleep };
        let clock = SleepDetector { wall: after_a_nap, poll_interval: Duration::from_millis(1) };
        let timer = |sleep| RequestTimer {
            clock,
            ..RequestTimer::start(HttpTarget::default(), timeouts(sleep))
        };
        let waited = timer(SleepEffect::ConnectionLost)
            .wait(HttpResponseStage::Begun, pending::<()>())
            .await;
        assert_eq!(waited, Err(TimeoutError::Slept));
        // What has already come counts first, and a server that slept too is waited for.
        let come =
            timer(SleepEffect::ConnectionLost).wait(HttpResponseStage::Begun, async { 1 }).await;
        assert_eq!(come, Ok(1));
        let slow = tokio::time::sleep(Duration::from_millis(20));
        assert_eq!(
            timer(SleepEffect::ConnectionKept).wait(HttpResponseStage::Begun, slow).await,
            Ok(())
        );
    }

    #[test]
    fn a_server_on_this_machine_may_read_and_write_as_long_as_it_needs() {
        let towards = |text, set| Timeouts::towards(&parse(text), set);
        let (far, near) = ("https://api.example.com/v1", "http://localhost:8000/v1");
        let seconds = Duration::from_secs;
        let defaults = Timeouts {
            first_byte: Some(seconds(60)),
            idle: seconds(90),
            total: Some(seconds(3600)),
            sleep: SleepEffect::ConnectionLost,
        };
        assert_eq!(towards(far, TimeoutSettings::default()), defaults);
        let here = Timeouts {
            first_byte: None,
            total: None,
            sleep: SleepEffect::ConnectionKept,
            ..defaults
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
