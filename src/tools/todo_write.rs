//! TodoWrite: keeps the model's plan, which the user sees.

use std::path::Path;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::input::{ArgumentReader, InputShape};
use super::{Tool, ToolContext, ToolError, WorkingDirectory};
use crate::domain::{
    TodoItem, TodoStatus, ToolAccess, ToolCapability, ToolDescriptor, ToolKind, ToolOutput,
    ToolSpec, read_counted,
};

/// Replaces the model's plan.
pub(super) struct TodoWriteTool;

const SHAPE: InputShape = InputShape {
    tool: "TodoWrite",
    example: r#"{"todos": [{"content": "Do the step", "status": "in_progress", "activeForm": "Doing the step"}]}"#,
    arguments: &[("todos", &["items", "tasks"])],
    place: "",
};

/// The most steps of a plan: nobody reads more.
const MAX_STEPS: usize = 200;

/// A step of the plan.
const STEP: InputShape = InputShape {
    arguments: &[
        ("content", &["title", "task", "step"]),
        ("status", &["state"]),
        ("activeForm", &["active_form"]),
    ],
    place: " in `todos`",
    ..SHAPE
};

static DESCRIPTOR: ToolDescriptor =
    ToolDescriptor::built_in(SHAPE.tool, ToolKind::Think, ToolCapability::Conversation);

#[async_trait]
impl Tool for TodoWriteTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: SHAPE.tool.into(),
            description: "Replaces your plan, which the user sees.".into(),
            input_schema: json!({
                "type": "object",
                "properties": {"todos": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string"},
                        "status": {
                            "type": "string",
                            "enum": ["pending", "in_progress", "completed"],
                        },
                        "activeForm": {"type": "string", "description": "Running the tests"},
                    },
                    "required": ["content", "status", "activeForm"],
                }}},
                "required": ["todos"],
            }),
        }
    }

    fn descriptor(&self) -> &ToolDescriptor {
        &DESCRIPTOR
    }

    fn call_title(&self, input: &Value, _cwd: &Path) -> String {
        let todos = input.get("todos").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_done = |todo: &&Value| todo.get("status") == Some(&"completed".into());
        format!("{} of {} done", todos.iter().filter(is_done).count(), todos.len())
    }

    fn canonical_input(&self, input: Value) -> Value {
        SHAPE.canonical(input)
    }

    fn access(
        &self,
        input: &Value,
        _place: &WorkingDirectory,
    ) -> Result<Vec<ToolAccess>, ToolError> {
        todos(input).map(|_| vec![ToolAccess::Nothing])
    }

    async fn run(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let todos = todos(&input)?;
        let count = |status| todos.iter().filter(|todo| todo.status == status).count();
        let (done, active) = (count(TodoStatus::Completed), count(TodoStatus::InProgress));
        let mut text = format!("Plan updated: {done} of {} done.", todos.len());
        if active > 1 {
            text.push_str(" Keep only one step in_progress.");
        }
        let output = ToolOutput::text(text).with_output(json!({"todos": todos}));
        context.effects.todos(todos);
        Ok(output)
    }
}

fn todos(input: &Value) -> Result<Vec<TodoItem>, ToolError> {
    let input = ArgumentReader::new(SHAPE, input)?;
    let items = match input.value("todos") {
        None => return Err(input.wrong("`todos` is missing")),
        Some(Value::Array(items)) => items.clone(),
        Some(Value::String(text)) => {
            read_counted(text).ok_or_else(|| input.wrong("`todos` must be an array"))?
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            return Err(input.wrong("`todos` must be an array"));
        }
    };
    if items.len() > MAX_STEPS {
        let count = items.len();
        return Err(input.wrong(format!("`todos` has {count} steps, but at most {MAX_STEPS} fit")));
    }
    items.iter().map(todo).collect()
}

fn todo(item: &Value) -> Result<TodoItem, ToolError> {
    let item = ArgumentReader::new(STEP, item)?;
    let content = item.text("content")?;
    if content.trim().is_empty() {
        return Err(item.wrong("`content` is empty"));
    }
    let status = item.optional_text("status")?.unwrap_or_default();
    let status = match status.to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
        "" => TodoStatus::Pending,
        word => TodoStatus::from_word(word).ok_or_else(|| {
            item.wrong(format!(
                "`status` must be pending, in_progress or completed, not {status:?}"
            ))
        })?,
    };
    let active_form = item.optional_text("activeForm")?;
    let active_form = active_form.filter(|text| !text.is_empty()).unwrap_or(content.clone());
    Ok(TodoItem { content, status, active_form })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::ToolTestEnv;

    #[test]
    fn a_plan_has_so_many_steps_at_most() {
        let step = json!({"content": "a", "status": "pending", "activeForm": "a"});
        let plan = |count: usize| todos(&json!({"todos": vec![step.clone(); count]}));
        assert_eq!(plan(200).unwrap().len(), 200);
        let error = plan(201).unwrap_err().to_string();
        assert!(error.contains("has 201 steps, but at most 200 fit"), "{error}");
    }

    #[tokio::test]
    async fn a_plan_is_reported_and_counted() {
        let env = ToolTestEnv::new();
        let input = json!({"todos": [
            {"content": "Look", "status": "completed", "activeForm": "Looking"},
            {"content": "Leap", "status": "in_progress", "activeForm": "Leaping"},
        ]});
        assert_eq!(TodoWriteTool.access(&input, &env.context.place), Ok(vec![ToolAccess::Nothing]));
        let output = env.run(&TodoWriteTool, input).await.unwrap();
        assert_eq!(output.observation, "Plan updated: 1 of 2 done.");
        assert_eq!(output.summary, None);
        let todos = env.effects.todos();
        assert_eq!(todos[1].active_form, "Leaping");
        assert_eq!(todos[1].status, TodoStatus::InProgress);
    }

    #[tokio::test]
    async fn certain_meanings_are_taken_and_advice_is_given() {
        let env = ToolTestEnv::new();
        let todos = r#"[{"content": "a", "status": "in-progress"},
            {"content": "b", "status": "In Progress"}, {"content": "c"}]"#;
        let output = env.run(&TodoWriteTool, json!({"todos": todos})).await.unwrap();
        assert!(output.observation.ends_with("Keep only one step in_progress."));
        assert!(!output.status.is_error());
        let todos = env.effects.todos();
        assert_eq!((todos[0].active_form.as_str(), todos[2].status), ("a", TodoStatus::Pending));
    }

    #[tokio::test]
    async fn bad_input_tells_what_to_send() {
        let env = ToolTestEnv::new();
        let cases = [
            (json!({}), "TodoWrite: `todos` is missing."),
            (json!({"todos": 3}), "TodoWrite: `todos` must be an array."),
            (json!({"todos": [{"status": "pending"}]}), "TodoWrite: `content` is missing."),
            (json!({"todos": [{"content": " "}]}), "TodoWrite: `content` is empty."),
            (
                json!({"todos": [{"content": "a", "status": "maybe"}]}),
                "TodoWrite: `status` must be pending, in_progress or completed, not \"maybe\".",
            ),
            (
                json!({"todos": [{"content": "a"}, {"content": "b", "priority": "high"}]}),
                "TodoWrite: unknown argument `priority` in `todos`. Arguments: content, status, \
                 activeForm. Send for example {\"todos\": [",
            ),
            (
                json!({"todos": [{"content": "a", "title": "b"}]}),
                "TodoWrite: `content` and `title` are the same argument with two values; send \
                 `content` alone.",
            ),
            (json!({"todos": [3]}), "TodoWrite: what is in `todos` must be JSON objects."),
        ];
        for (input, expected) in cases {
            let error = env.run(&TodoWriteTool, input).await.unwrap_err();
            assert!(error.0.starts_with(expected), "{error}");
        }
        assert!(env.effects.todos().is_empty());
    }
}
