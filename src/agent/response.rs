//! Assembles a response from the events of its stream. The events of all protocols are already the
//! same here; see `providers`.

use serde_json::Value;

use crate::domain::{
    CallId, CallInput, ContentBlock, Message, MessageRole, ProviderProtocol, StopReason,
    TokenUsage, ToolCall,
};
use crate::providers::StreamEvent;

use super::repeated_text::without_repetitions;

/// A response that is being streamed: its blocks in the order in which they began.
#[derive(Debug, Default)]
pub struct ResponseAssembler {
    parts: Vec<AssembledPart>,
    /// The token counts that the server reported last; `None` before it has.
    pub usage: Option<TokenUsage>,
}

#[derive(Debug)]
enum AssembledPart {
    Text(String),
    Thinking { text: String, signature: Option<String> },
    Sealed { protocol: ProviderProtocol, data: Value },
    Call { index: usize, id: CallId, name: String, json: String },
}

impl ResponseAssembler {
    /// Takes the next event. Returns the stop reason when it is the last one.
    pub fn take(&mut self, event: StreamEvent) -> Option<StopReason> {
        match event {
            StreamEvent::Started | StreamEvent::RateLimited(_) | StreamEvent::Prefill(_) => {}
            StreamEvent::Text(piece) => match self.parts.last_mut() {
                Some(AssembledPart::Text(text)) => text.push_str(&piece),
                _ => self.parts.push(AssembledPart::Text(piece)),
            },
            StreamEvent::Thinking(piece) => match self.parts.last_mut() {
                Some(AssembledPart::Thinking { text, signature: None }) => text.push_str(&piece),
                _ => self.parts.push(AssembledPart::Thinking { text: piece, signature: None }),
            },
            StreamEvent::Signature(text) => match self.parts.last_mut() {
                Some(AssembledPart::Thinking { signature: signature @ None, .. }) => {
                    *signature = Some(text);
                }
                _ => self
                    .parts
                    .push(AssembledPart::Thinking { text: String::new(), signature: Some(text) }),
            },
            StreamEvent::Sealed { protocol, data } => {
                self.parts.push(AssembledPart::Sealed { protocol, data });
            }
            StreamEvent::ToolUseStarted { index, id, name } => {
                self.parts.push(AssembledPart::Call { index, id, name, json: String::new() });
            }
            StreamEvent::ToolInputDelta { index, json: piece } => {
                if let Some(json) = self.arguments(index) {
                    json.push_str(&piece);
                }
            }
            StreamEvent::Usage(usage) => self.usage = Some(usage),
            StreamEvent::Finished(reason) => return Some(reason),
        }
        None
    }

    /// Leaves two of the repetitions that the newest text ends in. `period` is the length of what
    /// repeats, in characters.
    pub(super) fn cut_repetitions(&mut self, period: usize) {
        match self.parts.last_mut() {
            Some(AssembledPart::Text(text) | AssembledPart::Thinking { text, .. }) => {
                without_repetitions(text, period);
            }
            Some(AssembledPart::Sealed { .. } | AssembledPart::Call { .. }) | None => {}
        }
    }

    /// Whether any content has arrived.
    pub fn has_begun(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The id of the call with this index in the stream.
    pub fn call_id(&self, index: usize) -> Option<&CallId> {
        self.parts.iter().find_map(|part| match part {
            AssembledPart::Call { index: at, id, .. } if *at == index => Some(id),
            AssembledPart::Call { .. }
            | AssembledPart::Text(_)
            | AssembledPart::Thinking { .. }
            | AssembledPart::Sealed { .. } => None,
        })
    }

    /// The calls so far, each with its id, name and arguments as far as they have arrived.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&CallId, &str, &str)> {
        self.parts.iter().filter_map(|part| match part {
            AssembledPart::Call { id, name, json, .. } => Some((id, &**name, &**json)),
            AssembledPart::Text(_)
            | AssembledPart::Thinking { .. }
            | AssembledPart::Sealed { .. } => None,
        })
    }

    /// The message of a response that has ended. Empty text is left out.
    pub fn finish(self) -> Message {
        self.message(ResponseExtent::Whole)
    }

    /// The message of a response that broke off. It has no calls, because they may be incomplete,
    /// and no sealed blocks, because they may belong to a block that never arrived.
    pub fn cut(self) -> Message {
        self.message(ResponseExtent::Cut)
    }

    fn message(self, extent: ResponseExtent) -> Message {
        let mut content = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            match part {
                AssembledPart::Text(text) if text.trim().is_empty() => {}
                AssembledPart::Text(text) => content.push(ContentBlock::Text { text }),
                AssembledPart::Thinking { text, signature } => {
                    content.push(ContentBlock::Thinking { thinking: text, signature });
                }
                AssembledPart::Sealed { protocol, data } => match extent {
                    ResponseExtent::Whole => content.push(ContentBlock::Sealed { protocol, data }),
                    ResponseExtent::Cut => {}
                },
                AssembledPart::Call { id, name, json, .. } => match extent {
                    ResponseExtent::Whole => {
                        let input = CallInput::parse(&json);
                        content.push(ContentBlock::ToolUse(ToolCall { id, name, input }));
                    }
                    ResponseExtent::Cut => {}
                },
            }
        }
        Message { role: MessageRole::Assistant, content }
    }

    fn arguments(&mut self, index: usize) -> Option<&mut String> {
        self.parts.iter_mut().rev().find_map(|part| match part {
            AssembledPart::Call { index: at, json, .. } if *at == index => Some(json),
            AssembledPart::Call { .. }
            | AssembledPart::Text(_)
            | AssembledPart::Thinking { .. }
            | AssembledPart::Sealed { .. } => None,
        })
    }
}

#[derive(Clone, Copy)]
enum ResponseExtent {
    Whole,
    Cut,
}

#[cfg(test)]
mod protocol_tests;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn streamed() -> ResponseAssembler {
        let mut response = ResponseAssembler::default();
        for event in [
            StreamEvent::Started,
            StreamEvent::Thinking("a".into()),
            StreamEvent::Thinking("b".into()),
            StreamEvent::Text("Let me ".into()),
            StreamEvent::Text("look.".into()),
            StreamEvent::ToolUseStarted { index: 0, id: CallId::new("c0"), name: "Read".into() },
            StreamEvent::ToolUseStarted { index: 1, id: CallId::new("c1"), name: "Glob".into() },
            StreamEvent::ToolInputDelta { index: 1, json: "{\"pattern\":".into() },
            StreamEvent::ToolInputDelta { index: 0, json: "{}".into() },
            StreamEvent::ToolInputDelta { index: 1, json: "\"*\"}".into() },
        ] {
            assert_eq!(response.take(event), None);
        }
        response
    }

    #[test]
    fn pieces_become_blocks_in_the_order_they_began() {
        let message = streamed().finish();
        assert_eq!(message.content.len(), 4);
        assert_eq!(message.text(), "Let me look.");
        let inputs: Vec<&CallInput> = message.calls().map(|call| &call.input).collect();
        assert_eq!(
            inputs,
            [&CallInput::Valid(json!({})), &CallInput::Valid(json!({"pattern": "*"}))]
        );
    }

    #[test]
    fn a_cut_response_keeps_its_words_and_drops_its_calls() {
        let message = streamed().cut();
        assert_eq!(message.text(), "Let me look.");
        assert_eq!(message.calls().count(), 0);
    }
}
