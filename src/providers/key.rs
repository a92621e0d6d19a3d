//! The key of a server: given, or fetched when it is first needed.
//!
//! Fetching may start a program or unlock a keyring, so it is done once, at the first request, and
//! again only when the server has refused what was fetched: keys that a program prints expire.

use std::sync::Arc;

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use super::{ErrorRecovery, ProviderError};

/// Where a key comes from.
#[derive(Clone, Default)]
pub enum ApiKey {
    /// None is sent.
    #[default]
    None,
    /// This one.
    Given(SecretString),
    /// It is fetched at the first request.
    Fetched(Arc<dyn ApiKeyFetcher>),
}

/// Fetches a key.
#[async_trait]
pub trait ApiKeyFetcher: Send + Sync {
    /// The key as it is now; the error is a sentence with a remedy, without the key in it.
    async fn fetch(&self) -> Result<SecretString, String>;
}

/// A key that is fetched at most once, but for those that were refused.
pub(super) struct ApiKeyCache {
    key: ApiKey,
    fetched: Mutex<Option<SecretString>>,
}

impl ApiKey {
    /// A key that is known, or none.
    pub fn known(key: Option<SecretString>) -> Self {
        key.map_or(Self::None, Self::Given)
    }
}

impl ApiKeyCache {
    pub(super) fn new(key: ApiKey) -> Self {
        Self { key, fetched: Mutex::new(None) }
    }

    /// Whether another one can be had.
    pub(super) fn is_fetched(&self) -> bool {
        match self.key {
            ApiKey::Fetched(_) => true,
            ApiKey::None | ApiKey::Given(_) => false,
        }
    }

    /// The key to send. Waits while another request fetches it.
    pub(super) async fn current(&self) -> Result<Option<SecretString>, ProviderError> {
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

    /// Another key in the place of one that was refused; `None` where there is none but that.
    /// Where another request has fetched one in the meantime, it is that.
    pub(super) async fn replacement_for(
        &self,
        refused: Option<&SecretString>,
    ) -> Result<Option<SecretString>, ProviderError> {
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

async fn fetch(source: &dyn ApiKeyFetcher) -> Result<SecretString, ProviderError> {
    source.fetch().await.map_err(|message| ProviderError {
        message,
        status: None,
        recovery: ErrorRecovery::AskUser,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Prints key-1, key-2 and so on, up to `last`, which it repeats.
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

    fn keeper(last: usize) -> (ApiKeyCache, Arc<NumberedKeyFetcher>) {
        let source = Arc::new(NumberedKeyFetcher { fetched: AtomicUsize::new(0), last });
        (ApiKeyCache::new(ApiKey::Fetched(source.clone())), source)
    }

    fn text(key: Option<SecretString>) -> Option<String> {
        key.map(|key| key.expose_secret().to_owned())
    }

    #[tokio::test]
    async fn it_is_fetched_once_for_all_who_ask_at_once() {
        let (keeper, source) = keeper(9);
        assert_eq!(source.fetched.load(Ordering::SeqCst), 0);
        let (one, other) = tokio::join!(keeper.current(), keeper.current());
        assert_eq!(
            (text(one.unwrap()), text(other.unwrap())),
            (Some("key-1".into()), Some("key-1".into()))
        );
        assert_eq!(source.fetched.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_refused_one_is_fetched_anew_once() {
        let (keeper, source) = keeper(9);
        let first = keeper.current().await.unwrap();
        let (one, other) = tokio::join!(
            keeper.replacement_for(first.as_ref()),
            keeper.replacement_for(first.as_ref())
        );
        assert_eq!(
            (text(one.unwrap()), text(other.unwrap())),
            (Some("key-2".into()), Some("key-2".into()))
        );
        assert_eq!(source.fetched.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn the_same_one_again_is_none_at_all() {
        let (keeper, _) = keeper(1);
        let first = keeper.current().await.unwrap();
        assert!(keeper.replacement_for(first.as_ref()).await.unwrap().is_none());
        let given = ApiKeyCache::new(ApiKey::Given("k".into()));
        assert!(given.replacement_for(Some(&"k".into())).await.unwrap().is_none());
    }
}
