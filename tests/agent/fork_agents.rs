//! Forks that the user has work in the background: their requests begin like those of their parent, the gate
//! keeps them from what they may not do, and they are known after a resume.

use serde_json::json;
use slug_code::agent::{AgentCommand, AgentEvent, CommandRefusal, InitialSession};
use slug_code::domain::{SubagentState, SubagentSummary};
use slug_code::session::{LogEntry, TurnOutcome};

use super::prefix::chat;
use super::test_agent::{AgentFixture, TestAgent};
use crate::support::model_server::{ModelServer, ServerReply, result_of};

fn fixture(server: &ModelServer) -> AgentFixture {
    AgentFixture { provider: Some(chat(server)), ..AgentFixture::new() }
}

async fn fork(agent: &TestAgent, text: &str) {
    agent.tell(AgentCommand::ForkAgent { text: text.into() }).await;
}

/// How a fork stands, once it does so.
async fn wait_for_state(agent: &mut TestAgent, state: SubagentState) -> SubagentSummary {
    let stands =
        |event: &AgentEvent| matches!(event, AgentEvent::Subagent(it) if it.state == state);
    let event = agent.wait_for("state of the fork", stands).await;
    let AgentEvent::Subagent(summary) = event else { unreachable!() };
    *summary
}

/// An agent with instructions that has read the file `a`.
pub async fn has_read_a_file(fixture: &AgentFixture, server: &ModelServer) -> TestAgent {
    fixture.put("SLUG.md", "Be brief.");
    fixture.put("a", "the text of a\n");
    let mut agent = fixture.open(InitialSession::New).await;
    server.reply(ServerReply::calls("", &[("r", "Read", json!({"file_path": "a"}))]));
    server.reply(ServerReply::text("It is read."));
    agent.turn("read a").await;
    agent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_sends_its_parents_bytes_and_one_message_more() {
    let server = ModelServer::start();
    let fixture = fixture(&server);
    let mut agent = has_read_a_file(&fixture, &server).await;
    server.reply(ServerReply::text("The fork's report."));
    server.reply(ServerReply::text("I have read it."));
    fork(&agent, "now look at b").await;
    // Its report is a turn of the parent's.
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let bodies: Vec<Vec<u8>> = server.chat_requests().into_iter().map(|it| it.raw).collect();
    let [_, parent, fork, reported] = &bodies[..] else { panic!("{} requests", bodies.len()) };
    let sent = parent.strip_suffix(b"]}").unwrap();
    assert!(fork.starts_with(sent), "{}", String::from_utf8_lossy(fork));
    // The fork and the next request of its parent part after the last answer.
    let same = fork.iter().zip(reported).take_while(|(one, other)| one == other).count();
    assert!(String::from_utf8_lossy(&fork[..same]).contains("It is read."));
    assert!(String::from_utf8_lossy(&fork[same..]).contains("now look at b"));
    let main = agent.conversation();
    let texts: Vec<String> = main.messages.iter().map(|(_, message)| message.text()).collect();
    assert!(!texts.iter().any(|text| text.contains("now look at b")), "{texts:?}");
    assert!(String::from_utf8_lossy(reported).contains("The fork's report."));
    server.assert_clean();
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_has_a_log_of_its_own_that_names_its_parent_and_is_in_no_list() {
    let server = ModelServer::start();
    let fixture = fixture(&server);
    let mut agent = fixture.open(InitialSession::New).await;
    server.reply(ServerReply::text("Hello."));
    agent.turn("hello").await;
    server.reply(ServerReply::text("Done."));
    server.reply(ServerReply::text("I see."));
    fork(&agent, "look there\nand there").await;
    let summary = wait_for_state(&mut agent, SubagentState::Done).await;
    assert_eq!(summary.name(), "fork: look there …");
    assert!(summary.in_background && summary.tokens > 0);
    let records = fixture.store.read(summary.session.unwrap()).unwrap().records;
    let LogEntry::Session(header) = &records[0].entry else { panic!("{records:#?}") };
    assert_eq!(header.forked_from, Some(agent.id()));
    let origin = header.spawned_by.clone().unwrap();
    assert_eq!((origin.session, origin.call), (agent.id(), summary.call));
    let listed: Vec<_> = fixture.store.list().unwrap().iter().map(|it| it.session_id).collect();
    assert_eq!(listed, [agent.id()]);
    agent.wait_for_turn_end().await;
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_denies_a_fork_agents_and_questions() {
    let server = ModelServer::start();
    let fixture = fixture(&server);
    let mut agent = fixture.open(InitialSession::New).await;
    server.reply(ServerReply::text("Hello."));
    agent.turn("hello").await;
    let question = json!({"questions": [{"question": "Which?", "header": "Which", "options": [
        {"label": "a", "description": "the first"}, {"label": "b", "description": "the second"},
    ]}]});
    let task = json!({"description": "a task", "prompt": "do it"});
    server.reply(ServerReply::calls("", &[("a", "Agent", task), ("q", "AskUser", question)]));
    server.reply(ServerReply::text("Then I do it myself."));
    server.reply(ServerReply::text("I see."));
    fork(&agent, "look there").await;
    wait_for_state(&mut agent, SubagentState::Done).await;
    let answered = &server.wait_for_requests(3)[2];
    for call in ["a", "q"] {
        let result = result_of(answered, call);
        assert!(result.contains("you are a fork of the conversation"), "{result}");
    }
    agent.wait_for_turn_end().await;
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_that_ran_when_slug_ended_is_told_as_interrupted_once() {
    let server = ModelServer::start();
    let fixture = fixture(&server);
    let mut agent = fixture.open(InitialSession::New).await;
    server.reply(ServerReply::text("Hello."));
    agent.turn("hello").await;
    server.reply(ServerReply::text("Never said.").hanging_after(0));
    fork(&agent, "look there").await;
    wait_for_state(&mut agent, SubagentState::Running).await;
    server.wait_for_requests(2);
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    for text in ["and now?", "sure?"] {
        server.reply(ServerReply::text("Yes."));
        agent.turn(text).await;
    }
    let requests = server.chat_requests();
    let last = String::from_utf8_lossy(&requests.last().unwrap().raw).into_owned();
    let told = last.matches(
        "Interrupted when slug ended or this session was left, without a report: fork: look there",
    );
    assert_eq!(told.count(), 1, "{last}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_needs_a_conversation_and_forks_nothing_itself() {
    let server = ModelServer::start();
    let fixture = fixture(&server);
    let mut agent = fixture.open(InitialSession::New).await;
    fork(&agent, "too early").await;
    let is_told = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text, .. } if text.contains("Send a message first"));
    agent.wait_for("notice", is_told).await;
    server.reply(ServerReply::text("Hello."));
    agent.turn("hello").await;
    server.reply(ServerReply::text("Done."));
    server.reply(ServerReply::text("I see."));
    fork(&agent, "look there").await;
    let child = wait_for_state(&mut agent, SubagentState::Done).await.agent;
    agent.wait_for_turn_end().await;
    let commands = agent.agent.children.commands(child).unwrap();
    let inner = AgentCommand::ForkAgent { text: "and one more".into() };
    commands.send(inner.to(child)).await.unwrap();
    let refused = |event: &AgentEvent| {
        matches!(event, AgentEvent::CommandRefused(CommandRefusal::StartedAgent))
    };
    agent.wait_for_other("refusal", refused).await;
    assert_eq!(server.chat_requests().len(), 3);
    agent.close().await;
}
