//! The API key of a server: configured, or fetched on first use.
//!
//! Fetching may start a program or unlock a keyring, so it happens once, at the first request, and
//! again only if the server has refused the key: keys that a program prints expire.

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use super::TransportError;

/// The source of an API key.
#[derive(Clone, Default)]
pub enum ApiKey {
    /// Requests are sent without a key.
    #[default]
    None,
    /// The key itself, from the configuration or the environment.
    Given(SecretString),
    /// A program or keyring gives the key at the first request.
    Fetched(Arc<dyn ApiKeyFetcher>),
}

/// Gets a key from outside slug's configuration, such as a program or a keyring.
#[async_trait]
pub trait ApiKeyFetcher: Send + Sync {
    /// Fetches the current key.
    ///
    /// # Errors
    ///
    /// Fails if no key can be had. The error is a sentence with a remedy and never contains the
    /// key.
    async fn fetch(&self) -> Result<SecretString, String>;
}

/// A key that is fetched at most once, except after a refusal.
pub(crate) struct ApiKeyCache {
    key: ApiKey,
    fetched: Mutex<Option<SecretString>>,
}

impl ApiKey {
    /// The given key; without one, requests are sent without a key.
    pub fn known(key: Option<SecretString>) -> Self {
        key.map_or(Self::None, Self::Given)
    }
}

impl ApiKeyCache {
    pub(crate) fn new(key: ApiKey) -> Self {
        Self { key, fetched: Mutex::new(None) }
    }

    /// Whether another key can be fetched.
    pub(crate) fn is_fetched(&self) -> bool {
        match self.key {
            ApiKey::Fetched(_) => true,
            ApiKey::None | ApiKey::Given(_) => false,
        }
    }

    /// The key to send. If another request is fetching it, waits for that.
    pub(crate) async fn current(&self) -> Result<Option<SecretString>, TransportError> {
        match &self.key {
            ApiKey::None => Ok(None),
            ApiKey::Given(key) => Ok(Some(key.clone())),
            ApiKey::Fetched(source) => {
                let mut fetched = self.fetched.lock().await;
                if fetched.is_none() {
                    *fetched = Some(fetch(source.as_ref()).await?);
                }
                Ok(fetched.clone())
            }
        }
    }

    /// Another key in place of a refused one; `None` if the fetch gives the same key again. If
    /// another request has fetched a new key meanwhile, returns that one.
    pub(crate) async fn replacement_for(
        &self,
        refused: Option<&SecretString>,
    ) -> Result<Option<SecretString>, TransportError> {
        let ApiKey::Fetched(source) = &self.key else { return Ok(None) };
        let is_refused = |key: &SecretString| {
            refused.is_some_and(|refused| refused.expose_secret() == key.expose_secret())
        };
        let mut fetched = self.fetched.lock().await;
        if fetched.as_ref().is_none_or(is_refused) {
            *fetched = Some(fetch(source.as_ref()).await?);
        }
        Ok(fetched.clone().filter(|key| !is_refused(key)))
    }
}

async fn fetch(source: &dyn ApiKeyFetcher) -> Result<SecretString, TransportError> {
    source.fetch().await.map_err(TransportError::lasting)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Gives key-1, key-2 and so on, up to `last`, which it repeats.
    struct NumberedKeyFetcher {
        fetched: AtomicUsize,
        last: usize,
    }

    #[async_trait]
    impl ApiKeyFetcher for NumberedKeyFetcher {
        async fn fetch(&self) -> Result<SecretString, String> {
            let number = self.fetched.fetch_add(1, Ordering::SeqCst) + 1;
            tokio::task::yield_now().await;
            Ok(format!("key-{}", number.min(self.last)).into())
        }
    }

    fn cache(last: usize) -> (ApiKeyCache, Arc<NumberedKeyFetcher>) {
        let source = Arc::new(NumberedKeyFetcher { fetched: AtomicUsize::new(0), last });
        (ApiKeyCache::new(ApiKey::Fetched(source.clone())), source)
    }

    fn text(key: Option<SecretString>) -> Option<String> {
        key.map(|key| key.expose_secret().to_owned())
    }

    #[tokio::test]
    async fn concurrent_requests_fetch_the_key_once() {
        let (cache, source) = cache(9);
        assert_eq!(source.fetched.load(Ordering::SeqCst), 0);
        let (one, other) = tokio::join!(cache.current(), cache.current());
        assert_eq!(
            (text(one.unwrap()), text(other.unwrap())),
            (Some("key-1".into()), Some("key-1".into()))
        );
        assert_eq!(source.fetched.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_refused_key_is_fetched_again_once() {
        let (cache, source) = cache(9);
        let first = cache.current().await.unwrap();
        let (one, other) = tokio::join!(
            cache.replacement_for(first.as_ref()),
            cache.replacement_for(first.as_ref())
        );
        assert_eq!(
            (text(one.unwrap()), text(other.unwrap())),
            (Some("key-2".into()), Some("key-2".into()))
        );
        assert_eq!(source.fetched.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn fetching_the_same_key_again_gives_none() {
        let (cache, _) = cache(1);
        let first = cache.current().await.unwrap();
        assert!(cache.replacement_for(first.as_ref()).await.unwrap().is_none());
        let given = ApiKeyCache::new(ApiKey::Given("k".into()));
        assert!(given.replacement_for(Some(&"k".into())).await.unwrap().is_none());
    }
}
