//! Questions before a call runs, and what each answer does.

use serde_json::{Value, json};
use slug_code::agent::{AgentEvent, InitialSession};
use slug_code::domain::{
    ApprovalAnswer, CallId, CallInput, ContentHash, PermissionMode, PermissionOutcome, ToolStatus,
};
use slug_code::permissions::store::ProjectSettingsTrust;
use slug_code::session::{LogEntry, PermissionEntry, TurnOutcome};

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

fn bash(id: &'static str, command: &str) -> (&'static str, &'static str, Value) {
    (id, "Bash", json!({"command": command}))
}

fn write(id: &'static str, path: &str) -> (&'static str, &'static str, Value) {
    (id, "Write", json!({"file_path": path, "content": "new\n"}))
}

fn answers(rig: &TestAgent) -> Vec<(PermissionOutcome, String)> {
    let of = |entry: PermissionEntry| (entry.decision, entry.answer);
    rig.records()
        .into_iter()
        .filter_map(|record| match record.entry {
            LogEntry::Permission(entry) => Some(of(entry)),
            _ => None,
        })
        .collect()
}

/// One call, one answer, and the rig after the turn.
async fn answered(scene: &AgentFixture, command: &str, answer: ApprovalAnswer) -> TestAgent {
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(scene, [calls(&[bash("c1", command)]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    rig.answer(&question, answer).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    rig
}

/// Whether the same command is asked again in the next turn.
async fn is_asked_again(scene: &AgentFixture, rig: &mut TestAgent, command: &str) -> bool {
    let before = rig.approval_count();
    queue_replies(scene, [calls(&[bash("again", command)]), words("done")]);
    rig.send("once more").await;
    let asked = |event: &AgentEvent| {
        matches!(event, AgentEvent::ApprovalAsked(_) | AgentEvent::TurnEnded { .. })
    };
    if let AgentEvent::ApprovalAsked(question) = rig.wait_for("question or end", asked).await {
        rig.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
        rig.wait_for_turn_end().await;
    }
    rig.approval_count() > before
}

#[tokio::test(flavor = "multi_thread")]
async fn once_is_once() {
    let scene = AgentFixture::new();
    let mut rig = answered(&scene, "make", ApprovalAnswer::Once).await;
    assert_eq!(scene.processes.log(), ["begin make", "end make"]);
    assert_eq!(answers(&rig), [(PermissionOutcome::Allow, "once".into())]);
    assert!(is_asked_again(&scene, &mut rig, "make").await);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn for_the_session_holds_without_being_saved() {
    let scene = AgentFixture::new();
    let mut rig =
        answered(&scene, "make", ApprovalAnswer::Session { rules: vec!["Bash(make)".into()] })
            .await;
    assert!(!is_asked_again(&scene, &mut rig, "make").await);
    assert_eq!(scene.read(".slug/settings.local.json"), "");
    rig.close().await;
    let mut rig = scene.open(InitialSession::New).await;
    assert!(is_asked_again(&scene, &mut rig, "make").await, "not for the next agent");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn always_is_saved_where_it_belongs_and_once() {
    for (project, file) in [
        (ProjectSettingsTrust::Trusted, "work/.slug/settings.local.json"),
        (ProjectSettingsTrust::Untrusted, "slug/settings.json"),
    ] {
        let scene = AgentFixture { project, ..AgentFixture::new() };
        let rules = vec!["Bash(make)".to_owned()];
        let mut rig =
            answered(&scene, "make", ApprovalAnswer::Always { rules: rules.clone() }).await;
        assert!(!is_asked_again(&scene, &mut rig, "make").await);
        let file = scene.work.parent().unwrap().join(file);
        let saved = || -> Value { serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap() };
        assert_eq!(saved(), json!({"permissions": {"allow": ["Bash(make)"]}}), "{project:?}");
        rig.close().await;
        let mut rig = scene.open(InitialSession::New).await;
        assert!(!is_asked_again(&scene, &mut rig, "make").await, "{project:?}");
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_answers_at_once_are_both_saved() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "make"), bash("c2", "cargo test")]), words("done")]);
    rig.send("go").await;
    let (first, second) = (rig.next_approval().await, rig.next_approval().await);
    for (question, rule) in [(&first, "Bash(make)"), (&second, "Bash(cargo test)")] {
        rig.answer(question, ApprovalAnswer::Always { rules: vec![rule.into()] }).await;
    }
    // The first rule may have the second question asked anew.
    loop {
        match rig.event().await {
            AgentEvent::ApprovalAsked(question) => {
                rig.answer(
                    &question,
                    ApprovalAnswer::Always { rules: vec!["Bash(cargo test)".into()] },
                )
                .await;
            }
            AgentEvent::TurnEnded { outcome, .. } => {
                break assert_eq!(outcome, TurnOutcome::Answered);
            }
            _ => {}
        }
    }
    let saved: Value = serde_json::from_str(&scene.read(".slug/settings.local.json")).unwrap();
    let mut rules: Vec<&str> = saved["permissions"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    rules.sort_unstable();
    assert_eq!(rules, ["Bash(cargo test)", "Bash(make)"]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_rule_answers_the_other_open_question() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "make a"), bash("c2", "make b")]), words("done")]);
    rig.send("go").await;
    let (first, second) = (rig.next_approval().await, rig.next_approval().await);
    rig.answer(&first, ApprovalAnswer::Session { rules: vec!["Bash(make *)".into()] }).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(rig.events.contains(&AgentEvent::ApprovalWithdrawn(second.id)));
    assert_eq!(rig.result("c2").1, ToolStatus::Done);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_come_in_the_order_of_the_calls() {
    const IDS: [&str; 8] = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    // The longer the command, the longer it takes to decide on it: the first take longest.
    let made = IDS.iter().enumerate().map(|(at, &id)| {
        let command = vec![format!("make {id}"); (IDS.len() - at) * 20].join("; ");
        (id, "Bash", json!({"command": command}))
    });
    queue_replies(&scene, [calls(&made.collect::<Vec<_>>()), words("done")]);
    rig.send("go").await;
    for id in IDS {
        let question = rig.next_approval().await;
        assert_eq!(question.call.as_str(), id);
    }
    rig.stop().await;
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn never_refuses_from_then_on() {
    let scene = AgentFixture::new();
    let mut rig =
        answered(&scene, "make", ApprovalAnswer::Never { rule: "Bash(make)".into() }).await;
    assert_eq!(rig.result("c1").1, ToolStatus::Denied);
    let saved: Value = serde_json::from_str(&scene.read(".slug/settings.local.json")).unwrap();
    assert_eq!(saved["permissions"]["deny"], json!(["Bash(make)"]));
    assert!(!is_asked_again(&scene, &mut rig, "make").await);
    assert_eq!(rig.result("again").1, ToolStatus::Denied);
    assert_eq!(scene.processes.log(), [""; 0]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tells_the_model_what_to_do_instead() {
    let scene = AgentFixture::new();
    let deny = ApprovalAnswer::Deny { instruction: Some("use ninja".into()) };
    let rig = answered(&scene, "make", deny).await;
    let (told, status) = rig.result("c1");
    assert!(told.contains("use ninja") && status == ToolStatus::Denied, "{told}");
    assert_eq!(scene.processes.log(), [""; 0]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_call_is_decided_again_and_the_model_is_told() {
    let scene = AgentFixture::new();
    scene.settings(&json!({"permissions": {"allow": ["Bash(make safe)"], "deny": ["Bash(rm *)"]}}));
    let edited = |command: &str| ApprovalAnswer::Edited { input: json!({"command": command}) };
    let rig = answered(&scene, "make", edited("make safe")).await;
    assert_eq!(scene.processes.log(), ["begin make safe", "end make safe"]);
    assert!(rig.result("c1").0.starts_with("The user changed this call."));
    rig.close().await;
    let rig = answered(&scene, "make", edited("rm -r x")).await;
    assert_eq!(rig.result("c1").1, ToolStatus::Denied, "a deny rule holds for the person's text");
    rig.close().await;

    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[bash("c1", "make")]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    rig.answer(&question, edited("make other")).await;
    let question = rig.next_approval().await;
    assert_eq!(question.input["command"], "make other");
    rig.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s51_a_file_that_changed_after_the_answer_stays() {
    let scene = AgentFixture::new();
    scene.put("f", "old\n");
    let mut rig = scene.open(InitialSession::New).await;
    let read = ("r1", "Read", json!({"file_path": "f"}));
    queue_replies(&scene, [calls(&[read]), calls(&[write("w1", "f")]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    assert_eq!(question.preview.as_ref().unwrap().added, 1);
    scene.put("f", "theirs\n");
    rig.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(rig.result("w1").1, ToolStatus::Failed);
    assert_eq!(scene.read("f"), "theirs\n");
    rig.close().await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn s51_a_path_that_leads_elsewhere_after_the_answer_is_not_followed() {
    let scene = AgentFixture::new();
    scene.put("inside/keep", "");
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [calls(&[write("w1", "inside/f")]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    std::fs::remove_dir_all(scene.work.join("inside")).unwrap();
    std::os::unix::fs::symlink(&scene.home, scene.work.join("inside")).unwrap();
    rig.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(rig.result("w1").1, ToolStatus::Failed);
    assert!(!scene.home.join("f").exists());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s109_the_same_id_with_other_arguments_is_asked_again() {
    let scene = AgentFixture::new();
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(
        &scene,
        [calls(&[bash("c7", "make")]), calls(&[bash("c7", "make install")]), words("done")],
    );
    rig.send("go").await;
    let first = rig.next_approval().await;
    rig.answer(&first, ApprovalAnswer::Once).await;
    let second = rig.next_approval().await;
    assert_ne!(first.id, second.id);
    assert_eq!(second.input["command"], "make install");
    // A second answer to the first question says nothing about this one.
    rig.answer(&first, ApprovalAnswer::Once).await;
    rig.answer(&second, ApprovalAnswer::Deny { instruction: None }).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(scene.processes.log(), ["begin make", "end make"]);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_cannot_be_saved_holds_until_the_end() {
    let scene = AgentFixture { mode: PermissionMode::Ask, ..AgentFixture::new() };
    scene.put(".slug", "a file where the folder goes");
    let rules = vec!["Bash(make)".to_owned()];
    let mut rig = answered(&scene, "make", ApprovalAnswer::Always { rules }).await;
    assert!(rig.notices().iter().any(|text| text.contains("cannot save the rule")));
    assert!(!is_asked_again(&scene, &mut rig, "make").await);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_broken_settings_everything_is_asked_whatever_was_answered() {
    let scene = AgentFixture { mode: PermissionMode::Ask, ..AgentFixture::new() };
    scene.put(".slug/settings.local.json", "not json");
    let rules = vec!["Bash(make)".to_owned()];
    let mut rig = answered(&scene, "make", ApprovalAnswer::Always { rules }).await;
    assert!(
        rig.notices().iter().any(|text| text.contains("settings.local.json:1: this is not JSON"))
    );
    assert!(rig.notices().iter().any(|text| text.contains("is not a settings file")));
    assert!(is_asked_again(&scene, &mut rig, "make").await);
    assert_eq!(scene.read(".slug/settings.local.json"), "not json");
    rig.close().await;
}

/// A file of two equal lines, read, and an edit of both.
fn edit_of_both() -> [(&'static str, &'static str, Value); 2] {
    let edit = json!({
        "file_path": "f", "old_string": "old", "new_string": "new", "replace_all": true,
    });
    [("r1", "Read", json!({"file_path": "f"})), ("e1", "Edit", edit)]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_a_part_does_that_part_and_tells_of_the_rest() {
    let scene = AgentFixture::new();
    scene.put("f", "old\nbetween\nold\n");
    let mut rig = scene.open(InitialSession::New).await;
    let [read, edit] = edit_of_both();
    queue_replies(&scene, [calls(&[read]), calls(&[edit]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    assert_eq!(question.preview.as_ref().unwrap().change_count(), 2);
    rig.answer(&question, ApprovalAnswer::Part { left_out: [0].into_iter().collect() }).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(scene.read("f"), "old\nbetween\nnew\n");
    assert_eq!(answers(&rig), [(PermissionOutcome::Allow, "part".into())]);
    assert_eq!(rig.approval_count(), 1, "what was taken is not asked again");
    let (told, status) = rig.result("e1");
    assert_eq!(status, ToolStatus::Done);
    assert!(told.starts_with("The user took 1 of the 2 changes in this call"), "{told}");
    assert!(told.contains("@@ line 1 @@\n-old\n+new\n"), "{told}");
    assert!(told.ends_with("Changed f (+1 -1)."), "{told}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s109_what_runs_of_a_part_is_what_is_on_record() {
    let scene = AgentFixture::new();
    scene.put("f", "old\nbetween\nold\n");
    let mut rig = scene.open(InitialSession::New).await;
    let [read, edit] = edit_of_both();
    queue_replies(&scene, [calls(&[read]), calls(&[edit]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    rig.answer(&question, ApprovalAnswer::Part { left_out: [1].into_iter().collect() }).await;
    rig.wait_for_turn_end().await;
    let ran =
        json!({"file_path": "f", "old_string": "old\nbetween\n", "new_string": "new\nbetween\n"});
    let started = rig.events.iter().find_map(|event| match event {
        AgentEvent::ToolStarted { call, .. } if call.name == "Edit" => Some(call.input.clone()),
        _ => None,
    });
    assert_eq!(started, Some(CallInput::Valid(ran.clone())));
    let on_record = rig.records().into_iter().find_map(|record| match record.entry {
        LogEntry::ToolStarted { call, arguments, approved_by } if call == CallId::new("e1") => {
            Some((arguments, approved_by))
        }
        _ => None,
    });
    let hash = ContentHash::of(ran.to_string().as_bytes());
    assert_eq!(on_record, Some((hash, "person (part)".into())));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s51_a_part_of_a_file_that_has_changed_is_asked_anew() {
    let scene = AgentFixture::new();
    scene.put("f", "old\nbetween\nold\n");
    let mut rig = scene.open(InitialSession::New).await;
    let [read, edit] = edit_of_both();
    queue_replies(&scene, [calls(&[read]), calls(&[edit]), words("done")]);
    rig.send("go").await;
    let question = rig.next_approval().await;
    scene.put("f", "old\nbetween\nold\ntheirs\n");
    rig.answer(&question, ApprovalAnswer::Part { left_out: [1].into_iter().collect() }).await;
    assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(scene.read("f"), "old\nbetween\nold\ntheirs\n");
    let (told, status) = rig.result("e1");
    assert_eq!(status, ToolStatus::Failed);
    assert!(told.contains("has changed since it was read"), "{told}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_cannot_succeed_is_not_asked_about() {
    let scene = AgentFixture::new();
    scene.put("f", "text\n");
    scene.put("unread", "text\n");
    let edit = |id, file: &str, old: &str| {
        (id, "Edit", json!({"file_path": file, "old_string": old, "new_string": "new"}))
    };
    let mut rig = scene.open(InitialSession::New).await;
    let read = ("r1", "Read", json!({"file_path": "f"}));
    let tries = [edit("e1", "f", "nowhere"), edit("e2", "unread", "text"), write("w1", "unread")];
    queue_replies(&scene, [calls(&[read]), calls(&tries), words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    assert_eq!(rig.approval_count(), 0);
    let says = |id, text: &str| {
        let (told, status) = rig.result(id);
        assert!(told.contains(text) && status == ToolStatus::Failed, "{told}");
    };
    says("e1", "`old_string` is not in f.");
    says("e2", "You have not read unread yet.");
    says("w1", "You have not read unread yet.");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s40_what_may_not_be_read_is_not_told_by_a_failing_change() {
    let scene = AgentFixture::new();
    scene.put("secret", "text\n");
    scene.settings(&json!({"permissions": {"ask": ["Read(secret)"], "deny": ["Read(hidden)"]}}));
    let outside = scene.home.join("outside");
    std::fs::write(&outside, "text\n").unwrap();
    let edit = |id, file: &str| {
        (id, "Edit", json!({"file_path": file, "old_string": "nowhere", "new_string": "new"}))
    };
    let mut rig = scene.open(InitialSession::New).await;
    for (id, file) in [("e1", "secret"), ("e2", outside.to_str().unwrap())] {
        queue_replies(&scene, [calls(&[edit(id, file)]), words("done")]);
        rig.send("go").await;
        let question = rig.next_approval().await;
        assert_eq!(question.preview, None, "{file}");
        rig.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
        assert_eq!(rig.wait_for_turn_end().await, TurnOutcome::Answered);
        assert!(rig.result(id).0.starts_with("The user said no."), "{file}");
    }
    scene.put("hidden", "text\n");
    queue_replies(&scene, [calls(&[edit("e3", "hidden")]), words("done")]);
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    assert!(rig.result("e3").0.starts_with("Denied: The rule Read(hidden) refuses it."));
    rig.close().await;
}
