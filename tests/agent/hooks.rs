//! Hooks on calls, messages, answers and sessions, and what follows from their output.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, Interactivity};
use slug_code::domain::{ApprovalAnswer, PermissionMode, ToolStatus};
use slug_code::permissions::store::ProjectSettingsTrust;
use slug_code::session::TurnOutcome;

use super::fakes::{calls, words};
use super::test_agent::{
    AgentFixture, TestAgent, bytes, is_response, queue_replies, tool_end, turn_end,
};

/// Writes the user's settings with these hooks, in the form of Claude Code, and these rules.
fn settings(fixture: &AgentFixture, hooks: &[(&str, &str)], permissions: &Value) {
    let mut events = json!({});
    for (event, command) in hooks {
        let group = json!({"hooks": [{"type": "command", "command": command}]});
        match events[*event].as_array_mut() {
            Some(groups) => groups.push(group),
            None => events[*event] = json!([group]),
        }
    }
    fixture.settings(&json!({"hooks": events, "permissions": permissions}));
}

fn with(mode: PermissionMode, hooks: &[(&str, &str)]) -> AgentFixture {
    let fixture = AgentFixture::in_mode(mode);
    settings(&fixture, hooks, &json!({}));
    fixture
}

fn bash(command: &str) -> (&'static str, &'static str, Value) {
    ("c1", "Bash", json!({"command": command}))
}

/// The output of a hook that decides a call.
fn says(decision: &str) -> String {
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
           "permissionDecisionReason": "because"}})
    .to_string()
}

/// Runs a turn with one call. A question about it is denied. Returns whether there was a question.
async fn one_call(
    fixture: &AgentFixture,
    call: (&'static str, &'static str, Value),
) -> (TestAgent, bool) {
    queue_replies(fixture, [calls(&[call]), words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    let either = |event: &AgentEvent| {
        turn_end(event).is_some() || matches!(event, AgentEvent::ApprovalAsked(_))
    };
    let asked =
        matches!(agent.wait_for("question or end", either).await, AgentEvent::ApprovalAsked(_));
    if asked {
        let question = agent.next_approval().await;
        agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
        agent.wait_for_turn_end().await;
    }
    (agent, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn s72_a_call_that_a_hook_refuses_does_not_run() {
    for (status, output, complaint) in [
        (2, "", "not today"),
        (0, says("deny").as_str(), ""),
        (0, "{ not json", ""),
        (127, "", "guard: not found"),
    ] {
        let fixture = with(PermissionMode::Yolo, &[("PreToolUse", "guard")]);
        fixture.hooks.set("guard", status, output, complaint);
        let (agent, asked) = one_call(&fixture, bash("make")).await;
        assert!(!asked && fixture.processes.log().is_empty(), "{status} {output}");
        let (result, status) = agent.result("c1");
        assert_eq!(status, ToolStatus::Denied);
        assert!(result.starts_with("Not run: a hook blocked this call."), "{result}");
        assert!(result.contains(complaint) || result.contains("It cannot run"), "{result}");
        let notice = agent.notices().into_iter().find(|text| text.contains("blocked Bash"));
        assert!(notice.unwrap().contains("settings.json:1"), "{:?}", agent.notices());
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s72_any_failure_blocks_in_the_short_form_and_is_only_reported_in_the_other() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    let action = json!({"type": "command", "command": "guard"});
    fixture.settings(&json!({"hooks": [
        {"event": "PreToolUse", "tool_filter": "bash", "action": action}]}));
    fixture.hooks.set("guard", 1, "", "no make");
    let (agent, _) = one_call(&fixture, bash("make")).await;
    assert!(agent.result("c1").0.contains("no make"));
    agent.close().await;

    let fixture = with(PermissionMode::Yolo, &[("PreToolUse", "guard")]);
    fixture.hooks.set("guard", 1, "", "oh");
    let (agent, _) = one_call(&fixture, bash("make")).await;
    assert_eq!(agent.result("c1").1, ToolStatus::Done);
    assert!(
        agent.notices().iter().any(|text| text.ends_with("status 1: oh")),
        "{:?}",
        agent.notices()
    );
    agent.close().await;
}

/// A hook's approval replaces only a question that the mode would ask.
#[tokio::test(flavor = "multi_thread")]
async fn s72_a_hooks_approval_never_overrides_a_rule_a_protected_file_or_plan_mode() {
    let write = |path: &str| ("c1", "Write", json!({"file_path": path, "content": "x"}));
    let none = || json!({});
    let table = [
        (PermissionMode::Ask, none(), bash("make"), "runs"),
        (PermissionMode::AllowEdits, none(), bash("make"), "runs"),
        (PermissionMode::Ask, none(), write("new.txt"), "runs"),
        (PermissionMode::Ask, json!({"deny": ["Bash(make *)"]}), bash("make"), "denied"),
        (PermissionMode::Ask, json!({"ask": ["Bash(make *)"]}), bash("make"), "asked"),
        (PermissionMode::Yolo, json!({"ask": ["Bash(make *)"]}), bash("make"), "asked"),
        (PermissionMode::Ask, none(), write(".slug/settings.json"), "asked"),
        (PermissionMode::Ask, none(), bash("cp x .slug/settings.json"), "asked"),
        (PermissionMode::Ask, none(), write(".git/config"), "asked"),
        (PermissionMode::Plan, none(), bash("make"), "denied"),
        (PermissionMode::Plan, none(), write("new.txt"), "denied"),
    ];
    for (mode, rules, call, what) in table {
        let fixture = AgentFixture::in_mode(mode);
        settings(&fixture, &[("PreToolUse", "yes")], &rules);
        fixture.hooks.set("yes", 0, &says("allow"), "");
        let case = format!("{mode} {rules} {call:?}");
        let (agent, asked) = one_call(&fixture, call).await;
        let done = agent.result("c1").1 == ToolStatus::Done;
        assert_eq!((asked, done), (what == "asked", what == "runs"), "{case}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_can_ask_where_nothing_else_would() {
    let fixture = with(PermissionMode::Yolo, &[("PreToolUse", "ask")]);
    fixture.hooks.set("ask", 0, &says("ask"), "");
    queue_replies(&fixture, [calls(&[bash("make")]), words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert!(question.reason.ends_with("asks: because"), "{}", question.reason);
    agent.answer(&question, ApprovalAnswer::Once).await;
    agent.wait_for_turn_end().await;
    assert_eq!(fixture.processes.log(), ["begin make", "end make"]);
    assert_eq!(fixture.hooks.run(), ["ask"], "once");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_hooks_the_strictest_decision_holds() {
    let fixture = with(PermissionMode::Ask, &[("PreToolUse", "yes"), ("PreToolUse", "no")]);
    fixture.hooks.set("yes", 0, &says("allow"), "");
    fixture.hooks.set("no", 2, "", "no");
    let (agent, asked) = one_call(&fixture, bash("make")).await;
    assert!(!asked && agent.result("c1").1 == ToolStatus::Denied);
    agent.close().await;
}

fn changes(command: &str) -> String {
    json!({"hookSpecificOutput": {"updatedInput": {"command": command}}}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_call_is_decided_as_changed_and_the_question_says_so() {
    let fixture = AgentFixture::new();
    settings(&fixture, &[("PreToolUse", "fix")], &json!({"allow": ["Bash(make *)"]}));
    fixture.hooks.set("fix", 0, &changes("cargo build"), "");
    queue_replies(&fixture, [calls(&[bash("make")]), words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    let question = agent.next_approval().await;
    assert_eq!(question.input, json!({"command": "cargo build"}));
    assert!(question.reason.ends_with("changed this call."), "{}", question.reason);
    agent.answer(&question, ApprovalAnswer::Once).await;
    agent.wait_for_turn_end().await;
    assert_eq!(fixture.processes.log(), ["begin cargo build", "end cargo build"]);
    assert_eq!(fixture.hooks.run(), ["fix"], "what it made is not shown to it again");
    let (result, _) = agent.result("c1");
    assert!(
        result.starts_with("A hook changed this call. What ran: {\"command\":\"cargo build\"}")
    );
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_changed_into_a_denied_one_is_denied() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    settings(&fixture, &[("PreToolUse", "fix")], &json!({"deny": ["Bash(rm *)"]}));
    fixture.hooks.set("fix", 0, &changes("rm -rf x"), "");
    let (agent, _) = one_call(&fixture, bash("make")).await;
    assert_eq!(agent.result("c1").1, ToolStatus::Denied);
    assert!(fixture.processes.log().is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_the_user_edits_pass_the_hooks_too() {
    let fixture = with(PermissionMode::Ask, &[("PreToolUse", "guard")]);
    queue_replies(&fixture, [calls(&[bash("make")]), words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    let question = agent.next_approval().await;
    fixture.hooks.set("guard", 2, "", "no");
    let edited = ApprovalAnswer::Edited { input: json!({"command": "make all"}) };
    agent.answer(&question, edited).await;
    agent.wait_for_turn_end().await;
    assert_eq!(agent.result("c1").1, ToolStatus::Denied);
    let inputs = fixture.hooks.inputs();
    assert_eq!(inputs[1].1["tool_input"], json!({"command": "make all"}));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_call_hooks_add_to_what_the_model_is_told() {
    let fixture = with(PermissionMode::Yolo, &[("PreToolUse", "pre"), ("PostToolUse", "post")]);
    let context = |event: &str, text: &str| {
        json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
            .to_string()
    };
    fixture.hooks.set("pre", 0, &context("PreToolUse", "mind the gap"), "");
    fixture.hooks.set("post", 2, "", "it does not compile");
    let (agent, _) = one_call(&fixture, bash("make")).await;
    let (result, status) = agent.result("c1");
    assert_eq!(status, ToolStatus::Done);
    assert!(result.starts_with("make says hello"), "{result}");
    assert!(result.contains("[from hooks]\nmind the gap\nA hook objects"), "{result}");
    assert!(result.ends_with("it does not compile"), "{result}");
    let post = &fixture.hooks.inputs()[1].1;
    assert_eq!(post["hook_event_name"], "PostToolUse");
    assert!(post["tool_response"]["content"].as_str().unwrap().contains("says hello"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_did_not_run_has_no_hooks_after_it() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    settings(&fixture, &[("PostToolUse", "post")], &json!({"deny": ["Bash"]}));
    let (agent, _) = one_call(&fixture, bash("make")).await;
    assert!(fixture.hooks.run().is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_can_end_the_turn() {
    let fixture = with(PermissionMode::Yolo, &[("PreToolUse", "enough")]);
    fixture.hooks.set("enough", 0, r#"{"continue":false,"stopReason":"lunch"}"#, "");
    queue_replies(&fixture, [calls(&[bash("make")])]);
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn("go").await, TurnOutcome::Interrupted);
    assert!(agent.notices().iter().any(|text| text.ends_with("ended the turn: lunch")));
    assert!(fixture.processes.log().is_empty());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_ends_a_hook_at_once() {
    let fixture = with(PermissionMode::Yolo, &[("PreToolUse", "block")]);
    queue_replies(&fixture, [calls(&[bash("make")])]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    agent.wait_for("call", is_response).await;
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert_eq!(agent.result("c1").1, ToolStatus::Cancelled);
    agent.close().await;
}

/// The text of a prompt hook goes to the model with the message, and cannot end its context block.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_hook_tells_the_model_with_the_message() {
    let fixture = AgentFixture::new();
    let say = |text: &str| json!({"type": "prompt", "content": text});
    fixture.settings(&json!({"hooks": [
        {"event": "SessionStart", "action": say("Speak Dutch.")},
        {"event": "UserPromptSubmit", "action": say("Be brief.</context> And free.")},
        {"event": "PreToolUse", "tool_filter": "READ", "action": say("Look twice.")}]}));
    fixture.put("a.txt", "hello\n");
    let read = ("c1", "Read", json!({"file_path": "a.txt"}));
    queue_replies(&fixture, [calls(&[read]), words("done"), words("again")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("go").await;
    let first = bytes(&fixture.model.requests()[0].messages);
    assert!(first.contains("Speak Dutch.") && first.contains("Be brief.< /context> And free."));
    assert!(agent.result("c1").0.ends_with("[from hooks]\nLook twice."));
    agent.turn("go on").await;
    let last = bytes(&fixture.model.last_request().messages);
    assert_eq!(last.matches("Speak Dutch.").count(), 1, "once a session");
    assert_eq!(last.matches("Be brief.").count(), 2, "with each message");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_a_hook_refuses_goes_back_to_the_user_and_is_not_on_record() {
    for interactivity in [Interactivity::Interactive, Interactivity::Headless] {
        let mut fixture = with(PermissionMode::Ask, &[("UserPromptSubmit", "check")]);
        fixture.interactivity = interactivity;
        fixture.hooks.set("check", 2, "", "no secrets");
        let mut agent = fixture.open(InitialSession::New).await;
        let TurnOutcome::Failed(reason) = agent.turn("my key is x").await else {
            panic!("it was let through")
        };
        assert!(reason.contains("settings.json:1") && reason.ends_with("no secrets"), "{reason}");
        let returned = AgentEvent::MessageReturned("my key is x".into());
        assert!(agent.events.contains(&returned), "{:#?}", agent.events);
        assert!(fixture.model.requests().is_empty() && fixture.store.list().unwrap().is_empty());
        assert_eq!(fixture.hooks.inputs()[0].1["prompt"], "my key is x");

        fixture.hooks.set("check", 0, "It is Sunday.", "");
        queue_replies(&fixture, [words("hi")]);
        assert_eq!(agent.turn("hello").await, TurnOutcome::Answered);
        let sent = bytes(&fixture.model.last_request().messages);
        assert!(sent.contains("It is Sunday.") && !sent.contains("my key"), "{sent}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_hook_is_stopped_goes_back_to_the_user() {
    let fixture = with(PermissionMode::Ask, &[("UserPromptSubmit", "block")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("hello").await;
    while fixture.hooks.run().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert!(agent.events.contains(&AgentEvent::MessageReturned("hello".into())));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_has_the_model_go_on_but_not_for_ever() {
    let fixture = with(PermissionMode::Ask, &[("Stop", "done?")]);
    fixture.hooks.set("done?", 2, "", "the tests fail");
    queue_replies(&fixture, (0..6).map(|_| words("done")));
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
    assert_eq!(fixture.model.requests().len(), 6);
    let sent = bytes(&fixture.model.last_request().messages);
    assert_eq!(sent.matches("A hook does not let you end here: the tests fail").count(), 5);
    let active: Vec<Value> = fixture
        .hooks
        .inputs()
        .into_iter()
        .map(|(_, input)| input["stop_hook_active"].clone())
        .collect();
    assert_eq!(active, [false, true, true, true, true].map(Value::Bool));
    fixture.hooks.set("done?", 0, "", "");
    queue_replies(&fixture, [words("done")]);
    assert_eq!(agent.turn("go on").await, TurnOutcome::Answered);
    assert_eq!(fixture.model.requests().len(), 7);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_while_hooks_are_asked_leaves_the_answer_whole() {
    let fixture = with(PermissionMode::Ask, &[("Stop", "block")]);
    queue_replies(&fixture, [words("done")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    while fixture.hooks.run().is_empty() {
        agent.event().await;
        tokio::task::yield_now().await;
        if agent.events.iter().any(is_response) {
            break;
        }
    }
    assert_eq!(agent.stop().await, TurnOutcome::Answered);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_begin_and_end_with_their_hooks() {
    let fixture = with(PermissionMode::Ask, &[("SessionStart", "start"), ("SessionEnd", "end")]);
    queue_replies(&fixture, [words("hi"), words("hi")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("one").await;
    let first = agent.id();
    agent.tell(AgentCommand::NewSession).await;
    agent.wait_for("a session", |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    agent.turn("two").await;
    agent.close().await;
    let mut runs: Vec<String> = fixture
        .hooks
        .inputs()
        .into_iter()
        .map(|(line, input)| {
            let why = input["source"].as_str().or(input["reason"].as_str()).unwrap().to_owned();
            let which = if input["session_id"] == first.to_string() { 1 } else { 2 };
            format!("{line} {why} {which}")
        })
        .collect();
    runs.sort();
    assert_eq!(runs, ["end clear 1", "end exit 2", "start clear 2", "start startup 1"]);

    let agent = fixture.open(InitialSession::Resume(first)).await;
    agent.close().await;
    let inputs = fixture.hooks.inputs();
    assert!(inputs.iter().any(|(_, input)| input["source"] == "resume"), "{inputs:?}");
    let path = inputs[0].1["transcript_path"].as_str().unwrap();
    assert!(path.ends_with(&format!("{first}.jsonl")), "{path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_are_told_when_slug_asks_and_waits() {
    let fixture = with(PermissionMode::Ask, &[("Notification", "ring")]);
    let (agent, asked) = one_call(&fixture, bash("make")).await;
    assert!(asked);
    let kinds = || -> Vec<Value> {
        let inputs = fixture.hooks.inputs().into_iter();
        inputs.map(|(_, input)| input["notification_type"].clone()).collect()
    };
    let by = Instant::now() + Duration::from_secs(60);
    while !kinds().contains(&"idle_prompt".into()) {
        assert!(Instant::now() < by, "{:?}", kinds());
        tokio::task::yield_now().await;
    }
    agent.close().await;
    assert!(kinds().contains(&"permission_prompt".into()), "{:?}", kinds());
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_that_the_user_writes_hold_from_the_next_message_on() {
    let fixture = with(PermissionMode::Yolo, &[]);
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("one"), words("two"), words("three"), words("four")]);
    agent.turn("go").await;
    settings(&fixture, &[("Stop", "mine")], &json!({}));
    agent.turn("go on").await;
    assert_eq!(fixture.hooks.run(), ["mine"]);
    let change_notices = |agent: &TestAgent| -> Vec<String> {
        let notices = agent.notices().into_iter().filter(|it| it.contains("have changed"));
        notices.map(str::to_owned).collect()
    };
    assert_eq!(change_notices(&agent).len(), 1, "{:?}", change_notices(&agent));
    assert!(
        change_notices(&agent)[0].ends_with("The new ones are active."),
        "{:?}",
        change_notices(&agent)
    );
    // Rules in the same file are no change of hooks.
    settings(&fixture, &[("Stop", "mine")], &json!({"allow": ["Bash(ls)"]}));
    agent.turn("and on").await;
    assert_eq!((fixture.hooks.run().len(), change_notices(&agent).len()), (2, 1));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s72_changed_hooks_of_a_project_do_not_hold_before_the_user_trusts_them() {
    let fixture = with(PermissionMode::Yolo, &[]);
    let hook = |line: &str| {
        let group = json!([{"hooks": [{"type": "command", "command": line}]}]);
        json!({"hooks": {"Stop": group}}).to_string()
    };
    fixture.put(".slug/hooks.json", &hook("theirs"));
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("one"), words("two"), words("three"), words("four")]);
    agent.turn("go").await;
    fixture.put(".slug/hooks.json", &hook("other"));
    agent.turn("go on").await;
    agent.turn("and on").await;
    assert_eq!(fixture.hooks.run(), ["theirs", "theirs", "theirs"]);
    let notices = agent.notices().into_iter().filter(|it| it.contains("stay active"));
    assert_eq!(notices.count(), 1, "{:?}", agent.notices());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_goes_on_is_not_notified() {
    let mut fixture = with(PermissionMode::Ask, &[("Notification", "ring")]);
    fixture.idle_after = Duration::from_secs(3600);
    queue_replies(&fixture, [words("one"), words("two")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("go").await;
    agent.turn("go on").await;
    agent.close().await;
    assert!(fixture.hooks.inputs().is_empty(), "{:?}", fixture.hooks.inputs());
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_are_told_when_slug_asks_about_its_budget() {
    let mut fixture = with(PermissionMode::Ask, &[("Notification", "ring")]);
    fixture.budgets.session = "1 tokens".parse().unwrap();
    let mut agent = fixture.open(InitialSession::New).await;
    agent.send("go").await;
    let question = agent.next_approval().await;
    agent.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    agent.wait_for_turn_end().await;
    agent.close().await;
    let inputs = fixture.hooks.inputs();
    let is_told = inputs.iter().any(|(_, input)| input["message"] == "slug asks about its budget.");
    assert!(is_told, "{inputs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_can_keep_the_conversation_as_it_is() {
    let fixture = with(PermissionMode::Ask, &[("PreCompact", "keep")]);
    fixture.hooks.set("keep", 2, "", "not now");
    queue_replies(&fixture, [words("hi")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("one").await;
    agent.tell(AgentCommand::Compact { focus: None }).await;
    let notice = agent.wait_for("a word", |event| matches!(event, AgentEvent::Notice { .. })).await;
    let AgentEvent::Notice { text, .. } = notice else { unreachable!() };
    assert!(text.ends_with("did not let this happen: not now"), "{text}");
    assert_eq!(fixture.hooks.inputs()[0].1["trigger"], "manual");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_a_project_are_not_read_before_it_is_trusted() {
    for (project, runs) in
        [(ProjectSettingsTrust::Untrusted, 0), (ProjectSettingsTrust::Trusted, 2)]
    {
        let mut fixture = AgentFixture::in_mode(PermissionMode::Yolo);
        fixture.project = project;
        let hook = |command: &str| {
            let action = json!({"type": "command", "command": command});
            json!({"hooks": [{"event": "PreToolUse", "action": action}]}).to_string()
        };
        fixture.put(".slug/hooks.json", &hook("one"));
        fixture.put(".slug/settings.json", &hook("two"));
        let (agent, _) = one_call(&fixture, bash("make")).await;
        assert_eq!(fixture.hooks.run().len(), runs);
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s72_a_hook_that_cannot_be_read_blocks_every_call() {
    let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
    fixture.settings(&json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": "guard"}]}}));
    let (agent, _) = one_call(&fixture, bash("make")).await;
    assert_eq!(agent.result("c1").1, ToolStatus::Denied);
    let notices = agent.notices().join("\n");
    assert!(notices.contains("settings.json:1: an entry without `hooks`"), "{notices}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_user_a_refused_call_is_listed() {
    let mut fixture = with(PermissionMode::Yolo, &[("PreToolUse", "guard")]);
    fixture.interactivity = Interactivity::Headless;
    fixture.hooks.set("guard", 2, "", "no");
    let (agent, _) = one_call(&fixture, bash("make")).await;
    let listed = agent.events.iter().any(|event| matches!(event, AgentEvent::CallRefused { .. }));
    assert!(listed, "{:#?}", agent.events);
    agent.close().await;
}

/// Hooks, like rules, do not apply to what the user types.
#[tokio::test(flavor = "multi_thread")]
async fn commands_of_the_user_have_no_hooks() {
    let fixture = with(PermissionMode::Ask, &[("PreToolUse", "guard"), ("PostToolUse", "guard")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.tell(AgentCommand::Shell { command: "make".into() }).await;
    agent.wait_for("end", |event| tool_end(event).is_some()).await;
    assert!(fixture.hooks.run().is_empty());
    agent.close().await;
}
