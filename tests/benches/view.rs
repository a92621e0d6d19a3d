//! The cost of a frame, from the message that caused it to the bytes for the terminal. It must not
//! depend on the length of the session.

use std::io::Sink;

use crossterm::event::KeyCode;
use divan::Bencher;
use ratatui::backend::CrosstermBackend;
use slug_code::agent::AgentEvent;
use slug_code::domain::{CallId, TurnId};

use crate::samples;
use crate::screen::BenchScreen;

const SESSIONS: [usize; 3] = [10, 1_000, 100_000];
const NORMAL: (u16, u16) = (120, 40);
const LARGE: (u16, u16) = (200, 60);

type TranscriptScreen = BenchScreen<CrosstermBackend<Sink>>;

/// A screen with a session of `messages` messages, drawn once.
fn screen(messages: usize, size: (u16, u16)) -> TranscriptScreen {
    let mut screen = BenchScreen::discarding(size);
    screen.open(messages);
    screen.draw();
    screen
}

/// A screen with a turn that has streamed for a while.
fn streaming(messages: usize) -> TranscriptScreen {
    let mut screen = screen(messages, NORMAL);
    screen.event(AgentEvent::TurnStarted { turn: TurnId(1) });
    screen.event(AgentEvent::Text { turn: TurnId(1), text: samples::markdown(20_000) });
    screen.draw();
    screen
}

/// A large screen with a session of `messages` messages, fully read.
fn complete(messages: usize) -> TranscriptScreen {
    let mut screen = BenchScreen::discarding(LARGE);
    screen.open_fully(messages);
    screen.draw();
    screen
}

#[divan::bench(args = SESSIONS)]
fn frame_120x40(bencher: Bencher, messages: usize) {
    let mut screen = screen(messages, NORMAL);
    bencher.bench_local(|| screen.draw());
}

#[divan::bench(args = SESSIONS)]
fn frame_200x60(bencher: Bencher, messages: usize) {
    let mut screen = screen(messages, LARGE);
    bencher.bench_local(|| screen.draw());
}

/// One page up and one down, in two frames.
#[divan::bench(args = SESSIONS)]
fn two_pages_scrolled(bencher: Bencher, messages: usize) {
    let mut screen = screen(messages, NORMAL);
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
    let mut screen = screen(messages, NORMAL);
    bencher.bench_local(|| {
        for key in [KeyCode::Char('x'), KeyCode::Backspace] {
            screen.press(key);
            screen.draw();
        }
    });
}

#[divan::bench(args = SESSIONS, sample_count = 100, sample_size = 4)]
fn delta_at_the_tail(bencher: Bencher, messages: usize) {
    let mut screen = streaming(messages);
    bencher.bench_local(|| {
        screen.event(AgentEvent::Text { turn: TurnId(1), text: "another few words of it ".into() });
        screen.draw();
    });
}

#[divan::bench(args = SESSIONS, sample_count = 100, sample_size = 4)]
fn delta_while_scrolled_up(bencher: Bencher, messages: usize) {
    let mut screen = streaming(messages);
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
    bencher.bench(|| screen(messages, NORMAL));
}

/// Scrolls from the end of a long session towards its beginning, one page per frame.
#[divan::bench(sample_count = 200, sample_size = 10)]
fn scrolled_end_to_end_200x60(bencher: Bencher) {
    let mut screen = complete(100_000);
    bencher.bench_local(|| {
        screen.press(KeyCode::PageUp);
        screen.draw();
    });
}

/// A command's output of ten megabytes arrives as one result and is shown.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn ten_megabytes_shown(bencher: Bencher) {
    let text = "a line of what a test prints when it has a lot to say\n".repeat(190_000);
    bencher.with_inputs(|| (screen(10, LARGE), text.clone())).bench_local_values(
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
