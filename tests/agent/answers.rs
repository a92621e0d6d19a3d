//! Questions before a call runs, and what each answer does.

use serde_json::{Value, json};
use slug_code::agent::{AgentEvent, InitialSession, RuleReply};
use slug_code::domain::{
    ApprovalAnswer, CallId, CallInput, ContentHash, DangerFact, DangerFacts, PermissionMode,
    PermissionOutcome, RuleKind, ToolStatus,
};
use slug_code::permissions::store::ProjectSettingsTrust;
use slug_code::session::{LogEntry, PermissionEntry, TurnOutcome};

use super::fakes::{bash, calls, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies, turn_end};

fn write(id: &'static str, path: &str) -> (&'static str, &'static str, Value) {
    (id, "Write", json!({"file_path": path, "content": "new\n"}))
}

fn answers(agent: &TestAgent) -> Vec<(PermissionOutcome, String)> {
    let of = |entry: PermissionEntry| (entry.decision, entry.answer);
    agent
        .records()
        .into_iter()
        .filter_map(|record| match record.entry {
            LogEntry::Permission(entry) => Some(of(entry)),
            _ => None,
        })
        .collect()
}

/// Runs a turn with one call and this answer, and returns the agent after the turn.
async fn answered(fixture: &AgentFixture, command: &str, answer: ApprovalAnswer) -> TestAgent {
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(fixture, [calls(&[bash("c1", command)]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    agent.answer(&question, answer).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    agent
}

/// Whether the same command is asked again in the next turn.
async fn is_asked_again(fixture: &AgentFixture, agent: &mut TestAgent, command: &str) -> bool {
    let before = agent.approval_count();
    queue_replies(fixture, [calls(&[bash("again", command)]), words("done")]);
    agent.send("once more").await;
    let asked = |event: &AgentEvent| {
        turn_end(event).is_some() || matches!(event, AgentEvent::ApprovalAsked(_))
    };
    if let AgentEvent::ApprovalAsked(question) = agent.wait_for("question or end", asked).await {
        agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
        agent.wait_for_turn_end().await;
    }
    agent.approval_count() > before
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_once_holds_for_one_call() {
    let fixture = AgentFixture::new();
    let mut agent = answered(&fixture, "make", ApprovalAnswer::Once).await;
    assert_eq!(fixture.processes.log(), ["begin make", "end make"]);
    assert_eq!(answers(&agent), [(PermissionOutcome::Allow, "once".into())]);
    assert!(is_asked_again(&fixture, &mut agent, "make").await);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_for_the_session_holds_without_being_saved() {
    let fixture = AgentFixture::new();
    let mut agent =
        answered(&fixture, "make", ApprovalAnswer::Session { rules: vec!["Bash(make)".into()] })
            .await;
    assert!(!is_asked_again(&fixture, &mut agent, "make").await);
    assert_eq!(fixture.read(".slug/settings.local.json"), "");
    agent.close().await;
    let mut agent = fixture.open(InitialSession::New).await;
    assert!(is_asked_again(&fixture, &mut agent, "make").await, "not for the next agent");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_always_is_saved_once_in_the_right_file() {
    for (project, file) in [
        (ProjectSettingsTrust::Trusted, "work/.slug/settings.local.json"),
        (ProjectSettingsTrust::Untrusted, "slug/settings.json"),
    ] {
        let fixture = AgentFixture { project, ..AgentFixture::new() };
        let rules = vec!["Bash(make)".to_owned()];
        let mut agent =
            answered(&fixture, "make", ApprovalAnswer::Always { rules: rules.clone() }).await;
        assert!(!is_asked_again(&fixture, &mut agent, "make").await);
        let file = fixture.work.parent().unwrap().join(file);
        let saved = || -> Value { serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap() };
        assert_eq!(saved(), json!({"permissions": {"allow": ["Bash(make)"]}}), "{project:?}");
        agent.close().await;
        let mut agent = fixture.open(InitialSession::New).await;
        assert!(!is_asked_again(&fixture, &mut agent, "make").await, "{project:?}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_answer_has_saved_is_told_once() {
    let fixture = AgentFixture::new();
    let rule = "Bash(make *)".to_owned();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "make")]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::Never { rule: rule.clone() }).await;
    let is_reply = |event: &AgentEvent| matches!(event, AgentEvent::Rules(_));
    let AgentEvent::Rules(reply) = agent.wait_for("the saved rule", is_reply).await else {
        panic!("no reply")
    };
    let RuleReply::Saved { rules, .. } = *reply else { panic!("{reply:?}") };
    assert_eq!(rules, [(RuleKind::Deny, rule)]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_answers_at_once_are_both_saved() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(
        &fixture,
        [calls(&[bash("c1", "make"), bash("c2", "cargo test")]), words("done")],
    );
    agent.send("go").await;
    let (first, second) = (agent.next_approval().await, agent.next_approval().await);
    for (question, rule) in [(&first, "Bash(make)"), (&second, "Bash(cargo test)")] {
        agent.answer(question, ApprovalAnswer::Always { rules: vec![rule.into()] }).await;
    }
    // The first rule may have the second question asked anew.
    loop {
        match agent.event().await {
            AgentEvent::ApprovalAsked(question) => {
                agent
                    .answer(
                        &question,
                        ApprovalAnswer::Always { rules: vec!["Bash(cargo test)".into()] },
                    )
                    .await;
            }
            event => {
                if let Some((_, outcome)) = turn_end(&event) {
                    break assert_eq!(*outcome, TurnOutcome::Answered);
                }
            }
        }
    }
    let saved: Value = serde_json::from_str(&fixture.read(".slug/settings.local.json")).unwrap();
    let mut rules: Vec<&str> = saved["permissions"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    rules.sort_unstable();
    assert_eq!(rules, ["Bash(cargo test)", "Bash(make)"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_rule_answers_the_other_open_question() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "make a"), bash("c2", "make b")]), words("done")]);
    agent.send("go").await;
    let (first, second) = (agent.next_approval().await, agent.next_approval().await);
    agent.answer(&first, ApprovalAnswer::Session { rules: vec!["Bash(make *)".into()] }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert!(agent.events.contains(&AgentEvent::ApprovalWithdrawn(second.id)));
    assert_eq!(agent.result("c2").1, ToolStatus::Done);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_come_in_the_order_of_the_calls() {
    const IDS: [&str; 8] = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    // The longer the command, the longer it takes to decide on it: the first take longest.
    let commands = IDS.iter().enumerate().map(|(at, &id)| {
        let command = vec![format!("make {id}"); (IDS.len() - at) * 20].join("; ");
        (id, "Bash", json!({"command": command}))
    });
    queue_replies(&fixture, [calls(&commands.collect::<Vec<_>>()), words("done")]);
    agent.send("go").await;
    for id in IDS {
        let question = agent.next_approval().await;
        assert_eq!(question.call.as_str(), id);
    }
    agent.stop().await;
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_never_denies_from_then_on() {
    let fixture = AgentFixture::new();
    let mut agent =
        answered(&fixture, "make", ApprovalAnswer::Never { rule: "Bash(make)".into() }).await;
    assert_eq!(agent.result("c1").1, ToolStatus::Denied);
    let saved: Value = serde_json::from_str(&fixture.read(".slug/settings.local.json")).unwrap();
    assert_eq!(saved["permissions"]["deny"], json!(["Bash(make)"]));
    assert!(!is_asked_again(&fixture, &mut agent, "make").await);
    assert_eq!(agent.result("again").1, ToolStatus::Denied);
    assert_eq!(fixture.processes.log(), [""; 0]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denial_tells_the_model_what_to_do_instead() {
    let fixture = AgentFixture::new();
    let deny = ApprovalAnswer::Deny { instruction: Some("use ninja".into()) };
    let agent = answered(&fixture, "make", deny).await;
    let (result, status) = agent.result("c1");
    assert!(result.contains("use ninja") && status == ToolStatus::Denied, "{result}");
    assert_eq!(fixture.processes.log(), [""; 0]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_call_is_decided_again_and_the_model_is_told() {
    let fixture = AgentFixture::new();
    fixture
        .settings(&json!({"permissions": {"allow": ["Bash(make safe)"], "deny": ["Bash(rm *)"]}}));
    let edited = |command: &str| ApprovalAnswer::Edited { input: json!({"command": command}) };
    let agent = answered(&fixture, "make", edited("make safe")).await;
    assert_eq!(fixture.processes.log(), ["begin make safe", "end make safe"]);
    assert!(agent.result("c1").0.starts_with("The user changed this call."));
    agent.close().await;
    let agent = answered(&fixture, "make", edited("rm -r x")).await;
    assert_eq!(agent.result("c1").1, ToolStatus::Denied, "a deny rule holds for the user's text");
    agent.close().await;

    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "make")]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    agent.answer(&question, edited("make other")).await;
    let question = agent.next_approval().await;
    assert_eq!(question.input["command"], "make other");
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s51_a_file_that_changed_after_the_answer_stays() {
    let fixture = AgentFixture::new();
    fixture.put("f", "old\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let read = ("r1", "Read", json!({"file_path": "f"}));
    queue_replies(&fixture, [calls(&[read]), calls(&[write("w1", "f")]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert_eq!(question.preview.as_ref().unwrap().added, 1);
    fixture.put("f", "theirs\n");
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(agent.result("w1").1, ToolStatus::Failed);
    assert_eq!(fixture.read("f"), "theirs\n");
    agent.close().await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn s51_a_path_that_leads_elsewhere_after_the_answer_is_not_followed() {
    let fixture = AgentFixture::new();
    fixture.put("inside/keep", "");
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[write("w1", "inside/f")]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    std::fs::remove_dir_all(fixture.work.join("inside")).unwrap();
    std::os::unix::fs::symlink(&fixture.home, fixture.work.join("inside")).unwrap();
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(agent.result("w1").1, ToolStatus::Failed);
    assert!(!fixture.home.join("f").exists());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s109_the_same_id_with_other_arguments_is_asked_again() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(
        &fixture,
        [calls(&[bash("c7", "make")]), calls(&[bash("c7", "make install")]), words("done")],
    );
    agent.send("go").await;
    let first = agent.next_approval().await;
    agent.answer(&first, ApprovalAnswer::Once).await;
    let second = agent.next_approval().await;
    assert_ne!(first.id, second.id);
    assert_eq!(second.input["command"], "make install");
    // A second answer to the first question says nothing about this one.
    agent.answer(&first, ApprovalAnswer::Once).await;
    agent.answer(&second, ApprovalAnswer::Deny { instruction: None }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(fixture.processes.log(), ["begin make", "end make"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_cannot_be_saved_holds_until_the_end() {
    let fixture = AgentFixture { mode: PermissionMode::Ask, ..AgentFixture::new() };
    fixture.put(".slug", "a file where the folder goes");
    let rules = vec!["Bash(make)".to_owned()];
    let mut agent = answered(&fixture, "make", ApprovalAnswer::Always { rules }).await;
    assert!(agent.notices().iter().any(|text| text.contains("cannot save the rule")));
    assert!(!is_asked_again(&fixture, &mut agent, "make").await);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_whose_rule_is_none_runs_nothing_and_is_asked_again() {
    let fixture = AgentFixture { mode: PermissionMode::Ask, ..AgentFixture::new() };
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "make")]), words("done")]);
    agent.send("go").await;
    for answer in [
        ApprovalAnswer::Always { rules: vec!["Bash(make".into()] },
        ApprovalAnswer::Session { rules: vec!["all of them".into()] },
        ApprovalAnswer::Never { rule: "Bash(make".into() },
    ] {
        let question = agent.next_approval().await;
        agent.answer(&question, answer).await;
    }
    let question = agent.next_approval().await;
    assert_eq!(agent.notices().iter().filter(|text| text.contains("is not a rule")).count(), 3);
    assert_eq!(fixture.processes.log(), [""; 0]);
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(fixture.processes.log(), ["begin make", "end make"]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_broken_settings_everything_is_asked_whatever_was_answered() {
    let fixture = AgentFixture { mode: PermissionMode::Ask, ..AgentFixture::new() };
    fixture.put(".slug/settings.local.json", "not json");
    let rules = vec!["Bash(make)".to_owned()];
    let mut agent = answered(&fixture, "make", ApprovalAnswer::Always { rules }).await;
    assert!(
        agent.notices().iter().any(|text| text.contains("settings.local.json:1: not valid JSON"))
    );
    assert!(agent.notices().iter().any(|text| text.contains("is not a settings file")));
    assert!(is_asked_again(&fixture, &mut agent, "make").await);
    assert_eq!(fixture.read(".slug/settings.local.json"), "not json");
    agent.close().await;
}

/// A read of a file with two equal lines, and an edit of both.
fn edit_of_both() -> [(&'static str, &'static str, Value); 2] {
    let edit = json!({
        "file_path": "f", "old_string": "old", "new_string": "new", "replace_all": true,
    });
    [("r1", "Read", json!({"file_path": "f"})), ("e1", "Edit", edit)]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partial_approval_does_that_part_and_reports_the_rest() {
    let fixture = AgentFixture::new();
    fixture.put("f", "old\nbetween\nold\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let [read, edit] = edit_of_both();
    queue_replies(&fixture, [calls(&[read]), calls(&[edit]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert_eq!(question.preview.as_ref().unwrap().change_count(), 2);
    agent.answer(&question, ApprovalAnswer::Part { left_out: [0].into_iter().collect() }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(fixture.read("f"), "old\nbetween\nnew\n");
    assert_eq!(answers(&agent), [(PermissionOutcome::Allow, "part".into())]);
    assert_eq!(agent.approval_count(), 1, "what was taken is not asked again");
    let (result, status) = agent.result("e1");
    assert_eq!(status, ToolStatus::Done);
    assert!(result.starts_with("The user took 1 of the 2 changes in this call"), "{result}");
    assert!(result.contains("@@ line 1 @@\n-old\n+new\n"), "{result}");
    assert!(result.ends_with("Changed f (+1 -1)."), "{result}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s109_the_arguments_of_a_partial_approval_are_those_on_record() {
    let fixture = AgentFixture::new();
    fixture.put("f", "old\nbetween\nold\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let [read, edit] = edit_of_both();
    queue_replies(&fixture, [calls(&[read]), calls(&[edit]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::Part { left_out: [1].into_iter().collect() }).await;
    agent.wait_for_turn_end().await;
    let ran =
        json!({"file_path": "f", "old_string": "old\nbetween\n", "new_string": "new\nbetween\n"});
    let started = agent.events.iter().find_map(|event| match event {
        AgentEvent::ToolStarted { call, .. } if call.name == "Edit" => Some(call.input.clone()),
        _ => None,
    });
    assert_eq!(started, Some(CallInput::Valid(ran.clone())));
    let on_record = agent.records().into_iter().find_map(|record| match record.entry {
        LogEntry::ToolStarted { call, arguments, approved_by } if call == CallId::new("e1") => {
            Some((arguments, approved_by))
        }
        _ => None,
    });
    let hash = ContentHash::of(ran.to_string().as_bytes());
    assert_eq!(on_record, Some((hash, "user (part)".into())));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s51_a_part_of_a_file_that_has_changed_is_asked_anew() {
    let fixture = AgentFixture::new();
    fixture.put("f", "old\nbetween\nold\n");
    let mut agent = fixture.open(InitialSession::New).await;
    let [read, edit] = edit_of_both();
    queue_replies(&fixture, [calls(&[read]), calls(&[edit]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    fixture.put("f", "old\nbetween\nold\ntheirs\n");
    agent.answer(&question, ApprovalAnswer::Part { left_out: [1].into_iter().collect() }).await;
    let question = agent.next_approval().await;
    assert_eq!(fixture.read("f"), "old\nbetween\nold\ntheirs\n");
    agent.answer(&question, ApprovalAnswer::Part { left_out: [1].into_iter().collect() }).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(fixture.read("f"), "new\nbetween\nold\ntheirs\n");
    let (result, status) = agent.result("e1");
    assert_eq!(status, ToolStatus::Done);
    assert!(result.contains("The file had changed since you read it"), "{result}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_cannot_succeed_is_not_asked_about() {
    let fixture = AgentFixture::new();
    fixture.put("f", "text\n");
    fixture.put("unread", "text\n");
    let edit = |id, file: &str, old: &str| {
        (id, "Edit", json!({"file_path": file, "old_string": old, "new_string": "new"}))
    };
    let mut agent = fixture.open(InitialSession::New).await;
    let read = ("r1", "Read", json!({"file_path": "f"}));
    let tries =
        [edit("e1", "f", "nowhere"), edit("e2", "unread", "nowhere"), write("w1", "unread")];
    queue_replies(&fixture, [calls(&[read]), calls(&tries), words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert_eq!(agent.approval_count(), 0);
    let says = |id, text: &str| {
        let (result, status) = agent.result(id);
        assert!(result.contains(text) && status == ToolStatus::Failed, "{result}");
    };
    says("e1", "`old_string` is not in f.");
    says("e2", "`old_string` is not in unread, and you have not read unread yet.");
    says("w1", "You have not read unread yet.");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s40_a_failing_change_reveals_nothing_of_a_file_that_may_not_be_read() {
    let fixture = AgentFixture::new();
    fixture.put("secret", "text\n");
    fixture.settings(&json!({"permissions": {"ask": ["Read(secret)"], "deny": ["Read(hidden)"]}}));
    let outside = fixture.home.join("outside");
    std::fs::write(&outside, "text\n").unwrap();
    let edit = |id, file: &str| {
        (id, "Edit", json!({"file_path": file, "old_string": "nowhere", "new_string": "new"}))
    };
    let mut agent = fixture.open(InitialSession::New).await;
    for (id, file) in [("e1", "secret"), ("e2", outside.to_str().unwrap())] {
        queue_replies(&fixture, [calls(&[edit(id, file)]), words("done")]);
        agent.send("go").await;
        let question = agent.next_approval().await;
        assert_eq!(question.preview, None, "{file}");
        agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
        assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
        assert!(agent.result(id).0.starts_with("The user said no."), "{file}");
    }
    fixture.put("hidden", "text\n");
    queue_replies(&fixture, [calls(&[edit("e3", "hidden")]), words("done")]);
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert!(agent.result("e3").0.starts_with("Denied: The rule Read(hidden) denies it."));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_deleting_says_how_much_and_nothing_is_deleted_for_it() {
    let fixture = AgentFixture::new();
    let build = fixture.work.join("build");
    std::fs::create_dir(&build).unwrap();
    for name in ["a", "b"] {
        std::fs::write(build.join(name), "12345").unwrap();
    }
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [calls(&[bash("c1", "rm -rf build/")]), words("done")]);
    agent.send("go").await;
    let question = agent.next_approval().await;
    // The question is there first, whatever the count takes.
    assert_eq!(question.facts, DangerFacts::Pending);
    let told = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalFacts { .. });
    let AgentEvent::ApprovalFacts { id, facts } = agent.wait_for("facts", told).await else {
        unreachable!("the event that was waited for")
    };
    assert_eq!(id, question.id);
    let counted = DangerFact::Files { count: 2, bytes: 10, tracked: None, is_partial: false };
    assert_eq!(facts, [counted]);
    assert!(build.join("a").exists());
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    agent.wait_for_turn_end().await;
    // An answer does not wait for the count.
    queue_replies(&fixture, [calls(&[bash("c3", "rm -rf build/")]), words("done")]);
    agent.send("again").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::Once).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    // Where nothing is hard to take back, nothing is counted.
    queue_replies(&fixture, [calls(&[bash("c2", "make")]), words("done")]);
    agent.send("go on").await;
    let question = agent.next_approval().await;
    assert_eq!(question.facts, DangerFacts::Unknown);
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    agent.wait_for_turn_end().await;
}
