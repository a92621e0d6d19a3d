//! The plan: the steps of TodoWrite and the tasks as one list, on its page, in the panel and while a turn
//! runs.

use serde_json::json;

use crate::agent::AgentEvent;
use crate::domain::testing;
use crate::domain::{
    ContentBlock, TaskChange, TaskId, TaskItem, TodoItem, TodoStatus, ToolDisplay,
};
use crate::session::{LogEntry, TurnOutcome};
use crate::tui::test_screen::{
    TURN, TestScreen, assistant, call, done, record, recorded, result, screen, turn_end, user,
};

fn step(content: &str, status: TodoStatus) -> TodoItem {
    TodoItem { content: content.into(), status, active_form: format!("{content} now") }
}

fn task(id: u64, subject: &str, status: TodoStatus, blocked_by: &[u64]) -> TaskItem {
    TaskItem { subject: subject.into(), ..testing::task(id, status, blocked_by) }
}

fn changed(tasks: Vec<TaskItem>, removed: &[u64]) -> AgentEvent {
    let removed = removed.iter().copied().map(TaskId).collect();
    recorded(&record(LogEntry::Tasks(TaskChange { tasks, removed })))
}

/// A session with two steps and six tasks.
fn planned(width: u16, height: u16) -> TestScreen {
    let todos = vec![
        step("Read the design", TodoStatus::Completed),
        step("Agree on the format", TodoStatus::Pending),
    ];
    let long = "Port all rules of the old grammar, those for numbers with units and for dates in \
                other calendars among them, and keep the order in which they are tried";
    let port = TaskItem {
        active_form: Some("Porting the rules".into()),
        owner: Some("porter".into()),
        ..task(2, long, TodoStatus::InProgress, &[1])
    };
    let docs = TaskItem {
        owner: Some("writer".into()),
        ..task(4, "Write the docs", TodoStatus::Pending, &[2, 3])
    };
    let tasks = vec![
        task(1, "Write the lexer", TodoStatus::Completed, &[]),
        port,
        task(3, "Test the rules", TodoStatus::Pending, &[1, 2]),
        docs,
        task(5, "Measure", TodoStatus::Pending, &[2, 3, 4]),
        task(6, "Ask for a review", TodoStatus::Pending, &[]),
    ];
    screen(width, height)
        .event(recorded(&user("port the grammar")))
        .event(recorded(&record(LogEntry::Todo { todos })))
        .event(changed(tasks, &[]))
}

#[test]
fn the_page_at_80x24() {
    insta::assert_snapshot!(planned(80, 24).types("/todos").key("enter").readable_text());
}

#[test]
fn the_page_at_120x40() {
    insta::assert_snapshot!(planned(120, 40).types("/todos").key("enter").readable_text());
}

#[test]
fn the_panel_at_160x40() {
    let answer = assistant(vec![ContentBlock::Text { text: "Planned.".into() }]);
    let scene = planned(160, 40).event(recorded(&answer));
    insta::assert_snapshot!(
        scene.event(recorded(&turn_end(TurnOutcome::Answered))).readable_text()
    );
}

#[test]
fn a_change_shows_at_once_and_a_task_that_is_gone_blocks_no_other() {
    planned(120, 40)
        .types("/todos")
        .key("enter")
        .shows("· #3 Test the rules  after #2")
        .shows("· #4 Write the docs  after #2, #3 · by writer")
        .event(changed(vec![task(2, "Port the rules", TodoStatus::Completed, &[])], &[3]))
        .shows("✓ #2 Port the rules")
        .shows("· #4 Write the docs  by writer")
        .shows("· #5 Measure  after #4")
        .hides("#3");
}

#[test]
fn the_running_line_names_the_task_under_way() {
    let running = AgentEvent::TurnStarted { turn: TURN };
    let scene = planned(80, 24).event(running).shows("Porting the rules · waiting for the model");
    // A step that is under way comes first, as in the list.
    let todos = vec![step("Agree", TodoStatus::InProgress)];
    let scene = scene.event(recorded(&record(LogEntry::Todo { todos })));
    scene.shows("Agree now · waiting for the model");
}

#[test]
fn the_plan_stands_under_the_running_line_at_120x40() {
    let running = AgentEvent::TurnStarted { turn: TURN };
    insta::assert_snapshot!(planned(120, 40).event(running).readable_text());
}

#[test]
fn the_plan_is_seen_once_while_a_turn_runs_and_has_something_open() {
    let later = "· #3 Test the rules";
    let running = || AgentEvent::TurnStarted { turn: TURN };
    planned(120, 40).hides(later).event(running()).shows(later);
    planned(80, 24).event(running()).hides(later);
    planned(80, 30).event(running()).hides(later).shows("· Agree on the format").shows("… 5 more");
    let wide = planned(160, 40).event(running()).shows(later).readable_text();
    assert_eq!(wide.matches(later).count(), 1, "{wide}");
    let finished = |id| task(id, "Done", TodoStatus::Completed, &[]);
    planned(120, 40)
        .event(running())
        .event(recorded(&record(LogEntry::Todo { todos: Vec::new() })))
        .event(changed((1..=6).map(finished).collect(), &[]))
        .hides("Done");
}

#[test]
fn a_new_plan_of_steps_leaves_the_tasks_and_an_opened_session_has_its_own() {
    let todos = vec![step("Start over", TodoStatus::Pending)];
    let scene = planned(120, 40).event(recorded(&record(LogEntry::Todo { todos })));
    let scene = scene.types("/todos").key("enter").shows("· Start over").shows("#6 Ask for");
    let tasks = vec![task(1, "Another", TodoStatus::Pending, &[])];
    let state = AgentEvent::SessionState { title: None, todos: Vec::new(), tasks };
    scene.event(state).shows("· #1 Another").hides("Start over").hides("#6");
}

#[test]
fn calls_about_a_task_are_short_panes() {
    let create = call("c1", "TaskCreate", json!({"subject": "Write the lexer"}));
    let update = call("c2", "TaskUpdate", json!({"id": 1, "status": "completed"}));
    let info = |name: &str, summary: &str| crate::session::ToolResultInfo {
        summary: Some(summary.into()),
        ..done(name, 9)
    };
    screen(80, 24)
        .event(recorded(&assistant(vec![
            ContentBlock::ToolUse(create),
            ContentBlock::ToolUse(update),
        ])))
        .event(recorded(&result("c1", "Task #1 created.", info("TaskCreate", "#1"))))
        .event(recorded(&result("c2", "Task #1 is completed.", info("TaskUpdate", "1 of 1 done"))))
        .shows("TaskCreate Write the lexer")
        .shows("TaskUpdate #1 completed")
        .shows("1 of 1 done");
}

#[test]
fn what_tasks_and_owners_are_called_reaches_the_terminal_harmless() {
    let odd = TaskItem {
        owner: Some("\u{1b}]0;x\u{7}".into()),
        ..task(1, "a\u{1b}[2Jb", TodoStatus::Pending, &[2])
    };
    let circle = task(2, "round", TodoStatus::Pending, &[1, 2, 77]);
    let scene = screen(120, 40).event(recorded(&user("go"))).event(changed(vec![odd, circle], &[]));
    scene
        .types("/todos")
        .key("enter")
        .shows("#1 a␛[2Jb  after #2 · by ␛]0;x␇")
        .shows("· #2 round  after #1, #2");
}

#[test]
fn an_approved_plan_is_read_as_markdown_and_wrapped_between_words() {
    let text = "## Steps\n\n1. Move the prices into a table of their own, so that whoever changes one finds it.";
    let asked = call("c1", "ExitPlanMode", json!({"plan": text}));
    let info = crate::session::ToolResultInfo {
        display: Some(ToolDisplay::Terminal { text: text.into() }),
        ..done("ExitPlanMode", 9)
    };
    screen(60, 24)
        .event(recorded(&assistant(vec![ContentBlock::ToolUse(asked)])))
        .event(recorded(&result("c1", "The user agrees to the plan.", info)))
        .shows("1. Move the prices into a table of their own, so")
        .hides("## Steps");
}
