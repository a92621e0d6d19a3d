//! Scripts, the position in them, and the built-in script with its repository.

use serde_json::json;

use super::*;
use crate::domain::{CallId, CallInput, ContentBlock, Message, MessageRole, StopReason, ToolCall};
use crate::providers::{EncodedImages, ErrorRecovery, ToolChoice};

fn script(text: &str) -> DemoScript {
    DemoScript::parse(text, Path::new("test.toml")).unwrap()
}

fn request(messages: Vec<Message>) -> ProviderRequest {
    ProviderRequest {
        model: "demo".into(),
        system: "system".into(),
        messages,
        images: EncodedImages::default(),
        tools: Arc::new([]),
        max_tokens: Some(100),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        effort: None,
    }
}

fn said(text: &str) -> Message {
    Message {
        role: MessageRole::Assistant,
        content: vec![ContentBlock::Text { text: text.into() }],
    }
}

fn result(is_error: bool) -> ContentBlock {
    ContentBlock::ToolResult { tool_use_id: CallId::new("a"), content: "x".into(), is_error }
}

fn user(content: Vec<ContentBlock>) -> Message {
    Message { role: MessageRole::User, content }
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text { text: text.into() }
}

async fn events(
    demo: &DemoProvider,
    messages: Vec<Message>,
) -> Vec<Result<StreamEvent, ProviderError>> {
    demo.stream(request(messages), CancellationToken::new()).collect().await
}

const STEPS: &str = r#"
[[response]]
[[response.step]]
call = "Read"
input = { file_path = "a" }
[[response]]
[[response.step]]
call = "Edit"
[[response.on_error]]
say = "Then not."
[[response]]
[[response.step]]
say = "Done."
[[response]]
[[response.step]]
say = "Second turn."
[[epilogue]]
[[epilogue.step]]
say = "One."
[[epilogue]]
[[epilogue.step]]
say = "Two."
"#;

#[test]
fn the_place_in_the_script_is_read_from_the_conversation() {
    let script = script(STEPS);
    let good = || user(vec![result(false)]);
    let bad = || user(vec![result(true)]);
    let ask = || Message::user("x");
    let a = || said("…");
    let steered = || user(vec![result(false), text("faster")]);
    let stopped = || user(vec![result(true), text("no, this")]);
    let table = [
        ("the first prompt", vec![ask()], DemoScriptPart::Response(0)),
        ("a result", vec![ask(), a(), good()], DemoScriptPart::Response(1)),
        ("a failure", vec![ask(), a(), bad()], DemoScriptPart::OnError(1)),
        (
            "a failure nobody planned for",
            vec![ask(), a(), good(), a(), bad()],
            DemoScriptPart::Response(2),
        ),
        ("a word in between", vec![ask(), a(), steered()], DemoScriptPart::Response(1)),
        ("stopped, then a new prompt", vec![ask(), a(), stopped()], DemoScriptPart::Response(3)),
        ("stopped before any call", vec![ask(), a(), ask()], DemoScriptPart::Response(3)),
        ("after a refusal", vec![ask(), a(), bad(), a(), ask()], DemoScriptPart::Response(3)),
        (
            "the second turn",
            vec![ask(), a(), good(), a(), good(), a(), ask()],
            DemoScriptPart::Response(3),
        ),
        ("the end", vec![ask(), a(), stopped(), a(), ask()], DemoScriptPart::Epilogue(0)),
        (
            "and on",
            vec![ask(), a(), stopped(), a(), ask(), a(), ask()],
            DemoScriptPart::Epilogue(1),
        ),
    ];
    for (what, messages, part) in table {
        assert_eq!(script.part_for(&messages), part, "{what}");
    }
}

#[tokio::test]
async fn a_response_is_streamed_piece_by_piece() {
    let demo = DemoProvider::new(
        script(
            r#"
            [[response]]
            [[response.step]]
            think = "hm hm"
            [[response.step]]
            say = "Let me look."
            [[response.step]]
            call = "Read"
            input = { file_path = "a" }
            "#,
        ),
        DemoSpeed::Instant,
    );
    let events: Vec<StreamEvent> =
        events(&demo, vec![Message::user("hi")]).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(events.first(), Some(&StreamEvent::Started));
    assert_eq!(events.last(), Some(&StreamEvent::Finished(StopReason::ToolUse)));
    let (mut texts, mut thought, mut json) = (Vec::new(), String::new(), String::new());
    for event in events {
        match event {
            StreamEvent::Text(text) => texts.push(text),
            StreamEvent::Thinking(text) => thought += &text,
            StreamEvent::ToolInputDelta { json: piece, .. } => json += &piece,
            StreamEvent::ToolUseStarted { name, .. } => assert_eq!(name, "Read"),
            StreamEvent::Usage(usage) => assert!(usage.input > 0 && usage.output > 0),
            StreamEvent::Started | StreamEvent::Finished(_) => {}
            StreamEvent::RateLimited(_)
            | StreamEvent::Prefill(_)
            | StreamEvent::Signature(_)
            | StreamEvent::Sealed { .. } => {
                panic!("not in a demo")
            }
        }
    }
    assert_eq!(texts, ["Let ", "me ", "look."]);
    assert_eq!(thought, "hm hm");
    assert_eq!(CallInput::parse(&json), CallInput::Valid(json!({"file_path": "a"})));
}

#[tokio::test]
async fn a_failure_is_played_once() {
    let text = r#"
        [[response]]
        [[response.step]]
        say = "Hold on"
        [[response.step]]
        fail = "rate-limit"
        [[response.step]]
        say = " now."
    "#;
    let demo = DemoProvider::new(script(text), DemoSpeed::Instant);
    let first = events(&demo, vec![Message::user("hi")]).await;
    let error = first.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.recovery, ErrorRecovery::RetryAfter(Duration::from_secs(2)));
    let second = events(&demo, vec![Message::user("hi")]).await;
    assert_eq!(second.last(), Some(&Ok(StreamEvent::Finished(StopReason::EndTurn))));
}

#[tokio::test]
async fn cancelling_ends_a_pause_at_once() {
    let text = "[[response]]\n[[response.step]]\nwait = 3_600_000\n[[response.step]]\nsay = \"x\"";
    let demo = DemoProvider::new(script(text), DemoSpeed::AsWritten);
    let cancel = CancellationToken::new();
    let mut stream = demo.stream(request(vec![Message::user("hi")]), cancel.clone());
    assert_eq!(stream.next().await, Some(Ok(StreamEvent::Started)));
    cancel.cancel();
    assert_eq!(stream.next().await, None);
}

#[test]
fn mistakes_in_a_script_are_reported_with_their_line() {
    let table = [
        ("[[response]]\n[[response.step]]\nsya = \"x\"", 3, "sya"),
        ("[[response]]\n\n[[response.step]]\nsay = \"x\"\nwait = 1", 3, "one thing"),
        ("[[response]]\n[[response.step]]", 2, "needs one of"),
        ("\n[[response]]", 2, "at least one step"),
        ("[[response]]\n[[response.step]]\nsay = \"x\"\ninput = {}", 2, "belongs to a `call`"),
        ("[[response]]\n[[response.step]]\nfail = \"badly\"", 3, "unknown variant"),
        ("pace = \"fast\"", 1, "invalid type"),
        ("x = = 1", 1, ""),
    ];
    for (text, line, says) in table {
        let error = DemoScript::parse(text, Path::new("my.toml")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("my.toml, line {line}: ")), "{text:?}\n{error}");
        assert!(error.contains(says), "{text:?}\n{error}");
    }
    let error = DemoScript::read(Path::new("/no/such.toml")).unwrap_err().to_string();
    assert!(error.contains("/no/such.toml"), "{error}");
}

#[test]
fn the_built_in_script_is_sound_and_ends_in_an_epilogue() {
    let script = built_in().unwrap();
    let mut messages = vec![Message::user("hi")];
    let mut cues = Vec::new();
    while let DemoScriptPart::Response(at) = script.part_for(&messages) {
        cues.push(at);
        messages.push(said("…"));
        messages.push(user(vec![result(false)]));
    }
    assert_eq!(cues, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(script.part_for(&messages), DemoScriptPart::Epilogue(0));
}

#[test]
fn the_scratch_repository_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("repo");
    materialise_repo(&at).unwrap();
    assert_eq!(fs::read_to_string(at.join("lib/rates.sh")).unwrap(), REPO[3].1);
    assert!(materialise_repo(&at).is_err());
}

/// All calls of the script, without those in `on_error`.
fn calls(script: &DemoScript) -> Vec<ToolCall> {
    let beats = (0..script.responses.len())
        .flat_map(|at| script.timed_events(DemoScriptPart::Response(at), &request(vec![]), true));
    let mut calls: Vec<(String, String)> = Vec::new();
    for beat in beats {
        match beat.event.unwrap() {
            StreamEvent::ToolUseStarted { name, .. } => calls.push((name, String::new())),
            StreamEvent::ToolInputDelta { json, .. } => calls.last_mut().unwrap().1 += &json,
            _ => {}
        }
    }
    let call = |(name, json): (String, String)| ToolCall {
        id: CallId::new("a"),
        name,
        input: CallInput::parse(&json),
    };
    calls.into_iter().map(call).collect()
}

#[cfg(unix)]
#[test]
fn the_built_in_edit_mends_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    materialise_repo(folder.path()).unwrap();
    let calls = calls(&built_in().unwrap());
    let input = |name: &str| {
        let call = calls.iter().find(|call| call.name == name).unwrap();
        match &call.input {
            CallInput::Valid(input) => input.clone(),
            CallInput::Invalid(raw) => panic!("{raw}"),
        }
    };
    let run = |command: &str| {
        let script = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(folder.path())
            .output()
            .unwrap();
        (script.status.success(), String::from_utf8(script.stdout).unwrap())
    };
    let bash = input("Bash");
    let (passed, output) = run(bash["command"].as_str().unwrap());
    assert!(!passed && output.contains("FAIL  500 g"), "{output}");

    let edit = input("Edit");
    let path = folder.path().join(edit["file_path"].as_str().unwrap());
    let old = edit["old_string"].as_str().unwrap();
    let before = fs::read_to_string(&path).unwrap();
    assert_eq!(before.matches(old).count(), 1, "{old}");
    fs::write(&path, before.replace(old, edit["new_string"].as_str().unwrap())).unwrap();

    let (passed, output) = run(bash["command"].as_str().unwrap());
    assert!(passed && output.ends_with("all passed\n"), "{output}");
    let reads: Vec<_> = calls.iter().filter(|call| call.name == "Read").collect();
    assert_eq!(reads.len(), 3);
}
