//! Races: two models answer one message, and the user takes one answer. What the two are sent, what they may
//! do, what becomes of the answer that is taken and of the other one, and all the ways in which none is.

use serde_json::json;
use slug_code::agent::{
    AgentCommand, AgentEvent, AgentProvider, CommandRefusal, InitialSession, Interactivity,
    RewindDestination,
};
use slug_code::domain::{
    AgentBudgets, AgentId, RequestSource, SubagentState, SubagentSummary, UsageBudget,
};
use slug_code::session::{LogEntry, RewindScope, TurnOutcome};

use super::fork_agents::has_read_a_file;
use super::prefix::chat;
use super::test_agent::{AgentFixture, TestAgent, turn_end};
use crate::support::model_server::{ModelServer, RecordedRequest, ServerReply, result_of};

/// Two providers with a server each, so that each side of a race has replies of its own.
struct Track {
    own: ModelServer,
    other: ModelServer,
    fixture: AgentFixture,
}

impl Track {
    fn new() -> Self {
        Self::with(AgentFixture::new())
    }

    fn with(fixture: AgentFixture) -> Self {
        let (own, other) = (ModelServer::start(), ModelServer::start());
        let provider = AgentProvider {
            name: "rival".into(),
            provider: chat(&other),
            model: None,
            max_tokens: Some(1000),
            window: 100_000,
            effort: None,
        };
        let fixture =
            AgentFixture { provider: Some(chat(&own)), others: vec![provider], ..fixture };
        fixture.put("a", "the text of a\n");
        Self { own, other, fixture }
    }

    /// An agent with a turn behind it.
    async fn open(&self) -> TestAgent {
        let mut agent = self.fixture.open(InitialSession::New).await;
        self.own.reply(ServerReply::text("Hello."));
        agent.turn("hello").await;
        agent
    }
}

async fn race(agent: &mut TestAgent, typed: &str) -> [AgentId; 2] {
    agent.tell(AgentCommand::Race { typed: typed.to_owned() }).await;
    let started = |event: &AgentEvent| matches!(event, AgentEvent::RaceStarted { .. });
    let AgentEvent::RaceStarted { sides } = agent.wait_for("race", started).await else {
        unreachable!()
    };
    sides
}

/// How a side stands as it was told last.
fn stands(agent: &TestAgent, side: AgentId) -> Option<SubagentSummary> {
    let told = agent.events.iter().rev().find_map(|event| match event {
        AgentEvent::Subagent(summary) if summary.agent == side => Some(summary),
        _ => None,
    });
    told.map(|summary| (**summary).clone())
}

async fn wait_for_state(agent: &mut TestAgent, side: AgentId, state: SubagentState) {
    while stands(agent, side).is_none_or(|it| it.state != state) {
        agent.event().await;
    }
}

async fn take(agent: &mut TestAgent, side: AgentId) -> TurnOutcome {
    wait_for_state(agent, side, SubagentState::Done).await;
    agent.tell(AgentCommand::TakeAnswer { agent: side }).await;
    agent.wait_for_turn_end().await
}

/// What the models of a conversation have said, the last text last.
fn said(agent: &TestAgent) -> Vec<String> {
    let texts = agent.conversation().messages.into_iter().map(|(_, message)| message.text());
    texts.filter(|text| !text.is_empty()).collect()
}

fn text_of(request: &RecordedRequest) -> String {
    String::from_utf8_lossy(&request.raw).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_of_a_race_are_sent_the_same_bytes_but_for_the_model() {
    let server = ModelServer::start();
    let fixture = AgentFixture { provider: Some(chat(&server)), ..AgentFixture::new() };
    let mut agent = has_read_a_file(&fixture, &server).await;
    let before = server.chat_requests().last().unwrap().raw.clone();
    server.reply(ServerReply::text("An answer."));
    server.reply(ServerReply::text("An answer."));
    let sides = race(&mut agent, "test/second what is in @a").await;
    for side in sides {
        wait_for_state(&mut agent, side, SubagentState::Done).await;
    }
    let requests = server.chat_requests();
    let [.., one, other] = &requests[..] else { panic!("{} requests", requests.len()) };
    let (own, second): (Vec<_>, Vec<_>) =
        [one, other].into_iter().partition(|it| text_of(it).contains("\"test-model\""));
    let (own, second) = (text_of(own[0]), text_of(second[0]));
    assert_eq!(own, second.replace("\"second\"", "\"test-model\""));
    let sent = String::from_utf8(before).unwrap();
    assert!(own.starts_with(sent.strip_suffix("]}").unwrap()), "{own}");
    assert!(own.contains("what is in @a") && own.contains("the text of a"), "{own}");
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_taken_is_in_the_conversation_as_if_it_had_been_given_there() {
    let track = Track::new();
    let mut agent = track.open().await;
    let todo =
        json!({"todos": [{"content": "tell", "status": "pending", "activeForm": "telling"}]});
    track.own.reply(ServerReply::text("The own answer."));
    track.other.reply(ServerReply::calls(
        "I look.",
        &[("r", "Read", json!({"file_path": "a"})), ("t", "TodoWrite", todo)],
    ));
    track.other.reply(ServerReply::text("The rival's answer."));
    let [own, rival] = race(&mut agent, "rival/x what is in a").await;
    wait_for_state(&mut agent, own, SubagentState::Done).await;
    assert_eq!(take(&mut agent, rival).await, TurnOutcome::Answered);
    assert_eq!(said(&agent), ["hello", "Hello.", "what is in a", "I look.", "The rival's answer."]);
    let conversation = agent.conversation();
    assert_eq!(conversation.plan.todos.len(), 1);
    let answer = agent.messages().into_iter().rfind(|it| it.taken_from.is_some()).unwrap();
    assert_eq!(answer.model.as_deref(), Some("x"));
    assert_eq!(answer.taken_from, stands(&agent, rival).unwrap().session);
    assert_eq!(stands(&agent, rival).unwrap().name(), "race: x, taken");
    assert!(agent.notices().iter().any(|text| text.contains("/model rival/x")));
    // The session's model goes on, and has all of the answer but not the other one.
    track.own.reply(ServerReply::text("I go on."));
    agent.turn("and now?").await;
    let next = text_of(track.own.chat_requests().last().unwrap());
    assert!(next.contains("The rival's answer.") && next.contains("the text of a"), "{next}");
    assert!(!next.contains("Nobody can answer"), "what a side was told of itself: {next}");
    assert!(!next.contains("The own answer.") && next.contains("\"test-model\""), "{next}");
    track.own.assert_clean();
    // The file counts as read.
    track.own.reply(ServerReply::calls(
        "",
        &[("w", "Edit", json!({"file_path": "a", "old_string": "text", "new_string": "word"}))],
    ));
    track.own.reply(ServerReply::text("Changed."));
    agent.send("change it").await;
    let question = agent.next_approval().await;
    agent.answer(&question, slug_code::domain::ApprovalAnswer::Once).await;
    agent.wait_for_turn_end().await;
    assert_eq!(track.fixture.read("a"), "the word of a\n");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_answers_count_once_and_as_those_of_agents() {
    let track = Track::new();
    let mut agent = track.open().await;
    let before = agent.conversation().spending.total();
    track.own.reply(ServerReply::text("The own answer."));
    track.other.reply(ServerReply::text("The rival's answer."));
    let [own, rival] = race(&mut agent, "rival/x say it").await;
    wait_for_state(&mut agent, rival, SubagentState::Done).await;
    take(&mut agent, own).await;
    let spending = agent.conversation().spending;
    assert_eq!(spending.total().responses, before.responses + 2);
    let sources: Vec<_> =
        spending.by_source().iter().map(|(it, sum)| (it, sum.responses)).collect();
    assert_eq!(sources, [(RequestSource::Main, 1), (RequestSource::Agent, 2)]);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_only_reads_and_nobody_is_asked() {
    let track = Track::new();
    let mut agent = track.open().await;
    let question = json!({"questions": [{"question": "Which?", "header": "Which", "options": [
        {"label": "a", "description": "the first"}, {"label": "b", "description": "the second"},
    ]}]});
    let task = json!({"description": "a task", "prompt": "do it"});
    let edit = json!({"file_path": "a", "old_string": "text", "new_string": "word"});
    track.own.reply(ServerReply::text("The own answer."));
    track.other.reply(ServerReply::calls(
        "",
        &[
            ("read", "Read", json!({"file_path": "a"})),
            ("find", "Glob", json!({"pattern": "*"})),
            ("write", "Write", json!({"file_path": "b", "content": "new"})),
            ("edit", "Edit", edit),
            ("run", "Bash", json!({"command": "ls"})),
            ("fetch", "WebFetch", json!({"url": "https://example.com", "prompt": "what"})),
            ("agent", "Agent", task),
            ("ask", "AskUser", question),
            ("out", "Read", json!({"file_path": "/etc/hostname"})),
        ],
    ));
    track.other.reply(ServerReply::text("Then I only say it."));
    let [_, rival] = race(&mut agent, "rival/x change a").await;
    wait_for_state(&mut agent, rival, SubagentState::Done).await;
    let answered = &track.other.wait_for_requests(2)[1];
    for call in ["write", "edit", "run", "agent", "ask"] {
        let result = result_of(answered, call);
        assert!(result.contains("two models answer this message"), "{call}: {result}");
    }
    assert!(result_of(answered, "read").contains("the text of a"));
    assert!(!result_of(answered, "find").contains("Denied"));
    // What would be asked about is refused.
    let out = result_of(answered, "out");
    assert!(out.contains("Refused: Reads outside the workspace"), "{out}");
    assert_eq!(track.fixture.read("a"), "the text of a\n");
    assert_eq!(agent.approval_count(), 0);
    assert_eq!(take(&mut agent, rival).await, TurnOutcome::Answered);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn escape_stops_both_and_leaves_the_message_without_an_answer() {
    let track = Track::new();
    let mut agent = track.open().await;
    track.own.reply(ServerReply::text("Never said whole.").hanging_after(1));
    track.other.reply(ServerReply::text("The rival's answer."));
    let [own, rival] = race(&mut agent, "rival/x say it").await;
    wait_for_state(&mut agent, rival, SubagentState::Done).await;
    // Else the answer would wait for the next request.
    tokio::task::block_in_place(|| track.own.wait_for_requests(2));
    assert_eq!(agent.stop().await, TurnOutcome::Interrupted);
    assert_eq!(stands(&agent, own).unwrap().state, SubagentState::Stopped);
    let ended = AgentEvent::RaceEnded { taken: None };
    assert!(agent.events.contains(&ended));
    assert_eq!(said(&agent), ["hello", "Hello.", "say it"]);
    // It can be asked again, and a take that comes too late does nothing.
    agent.tell(AgentCommand::TakeAnswer { agent: rival }).await;
    track.own.reply(ServerReply::text("At last."));
    agent.tell(AgentCommand::Retry).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    assert_eq!(said(&agent).last().unwrap(), "At last.");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_one_side_fails_the_other_can_be_taken() {
    let track = Track::new();
    let mut agent = track.open().await;
    track.own.reply(ServerReply::error(401, "No key."));
    track.other.reply(ServerReply::text("The rival's answer."));
    let [own, rival] = race(&mut agent, "rival/x say it").await;
    wait_for_state(&mut agent, own, SubagentState::Failed).await;
    agent.tell(AgentCommand::TakeAnswer { agent: own }).await;
    let told = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text, .. } if text.contains("No answer to take. test-model: "));
    if !agent.events.iter().any(told) {
        agent.wait_for("notice", told).await;
    }
    assert_eq!(take(&mut agent, rival).await, TurnOutcome::Answered);
    assert_eq!(said(&agent).last().unwrap(), "The rival's answer.");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_both_sides_fail_the_turn_fails_with_both_reasons() {
    let track = Track::new();
    let mut agent = track.open().await;
    track.own.reply(ServerReply::error(401, "No key here."));
    track.other.reply(ServerReply::error(404, "No model there."));
    race(&mut agent, "rival/x say it").await;
    let TurnOutcome::Failed(reason) = agent.wait_for_turn_end().await else { panic!("no failure") };
    assert!(reason.starts_with("Neither model has answered. test-model: "), "{reason}");
    assert!(reason.contains(" x: "), "{reason}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_that_still_answers_cannot_be_taken_and_is_stopped_when_the_other_is() {
    let track = Track::new();
    let mut agent = track.open().await;
    track.own.reply(ServerReply::text("Never said whole.").hanging_after(1));
    track.other.reply(ServerReply::text("The rival's answer."));
    let [own, rival] = race(&mut agent, "rival/x say it").await;
    agent.tell(AgentCommand::TakeAnswer { agent: own }).await;
    let told = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text, .. } if text.contains("test-model still answers"));
    agent.wait_for("notice", told).await;
    // Other commands wait for the end as in any turn.
    agent.tell(AgentCommand::Retry).await;
    let refused = AgentEvent::CommandRefused(CommandRefusal::TurnRunning);
    agent.wait_for("refusal", |event| *event == refused).await;
    take(&mut agent, rival).await;
    assert_eq!(stands(&agent, own).unwrap().state, SubagentState::Stopped);
    assert!(track.own.wait_until_idle());
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_answer_is_there_after_a_resume_and_goes_with_a_rewind() {
    let track = Track::new();
    let mut agent = track.open().await;
    track.own.reply(ServerReply::text("The own answer."));
    track.other.reply(ServerReply::text("The rival's answer."));
    let [own, rival] = race(&mut agent, "rival/x say it").await;
    wait_for_state(&mut agent, own, SubagentState::Done).await;
    take(&mut agent, rival).await;
    let (session, before) = (agent.id(), said(&agent));
    agent.close().await;
    let mut agent = track.fixture.open(InitialSession::Resume(session)).await;
    assert_eq!(said(&agent), before);
    track.own.reply(ServerReply::text("I go on."));
    agent.turn("and now?").await;
    let next = text_of(track.own.chat_requests().last().unwrap());
    assert!(next.contains("The rival's answer.") && !next.contains("Interrupted when"), "{next}");
    agent.go(RewindDestination::Last, RewindScope::Conversation).await;
    let back = agent.go(RewindDestination::Last, RewindScope::Conversation).await;
    assert_eq!(back.unwrap().text, "say it");
    track.own.reply(ServerReply::text("Yes."));
    agent.turn("again").await;
    let next = text_of(track.own.chat_requests().last().unwrap());
    assert!(!next.contains("The rival's answer.") && !next.contains("say it"), "{next}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_race_that_ran_when_slug_ended_leaves_a_message_without_an_answer() {
    let track = Track::new();
    let mut agent = track.open().await;
    track.own.reply(ServerReply::text("Never said.").hanging_after(0));
    track.other.reply(ServerReply::text("The rival's answer."));
    let [_, rival] = race(&mut agent, "rival/x say it").await;
    wait_for_state(&mut agent, rival, SubagentState::Done).await;
    // What a kill leaves is the log as it is now.
    let killed = agent.records();
    let is_open = |it: &slug_code::session::LogRecord| matches!(&it.entry, LogEntry::Message(it) if it.agents.len() == 2);
    assert_eq!(killed.iter().filter(|it| is_open(it)).count(), 1);
    assert!(!killed.iter().any(|it| matches!(&it.entry, LogEntry::TurnEnd(_)) && it.turn.0 > 1));
    let session = agent.id();
    agent.close().await;
    let mut agent = track.fixture.open(InitialSession::Resume(session)).await;
    assert_eq!(said(&agent).last().unwrap(), "say it");
    track.own.reply(ServerReply::text("At last."));
    agent.tell(AgentCommand::Retry).await;
    assert_eq!(agent.wait_for_turn_end().await, TurnOutcome::Answered);
    let next = text_of(track.own.chat_requests().last().unwrap());
    assert!(!next.contains("Interrupted when"), "the model knows nothing of a race: {next}");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_used_up_begins_no_race_and_one_that_is_overdrawn_stops_a_side() {
    let session = UsageBudget { tokens: Some(180), ..UsageBudget::default() };
    let budgets = AgentBudgets { session, ..AgentBudgets::default() };
    let track = Track::with(AgentFixture { budgets, ..AgentFixture::new() });
    let mut agent = track.fixture.open(InitialSession::New).await;
    for server in [&track.own, &track.other] {
        server.reply(ServerReply::calls("", &[("r", "Read", json!({"file_path": "a"}))]));
        server.reply(ServerReply::calls("", &[("s", "Read", json!({"file_path": "a"}))]));
        server.after_results(ServerReply::calls("", &[("s", "Read", json!({"file_path": "a"}))]));
    }
    agent.tell(AgentCommand::Race { typed: "rival/x read a".into() }).await;
    let outcome = agent.wait_for_turn_end().await;
    let TurnOutcome::Failed(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("The budget of the session is used up."), "{reason}");
    let sent = track.own.chat_requests().len() + track.other.chat_requests().len();
    agent.tell(AgentCommand::Race { typed: "rival/x read a".into() }).await;
    let outcome = agent.wait_for_turn_end().await;
    assert!(matches!(outcome, TurnOutcome::Budget(_)), "{outcome:?}");
    let sent_then = track.own.chat_requests().len() + track.other.chat_requests().len();
    assert_eq!(sent_then, sent);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_names_one_model_or_two_and_what_cannot_be_raced_goes_back_into_the_input() {
    let track = Track::new();
    let mut agent = track.open().await;
    for (typed, models, text) in [
        ("rival/x rival/y what", ["x", "y"], "what"),
        ("rival/x what of rival/y", ["test-model", "x"], "what of rival/y"),
        ("test-model rival/x\nwhat\n  so", ["test-model", "x"], "what\n  so"),
        ("rival/x  src/x is odd", ["test-model", "x"], "src/x is odd"),
    ] {
        for _ in 0..2 {
            track.own.reply(ServerReply::text("Mine."));
            track.other.reply(ServerReply::text("Theirs."));
        }
        let sides = race(&mut agent, typed).await;
        let raced = sides.map(|side| stands(&agent, side).unwrap().model.unwrap());
        assert_eq!(raced, models, "{typed}");
        assert_eq!(said(&agent).last().unwrap(), text, "{typed}");
        agent.stop().await;
    }
    for (typed, reason) in [
        ("rival/x", "Type the message after the models"),
        ("rival/x rival/y", "Type the message after the models"),
    ] {
        agent.tell(AgentCommand::Race { typed: typed.into() }).await;
        let TurnOutcome::Failed(why) = agent.wait_for_turn_end().await else { panic!("{typed}") };
        assert!(why.contains(reason), "{why}");
        let line = AgentEvent::MessageReturned(format!("/race {typed}").into());
        assert!(agent.events.contains(&line), "{typed}");
    }
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_race_without_a_user_nor_in_an_agent_of_a_race() {
    let track =
        Track::with(AgentFixture { interactivity: Interactivity::Headless, ..AgentFixture::new() });
    let mut agent = track.open().await;
    agent.tell(AgentCommand::Race { typed: "rival/x what".into() }).await;
    let outcome = agent.wait_for_turn_end().await;
    assert!(
        matches!(&outcome, TurnOutcome::Failed(why) if why.contains("needs slug's full screen"))
    );
    agent.close().await;
    let track = Track::new();
    let mut agent = track.open().await;
    track.own.reply(ServerReply::text("Mine."));
    track.other.reply(ServerReply::text("Theirs."));
    let [own, rival] = race(&mut agent, "rival/x what").await;
    wait_for_state(&mut agent, rival, SubagentState::Done).await;
    wait_for_state(&mut agent, own, SubagentState::Done).await;
    let commands = agent.agent.children.commands(own).unwrap();
    commands.send(AgentCommand::Race { typed: "rival/x what".into() }.to(own)).await.unwrap();
    let refused = |event: &AgentEvent| {
        matches!(event, AgentEvent::CommandRefused(CommandRefusal::StartedAgent))
    };
    agent.wait_for_other("refusal", refused).await;
    assert!(agent.events.iter().filter(|event| turn_end(event).is_some()).count() == 1);
    agent.close().await;
}
