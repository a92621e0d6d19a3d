//! A frame allocates the same whatever the length of the session, and the log takes little memory.
//!
//! A counting allocator holds for the whole process, so these tests have a binary of their own.

#![allow(clippy::unwrap_used, reason = "in a test, failing loudly is the point")]
#![allow(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Sink;
use std::time::Duration;

use chrono::DateTime;
use crossterm::event::KeyCode;
use ratatui::backend::CrosstermBackend;
use screen::BenchScreen;
use slug_code::agent::AgentEvent;
use slug_code::domain::{SessionId, TurnId};
use slug_code::platform::logging;
use slug_code::platform::redact::Redactor;
use slug_code::services::sessions::{
    SessionList, SessionLockState, SessionRow, SessionStoreResponse,
};
use slug_code::session::SessionGrouping;
use slug_code::tui::app::{ScreenEffect, ScreenMsg};

#[path = "benches/samples.rs"]
#[allow(dead_code, reason = "the benches use all of it")]
mod samples;
#[path = "benches/screen.rs"]
#[allow(dead_code, reason = "the benches use all of it")]
mod screen;

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

type AllocationScreen = BenchScreen<CrosstermBackend<Sink>>;

/// A screen with a session of `messages` messages, fully read, and a running turn.
fn running(messages: usize) -> AllocationScreen {
    let mut screen = BenchScreen::discarding((120, 40));
    screen.open_fully(messages);
    screen.event(AgentEvent::TurnStarted { turn: TurnId(1) });
    screen.event(AgentEvent::Text { turn: TurnId(1), text: samples::markdown(5_000) });
    screen.draw();
    screen
}

/// The bytes that `work` and the frame after it allocate.
fn costs(screen: &mut AllocationScreen, work: impl FnOnce(&mut AllocationScreen)) -> usize {
    let before = BYTES.get();
    work(screen);
    screen.draw();
    BYTES.get() - before
}

/// An event on the screen.
type ScreenAction = fn(&mut AllocationScreen);

/// The queue of the lines that wait is made at the start, however few lines come.
#[test]
fn the_log_takes_less_than_half_a_megabyte() {
    let folder = tempfile::tempdir().unwrap();
    let before = BYTES.get();
    let log = logging::start(folder.path(), None, Redactor::default()).unwrap();
    let taken = BYTES.get() - before;
    drop(log);
    assert!(taken < 512 << 10, "{taken} bytes");
}

#[test]
fn a_frame_allocates_the_same_however_long_the_session_is() {
    let works: [(&str, ScreenAction); 7] = [
        ("nothing new", |_| {}),
        ("time", |screen| drop(screen.take(ScreenMsg::Tick(Duration::from_secs(9))))),
        ("a key", |screen| screen.press(KeyCode::Char('x'))),
        ("a delta", |screen| {
            screen.event(AgentEvent::Text { turn: TurnId(1), text: "a few more words ".into() });
        }),
        ("page up", |screen| screen.press(KeyCode::PageUp)),
        ("another", |screen| screen.press(KeyCode::PageUp)),
        ("the tail", |screen| screen.press(KeyCode::End)),
    ];
    let (mut short, mut long) = (running(1_000), running(100_000));
    // One byte per message of the longer session would exceed this.
    let slack = 64 << 10;
    for (name, work) in works {
        let (few, many) = (costs(&mut short, work), costs(&mut long, work));
        assert!(many < few + slack, "{name}: {few} bytes at 1,000 messages, {many} at 100,000");
    }
}

/// A screen with a list of `count` sessions.
fn with_sessions(count: usize) -> AllocationScreen {
    let mut screen = running(10);
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
    let effects = screen.press_ctrl_b();
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
    let cost_of = |count: usize| {
        let mut screen = with_sessions(count);
        for c in "/cart".chars() {
            screen.press(KeyCode::Char(c));
        }
        screen.draw();
        costs(&mut screen, |_| {})
    };
    let (one, many) = (cost_of(1), cost_of(25));
    // A matcher for each of the 24 other titles would take 3 MB.
    assert!(many < one + (512 << 10), "{one} bytes with one title, {many} with 25");
}
