//! Lets requests through to one server: none while it has asked to be left alone, and only so many
//! at once.
//!
//! All agents of a process that ask the same server with the same key share one [`Turnstile`], so
//! that what one of them is told holds for all. [`Turnstiles`] finds it. A request has its pass
//! until its answer is over.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::retry::LONGEST_ASKED;
use super::{Held, Key, ProviderError, Recovery};
use crate::domain::ContentHash;

/// How many requests a server gets at once. Servers on a desk work on one to four, hosted ones
/// count requests by the minute.
const AT_ONCE: usize = 8;

/// How long a server is left alone that is overloaded and names no time.
const UNNAMED: Duration = Duration::from_secs(1);

/// The turnstiles of a process, by the server's origin and the key it is asked with.
#[derive(Debug, Default)]
pub(super) struct Turnstiles {
    by_server: Mutex<HashMap<Account, Arc<Turnstile>>>,
}

/// A server's origin, and who asks it.
type Account = (String, Who);

/// Whose requests a server counts together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Who {
    Nobody,
    /// The owner of the key with this hash.
    Owner(ContentHash),
    /// The owner of a key that is fetched when it is needed.
    Fetched,
}

/// The way in to one server.
#[derive(Debug)]
pub(super) struct Turnstile {
    places: Arc<Semaphore>,
    shut: Mutex<Option<Shut>>,
}

/// What a request has while it is under way.
#[derive(Debug)]
pub(super) struct Pass(#[allow(dead_code, reason = "held, not used")] OwnedSemaphorePermit);

/// Until when nothing goes through, and who said so.
#[derive(Debug, Clone)]
struct Shut {
    until: Instant,
    reason: String,
}

impl Turnstiles {
    /// The one of the server at `origin`, asked with `key`.
    pub(super) fn of(&self, origin: String, key: &Key) -> Arc<Turnstile> {
        let who = match key {
            Key::None => Who::Nobody,
            Key::Given(key) => Who::Owner(ContentHash::of(key.expose_secret().as_bytes())),
            Key::Fetched(_) => Who::Fetched,
        };
        Arc::clone(lock(&self.by_server).entry((origin, who)).or_default())
    }
}

impl Default for Turnstile {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)), shut: Mutex::default() }
    }
}

impl Turnstile {
    /// How long nothing goes through from `now` on, and why; `None` when it is open.
    pub(super) fn held(&self, now: Instant) -> Option<Held> {
        let mut shut = lock(&self.shut);
        let held = shut.as_ref().and_then(|shut| {
            let wait = shut.until.checked_duration_since(now).filter(|wait| !wait.is_zero())?;
            Some(Held { wait, reason: shut.reason.clone() })
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
            Recovery::RetryAfter(asked) => asked.min(LONGEST_ASKED),
            Recovery::Retry if overloaded => UNNAMED,
            Recovery::Retry
            | Recovery::RetryBriefly
            | Recovery::Compact
            | Recovery::LeaveImagesOut
            | Recovery::AskPerson
            | Recovery::GiveUp => return,
        };
        let until = now + pause;
        let mut shut = lock(&self.shut);
        if shut.as_ref().is_none_or(|shut| shut.until < until) {
            *shut = Some(Shut { until, reason: error.message.clone() });
        }
    }

    /// Waits for a place among the requests under way. A wait that was begun may have shut the
    /// turnstile meanwhile: look again with [`Self::held`].
    pub(super) async fn pass(&self) -> Option<Pass> {
        // Fails only for a semaphore that was closed, and none is.
        Arc::clone(&self.places).acquire_owned().await.ok().map(Pass)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn failed(status: u16, recovery: Recovery) -> ProviderError {
        ProviderError { message: format!("It said {status}."), status: Some(status), recovery }
    }

    fn after(seconds: u64) -> Recovery {
        Recovery::RetryAfter(Duration::from_secs(seconds))
    }

    #[test]
    fn what_shuts_it_and_for_how_long() {
        let table = [
            (failed(429, after(7)), Some(7)),
            (failed(503, after(5)), Some(5)),
            (failed(429, after(7200)), Some(60)),
            (failed(429, Recovery::Retry), Some(1)),
            (failed(529, Recovery::Retry), Some(1)),
            (failed(500, Recovery::Retry), None),
            (failed(429, Recovery::AskPerson), None),
            (failed(400, Recovery::Compact), None),
        ];
        for (error, seconds) in table {
            let (stile, now) = (Turnstile::default(), Instant::now());
            stile.note(&error, now);
            let held = stile.held(now).map(|held| held.wait.as_secs());
            assert_eq!(held, seconds, "{error:?}");
        }
    }

    #[test]
    fn it_opens_when_the_time_is_over_and_the_longest_time_holds() {
        let (stile, now) = (Turnstile::default(), Instant::now());
        stile.note(&failed(429, after(10)), now);
        stile.note(&failed(529, Recovery::Retry), now);
        let wait = |passed| stile.held(now + Duration::from_secs(passed)).map(|held| held.wait);
        assert_eq!(wait(4), Some(Duration::from_secs(6)));
        assert_eq!(wait(10), None);
        assert_eq!(stile.held(now), None, "what is over is forgotten");
    }

    #[test]
    fn so_many_go_through_at_once_and_the_next_takes_a_place_that_is_given_up() {
        let stile = Turnstile::default();
        let mut passes: Vec<_> = (0..AT_ONCE)
            .map(|_| stile.pass().now_or_never().flatten().expect("a free place"))
            .collect();
        assert!(stile.pass().now_or_never().is_none());
        passes.pop();
        assert!(stile.pass().now_or_never().is_some());
    }

    #[test]
    fn who_asks_the_same_server_with_the_same_key_shares_it() {
        let all = Turnstiles::default();
        let (one, other) = (Key::Given("sk-1".into()), Key::Given("sk-2".into()));
        let of = |origin: &str, key| all.of(origin.to_owned(), key);
        let here = of("https://a.example", &one);
        assert!(Arc::ptr_eq(&here, &of("https://a.example", &one)));
        for elsewhere in [
            of("https://a.example", &other),
            of("https://a.example", &Key::None),
            of("https://b.example", &one),
        ] {
            assert!(!Arc::ptr_eq(&here, &elsewhere));
        }
        assert!(!format!("{all:?}").contains("sk-1"), "no key is kept");
    }
}
