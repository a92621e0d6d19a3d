//! Commands that fail in a sandbox, and the question whether they may run outside of it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, Interactivity, RuleRequest};
use slug_code::domain::{
    ApprovalAnswer, ApprovalKind, PermissionMode, RuleKind, ScanExtent, ToolStatus,
};
use slug_code::permissions::store::RuleEdit;
use slug_code::session::{LogEntry, TurnOutcome};
use slug_code::tools::{ExitCause, ProcessError, Processes, ScriptExit, ScriptSpec};
use tokio_util::sync::CancellationToken;

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

/// A sandbox in which each command prints this and fails.
struct FailingProcesses(&'static str);

#[async_trait]
impl Processes for FailingProcesses {
    async fn run(
        &self,
        _script: ScriptSpec,
        output: &mut (dyn for<'a> FnMut(&'a [u8]) + Send),
        _cancel: CancellationToken,
    ) -> Result<ScriptExit, ProcessError> {
        output(self.0.as_bytes());
        let (cause, elapsed) = (ExitCause::Code(1), Duration::ZERO);
        Ok(ScriptExit {
            cause,
            elapsed,
            left_running: false,
            refused: Vec::new(),
            denied: ScanExtent::Whole,
        })
    }
}

const MARK: &str = "touch: cannot touch '/x': Read-only file system";

fn scene(printed: &'static str) -> AgentFixture {
    AgentFixture {
        sandbox: Some(Arc::new(FailingProcesses(printed))),
        ..AgentFixture::in_mode(PermissionMode::Sandbox)
    }
}

/// The agent in the middle of a turn in which it runs `touch /x`.
async fn running(scene: &AgentFixture) -> TestAgent {
    let rig = scene.open(InitialSession::New).await;
    queue_replies(scene, [calls(&[("c", "Bash", json!({"command": "touch /x"}))]), words("done")]);
    rig.send("go").await;
    rig
}

fn approvals(rig: &TestAgent) -> Vec<String> {
    let approved = rig.records().into_iter().filter_map(|record| match record.entry {
        LogEntry::ToolStarted { approved_by, .. } => Some(approved_by),
        _ => None,
    });
    approved.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_a_command_that_failed_inside_runs_outside_once_a_person_says_so() {
    let scene = scene(MARK);
    let mut rig = running(&scene).await;
    let question = rig.next_approval().await;
    assert_eq!(question.kind, ApprovalKind::SandboxEscalation);
    assert_eq!(question.input["command"], "touch /x");
    assert!(question.reason.contains(MARK) && question.reason.contains("bwrap around"));
    assert!(question.allow_rules.is_empty() && question.deny_rule.is_none());
    assert!(scene.processes.log().is_empty(), "nothing runs outside before the answer");
    rig.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(scene.processes.log(), ["begin touch /x", "end touch /x"]);
    let (told, status) = rig.result("c");
    assert_eq!(status, ToolStatus::Done);
    assert!(told.starts_with("touch /x says hello") && told.contains("outside"), "{told}");
    assert_eq!(approvals(&rig)[1..], ["person (outside the sandbox)"]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_a_no_leaves_it_as_it_is() {
    let scene = scene(MARK);
    let mut rig = running(&scene).await;
    let question = rig.next_approval().await;
    let instruction = Some("write to src instead".to_owned());
    rig.answer(&question, ApprovalAnswer::Deny { instruction }).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    let (told, status) = rig.result("c");
    assert_eq!(status, ToolStatus::Failed);
    assert!(told.contains(MARK) && told.contains("write to src instead"), "{told}");
    assert!(scene.processes.log().is_empty());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_without_a_person_nothing_runs_outside() {
    let scene = AgentFixture { interactivity: Interactivity::Headless, ..scene(MARK) };
    let mut rig = running(&scene).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(rig.approval_count(), 0);
    let (told, _) = rig.result("c");
    assert!(told.contains("Nobody is there to let it run outside"), "{told}");
    assert!(scene.processes.log().is_empty());
    rig.close().await;
}

/// Each command is kept from what the rules deny when it starts, however they came to be.
#[tokio::test(flavor = "multi_thread")]
async fn s49_the_sandbox_knows_the_rules_as_they_are() {
    let scene = scene(MARK);
    scene.settings(&json!({"permissions": {"deny": ["Read(.env)"]}}));
    let mut rig = scene.open(InitialSession::New).await;
    let hides = |name: &str| scene.readers.current().hides(&scene.work.join(name));
    assert_eq!((hides(".env"), hides("key")), (true, false));
    let edit = RuleEdit::Add((RuleKind::Deny, "Read(key)".to_owned()));
    rig.tell(AgentCommand::Rules(RuleRequest::Change { file: None, edit })).await;
    rig.wait_for("the rules", |event| matches!(event, AgentEvent::Rules(_))).await;
    assert_eq!((hides(".env"), hides("key")), (true, true));
    rig.close().await;
}

/// What a person writes in that dialog passes the hooks before it runs, as anywhere.
#[tokio::test(flavor = "multi_thread")]
async fn s118_an_edited_command_passes_the_hooks_before_it_runs_outside() {
    for (status, ran) in [(0, vec!["begin touch /y", "end touch /y"]), (2, vec![])] {
        let scene = scene(MARK);
        let group = json!([{"hooks": [{"type": "command", "command": "guard"}]}]);
        scene.settings(&json!({"hooks": {"PreToolUse": group}}));
        let mut rig = running(&scene).await;
        let question = rig.next_approval().await;
        scene.hooks.set("guard", status, "", "not there");
        let input = json!({"command": "touch /y"});
        rig.answer(&question, ApprovalAnswer::Edited { input: input.clone() }).await;
        assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
        assert_eq!(scene.processes.log(), ran);
        let last = scene.hooks.inputs().pop().unwrap().1;
        assert_eq!(last["tool_input"], input, "{last}");
        let (told, _) = rig.result("c");
        assert_eq!(told.contains("not there"), ran.is_empty(), "{told}");
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_of_its_own_is_not_asked_about() {
    let scene = scene("error: 2 tests failed");
    let mut rig = running(&scene).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!((rig.approval_count(), approvals(&rig).len()), (0, 1));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_withdraws_the_question() {
    let scene = scene(MARK);
    let mut rig = running(&scene).await;
    let question = rig.next_approval().await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    let withdrawn = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalWithdrawn(id) if *id == question.id);
    assert!(rig.events.iter().any(withdrawn), "{:#?}", rig.events);
    assert!(scene.processes.log().is_empty());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_persons_own_runs_outside() {
    let scene = scene(MARK);
    let mut rig = scene.open(InitialSession::New).await;
    rig.tell(AgentCommand::Shell { command: "make install".into() }).await;
    rig.wait_for("its end", |event| matches!(event, AgentEvent::ToolEnded { .. })).await;
    assert_eq!(rig.approval_count(), 0);
    assert_eq!(scene.processes.log(), ["begin make install", "end make install"]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mode_of_the_sandbox_needs_one() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    rig.tell(AgentCommand::SetMode(PermissionMode::Sandbox)).await;
    rig.wait_for("a notice", |event| matches!(event, AgentEvent::Notice { .. })).await;
    assert!(rig.notices()[0].contains("--sandbox DIR"), "{:?}", rig.notices());
    let changed =
        |event: &&AgentEvent| matches!(event, AgentEvent::ModeChanged(PermissionMode::Sandbox));
    assert_eq!(rig.events.iter().filter(changed).count(), 0);
    rig.close().await;
}
