//! Which file a call opens: the one that was there, by its real path, when it was approved.

use std::os::unix::fs::symlink;

use serde_json::json;
use slug_code::agent::InitialSession;
use slug_code::domain::{ApprovalAnswer, PermissionMode, ToolStatus};
use slug_code::session::TurnOutcome;

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, queue_replies};

#[tokio::test(flavor = "multi_thread")]
async fn r15_a_write_through_a_link_changes_its_target() {
    let scene = AgentFixture::in_mode(PermissionMode::AllowEdits);
    scene.put("sub/target", "old\n");
    symlink("sub/target", scene.work.join("link")).unwrap();
    let edit = json!({"file_path": "link", "old_string": "old", "new_string": "new"});
    let read = json!({"file_path": "link"});
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(
        &scene,
        [calls(&[("r1", "Read", read)]), calls(&[("e1", "Edit", edit)]), words("done")],
    );
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    assert_eq!(scene.read("sub/target"), "new\n");
    assert!(std::fs::symlink_metadata(scene.work.join("link")).unwrap().is_symlink());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s114_a_link_that_is_planted_while_the_question_is_open_is_not_followed() {
    let scene = AgentFixture::new();
    let outside = scene.home.join("bashrc");
    std::fs::write(&outside, "theirs").unwrap();
    let write = json!({"file_path": "out", "content": "slug's"});
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[("w1", "Write", write)]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    symlink(&outside, scene.work.join("out")).unwrap();
    rig.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(rig.result("w1").1, ToolStatus::Failed);
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "theirs");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s49_a_search_through_a_link_leaves_out_what_a_rule_denies_by_its_real_path() {
    let scene = AgentFixture::new();
    scene.put("src/.env", "needle");
    scene.put("src/open", "needle");
    symlink("src", scene.work.join("link")).unwrap();
    scene.settings(&json!({"permissions": {"deny": ["Read(src/.env)"]}}));
    let mut rig = scene.open(InitialSession::New).await;
    let searches = [
        ("g1", "Grep", json!({"pattern": "needle", "path": "link"})),
        ("g2", "Glob", json!({"pattern": "link/**"})),
        ("g3", "Glob", json!({"pattern": "link/.env"})),
    ];
    queue_replies(&scene, [calls(&searches), words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    for (id, found) in [("g1", true), ("g2", true), ("g3", false)] {
        let text = rig.result(id).0;
        assert_eq!(text.contains("link/open"), found, "{id}: {text}");
        assert!(!text.contains("link/.env\n") && !text.starts_with("link/.env"), "{id}: {text}");
    }
    rig.close().await;
}
