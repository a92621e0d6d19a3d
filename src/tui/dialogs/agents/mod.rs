//! The page of `/agents`: the agents that calls have started, how they stand and what they have taken. One
//! can be opened as a conversation, or stopped.
//!
//! What it shows is in `SharedState::started_agents`; the page only knows which row is selected.

mod linear_page;
pub mod view;

use ratatui::layout::Position;

use crate::domain::{AgentId, NoticeLevel, SubagentSummary};
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, AgentsKey, KeyPlace, KeyPress, Keymap};
use crate::tui::app::shared::SharedState;
use crate::tui::app::started_agent::StartedAgent;

use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLifetime, DialogView,
};
use crate::tui::dialogs::linear_page::LinearPage;

/// The state of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentsPage {
    selected: Option<AgentId>,
    /// The agent of which it is asked whether to stop it.
    stopping: Option<AgentId>,
    guard: QuestionGuard,
}

/// A row of the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AgentRow<'a> {
    /// The agent that the user talks to, which has started the others.
    Main(AgentId),
    Started(&'a StartedAgent),
}

impl AgentRow<'_> {
    fn agent(&self) -> AgentId {
        match self {
            Self::Main(agent) => *agent,
            Self::Started(started) => started.summary.agent,
        }
    }
}

/// Opens the page on the agent in front, or on the one that was started last.
pub fn open(front: AgentId, shared: &SharedState) -> AgentsPage {
    let started = &shared.started_agents;
    let last = started.last().map(|it| it.summary.agent);
    let in_front = started.iter().any(|it| it.summary.agent == front).then_some(front);
    AgentsPage { selected: in_front.or(last), stopping: None, guard: QuestionGuard::default() }
}

/// The rows of the page; none where no agent was started.
pub fn rows(shared: &SharedState) -> Vec<AgentRow<'_>> {
    let started = &shared.started_agents;
    let main = started.first().map(|first| AgentRow::Main(first.parent));
    let others = started.iter().map(AgentRow::Started);
    main.into_iter().chain(others).collect()
}

impl AgentsPage {
    /// The index of the selected row.
    pub fn at(&self, rows: &[AgentRow<'_>]) -> usize {
        rows.iter().position(|row| Some(row.agent()) == self.selected).unwrap_or_default()
    }

    /// The agent of which it is asked whether to stop it.
    pub fn asked<'a>(&self, shared: &'a SharedState) -> Option<&'a SubagentSummary> {
        let mut all = shared.started_agents.iter().map(|it| &it.summary);
        all.find(|it| Some(it.agent) == self.stopping && it.state.is_running())
    }

    fn step(&mut self, by: isize, shared: &SharedState) {
        let rows = rows(shared);
        let to = self.at(&rows).saturating_add_signed(by).min(rows.len().saturating_sub(1));
        self.selected = rows.get(to).map(AgentRow::agent);
    }

    /// Asks whether to stop the selected agent; the same key again stops it.
    fn stop(&mut self, shared: &SharedState) -> Vec<Intent> {
        let rows = rows(shared);
        let Some(AgentRow::Started(StartedAgent { summary, .. })) = rows.get(self.at(&rows)) else {
            return Vec::new();
        };
        let id = summary.agent;
        if !summary.state.is_running() {
            let text = format!("{} has ended already.", summary.name());
            return vec![Intent::Toast(NoticeLevel::Info, text)];
        }
        if self.stopping != Some(id) {
            self.stopping = Some(id);
            self.guard = QuestionGuard::default();
            return Vec::new();
        }
        if !self.guard.is_armed() {
            return Vec::new();
        }
        self.stopping = None;
        vec![Intent::Effect(ScreenEffect::CancelTurn(id))]
    }

    fn open(&self, shared: &SharedState) -> Vec<Intent> {
        let rows = rows(shared);
        match rows.get(self.at(&rows)) {
            Some(AgentRow::Main(agent)) => vec![Intent::Close, Intent::ShowAgent(*agent, None)],
            Some(AgentRow::Started(StartedAgent { summary, .. })) => {
                vec![Intent::Close, Intent::ShowAgent(summary.agent, summary.session)]
            }
            None => Vec::new(),
        }
    }
}

impl Dialog for AgentsPage {
    fn place(&self) -> KeyPlace {
        KeyPlace::Agents
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(self, around, canvas);
        None
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let key = keymap::find(keymap::AGENTS, key);
        if key != Some(AgentsKey::Stop) {
            self.stopping = None;
        }
        match key {
            Some(AgentsKey::Previous) => self.step(-1, around.shared),
            Some(AgentsKey::Next) => self.step(1, around.shared),
            Some(AgentsKey::Open) => return self.open(around.shared),
            Some(AgentsKey::Stop) => return self.stop(around.shared),
            Some(AgentsKey::Back) => return vec![Intent::Close],
            None => {}
        }
        Vec::new()
    }

    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let mut hints = Vec::new();
        if self.selected.is_some() {
            hints.push((keys.key(AgentsKey::Open), "open"));
            hints.push((keys.key(AgentsKey::Stop), "stop"));
        }
        hints.push((keys.key(AgentsKey::Back), "close"));
        hints
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        self.step(rows.signum() as isize, around.shared);
    }

    /// The guard of the question whether to stop an agent; `None` while it is not asked.
    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        self.stopping.is_some().then_some(&mut self.guard)
    }

    fn guard(&self) -> Option<QuestionGuard> {
        self.stopping.is_some().then_some(self.guard)
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        Some(linear_page::linear_page(around))
    }
}
