//! Lets requests through to one server: none while it has asked to be left alone, and only so many
//! at once.
//!
//! All agents of a process that ask the same server with the same key share one [`RateLimiter`], so
//! that what one of them is told holds for all. [`RateLimiters`] finds it. A request has its pass
//! until its answer is over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::retry::LONGEST_ASKED;
use super::{ApiKey, ErrorRecovery, ProviderError, RateLimited};
use crate::domain::ContentHash;

/// How many requests a server gets at once. Servers on a desk work on one to four, hosted ones
/// count requests by the minute.
const AT_ONCE: usize = 8;

/// How long a server is left alone that is overloaded and names no time.
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);

/// The turnstiles of a process, by the server's origin and the key it is asked with.
#[derive(Debug, Default)]
pub(super) struct RateLimiters {
    by_server: Mutex<HashMap<RateLimiterKey, Arc<RateLimiter>>>,
}

/// A server's origin, and who asks it.
type RateLimiterKey = (String, ApiKeyOwner);

/// Whose requests a server counts together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ApiKeyOwner {
    Nobody,
    /// The owner of the key with this hash.
    Owner(ContentHash),
    /// The owner of a key that is fetched when it is needed.
    Fetched,
}

/// The way in to one server.
#[derive(Debug)]
pub(super) struct RateLimiter {
    places: Arc<Semaphore>,
    pause: Mutex<Option<RateLimitPause>>,
}

/// What a request has while it is under way.
#[derive(Debug)]
pub(super) struct Permit(#[allow(dead_code, reason = "held, not used")] OwnedSemaphorePermit);

/// Until when nothing goes through, and who said so.
#[derive(Debug, Clone)]
struct RateLimitPause {
    until: Instant,
    reason: String,
}

impl RateLimiters {
    /// The one of the server at `origin`, asked with `key`.
    pub(super) fn of(&self, origin: String, key: &ApiKey) -> Arc<RateLimiter> {
        let who = match key {
            ApiKey::None => ApiKeyOwner::Nobody,
            ApiKey::Given(key) => {
                ApiKeyOwner::Owner(ContentHash::of(key.expose_secret().as_bytes()))
            }
            ApiKey::Fetched(_) => ApiKeyOwner::Fetched,
        };
        Arc::clone(lock(&self.by_server).entry((origin, who)).or_default())
    }
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)), pause: Mutex::default() }
    }
}

impl RateLimiter {
    /// How long nothing goes through from `now` on, and why; `None` when it is open.
    pub(super) fn active_limit(&self, now: Instant) -> Option<RateLimited> {
        let mut shut = lock(&self.pause);
        let held = shut.as_ref().and_then(|shut| {
            let wait = shut.until.checked_duration_since(now).filter(|wait| !wait.is_zero())?;
            Some(RateLimited { wait, reason: shut.reason.clone() })
        });
        if held.is_none() {
            *shut = None;
        }
        held
    }

    /// Takes in how a request failed: whether the server is to be left alone, and how long.
    pub(super) fn note(&self, error: &ProviderError, now: Instant) {
        let overloaded = matches!(error.status, Some(429 | 529));
        let pause = match error.recovery {
            ErrorRecovery::RetryAfter(asked) => asked.min(LONGEST_ASKED),
            ErrorRecovery::Retry if overloaded => DEFAULT_PAUSE,
            ErrorRecovery::Retry
            | ErrorRecovery::RetryBriefly
            | ErrorRecovery::Compact
            | ErrorRecovery::LeaveImagesOut
            | ErrorRecovery::AskUser
            | ErrorRecovery::GiveUp => return,
        };
        let until = now + pause;
        let mut shut = lock(&self.pause);
        if shut.as_ref().is_none_or(|shut| shut.until < until) {
            *shut = Some(RateLimitPause { until, reason: error.message.clone() });
        }
    }

    /// Waits for a place among the requests under way. A wait that was begun may have shut the
    /// turnstile meanwhile: look again with [`Self::active_limit`].
    pub(super) async fn acquire(&self) -> Option<Permit> {
        // Fails only for a semaphore that was closed, and none is.
        Arc::clone(&self.places).acquire_owned().await.ok().map(Permit)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn failed(status: u16, recovery: ErrorRecovery) -> ProviderError {
        ProviderError { message: format!("It said {status}."), status: Some(status), recovery }
    }

    fn after(seconds: u64) -> ErrorRecovery {
        ErrorRecovery::RetryAfter(Duration::from_secs(seconds))
    }

    #[test]
    fn what_shuts_it_and_for_how_long() {
        let table = [
            (failed(429, after(7)), Some(7)),
            (failed(503, after(5)), Some(5)),
            (failed(429, after(7200)), Some(60)),
            (failed(429, ErrorRecovery::Retry), Some(1)),
            (failed(529, ErrorRecovery::Retry), Some(1)),
            (failed(500, ErrorRecovery::Retry), None),
            (failed(429, ErrorRecovery::AskUser), None),
            (failed(400, ErrorRecovery::Compact), None),
        ];
        for (error, seconds) in table {
            let (stile, now) = (RateLimiter::default(), Instant::now());
            stile.note(&error, now);
            let held = stile.active_limit(now).map(|held| held.wait.as_secs());
            assert_eq!(held, seconds, "{error:?}");
        }
    }

    #[test]
    fn it_opens_when_the_time_is_over_and_the_longest_time_holds() {
        let (stile, now) = (RateLimiter::default(), Instant::now());
        stile.note(&failed(429, after(10)), now);
        stile.note(&failed(529, ErrorRecovery::Retry), now);
        let wait =
            |passed| stile.active_limit(now + Duration::from_secs(passed)).map(|held| held.wait);
        assert_eq!(wait(4), Some(Duration::from_secs(6)));
        assert_eq!(wait(10), None);
        assert_eq!(stile.active_limit(now), None, "what is over is forgotten");
    }

    #[test]
    fn so_many_go_through_at_once_and_the_next_takes_a_place_that_is_given_up() {
        let stile = RateLimiter::default();
        let mut passes: Vec<_> = (0..AT_ONCE)
            .map(|_| stile.acquire().now_or_never().flatten().expect("a free place"))
            .collect();
        assert!(stile.acquire().now_or_never().is_none());
        passes.pop();
        assert!(stile.acquire().now_or_never().is_some());
    }

    #[test]
    fn who_asks_the_same_server_with_the_same_key_shares_it() {
        let all = RateLimiters::default();
        let (one, other) = (ApiKey::Given("sk-1".into()), ApiKey::Given("sk-2".into()));
        let of = |origin: &str, key| all.of(origin.to_owned(), key);
        let here = of("https://a.example", &one);
        assert!(Arc::ptr_eq(&here, &of("https://a.example", &one)));
        for elsewhere in [
            of("https://a.example", &other),
            of("https://a.example", &ApiKey::None),
            of("https://b.example", &one),
        ] {
            assert!(!Arc::ptr_eq(&here, &elsewhere));
        }
        assert!(!format!("{all:?}").contains("sk-1"), "no key is kept");
    }
}
