//! A screen without a terminal, for the benches and for counting what a frame allocates.

use std::fmt::Debug;
use std::io::{self, Sink};
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::backend::{Backend, CrosstermBackend, TestBackend};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use slug_code::agent::AgentEvent;
use slug_code::domain::{AgentId, SessionId};
use slug_code::tui::app::conversation::composer::ChatComposer;
use slug_code::tui::app::conversation::status::ConversationStatus;
use slug_code::tui::app::settings::ScreenSettings;
use slug_code::tui::app::{ScreenEffect, ScreenModel, ScreenMsg, update};
use slug_code::tui::layout::SyntaxHighlighter;
use slug_code::tui::theme::{ColorDepth, Theme};
use slug_code::tui::view::{ViewLayouts, view};

use super::samples;

const AGENT: AgentId = AgentId(1);

/// The screen of one agent, with the state, the layouts and the terminal that a frame needs.
pub(crate) struct BenchScreen<B: Backend> {
    model: ScreenModel,
    layouts: ViewLayouts,
    theme: Theme,
    terminal: Terminal<B>,
}

impl BenchScreen<CrosstermBackend<Sink>> {
    /// A screen whose terminal discards everything.
    pub(crate) fn discarding(size: (u16, u16)) -> Self {
        let settings = ScreenSettings::default();
        Self::with_backend(CrosstermBackend::new(io::sink()), size, settings)
    }
}

impl BenchScreen<TestBackend> {
    /// A screen whose terminal keeps what is drawn.
    pub(crate) fn keeping(size: (u16, u16), settings: ScreenSettings) -> Self {
        Self::with_backend(TestBackend::new(size.0, size.1), size, settings)
    }
}

impl<B: Backend<Error: Debug>> BenchScreen<B> {
    fn with_backend(backend: B, size: (u16, u16), settings: ScreenSettings) -> Self {
        let status =
            ConversationStatus { project: "webshop".into(), ..ConversationStatus::default() };
        let composer = ChatComposer::new(Vec::new(), "");
        let viewport = Viewport::Fixed(Rect::new(0, 0, size.0, size.1));
        Self {
            model: ScreenModel::new(AGENT, settings, status, composer, size),
            layouts: ViewLayouts::new(SyntaxHighlighter::off()),
            theme: Theme::dark(ColorDepth::TrueColor),
            terminal: Terminal::with_options(backend, TerminalOptions { viewport }).unwrap(),
        }
    }

    /// Opens a session of `messages` messages, as far as the screen reads it by itself.
    pub(crate) fn open(&mut self, messages: usize) -> Vec<ScreenEffect> {
        self.take(ScreenMsg::Tick(Duration::from_secs(1)));
        let records = Arc::new(samples::records(messages));
        self.event(AgentEvent::SessionOpened { session: SessionId::generate(), records })
    }

    /// The same with the older part, which another thread replays in slug.
    pub(crate) fn open_fully(&mut self, messages: usize) {
        for effect in self.open(messages) {
            if let ScreenEffect::Backfill { id, older } = effect {
                self.take(ScreenMsg::Backfilled { id, folded: older.replay() });
            }
        }
    }

    pub(crate) fn take(&mut self, msg: ScreenMsg) -> Vec<ScreenEffect> {
        update(&mut self.model, msg)
    }

    pub(crate) fn event(&mut self, event: AgentEvent) -> Vec<ScreenEffect> {
        self.take(ScreenMsg::Agent(AGENT, Box::new(event)))
    }

    pub(crate) fn press(&mut self, code: KeyCode) {
        self.take(ScreenMsg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    /// Presses ctrl+b, which opens the list of sessions.
    pub(crate) fn press_ctrl_b(&mut self) -> Vec<ScreenEffect> {
        self.take(ScreenMsg::Key(KeyEvent::new(KeyCode::Char('b'), KeyModifiers::CONTROL)))
    }

    pub(crate) fn draw(&mut self) {
        let Self { model, layouts, theme, terminal } = self;
        let mut geometry = None;
        terminal.draw(|frame| geometry = Some(view(model, layouts, theme, frame))).unwrap();
        self.take(ScreenMsg::Drawn(Box::new(geometry.unwrap())));
    }
}
