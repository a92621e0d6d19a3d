//! Cuts the calls of responses that would fill the window: long texts in their arguments, and calls in
//! such numbers that no window holds them.
//!
//! What is sent stays what servers accept: arguments are a JSON object as before, and a call goes
//! only together with its result.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::domain::{CallId, CallInput, ContentBlock, EntryId, Message};

use super::ReplayedConversation;

/// What stands behind the beginning of an argument, after the count of the characters.
const ARGUMENT_MARK: &str = " characters of this argument are left out to save space]";
/// How what stands behind the beginning of an argument begins.
const MARK_BEGIN: &str = "[slug: ";
/// A list in the arguments may be so many times as long as a text.
const LIST_SHARE: usize = 4;
/// The most names in one object of the arguments.
const NAMES: usize = 40;

/// Responses whose calls are sent with less of their arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CutCalls {
    pub responses: Vec<EntryId>,
    /// The most characters of a text in the arguments.
    pub chars: usize,
    /// The most calls of one response; those behind them are not sent, nor are their results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<usize>,
}

/// Whether a text in the arguments of a call is one of which a compaction has left the beginning. A
/// model that repeats it means the mark to be what it stands for.
pub fn is_cut_argument(text: &str) -> bool {
    text.match_indices(ARGUMENT_MARK).any(|(at, _)| {
        let before = text[..at].trim_end_matches(|c: char| c.is_ascii_digit());
        before.len() < at && before.ends_with(MARK_BEGIN)
    })
}

/// Whether a compaction has cut the arguments of a call.
pub fn is_cut_call(input: &CallInput) -> bool {
    match input {
        CallInput::Valid(value) => holds_cut(value),
        CallInput::Invalid(raw) => is_cut_argument(raw),
    }
}

/// Whether a compaction has cut a text in this value.
pub fn holds_cut(value: &Value) -> bool {
    match value {
        Value::String(text) => is_cut_argument(text),
        Value::Array(items) => items.iter().any(holds_cut),
        Value::Object(fields) => fields.values().any(holds_cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl ReplayedConversation {
    pub(super) fn cut_calls(&mut self, cut: &CutCalls) {
        let responses: HashSet<EntryId> = cut.responses.iter().copied().collect();
        let pinned = self.pinned_calls(self.messages.len());
        let mut dropped: HashSet<CallId> = HashSet::new();
        let mut notes: Vec<(CallId, usize)> = Vec::new();
        for (id, message) in &mut self.messages {
            if !responses.contains(id) {
                continue;
            }
            if let Some(most) = cut.most {
                let calls = message.calls().map(|call| &call.id);
                let behind = calls.skip(most).filter(|call| !pinned.contains(*call)).cloned();
                let behind: HashSet<CallId> = behind.collect();
                message.content.retain(|block| !is_call_of(block, &behind));
                let last = message.calls().last().map(|call| call.id.clone());
                notes.extend(last.map(|last| (last, behind.len())));
                dropped.extend(behind);
            }
            for block in &mut message.content {
                if let ContentBlock::ToolUse(call) = block
                    && !pinned.contains(&call.id)
                {
                    cut_input(&mut call.input, cut.chars);
                }
            }
        }
        if !dropped.is_empty() {
            self.drop_results(&dropped, &notes);
        }
    }

    /// Leaves the results of these calls out, and says so behind the result of the last call before
    /// them.
    fn drop_results(&mut self, dropped: &HashSet<CallId>, notes: &[(CallId, usize)]) {
        self.messages.retain_mut(|(_, message)| {
            let is_dropped = message.answers().any(|answered| dropped.contains(answered));
            message.content.retain(|block| !is_call_of(block, dropped));
            note_dropped(message, notes);
            let has_result = message.answers().next().is_some();
            !is_dropped || has_result
        });
    }
}

/// Whether a block is one of these calls, or the result of one.
fn is_call_of(block: &ContentBlock, calls: &HashSet<CallId>) -> bool {
    match block {
        ContentBlock::ToolUse(call) => calls.contains(&call.id),
        ContentBlock::ToolResult { tool_use_id, .. } => calls.contains(tool_use_id),
        ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. } => false,
    }
}

fn note_dropped(message: &mut Message, notes: &[(CallId, usize)]) {
    for block in &mut message.content {
        if let ContentBlock::ToolResult { tool_use_id, content, .. } = block
            && let Some((_, count)) = notes.iter().find(|(last, _)| last == tool_use_id)
            && *count > 0
        {
            content.push_str(&format!(
                "\n[slug: {count} more calls of this answer and their results are left out to save space]"
            ));
        }
    }
}

fn cut_input(input: &mut CallInput, chars: usize) {
    match input {
        CallInput::Valid(value) => cut_value(value, chars),
        CallInput::Invalid(raw) => cut_text(raw, chars),
    }
}

fn cut_value(value: &mut Value, chars: usize) {
    match value {
        Value::String(text) => cut_text(text, chars),
        Value::Array(items) => {
            let mut room = chars.saturating_mul(LIST_SHARE);
            let mut kept = Vec::new();
            let count = items.len();
            for mut item in std::mem::take(items) {
                cut_value(&mut item, chars);
                let length = item.to_string().len();
                if length > room && !kept.is_empty() {
                    break;
                }
                room = room.saturating_sub(length);
                kept.push(item);
            }
            *items = kept;
            if items.len() < count {
                let left_out = count - items.len();
                items.push(
                    format!("{MARK_BEGIN}{left_out} more are left out to save space]").into(),
                );
            }
        }
        Value::Object(fields) => {
            let all = std::mem::take(fields);
            *fields = all
                .into_iter()
                .take(NAMES)
                .map(|(name, mut value)| {
                    cut_value(&mut value, chars);
                    (name, value)
                })
                .collect::<Map<String, Value>>();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Leaves the beginning of a text, if that makes it shorter.
fn cut_text(text: &mut String, chars: usize) {
    let Some((end, _)) = text.char_indices().nth(chars) else { return };
    let left_out = text[end..].chars().count();
    let mark = format!("{MARK_BEGIN}{left_out}{ARGUMENT_MARK}");
    // What is hardly longer than its mark may be a text that was cut before.
    if left_out > mark.len() + 10 {
        text.truncate(end);
        text.push_str(&mark);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_cut_and_short_ones_stay() {
        let mut value = json!({
            "file_path": "src/a.rs",
            "content": "ä".repeat(5_000),
            "edits": vec![json!({"old": "x".repeat(90)}); 100],
            "limit": 7,
        });
        cut_value(&mut value, 100);
        assert_eq!((&value["file_path"], &value["limit"]), (&json!("src/a.rs"), &json!(7)));
        let content = value["content"].as_str().unwrap();
        assert!(content.starts_with('ä') && is_cut_argument(content), "{content}");
        assert!(
            content
                .ends_with("[slug: 4900 characters of this argument are left out to save space]")
        );
        let edits = value["edits"].as_array().unwrap();
        assert_eq!(edits.len(), 5, "four, and the mark: {edits:?}");
        let before = value.clone();
        cut_value(&mut value, 100);
        assert_eq!(value["content"], before["content"], "a second time changes nothing");
    }

    #[test]
    fn only_a_mark_with_its_number_is_one() {
        assert!(is_cut_argument(
            "fn a() {[slug: 12 characters of this argument are left out to save space]"
        ));
        assert!(!is_cut_argument(
            "[slug: {n} characters of this argument are left out to save space]"
        ));
        assert!(!is_cut_argument("12 characters"));
    }
}
