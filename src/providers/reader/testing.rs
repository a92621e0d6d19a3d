//! Helpers for the tests of all decoders.

use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::runtime::Builder;

use super::StreamDecoder;
use crate::domain::CallId;
use crate::providers::failure::RequestTarget;
use crate::providers::{ProviderError, StreamEvent};

/// The events of a response, and the error that ended it.
pub(in crate::providers) type DecodedEvents = (Vec<StreamEvent>, Option<ProviderError>);

/// Decodes a body that comes in these chunks. Ids that slug generates become "own". Panics if
/// anything comes behind the end.
pub(in crate::providers) fn decode_chunks(
    chunks: &[&[u8]],
    decoder: impl StreamDecoder,
) -> DecodedEvents {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Ok(chunk.to_vec())).collect();
    // The wait behind a complete response needs a clock.
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let events = super::decode(stream::iter(chunks), RequestTarget::default(), decoder);
    let received: Vec<_> = runtime.block_on(events.collect());
    let mut decoded: DecodedEvents = (Vec::new(), None);
    for event in received {
        let is_over = matches!(decoded.0.last(), Some(StreamEvent::Finished(_)));
        assert!(!is_over && decoded.1.is_none(), "{event:?} behind the end");
        match event {
            Ok(StreamEvent::ToolUseStarted { index, id, name }) => {
                let id = if is_own(&id) { CallId::new("own") } else { id };
                decoded.0.push(StreamEvent::ToolUseStarted { index, id, name });
            }
            Ok(event) => decoded.0.push(event),
            Err(error) => decoded.1 = Some(error),
        }
    }
    decoded
}

/// The message of the error that ends a response of `first` and then so many of `pieces`, each the data
/// of an event; `None` if all are read.
pub(in crate::providers) fn error_of_endless(
    first: &Value,
    pieces: impl Iterator<Item = Value> + Send + 'static,
    decoder: impl StreamDecoder,
) -> Option<String> {
    let body = std::iter::once(first.clone()).chain(pieces);
    let body = body.map(|piece| Ok(format!("data: {piece}\n\n")));
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let events = super::decode(stream::iter(body), RequestTarget::default(), decoder);
    let error = runtime.block_on(events.filter_map(async |event| event.err()).boxed().next());
    // A response that only breaks off is no such error.
    error.map(|error| error.message).filter(|it| !it.contains("before it was complete"))
}

fn is_own(id: &CallId) -> bool {
    id.as_str().len() == CallId::generate().as_str().len() && id.as_str().starts_with("call_")
}
