//! Tests of the tools for tasks, those that only look among them.

use super::*;
use crate::domain::testing;
use crate::tools::task_read::{TaskGetTool, TaskListTool};
use crate::tools::testing::ToolTestEnv;

/// A session with tasks of these subjects.
async fn with_tasks(subjects: &[&str]) -> ToolTestEnv {
    let env = ToolTestEnv::new();
    for subject in subjects {
        env.run(&TaskCreateTool, json!({"subject": subject})).await.unwrap();
    }
    env
}

async fn told(env: &ToolTestEnv, tool: &dyn Tool, input: Value) -> String {
    match env.run(tool, input).await {
        Ok(output) => output.observation,
        Err(error) => error.0,
    }
}

async fn list(env: &ToolTestEnv) -> String {
    told(env, &TaskListTool, json!({})).await
}

#[tokio::test]
async fn tasks_have_numbers_owners_dependencies_and_a_status() {
    let env = with_tasks(&["Write the parser", "Test the parser"]).await;
    let create = json!({
        "subject": "Write the docs",
        "description": "All pages.\nWith examples.",
        "owner": "writer",
        "blocked_by": [1, "#2"],
    });
    let output = env.run(&TaskCreateTool, create).await.unwrap();
    assert_eq!(output.observation, "Task #3 created. It waits for #1, #2.");
    assert_eq!(output.summary.as_deref(), Some("#3"));
    assert_eq!(output.output["blocked_by"], json!([1, 2]));
    for (update, result) in [
        (json!({"id": 2, "blocked_by": "1"}), "Task #2 is pending. It waits for #1."),
        (json!({"id": 1, "status": "in-progress"}), "Task #1 is in progress."),
        (
            json!({"id": 3, "status": "in_progress"}),
            "Task #3 is in progress, though it waits for #1, #2. Do these first.",
        ),
        (json!({"id": 3, "status": "pending"}), "Task #3 is pending. It waits for #1, #2."),
        (json!({"id": 1, "status": "done"}), "Task #1 is completed. No longer blocked: #2."),
    ] {
        assert_eq!(told(&env, &TaskUpdateTool, update).await, result);
    }
    let rows = "[ ] #2 Test the parser\n[ ] #3 Write the docs (by writer; after #2)\n\
                [x] #1 Write the parser";
    let output = env.run(&TaskListTool, json!({})).await.unwrap();
    assert_eq!(output.observation, rows);
    assert_eq!(output.summary.as_deref(), Some("1 of 3 done"));
    assert_eq!(output.output[0]["blocks"], json!([2, 3]));
    let in_full = "#3 Write the docs\nstatus: pending\nowner: writer\nblocked by: #1, #2\n\
                   of these open: #2\n\nAll pages.\nWith examples.";
    assert_eq!(told(&env, &TaskGetTool, json!({"taskId": "3"})).await, in_full);
}

#[tokio::test]
async fn an_update_changes_what_it_names_and_nothing_else() {
    let env = with_tasks(&["a", "b", "c"]).await;
    let all = json!({
        "id": 2, "subject": " B \n b ", "description": "why", "activeForm": "doing B",
        "owner": "tester", "blocked_by": [1], "blocks": [3], "status": "in_progress",
    });
    told(&env, &TaskUpdateTool, all).await;
    let task = env.context.tasks.list().get(TaskId(2)).unwrap().clone();
    assert_eq!((task.subject.as_str(), task.description.as_str()), ("B b", "why"));
    assert_eq!(task.active_form.as_deref(), Some("doing B"));
    // What is empty does not count.
    let nothing = json!({
        "id": 2, "subject": "", "description": " ", "owner": "", "blocked_by": [], "status": null,
        "blocks": [1, 3],
    });
    let circle = told(&env, &TaskUpdateTool, nothing).await;
    assert_eq!(circle, "TaskUpdate: that would be a circle: #2 waits for #1, #1 waits for #2.");
    assert_eq!(env.context.tasks.list().get(TaskId(2)), Some(&task));
    told(&env, &TaskUpdateTool, json!({"id": 2, "owner": "Nobody", "unblock": [1]})).await;
    let list = env.context.tasks.list();
    let after = list.get(TaskId(2)).unwrap();
    assert_eq!(after, &TaskItem { owner: None, blocked_by: Default::default(), ..task });
    assert_eq!(list.waiting_for(TaskId(2)), [TaskId(3)]);
}

#[tokio::test]
async fn a_deleted_task_is_gone_and_frees_those_that_wait_for_it() {
    let env = with_tasks(&["a", "b"]).await;
    told(&env, &TaskUpdateTool, json!({"id": 2, "blocked_by": [1]})).await;
    let deleted = told(&env, &TaskUpdateTool, json!({"id": 1, "status": "deleted"})).await;
    assert_eq!(deleted, "Task #1 deleted. No longer blocked: #2.");
    assert_eq!(
        told(&env, &TaskGetTool, json!({"id": 1})).await,
        "TaskGet: there is no task #1; the tasks are #2."
    );
    told(&env, &TaskUpdateTool, json!({"id": 2, "status": "deleted"})).await;
    assert_eq!(list(&env).await, "There are no tasks.");
    let missing = told(&env, &TaskUpdateTool, json!({"id": 2, "status": "pending"})).await;
    assert_eq!(missing, "TaskUpdate: there is no task #2, nor any other.");
    let next = told(&env, &TaskCreateTool, json!({"subject": "c"})).await;
    assert_eq!(next, "Task #3 created.", "a number is not given twice");
}

#[tokio::test]
async fn what_cannot_be_is_a_plain_error_and_changes_nothing() {
    let env = with_tasks(&["a", "b", "c"]).await;
    told(&env, &TaskUpdateTool, json!({"id": 2, "blocked_by": [1]})).await;
    told(&env, &TaskUpdateTool, json!({"id": 3, "blocked_by": [2]})).await;
    let before = env.context.tasks.list();
    let long = |count: usize| "x".repeat(count);
    for (input, expected) in [
        (json!({"id": 1, "blocked_by": [1]}), "TaskUpdate: task #1 cannot wait for itself."),
        (json!({"id": 1, "blocks": [1]}), "TaskUpdate: task #1 cannot wait for itself."),
        (
            json!({"id": 1, "addBlockedBy": [3]}),
            "TaskUpdate: that would be a circle: #1 waits for #3, #3 waits for #2, #2 waits for #1.",
        ),
        (
            json!({"id": 3, "blocks": [1]}),
            "TaskUpdate: that would be a circle: #3 waits for #2, #2 waits for #1, #1 waits for #3.",
        ),
        (
            json!({"id": 2, "blocked_by": [7]}),
            "TaskUpdate: there is no task #7; the tasks are #1, #2, #3.",
        ),
        (
            json!({"id": 2, "unblock": [1], "blocked_by": [1]}),
            "TaskUpdate: `blocked_by` and `unblock` both name #1.",
        ),
        (
            json!({"id": 9, "status": "deleted"}),
            "TaskUpdate: there is no task #9; the tasks are #1, #2, #3.",
        ),
        (json!({"status": "deleted"}), "TaskUpdate: `id` is missing. Send for example {"),
        (json!({"id": 1}), "TaskUpdate: nothing in the call would change the task."),
        (
            json!({"id": 1, "status": "deleted", "owner": "x"}),
            "TaskUpdate: a task cannot be deleted and changed in the same call.",
        ),
        (json!({"id": "one", "owner": "x"}), "TaskUpdate: `id` must be the number of a task, not"),
        (json!({"id": -1, "owner": "x"}), "TaskUpdate: `id` must be the number of a task, not -1"),
        (json!({"id": 1.5, "owner": "x"}), "TaskUpdate: `id` must be the number of a task, not"),
        (
            json!({"id": 1, "status": "blocked"}),
            "TaskUpdate: `status` must be pending, in_progress, completed or deleted, not \
             \"blocked\".",
        ),
        (
            json!({"id": 1, "blocked_by": {"a": 1}}),
            "TaskUpdate: `blocked_by` must be a list of the numbers of tasks, not {\"a\":1}.",
        ),
        (
            json!({"id": 1, "blocked_by": [1, null]}),
            "TaskUpdate: `blocked_by` must be a list of the numbers of tasks, not [1,null].",
        ),
        (
            json!({"id": 1, "metadata": {}}),
            "TaskUpdate: unknown argument `metadata`. Arguments: id, status, subject,",
        ),
        (
            json!({"id": 1, "subject": long(201)}),
            "TaskUpdate: `subject` has 201 characters, but at most 200 fit.",
        ),
        (
            json!({"id": 1, "description": long(4001)}),
            "TaskUpdate: `description` has 4001 characters, but at most 4000 fit.",
        ),
        (
            json!({"id": 1, "owner": long(61)}),
            "TaskUpdate: `owner` has 61 characters, but at most 60 fit.",
        ),
        (json!({"id": 1, "owner": ["x"]}), "TaskUpdate: `owner` must be a string, not [\"x\"]."),
    ] {
        let error = env.run(&TaskUpdateTool, input).await.unwrap_err().0;
        assert!(error.starts_with(expected), "{error}");
    }
    for (input, expected) in [
        (json!({}), "TaskCreate: `subject` is missing or empty. Send for example {"),
        (json!({"subject": " \n"}), "TaskCreate: `subject` is missing or empty."),
        (json!({"subject": "d", "blocked_by": [4]}), "TaskCreate: task #4 cannot wait for itself."),
        (
            json!({"subject": "d", "blocked_by": [1], "blocks": [1]}),
            "TaskCreate: that would be a circle: #4 waits for #1, #1 waits for #4.",
        ),
        (json!({"subject": "d", "status": "done"}), "TaskCreate: unknown argument `status`"),
    ] {
        let error = env.run(&TaskCreateTool, input).await.unwrap_err().0;
        assert!(error.starts_with(expected), "{error}");
    }
    assert_eq!(env.context.tasks.list(), before);
}

#[tokio::test]
async fn the_number_of_tasks_and_the_size_of_a_list_are_bounded() {
    let env = ToolTestEnv::new();
    let subject = "wörd ".repeat(40);
    for _ in 0..200 {
        env.run(&TaskCreateTool, json!({"subject": subject.trim()})).await.unwrap();
    }
    let full = told(&env, &TaskCreateTool, json!({"subject": "one more"})).await;
    assert!(full.starts_with("TaskCreate: there are 200 tasks, and no more fit."), "{full}");
    let rows = list(&env).await;
    assert!(rows.len() < 25_000, "{}", rows.len());
    let left = 200 - (rows.lines().count() - 1);
    assert!(rows.ends_with(&format!("… and {left} more tasks.")), "{rows}");
    told(&env, &TaskUpdateTool, json!({"id": 7, "status": "deleted"})).await;
    let one = told(&env, &TaskCreateTool, json!({"subject": "one more"})).await;
    assert_eq!(one, "Task #201 created.");
    let numbers: Vec<u64> = (1..=200).filter(|id| *id != 7).collect();
    let all = told(&env, &TaskUpdateTool, json!({"id": 201, "blocked_by": numbers})).await;
    assert!(all.starts_with("Task #201 is pending. It waits for #1, #2,"), "{all}");
    let circle = told(&env, &TaskUpdateTool, json!({"id": 201, "blocks": [200]})).await;
    assert!(circle.ends_with("a circle: #201 waits for #200, #200 waits for #201."), "{circle}");
}

/// The arguments do not come in this way from a model, but from a log that slug did not write.
#[tokio::test]
async fn a_foreign_list_is_shown_and_can_be_put_right() {
    let env = ToolTestEnv::new();
    let task = |id: u64, blocked_by: u64| TaskItem {
        subject: "\u{1b}[2J".into(),
        ..testing::task(id, TodoStatus::Pending, &[blocked_by])
    };
    let change =
        TaskChange { tasks: vec![task(1, 2), task(2, 1), task(u64::MAX, 5)], removed: Vec::new() };
    env.context.tasks.change(change).await.unwrap();
    assert!(list(&env).await.contains("#1 \u{1b}[2J (after #2)"));
    let full = told(&env, &TaskCreateTool, json!({"subject": "x"})).await;
    assert_eq!(full, "TaskCreate: there are no more numbers for tasks.");
    let other = told(&env, &TaskUpdateTool, json!({"id": 1, "owner": "x"})).await;
    assert!(other.contains("a circle: #1 waits for #2, #2 waits for #1"), "{other}");
    let mended = told(&env, &TaskUpdateTool, json!({"id": 1, "unblock": [2]})).await;
    assert_eq!(mended, "Task #1 is pending.");
}

#[test]
fn a_call_is_named_by_its_task() {
    let cwd = Path::new("/w");
    for (tool, input, title) in [
        (&TaskCreateTool as &dyn Tool, json!({"title": "Test it"}), "Test it"),
        (&TaskUpdateTool, json!({"task_id": "2", "status": "completed"}), "#2 completed"),
        (&TaskUpdateTool, json!({"id": [], "subject": "New"}), "New"),
        (&TaskGetTool, json!({"id": 3}), "#3"),
        (&TaskListTool, json!({}), ""),
    ] {
        assert_eq!(tool.call_title(&tool.canonical_input(input), cwd), title);
        let place = WorkingDirectory { cwd: cwd.to_owned(), home: None };
        let access = tool.access(&json!({"subject": "a", "id": 1, "owner": "b"}), &place);
        assert!(access.is_err() || access == Ok(vec![ToolAccess::Nothing]));
    }
}

/// No change is told that is in no log.
#[tokio::test]
async fn a_change_that_cannot_be_kept_is_a_failure() {
    struct FullDisk;
    #[async_trait]
    impl crate::tools::SessionTasks for FullDisk {
        fn list(&self) -> TaskList {
            TaskList::default()
        }
        async fn change(&self, _: TaskChange) -> Result<(), ToolError> {
            Err(ToolError("not kept".into()))
        }
    }
    let mut env = ToolTestEnv::new();
    env.context.tasks = std::sync::Arc::new(FullDisk);
    let output = env.run(&TaskCreateTool, json!({"subject": "a"})).await;
    assert_eq!(output.unwrap_err().0, "not kept");
}
