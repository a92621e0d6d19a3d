//! Limits how much of one response is accepted, in every protocol.
//!
//! A response that never ends, or that consists of calls, would otherwise use up all memory.

use super::{ErrorRecovery, ProviderError, StreamEvent};

/// The most tool calls of one response.
pub const MAX_CALLS: usize = 256;
/// The most bytes of one response: text, thinking, arguments.
pub const MAX_BYTES: usize = 16 << 20;

/// How much of one response has come.
#[derive(Debug, Default)]
pub struct ResponseSize {
    calls: usize,
    bytes: usize,
}

impl ResponseSize {
    /// Adds a piece of the response.
    ///
    /// # Errors
    ///
    /// Fails if the response exceeds a limit with this piece. Nothing behind it is to be read.
    pub fn add(&mut self, piece: &StreamEvent) -> Result<(), ProviderError> {
        self.calls += usize::from(matches!(piece, StreamEvent::ToolUseStarted { .. }));
        self.bytes += size(piece);
        let what = if self.calls > MAX_CALLS {
            format!("more than {MAX_CALLS} tool calls")
        } else if self.bytes > MAX_BYTES {
            format!("more than {} MB", MAX_BYTES >> 20)
        } else {
            return Ok(());
        };
        Err(ProviderError {
            message: format!(
                "The answer had {what}, so slug stopped it and ran none of its calls. Send the \
                 message again, or choose another model with /model."
            ),
            status: None,
            recovery: ErrorRecovery::GiveUp,
        })
    }
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
    use super::*;
    use crate::domain::CallId;

    /// The number of pieces up to the one that exceeds a limit; `None` if none does.
    fn exceeded_at(pieces: impl Iterator<Item = StreamEvent>) -> Option<usize> {
        let mut size = ResponseSize::default();
        for (number, piece) in (1..).zip(pieces) {
            if let Err(error) = size.add(&piece) {
                assert_eq!(error.recovery, ErrorRecovery::GiveUp);
                return Some(number);
            }
        }
        None
    }

    fn call(index: usize) -> StreamEvent {
        StreamEvent::ToolUseStarted { index, id: CallId::new("c"), name: "Read".into() }
    }

    #[test]
    fn an_answer_ends_with_an_error_at_its_limit() {
        assert_eq!(exceeded_at((0..MAX_CALLS).map(call)), None);
        assert_eq!(exceeded_at((0..).map(call)), Some(MAX_CALLS + 1));
        let long = || "x".repeat(1 << 20);
        assert_eq!(exceeded_at((0..16).map(move |_| StreamEvent::Text(long()))), None);
        let kinds = (0..).map(move |number| match number % 4 {
            0 => StreamEvent::Text(long()),
            1 => StreamEvent::Thinking(long()),
            2 => StreamEvent::ToolInputDelta { index: 0, json: long() },
            _ => StreamEvent::Signature(long()),
        });
        assert_eq!(exceeded_at(kinds), Some(17));
    }
}
