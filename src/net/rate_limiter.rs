//! Limits the requests to one server: none while the server has asked for a pause, and only a few
//! at once.
//!
//! All agents of a process that ask the same server with the same key share one [`RateLimiter`], so
//! that a refusal of one request pauses all of them. [`RateLimiters`] finds the shared one. A
//! request holds its [`Permit`] until its response is complete.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::ApiKey;
use crate::domain::ContentHash;

/// The most parallel requests to a server. Servers on a desk work on one to four at a time; hosted
/// ones limit requests per minute instead.
const AT_ONCE: usize = 8;

/// The rate limiters of a process, by the server's origin and the key.
#[derive(Debug, Default)]
pub(crate) struct RateLimiters {
    by_server: Mutex<HashMap<RateLimiterKey, Arc<RateLimiter>>>,
}

/// A pause that one request's refusal causes for all requests to the same server with the same key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RateLimited {
    /// The time until the request is sent.
    pub wait: Duration,
    /// The message of the refused request.
    pub reason: String,
}

/// A server's origin, and the owner of the key.
type RateLimiterKey = (String, ApiKeyOwner);

/// The key owner whose requests a server counts together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ApiKeyOwner {
    Nobody,
    /// The hash of a configured key.
    Owner(ContentHash),
    /// A key that is fetched on first use, and so not known yet.
    Fetched,
}

/// The limits on requests to one server with one key.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    places: Arc<Semaphore>,
    pause: Mutex<Option<RateLimitPause>>,
}

/// The right to have a request running; dropping it makes room for the next one.
#[derive(Debug)]
pub(crate) struct Permit(#[allow(dead_code, reason = "held, not used")] OwnedSemaphorePermit);

/// The end of a pause, and the error that caused it.
#[derive(Debug, Clone)]
struct RateLimitPause {
    until: Instant,
    reason: String,
}

impl RateLimiters {
    /// The rate limiter of the server at `origin` with `key`, created if needed.
    pub(crate) fn of(&self, origin: String, key: &ApiKey) -> Arc<RateLimiter> {
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
    /// The remaining pause at `now`, with its reason; `None` if requests may be sent.
    pub(crate) fn active_limit(&self, now: Instant) -> Option<RateLimited> {
        let mut pause = lock(&self.pause);
        let limit = pause.as_ref().and_then(|pause| {
            let wait = pause.until.checked_duration_since(now).filter(|wait| !wait.is_zero())?;
            Some(RateLimited { wait, reason: pause.reason.clone() })
        });
        if limit.is_none() {
            *pause = None;
        }
        limit
    }

    /// Pauses all requests for so long, because the server has refused one with these words. Of two
    /// pauses the one that ends later holds.
    pub(crate) fn pause(&self, pause: Duration, reason: &str, now: Instant) {
        let until = now + pause;
        let mut pause = lock(&self.pause);
        if pause.as_ref().is_none_or(|pause| pause.until < until) {
            *pause = Some(RateLimitPause { until, reason: reason.to_owned() });
        }
    }

    /// Waits until there is room for another request. A pause may have begun during the wait, so
    /// the caller checks [`Self::active_limit`] again.
    pub(crate) async fn acquire(&self) -> Option<Permit> {
        // Fails only if the semaphore is closed, which never happens.
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

    #[test]
    fn a_pause_ends_in_time_and_the_longest_one_holds() {
        let (limiter, now) = (RateLimiter::default(), Instant::now());
        limiter.pause(Duration::from_secs(10), "It said 429.", now);
        limiter.pause(Duration::from_secs(1), "It said 529.", now);
        let wait = |passed| {
            limiter.active_limit(now + Duration::from_secs(passed)).map(|limit| limit.wait)
        };
        assert_eq!(wait(4), Some(Duration::from_secs(6)));
        assert_eq!(wait(10), None);
        assert_eq!(limiter.active_limit(now), None, "what is over is forgotten");
    }

    #[test]
    fn a_dropped_permit_lets_the_next_request_through() {
        let limiter = RateLimiter::default();
        let mut passes: Vec<_> = (0..AT_ONCE)
            .map(|_| limiter.acquire().now_or_never().flatten().expect("a free place"))
            .collect();
        assert!(limiter.acquire().now_or_never().is_none());
        passes.pop();
        assert!(limiter.acquire().now_or_never().is_some());
    }

    #[test]
    fn requests_with_the_same_server_and_key_share_a_limiter() {
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
