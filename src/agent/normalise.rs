//! Makes any history one that every provider accepts, and does so before every request.
//!
//! What holds afterwards: the first message is the user's, roles alternate, every call is answered
//! exactly once in the message right after it, results come first there and in the order of the
//! calls, then the images that belong to them, no message is empty, and the last message is not a
//! response without text and calls. Appending to the input only ever appends to the output, so that
//! the provider's prompt cache keeps working.

use std::collections::{HashMap, HashSet};

use crate::domain::{CallId, ContentBlock, Message, MessageRole};

/// What the model is told about a call whose result was lost.
const LOST: &str = "Interrupted: this call has no result. It may have run in part.";

/// What the model is told about a call that slug did not come to.
const NOT_BEGUN: &str = "Interrupted: this call did not start. Repeat it if it is still needed.";

/// Turns `history` into a conversation that any provider accepts. Running it on its own output
/// changes nothing. `not_begun` are the calls without a result of which it is known that they never
/// ran.
pub fn normalise(
    history: impl IntoIterator<Item = Message>,
    not_begun: &HashSet<CallId>,
) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    let mut open = OpenCalls::new(not_begun);
    for message in history {
        match message.role {
            MessageRole::Assistant => {
                open.close(&mut out);
                if out.is_empty() {
                    continue;
                }
                let content = without_empty(message.content);
                open.begin(&content);
                push(&mut out, MessageRole::Assistant, content);
            }
            MessageRole::User => {
                let (results, rest) = split_results(message.content);
                let call = results.iter().map(|(id, _)| id).find(|id| open.order.contains(id));
                let call = call.cloned();
                open.answer(results);
                let rest = without_empty(rest);
                if let Some(call) = call {
                    open.beside.push((call, rest));
                } else if !rest.is_empty() {
                    open.close(&mut out);
                    push(&mut out, MessageRole::User, rest);
                }
            }
        }
    }
    open.close(&mut out);
    // The model cannot go on from such a response, and servers want a user message last.
    while out.last().is_some_and(is_silent) {
        out.pop();
    }
    out
}

/// Whether a message is a response without text and calls; it may hold thinking.
pub fn is_silent(message: &Message) -> bool {
    message.role == MessageRole::Assistant
        && message.calls().next().is_none()
        && message.text().trim().is_empty()
}

/// The calls of the newest response, and what has answered them so far.
struct OpenCalls<'a> {
    not_begun: &'a HashSet<CallId>,
    order: Vec<CallId>,
    results: HashMap<CallId, ContentBlock>,
    /// What came with the result of a call, such as an image. It stands behind all results.
    beside: Vec<(CallId, Vec<ContentBlock>)>,
}

impl<'a> OpenCalls<'a> {
    fn new(not_begun: &'a HashSet<CallId>) -> Self {
        Self { not_begun, order: Vec::new(), results: HashMap::new(), beside: Vec::new() }
    }

    fn begin(&mut self, content: &[ContentBlock]) {
        self.order = content.iter().filter_map(call_id).cloned().collect();
    }

    /// Takes the first result of each open call and drops all others.
    fn answer(&mut self, results: Vec<(CallId, ContentBlock)>) {
        for (id, block) in results {
            if self.order.contains(&id) {
                self.results.entry(id).or_insert(block);
            }
        }
    }

    /// Writes one result for each call.
    fn close(&mut self, out: &mut Vec<Message>) {
        let order = std::mem::take(&mut self.order);
        let mut beside = std::mem::take(&mut self.beside);
        beside.sort_by_key(|(call, _)| order.iter().position(|id| id == call));
        let answers = order
            .into_iter()
            .map(|id| {
                self.results.remove(&id).unwrap_or_else(|| {
                    let content = if self.not_begun.contains(&id) { NOT_BEGUN } else { LOST };
                    ContentBlock::ToolResult {
                        tool_use_id: id,
                        content: content.into(),
                        is_error: true,
                    }
                })
            })
            .collect();
        push(out, MessageRole::User, answers);
        push(out, MessageRole::User, beside.into_iter().flat_map(|(_, blocks)| blocks).collect());
        self.results.clear();
    }
}

fn push(out: &mut Vec<Message>, role: MessageRole, content: Vec<ContentBlock>) {
    if content.is_empty() {
        return;
    }
    match out.last_mut() {
        Some(last) if last.role == role => last.content.extend(content),
        _ => out.push(Message { role, content }),
    }
}

fn call_id(block: &ContentBlock) -> Option<&CallId> {
    match block {
        ContentBlock::ToolUse(call) => Some(&call.id),
        ContentBlock::Text { .. }
        | ContentBlock::Context { .. }
        | ContentBlock::Image(_)
        | ContentBlock::Thinking { .. }
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolResult { .. } => None,
    }
}

fn split_results(content: Vec<ContentBlock>) -> (Vec<(CallId, ContentBlock)>, Vec<ContentBlock>) {
    let (mut results, mut rest) = (Vec::new(), Vec::new());
    for block in content {
        match &block {
            ContentBlock::ToolResult { tool_use_id, .. } => {
                results.push((tool_use_id.clone(), block));
            }
            ContentBlock::Text { .. }
            | ContentBlock::Context { .. }
            | ContentBlock::Image(_)
            | ContentBlock::Thinking { .. }
            | ContentBlock::Sealed { .. }
            | ContentBlock::ToolUse(_) => rest.push(block),
        }
    }
    (results, rest)
}

fn without_empty(content: Vec<ContentBlock>) -> Vec<ContentBlock> {
    let mut content = content;
    content.retain(|block| match block {
        ContentBlock::Text { text } | ContentBlock::Context { text, .. } => !text.trim().is_empty(),
        ContentBlock::Thinking { thinking, signature } => {
            !thinking.is_empty() || signature.is_some()
        }
        ContentBlock::Image(_)
        | ContentBlock::Sealed { .. }
        | ContentBlock::ToolUse(_)
        | ContentBlock::ToolResult { .. } => true,
    });
    content
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::domain::{CallInput, MediaType, MessageImage, ToolCall};

    fn text(role: MessageRole, text: &str) -> Message {
        Message { role, content: vec![ContentBlock::Text { text: text.into() }] }
    }

    fn calls(ids: &[&str]) -> Message {
        let content = ids
            .iter()
            .map(|id| {
                ContentBlock::ToolUse(ToolCall {
                    id: CallId::new(*id),
                    name: "Read".into(),
                    input: CallInput::Valid(json!({})),
                })
            })
            .collect();
        Message { role: MessageRole::Assistant, content }
    }

    fn result(id: &str, content: &str) -> Message {
        Message {
            role: MessageRole::User,
            content: vec![ContentBlock::ToolResult {
                tool_use_id: CallId::new(id),
                content: content.into(),
                is_error: false,
            }],
        }
    }

    fn normalised(history: impl IntoIterator<Item = Message>) -> Vec<Message> {
        normalise(history, &HashSet::new())
    }

    fn ids_answered(message: &Message) -> Vec<&str> {
        message.answers().map(CallId::as_str).collect()
    }

    #[test]
    fn results_come_in_the_order_of_their_calls() {
        let out = normalised([
            text(MessageRole::User, "go"),
            calls(&["a", "b"]),
            result("b", "2"),
            result("a", "1"),
            text(MessageRole::Assistant, "done"),
        ]);
        assert_eq!(out.len(), 4);
        assert_eq!(ids_answered(&out[2]), ["a", "b"]);
    }

    #[test]
    fn an_image_of_a_result_stands_behind_all_results() {
        let with_image = |id: &str| {
            let image = MessageImage::new(id, MediaType::Png, (1, 1), id.as_bytes());
            let mut message = result(id, "see below");
            message.content.push(ContentBlock::Image(image));
            message
        };
        let out = normalised([
            text(MessageRole::User, "go"),
            calls(&["a", "b", "c"]),
            with_image("b"),
            with_image("a"),
            result("c", "3"),
            text(MessageRole::Assistant, "done"),
        ]);
        assert_eq!(ids_answered(&out[2]), ["a", "b", "c"]);
        let images = out[2].content[3..].iter().map(|block| match block {
            ContentBlock::Image(image) => image.name(),
            _ => "no image",
        });
        assert_eq!(images.collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(normalised(out.clone()), out);
    }

    #[test]
    fn an_open_call_is_answered_before_a_user_message() {
        let out = normalised([
            text(MessageRole::User, "go"),
            calls(&["a"]),
            text(MessageRole::User, "stop that"),
        ]);
        assert_eq!(ids_answered(&out[2]), ["a"]);
        assert_eq!(out[2].text(), "stop that");
        assert!(matches!(&out[2].content[0], ContentBlock::ToolResult { is_error: true, .. }));
    }

    #[test]
    fn a_call_that_never_began_is_not_told_as_begun() {
        let not_begun = HashSet::from([CallId::new("b")]);
        let history = [text(MessageRole::User, "go"), calls(&["a", "b"])];
        let out = normalise(history, &not_begun);
        let said = out[2].content.iter().map(|block| match block {
            ContentBlock::ToolResult { content, .. } => content.as_str(),
            _ => "no result",
        });
        assert_eq!(said.collect::<Vec<_>>(), [LOST, NOT_BEGUN]);
    }

    #[test]
    fn results_without_a_call_second_results_and_empty_messages_are_dropped() {
        let out = normalised([
            text(MessageRole::Assistant, "before anything"),
            text(MessageRole::User, "go"),
            result("x", "nobody asked"),
            text(MessageRole::Assistant, "  "),
            calls(&["a"]),
            result("a", "first"),
            result("a", "again"),
        ]);
        assert_eq!(out.len(), 3);
        assert_eq!(out[2].content.len(), 1);
        assert!(
            matches!(&out[2].content[0], ContentBlock::ToolResult { content, .. } if content == "first")
        );
    }

    #[test]
    fn a_response_that_only_thought_does_not_stand_last() {
        let thought = Message {
            role: MessageRole::Assistant,
            content: vec![ContentBlock::Thinking { thinking: "hm".into(), signature: None }],
        };
        let out = normalised([text(MessageRole::User, "go"), thought.clone()]);
        assert_eq!(out, [text(MessageRole::User, "go")]);
        let out =
            normalised([text(MessageRole::User, "go"), thought, text(MessageRole::User, "well?")]);
        assert_eq!(out.len(), 3, "what stays behind it stays as it was");
    }

    #[test]
    fn messages_in_a_row_become_one() {
        let out = normalised([text(MessageRole::User, "one"), text(MessageRole::User, "two")]);
        assert_eq!(out.len(), 1);
        assert_eq!(out[0].text(), "one\n\ntwo");
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let id = prop::sample::select(vec!["a", "b", "c", "d"]);
        prop_oneof![
            "[a-z ]{0,6}".prop_map(|words| text(MessageRole::User, &words)),
            "[a-z ]{0,6}".prop_map(|words| text(MessageRole::Assistant, &words)),
            prop::collection::hash_set(id.clone(), 1..3)
                .prop_map(|ids| calls(&ids.into_iter().collect::<Vec<_>>())),
            id.prop_map(|id| result(id, "r")),
        ]
    }

    proptest! {
        #[test]
        fn any_history_becomes_valid(history in prop::collection::vec(any_message(), 0..20)) {
            let out = normalised(history);
            let mut expected = MessageRole::User;
            for (at, message) in out.iter().enumerate() {
                prop_assert_eq!(message.role, expected);
                prop_assert!(!message.content.is_empty());
                let asked: Vec<&CallId> = message.calls().map(|call| &call.id).collect();
                let answered: Vec<&CallId> =
                    out.get(at + 1).map(|next| next.answers().collect()).unwrap_or_default();
                prop_assert_eq!(asked, answered);
                expected = if expected == MessageRole::User { MessageRole::Assistant } else { MessageRole::User };
            }
        }

        #[test]
        fn a_second_run_changes_nothing(history in prop::collection::vec(any_message(), 0..20)) {
            let once = normalised(history);
            prop_assert_eq!(normalised(once.clone()), once);
        }
    }
}
