//! The example of docs/providers.md.

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use slug_code::domain::{Message, StopReason};
use slug_code::providers::{ModelInfo, Provider, ProviderError, ProviderRequest, StreamEvent};
use tokio_util::sync::CancellationToken;

/// A model that repeats the last message.
pub struct Echo;

#[async_trait]
impl Provider for Echo {
    fn stream(
        &self,
        request: ProviderRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let last = request.messages.last().map(Message::text).unwrap_or_default();
        let events = [
            StreamEvent::Started,
            StreamEvent::Text(last),
            StreamEvent::Finished(StopReason::EndTurn),
        ];
        stream::iter(events.map(Ok)).take_until(cancel.cancelled_owned()).boxed()
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ProviderError> {
        Ok(vec![ModelInfo { id: "echo".into(), ..ModelInfo::default() }])
    }

    fn is_local(&self) -> bool {
        true
    }
}
