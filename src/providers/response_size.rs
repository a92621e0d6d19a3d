//! Limits how much of one response is accepted, in every protocol.
//!
//! A response that never ends, or that consists of calls, would otherwise use up all memory. What a
//! decoder passes on is counted where it arrives ([`ResponseSize`]). What it keeps back for later it
//! counts in a [`KeptSize`], which the reader of all protocols checks after each piece.

use serde_json::Value;

use super::{ErrorRecovery, ProviderError, StreamEvent};

/// The most tool calls of one response.
pub const MAX_CALLS: usize = 256;
/// The most bytes of one response: text, thinking, arguments.
pub const MAX_BYTES: usize = 16 << 20;
/// The most entries of one response: values in what is kept as JSON, and blocks, which count
/// [`BLOCK_ENTRIES`] each. The smallest of them take far more memory than bytes.
const MAX_ENTRIES: usize = 1 << 19;
const BLOCK_ENTRIES: usize = 8;

/// How much of one response has come.
#[derive(Debug, Default)]
pub struct ResponseSize {
    calls: usize,
    passed: KeptSize,
    /// The kind of the last text.
    last: Option<std::mem::Discriminant<StreamEvent>>,
}

impl ResponseSize {
    /// Adds a piece of the response.
    ///
    /// # Errors
    ///
    /// Fails if the response exceeds a limit with this piece. Nothing behind it is to be read.
    pub fn add(&mut self, piece: &StreamEvent) -> Result<(), ProviderError> {
        self.calls += usize::from(matches!(piece, StreamEvent::ToolUseStarted { .. }));
        if self.calls > MAX_CALLS {
            return Err(too_large(&format!("more than {MAX_CALLS} tool calls")));
        }
        match piece {
            StreamEvent::Started
            | StreamEvent::RateLimited(_)
            | StreamEvent::Prefill(_)
            | StreamEvent::Usage(_)
            | StreamEvent::Finished(_) => return Ok(()),
            StreamEvent::Text(text) | StreamEvent::Thinking(text) => {
                self.passed.text(text);
                let kind = Some(std::mem::discriminant(piece));
                if self.last != kind {
                    self.last = kind;
                    self.passed.block();
                }
            }
            StreamEvent::ToolInputDelta { json, .. } => self.passed.text(json),
            StreamEvent::Signature(text) => {
                self.passed.text(text);
                self.passed.block();
            }
            StreamEvent::Sealed { data, .. } => {
                self.passed.value(data);
                self.passed.block();
            }
            StreamEvent::ToolUseStarted { id, name, .. } => {
                self.passed.text(id.as_str());
                self.passed.text(name);
                self.last = None;
            }
        }
        self.passed.check()
    }
}

/// How much is kept of one response.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeptSize {
    bytes: usize,
    entries: usize,
}

impl KeptSize {
    /// Adds a text.
    pub(super) fn text(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len());
    }

    /// Adds a block, or what takes as much memory, without its texts.
    pub(super) fn block(&mut self) {
        self.entries += BLOCK_ENTRIES;
    }

    /// Adds a value with all that is in it.
    pub(super) fn value(&mut self, value: &Value) {
        self.entries += 1;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.bytes += 4,
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| {
                self.text(name);
                self.value(value);
            }),
        }
    }

    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        let bytes = self.bytes.saturating_add(other.bytes);
        Self { bytes, entries: self.entries + other.entries }
    }

    /// Whether so much may be kept of one response.
    ///
    /// # Errors
    ///
    /// Fails beyond a limit. Nothing more of the response is to be read.
    pub(super) fn check(self) -> Result<(), ProviderError> {
        if self.bytes > MAX_BYTES {
            return Err(too_large(&format!("more than {} MB", MAX_BYTES >> 20)));
        }
        if self.entries > MAX_ENTRIES {
            return Err(too_large("too many parts"));
        }
        Ok(())
    }
}

fn too_large(what: &str) -> ProviderError {
    ProviderError {
        message: format!(
            "The answer had {what}, so slug stopped it and ran none of its calls. Send the message \
             again, or choose another model with /model."
        ),
        status: None,
        recovery: ErrorRecovery::GiveUp,
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
        // Tiny pieces take more memory than bytes.
        let turns = (0..).map(|number| match number % 2 {
            0 => StreamEvent::Text("a".into()),
            _ => StreamEvent::Thinking("b".into()),
        });
        assert_eq!(exceeded_at(turns), Some(MAX_ENTRIES / BLOCK_ENTRIES + 1));
        let sealed = || StreamEvent::Sealed {
            protocol: crate::domain::ProviderProtocol::Gemini,
            data: serde_json::json!({}),
        };
        let many = MAX_ENTRIES / (BLOCK_ENTRIES + 1) + 1;
        assert_eq!(exceeded_at((0..).map(|_: usize| sealed())), Some(many));
    }
}
