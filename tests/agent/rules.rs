//! Listing, changing and testing the rules while an agent runs.

use std::path::PathBuf;

use serde_json::json;
use slug_code::agent::{
    AgentCommand, AgentEvent, InitialSession, RuleChangeError, RuleReply, RuleRequest,
};
use slug_code::domain::{ApprovalAnswer, PermissionOutcome, RuleKind, ToolStatus};
use slug_code::permissions::store::{RuleEdit, RuleSaveError};
use slug_code::session::{LogEntry, TurnOutcome};

use super::fakes::{bash, calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

fn allow(rule: &str) -> (RuleKind, String) {
    (RuleKind::Allow, rule.to_owned())
}

async fn send_request(agent: &mut TestAgent, request: RuleRequest) -> RuleReply {
    agent.tell(AgentCommand::Rules(request)).await;
    match agent.wait_for("rules", |event| matches!(event, AgentEvent::Rules(_))).await {
        AgentEvent::Rules(reply) => *reply,
        other => panic!("{other:?}"),
    }
}

async fn change(
    agent: &mut TestAgent,
    file: Option<PathBuf>,
    edit: RuleEdit,
) -> Option<RuleChangeError> {
    match send_request(agent, RuleRequest::Change { file, edit }).await {
        RuleReply::Listed { failed, .. } => failed,
        other @ (RuleReply::Tried { .. } | RuleReply::Saved { .. }) => panic!("{other:?}"),
    }
}

async fn outcome_of(agent: &mut TestAgent, typed: &str) -> PermissionOutcome {
    match send_request(agent, RuleRequest::Try(typed.to_owned())).await {
        RuleReply::Tried { report, .. } => report.unwrap().decision,
        other @ (RuleReply::Listed { .. } | RuleReply::Saved { .. }) => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_rules_are_listed_with_file_and_line() {
    let fixture = AgentFixture::new();
    fixture.settings(&json!({"permissions": {"deny": ["Bash(rm *)"], "allow": ["Bash(ls"]}}));
    fixture.put(".slug/settings.json", "{\"permissions\":{\n\"allow\":[\n\"Bash(ls)\"]}}");
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(change(&mut agent, None, RuleEdit::Add(allow("Bash(make)"))).await, None);
    let RuleReply::Listed { list, files, .. } = send_request(&mut agent, RuleRequest::List).await
    else {
        panic!("no list");
    };
    let own = fixture.home.join("settings.json");
    let project = fixture.work.join(".slug/settings.json");
    let seen: Vec<_> =
        list.rules.iter().map(|it| (it.rule.as_str(), it.file.clone(), it.line)).collect();
    assert_eq!(
        seen,
        [
            ("Bash(rm *)", Some(own.clone()), Some(1)),
            ("Bash(ls)", Some(project.clone()), Some(3)),
            ("Bash(make)", None, None),
        ]
    );
    assert_eq!(list.warnings.len(), 1);
    assert_eq!(files, [own, project, fixture.work.join(".slug/settings.local.json")]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_added_decides_the_open_question() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "make")]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    let file = Some(fixture.home.join("settings.json"));
    assert_eq!(change(&mut agent, file, RuleEdit::Add(allow("Bash(make)"))).await, None);
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(agent.events.contains(&AgentEvent::ApprovalWithdrawn(question.id)));
    assert_eq!(agent.result("c1").1, ToolStatus::Done);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_removed_or_edited_holds_no_longer() {
    let fixture = AgentFixture::new();
    fixture.put(".slug/settings.json", r#"{"permissions":{"allow":["Bash(make)"]}}"#);
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(outcome_of(&mut agent, "make").await, PermissionOutcome::Allow);
    let file = Some(fixture.work.join(".slug/settings.json"));
    let edit = RuleEdit::Replace { from: allow("Bash(make)"), to: allow("Bash(make a)") };
    assert_eq!(change(&mut agent, file.clone(), edit).await, None);
    assert_eq!(outcome_of(&mut agent, "make").await, PermissionOutcome::Ask);
    assert_eq!(outcome_of(&mut agent, "make a").await, PermissionOutcome::Allow);
    assert_eq!(change(&mut agent, file, RuleEdit::Remove(allow("Bash(make a)"))).await, None);
    assert_eq!(outcome_of(&mut agent, "make a").await, PermissionOutcome::Ask);
    assert_eq!(change(&mut agent, None, RuleEdit::Add(allow("Bash(make)"))).await, None);
    assert_eq!(outcome_of(&mut agent, "make").await, PermissionOutcome::Allow);
    assert_eq!(change(&mut agent, None, RuleEdit::Remove(allow("Bash(make)"))).await, None);
    assert_eq!(outcome_of(&mut agent, "make").await, PermissionOutcome::Ask);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_rule_is_refused_with_a_reason() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let file = Some(fixture.home.join("settings.json"));
    let failed = change(&mut agent, file, RuleEdit::Add(allow("Bash(make"))).await;
    assert!(matches!(failed, Some(RuleChangeError::Rule(_))), "{failed:?}");
    let elsewhere = Some(fixture.work.join("package.json"));
    let failed = change(&mut agent, elsewhere, RuleEdit::Add(allow("Bash(make)"))).await;
    assert!(
        matches!(failed, Some(RuleChangeError::Save(RuleSaveError::NotCounted { .. }))),
        "{failed:?}"
    );
    assert!(fixture.read("package.json").is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_with_a_path_can_be_tried() {
    let fixture = AgentFixture::new();
    fixture.settings(&json!({"permissions": {"deny": ["Read(.env)"]}}));
    let mut agent = fixture.open(InitialSession::New).await;
    for (typed, outcome) in [
        ("Read src/main.rs", PermissionOutcome::Allow),
        ("Read .env", PermissionOutcome::Deny),
        ("Edit src/main.rs", PermissionOutcome::Ask),
        ("cat .env", PermissionOutcome::Deny),
        ("Unknown src/main.rs", PermissionOutcome::Ask),
    ] {
        assert_eq!(outcome_of(&mut agent, typed).await, outcome, "{typed}");
    }
    assert!(fixture.processes.log().is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s66_foreign_changes_of_a_projects_file_do_not_hold_before_the_user_is_asked() {
    let fixture = AgentFixture::new();
    fixture.put(".slug/settings.json", r#"{"permissions":{"allow":["Bash(ls)"]}}"#);
    let mut agent = fixture.open(InitialSession::New).await;
    fixture.put(".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    queue_replies(&fixture, [calls(&[bash("c1", "make")]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::Always { rules: vec!["Bash(make)".into()] }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(outcome_of(&mut agent, "make").await, PermissionOutcome::Allow);
    assert_eq!(outcome_of(&mut agent, "rm x").await, PermissionOutcome::Ask);
    let file = Some(fixture.work.join(".slug/settings.json"));
    let failed = change(&mut agent, file, RuleEdit::Add(allow("Bash(b)"))).await;
    assert!(
        matches!(failed, Some(RuleChangeError::Save(RuleSaveError::Changed { .. }))),
        "{failed:?}"
    );
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_on_record_with_what_was_refused() {
    let fixture = AgentFixture::new();
    fixture.settings(&json!({"permissions": {"deny": ["Bash(rm *)"]}}));
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "rm -rf build")]), words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    let refused = agent.records().into_iter().find_map(|record| match record.entry {
        LogEntry::Permission(entry) => Some(entry),
        _ => None,
    });
    let refused = refused.unwrap();
    assert_eq!((refused.about.as_deref(), refused.answer.as_str()), (Some("rm -rf build"), "rule"));
    assert_eq!(refused.rule.and_then(|rule| rule.line), Some(1));
    agent.close().await;
}
