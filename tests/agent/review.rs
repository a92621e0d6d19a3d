//! Reviewing what a turn changed, with files on disk: rejecting changes, what the model is told, and
//! bringing them back.

use std::sync::Arc;

use serde_json::json;
use slug_code::agent::{
    AgentCommand, AgentEvent, InitialSession, ReviewPlan, ReviewScope, RewindDestination,
    RewindError,
};
use slug_code::domain::{ApprovalAnswer, CallId, ContentBlock, PermissionMode, TurnId};
use slug_code::session::undo::{FileRejection, ReviewedChange};
use slug_code::session::{LogEntry, RewindScope};

use super::fakes::{ScriptedEvent, calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

const OLD: &str = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
const NEW: &str = "A\nb\nc\nd\nE\nf\ng\nh\ni\nJ\n";

async fn review(agent: &mut TestAgent, scope: ReviewScope) -> Result<Arc<ReviewPlan>, RewindError> {
    agent.tell(AgentCommand::PlanReview(scope)).await;
    match agent.wait_for("review", |it| matches!(it, AgentEvent::ReviewPlanned(_))).await {
        AgentEvent::ReviewPlanned(plan) => plan,
        _ => unreachable!(),
    }
}

fn rejection(plan: &ReviewPlan, of: &[(&str, &[usize])]) -> Vec<FileRejection> {
    let file = |name: &str| {
        let mut files = plan.changes.files.iter();
        files.find(|file| file.path.ends_with(name)).expect("it was changed").path.clone()
    };
    let one = |(name, changes): &(&str, &[usize])| FileRejection {
        path: file(name),
        changes: changes.iter().copied().collect(),
    };
    of.iter().map(one).collect()
}

async fn reject(agent: &mut TestAgent, plan: &Arc<ReviewPlan>, of: &[(&str, &[usize])]) -> String {
    let rejected = rejection(plan, of);
    agent.tell(AgentCommand::Reject { plan: plan.clone(), rejected }).await;
    match agent.wait_for("rejection", |it| matches!(it, AgentEvent::Rewound { .. })).await {
        AgentEvent::Rewound { told, .. } => told,
        _ => unreachable!(),
    }
}

async fn redo(agent: &mut TestAgent) {
    agent.tell(AgentCommand::PlanRewind(RewindDestination::Redo)).await;
    let planned = agent.wait_for("plan", |it| matches!(it, AgentEvent::RewindPlanned(_))).await;
    let AgentEvent::RewindPlanned(Ok(plan)) = planned else { panic!("{planned:?}") };
    agent.tell(AgentCommand::Rewind { plan, what: RewindScope::Files }).await;
    agent.wait_for("redo", |it| matches!(it, AgentEvent::Rewound { .. })).await;
}

fn edit(id: &'static str, old: &str, new: &str) -> (&'static str, &'static str, serde_json::Value) {
    (id, "Edit", json!({"file_path": "list", "old_string": old, "new_string": new}))
}

/// A session in which the first turn changes three lines of a file by three calls and lets a command
/// make another one.
async fn reviewed(fixture: &AgentFixture) -> TestAgent {
    fixture.put("list", OLD);
    queue_replies(
        fixture,
        [
            calls(&[
                edit("c1", "a\n", "A\n"),
                edit("c2", "e\n", "E\n"),
                edit("c3", "j\n", "J\n"),
                ("c4", "Bash", json!({"command": "write b made"})),
            ]),
            words("Done."),
        ],
    );
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("change it").await;
    assert_eq!(fixture.read("list"), NEW);
    agent
}

fn told(fixture: &AgentFixture) -> Option<String> {
    let message = fixture.model.last_request().messages.pop().unwrap();
    message.content.into_iter().find_map(|block| match block {
        ContentBlock::Context { name, text } if name == "rewind" => Some(text),
        _ => None,
    })
}

#[tokio::test]
async fn rejected_changes_leave_the_files_the_model_is_told_and_a_redo_restores_them() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = reviewed(&fixture).await;
    let plan = review(&mut agent, ReviewScope::LastTurn).await.unwrap();
    assert_eq!((plan.scope, plan.title.as_str()), (ReviewScope::Turn(TurnId(1)), "change it"));
    let counts: Vec<usize> = plan.changes.files.iter().map(|file| file.changes().len()).collect();
    assert_eq!(counts, [3, 1]);

    let done = reject(&mut agent, &plan, &[("list", &[1]), ("b", &[0])]).await;
    assert_eq!(done, "Rejected 2 changes in 2 files");
    assert_eq!(fixture.read("list"), NEW.replace('E', "e"));
    assert!(!fixture.work.join("b").exists(), "a command made it");
    let left = review(&mut agent, ReviewScope::LastTurn).await.unwrap();
    let counts: Vec<usize> = left.changes.files.iter().map(|file| file.changes().len()).collect();
    assert_eq!(counts, [2], "what was rejected is not shown again");

    // As after a restart: all is in the log.
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    redo(&mut agent).await;
    assert_eq!(fixture.read("list"), NEW);
    assert_eq!(fixture.read("b"), "made");

    let plan = review(&mut agent, ReviewScope::Session).await.unwrap();
    reject(&mut agent, &plan, &[("list", &[0, 2])]).await;
    queue_replies(&fixture, [words("I see.")]);
    agent.turn("go on").await;
    let note = told(&fixture).expect("the model is told");
    assert!(note.contains("rejected these") && note.contains("list: 2 of 3 changes"), "{note}");
    assert!(note.contains("-a\n+A\n") && note.contains("-j\n+J") && !note.contains("+E"), "{note}");
    queue_replies(&fixture, [words("Yes.")]);
    agent.turn("and now?").await;
    assert_eq!(told(&fixture), None, "once");
    agent.close().await;
}

#[tokio::test]
async fn an_undo_of_the_turn_after_a_rejection_goes_back_to_its_start() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = reviewed(&fixture).await;
    let plan = review(&mut agent, ReviewScope::LastTurn).await.unwrap();
    reject(&mut agent, &plan, &[("list", &[1])]).await;
    agent.tell(AgentCommand::PlanRewind(RewindDestination::Last)).await;
    let planned = agent.wait_for("plan", |it| matches!(it, AgentEvent::RewindPlanned(_))).await;
    let AgentEvent::RewindPlanned(Ok(plan)) = planned else { panic!("{planned:?}") };
    agent.tell(AgentCommand::Rewind { plan, what: RewindScope::Both }).await;
    agent.wait_for("undo", |it| matches!(it, AgentEvent::Rewound { .. })).await;
    assert_eq!(fixture.read("list"), OLD);
    agent.close().await;
}

#[tokio::test]
async fn the_users_lines_stay_and_a_conflict_is_named() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = reviewed(&fixture).await;
    let shown = review(&mut agent, ReviewScope::LastTurn).await.unwrap();
    fixture.put("list", &NEW.replace('E', "mine").replace("h\n", "h\nmine too\n"));
    // What changed since it was shown is shown anew, and nothing is done.
    let rejected = rejection(&shown, &[("list", &[0])]);
    agent.tell(AgentCommand::Reject { plan: shown, rejected }).await;
    let again = agent.wait_for("review", |it| matches!(it, AgentEvent::ReviewPlanned(_))).await;
    let AgentEvent::ReviewPlanned(Ok(plan)) = again else { panic!("{again:?}") };
    let changes = plan.changes.files[0].changes();
    assert!(matches!(changes[1], ReviewedChange::Conflict(_)), "{changes:?}");
    assert_eq!(changes[0], ReviewedChange::Present);
    reject(&mut agent, &plan, &[("list", &[0, 2])]).await;
    let expected = OLD.replace("e\n", "mine\n").replace("h\n", "h\nmine too\n");
    assert_eq!(fixture.read("list"), expected);
    agent.close().await;
}

#[tokio::test]
async fn while_a_turn_runs_a_review_is_planned_and_not_applied() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = reviewed(&fixture).await;
    queue_replies(&fixture, [vec![ScriptedEvent::Hang]]);
    agent.send("go on").await;
    agent.wait_for("request", |it| matches!(it, AgentEvent::RequestSent { .. })).await;
    let plan = review(&mut agent, ReviewScope::LastTurn).await.unwrap();
    let rejected = rejection(&plan, &[("list", &[0])]);
    agent.tell(AgentCommand::Reject { plan, rejected }).await;
    agent.wait_for("refusal", |it| matches!(it, AgentEvent::CommandRefused(_))).await;
    agent.stop().await;
    assert_eq!(fixture.read("list"), NEW);
    let is_rewind = |entry: &LogEntry| matches!(entry, LogEntry::Rewind(_));
    assert!(!agent.records().iter().any(|record| is_rewind(&record.entry)));
    agent.close().await;
}

async fn undo_call(agent: &mut TestAgent, call: &str) -> AgentEvent {
    agent.tell(AgentCommand::UndoCall { call: CallId::new(call) }).await;
    let is_told =
        |it: &AgentEvent| matches!(it, AgentEvent::Rewound { .. } | AgentEvent::Notice { .. });
    agent.wait_for("undo", is_told).await
}

#[tokio::test]
async fn one_call_is_undone_alone_the_model_is_told_and_a_redo_restores_it() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = reviewed(&fixture).await;
    let done = undo_call(&mut agent, "c2").await;
    let AgentEvent::Rewound { told: done, .. } = done else { panic!("{done:?}") };
    assert_eq!(done, "Undone: 1 change in list");
    assert_eq!(fixture.read("list"), NEW.replace('E', "e"));

    let again = undo_call(&mut agent, "c2").await;
    let AgentEvent::Notice { text, .. } = again else { panic!("{again:?}") };
    assert_eq!(text, "Nothing of this call is left in the files.");

    redo(&mut agent).await;
    assert_eq!(fixture.read("list"), NEW);
    undo_call(&mut agent, "c4").await;
    assert!(!fixture.work.join("b").exists(), "a command's file goes, too");

    queue_replies(&fixture, [words("Fine.")]);
    agent.turn("and now?").await;
    let note = told(&fixture).expect("the model is told");
    assert!(note.starts_with("The user undid one of your calls"), "{note}");
    assert!(note.contains("b: all changes"), "{note}");
    agent.close().await;
}

/// The key is no answer about a certain file, wherever the log comes from.
#[tokio::test]
async fn a_call_that_changed_a_protected_file_is_not_undone_by_a_key() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = fixture.open(InitialSession::New).await;
    let write = ("c1", "Write", json!({"file_path": ".envrc", "content": "x\n"}));
    queue_replies(&fixture, [calls(&[write]), words("Done.")]);
    agent.send("write it").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::Once).await;
    agent.wait_for_turn_end().await;
    assert_eq!(fixture.read(".envrc"), "x\n");
    let left = undo_call(&mut agent, "c1").await;
    let AgentEvent::Notice { text, .. } = left else { panic!("{left:?}") };
    assert!(text.contains("/undo asks about such a file"), "{text}");
    assert_eq!(fixture.read(".envrc"), "x\n");
    agent.close().await;
}

#[tokio::test]
async fn a_call_whose_lines_were_changed_since_is_not_undone() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let mut agent = reviewed(&fixture).await;
    let mine = NEW.replace('E', "mine");
    fixture.put("list", &mine);
    let left = undo_call(&mut agent, "c2").await;
    let AgentEvent::Notice { text, .. } = left else { panic!("{left:?}") };
    assert!(text.starts_with("Nothing was undone: you changed the same lines."), "{text}");
    assert_eq!(fixture.read("list"), mine);
    undo_call(&mut agent, "c1").await;
    assert_eq!(fixture.read("list"), mine.replace('A', "a"));
    agent.close().await;
}
