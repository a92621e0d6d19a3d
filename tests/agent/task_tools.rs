//! Tasks from the calls of a model to the log, the front end and the notes for the model.

use serde_json::{Value, json};
use slug_code::agent::{
    AgentCommand, AgentEvent, ForkPosition, InitialSession, Interactivity, RewindDestination,
};
use slug_code::domain::{ContentBlock, Message, PermissionMode, TaskId, TodoStatus, ToolStatus};
use slug_code::providers::ProviderRequest;
use slug_code::session::{LogEntry, RewindScope, TurnOutcome};

use super::compaction::{compactions, step_by_step, with_files};
use super::fakes::{ScriptedStream, calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};
use super::windowed_model::WindowedModel;

fn inside(id: &'static str, tool: &str, input: &Value) -> (&'static str, &'static str, Value) {
    (id, "Call", json!({"tool": tool, "input": input}))
}

/// Two tasks, the second of which waits for the first, in one response.
fn two_tasks() -> ScriptedStream {
    calls(&[
        inside("t1", "TaskCreate", &json!({"subject": "Mend it"})),
        inside("t2", "TaskCreate", &json!({"subject": "Test it", "blocked_by": [1]})),
        inside("t3", "TaskList", &json!({})),
        inside("t4", "TaskUpdate", &json!({"id": 1, "status": "in_progress"})),
        inside("t5", "TaskList", &json!({})),
    ])
}

async fn with_two_tasks(fixture: &AgentFixture) -> TestAgent {
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(fixture, [two_tasks(), words("planned")]);
    assert_eq!(agent.turn("plan it").await, TurnOutcome::Answered);
    agent
}

/// The note on the plan in the last message to the model.
fn told(fixture: &AgentFixture) -> Option<String> {
    let message = fixture.model.last_request().messages.pop().unwrap();
    message.content.into_iter().find_map(|block| match block {
        ContentBlock::Context { name, text } if name == "todo" => Some(text),
        _ => None,
    })
}

fn statuses(agent: &TestAgent) -> Vec<(u64, TodoStatus)> {
    let tasks = agent.conversation().plan.tasks;
    tasks.iter().map(|task| (task.id.0, task.status)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_response_change_the_tasks_in_their_order_and_ask_nobody() {
    for mode in [PermissionMode::Ask, PermissionMode::Plan, PermissionMode::Yolo] {
        let fixture =
            AgentFixture { interactivity: Interactivity::Headless, ..AgentFixture::in_mode(mode) };
        let agent = with_two_tasks(&fixture).await;
        let result = |id: &str| agent.result(id).0;
        assert_eq!(result("t1"), "Task #1 created.");
        assert_eq!(result("t2"), "Task #2 created. It waits for #1.");
        assert_eq!(result("t3"), "[ ] #1 Mend it\n[ ] #2 Test it (after #1)");
        assert_eq!(result("t5"), "[>] #1 Mend it\n[ ] #2 Test it (after #1)", "{mode}");
        let changes = agent.records().into_iter().filter_map(|record| match record.entry {
            LogEntry::Tasks(change) => Some(change.tasks[0].id.0),
            _ => None,
        });
        assert_eq!(changes.collect::<Vec<_>>(), [1, 2, 1], "each change is one line of the log");
        assert_eq!(agent.approval_count(), 0);
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_task_twice_in_one_response_is_one_task() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let create = |id| inside(id, "TaskCreate", &json!({"subject": "Mend it"}));
    queue_replies(&fixture, [calls(&[create("c1"), create("c2"), create("c3")]), words("ok")]);
    agent.turn("go").await;
    assert_eq!(statuses(&agent), [(1, TodoStatus::Pending)]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_told_the_model_and_survive_a_resume() {
    let fixture = AgentFixture::new();
    let mut agent = with_two_tasks(&fixture).await;
    let tools = fixture.model.last_request().tools;
    queue_replies(&fixture, [words("two"), words("three")]);
    agent.turn("go on").await;
    assert_eq!(told(&fixture).as_deref(), Some("[>] #1 Mend it\n[ ] #2 Test it (after #1)"));
    agent.turn("and on").await;
    assert_eq!(told(&fixture), None, "it has not changed");
    let session = agent.id();
    agent.close().await;

    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    let restored = |event: &AgentEvent| matches!(event, AgentEvent::SessionState { tasks, .. } if tasks.len() == 2);
    agent.wait_for("tasks", restored).await;
    let done = inside("d1", "TaskUpdate", &json!({"id": 1, "status": "completed"}));
    let next = inside("d2", "TaskCreate", &json!({"subject": "Ship it", "blocked_by": [2]}));
    queue_replies(&fixture, [calls(&[done, next]), words("ok"), words("ok")]);
    agent.turn("done").await;
    assert_eq!(agent.result("d1").0, "Task #1 is completed. No longer blocked: #2.");
    assert_eq!(agent.result("d2").0, "Task #3 created. It waits for #2.");
    agent.turn("next").await;
    let text = "[ ] #2 Test it\n[ ] #3 Ship it (after #2)\n1 task completed";
    assert_eq!(told(&fixture).as_deref(), Some(text));
    assert_eq!(fixture.model.last_request().tools, tools, "the tools array stays");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_has_the_tasks_up_to_its_place() {
    let fixture = AgentFixture::new();
    let mut agent = with_two_tasks(&fixture).await;
    let session = agent.id();
    let change = calls(&[inside("d1", "TaskUpdate", &json!({"id": 1, "status": "completed"}))]);
    queue_replies(&fixture, [change, words("done")]);
    agent.turn("do it").await;
    let before = agent.records().into_iter().find(|record| {
        record.entry.as_message().is_some_and(|message| message.message().text() == "do it")
    });
    let at = ForkPosition::Before(before.unwrap().id);
    agent.tell(AgentCommand::Fork { session, at }).await;
    agent.wait_for("fork", |event| matches!(event, AgentEvent::Forked { .. })).await;
    let open = [(1, TodoStatus::InProgress), (2, TodoStatus::Pending)];
    assert_eq!(statuses(&agent), open);
    let change = calls(&[inside("d2", "TaskUpdate", &json!({"id": 2, "status": "deleted"}))]);
    queue_replies(&fixture, [change, words("deleted")]);
    agent.turn("otherwise").await;
    assert_eq!(statuses(&agent), open[..1]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewind_takes_changes_of_tasks_back_and_redo_returns_them() {
    let fixture = AgentFixture::new();
    let mut agent = with_two_tasks(&fixture).await;
    let change = calls(&[
        inside("d1", "TaskUpdate", &json!({"id": 1, "status": "completed"})),
        inside("d2", "TaskUpdate", &json!({"id": 2, "status": "deleted"})),
    ]);
    queue_replies(&fixture, [change, words("done")]);
    agent.turn("do it").await;
    let after = [(1, TodoStatus::Completed)];
    assert_eq!(statuses(&agent), after);
    let open = [(1, TodoStatus::InProgress), (2, TodoStatus::Pending)];
    for (to, what) in [
        (RewindDestination::Last, open.as_slice()),
        (RewindDestination::Redo, after.as_slice()),
        (RewindDestination::Last, open.as_slice()),
    ] {
        agent.tell(AgentCommand::PlanRewind(to)).await;
        let planned =
            agent.wait_for("plan", |event| matches!(event, AgentEvent::RewindPlanned(_))).await;
        let AgentEvent::RewindPlanned(Ok(plan)) = planned else { panic!("{planned:?}") };
        agent.tell(AgentCommand::Rewind { plan, what: RewindScope::Both }).await;
        agent.wait_for("return", |event| matches!(event, AgentEvent::Rewound { .. })).await;
        assert_eq!(statuses(&agent), what);
        let told = agent.events.iter().rev().find_map(|event| match event {
            AgentEvent::SessionState { tasks, .. } => Some(tasks.len()),
            _ => None,
        });
        assert_eq!(told, Some(what.len()), "the front end is told");
    }
    // What the tools see, too.
    let list = calls(&[inside("e1", "TaskGet", &json!({"id": 2}))]);
    queue_replies(&fixture, [list, words("ok")]);
    agent.turn("look").await;
    assert!(agent.result("e1").0.starts_with("#2 Test it\nstatus: pending\nblocked by: #1"));
    agent.close().await;
}

/// Makes the two tasks, and then reads a file for each step.
fn plan_first(request: &ProviderRequest) -> ScriptedStream {
    match request.messages.last() {
        Some(message) if message.text() == "plan it" => two_tasks(),
        _ => step_by_step(request),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_keeps_the_tasks() {
    let model = WindowedModel::new(64_000, plan_first);
    let fixture = with_files(&model);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("plan it").await;
    for number in 1..10 {
        agent.turn(&format!("Step {number}: go on.")).await;
    }
    agent.tell(AgentCommand::Compact { focus: None }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(compactions(&agent).len(), 1);
    agent.turn("Step 11: go on.").await;
    let sent = model.requests().pop().unwrap().messages;
    let calls: Vec<&str> = sent.iter().flat_map(Message::calls).map(|it| it.id.as_str()).collect();
    assert!(!calls.contains(&"t1"), "the calls that made the tasks are no longer sent: {calls:?}");
    let notes = sent.iter().flat_map(|message| &message.content);
    let plans: Vec<&str> = notes
        .filter_map(ContentBlock::as_context)
        .filter_map(|(name, text)| (name == "todo").then_some(text))
        .collect();
    assert_eq!(plans, ["[>] #1 Mend it\n[ ] #2 Test it (after #1)"]);
    assert_eq!(statuses(&agent).len(), 2);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_call_is_told_what_to_send_and_leaves_no_line_in_the_log() {
    let fixture = AgentFixture::new();
    let mut agent = with_two_tasks(&fixture).await;
    let lines = agent.records().iter().filter(|it| matches!(it.entry, LogEntry::Tasks(_))).count();
    queue_replies(
        &fixture,
        [
            calls(&[
                inside("d1", "TaskUpdate", &json!({"id": 1, "blocked_by": [2]})),
                ("d2", "task_update", json!({"id": 9, "owner": "x"})),
            ]),
            words("ok"),
        ],
    );
    agent.turn("go").await;
    let (text, status) = agent.result("d1");
    assert_eq!(status, ToolStatus::Failed);
    assert_eq!(text, "TaskUpdate: that would be a circle: #1 waits for #2, #2 waits for #1.");
    assert_eq!(agent.result("d2").0, "TaskUpdate: there is no task #9; the tasks are #1, #2.");
    let after = agent.records().iter().filter(|it| matches!(it.entry, LogEntry::Tasks(_))).count();
    assert_eq!(after, lines);
    assert!(agent.conversation().plan.tasks.get(TaskId(1)).unwrap().blocked_by.is_empty());
    agent.close().await;
}
