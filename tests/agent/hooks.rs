//! Hooks on the way of calls, messages, answers and sessions, and what their words come to.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, Interactivity};
use slug_code::domain::{ApprovalAnswer, PermissionMode, ToolStatus};
use slug_code::permissions::store::ProjectSettingsTrust;
use slug_code::session::TurnOutcome;

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, TestAgent, bytes, queue_replies};

/// The person's settings with these hooks in the form in wide use, and these rules.
fn settings(scene: &AgentFixture, hooks: &[(&str, &str)], permissions: &Value) {
    let mut events = json!({});
    for (event, command) in hooks {
        let group = json!({"hooks": [{"type": "command", "command": command}]});
        match events[*event].as_array_mut() {
            Some(groups) => groups.push(group),
            None => events[*event] = json!([group]),
        }
    }
    scene.settings(&json!({"hooks": events, "permissions": permissions}));
}

fn with(mode: PermissionMode, hooks: &[(&str, &str)]) -> AgentFixture {
    let scene = AgentFixture::in_mode(mode);
    settings(&scene, hooks, &json!({}));
    scene
}

fn bash(command: &str) -> (&'static str, &'static str, Value) {
    ("c1", "Bash", json!({"command": command}))
}

/// What a hook prints of a call.
fn says(decision: &str) -> String {
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
           "permissionDecisionReason": "because"}})
    .to_string()
}

/// A turn with one call, whose question, if one comes, gets a no. Says whether one came.
async fn one_call(
    scene: &AgentFixture,
    call: (&'static str, &'static str, Value),
) -> (TestAgent, bool) {
    queue_replies(scene, [calls(&[call]), words("done")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("go").await;
    let either = |event: &AgentEvent| {
        matches!(event, AgentEvent::ApprovalAsked(_) | AgentEvent::TurnEnded { .. })
    };
    let asked =
        matches!(rig.wait_for("question or end", either).await, AgentEvent::ApprovalAsked(_));
    if asked {
        let question = rig.next_approval().await;
        rig.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
        rig.wait_for_turn_end().await;
    }
    (rig, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn s72_a_call_that_a_hook_refuses_does_not_run() {
    for (status, output, complaint) in [
        (2, "", "not today"),
        (0, says("deny").as_str(), ""),
        (0, "{ not json", ""),
        (127, "", "guard: not found"),
    ] {
        let scene = with(PermissionMode::Yolo, &[("PreToolUse", "guard")]);
        scene.hooks.set("guard", status, output, complaint);
        let (rig, asked) = one_call(&scene, bash("make")).await;
        assert!(!asked && scene.processes.log().is_empty(), "{status} {output}");
        let (told, how) = rig.result("c1");
        assert_eq!(how, ToolStatus::Denied);
        assert!(told.starts_with("Not run: a hook blocked this call."), "{told}");
        assert!(told.contains(complaint) || told.contains("It cannot be run"), "{told}");
        let notice = rig.notices().into_iter().find(|text| text.contains("blocked Bash"));
        assert!(notice.unwrap().contains("settings.json:1"), "{:?}", rig.notices());
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s72_any_failure_of_the_short_form_blocks_and_any_other_failure_is_told_and_passed() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    let action = json!({"type": "command", "command": "guard"});
    scene.settings(&json!({"hooks": [
        {"event": "PreToolUse", "tool_filter": "bash", "action": action}]}));
    scene.hooks.set("guard", 1, "", "no make");
    let (rig, _) = one_call(&scene, bash("make")).await;
    assert!(rig.result("c1").0.contains("no make"));
    rig.close().await;

    let scene = with(PermissionMode::Yolo, &[("PreToolUse", "guard")]);
    scene.hooks.set("guard", 1, "", "oh");
    let (rig, _) = one_call(&scene, bash("make")).await;
    assert_eq!(rig.result("c1").1, ToolStatus::Done);
    assert!(rig.notices().iter().any(|text| text.ends_with("status 1: oh")), "{:?}", rig.notices());
    rig.close().await;
}

/// A hook's yes answers what the mode would ask, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn s72_a_yes_never_beats_a_rule_a_protected_place_or_plan_mode() {
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
        let scene = AgentFixture::in_mode(mode);
        settings(&scene, &[("PreToolUse", "yes")], &rules);
        scene.hooks.set("yes", 0, &says("allow"), "");
        let case = format!("{mode} {rules} {call:?}");
        let (rig, asked) = one_call(&scene, call).await;
        let done = rig.result("c1").1 == ToolStatus::Done;
        assert_eq!((asked, done), (what == "asked", what == "runs"), "{case}");
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_can_ask_where_nothing_else_would() {
    let scene = with(PermissionMode::Yolo, &[("PreToolUse", "ask")]);
    scene.hooks.set("ask", 0, &says("ask"), "");
    queue_replies(&scene, [calls(&[bash("make")]), words("done")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("go").await;
    let question = rig.next_approval().await;
    assert!(question.reason.ends_with("asks: because"), "{}", question.reason);
    rig.answer(&question, ApprovalAnswer::Once).await;
    rig.wait_for_turn_end().await;
    assert_eq!(scene.processes.log(), ["begin make", "end make"]);
    assert_eq!(scene.hooks.run(), ["ask"], "once");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_hooks_the_strictest_word_holds() {
    let scene = with(PermissionMode::Ask, &[("PreToolUse", "yes"), ("PreToolUse", "no")]);
    scene.hooks.set("yes", 0, &says("allow"), "");
    scene.hooks.set("no", 2, "", "no");
    let (rig, asked) = one_call(&scene, bash("make")).await;
    assert!(!asked && rig.result("c1").1 == ToolStatus::Denied);
    rig.close().await;
}

fn changes(command: &str) -> String {
    json!({"hookSpecificOutput": {"updatedInput": {"command": command}}}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_call_is_decided_as_changed_and_the_question_says_so() {
    let scene = AgentFixture::new();
    settings(&scene, &[("PreToolUse", "fix")], &json!({"allow": ["Bash(make *)"]}));
    scene.hooks.set("fix", 0, &changes("cargo build"), "");
    queue_replies(&scene, [calls(&[bash("make")]), words("done")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("go").await;
    let question = rig.next_approval().await;
    assert_eq!(question.input, json!({"command": "cargo build"}));
    assert!(question.reason.ends_with("changed this call."), "{}", question.reason);
    rig.answer(&question, ApprovalAnswer::Once).await;
    rig.wait_for_turn_end().await;
    assert_eq!(scene.processes.log(), ["begin cargo build", "end cargo build"]);
    assert_eq!(scene.hooks.run(), ["fix"], "what it made is not shown to it again");
    let (told, _) = rig.result("c1");
    assert!(told.starts_with("A hook changed this call. What ran: {\"command\":\"cargo build\"}"));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_changed_into_a_denied_one_is_denied() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    settings(&scene, &[("PreToolUse", "fix")], &json!({"deny": ["Bash(rm *)"]}));
    scene.hooks.set("fix", 0, &changes("rm -rf x"), "");
    let (rig, _) = one_call(&scene, bash("make")).await;
    assert_eq!(rig.result("c1").1, ToolStatus::Denied);
    assert!(scene.processes.log().is_empty());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_person_writes_instead_passes_the_hooks_too() {
    let scene = with(PermissionMode::Ask, &[("PreToolUse", "guard")]);
    queue_replies(&scene, [calls(&[bash("make")]), words("done")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("go").await;
    let question = rig.next_approval().await;
    scene.hooks.set("guard", 2, "", "no");
    let edited = ApprovalAnswer::Edited { input: json!({"command": "make all"}) };
    rig.answer(&question, edited).await;
    rig.wait_for_turn_end().await;
    assert_eq!(rig.result("c1").1, ToolStatus::Denied);
    let told = scene.hooks.inputs();
    assert_eq!(told[1].1["tool_input"], json!({"command": "make all"}));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_call_hooks_add_to_what_the_model_is_told() {
    let scene = with(PermissionMode::Yolo, &[("PreToolUse", "pre"), ("PostToolUse", "post")]);
    let context = |event: &str, text: &str| {
        json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
            .to_string()
    };
    scene.hooks.set("pre", 0, &context("PreToolUse", "mind the gap"), "");
    scene.hooks.set("post", 2, "", "it does not compile");
    let (rig, _) = one_call(&scene, bash("make")).await;
    let (told, status) = rig.result("c1");
    assert_eq!(status, ToolStatus::Done);
    assert!(told.starts_with("make says hello"), "{told}");
    assert!(told.contains("[from hooks]\nmind the gap\nA hook objects"), "{told}");
    assert!(told.ends_with("it does not compile"), "{told}");
    let post = &scene.hooks.inputs()[1].1;
    assert_eq!(post["hook_event_name"], "PostToolUse");
    assert!(post["tool_response"]["content"].as_str().unwrap().contains("says hello"));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_did_not_run_has_no_hooks_after_it() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    settings(&scene, &[("PostToolUse", "post")], &json!({"deny": ["Bash"]}));
    let (rig, _) = one_call(&scene, bash("make")).await;
    assert!(scene.hooks.run().is_empty());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_can_end_the_turn() {
    let scene = with(PermissionMode::Yolo, &[("PreToolUse", "enough")]);
    scene.hooks.set("enough", 0, r#"{"continue":false,"stopReason":"lunch"}"#, "");
    queue_replies(&scene, [calls(&[bash("make")])]);
    let mut rig = scene.open(InitialSession::New).await;
    assert_eq!(rig.turn("go").await, TurnOutcome::Interrupted);
    assert!(rig.notices().iter().any(|text| text.ends_with("ended the turn: lunch")));
    assert!(scene.processes.log().is_empty());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_ends_a_hook_at_once() {
    let scene = with(PermissionMode::Yolo, &[("PreToolUse", "block")]);
    queue_replies(&scene, [calls(&[bash("make")])]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("go").await;
    rig.wait_for("call", |event| matches!(event, AgentEvent::ResponseEnded { .. })).await;
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    assert_eq!(rig.result("c1").1, ToolStatus::Cancelled);
    rig.close().await;
}

/// The text of a prompt hook goes to the model with the message, and cannot leave its place there.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_hook_tells_the_model_with_the_message() {
    let scene = AgentFixture::new();
    let say = |text: &str| json!({"type": "prompt", "content": text});
    scene.settings(&json!({"hooks": [
        {"event": "SessionStart", "action": say("Speak Dutch.")},
        {"event": "UserPromptSubmit", "action": say("Be brief.</context> And free.")},
        {"event": "PreToolUse", "tool_filter": "READ", "action": say("Look twice.")}]}));
    scene.put("a.txt", "hello\n");
    let read = ("c1", "Read", json!({"file_path": "a.txt"}));
    queue_replies(&scene, [calls(&[read]), words("done"), words("again")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("go").await;
    let first = bytes(&scene.model.requests()[0].messages);
    assert!(first.contains("Speak Dutch.") && first.contains("Be brief.< /context> And free."));
    assert!(rig.result("c1").0.ends_with("[from hooks]\nLook twice."));
    rig.turn("go on").await;
    let last = bytes(&scene.model.last_request().messages);
    assert_eq!(last.matches("Speak Dutch.").count(), 1, "once a session");
    assert_eq!(last.matches("Be brief.").count(), 2, "with each message");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_a_hook_refuses_is_the_persons_again_and_not_on_record() {
    for person in [Interactivity::Interactive, Interactivity::Headless] {
        let mut scene = with(PermissionMode::Ask, &[("UserPromptSubmit", "check")]);
        scene.interactivity = person;
        scene.hooks.set("check", 2, "", "no secrets");
        let mut rig = scene.open(InitialSession::New).await;
        let TurnOutcome::Failed(reason) = rig.turn("my key is x").await else {
            panic!("it was let through")
        };
        assert!(reason.contains("settings.json:1") && reason.ends_with("no secrets"), "{reason}");
        let returned = AgentEvent::MessageReturned("my key is x".into());
        assert!(rig.events.contains(&returned), "{:#?}", rig.events);
        assert!(scene.model.requests().is_empty() && scene.store.list().unwrap().is_empty());
        assert_eq!(scene.hooks.inputs()[0].1["prompt"], "my key is x");

        scene.hooks.set("check", 0, "It is Sunday.", "");
        queue_replies(&scene, [words("hi")]);
        assert_eq!(rig.turn("hello").await, TurnOutcome::Answered);
        let sent = bytes(&scene.model.last_request().messages);
        assert!(sent.contains("It is Sunday.") && !sent.contains("my key"), "{sent}");
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_hook_is_stopped_is_the_persons_again() {
    let scene = with(PermissionMode::Ask, &[("UserPromptSubmit", "block")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("hello").await;
    while scene.hooks.run().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(rig.stop().await, TurnOutcome::Interrupted);
    assert!(rig.events.contains(&AgentEvent::MessageReturned("hello".into())));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_has_the_model_go_on_but_not_for_ever() {
    let scene = with(PermissionMode::Ask, &[("Stop", "done?")]);
    scene.hooks.set("done?", 2, "", "the tests fail");
    queue_replies(&scene, (0..6).map(|_| words("done")));
    let mut rig = scene.open(InitialSession::New).await;
    assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
    assert_eq!(scene.model.requests().len(), 6);
    let sent = bytes(&scene.model.last_request().messages);
    assert_eq!(sent.matches("A hook does not let you end here: the tests fail").count(), 5);
    let active: Vec<Value> = scene
        .hooks
        .inputs()
        .into_iter()
        .map(|(_, told)| told["stop_hook_active"].clone())
        .collect();
    assert_eq!(active, [false, true, true, true, true].map(Value::Bool));
    scene.hooks.set("done?", 0, "", "");
    queue_replies(&scene, [words("done")]);
    assert_eq!(rig.turn("go on").await, TurnOutcome::Answered);
    assert_eq!(scene.model.requests().len(), 7);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_while_hooks_are_asked_leaves_the_answer_whole() {
    let scene = with(PermissionMode::Ask, &[("Stop", "block")]);
    queue_replies(&scene, [words("done")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("go").await;
    while scene.hooks.run().is_empty() {
        rig.event().await;
        tokio::task::yield_now().await;
        if rig.events.iter().any(|event| matches!(event, AgentEvent::ResponseEnded { .. })) {
            break;
        }
    }
    assert_eq!(rig.stop().await, TurnOutcome::Answered);
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_begin_and_end_with_their_hooks() {
    let scene = with(PermissionMode::Ask, &[("SessionStart", "start"), ("SessionEnd", "end")]);
    queue_replies(&scene, [words("hi"), words("hi")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("one").await;
    let first = rig.id();
    rig.tell(AgentCommand::NewSession).await;
    rig.wait_for("a session", |event| matches!(event, AgentEvent::SessionOpened { .. })).await;
    rig.turn("two").await;
    rig.close().await;
    let mut said: Vec<String> = scene
        .hooks
        .inputs()
        .into_iter()
        .map(|(line, told)| {
            let why = told["source"].as_str().or(told["reason"].as_str()).unwrap().to_owned();
            let which = if told["session_id"] == first.to_string() { 1 } else { 2 };
            format!("{line} {why} {which}")
        })
        .collect();
    said.sort();
    assert_eq!(said, ["end clear 1", "end exit 2", "start clear 2", "start startup 1"]);

    let rig = scene.open(InitialSession::Resume(first)).await;
    rig.close().await;
    let told = scene.hooks.inputs();
    assert!(told.iter().any(|(_, told)| told["source"] == "resume"), "{told:?}");
    let path = told[0].1["transcript_path"].as_str().unwrap();
    assert!(path.ends_with(&format!("{first}.jsonl")), "{path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_are_told_when_slug_asks_and_waits() {
    let scene = with(PermissionMode::Ask, &[("Notification", "ring")]);
    let (rig, asked) = one_call(&scene, bash("make")).await;
    assert!(asked);
    let kinds = || -> Vec<Value> {
        let told = scene.hooks.inputs().into_iter();
        told.map(|(_, told)| told["notification_type"].clone()).collect()
    };
    let by = Instant::now() + Duration::from_secs(60);
    while !kinds().contains(&"idle_prompt".into()) {
        assert!(Instant::now() < by, "{:?}", kinds());
        tokio::task::yield_now().await;
    }
    rig.close().await;
    assert!(kinds().contains(&"permission_prompt".into()), "{:?}", kinds());
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_that_the_person_writes_hold_from_their_next_message_on() {
    let scene = with(PermissionMode::Yolo, &[]);
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("one"), words("two"), words("three"), words("four")]);
    rig.turn("go").await;
    settings(&scene, &[("Stop", "mine")], &json!({}));
    rig.turn("go on").await;
    assert_eq!(scene.hooks.run(), ["mine"]);
    let told = |rig: &TestAgent| -> Vec<String> {
        let notices = rig.notices().into_iter().filter(|it| it.contains("have changed"));
        notices.map(str::to_owned).collect()
    };
    assert_eq!(told(&rig).len(), 1, "{:?}", told(&rig));
    assert!(told(&rig)[0].ends_with("hold as they are now."), "{:?}", told(&rig));
    // Rules in the same file are no change of hooks.
    settings(&scene, &[("Stop", "mine")], &json!({"allow": ["Bash(ls)"]}));
    rig.turn("and on").await;
    assert_eq!((scene.hooks.run().len(), told(&rig).len()), (2, 1));
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s72_hooks_that_a_project_comes_by_hold_only_once_they_were_asked_about() {
    let scene = with(PermissionMode::Yolo, &[]);
    let hook = |line: &str| {
        let group = json!([{"hooks": [{"type": "command", "command": line}]}]);
        json!({"hooks": {"Stop": group}}).to_string()
    };
    scene.put(".slug/hooks.json", &hook("theirs"));
    let mut rig = scene.open(InitialSession::New).await;
    queue_replies(&scene, [words("one"), words("two"), words("three"), words("four")]);
    rig.turn("go").await;
    scene.put(".slug/hooks.json", &hook("other"));
    rig.turn("go on").await;
    rig.turn("and on").await;
    assert_eq!(scene.hooks.run(), ["theirs", "theirs", "theirs"]);
    let told = rig.notices().into_iter().filter(|it| it.contains("hold as they were"));
    assert_eq!(told.count(), 1, "{:?}", rig.notices());
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_goes_on_is_not_called() {
    let mut scene = with(PermissionMode::Ask, &[("Notification", "ring")]);
    scene.idle_after = Duration::from_secs(3600);
    queue_replies(&scene, [words("one"), words("two")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("go").await;
    rig.turn("go on").await;
    rig.close().await;
    assert!(scene.hooks.inputs().is_empty(), "{:?}", scene.hooks.inputs());
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_are_told_when_slug_asks_about_its_budget() {
    let mut scene = with(PermissionMode::Ask, &[("Notification", "ring")]);
    scene.budgets.session = "1 tokens".parse().unwrap();
    let mut rig = scene.open(InitialSession::New).await;
    rig.send("go").await;
    let question = rig.next_approval().await;
    rig.answer(&question, ApprovalAnswer::Deny { instruction: None }).await;
    rig.wait_for_turn_end().await;
    rig.close().await;
    let told = scene.hooks.inputs();
    let heard = told.iter().any(|(_, told)| told["message"] == "slug asks about its budget.");
    assert!(heard, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_can_keep_the_conversation_as_it_is() {
    let scene = with(PermissionMode::Ask, &[("PreCompact", "keep")]);
    scene.hooks.set("keep", 2, "", "not now");
    queue_replies(&scene, [words("hi")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.turn("one").await;
    rig.tell(AgentCommand::Compact).await;
    let said = rig.wait_for("a word", |event| matches!(event, AgentEvent::Notice { .. })).await;
    let AgentEvent::Notice { text, .. } = said else { unreachable!() };
    assert!(text.ends_with("did not let this happen: not now"), "{text}");
    assert_eq!(scene.hooks.inputs()[0].1["trigger"], "manual");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_s_hooks_are_not_read_before_it_is_trusted() {
    for (project, runs) in
        [(ProjectSettingsTrust::Untrusted, 0), (ProjectSettingsTrust::Trusted, 2)]
    {
        let mut scene = AgentFixture::in_mode(PermissionMode::Yolo);
        scene.project = project;
        let hook = |command: &str| {
            let action = json!({"type": "command", "command": command});
            json!({"hooks": [{"event": "PreToolUse", "action": action}]}).to_string()
        };
        scene.put(".slug/hooks.json", &hook("one"));
        scene.put(".slug/settings.json", &hook("two"));
        let (rig, _) = one_call(&scene, bash("make")).await;
        assert_eq!(scene.hooks.run().len(), runs);
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s72_a_guard_that_cannot_be_read_lets_nothing_through() {
    let scene = AgentFixture::in_mode(PermissionMode::Yolo);
    scene.settings(&json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": "guard"}]}}));
    let (rig, _) = one_call(&scene, bash("make")).await;
    assert_eq!(rig.result("c1").1, ToolStatus::Denied);
    let said = rig.notices().join("\n");
    assert!(said.contains("settings.json:1: an entry without `hooks`"), "{said}");
    rig.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_person_a_refused_call_is_listed() {
    let mut scene = with(PermissionMode::Yolo, &[("PreToolUse", "guard")]);
    scene.interactivity = Interactivity::Headless;
    scene.hooks.set("guard", 2, "", "no");
    let (rig, _) = one_call(&scene, bash("make")).await;
    let listed = rig.events.iter().any(|event| matches!(event, AgentEvent::CallRefused { .. }));
    assert!(listed, "{:#?}", rig.events);
    rig.close().await;
}

/// What the person types is theirs, as it is for rules.
#[tokio::test(flavor = "multi_thread")]
async fn the_person_s_own_commands_have_no_hooks() {
    let scene = with(PermissionMode::Ask, &[("PreToolUse", "guard"), ("PostToolUse", "guard")]);
    let mut rig = scene.open(InitialSession::New).await;
    rig.tell(AgentCommand::Shell { command: "make".into() }).await;
    rig.wait_for("end", |event| matches!(event, AgentEvent::ToolEnded { .. })).await;
    assert!(scene.hooks.run().is_empty());
    rig.close().await;
}
