//! Two agents on one screen: each with its own conversation, streaming at once, switched between by
//! key, and asked about by name.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;
use slug_code::agent::{
    AddressedEvent, AgentEventReceiver, AgentHandle, InitialSession, event_queue, spawn_into,
};
use slug_code::domain::AgentId;
use slug_code::tui::app::conversation::composer::ChatComposer;
use slug_code::tui::app::conversation::status::ConversationStatus;
use slug_code::tui::app::settings::ScreenSettings;
use slug_code::tui::app::{ScreenEffect, ScreenModel, ScreenMsg, update};
use slug_code::tui::layout::SyntaxHighlighter;
use slug_code::tui::theme::{ColorDepth, Theme};
use slug_code::tui::view::{ViewLayouts, view};
use tokio::time::timeout;

use super::fakes::{calls, words};
use super::test_agent::{AgentFixture, queue_replies};

/// A screen in front of two agents, without a terminal.
struct SharedScreen {
    agents: BTreeMap<AgentId, AgentHandle>,
    events: AgentEventReceiver,
    model: ScreenModel,
    layouts: ViewLayouts,
    theme: Theme,
    terminal: Terminal<TestBackend>,
    now: Duration,
}

impl SharedScreen {
    /// The first agent is in front.
    fn start(fixtures: &[AgentFixture; 2]) -> Self {
        let ids = [AgentId::generate(), AgentId::generate()];
        let (first, events) = event_queue(ids[0]);
        let second = first.for_agent(ids[1]);
        let spawn = |fixture: &AgentFixture, outbox| {
            let agent = spawn_into(fixture.setup(Vec::new()), InitialSession::New, outbox);
            (agent.id, agent)
        };
        let agents = [spawn(&fixtures[0], first), spawn(&fixtures[1], second)];
        let status = |title: &str| ConversationStatus {
            title: Some(title.to_owned()),
            ..ConversationStatus::default()
        };
        let composer = || ChatComposer::new(Vec::new(), "");
        let settings = ScreenSettings::default();
        let mut model = ScreenModel::new(ids[0], settings, status("roof"), composer(), (100, 30));
        model.add_conversation(ids[1], status("door"), composer());
        Self {
            agents: agents.into(),
            events,
            model,
            layouts: ViewLayouts::new(SyntaxHighlighter::off()),
            theme: Theme::dark(ColorDepth::TrueColor),
            terminal: Terminal::new(TestBackend::new(100, 30)).unwrap(),
            now: Duration::ZERO,
        }
    }

    async fn take(&mut self, msg: ScreenMsg) {
        for effect in update(&mut self.model, msg) {
            if let ScreenEffect::Agent(agent, command) = effect {
                self.agents[&agent].commands.send(command.to(agent)).await.unwrap();
            }
        }
    }

    async fn draw(&mut self) {
        let Self { model, layouts, theme, terminal, .. } = self;
        let mut geometry = None;
        terminal.draw(|frame| geometry = Some(view(model, layouts, theme, frame))).unwrap();
        self.take(ScreenMsg::Drawn(Box::new(geometry.unwrap()))).await;
        self.take(ScreenMsg::Painted(self.now)).await;
        self.take(ScreenMsg::InputIdle(self.now)).await;
    }

    /// Presses a key a second after whatever was before.
    async fn key(&mut self, code: KeyCode) {
        for _ in 0..2 {
            self.now += Duration::from_millis(500);
            self.take(ScreenMsg::Tick(self.now)).await;
            self.draw().await;
        }
        self.take(ScreenMsg::Key(KeyEvent::new(code, KeyModifiers::NONE))).await;
        self.take(ScreenMsg::InputIdle(self.now)).await;
        self.draw().await;
    }

    async fn send(&mut self, text: &str) {
        for c in text.chars() {
            self.key(KeyCode::Char(c)).await;
        }
        self.key(KeyCode::Enter).await;
    }

    /// Takes events of both agents until `is_done`.
    async fn until(&mut self, is_done: impl Fn(&ScreenModel) -> bool) {
        while !is_done(&self.model) {
            let next = timeout(Duration::from_secs(60), self.events.recv()).await;
            let next = next.unwrap_or_else(|_| panic!("nothing more came:\n{}", self.text()));
            let AddressedEvent { agent, event } = next.expect("the agents are gone");
            self.take(ScreenMsg::Agent(agent, Box::new(event))).await;
            self.draw().await;
        }
    }

    fn text(&self) -> String {
        self.terminal.backend().to_string()
    }

    async fn close(self) {
        let Self { agents, events, .. } = self;
        drop(events);
        for AgentHandle { commands, task, .. } in agents.into_values() {
            drop(commands);
            timeout(Duration::from_secs(60), task).await.expect("it does not end").unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_agents_side_by_side_have_a_conversation_each() {
    let fixtures = [AgentFixture::new(), AgentFixture::new()];
    let answers = ["The roof leaks.", "The door creaks."];
    for (fixture, answer) in fixtures.iter().zip(answers) {
        let call = ("c1", "Bash", json!({"command": "touch x"}));
        queue_replies(fixture, [calls(&[call]), words(answer)]);
    }
    let mut screen = SharedScreen::start(&fixtures);
    screen.send("look up").await;
    screen.key(KeyCode::F(6)).await;
    screen.send("look ahead").await;

    // Both ask. One question is on screen, with the name of its agent; the other one waits.
    screen.until(|model| model.has_question() && model.shared.questions.len() == 1).await;
    let mut asked = BTreeSet::new();
    for _ in 0..2 {
        let asker = screen.model.shared.asker.clone().expect("nobody asks");
        let name = asker.name.expect("no name");
        assert!(
            screen.text().contains(&format!("{name}: Run this command?")),
            "{name}:\n{}",
            screen.text()
        );
        asked.insert(asker.agent);
        screen.key(KeyCode::Char('y')).await;
    }
    assert!(asked.iter().eq(screen.agents.keys()), "each agent asks once: {asked:?}");
    screen
        .until(|model| {
            let mut all = std::iter::once(&model.conversation).chain(model.background.values());
            all.all(|it| it.turn.is_idle() && it.transcript.last_answer().is_some())
        })
        .await;

    let text = screen.text();
    assert!(text.contains(answers[1]) && !text.contains(answers[0]), "{text}");
    screen.key(KeyCode::F(6)).await;
    let text = screen.text();
    assert!(text.contains(answers[0]) && text.contains("look up"), "{text}");
    assert!(!text.contains(answers[1]) && !text.contains("look ahead"), "{text}");
    assert!(fixtures.iter().all(|fixture| !fixture.processes.log().is_empty()), "both ran");
    screen.close().await;
}
