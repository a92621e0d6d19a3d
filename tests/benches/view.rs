//! The cost of a frame, from the message that caused it to the bytes for the terminal. It must not
//! depend on the length of the session.

use std::io::{self, Sink};
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divan::Bencher;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use slug_code::agent::AgentEvent;
use slug_code::domain::{AgentId, CallId, SessionId, TurnId};
use slug_code::tui::app::composer::ChatComposer;
use slug_code::tui::app::settings::ScreenSettings;
use slug_code::tui::app::status::ScreenStatus;
use slug_code::tui::app::{ScreenEffect, ScreenModel, ScreenMsg, update};
use slug_code::tui::layout::SyntaxHighlighter;
use slug_code::tui::theme::{ColorDepth, Theme};
use slug_code::tui::view::{ViewLayouts, view};

use crate::samples;

const SESSIONS: [usize; 3] = [10, 1_000, 100_000];
const NORMAL: (u16, u16) = (120, 40);
const LARGE: (u16, u16) = (200, 60);

/// A screen whose terminal discards everything.
struct TranscriptScreen {
    model: ScreenModel,
    layouts: ViewLayouts,
    theme: Theme,
    terminal: Terminal<CrosstermBackend<Sink>>,
}

impl TranscriptScreen {
    /// A screen with a session of `messages` messages, drawn once.
    fn new(messages: usize, size: (u16, u16)) -> Self {
        let status = ScreenStatus { project: "webshop".into(), ..ScreenStatus::default() };
        let composer = ChatComposer::new(Vec::new(), "");
        let viewport = Viewport::Fixed(Rect::new(0, 0, size.0, size.1));
        let backend = CrosstermBackend::new(io::sink());
        let mut screen = Self {
            model: ScreenModel::new(AgentId(1), ScreenSettings::default(), status, composer, size),
            layouts: ViewLayouts::new(SyntaxHighlighter::off()),
            theme: Theme::dark(ColorDepth::TrueColor),
            terminal: Terminal::with_options(backend, TerminalOptions { viewport }).unwrap(),
        };
        screen.take(ScreenMsg::Tick(Duration::from_secs(1)));
        screen.event(AgentEvent::SessionOpened {
            session: SessionId::generate(),
            records: Arc::new(samples::records(messages)),
        });
        screen.draw();
        screen
    }

    /// A screen with a turn that has streamed for a while.
    fn streaming(messages: usize) -> Self {
        let mut screen = Self::new(messages, NORMAL);
        screen.event(AgentEvent::TurnStarted { turn: TurnId(1) });
        screen.event(AgentEvent::Text { turn: TurnId(1), text: samples::markdown(20_000) });
        screen.draw();
        screen
    }

    fn take(&mut self, msg: ScreenMsg) {
        // Another thread replays the older part of a session; the benchmark does not wait for it.
        update(&mut self.model, msg);
    }

    /// A large screen with a session of `messages` messages, fully read.
    fn complete(messages: usize) -> Self {
        let mut screen = Self::new(0, LARGE);
        let records = Arc::new(samples::records(messages));
        let opened = AgentEvent::SessionOpened { session: SessionId::generate(), records };
        for effect in update(&mut screen.model, ScreenMsg::Agent(AgentId(1), Box::new(opened))) {
            if let ScreenEffect::Backfill { id, older } = effect {
                screen.take(ScreenMsg::Backfilled { id, folded: older.replay() });
            }
        }
        screen.draw();
        screen
    }

    fn event(&mut self, event: AgentEvent) {
        self.take(ScreenMsg::Agent(AgentId(1), Box::new(event)));
    }

    fn press(&mut self, code: KeyCode) {
        self.take(ScreenMsg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn draw(&mut self) {
        let Self { model, layouts, theme, terminal } = self;
        let mut geometry = None;
        terminal.draw(|frame| geometry = Some(view(model, layouts, theme, frame))).unwrap();
        self.take(ScreenMsg::Drawn(Box::new(geometry.unwrap())));
    }
}

#[divan::bench(args = SESSIONS)]
fn frame_120x40(bencher: Bencher, messages: usize) {
    let mut screen = TranscriptScreen::new(messages, NORMAL);
    bencher.bench_local(|| screen.draw());
}

#[divan::bench(args = SESSIONS)]
fn frame_200x60(bencher: Bencher, messages: usize) {
    let mut screen = TranscriptScreen::new(messages, LARGE);
    bencher.bench_local(|| screen.draw());
}

/// One page up and one down, in two frames.
#[divan::bench(args = SESSIONS)]
fn two_pages_scrolled(bencher: Bencher, messages: usize) {
    let mut screen = TranscriptScreen::new(messages, NORMAL);
    bencher.bench_local(|| {
        for key in [KeyCode::PageUp, KeyCode::PageDown] {
            screen.press(key);
            screen.draw();
        }
    });
}

/// Types a letter and deletes it, in two frames.
#[divan::bench(args = SESSIONS)]
fn two_keys_typed(bencher: Bencher, messages: usize) {
    let mut screen = TranscriptScreen::new(messages, NORMAL);
    bencher.bench_local(|| {
        for key in [KeyCode::Char('x'), KeyCode::Backspace] {
            screen.press(key);
            screen.draw();
        }
    });
}

#[divan::bench(args = SESSIONS, sample_count = 100, sample_size = 4)]
fn delta_at_the_tail(bencher: Bencher, messages: usize) {
    let mut screen = TranscriptScreen::streaming(messages);
    bencher.bench_local(|| {
        screen.event(AgentEvent::Text { turn: TurnId(1), text: "another few words of it ".into() });
        screen.draw();
    });
}

#[divan::bench(args = SESSIONS, sample_count = 100, sample_size = 4)]
fn delta_while_scrolled_up(bencher: Bencher, messages: usize) {
    let mut screen = TranscriptScreen::streaming(messages);
    screen.press(KeyCode::PageUp);
    screen.draw();
    bencher.bench_local(|| {
        screen.event(AgentEvent::Text { turn: TurnId(1), text: "another few words of it ".into() });
        screen.draw();
    });
}

/// Opens a session: replays the conversation from its records and draws the first frame.
#[divan::bench(args = SESSIONS, sample_count = 5)]
fn session_opened(bencher: Bencher, messages: usize) {
    bencher.bench(|| TranscriptScreen::new(messages, NORMAL));
}

/// Scrolls from the end of a long session towards its beginning, one page per frame.
#[divan::bench(sample_count = 200, sample_size = 10)]
fn scrolled_end_to_end_200x60(bencher: Bencher) {
    let mut screen = TranscriptScreen::complete(100_000);
    bencher.bench_local(|| {
        screen.press(KeyCode::PageUp);
        screen.draw();
    });
}

/// A command's output of ten megabytes arrives as one result and is shown.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn ten_megabytes_shown(bencher: Bencher) {
    let text = "a line of what a test prints when it has a lot to say\n".repeat(190_000);
    bencher.with_inputs(|| (TranscriptScreen::new(10, LARGE), text.clone())).bench_local_values(
        |(mut screen, text)| {
            let turn = TurnId(1);
            let call = CallId::new("c1");
            let name = "Bash".to_owned();
            screen.event(AgentEvent::TurnStarted { turn });
            screen.event(AgentEvent::CallStarted { turn, call: call.clone(), name });
            screen.event(AgentEvent::ToolProgress { turn, call, text });
            screen.draw();
            screen
        },
    );
}
