//! Builds a request to the model from the conversation.
//!
//! The beginning of a request is byte-stable, for the servers' prompt caches: the same system text
//! and tools in the same order, then the history, which only grows at its end. What changes from
//! turn to turn is sent with the user's newest message and stays in the history as it was sent.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;

use crate::domain::{
    ContentBlock, Message, ReasoningEffort, RequestSource, TodoItem, TodoStatus, ToolSpec,
};
use crate::platform::debug_log::{DebugEventNumber, DebugLog};
use crate::providers::{EncodedImages, ProviderRequest, ToolChoice};

/// The name of the context block that tells the model its own plan.
pub(super) const TODO: &str = "todo";

/// The parameters of a request besides the conversation.
pub(super) struct RequestParameters<'a> {
    pub(super) model: &'a str,
    pub(super) system: &'a str,
    pub(super) tools: Arc<[ToolSpec]>,
    pub(super) max_tokens: Option<u32>,
    pub(super) tool_choice: ToolChoice,
    pub(super) temperature: Option<f32>,
    pub(super) effort: Option<ReasoningEffort>,
}

/// The history in the order that providers accept, and the bytes of its images.
pub(super) struct RequestConversation {
    pub(super) messages: Vec<Message>,
    pub(super) images: EncodedImages,
}

/// Puts a request together.
pub(super) fn build(
    parts: &RequestParameters<'_>,
    conversation: RequestConversation,
) -> ProviderRequest {
    ProviderRequest {
        model: parts.model.to_owned(),
        system: parts.system.to_owned(),
        messages: conversation.messages,
        images: conversation.images,
        tools: parts.tools.clone(),
        max_tokens: parts.max_tokens,
        tool_choice: parts.tool_choice,
        temperature: parts.temperature,
        effort: parts.effort,
    }
}

/// Writes a request to the debug log; `None` when there is no debug log.
pub(super) fn log(
    debug: &DebugLog,
    source: RequestSource,
    request: &ProviderRequest,
) -> Option<DebugEventNumber> {
    debug.folder()?;
    Some(debug.request(json!({
        "source": source,
        "model": request.model,
        "system": request.system,
        "messages": request.messages,
        "tools": *request.tools,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "effort": request.effort,
    })))
}

/// The plan as a note for the model; `None` when there is no plan or all of it is done.
pub(super) fn plan(todos: &[TodoItem]) -> Option<ContentBlock> {
    if todos.iter().all(|todo| todo.status == TodoStatus::Completed) {
        return None;
    }
    let mut text = String::new();
    for todo in todos {
        let mark = match todo.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[>]",
            TodoStatus::Completed => "[x]",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{mark} {}", todo.content);
    }
    Some(ContentBlock::Context { name: TODO.into(), text: text.trim_end().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo(content: &str, status: TodoStatus) -> TodoItem {
        TodoItem { content: content.into(), status, active_form: content.into() }
    }

    #[test]
    fn the_plan_is_told_while_something_is_open() {
        let done = todo("read", TodoStatus::Completed);
        let doing = todo("edit", TodoStatus::InProgress);
        let block = plan(&[done.clone(), doing]);
        let expected =
            ContentBlock::Context { name: "todo".into(), text: "[x] read\n[>] edit".into() };
        assert_eq!(block, Some(expected));
        assert_eq!(plan(&[done]), None);
        assert_eq!(plan(&[]), None);
    }
}
