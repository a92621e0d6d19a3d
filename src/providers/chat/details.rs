//! The parts that some gateways send reasoning in, `reasoning_details`: text, summaries and sealed
//! data, in an order that has to be kept when they are sent back.
//!
//! A stream cuts a part into pieces; put together again they are what the service itself gives
//! without streaming. They are kept in a sealed block of this protocol.

use serde_json::{Map, Value, json};

use crate::domain::{ContentBlock, ProviderProtocol};

/// The field that they travel in.
const FIELD: &str = "reasoning_details";

/// Fields whose pieces are joined; of the others the last word holds.
const JOINED: [&str; 4] = ["text", "summary", "data", "content"];

/// The parts of a response, as far as they have come.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails {
    parts: Vec<Map<String, Value>>,
}

impl ReasoningDetails {
    /// Takes the pieces of a chunk.
    pub(super) fn take(&mut self, pieces: &Value) {
        for piece in pieces.as_array().into_iter().flatten().filter_map(Value::as_object) {
            match self.parts.last_mut().filter(|last| goes_on(last, piece)) {
                Some(last) => join(last, piece),
                None => self.parts.push(piece.clone()),
            }
        }
    }

    /// All of it, for a sealed block.
    pub(super) fn finish(&mut self) -> Option<Value> {
        let parts = std::mem::take(&mut self.parts);
        (!parts.is_empty()).then(|| json!({ FIELD: parts }))
    }
}

/// The parts that a block of a history keeps.
pub(super) fn kept_in(block: &ContentBlock) -> Option<&Value> {
    match block {
        ContentBlock::Sealed { protocol: ProviderProtocol::ChatCompletions, data } => {
            data.get(FIELD)
        }
        ContentBlock::Sealed {
            protocol:
                ProviderProtocol::Responses | ProviderProtocol::Anthropic | ProviderProtocol::Gemini,
            ..
        }
        | ContentBlock::Thinking { .. }
        | ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => None,
    }
}

/// Whether a piece belongs to the part before it: of the same kind, at the same place, and under no
/// other id.
fn goes_on(part: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let same = |key: &str| part.get(key) == piece.get(key);
    let id = |of: &Map<String, Value>| of.get("id").and_then(Value::as_str).map(str::to_owned);
    let other_id = id(part).zip(id(piece)).is_some_and(|(one, other)| one != other);
    same("type") && same("index") && !other_id && piece.get("index").is_some()
}

fn join(part: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (key, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
        match (part.get_mut(key), value) {
            (Some(Value::String(said)), Value::String(more)) if JOINED.contains(&key.as_str()) => {
                said.push_str(more);
            }
            (Some(there), _) => *there = value.clone(),
            (None, _) => {
                part.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_part_are_joined_and_parts_are_kept_apart() {
        let mut gathered = ReasoningDetails::default();
        let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0, "format": "f", "signature": null});
        gathered.take(&json!([text("Let ")]));
        gathered.take(&json!([text("me.")]));
        gathered.take(&json!([{"type": "reasoning.text", "index": 0, "signature": "SEAL"}]));
        gathered.take(&json!([{"type": "reasoning.encrypted", "index": 1, "data": "A"},
            {"type": "reasoning.encrypted", "index": 2, "data": "B"}]));
        gathered.take(&Value::Null);
        assert_eq!(
            gathered.finish(),
            Some(json!({"reasoning_details": [
                {"type": "reasoning.text", "text": "Let me.", "index": 0, "format": "f", "signature": "SEAL"},
                {"type": "reasoning.encrypted", "index": 1, "data": "A"},
                {"type": "reasoning.encrypted", "index": 2, "data": "B"},
            ]}))
        );
        assert_eq!(gathered.finish(), None);
    }
}
