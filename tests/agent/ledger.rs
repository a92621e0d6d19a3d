//! `/context`: what fills the window, and what folding out, bringing back and pinning do to requests.

use std::sync::Arc;

use serde_json::json;
use slug_code::agent::{
    AgentCommand, AgentEvent, ContextEditError, ContextReply, ContextRequest, ContextSource,
    ForkPosition, InitialSession, LedgerItem, LedgerItemState, RewindDestination,
};
use slug_code::domain::{ApprovalAnswer, Message, PermissionMode, TokenUsage};
use slug_code::providers::StreamEvent;
use slug_code::session::{ContextAction, ContextItem, LogEntry, RewindScope};

use super::fakes::{ScriptedEvent, calls, words};
use super::test_agent::{AgentFixture, TestAgent, bytes, queue_replies};
use super::windowed_model::{WindowedModel, whole_text};

impl TestAgent {
    async fn context(&mut self, request: ContextRequest) -> ContextReply {
        self.tell(AgentCommand::Context(request)).await;
        let event = self.wait_for("ledger", |it| matches!(it, AgentEvent::Context(_))).await;
        let AgentEvent::Context(reply) = event else { panic!("{event:?}") };
        assert_adds_up(&reply);
        *reply
    }

    /// The item of this kind whose row begins so.
    async fn item(&mut self, kind: ContextSource, about: &str) -> LedgerItem {
        let reply = self.context(ContextRequest::Show).await;
        found(&reply, kind, about)
    }

    async fn edit(&mut self, item: &LedgerItem, action: ContextAction) -> ContextReply {
        let item = item.item.expect("an item that can be edited");
        let reply = self.context(ContextRequest::Edit { item, action }).await;
        assert_eq!(reply.failed, None);
        reply
    }
}

fn found(reply: &ContextReply, kind: ContextSource, about: &str) -> LedgerItem {
    let sources = reply.ledger.sources.iter().filter(|source| source.kind == kind);
    let mut items = sources.flat_map(|source| &source.items);
    let item = items.find(|item| item.about.starts_with(about));
    item.unwrap_or_else(|| panic!("no {about} in {reply:#?}")).clone()
}

fn assert_adds_up(reply: &ContextReply) {
    let ledger = &reply.ledger;
    let sources: u64 = ledger.sources.iter().map(|source| source.tokens).sum();
    assert_eq!(sources, ledger.used);
    for source in ledger.sources.iter().filter(|source| !source.items.is_empty()) {
        let items: u64 = source.items.iter().map(|item| item.tokens).sum();
        assert_eq!(items, source.tokens, "{:?}", source.kind);
    }
}

fn read(id: &'static str, file: &str) -> super::fakes::ScriptedStream {
    calls(&[(id, "Read", json!({"file_path": file}))])
}

fn fixture() -> AgentFixture {
    let fixture = AgentFixture::in_mode(PermissionMode::AllowEdits);
    fixture.put("a.txt", &"alpha, the first letter\n".repeat(40));
    fixture.put("b.txt", &"beta, the second letter\n".repeat(40));
    fixture
}

const FIRST: &str = "read both files";

/// Two turns, each of which reads a file.
async fn session(fixture: &AgentFixture) -> TestAgent {
    queue_replies(
        fixture,
        [read("c1", "a.txt"), words("Read a."), read("c2", "b.txt"), words("Read b.")],
    );
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn(FIRST).await;
    agent.turn("now b").await;
    agent
}

/// The messages of the next request.
async fn next_request(fixture: &AgentFixture, agent: &mut TestAgent) -> Vec<Message> {
    fixture.model.reply(words("Yes."));
    agent.turn("go on").await;
    fixture.model.last_request().messages
}

#[tokio::test]
async fn what_fills_the_window_is_listed_by_source() {
    let fixture = fixture();
    fixture.put("SLUG.md", "Use tabs, and say so.\n");
    let mut agent = session(&fixture).await;
    let reply = agent.context(ContextRequest::Show).await;
    let kinds: Vec<ContextSource> = reply.ledger.sources.iter().map(|it| it.kind).collect();
    for kind in [
        ContextSource::SystemPrompt,
        ContextSource::Tools,
        ContextSource::Instructions,
        ContextSource::UserMessages,
        ContextSource::Answers,
        ContextSource::ToolCalls,
        ContextSource::ToolResults,
    ] {
        assert_eq!(kinds.iter().filter(|it| **it == kind).count(), 1, "{kind:?} in {kinds:?}");
    }
    assert!(!kinds.contains(&ContextSource::Images) && !kinds.contains(&ContextSource::Summary));
    let result = found(&reply, ContextSource::ToolResults, "a.txt");
    assert_eq!((result.name.as_str(), result.turns_ago), ("Read", Some(1)));
    assert!(result.behind > found(&reply, ContextSource::ToolResults, "b.txt").behind);
    agent.close().await;
}

/// The window as slug estimates it is what a compaction goes by; once the server has counted, its
/// count is the whole, as in the first line of the screen.
#[tokio::test(flavor = "multi_thread")]
async fn the_whole_is_what_the_server_has_counted_last() {
    let model = WindowedModel::new(64_000, |_| words("Yes, that is how it is done here."));
    let fixture = AgentFixture { provider: Some(model.clone()), ..fixture() };
    let mut agent = fixture.open(InitialSession::New).await;
    let before = agent.context(ContextRequest::Show).await.ledger;
    assert!(before.is_estimate);
    agent.turn(FIRST).await;
    let usage = agent.messages().into_iter().filter_map(|it| it.usage).next_back().unwrap();
    let counted = agent.context(ContextRequest::Show).await.ledger;
    assert_eq!((counted.used, counted.is_estimate), (usage.input + usage.output, false));
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    let resumed = agent.context(ContextRequest::Show).await.ledger;
    assert_eq!((resumed.used, resumed.is_estimate), (counted.used, false));
    agent.close().await;
}

/// What would be sent is told without a question wherever no server has counted it: after the output of a
/// command of the user's, and when such a session is opened again.
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_has_counted_is_told_as_an_estimate() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("yes")]);
    let is_ledger = |event: &AgentEvent| matches!(event, AgentEvent::ContextEstimated(_));
    agent.turn("hello").await;
    let before_it_answered = agent.events.iter().filter(|event| is_ledger(event)).count();
    assert_eq!(before_it_answered, 1, "the first request, and nothing once it was counted");
    agent.tell(AgentCommand::Shell { command: "show the log".into() }).await;
    let told = agent.wait_for("estimate", is_ledger).await;
    let AgentEvent::ContextEstimated(ledger) = told else { panic!("{told:?}") };
    assert!(ledger.is_estimate);
    let session = agent.id();
    agent.close().await;
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    let told = agent.wait_for("estimate", is_ledger).await;
    let AgentEvent::ContextEstimated(again) = told else { panic!("{told:?}") };
    assert!(again.is_estimate && again.used > 0);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_much_larger_than_the_last_count_is_told_while_it_is_answered() {
    let fixture = AgentFixture::new();
    let mut agent = fixture.open(InitialSession::New).await;
    let usage = TokenUsage { input: 2_000, output: 10, ..TokenUsage::default() };
    let counted = |text: &str| {
        let mut reply = words(text);
        reply.insert(0, ScriptedEvent::Event(StreamEvent::Usage(usage)));
        reply
    };
    queue_replies(&fixture, [counted("yes"), counted("and"), counted("no")]);
    let estimates = |agent: &TestAgent| -> Vec<u64> {
        let told = agent.events.iter().filter_map(|event| match event {
            AgentEvent::ContextEstimated(ledger) => Some(ledger.used),
            _ => None,
        });
        told.collect()
    };
    agent.turn("hello").await;
    let first = estimates(&agent).len();
    agent.turn("and you?").await;
    assert_eq!(estimates(&agent).len(), first, "a little more is not worth a word");
    agent.turn(&"many words, ".repeat(3_000)).await;
    let told = estimates(&agent);
    assert_eq!(told.len(), first + 1, "{told:?}");
    assert!(told[first] > 6_000, "{told:?}");
    agent.close().await;
}

#[tokio::test]
async fn a_folded_result_is_a_stub_in_the_next_request_and_comes_back() {
    let fixture = fixture();
    let mut agent = session(&fixture).await;
    let before = agent.conversation().messages;
    let item = agent.item(ContextSource::ToolResults, "a.txt").await;
    let reply = agent.edit(&item, ContextAction::FoldOut).await;
    let folded = found(&reply, ContextSource::ToolResults, "a.txt");
    assert_eq!(folded.state, LedgerItemState::FoldedOut);
    assert!(folded.tokens < item.tokens && reply.ledger.is_estimate);

    let sent = next_request(&fixture, &mut agent).await;
    let text = bytes(&sent);
    assert!(text.contains("[result of Read left out by the user,"), "{text}");
    assert!(!text.contains("alpha") && text.contains("beta"), "{text}");
    let answered: usize = sent.iter().map(|message| message.answers().count()).sum();
    assert_eq!(answered, 2, "the call keeps its result");
    assert!(agent.messages().iter().any(|it| bytes(&[it.message()]).contains("alpha")), "the log");

    agent.edit(&folded, ContextAction::BringBack).await;
    let text = bytes(&next_request(&fixture, &mut agent).await);
    assert!(text.contains("alpha") && !text.contains("left out by the user"), "{text}");
    assert_eq!(agent.conversation().messages[..before.len()], before);
    agent.close().await;
}

#[tokio::test]
async fn decisions_survive_a_resume_a_fork_and_a_rewind() {
    let fixture = fixture();
    let mut agent = session(&fixture).await;
    let item = agent.item(ContextSource::ToolResults, "a.txt").await;
    fixture.model.reply(words("Yes."));
    agent.turn("later").await;
    agent.edit(&item, ContextAction::FoldOut).await;
    let session = agent.id();

    // The rewind takes back the turn in which the decision was made, not what it is about.
    agent.tell(AgentCommand::PlanRewind(RewindDestination::Last)).await;
    let event = agent.wait_for("plan", |it| matches!(it, AgentEvent::RewindPlanned(_))).await;
    let AgentEvent::RewindPlanned(Ok(plan)) = event else { panic!("{event:?}") };
    agent.tell(AgentCommand::Rewind { plan, what: RewindScope::Conversation }).await;
    agent.wait_for("rewind", |it| matches!(it, AgentEvent::Rewound { .. })).await;
    assert!(!bytes(&next_request(&fixture, &mut agent).await).contains("alpha"));
    agent.close().await;

    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    assert!(!bytes(&next_request(&fixture, &mut agent).await).contains("alpha"));
    agent.tell(AgentCommand::Fork { session, at: ForkPosition::End }).await;
    agent.wait_for("fork", |it| matches!(it, AgentEvent::Forked { .. })).await;
    assert!(!bytes(&next_request(&fixture, &mut agent).await).contains("alpha"));
    agent.edit(&item, ContextAction::BringBack).await;
    assert!(bytes(&next_request(&fixture, &mut agent).await).contains("alpha"));
    agent.tell(AgentCommand::Resume { session }).await;
    agent.wait_for("session", |it| matches!(it, AgentEvent::SessionState { .. })).await;
    let text = bytes(&next_request(&fixture, &mut agent).await);
    assert!(!text.contains("alpha"), "the fork decides for itself alone: {text}");
    agent.close().await;
}

#[tokio::test]
async fn messages_and_answers_are_folded_but_never_the_task() {
    let fixture = fixture();
    let long = "a long aside about the weather in the mountains ".repeat(10);
    queue_replies(&fixture, [words("Yes."), words(&long), words("Yes.")]);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn(&format!("the task {long}")).await;
    agent.turn(&format!("an aside {long}")).await;
    agent.turn(&format!("the last {long}")).await;
    for about in ["the task", "the last"] {
        let item = agent.item(ContextSource::UserMessages, about).await;
        assert_eq!(item.fold_action(), None, "{about}");
        if let Some(item) = item.item {
            let action = ContextAction::FoldOut;
            let reply = agent.context(ContextRequest::Edit { item, action }).await;
            assert_eq!(reply.failed, Some(ContextEditError::NotPossible), "{about}");
        }
    }
    let aside = agent.item(ContextSource::UserMessages, "an aside").await;
    agent.edit(&aside, ContextAction::FoldOut).await;
    let answer = agent.item(ContextSource::Answers, "a long aside").await;
    agent.edit(&answer, ContextAction::FoldOut).await;
    let text = bytes(&next_request(&fixture, &mut agent).await);
    assert!(text.contains("The user has left this message out, "), "{text}");
    assert!(text.contains("(The user has left this answer out, "), "{text}");
    assert_eq!(text.matches(long.trim()).count(), 2, "the task and the last: {text}");
    agent.close().await;
}

#[tokio::test]
async fn folding_while_a_turn_runs_takes_effect_with_its_next_request() {
    let fixture = AgentFixture { ..fixture() };
    let mut agent = session(&fixture).await;
    let item = agent.item(ContextSource::ToolResults, "a.txt").await;
    queue_replies(
        &fixture,
        [calls(&[("c3", "Bash", json!({"command": "write c made"}))]), words("Made.")],
    );
    agent.send("make c").await;
    let question = agent.next_approval().await;
    assert!(bytes(&fixture.model.last_request().messages).contains("alpha"));
    agent.edit(&item, ContextAction::FoldOut).await;
    agent.answer(&question, ApprovalAnswer::Once).await;
    agent.wait_for_turn_end().await;
    let sent = fixture.model.last_request().messages;
    let text = bytes(&sent);
    assert!(!text.contains("alpha") && text.contains("beta"), "{text}");
    let answered: usize = sent.iter().map(|message| message.answers().count()).sum();
    assert_eq!(answered, 3, "each result once: {text}");
    let edits =
        agent.records().into_iter().filter(|it| matches!(it.entry, LogEntry::ContextEdit(_)));
    assert_eq!(edits.count(), 1);
    agent.close().await;
}

/// Reads file after file in one turn, until all are read.
fn reader(window: u64, files: usize) -> Arc<WindowedModel> {
    WindowedModel::new(window, move |request| {
        let told = request.messages.iter().flat_map(Message::calls).last();
        let number = told.map_or(0, |call| call.id.as_str()[1..].parse::<usize>().unwrap() + 1);
        if number >= files || request.messages.last().unwrap().text().starts_with("stop") {
            return words("All read.");
        }
        let id = format!("c{number}");
        calls(&[(id.as_str(), "Read", json!({"file_path": format!("f{number}")}))])
    })
}

fn with_files(model: &Arc<WindowedModel>, files: usize) -> AgentFixture {
    let fixture = AgentFixture {
        provider: Some(model.clone()),
        rounds: Some(100),
        ..AgentFixture::in_mode(PermissionMode::AllowEdits)
    };
    for number in 0..files {
        fixture.put(&format!("f{number}"), &format!("line of file {number}.\n").repeat(120));
    }
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_result_survives_every_automatic_compaction() {
    let model = reader(12_000, 2);
    let fixture = with_files(&model, 40);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("read all").await;
    let item = agent.item(ContextSource::ToolResults, "f0").await;
    agent.edit(&item, ContextAction::Pin).await;
    let session = agent.id();
    agent.close().await;

    let model = reader(12_000, 40);
    let fixture = AgentFixture { provider: Some(model.clone()), ..fixture };
    let mut agent = fixture.open(InitialSession::Resume(session)).await;
    agent.turn("go on").await;
    assert_eq!(model.refused(), 0);
    let compacted = agent.records().into_iter();
    let compacted = compacted.filter(|it| matches!(it.entry, LogEntry::Compaction(_))).count();
    assert!(compacted >= 3, "{compacted} compactions");
    for request in model.requests() {
        let text = whole_text(&request.messages);
        assert!(text.contains("line of file 0."), "{text}");
        let (mut asked, mut answered) = (Vec::new(), Vec::new());
        for message in &request.messages {
            asked.extend(message.calls().map(|call| call.id.clone()));
            answered.extend(message.answers().cloned());
        }
        assert_eq!(asked, answered);
    }
    let reply = agent.context(ContextRequest::Show).await;
    assert_eq!(found(&reply, ContextSource::ToolResults, "f0").state, LedgerItemState::Pinned);
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_compaction_stubbed_is_brought_back_and_a_compaction_is_taken_back() {
    let model = reader(20_000, 18);
    let fixture = with_files(&model, 18);
    let mut agent = fixture.open(InitialSession::New).await;
    agent.turn("read all").await;
    let reply = agent.context(ContextRequest::Show).await;
    let results = reply.ledger.sources.iter().find(|it| it.kind == ContextSource::ToolResults);
    let mut items = results.unwrap().items.iter();
    let stubbed = items.find(|it| it.state == LedgerItemState::Compacted);
    let stubbed = stubbed.unwrap_or_else(|| panic!("no stub in {reply:#?}")).clone();
    let line = format!("line of file {}.", stubbed.about.trim_start_matches('f'));
    assert!(!whole_text(&sent_now(&agent)).contains(&line));
    let reply = agent.edit(&stubbed, ContextAction::BringBack).await;
    let now = reply.ledger.find(stubbed.item.unwrap()).unwrap();
    assert_eq!(now.state, LedgerItemState::Full);
    assert!(whole_text(&sent_now(&agent)).contains(&line));

    let compaction = agent.item(ContextSource::Summary, "Compacted").await;
    let after = whole_text(&sent_now(&agent));
    let reply = agent.edit(&compaction, ContextAction::BringBack).await;
    let back = reply.ledger.find(compaction.item.unwrap()).unwrap().clone();
    assert!(whole_text(&sent_now(&agent)).len() > after.len());
    agent.edit(&back, ContextAction::FoldOut).await;
    assert_eq!(whole_text(&sent_now(&agent)), after);
    agent.close().await;
}

/// The messages that a replay of the log gives, which the next request sends.
fn sent_now(agent: &TestAgent) -> Vec<Message> {
    agent.conversation().messages.into_iter().map(|(_, message)| message).collect()
}

#[tokio::test]
async fn the_prompt_the_tools_and_unknown_items_cannot_be_folded() {
    let fixture = fixture();
    let mut agent = session(&fixture).await;
    let reply = agent.context(ContextRequest::Show).await;
    for source in &reply.ledger.sources {
        let is_fixed = matches!(
            source.kind,
            ContextSource::SystemPrompt
                | ContextSource::Tools
                | ContextSource::Instructions
                | ContextSource::Notes
                | ContextSource::ToolCalls
        );
        assert!(!is_fixed || source.items.iter().all(|item| item.item.is_none()), "{source:?}");
    }
    let known = agent.item(ContextSource::ToolResults, "a.txt").await.item.unwrap();
    let entry = slug_code::domain::EntryId::generate();
    let item = ContextItem { entry, ..known };
    let reply = agent.context(ContextRequest::Edit { item, action: ContextAction::FoldOut }).await;
    assert_eq!(reply.failed, Some(ContextEditError::NotPossible));
    let edits =
        agent.records().into_iter().filter(|it| matches!(it.entry, LogEntry::ContextEdit(_)));
    assert_eq!(edits.count(), 0);
    agent.close().await;
}
