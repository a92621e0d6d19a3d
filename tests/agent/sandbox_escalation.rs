//! Commands that fail in the sandbox, and the question whether they may run outside of it.

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
use super::test_agent::{AgentFixture, TestAgent, queue_replies, tool_end};

/// A sandbox in which every command prints this text and fails.
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
            made: Vec::new(),
        })
    }
}

const DENIAL: &str = "touch: cannot touch '/x': Read-only file system";

fn fixture(printed: &'static str) -> AgentFixture {
    AgentFixture {
        sandbox: Some(Arc::new(FailingProcesses(printed))),
        ..AgentFixture::in_mode(PermissionMode::Sandbox)
    }
}

/// An agent in the middle of a turn that runs `touch /x`.
async fn running(fixture: &AgentFixture) -> TestAgent {
    let agent = fixture.open(InitialSession::New).await;
    queue_replies(
        fixture,
        [calls(&[("c", "Bash", json!({"command": "touch /x"}))]), words("done")],
    );
    agent.send("go").await;
    agent
}

fn approvals(agent: &TestAgent) -> Vec<String> {
    let approved = agent.records().into_iter().filter_map(|record| match record.entry {
        LogEntry::ToolStarted { approved_by, .. } => Some(approved_by),
        _ => None,
    });
    approved.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_a_command_that_failed_inside_runs_outside_once_the_user_says_so() {
    let fixture = fixture(DENIAL);
    let mut agent = running(&fixture).await;
    let question = agent.next_approval().await;
    assert_eq!(question.kind, ApprovalKind::SandboxInForce);
    assert_eq!(question.input["command"], "touch /x");
    assert!(question.reason.contains(DENIAL) && question.reason.contains("bwrap around"));
    assert!(question.allow_rules.is_empty() && question.deny_rule.is_none());
    assert!(fixture.processes.log().is_empty(), "nothing runs outside before the answer");
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(fixture.processes.log(), ["begin touch /x", "end touch /x"]);
    let (result, status) = agent.result("c");
    assert_eq!(status, ToolStatus::Done);
    assert!(result.starts_with("touch /x says hello") && result.contains("outside"), "{result}");
    assert_eq!(approvals(&agent)[1..], ["user (outside the sandbox)"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_without_an_approval_the_failure_stands() {
    let fixture = fixture(DENIAL);
    let mut agent = running(&fixture).await;
    let question = agent.next_approval().await;
    let instruction = Some("write to src instead".to_owned());
    agent.answer(&question, ApprovalAnswer::Deny { instruction }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let (result, status) = agent.result("c");
    assert_eq!(status, ToolStatus::Failed);
    assert!(result.contains(DENIAL) && result.contains("write to src instead"), "{result}");
    assert!(fixture.processes.log().is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s118_without_a_user_nothing_runs_outside() {
    let fixture = AgentFixture { interactivity: Interactivity::Headless, ..fixture(DENIAL) };
    let mut agent = running(&fixture).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(agent.approval_count(), 0);
    let (result, _) = agent.result("c");
    assert!(result.contains("No user is there to let it run outside"), "{result}");
    assert!(fixture.processes.log().is_empty());
    agent.close().await;
}

/// The sandbox hides files by the rules at the start of each command, also by rules added since.
#[tokio::test(flavor = "multi_thread")]
async fn s49_the_sandbox_knows_the_current_rules() {
    let fixture = fixture(DENIAL);
    fixture.settings(&json!({"permissions": {"deny": ["Read(.env)"]}}));
    let mut agent = fixture.open(InitialSession::New).await;
    let hides = |name: &str| fixture.readers.current().hides("Read", &fixture.work.join(name));
    assert_eq!((hides(".env"), hides("key")), (true, false));
    let edit = RuleEdit::Add((RuleKind::Deny, "Read(key)".to_owned()));
    agent.tell(AgentCommand::Rules(RuleRequest::Change { file: None, edit })).await;
    agent.wait_for("the rules", |event| matches!(event, AgentEvent::Rules(_))).await;
    assert_eq!((hides(".env"), hides("key")), (true, true));
    agent.close().await;
}

/// A command that the user edits in this dialog passes the hooks before it runs, as in any other.
#[tokio::test(flavor = "multi_thread")]
async fn s118_an_edited_command_passes_the_hooks_before_it_runs_outside() {
    for (status, ran) in [(0, vec!["begin touch /y", "end touch /y"]), (2, vec![])] {
        let fixture = fixture(DENIAL);
        let group = json!([{"hooks": [{"type": "command", "command": "guard"}]}]);
        fixture.settings(&json!({"hooks": {"PreToolUse": group}}));
        let mut agent = running(&fixture).await;
        let question = agent.next_approval().await;
        fixture.hooks.set("guard", status, "", "not there");
        let input = json!({"command": "touch /y"});
        agent.answer(&question, ApprovalAnswer::Edited { input: input.clone() }).await;
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
        assert_eq!(fixture.processes.log(), ran);
        let last = fixture.hooks.inputs().pop().unwrap().1;
        assert_eq!(last["tool_input"], input, "{last}");
        let (result, _) = agent.result("c");
        assert_eq!(result.contains("not there"), ran.is_empty(), "{result}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_is_not_by_the_sandbox_is_not_asked_about() {
    let fixture = fixture("error: 2 tests failed");
    let mut agent = running(&fixture).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!((agent.approval_count(), approvals(&agent).len()), (0, 1));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_withdraws_the_question() {
    let fixture = fixture(DENIAL);
    let mut agent = running(&fixture).await;
    let question = agent.next_approval().await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    let withdrawn = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalWithdrawn(id) if *id == question.id);
    assert!(agent.events.iter().any(withdrawn), "{:#?}", agent.events);
    assert!(fixture.processes.log().is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_user_runs_outside() {
    let fixture = fixture(DENIAL);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.tell(AgentCommand::Shell { command: "make install".into() }).await;
    agent.wait_for("its end", |event| tool_end(event).is_some()).await;
    assert_eq!(agent.approval_count(), 0);
    assert_eq!(fixture.processes.log(), ["begin make install", "end make install"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sandbox_mode_needs_a_sandbox() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    agent.tell(AgentCommand::SetMode(PermissionMode::Sandbox)).await;
    agent.wait_for("a notice", |event| matches!(event, AgentEvent::Notice { .. })).await;
    assert!(agent.notices()[0].contains("--sandbox DIR"), "{:?}", agent.notices());
    let changed =
        |event: &&AgentEvent| matches!(event, AgentEvent::ModeChanged(PermissionMode::Sandbox));
    assert_eq!(agent.events.iter().filter(changed).count(), 0);
    agent.close().await;
}
