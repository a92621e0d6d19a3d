//! What the tools for tasks read and change, and the arguments of a change. A task of the list has at most
//! so many characters, and the list so many tasks, because all of it is sent to the model again.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::ToolError;
use super::input::{ArgumentReader, InputShape};
use crate::domain::{TaskChange, TaskId, TaskItem, TaskList, TodoStatus, pluralise};

/// The tasks of the session that a call runs in.
#[async_trait]
pub trait SessionTasks: Send + Sync {
    /// The tasks as they are now.
    fn list(&self) -> TaskList;
    /// Changes tasks, on record.
    ///
    /// # Errors
    ///
    /// When the change cannot be put on record. Then nothing has changed.
    async fn change(&self, change: TaskChange) -> Result<(), ToolError>;
}

/// The tasks of a run that has no session.
#[derive(Default)]
pub struct InMemoryTasks(Mutex<TaskList>);

#[async_trait]
impl SessionTasks for InMemoryTasks {
    fn list(&self) -> TaskList {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn change(&self, change: TaskChange) -> Result<(), ToolError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).apply(&change);
        Ok(())
    }
}

/// The most tasks of a session; those that are deleted do not count.
const MAX_TASKS: usize = 200;
/// The most characters of a subject, and of the words for a task in progress.
const MAX_SUBJECT: usize = 200;
const MAX_DESCRIPTION: usize = 4000;
const MAX_OWNER: usize = 60;
/// The owner that a call names to say that there is none.
const NO_OWNER: &str = "nobody";

/// The arguments of TaskCreate, which are also some of TaskUpdate.
pub(super) const SUBJECT: (&str, &[&str]) = ("subject", &["title", "content", "name"]);
pub(super) const DESCRIPTION: (&str, &[&str]) = ("description", &["details"]);
pub(super) const ACTIVE_FORM: (&str, &[&str]) = ("activeForm", &["active_form"]);
pub(super) const OWNER: (&str, &[&str]) = ("owner", &["assignee"]);
pub(super) const BLOCKED_BY: (&str, &[&str]) =
    ("blocked_by", &["blockedBy", "addBlockedBy", "add_blocked_by", "depends_on"]);
pub(super) const BLOCKS: (&str, &[&str]) = ("blocks", &["addBlocks", "add_blocks"]);
pub(super) const UNBLOCK: (&str, &[&str]) = ("unblock", &["removeBlockedBy", "remove_blocked_by"]);
pub(super) const STATUS: (&str, &[&str]) = ("status", &["state"]);
/// The argument that names a task.
pub(super) const ID: (&str, &[&str]) = ("id", &["taskId", "task_id", "task"]);

/// What a call says of a task; what it does not name stays.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TaskArguments {
    pub subject: Option<String>,
    description: Option<String>,
    active_form: Option<String>,
    owner: Option<String>,
    pub status: Option<NewTaskStatus>,
    blocked_by: BTreeSet<TaskId>,
    blocks: BTreeSet<TaskId>,
    unblock: BTreeSet<TaskId>,
}

/// The status that a call gives a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewTaskStatus {
    Open(TodoStatus),
    Deleted,
}

impl TaskArguments {
    /// Reads the arguments that the shape has.
    ///
    /// # Errors
    ///
    /// When an argument is not in the shape, is of another type, or is too long.
    pub fn read(shape: InputShape, input: &Value) -> Result<Self, ToolError> {
        let input = ArgumentReader::new(shape, input)?;
        let line = |(name, _): (&str, &[&str]), most| {
            let text = input.optional_text(name)?;
            let text = text.map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
            bounded(&input, name, text.filter(|text| !text.is_empty()), most)
        };
        let description = input.optional_text(DESCRIPTION.0)?;
        let description = description.map(|text| text.trim().to_owned());
        let description = description.filter(|text| !text.is_empty());
        Ok(Self {
            subject: line(SUBJECT, MAX_SUBJECT)?,
            description: bounded(&input, DESCRIPTION.0, description, MAX_DESCRIPTION)?,
            active_form: line(ACTIVE_FORM, MAX_SUBJECT)?,
            owner: line(OWNER, MAX_OWNER)?,
            status: status(&input)?,
            blocked_by: ids(&input, BLOCKED_BY.0)?,
            blocks: ids(&input, BLOCKS.0)?,
            unblock: ids(&input, UNBLOCK.0)?,
        })
    }

    /// What a call says that only deletes a task.
    pub fn deletion() -> Self {
        Self { status: Some(NewTaskStatus::Deleted), ..Self::default() }
    }

    /// The change that makes a new task of this, and its number.
    ///
    /// # Errors
    ///
    /// When there is no room for it, or it would wait for what it cannot wait for; a sentence.
    pub fn create(self, list: &TaskList) -> Result<(TaskId, TaskChange), String> {
        if list.len() >= MAX_TASKS {
            return Err(format!(
                "there are {MAX_TASKS} tasks, and no more fit. Delete those that are done: \
                 TaskUpdate {{\"id\": 1, \"status\": \"deleted\"}}"
            ));
        }
        let id = list.next_id().ok_or("there are no more numbers for tasks")?;
        let task = TaskItem {
            id,
            subject: String::new(),
            description: String::new(),
            active_form: None,
            owner: None,
            status: TodoStatus::Pending,
            blocked_by: BTreeSet::new(),
        };
        Ok((id, self.change(task, list)?))
    }

    /// The change that this makes to a task.
    ///
    /// # Errors
    ///
    /// When there is no such task, or it would wait for what it cannot wait for; a sentence.
    pub fn update(self, id: TaskId, list: &TaskList) -> Result<TaskChange, String> {
        let task = list.get(id).ok_or_else(|| no_task(id, list))?;
        if self.status == Some(NewTaskStatus::Deleted) {
            return Ok(TaskChange { tasks: Vec::new(), removed: vec![id] });
        }
        self.change(task.clone(), list)
    }

    fn change(self, task: TaskItem, list: &TaskList) -> Result<TaskChange, String> {
        let id = task.id;
        if let Some(both) = self.blocked_by.intersection(&self.unblock).next() {
            return Err(format!("`blocked_by` and `unblock` both name {both}"));
        }
        let named = self.blocked_by.iter().chain(&self.blocks).chain(&self.unblock);
        for other in named {
            if *other == id {
                return Err(format!("task {id} cannot wait for itself"));
            }
            list.get(*other).ok_or_else(|| no_task(*other, list))?;
        }
        let status = match self.status {
            Some(NewTaskStatus::Open(status)) => status,
            Some(NewTaskStatus::Deleted) | None => task.status,
        };
        let owner = match self.owner {
            Some(owner) if owner.eq_ignore_ascii_case(NO_OWNER) => None,
            Some(owner) => Some(owner),
            None => task.owner,
        };
        let stay = task.blocked_by.difference(&self.unblock).copied();
        let changed = TaskItem {
            subject: self.subject.unwrap_or(task.subject),
            description: self.description.unwrap_or(task.description),
            active_form: self.active_form.or(task.active_form),
            owner,
            status,
            blocked_by: stay.chain(self.blocked_by).collect(),
            id,
        };
        let waiting = self.blocks.iter().filter_map(|other| list.get(*other)).cloned();
        let waiting = waiting.map(|mut other| {
            other.blocked_by.insert(id);
            other
        });
        let change =
            TaskChange { tasks: [changed].into_iter().chain(waiting).collect(), removed: vec![] };
        let mut after = list.clone();
        after.apply(&change);
        match after.circle_through(id) {
            Some(circle) => Err(told_circle(&circle)),
            None => Ok(change),
        }
    }
}

/// The number of the task that a call is about.
pub(super) fn id(shape: InputShape, input: &Value) -> Result<TaskId, ToolError> {
    let input = ArgumentReader::new(shape, input)?;
    let value = input.value(ID.0).ok_or_else(|| input.wrong("`id` is missing"))?;
    number(value).ok_or_else(|| unfit(&input, ID.0, "the number of a task", value))
}

/// Says that no task has this number, and which numbers there are.
pub(super) fn no_task(id: TaskId, list: &TaskList) -> String {
    let all: Vec<String> = list.iter().take(40).map(|task| task.id.to_string()).collect();
    let more = if list.len() > all.len() { ", …" } else { "" };
    match all.is_empty() {
        true => format!("there is no task {id}, nor any other"),
        false => format!("there is no task {id}; the tasks are {}{more}", all.join(", ")),
    }
}

/// A task as a program reads it.
pub(super) fn as_json(task: &TaskItem, list: &TaskList) -> Value {
    json!({
        "id": task.id,
        "subject": task.subject,
        "description": task.description,
        "owner": task.owner,
        "status": task.status,
        "blocked_by": task.blocked_by,
        "blocks": list.waiting_for(task.id),
    })
}

fn told_circle(circle: &[TaskId]) -> String {
    let steps: Vec<String> =
        circle.windows(2).map(|pair| format!("{} waits for {}", pair[0], pair[1])).collect();
    let (first, last) = (&steps[..steps.len().min(8)], steps.len().saturating_sub(8));
    let more = if last > 0 { format!(", and {last} more") } else { String::new() };
    format!("that would be a circle: {}{more}", first.join(", "))
}

fn status(input: &ArgumentReader<'_>) -> Result<Option<NewTaskStatus>, ToolError> {
    let Some(status) = input.optional_text(STATUS.0)? else { return Ok(None) };
    let status = match status.to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "" => return Ok(None),
        "deleted" | "delete" => NewTaskStatus::Deleted,
        word => NewTaskStatus::Open(TodoStatus::from_word(word).ok_or_else(|| {
            let shown: String = status.chars().take(60).collect();
            input.wrong(format!(
                "`status` must be pending, in_progress, completed or deleted, not {shown:?}"
            ))
        })?),
    };
    Ok(Some(status))
}

/// The numbers in a list; `[1, "2"]`, `"#1, #2"` and `3` are lists, too.
fn ids(input: &ArgumentReader<'_>, name: &str) -> Result<BTreeSet<TaskId>, ToolError> {
    let Some(value) = input.value(name) else { return Ok(BTreeSet::new()) };
    let found: Option<BTreeSet<TaskId>> = match value {
        Value::Array(items) => items.iter().map(number).collect(),
        Value::String(text) => {
            let words = text.trim().trim_start_matches('[').trim_end_matches(']').split(',');
            let words = words.map(str::trim).filter(|word| !word.is_empty());
            words.map(|word| number(&Value::from(word.trim_matches('"')))).collect()
        }
        Value::Number(_) => number(value).map(|id| BTreeSet::from([id])),
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    };
    found.ok_or_else(|| unfit(input, name, "a list of the numbers of tasks", value))
}

fn number(value: &Value) -> Option<TaskId> {
    let number = match value {
        // A whole number may come as 3.0.
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().trim_start_matches('#').parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    number.map(TaskId)
}

fn whole(number: f64) -> Option<u64> {
    let is_exact = number >= 0.0 && number.fract() == 0.0 && number < 2_f64.powi(53);
    is_exact.then_some(number as u64)
}

fn unfit(input: &ArgumentReader<'_>, name: &str, wanted: &str, value: &Value) -> ToolError {
    let value: String = value.to_string().chars().take(60).collect();
    input.wrong(format!("`{name}` must be {wanted}, not {value}"))
}

fn bounded(
    input: &ArgumentReader<'_>,
    name: &str,
    text: Option<String>,
    most: usize,
) -> Result<Option<String>, ToolError> {
    let length = text.as_ref().map_or(0, |text| text.chars().count());
    if length > most {
        let characters = pluralise(length, "character");
        return Err(input.wrong(format!("`{name}` has {characters}, but at most {most} fit")));
    }
    Ok(text)
}
