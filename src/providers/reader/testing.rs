//! Helpers for the tests of all decoders.

use futures_util::{StreamExt, stream};
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

fn is_own(id: &CallId) -> bool {
    id.as_str().len() == CallId::generate().as_str().len() && id.as_str().starts_with("call_")
}
