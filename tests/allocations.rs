//! A frame allocates the same whatever the length of the session.
//!
//! A counting allocator holds for the whole process, so these tests have a binary of their own.

#![allow(clippy::unwrap_used, reason = "in a test, failing loudly is the point")]
#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Sink};
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use slug_code::agent::AgentEvent;
use slug_code::domain::{AgentId, SessionId, TurnId};
use slug_code::session::SessionGrouping;
use slug_code::tui::app::composer::ChatComposer;
use slug_code::tui::app::sessions::{
    SessionList, SessionLockState, SessionRow, SessionStoreResponse,
};
use slug_code::tui::app::settings::ScreenSettings;
use slug_code::tui::app::status::ScreenStatus;
use slug_code::tui::app::{ScreenEffect, ScreenModel, ScreenMsg, update};
use slug_code::tui::layout::SyntaxHighlighter;
use slug_code::tui::theme::{ColorDepth, Theme};
use slug_code::tui::view::{ViewLayouts, view};

#[path = "benches/samples.rs"]
#[allow(dead_code, reason = "the benches use all of it")]
mod samples;

/// Counts the bytes that each thread allocates.
struct CountingAllocator;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends still allocates after its counter is gone.
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() + layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A screen whose terminal discards everything.
struct AllocationScreen {
    model: ScreenModel,
    layouts: ViewLayouts,
    theme: Theme,
    terminal: Terminal<CrosstermBackend<Sink>>,
}

impl AllocationScreen {
    /// A screen with a session of `messages` messages, fully read, and a running turn.
    fn new(messages: usize) -> Self {
        let viewport = Viewport::Fixed(Rect::new(0, 0, 120, 40));
        let backend = CrosstermBackend::new(io::sink());
        let composer = ChatComposer::new(Vec::new(), "");
        let mut screen = Self {
            model: ScreenModel::new(
                AgentId(1),
                ScreenSettings::default(),
                ScreenStatus::default(),
                composer,
                (120, 40),
            ),
            layouts: ViewLayouts::new(SyntaxHighlighter::off()),
            theme: Theme::dark(ColorDepth::TrueColor),
            terminal: Terminal::with_options(backend, TerminalOptions { viewport }).unwrap(),
        };
        let records = Arc::new(samples::records(messages));
        screen.event(AgentEvent::SessionOpened { session: SessionId::generate(), records });
        screen.event(AgentEvent::TurnStarted { turn: TurnId(1) });
        screen.event(AgentEvent::Text { turn: TurnId(1), text: samples::markdown(5_000) });
        screen.draw();
        screen
    }

    fn take(&mut self, msg: ScreenMsg) {
        for effect in update(&mut self.model, msg) {
            if let ScreenEffect::Backfill { id, older } = effect {
                update(&mut self.model, ScreenMsg::Backfilled { id, folded: older.replay() });
            }
        }
    }

    fn event(&mut self, event: AgentEvent) {
        self.take(ScreenMsg::Agent(AgentId(1), Box::new(event)));
    }

    fn draw(&mut self) {
        let Self { model, layouts, theme, terminal } = self;
        let mut geometry = None;
        terminal.draw(|frame| geometry = Some(view(model, layouts, theme, frame))).unwrap();
        self.take(ScreenMsg::Drawn(Box::new(geometry.unwrap())));
    }

    /// The bytes that `work` and the frame after it allocate.
    fn costs(&mut self, work: impl FnOnce(&mut Self)) -> usize {
        let before = BYTES.get();
        work(self);
        self.draw();
        BYTES.get() - before
    }
}

/// An event on the screen.
type ScreenAction = fn(&mut AllocationScreen);

fn key(screen: &mut AllocationScreen, code: KeyCode) {
    screen.take(ScreenMsg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
}

#[test]
fn a_frame_allocates_the_same_however_long_the_session_is() {
    let works: [(&str, ScreenAction); 7] = [
        ("nothing new", |_| {}),
        ("time", |screen| screen.take(ScreenMsg::Tick(Duration::from_secs(9)))),
        ("a key", |screen| key(screen, KeyCode::Char('x'))),
        ("a delta", |screen| {
            screen.event(AgentEvent::Text { turn: TurnId(1), text: "a few more words ".into() });
        }),
        ("a page up", |screen| key(screen, KeyCode::PageUp)),
        ("another", |screen| key(screen, KeyCode::PageUp)),
        ("the tail", |screen| key(screen, KeyCode::End)),
    ];
    let (mut short, mut long) = (AllocationScreen::new(1_000), AllocationScreen::new(100_000));
    // One byte per message of the longer session would exceed this.
    let slack = 64 << 10;
    for (name, work) in works {
        let (few, many) = (short.costs(work), long.costs(work));
        assert!(many < few + slack, "{name}: {few} bytes at 1,000 messages, {many} at 100,000");
    }
}

/// A screen with a list of `count` sessions.
fn with_sessions(count: usize) -> AllocationScreen {
    let mut screen = AllocationScreen::new(10);
    let now = DateTime::UNIX_EPOCH.fixed_offset();
    let row = |number: usize| SessionRow {
        id: SessionId::generate(),
        title: format!("Fix the cart {number}"),
        last_used_at: now,
        working_directory: "/work".into(),
        model: "qwen".into(),
        forked_from: None,
        last_shared_message: None,
        message_count: Some(2),
        lock: SessionLockState::Unlocked,
    };
    let rows = (0..count).map(row).collect();
    let ctrl_b = KeyEvent::new(KeyCode::Char('b'), KeyModifiers::CONTROL);
    let effects = update(&mut screen.model, ScreenMsg::Key(ctrl_b));
    let id = effects.iter().find_map(|effect| match effect {
        ScreenEffect::Sessions { id, .. } => Some(*id),
        _ => None,
    });
    let list = SessionList { rows, now, grouping: SessionGrouping::Date };
    screen.take(ScreenMsg::Sessions {
        id: id.unwrap(),
        answer: Ok(SessionStoreResponse::Listed(list)),
    });
    screen.draw();
    screen
}

#[test]
fn a_frame_of_a_filtered_list_makes_one_matcher() {
    let costs = |count: usize| {
        let mut screen = with_sessions(count);
        for c in "/cart".chars() {
            key(&mut screen, KeyCode::Char(c));
        }
        screen.draw();
        screen.costs(|_| {})
    };
    let (one, many) = (costs(1), costs(25));
    // A matcher for each of the 24 other titles would take 3 MB.
    assert!(many < one + (512 << 10), "{one} bytes with one title, {many} with 25");
}
