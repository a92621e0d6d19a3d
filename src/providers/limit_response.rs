//! Limits how much of one answer is accepted, in every protocol.
//!
//! An answer that never ends, or that consists of calls, would otherwise use up all memory.

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, future};

use super::{ErrorRecovery, ProviderError, StreamEvent};

/// The most tool calls of one answer.
pub const MAX_CALLS: usize = 256;
/// The most bytes of one answer: text, thinking, arguments.
pub const MAX_BYTES: usize = 16 << 20;

/// The same stream, but it ends with an error when the answer exceeds a limit.
pub fn limit_response(
    stream: BoxStream<'static, Result<StreamEvent, ProviderError>>,
) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
    let checked = stream.scan(Some((0, 0)), |left, event| {
        let Some((calls, bytes)) = left else { return future::ready(None) };
        let Ok(piece) = &event else { return future::ready(Some(event)) };
        *calls += usize::from(matches!(piece, StreamEvent::ToolUseStarted { .. }));
        *bytes += size(piece);
        let what = if *calls > MAX_CALLS {
            format!("more than {MAX_CALLS} tool calls")
        } else if *bytes > MAX_BYTES {
            format!("more than {} MB", MAX_BYTES >> 20)
        } else {
            return future::ready(Some(event));
        };
        *left = None;
        future::ready(Some(Err(ProviderError {
            message: format!(
                "The answer has {what}, and slug has stopped it: none of its calls was run. Send \
                 the message again, or choose another model with /model."
            ),
            status: None,
            recovery: ErrorRecovery::GiveUp,
        })))
    });
    checked.boxed()
}

fn size(piece: &StreamEvent) -> usize {
    match piece {
        StreamEvent::Started
        | StreamEvent::RateLimited(_)
        | StreamEvent::Prefill(_)
        | StreamEvent::Usage(_)
        | StreamEvent::Finished(_) => 0,
        StreamEvent::Text(text)
        | StreamEvent::Thinking(text)
        | StreamEvent::Signature(text)
        | StreamEvent::ToolInputDelta { json: text, .. } => text.len(),
        StreamEvent::Sealed { data, .. } => data.to_string().len(),
        StreamEvent::ToolUseStarted { id, name, .. } => id.as_str().len() + name.len(),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;
    use crate::domain::CallId;

    async fn count_events(
        pieces: impl Iterator<Item = StreamEvent> + Send + 'static,
    ) -> (usize, bool) {
        let events: Vec<_> = limit_response(stream::iter(pieces.map(Ok)).boxed()).collect().await;
        let ends = |event: &Result<_, ProviderError>| {
            event.as_ref().is_err_and(|error| error.recovery == ErrorRecovery::GiveUp)
        };
        assert!(events.iter().rev().skip(1).all(Result::is_ok));
        (events.len(), events.last().is_some_and(ends))
    }

    fn call(index: usize) -> StreamEvent {
        StreamEvent::ToolUseStarted { index, id: CallId::new("c"), name: "Read".into() }
    }

    #[tokio::test]
    async fn an_answer_ends_with_an_error_at_its_limit() {
        assert_eq!(count_events((0..MAX_CALLS).map(call)).await, (MAX_CALLS, false));
        assert_eq!(count_events((0..).map(call)).await, (MAX_CALLS + 1, true));
        let long = || "x".repeat(1 << 20);
        assert_eq!(
            count_events((0..16).map(move |_| StreamEvent::Text(long()))).await,
            (16, false)
        );
        let kinds = (0..).map(move |number| match number % 4 {
            0 => StreamEvent::Text(long()),
            1 => StreamEvent::Thinking(long()),
            2 => StreamEvent::ToolInputDelta { index: 0, json: long() },
            _ => StreamEvent::Signature(long()),
        });
        assert_eq!(count_events(kinds).await, (17, true));
    }
}
