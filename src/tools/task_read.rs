//! TaskList and TaskGet: the tasks as they are now, and one of them in full.

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::task_change::{self, ID, as_json, no_task};
use super::{Tool, ToolContext, ToolError, WorkingDirectory};
use crate::domain::{
    PlanItem, TodoStatus, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput,
    ToolSpec, WorkPlan, pluralise, task_numbers,
};

/// Shows what is open and what is done, without descriptions.
pub(super) struct TaskListTool;

/// Shows one task.
pub(super) struct TaskGetTool;

const LIST: InputShape = InputShape { tool: "TaskList", example: "{}", arguments: &[], place: "" };

const GET: InputShape =
    InputShape { tool: "TaskGet", example: r#"{"id": 1}"#, arguments: &[ID], place: "" };

static LIST_DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(LIST.tool, ToolKind::Think, ToolCapability::Conversation)
        .deferred()
        .in_order();

static GET_DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(GET.tool, ToolKind::Think, ToolCapability::Conversation)
        .deferred()
        .in_order();

/// The most bytes of a list.
const MAX_BYTES: usize = 24 << 10;

#[async_trait]
impl Tool for TaskListTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: LIST.tool.into(),
            description:
                "Lists the tasks that TaskCreate made, open ones first, with their status, \
                          owner and the open tasks that they wait for."
                    .into(),
            input_schema: json!({"type": "object", "properties": {}}),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &LIST_DESCRIPTOR
    }

    fn call_title(&self, _: &Value, _cwd: &Path) -> String {
        String::new()
    }

    fn canonical_input(&self, input: Value) -> Value {
        LIST.canonical(input)
    }

    fn access(&self, input: &Value, _: &WorkingDirectory) -> Result<Vec<ToolAccess>, ToolError> {
        ArgumentReader::new(LIST, input).map(|_| vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, _: Value) -> Result<ToolOutput, ToolError> {
        let plan = WorkPlan { tasks: context.tasks.list(), todos: Vec::new() };
        if plan.is_empty() {
            return Ok(ToolOutput::text("There are no tasks.")
                .with_output(json!([]))
                .with_summary("no tasks"));
        }
        let is_done = |item: &PlanItem<'_>| item.status == TodoStatus::Completed;
        let (done, open): (Vec<_>, Vec<_>) = plan.items().partition(is_done);
        let mut text = String::new();
        let mut shown = 0;
        for item in open.iter().chain(&done) {
            let row = item.as_line();
            if text.len() + row.len() > MAX_BYTES {
                break;
            }
            text.push_str(&row);
            text.push('\n');
            shown += 1;
        }
        if let left @ 1.. = plan.len() - shown {
            text.push_str(&format!("… and {}.", pluralise(left, "more task")));
        }
        let summary = format!("{} of {} done", done.len(), plan.len());
        let tasks: Vec<Value> = plan.tasks.iter().map(|task| as_json(task, &plan.tasks)).collect();
        Ok(ToolOutput::text(text.trim_end()).with_output(json!(tasks)).with_summary(summary))
    }
}

#[async_trait]
impl Tool for TaskGetTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: GET.tool.into(),
            description: "Shows one task with its description and all of its dependencies.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {"id": {"type": "integer"}},
                "required": ["id"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &GET_DESCRIPTOR
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        task_change::id(GET, input).map(|id| id.to_string()).unwrap_or_default()
    }

    fn canonical_input(&self, input: Value) -> Value {
        GET.canonical(input)
    }

    fn access(&self, input: &Value, _: &WorkingDirectory) -> Result<Vec<ToolAccess>, ToolError> {
        task_change::id(GET, input).map(|_| vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let id = task_change::id(GET, &input)?;
        let list = context.tasks.list();
        let Some(task) = list.get(id) else {
            return Err(ToolError(format!("{}: {}.", GET.tool, no_task(id, &list))));
        };
        let status = match task.status {
            TodoStatus::Pending => "pending",
            TodoStatus::InProgress => "in_progress",
            TodoStatus::Completed => "completed",
        };
        let mut text = format!("{id} {}\nstatus: {status}\n", task.subject);
        let (all, open): (Vec<_>, _) =
            (task.blocked_by.iter().copied().collect(), list.blockers(task));
        let blocks = list.waiting_for(id);
        for (name, value) in [
            ("owner", task.owner.clone().unwrap_or_default()),
            ("blocked by", task_numbers(&all)),
            ("of these open", task_numbers(&open)),
            ("blocks", task_numbers(&blocks)),
        ] {
            if !value.is_empty() {
                text.push_str(&format!("{name}: {value}\n"));
            }
        }
        if !task.description.is_empty() {
            text.push_str(&format!("\n{}", task.description));
        }
        Ok(ToolOutput::text(text.trim_end()).with_output(as_json(task, &list)).with_summary(status))
    }
}
