//! A whole agent and a real connection: whatever breaks, a call runs once, and what went wrong
//! stands in the history once or not at all.

use std::sync::Arc;

use serde_json::json;
use slug_code::agent::{AgentEvent, InitialSession};
use slug_code::domain::{Mode, Protocol, StopReason, ToolStatus};
use slug_code::providers::http::{HttpClient, HttpEndpoint, PlainHttp};
use slug_code::providers::{ConnectionConfig, StreamEvent, connect};
use slug_code::session::TurnOutcome;

use super::fakes::{Say, calls, finished, words};
use super::rig::{Scene, play};
use crate::support::model_server::{ModelServer, Reply};
use crate::support::turns;

/// A scene whose model is at the scripted server.
fn scene(protocol: Protocol, server: &ModelServer) -> Scene {
    let endpoint = HttpEndpoint::parse(&server.endpoint(), PlainHttp::LoopbackOnly).unwrap();
    let provider =
        connect(protocol, ConnectionConfig::new(Arc::new(HttpClient::new()), endpoint, None));
    Scene { provider: Some(provider), ..Scene::in_mode(Mode::Yolo) }
}

const TEXT: &str = "I shall look at both of them, one after the other, and then say what I think.";

fn turn(protocol: Protocol) -> Vec<String> {
    let commands = ["first", "second"]
        .map(|name| json!({"command": format!("{name} {}", "x".repeat(600))}).to_string());
    let calls = [("call_1", "Bash", commands[0].as_str()), ("call_2", "Bash", &commands[1])];
    turns::answer(protocol, TEXT, &calls)
}

/// A turn whose first response breaks after so many bytes.
async fn broken_at(protocol: Protocol, bytes: usize) {
    let case = format!("{protocol}, after {bytes} bytes");
    let server = ModelServer::start();
    let whole = || Reply::stream(turn(protocol));
    server.reply(whole().breaking_at(bytes));
    server.reply(whole());
    server.after_results(Reply::stream(turns::answer(protocol, "Both are fine.", &[])));
    let scene = scene(protocol, &server);
    let mut rig = scene.open(InitialSession::New).await;
    assert_eq!(rig.turn("look").await, TurnOutcome::Answered, "{case}");
    for name in ["first", "second"] {
        let begun = format!("begin {name} ");
        let happened = scene.processes.happened();
        let times = happened.iter().filter(|it| it.starts_with(&begun)).count();
        assert_eq!(times, 1, "{case}: {happened:?}");
    }
    for call in ["call_1", "call_2"] {
        assert_eq!(rig.result(call).1, ToolStatus::Done, "{case}");
    }
    let said: Vec<String> = rig.said().iter().map(|said| said.message().text()).collect();
    assert_eq!(said, ["look", TEXT, "", "", "Both are fine."], "{case}");
    let dropped =
        rig.heard.iter().filter(|event| matches!(event, AgentEvent::ResponseDropped { .. }));
    let asked = server.questions().len();
    assert_eq!(asked, dropped.count() + 2, "{case}: each break is told, and nothing asked beyond");
    rig.close().await;
}

async fn broken_everywhere(protocol: Protocol) {
    let events = turn(protocol);
    let length: usize = events.iter().map(String::len).sum();
    let ends = events.iter().scan(0, |at, event| {
        *at += event.len();
        Some(*at)
    });
    let cuts: Vec<usize> = (0..length).step_by(1024).chain(ends).collect();
    assert!(cuts.len() > 15, "{cuts:?}");
    // A few at once: most of their time is the pause before the second try.
    for cuts in cuts.chunks(6) {
        let broken = cuts.iter().map(|bytes| tokio::spawn(broken_at(protocol, *bytes)));
        for broken in broken.collect::<Vec<_>>() {
            broken.await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_chat_completions_broken_anywhere_run_each_call_once() {
    broken_everywhere(Protocol::ChatCompletions).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_messages_broken_anywhere_run_each_call_once() {
    broken_everywhere(Protocol::Anthropic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_responses_broken_anywhere_run_each_call_once() {
    broken_everywhere(Protocol::Responses).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_gemini_broken_anywhere_runs_each_call_once() {
    broken_everywhere(Protocol::Gemini).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r31_a_call_that_cannot_be_read_is_refused_and_the_model_told() {
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    for arguments in ["{\"command\":NaN}", "[\"ls\"]", "{\"command\":\"a\"} {\"b\":2}", &deep] {
        let scene = Scene::in_mode(Mode::Yolo);
        let mut rig = scene.open(InitialSession::New).await;
        let mut reply = calls(&[("c1", "Bash", json!({}))]);
        reply[1] = Say::Event(StreamEvent::ToolInputDelta { index: 0, json: arguments.to_owned() });
        assert_eq!(reply.len(), 3);
        reply[2] = finished(StopReason::ToolUse);
        play(&scene, [reply, words("sorry")]);
        assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
        assert_eq!(scene.processes.happened(), [""; 0]);
        let (told, status) = rig.result("c1");
        let told = told.chars().take(300).collect::<String>();
        assert!(status != ToolStatus::Done && told.contains("JSON"), "{arguments:.20}: {told}");
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r34_an_error_in_the_midst_is_struck_and_not_kept() {
    for protocol in Protocol::ALL {
        let server = ModelServer::start();
        let mut half = turns::answer(protocol, TEXT, &[]);
        half.truncate(6);
        half.push(turns::overloaded(protocol));
        server.reply(Reply::stream(half));
        server.reply(Reply::stream(turns::answer(protocol, "Here I am.", &[])));
        let scene = scene(protocol, &server);
        let mut rig = scene.open(InitialSession::New).await;
        assert_eq!(rig.turn("hello").await, TurnOutcome::Answered, "{protocol}");
        let streamed =
            |event: &AgentEvent| matches!(event, AgentEvent::Text { text, .. } if text == "shall ");
        assert!(rig.heard.iter().any(streamed), "{protocol}: what came was shown");
        let dropped = |event: &AgentEvent| {
            matches!(event, AgentEvent::ResponseDropped { reason, again: Some(again), .. }
                if reason.contains("Overloaded") && again.number == 1)
        };
        assert!(rig.heard.iter().any(dropped), "{protocol}");
        let said: Vec<String> = rig.said().iter().map(|said| said.message().text()).collect();
        assert_eq!(said, ["hello", "Here I am."], "{protocol}");
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r33_a_conversation_that_stays_too_long_fails_without_a_loop() {
    for protocol in Protocol::ALL {
        let server = ModelServer::start();
        for _ in 0..5 {
            server.reply(Reply::error(400, "prompt is too long: 9 tokens > 8 maximum"));
        }
        let scene = scene(protocol, &server);
        let mut rig = scene.open(InitialSession::New).await;
        let TurnOutcome::Failed(reason) = rig.turn("hello").await else { panic!("{protocol}") };
        assert!(reason.contains("/compact"), "{protocol}: {reason}");
        assert_eq!(server.questions().len(), 1, "{protocol}: there was nothing to leave out");
        rig.close().await;
    }
}
