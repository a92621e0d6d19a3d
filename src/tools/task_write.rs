//! TaskCreate and TaskUpdate: tasks with owners and dependencies, which the user sees with the plan.

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::InputShape;
use super::task_change::{
    self, ACTIVE_FORM, BLOCKED_BY, BLOCKS, DESCRIPTION, ID, NewTaskStatus, OWNER, STATUS, SUBJECT,
    TaskArguments, UNBLOCK, as_json,
};
use super::{Tool, ToolContext, ToolError, WorkingDirectory, titles};
use crate::domain::{
    TaskChange, TaskId, TaskItem, TaskList, TodoStatus, ToolAccess, ToolCapability, ToolDescriptor,
    ToolKind, ToolOutput, ToolSpec, task_numbers,
};

/// Adds a task.
pub(super) struct TaskCreateTool;

/// Changes a task.
pub(super) struct TaskUpdateTool;

const CREATE: InputShape = InputShape {
    tool: "TaskCreate",
    example: r#"{"subject": "Run the tests", "blocked_by": [1]}"#,
    arguments: &[SUBJECT, DESCRIPTION, ACTIVE_FORM, OWNER, BLOCKED_BY, BLOCKS],
    place: "",
};

const UPDATE: InputShape = InputShape {
    tool: "TaskUpdate",
    example: r#"{"id": 1, "status": "completed"}"#,
    arguments: &[ID, STATUS, SUBJECT, DESCRIPTION, ACTIVE_FORM, OWNER, BLOCKED_BY, BLOCKS, UNBLOCK],
    place: "",
};

static CREATE_DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(CREATE.tool, ToolKind::Think, ToolCapability::Conversation)
        .deferred()
        .in_order();

static UPDATE_DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(UPDATE.tool, ToolKind::Think, ToolCapability::Conversation)
        .deferred()
        .in_order();

/// The arguments that both tools have.
fn properties(numbers_of: &str) -> Value {
    let numbers = json!({"type": "array", "items": {"type": "integer"}});
    let with = |text: &str| {
        let mut numbers = numbers.clone();
        numbers["description"] = format!("{numbers_of} {text}").into();
        numbers
    };
    json!({
        "subject": {"type": "string", "description": "Run the tests"},
        "description": {"type": "string", "description": "what has to be done, in full"},
        "activeForm": {"type": "string", "description": "Running the tests"},
        "owner": {"type": "string", "description": "who does it; \"nobody\" for no owner"},
        "blocked_by": with("tasks that have to be completed first"),
        "blocks": with("tasks that have to wait for this one"),
    })
}

#[async_trait]
impl Tool for TaskCreateTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: CREATE.tool.into(),
            description:
                "Adds a task, which the user sees. For work with dependencies or owners; for \
                          a plain list of steps use TodoWrite. The result has its number."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": properties("numbers of"),
                "required": ["subject"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &CREATE_DESCRIPTOR
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        titles::text(input, SUBJECT.0).to_owned()
    }

    fn canonical_input(&self, input: Value) -> Value {
        CREATE.canonical(input)
    }

    fn access(&self, input: &Value, _: &WorkingDirectory) -> Result<Vec<ToolAccess>, ToolError> {
        new_task(input).map(|_| vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let (id, change) =
            new_task(&input)?.create(&context.tasks.list()).map_err(|why| refused(CREATE, &why))?;
        let list = changed(context, change).await?;
        let after = list.get(id).map(|task| list.blockers(task)).unwrap_or_default();
        let waits = match after.is_empty() {
            true => String::new(),
            false => format!(" It waits for {}.", task_numbers(&after)),
        };
        let output = ToolOutput::text(format!("Task {id} created.{waits}"));
        Ok(output
            .with_output(json!(list.get(id).map(|task| as_json(task, &list))))
            .with_summary(id.to_string()))
    }
}

#[async_trait]
impl Tool for TaskUpdateTool {
    fn spec(&self) -> ToolSpec {
        let mut properties = properties("numbers of more");
        properties["id"] = json!({"type": "integer"});
        properties["status"] = json!({
            "type": "string",
            "enum": ["pending", "in_progress", "completed", "deleted"],
        });
        properties["unblock"] = json!({
            "type": "array",
            "items": {"type": "integer"},
            "description": "numbers of tasks that it no longer waits for",
        });
        ToolSpec {
            name: UPDATE.tool.into(),
            description: "Changes a task: its status (deleted removes it), owner, words or \
                          dependencies. Begin with in_progress, and complete a task as soon as it is done."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": properties,
                "required": ["id"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &UPDATE_DESCRIPTOR
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        let id = task_change::id(UPDATE, input).map(|id| id.to_string()).unwrap_or_default();
        let status = titles::text(input, STATUS.0).replace('_', " ");
        titles::join(&[&id, &status, titles::text(input, SUBJECT.0)])
    }

    fn canonical_input(&self, input: Value) -> Value {
        UPDATE.canonical(input)
    }

    fn access(&self, input: &Value, _: &WorkingDirectory) -> Result<Vec<ToolAccess>, ToolError> {
        task_update(input).map(|_| vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let (id, update) = task_update(&input)?;
        if update == TaskArguments::default() {
            return Err(UPDATE.wrong("nothing in the call would change the task"));
        }
        let before = context.tasks.list();
        let change = update.update(id, &before).map_err(|why| refused(UPDATE, &why))?;
        let list = changed(context, change).await?;
        let summary = format!("{} of {} done", completed(&list), list.len());
        let output = ToolOutput::text(told(id, &before, &list)).with_summary(summary);
        Ok(output.with_output(json!(list.get(id).map(|task| as_json(task, &list)))))
    }
}

fn new_task(input: &Value) -> Result<TaskArguments, ToolError> {
    let task = TaskArguments::read(CREATE, input)?;
    match task.subject {
        Some(_) => Ok(task),
        None => Err(CREATE.wrong("`subject` is missing or empty")),
    }
}

fn task_update(input: &Value) -> Result<(TaskId, TaskArguments), ToolError> {
    let update = TaskArguments::read(UPDATE, input)?;
    let id = task_change::id(UPDATE, input)?;
    if update.status == Some(NewTaskStatus::Deleted) && update != TaskArguments::deletion() {
        return Err(UPDATE.wrong("a task cannot be deleted and changed in the same call"));
    }
    Ok((id, update))
}

/// Puts a change on record, and returns the tasks after it.
async fn changed(context: &ToolContext, change: TaskChange) -> Result<TaskList, ToolError> {
    context.tasks.change(change).await?;
    Ok(context.tasks.list())
}

/// What the model is told of a change: how the task is now, and what follows for the others.
fn told(id: TaskId, before: &TaskList, list: &TaskList) -> String {
    let mut text = match list.get(id) {
        None => format!("Task {id} deleted."),
        Some(task) => match (task.status, list.blockers(task)) {
            (TodoStatus::Completed, _) => format!("Task {id} is completed."),
            (TodoStatus::Pending, after) if after.is_empty() => format!("Task {id} is pending."),
            (TodoStatus::Pending, after) => {
                format!("Task {id} is pending. It waits for {}.", task_numbers(&after))
            }
            (TodoStatus::InProgress, after) if after.is_empty() => {
                format!("Task {id} is in progress.")
            }
            (TodoStatus::InProgress, after) => format!(
                "Task {id} is in progress, though it waits for {}. Do these first.",
                task_numbers(&after)
            ),
        },
    };
    let is_free = |task: &&TaskItem| {
        let waited = before.get(task.id).is_some_and(|old| before.blockers(old).contains(&id));
        waited && task.id != id && list.blockers(task).is_empty()
    };
    let free: Vec<TaskId> = list.iter().filter(is_free).map(|task| task.id).collect();
    if !free.is_empty() {
        text.push_str(&format!(" No longer blocked: {}.", task_numbers(&free)));
    }
    text
}

fn completed(list: &TaskList) -> usize {
    list.iter().filter(|task| task.status == TodoStatus::Completed).count()
}

fn refused(shape: InputShape, why: &str) -> ToolError {
    ToolError(format!("{}: {why}.", shape.tool))
}

#[cfg(test)]
#[path = "task_write_tests.rs"]
mod tests;
