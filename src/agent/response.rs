//! Puts a response together from the stream's pieces.

use serde_json::Value;

use crate::domain::{
    Block, CallId, CallInput, Message, Protocol, Role, StopReason, ToolCall, Usage,
};
use crate::providers::StreamEvent;

/// A response that is being streamed.
#[derive(Debug, Default)]
pub struct Response {
    parts: Vec<Part>,
    /// Token counts, as far as the server has told them.
    pub usage: Option<Usage>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Thinking { text: String, signature: Option<String> },
    Sealed { protocol: Protocol, data: Value },
    Call { index: usize, id: CallId, name: String, json: String },
}

impl Response {
    /// Takes the next piece; says why the response ended when this was its last one.
    pub fn take(&mut self, event: StreamEvent) -> Option<StopReason> {
        match event {
            StreamEvent::Started | StreamEvent::RateLimited(_) | StreamEvent::Prefill(_) => {}
            StreamEvent::Text(piece) => match self.parts.last_mut() {
                Some(Part::Text(text)) => text.push_str(&piece),
                _ => self.parts.push(Part::Text(piece)),
            },
            StreamEvent::Thinking(piece) => match self.parts.last_mut() {
                Some(Part::Thinking { text, signature: None }) => text.push_str(&piece),
                _ => self.parts.push(Part::Thinking { text: piece, signature: None }),
            },
            StreamEvent::Signature(seal) => match self.parts.last_mut() {
                Some(Part::Thinking { signature: signature @ None, .. }) => *signature = Some(seal),
                _ => self.parts.push(Part::Thinking { text: String::new(), signature: Some(seal) }),
            },
            StreamEvent::Sealed { protocol, data } => {
                self.parts.push(Part::Sealed { protocol, data });
            }
            StreamEvent::ToolUseStarted { index, id, name } => {
                self.parts.push(Part::Call { index, id, name, json: String::new() });
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

    /// Whether anything has come of it.
    pub fn has_begun(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The id of the call with this number.
    pub fn call_id(&self, index: usize) -> Option<&CallId> {
        self.parts.iter().find_map(|part| match part {
            Part::Call { index: at, id, .. } if *at == index => Some(id),
            Part::Call { .. } | Part::Text(_) | Part::Thinking { .. } | Part::Sealed { .. } => None,
        })
    }

    /// The whole message.
    pub fn finish(self) -> Message {
        self.message(Half::Whole)
    }

    /// What had come before it was broken off: without calls, which were half made, and without
    /// what belongs to a piece that has not come.
    pub fn cut(self) -> Message {
        self.message(Half::Cut)
    }

    fn message(self, half: Half) -> Message {
        let mut content = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            match part {
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(text) => content.push(Block::Text { text }),
                Part::Thinking { text, signature } => {
                    content.push(Block::Thinking { thinking: text, signature });
                }
                Part::Sealed { protocol, data } => match half {
                    Half::Whole => content.push(Block::Sealed { protocol, data }),
                    Half::Cut => {}
                },
                Part::Call { id, name, json, .. } => match half {
                    Half::Whole => {
                        let input = CallInput::parse(&json);
                        content.push(Block::ToolUse(ToolCall { id, name, input }));
                    }
                    Half::Cut => {}
                },
            }
        }
        Message { role: Role::Assistant, content }
    }

    fn arguments(&mut self, index: usize) -> Option<&mut String> {
        self.parts.iter_mut().rev().find_map(|part| match part {
            Part::Call { index: at, json, .. } if *at == index => Some(json),
            Part::Call { .. } | Part::Text(_) | Part::Thinking { .. } | Part::Sealed { .. } => None,
        })
    }
}

#[derive(Clone, Copy)]
enum Half {
    Whole,
    Cut,
}

#[cfg(test)]
mod moving;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn streamed() -> Response {
        let mut response = Response::default();
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
