//! The page of a race: the two agents that answer the same message, side by side where there is room. The
//! user takes one of the answers, or neither.
//!
//! Each side is the conversation that its agent has on screen anyway; the page adds which side is selected
//! and where each is scrolled to. It is there as long as the race runs and its conversation is in front.

pub mod view;

use ratatui::layout::Position;

use crate::agent::AgentCommand;
use crate::domain::{AgentId, NoticeLevel};
use crate::tui::app::conversation::block::BlockId;
use crate::tui::app::conversation::scroll::TranscriptScroll;
use crate::tui::app::guard::QuestionGuard;
use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, Keymap, RaceKey, ScrollAction};
use crate::tui::app::shared::{RunningRace, SharedState};
use crate::tui::app::started_agent::StartedAgent;

use crate::tui::app::dialog_reply::DialogReply;
use crate::tui::dialogs::dialog::{
    Dialog, DialogCanvas, DialogContext, DialogLayer, DialogLifetime, DialogView,
};
use crate::tui::dialogs::linear_page::{LineLabel, LinearPage, lines};

/// Why there is no race in the line mode.
pub const NEEDS_SCREEN: &str =
    "/race needs the full screen, which shows both answers. Start slug without --linear.";

/// The state of the page.
#[derive(Debug, Clone, PartialEq)]
pub struct RacePage {
    race: RunningRace,
    /// The index of the selected side.
    selected: usize,
    scroll: [TranscriptScroll; 2],
    /// Whether it is asked if neither answer is to be taken.
    is_leaving: bool,
    /// Whether a side has an answer: there is something to take, and to lose.
    has_answer: bool,
    /// Keeps what was being typed when the page came up from taking an answer.
    guard: QuestionGuard,
}

impl RacePage {
    /// A page that shows the end of both sides. The side that was `before` in front is selected, else the
    /// first.
    pub fn new(race: RunningRace, before: AgentId) -> Self {
        let scroll = [TranscriptScroll::default(), TranscriptScroll::default()];
        let guard = QuestionGuard::default();
        let selected = usize::from(race.sides[1] == before);
        Self { race, selected, scroll, is_leaving: false, has_answer: false, guard }
    }

    /// The agent of the selected side.
    fn agent(&self) -> AgentId {
        self.race.sides[self.selected]
    }

    fn take(&self, shared: &SharedState) -> Vec<Intent> {
        let agent = self.agent();
        let told = match side(shared, agent) {
            Some(it) if it.summary.state.is_running() => {
                "This model is still answering. Wait until it has finished, or take the other \
                 answer."
            }
            Some(it) if !it.summary.state.has_answer() => {
                "This model has no answer to take. The other one may have."
            }
            Some(_) if !self.guard.is_armed() => return Vec::new(),
            Some(_) | None => return vec![Intent::Command(AgentCommand::TakeAnswer { agent })],
        };
        vec![Intent::Toast(NoticeLevel::Info, told.to_owned())]
    }

    /// Stops both; once an answer is there, only the second time.
    fn stop(&mut self) -> Vec<Intent> {
        if self.has_answer && !self.is_leaving {
            self.is_leaving = true;
            return Vec::new();
        }
        vec![Intent::StopAgent(self.race.parent)]
    }

    fn scroll(&mut self, how: ScrollAction, height: usize) {
        let page = i32::try_from(height).unwrap_or(i32::MAX).max(2) - 1;
        let scroll = &mut self.scroll[self.selected];
        match how {
            ScrollAction::LineUp => scroll.by(-1, 0),
            ScrollAction::LineDown => scroll.by(1, 0),
            ScrollAction::HalfUp => scroll.by(-(page / 2).max(1), 0),
            ScrollAction::HalfDown => scroll.by((page / 2).max(1), 0),
            ScrollAction::PageUp => scroll.by(-page, 0),
            ScrollAction::PageDown => scroll.by(page, 0),
            // The first block, whatever its id.
            ScrollAction::Top => scroll.to(BlockId(0), 0, 0),
            ScrollAction::Bottom => scroll.to_tail(),
        }
    }
}

/// What is known of the agent of a side.
fn side(shared: &SharedState, agent: AgentId) -> Option<&StartedAgent> {
    shared.started_agents.iter().find(|it| it.summary.agent == agent)
}

impl Dialog for RacePage {
    fn place(&self) -> KeyPlace {
        KeyPlace::Race
    }

    fn draw(&self, around: DialogView<'_>, canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(self, around, canvas);
        None
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        let key = keymap::find(keymap::RACE, key);
        if key != Some(RaceKey::Stop) {
            self.is_leaving = false;
        }
        match key {
            Some(RaceKey::Take) => return self.take(around.shared),
            Some(RaceKey::Switch) => self.selected = 1 - self.selected,
            Some(RaceKey::Left) => self.selected = 0,
            Some(RaceKey::Right) => self.selected = 1,
            Some(RaceKey::Open) => {
                return vec![Intent::Close, Intent::ShowAgent(self.agent(), None)];
            }
            Some(RaceKey::Scroll(how)) => self.scroll(how, around.measured.extent.shown),
            Some(RaceKey::Stop) => return self.stop(),
            None => {}
        }
        Vec::new()
    }

    fn hints(&self, keys: &Keymap) -> Vec<(String, &'static str)> {
        let stop = if self.has_answer { "take neither" } else { "stop both" };
        vec![
            (keys.key(RaceKey::Take), "take this answer"),
            (keys.key(RaceKey::Switch), "other answer"),
            (keys.key(RaceKey::Open), "open whole"),
            (keys.key(RaceKey::Stop), stop),
        ]
    }

    fn cancel(&self) -> Vec<Intent> {
        vec![Intent::StopAgent(self.race.parent)]
    }

    fn wheel(&mut self, rows: i32, _around: &mut DialogContext<'_>) {
        self.scroll[self.selected].by(rows, 0);
    }

    /// Selects the side that was clicked.
    fn click(&mut self, at: (u16, u16), around: &mut DialogContext<'_>) -> Vec<Intent> {
        let mut panes = around.measured.boxes.iter();
        if let Some((_, side)) = panes.find(|(area, _)| area.inside(at.0, at.1).is_some()) {
            self.selected = *side;
        }
        Vec::new()
    }

    /// Takes over where the view has scrolled to, and whether an answer is there.
    fn drawn(&mut self, _layer: DialogLayer, around: &mut DialogContext<'_>) -> Vec<Intent> {
        for (side, anchor) in &around.measured.anchors {
            self.scroll[*side].found(*anchor);
        }
        let states = self.race.sides.map(|agent| side(around.shared, agent));
        self.has_answer = states.into_iter().flatten().any(|it| it.summary.state.has_answer());
        Vec::new()
    }

    fn reply(&mut self, reply: &DialogReply, _around: &mut DialogContext<'_>) -> Vec<Intent> {
        if *reply == DialogReply::RaceEnded { vec![Intent::Close] } else { Vec::new() }
    }

    /// The guard of taking an answer; `None` while there is none to take.
    fn guard_mut(&mut self) -> Option<&mut QuestionGuard> {
        self.has_answer.then_some(&mut self.guard)
    }

    fn guard(&self) -> Option<QuestionGuard> {
        self.has_answer.then_some(self.guard)
    }

    fn lifetime(&self) -> DialogLifetime {
        DialogLifetime::Session
    }

    /// The line mode begins no race.
    fn linear_page(&self, _around: DialogView<'_>) -> Option<LinearPage> {
        let lines = lines(LineLabel::Note, NEEDS_SCREEN);
        Some(LinearPage { key: "race".to_owned(), lines })
    }
}
