//! Titles of new sessions by a hosted model.

use slug_code::agent::{AgentCommand, AgentEvent, InitialSession, Interactivity};
use slug_code::domain::{AgentBudgets, RequestSource, TokenUsage};
use slug_code::providers::StreamEvent;
use slug_code::session::LogEntry;

use super::fakes::{ScriptedEvent, ScriptedStream, words};
use super::test_agent::{AgentFixture, TestAgent, queue_replies};

fn hosted() -> AgentFixture {
    AgentFixture { model_titles: true, ..AgentFixture::hosted("api.openai.com", "gpt-5") }
}

fn counted(text: &str) -> ScriptedStream {
    let usage = TokenUsage { input: 200, output: 7, ..TokenUsage::default() };
    let mut reply = words(text);
    reply.insert(0, ScriptedEvent::Event(StreamEvent::Usage(usage)));
    reply
}

fn is_title(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Recorded(record) if matches!(record.entry, LogEntry::Title { .. }))
}

fn title(agent: &TestAgent) -> Option<String> {
    agent.conversation().title
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hosted_model_names_a_session_once_after_its_first_answer() {
    let fixture = hosted();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("It is empty."), counted("\"Empty cart\""), words("Yes.")]);
    agent.turn("what is wrong with the cart?").await;
    agent.wait_for("title", is_title).await;
    assert_eq!(title(&agent).as_deref(), Some("Empty cart"));
    agent.turn("sure?").await;
    let requests = fixture.model.requests();
    assert_eq!(requests.len(), 3, "the second turn asks for no title");
    let asked = requests[1].messages[0].text();
    assert!(asked.contains("what is wrong with the cart?") && asked.contains("It is empty."));
    assert!(requests[1].tools.is_empty());
    let paid = agent.messages().into_iter().find(|it| it.source == RequestSource::Title).unwrap();
    assert_eq!(paid.usage.unwrap().input, 200, "what it took is on record");
    assert_eq!(agent.conversation().messages.len(), 4, "it is no part of the conversation");
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_title_of_the_users_stays() {
    let fixture = hosted();
    let mut agent = fixture.open(InitialSession::New).await;
    // Without the end of the answer the title is not there yet.
    let mut half = words("Empty cart");
    half.pop();
    half.push(ScriptedEvent::Hang);
    queue_replies(&fixture, [words("It is empty."), half, words("Yes."), words("No.")]);
    agent.turn("what is wrong?").await;
    agent.tell(AgentCommand::SetTitle("Mine".into())).await;
    agent.wait_for("title", is_title).await;
    agent.turn("sure?").await;
    assert_eq!(title(&agent).as_deref(), Some("Mine"));
    agent.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_title_leaves_the_first_message() {
    let fixture = hosted();
    let mut agent = fixture.open(InitialSession::New).await;
    queue_replies(&fixture, [words("Empty."), counted(&"I cannot name it. ".repeat(20))]);
    agent.turn("what is wrong?").await;
    let paid = |event: &AgentEvent| match event {
        AgentEvent::Recorded(record) => {
            record.entry.as_message().is_some_and(|it| it.source == RequestSource::Title)
        }
        _ => false,
    };
    agent.wait_for("what was paid", paid).await;
    assert_eq!(title(&agent).as_deref(), Some("what is wrong?"));
    agent.close().await;
}

/// Neither a server on this machine, nor in a headless run, nor where the setting or a budget says no.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_for_a_title_where_none_is_wanted() {
    let local = AgentFixture { model_titles: true, ..AgentFixture::new() };
    let headless = AgentFixture { interactivity: Interactivity::Headless, ..hosted() };
    let off = AgentFixture { model_titles: false, ..hosted() };
    let session = "100 tokens".parse().unwrap();
    let poor =
        AgentFixture { budgets: AgentBudgets { session, ..AgentBudgets::default() }, ..hosted() };
    for (fixture, why) in [(local, "local"), (headless, "headless"), (off, "off"), (poor, "poor")] {
        let mut agent = fixture.open(InitialSession::New).await;
        queue_replies(&fixture, [counted("Empty."), words("A title")]);
        agent.turn("what is wrong?").await;
        agent.tell(AgentCommand::Save).await;
        let saved = |event: &AgentEvent| matches!(event, AgentEvent::Notice { text, .. } if text.starts_with("Saved in"));
        agent.wait_for("what the agent does after the turn", saved).await;
        assert_eq!(fixture.model.requests().len(), 1, "{why}");
        agent.close().await;
    }
}
