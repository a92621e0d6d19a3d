//! Builds a request to the model from the conversation.
//!
//! The beginning of a request is byte-stable, for the servers' prompt caches: the same system text
//! and tools in the same order, then the history, which only grows at its end. What changes from
//! turn to turn is sent with the user's newest message and stays in the history as it was sent.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::json;

use crate::domain::{
    ContentBlock, Message, PlanItem, ReasoningEffort, RequestSource, TodoStatus, ToolSpec,
    WorkPlan, pluralise,
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

/// The most open tasks in the note on the plan. A list of hundreds would be sent again with each change.
const MAX_TOLD_TASKS: usize = 40;

/// The plan as a note for the model; `None` when there is no plan or all of it is done. Of the tasks it
/// has those that are open, and how many are completed.
pub(super) fn plan(plan: &WorkPlan) -> Option<ContentBlock> {
    if plan.completed() == plan.len() {
        return None;
    }
    let is_step = |item: &PlanItem<'_>| item.task.is_none();
    let is_open = |item: &PlanItem<'_>| item.status != TodoStatus::Completed;
    let has_open_steps = plan.items().any(|item| is_step(&item) && is_open(&item));
    let steps = plan.items().filter(|item| has_open_steps && is_step(item));
    let tasks: Vec<_> = plan.items().filter(|item| !is_step(item) && is_open(item)).collect();
    let mut text = String::new();
    // Writing to a String cannot fail.
    for item in steps {
        let _ = writeln!(text, "{}", item.as_line());
    }
    for item in tasks.iter().take(MAX_TOLD_TASKS) {
        let _ = writeln!(text, "{}", item.as_line());
    }
    let completed = plan.tasks.len() - tasks.len();
    if let more @ 1.. = tasks.len().saturating_sub(MAX_TOLD_TASKS) {
        let _ = writeln!(text, "and {}: see TaskList", pluralise(more, "more open task"));
    }
    if completed > 0 {
        let _ = writeln!(text, "{} completed", pluralise(completed, "task"));
    }
    Some(ContentBlock::Context { name: TODO.into(), text: text.trim_end().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::task;
    use crate::domain::{TaskItem, TodoItem};

    fn todo(content: &str, status: TodoStatus) -> TodoItem {
        TodoItem { content: content.into(), status, active_form: content.into() }
    }

    fn told(todos: Vec<TodoItem>, tasks: Vec<TaskItem>) -> Option<String> {
        let block = plan(&WorkPlan::new(todos, tasks))?;
        let (name, text) = block.as_context().unwrap();
        assert_eq!(name, "todo");
        Some(text.to_owned())
    }

    #[test]
    fn the_plan_is_told_while_something_is_open() {
        let done = todo("read", TodoStatus::Completed);
        let doing = todo("edit", TodoStatus::InProgress);
        let both = told(vec![done.clone(), doing], Vec::new());
        assert_eq!(both.as_deref(), Some("[x] read\n[>] edit"));
        let completed = task(1, TodoStatus::Completed, &[]);
        assert_eq!(told(vec![done.clone()], vec![completed.clone()]), None);
        assert_eq!(told(Vec::new(), Vec::new()), None);
        let owned = TaskItem {
            owner: Some("tester".into()),
            description: "not told".into(),
            ..task(3, TodoStatus::Pending, &[1, 2])
        };
        let tasks = vec![completed, task(2, TodoStatus::InProgress, &[]), owned];
        let text = "[>] #2 task 2\n[ ] #3 task 3 (by tester; after #2)\n1 task completed";
        assert_eq!(told(vec![done], tasks).as_deref(), Some(text));
    }

    #[test]
    fn of_many_tasks_a_part_is_told() {
        let tasks = (1..=200).map(|id| task(id, TodoStatus::Pending, &[])).collect();
        let text = told(Vec::new(), tasks).unwrap();
        assert!(text.ends_with("[ ] #40 task 40\nand 160 more open tasks: see TaskList"), "{text}");
    }
}
