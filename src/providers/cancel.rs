//! Ends a stream of events: at its terminal event, at its first error, or on cancellation.

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::{ProviderError, StreamEvent};

type ResponseEvents = BoxStream<'static, Result<StreamEvent, ProviderError>>;

/// Passes `events` on, up to and including `Finished` or the first error. On `cancel` it drops the
/// source at once, which closes the connection, and ends the stream.
pub(super) fn until_over(events: ResponseEvents, cancel: CancellationToken) -> ResponseEvents {
    stream::unfold(Some(events), move |events| {
        let cancel = cancel.clone();
        async move {
            let mut events = events?;
            let next = tokio::select! {
                biased;
                () = cancel.cancelled() => return None,
                next = events.next() => next?,
            };
            let over = matches!(next, Err(_) | Ok(StreamEvent::Finished(_)));
            Some((next, (!over).then_some(events)))
        }
    })
    .boxed()
}
