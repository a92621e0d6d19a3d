//! A whole agent with a real connection that breaks: each call still runs once, and what went wrong
//! is in the history once or not at all.

use std::sync::Arc;

use serde_json::json;
use slug_code::agent::{AgentEvent, InitialSession};
use slug_code::domain::{PermissionMode, ProviderProtocol, StopReason, ToolStatus};
use slug_code::net::{HttpClient, HttpEndpoint, PlainHttp};
use slug_code::providers::{ConnectionConfig, StreamEvent, connect};
use slug_code::session::TurnOutcome;

use super::fakes::{ScriptedEvent, calls, finish_event, words};
use super::test_agent::{AgentFixture, queue_replies};
use crate::support::answer_streams;
use crate::support::model_server::{ModelServer, ServerReply};

/// A fixture whose model is at the scripted server.
fn fixture(protocol: ProviderProtocol, server: &ModelServer) -> AgentFixture {
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

/// Runs a turn whose first response breaks after this many bytes.
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
    let fixture = fixture(protocol, &server);
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn("look").await, TurnOutcome::Answered, "{case}");
    for name in ["first", "second"] {
        let begun = format!("begin {name} ");
        let log = fixture.processes.log();
        let times = log.iter().filter(|it| it.starts_with(&begun)).count();
        assert_eq!(times, 1, "{case}: {log:?}");
    }
    for call in ["call_1", "call_2"] {
        assert_eq!(agent.result(call).1, ToolStatus::Done, "{case}");
    }
    let texts: Vec<String> = agent.messages().iter().map(|entry| entry.message().text()).collect();
    assert_eq!(texts, ["look", TEXT, "", "", "Both are fine."], "{case}");
    let dropped =
        agent.events.iter().filter(|event| matches!(event, AgentEvent::ResponseDropped { .. }));
    let asked = server.model_requests().len();
    assert_eq!(asked, dropped.count() + 2, "{case}: each break is told, and nothing asked beyond");
    agent.close().await;
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
        let fixture = AgentFixture::in_mode(PermissionMode::Yolo);
        let mut agent = fixture.open(InitialSession::New).await;
        let mut reply = calls(&[("c1", "Bash", json!({}))]);
        reply[1] = ScriptedEvent::Event(StreamEvent::ToolInputDelta {
            index: 0,
            json: arguments.to_owned(),
        });
        assert_eq!(reply.len(), 3);
        reply[2] = finish_event(StopReason::ToolUse);
        queue_replies(&fixture, [reply, words("sorry")]);
        assert_eq!(agent.turn("go").await, TurnOutcome::Answered);
        assert_eq!(fixture.processes.log(), [""; 0]);
        let (result, status) = agent.result("c1");
        let result = result.chars().take(300).collect::<String>();
        assert!(status != ToolStatus::Done && result.contains("JSON"), "{arguments:.20}: {result}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r34_a_response_with_an_error_in_the_middle_is_dropped() {
    for protocol in ProviderProtocol::ALL {
        let server = ModelServer::start();
        let mut half = answer_streams::answer(protocol, TEXT, &[]);
        half.truncate(6);
        half.push(answer_streams::overloaded(protocol));
        server.reply(ServerReply::stream(half));
        server.reply(ServerReply::stream(answer_streams::answer(protocol, "Here I am.", &[])));
        let fixture = fixture(protocol, &server);
        let mut agent = fixture.open(InitialSession::New).await;
        assert_eq!(agent.turn("hello").await, TurnOutcome::Answered, "{protocol}");
        let streamed =
            |event: &AgentEvent| matches!(event, AgentEvent::Text { text, .. } if text == "shall ");
        assert!(agent.events.iter().any(streamed), "{protocol}: what came was shown");
        let dropped = |event: &AgentEvent| {
            matches!(event, AgentEvent::ResponseDropped { reason, again: Some(again), .. }
                if reason.contains("Overloaded") && again.number == 1)
        };
        assert!(agent.events.iter().any(dropped), "{protocol}");
        let texts: Vec<String> =
            agent.messages().iter().map(|entry| entry.message().text()).collect();
        assert_eq!(texts, ["hello", "Here I am."], "{protocol}");
        agent.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r33_a_conversation_that_stays_too_long_fails_without_a_loop() {
    for protocol in ProviderProtocol::ALL {
        let server = ModelServer::start();
        for _ in 0..5 {
            server.reply(ServerReply::error(400, "prompt is too long"));
        }
        let fixture = fixture(protocol, &server);
        let mut agent = fixture.open(InitialSession::New).await;
        let TurnOutcome::Failed(reason) = agent.turn("hello").await else { panic!("{protocol}") };
        assert!(reason.contains("larger window with /model"), "{protocol}: {reason}");
        assert_eq!(server.model_requests().len(), 1, "{protocol}: there was nothing to leave out");
        agent.close().await;
    }
}

/// vLLM without a parser for calls: the model writes them as it was told in the prompt.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_tools_is_asked_again_with_tools_in_the_prompt() {
    let server = ModelServer::start();
    let refusal =
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";
    server.reply(ServerReply::error(400, refusal));
    let call = json!({"name": "Bash", "arguments": {"command": "first"}});
    server.reply(ServerReply::text(&format!("Looking.\n<tool_call>\n{call}\n</tool_call>")));
    server.reply(ServerReply::text("Fine."));
    server.reply(ServerReply::text("Still fine."));
    let fixture = fixture(ProviderProtocol::ChatCompletions, &server);
    let mut agent = fixture.open(InitialSession::New).await;
    assert_eq!(agent.turn("look").await, TurnOutcome::Answered);
    assert_eq!(agent.turn("and now?").await, TurnOutcome::Answered);
    let log = fixture.processes.log();
    assert!(log.iter().any(|it| it.starts_with("begin first")), "{log:?}");
    let notices = agent.notices();
    assert!(notices.len() == 1 && notices[0].contains("describes the tools"), "{notices:?}");
    assert!(notices[0].contains("Start vLLM with"), "{notices:?}");
    let requests = server.chat_requests();
    let [native, described, with_result, last] = &requests[..] else { panic!("{requests:?}") };
    assert!(native.body["tools"].is_array());
    for request in [described, with_result, last] {
        assert!(request.body["tools"].is_null(), "{}", request.body);
        let system = request.body["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains("<tools>") && system.contains("\"name\":\"Bash\""), "{system}");
    }
    let messages = with_result.body["messages"].as_array().unwrap();
    let contents: Vec<&str> = messages.iter().filter_map(|it| it["content"].as_str()).collect();
    assert!(contents.iter().any(|it| it.starts_with("Looking.") && it.contains("<tool_call>")));
    assert!(contents.iter().any(|it| it.contains("<tool_response>")), "{contents:?}");
    assert!(messages.iter().all(|it| it["tool_calls"].is_null() && it["role"] != "tool"));
    agent.close().await;
}
