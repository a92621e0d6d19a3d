//! A response on its way from the provider to the turn machine.

use futures_util::StreamExt;
use futures_util::stream::BoxStream;

use crate::platform::redact::Redactor;
use crate::providers::{ErrorRecovery, ProviderError, ResponseSize, StreamEvent};

/// A response that streams, within its limits.
pub(in crate::agent) struct AnswerStream {
    events: BoxStream<'static, Result<StreamEvent, ProviderError>>,
    size: ResponseSize,
    redactor: Redactor,
}

impl AnswerStream {
    /// The response that `events` stream; `redactor` takes slug's keys out of its error.
    pub(in crate::agent) fn new(
        events: BoxStream<'static, Result<StreamEvent, ProviderError>>,
        redactor: Redactor,
    ) -> Self {
        Self { events, size: ResponseSize::default(), redactor }
    }

    /// The next piece. Nothing is to be read behind an error.
    pub(in crate::agent) async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        let event = self.events.next().await?;
        let checked = event.and_then(|event| self.size.add(&event).map(|()| event));
        // An error message of the server may repeat the key, also in another form.
        Some(checked.map_err(|error| {
            let message = self.redactor.redact_own(&error.message).into_owned();
            ProviderError { message, ..error }
        }))
    }
}

/// The failure of a response whose end did not come.
pub(in crate::agent) fn ended_early() -> ProviderError {
    ProviderError {
        message: "The server closed the connection before the answer was complete.".into(),
        status: None,
        recovery: ErrorRecovery::Retry,
    }
}
