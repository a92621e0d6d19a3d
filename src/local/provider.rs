//! The provider of a model whose server slug runs: the server's own, asked once it is ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::domain::format_tokens;
use crate::providers::{
    ErrorRecovery, ModelCapabilities, ModelInfo, ModelLoading, Provider, ProviderError,
    ProviderRequest, StreamEvent,
};

use super::server::{LocalServer, LocalServerError};

/// A provider that starts its server with the first request.
#[derive(Clone)]
pub struct LocalProvider(Arc<LocalProviderParts>);

struct LocalProviderParts {
    server: LocalServer,
    /// Speaks with the server.
    inner: Arc<dyn Provider>,
    /// The smallest window in which slug can work, in tokens.
    least_window: u64,
    /// The served window is large enough.
    is_checked: AtomicBool,
}

impl LocalProvider {
    /// A provider for `server`, which `inner` speaks with. A server with a smaller window than
    /// `least_window` is refused.
    pub fn new(server: LocalServer, inner: Arc<dyn Provider>, least_window: u64) -> Self {
        let is_checked = AtomicBool::new(false);
        Self(Arc::new(LocalProviderParts { server, inner, least_window, is_checked }))
    }
}

#[async_trait]
impl Provider for LocalProvider {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let parts = self.0.clone();
        let begin = async move {
            match cancel.run_until_cancelled(parts.usable()).await {
                // The stream of a cancelled request just ends.
                None => stream::empty().boxed(),
                Some(Err(error)) => stream::iter([Err(error)]).boxed(),
                Some(Ok(())) => {
                    let events = parts.inner.stream(request, cancel.clone());
                    let told = move |event| {
                        let parts = parts.clone();
                        async move { parts.told(event).await }
                    };
                    events.then(told).boxed()
                }
            }
        };
        begin.flatten_stream().boxed()
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        self.0.models().await
    }

    fn capabilities(&self, model: &str) -> ModelCapabilities {
        self.0.inner.capabilities(model)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn loading(&self) -> Option<watch::Receiver<Option<ModelLoading>>> {
        Some(self.0.server.loading())
    }
}

impl LocalProviderParts {
    /// Returns once the server answers and its window is known to suffice.
    async fn usable(&self) -> Result<(), ProviderError> {
        if self.is_checked.load(Ordering::Acquire) {
            return self.server.ready().await.map_err(failed);
        }
        self.models().await.map(drop)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        self.server.ready().await.map_err(failed)?;
        let models = match self.inner.models().await {
            Ok(models) => models,
            Err(error) => return Err(self.explained(error).await),
        };
        if let Some(window) = models.iter().find_map(|model| model.context_window)
            && window < self.least_window
        {
            return Err(failed(LocalServerError(too_small(window, self.least_window))));
        }
        self.is_checked.store(true, Ordering::Release);
        Ok(models)
    }

    async fn told(
        &self,
        event: Result<StreamEvent, ProviderError>,
    ) -> Result<StreamEvent, ProviderError> {
        match event {
            Ok(event) => Ok(event),
            Err(error) => Err(self.explained(error).await),
        }
    }

    /// An error of the connection, with what has become of the server.
    async fn explained(&self, error: ProviderError) -> ProviderError {
        if error.status.is_some() {
            return error;
        }
        match self.server.end().await {
            Some(LocalServerError(message)) => {
                // It is started again with the next try.
                ProviderError { message, status: None, recovery: ErrorRecovery::Retry }
            }
            None if error.recovery == ErrorRecovery::RetryBriefly => ProviderError {
                message:
                    "The model's server has ended with the slug that ran it. This one starts it \
                          again."
                        .to_owned(),
                recovery: ErrorRecovery::Retry,
                ..error
            },
            None => error,
        }
    }
}

/// What is said of a window in which slug cannot work.
pub fn too_small(window: u64, least: u64) -> String {
    format!(
        "The model's window has {} tokens, and slug needs {} for its instructions, its tools and a \
         conversation. Start slug with --local-context 32768, or set `local.context`, or choose a \
         model that was trained for more.",
        format_tokens(window),
        format_tokens(least)
    )
}

fn failed(error: LocalServerError) -> ProviderError {
    ProviderError { message: error.0, status: None, recovery: ErrorRecovery::AskUser }
}
