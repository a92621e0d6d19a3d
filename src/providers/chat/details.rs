//! `reasoning_details`: the parts in which some gateways send reasoning, as text, summaries and
//! encrypted data. Their order has to be kept when they are sent back.
//!
//! A stream cuts a part into pieces; joined again they equal what the service returns without
//! streaming. slug keeps them in a sealed block of this protocol.

use serde_json::{Map, Value, json};

use crate::domain::{ContentBlock, ProviderProtocol};

/// The name of the field.
const FIELD: &str = "reasoning_details";

/// Fields whose pieces are joined; for all other fields the last value holds.
const JOINED: [&str; 4] = ["text", "summary", "data", "content"];

/// The parts of a response that have come so far.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails {
    parts: Vec<Map<String, Value>>,
}

impl ReasoningDetails {
    /// Adds the pieces of a chunk.
    pub(super) fn take(&mut self, pieces: &Value) {
        for piece in pieces.as_array().into_iter().flatten().filter_map(Value::as_object) {
            match self.parts.last_mut().filter(|last| goes_on(last, piece)) {
                Some(last) => join(last, piece),
                None => self.parts.push(piece.clone()),
            }
        }
    }

    /// All parts, for a sealed block; `None` if there are none.
    pub(super) fn finish(&mut self) -> Option<Value> {
        let parts = std::mem::take(&mut self.parts);
        (!parts.is_empty()).then(|| json!({ FIELD: parts }))
    }
}

/// The parts in a sealed block of a history.
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

/// Whether a piece continues the part before it: same type, same index, and no different id.
fn goes_on(part: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let same = |key: &str| part.get(key) == piece.get(key);
    let id = |of: &Map<String, Value>| of.get("id").and_then(Value::as_str).map(str::to_owned);
    let other_id = id(part).zip(id(piece)).is_some_and(|(one, other)| one != other);
    same("type") && same("index") && !other_id && piece.get("index").is_some()
}

fn join(part: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (key, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
        match (part.get_mut(key), value) {
            (Some(Value::String(joined)), Value::String(more))
                if JOINED.contains(&key.as_str()) =>
            {
                joined.push_str(more);
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
