//! Which file a call opens: the one at the real path that was approved.

use std::os::unix::fs::symlink;

use serde_json::json;
use slug_code::agent::InitialSession;
use slug_code::domain::{ApprovalAnswer, PermissionMode, ToolStatus};
use slug_code::session::TurnOutcome;

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, queue_replies};

#[tokio::test(flavor = "multi_thread")]
async fn r15_a_write_through_a_link_changes_its_target() {
    let fixture = AgentFixture::in_mode(PermissionMode::AllowEdits);
    fixture.put("sub/target", "old\n");
    symlink("sub/target", fixture.work.join("link")).unwrap();
    let edit = json!({"file_path": "link", "old_string": "old", "new_string": "new"});
    let read = json!({"file_path": "link"});
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(
        &fixture,
        [calls(&[("r1", "Read", read)]), calls(&[("e1", "Edit", edit)]), words("done")],
    );
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert_eq!(fixture.read("sub/target"), "new\n");
    assert!(std::fs::symlink_metadata(fixture.work.join("link")).unwrap().is_symlink());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s114_a_link_that_is_planted_while_the_question_is_open_is_not_followed() {
    let fixture = AgentFixture::new();
    let outside = fixture.home.join("bashrc");
    std::fs::write(&outside, "theirs").unwrap();
    let write = json!({"file_path": "out", "content": "slug's"});
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[("w1", "Write", write)]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    symlink(&outside, fixture.work.join("out")).unwrap();
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(agent.result("w1").1, ToolStatus::Failed);
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "theirs");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s49_a_search_through_a_link_leaves_out_what_a_rule_denies_by_its_real_path() {
    let fixture = AgentFixture::new();
    fixture.put("src/.env", "needle");
    fixture.put("src/open", "needle");
    symlink("src", fixture.work.join("link")).unwrap();
    fixture.settings(&json!({"permissions": {"deny": ["Read(src/.env)"]}}));
    let mut agent = fixture.open(InitialSession::New).await;
    let searches = [
        ("g1", "Grep", json!({"pattern": "needle", "path": "link"})),
        ("g2", "Glob", json!({"pattern": "link/**"})),
        ("g3", "Glob", json!({"pattern": "link/.env"})),
    ];
    queue_replies(&fixture, [calls(&searches), words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    for (id, found) in [("g1", true), ("g2", true), ("g3", false)] {
        let text = agent.result(id).0;
        assert_eq!(text.contains("link/open"), found, "{id}: {text}");
        assert!(!text.contains("link/.env\n") && !text.starts_with("link/.env"), "{id}: {text}");
    }
    agent.close().await;
}
