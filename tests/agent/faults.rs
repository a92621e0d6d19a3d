//! A whole agent and a real connection: whatever breaks, a call runs once, and what went wrong
//! stands in the history once or not at all.

use std::sync::Arc;

use serde_json::json;
use slug_code::agent::{AgentEvent, InitialSession};
use slug_code::domain::{PermissionMode, ProviderProtocol, StopReason, ToolStatus};
use slug_code::providers::http::{HttpClient, HttpEndpoint, PlainHttp};
use slug_code::providers::{ConnectionConfig, StreamEvent, connect};
use slug_code::session::TurnOutcome;

use super::fakes::{ScriptedEvent, calls, finish_event, words};
use super::test_agent::{AgentFixture, queue_replies};
use crate::support::answer_streams;
use crate::support::model_server::{ModelServer, ServerReply};

/// A scene whose model is at the scripted server.
fn scene(protocol: ProviderProtocol, server: &ModelServer) -> AgentFixture {
    let endpoint = HttpEndpoint::parse(&server.endpoint(), PlainHttp::LoopbackOnly).unwrap();
    let provider =
        connect(protocol, ConnectionConfig::new(Arc::new(HttpClient::new()), endpoint, None));
    AgentFixture { provider: Some(provider), ..AgentFixture::in_mode(PermissionMode::Yolo) }
}

const TEXT: &str = "I shall look at both of them, one after the other, and then say what I think.";

fn turn(protocol: ProviderProtocol) -> Vec<String> {
    let commands = ["first", "second"]
        .map(|name| json!({"command": format!("{name} {}", "x".repeat(600))}).to_string());
    let calls = [("call_1", "Bash", commands[0].as_str()), ("call_2", "Bash", &commands[1])];
    answer_streams::answer(protocol, TEXT, &calls)
}

/// A turn whose first response breaks after so many bytes.
async fn broken_at(protocol: ProviderProtocol, bytes: usize) {
    let case = format!("{protocol}, after {bytes} bytes");
    let server = ModelServer::start();
    let whole = || ServerReply::stream(turn(protocol));
    server.reply(whole().breaking_at(bytes));
    server.reply(whole());
    server.after_results(ServerReply::stream(answer_streams::answer(
        protocol,
        "Both are fine.",
        &[],
    )));
    let scene = scene(protocol, &server);
    let mut rig = scene.open(InitialSession::New).await;
    assert_eq!(rig.turn("look").await, TurnOutcome::Answered, "{case}");
    for name in ["first", "second"] {
        let begun = format!("begin {name} ");
        let happened = scene.processes.log();
        let times = happened.iter().filter(|it| it.starts_with(&begun)).count();
        assert_eq!(times, 1, "{case}: {happened:?}");
    }
    for call in ["call_1", "call_2"] {
        assert_eq!(rig.result(call).1, ToolStatus::Done, "{case}");
    }
    let said: Vec<String> = rig.messages().iter().map(|said| said.message().text()).collect();
    assert_eq!(said, ["look", TEXT, "", "", "Both are fine."], "{case}");
    let dropped =
        rig.events.iter().filter(|event| matches!(event, AgentEvent::ResponseDropped { .. }));
    let asked = server.model_requests().len();
    assert_eq!(asked, dropped.count() + 2, "{case}: each break is told, and nothing asked beyond");
    rig.close().await;
}

async fn broken_everywhere(protocol: ProviderProtocol) {
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
    broken_everywhere(ProviderProtocol::ChatCompletions).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_messages_broken_anywhere_run_each_call_once() {
    broken_everywhere(ProviderProtocol::Anthropic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_responses_broken_anywhere_run_each_call_once() {
    broken_everywhere(ProviderProtocol::Responses).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_gemini_broken_anywhere_runs_each_call_once() {
    broken_everywhere(ProviderProtocol::Gemini).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r31_a_call_that_cannot_be_read_is_refused_and_the_model_told() {
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    for arguments in ["{\"command\":NaN}", "[\"ls\"]", "{\"command\":\"a\"} {\"b\":2}", &deep] {
        let scene = AgentFixture::in_mode(PermissionMode::Yolo);
        let mut rig = scene.open(InitialSession::New).await;
        let mut reply = calls(&[("c1", "Bash", json!({}))]);
        reply[1] = ScriptedEvent::Event(StreamEvent::ToolInputDelta {
            index: 0,
            json: arguments.to_owned(),
        });
        assert_eq!(reply.len(), 3);
        reply[2] = finish_event(StopReason::ToolUse);
        queue_replies(&scene, [reply, words("sorry")]);
        assert_eq!(rig.turn("go").await, TurnOutcome::Answered);
        assert_eq!(scene.processes.log(), [""; 0]);
        let (told, status) = rig.result("c1");
        let told = told.chars().take(300).collect::<String>();
        assert!(status != ToolStatus::Done && told.contains("JSON"), "{arguments:.20}: {told}");
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r34_an_error_in_the_midst_is_struck_and_not_kept() {
    for protocol in ProviderProtocol::ALL {
        let server = ModelServer::start();
        let mut half = answer_streams::answer(protocol, TEXT, &[]);
        half.truncate(6);
        half.push(answer_streams::overloaded(protocol));
        server.reply(ServerReply::stream(half));
        server.reply(ServerReply::stream(answer_streams::answer(protocol, "Here I am.", &[])));
        let scene = scene(protocol, &server);
        let mut rig = scene.open(InitialSession::New).await;
        assert_eq!(rig.turn("hello").await, TurnOutcome::Answered, "{protocol}");
        let streamed =
            |event: &AgentEvent| matches!(event, AgentEvent::Text { text, .. } if text == "shall ");
        assert!(rig.events.iter().any(streamed), "{protocol}: what came was shown");
        let dropped = |event: &AgentEvent| {
            matches!(event, AgentEvent::ResponseDropped { reason, again: Some(again), .. }
                if reason.contains("Overloaded") && again.number == 1)
        };
        assert!(rig.events.iter().any(dropped), "{protocol}");
        let said: Vec<String> = rig.messages().iter().map(|said| said.message().text()).collect();
        assert_eq!(said, ["hello", "Here I am."], "{protocol}");
        rig.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r33_a_conversation_that_stays_too_long_fails_without_a_loop() {
    for protocol in ProviderProtocol::ALL {
        let server = ModelServer::start();
        for _ in 0..5 {
            server.reply(ServerReply::error(400, "prompt is too long: 9 tokens > 8 maximum"));
        }
        let scene = scene(protocol, &server);
        let mut rig = scene.open(InitialSession::New).await;
        let TurnOutcome::Failed(reason) = rig.turn("hello").await else { panic!("{protocol}") };
        assert!(reason.contains("/compact"), "{protocol}: {reason}");
        assert_eq!(server.model_requests().len(), 1, "{protocol}: there was nothing to leave out");
        rig.close().await;
    }
}
