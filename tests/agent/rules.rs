//! The rules as the person sees, changes and tries them while an agent runs.

use std::path::PathBuf;

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, RuleReply, RuleRequest};
use slug_code::domain::{ApprovalAnswer, PermissionOutcome, RuleKind, ToolStatus};
use slug_code::permissions::store::RuleEdit;
use slug_code::session::{LogEntry, TurnOutcome};

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "Bash", json!({"command": command}))
}

fn allow(rule: &str) -> (RuleKind, String) {
    (RuleKind::Allow, rule.to_owned())
}

async fn order(rig: &mut TestAgent, order: RuleRequest) -> RuleReply {
    rig.tell(AgentCommand::Rules(order)).await;
    match rig.wait_for("rules", |event| matches!(event, AgentEvent::Rules(_))).await {
        AgentEvent::Rules(news) => *news,
        other => panic!("{other:?}"),
    }
}

async fn change(rig: &mut TestAgent, file: Option<PathBuf>, edit: RuleEdit) -> Option<String> {
    match order(rig, RuleRequest::Change { file, edit }).await {
        RuleReply::Listed { failed, .. } => failed,
        other @ RuleReply::Tried { .. } => panic!("{other:?}"),
    }
}

async fn tried(rig: &mut TestAgent, typed: &str) -> PermissionOutcome {
    match order(rig, RuleRequest::Try(typed.to_owned())).await {
        RuleReply::Tried { report, .. } => report.unwrap().decision,
        other @ RuleReply::Listed { .. } => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_rules_are_listed_with_file_and_line() {
    let scene = AgentFixture::new();
    scene.settings(&json!({"permissions": {"deny": ["Bash(rm *)"], "allow": ["Bash(ls"]}}));
    scene.put(".slug/settings.json", "{\"permissions\":{\n\"allow\":[\n\"Bash(ls)\"]}}");
    let mut rig = scene.open(InitialSession::New).await;
    assert_eq!(change(&mut rig, None, RuleEdit::Add(allow("Bash(make)"))).await, None);
    let RuleReply::Listed { list, files, .. } = order(&mut rig, RuleRequest::List).await else {
        panic!("no list");
    };
    let own = scene.home.join("settings.json");
    let project = scene.work.join(".slug/settings.json");
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
    assert_eq!(files, [own, project, scene.work.join(".slug/settings.local.json")]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_added_decides_the_open_question() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "make")]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    let file = Some(scene.home.join("settings.json"));
    assert_eq!(change(&mut rig, file, RuleEdit::Add(allow("Bash(make)"))).await, None);
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(rig.events.contains(&AgentEvent::ApprovalWithdrawn(question.id)));
    assert_eq!(rig.result("c1").1, ToolStatus::Done);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_removed_or_edited_holds_no_longer() {
    let scene = AgentFixture::new();
    scene.put(".slug/settings.json", r#"{"permissions":{"allow":["Bash(make)"]}}"#);
    let mut rig = scene.open(InitialSession::New).await;
    assert_eq!(tried(&mut rig, "make").await, PermissionOutcome::Allow);
    let file = Some(scene.work.join(".slug/settings.json"));
    let edit = RuleEdit::Replace { from: allow("Bash(make)"), to: allow("Bash(make a)") };
    assert_eq!(change(&mut rig, file.clone(), edit).await, None);
    assert_eq!(tried(&mut rig, "make").await, PermissionOutcome::Ask);
    assert_eq!(tried(&mut rig, "make a").await, PermissionOutcome::Allow);
    assert_eq!(change(&mut rig, file, RuleEdit::Remove(allow("Bash(make a)"))).await, None);
    assert_eq!(tried(&mut rig, "make a").await, PermissionOutcome::Ask);
    assert_eq!(change(&mut rig, None, RuleEdit::Add(allow("Bash(make)"))).await, None);
    assert_eq!(tried(&mut rig, "make").await, PermissionOutcome::Allow);
    assert_eq!(change(&mut rig, None, RuleEdit::Remove(allow("Bash(make)"))).await, None);
    assert_eq!(tried(&mut rig, "make").await, PermissionOutcome::Ask);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_rule_is_refused_with_a_reason() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    let file = Some(scene.home.join("settings.json"));
    let failed = change(&mut rig, file, RuleEdit::Add(allow("Bash(make"))).await;
    assert!(failed.unwrap().contains("is not a rule"));
    let elsewhere = Some(scene.work.join("package.json"));
    let failed = change(&mut rig, elsewhere, RuleEdit::Add(allow("Bash(make)"))).await;
    assert!(failed.is_some() && scene.read("package.json").is_empty());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_with_a_path_can_be_tried() {
    let scene = AgentFixture::new();
    scene.settings(&json!({"permissions": {"deny": ["Read(.env)"]}}));
    let mut rig = scene.open(InitialSession::New).await;
    for (typed, outcome) in [
        ("Read src/main.rs", PermissionOutcome::Allow),
        ("Read .env", PermissionOutcome::Deny),
        ("Edit src/main.rs", PermissionOutcome::Ask),
        ("cat .env", PermissionOutcome::Deny),
        ("Unknown src/main.rs", PermissionOutcome::Ask),
    ] {
        assert_eq!(tried(&mut rig, typed).await, outcome, "{typed}");
    }
    assert!(scene.processes.log().is_empty());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s66_what_others_write_into_a_projects_file_does_not_hold_before_it_is_asked() {
    let scene = AgentFixture::new();
    scene.put(".slug/settings.json", r#"{"permissions":{"allow":["Bash(ls)"]}}"#);
    let mut rig = scene.open(InitialSession::New).await;
    scene.put(".slug/settings.json", r#"{"permissions":{"allow":["Bash"]}}"#);
    queue_replies(&scene, [calls(&[bash("c1", "make")]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    rig.answer(&question, ApprovalAnswer::Always { rules: vec!["Bash(make)".into()] }).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(tried(&mut rig, "make").await, PermissionOutcome::Allow);
    assert_eq!(tried(&mut rig, "rm x").await, PermissionOutcome::Ask);
    let file = Some(scene.work.join(".slug/settings.json"));
    let failed = change(&mut rig, file, RuleEdit::Add(allow("Bash(b)"))).await;
    assert!(failed.unwrap().contains("changed since slug read it"));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_on_record_with_what_was_refused() {
    let scene = AgentFixture::new();
    scene.settings(&json!({"permissions": {"deny": ["Bash(rm *)"]}}));
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "rm -rf build")]), words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    let refused = rig.records().into_iter().find_map(|record| match record.entry {
        LogEntry::Permission(entry) => Some(entry),
        _ => None,
    });
    let refused = refused.unwrap();
    assert_eq!((refused.about.as_deref(), refused.answer.as_str()), (Some("rm -rf build"), "rule"));
    assert_eq!(refused.rule.and_then(|rule| rule.line), Some(1));
    rig.close().await;
}
