//! Reads crossterm's events, and makes sure that none stays behind in the terminal.
//!
//! crossterm is told of new bytes only once, when they come, and loses that when something else
//! comes at the same moment: a key at the instant of a resize stays in the terminal until the next
//! key. So whenever crossterm has no event, slug asks the terminal itself, and makes it report
//! again where bytes wait.
//!
//! rxvt, iTerm2 and Terminal.app send alt with an arrow as an escape before the arrow's own
//! sequence, which crossterm reads as escape, `[` and a letter: the turn would be stopped and `[A`
//! typed. [`AltKeyJoiner`] makes one key of them.

use std::collections::VecDeque;
use std::io::{self, IsTerminal};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyModifiers};
use futures_util::Stream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};

/// crossterm's stream of events, which also finds bytes that crossterm overlooked.
#[derive(Debug, Default)]
pub struct TerminalEvents {
    events: EventStream,
    joiner: AltKeyJoiner,
}

/// Joins an escape and the rest of a key's sequence that came with it to that key with alt.
#[derive(Debug, Default)]
struct AltKeyJoiner {
    /// What was read ahead and is no such key.
    ready: VecDeque<Event>,
}

impl TerminalEvents {
    /// Starts to read events.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Stream for TerminalEvents {
    type Item = io::Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { events, joiner } = &mut *self;
        let mut failure = None;
        let mut read = || match Pin::new(&mut *events).poll_next(context) {
            Poll::Ready(Some(Ok(event))) => Some(event),
            Poll::Ready(other) => {
                failure = Some(Poll::Ready(other));
                None
            }
            Poll::Pending => None,
        };
        let next = match joiner.next(&mut read) {
            Some(event) => Poll::Ready(Some(Ok(event))),
            None => failure.unwrap_or(Poll::Pending),
        };
        if next.is_pending()
            && let Err(error) = tell_of_unread()
        {
            tracing::debug!(%error, "the terminal cannot be asked bytes that wait");
        }
        next
    }
}

impl AltKeyJoiner {
    /// The next event, from those that `read` returns without waiting. Only what came together with
    /// an escape is read ahead: no key is held back.
    fn next(&mut self, read: &mut impl FnMut() -> Option<Event>) -> Option<Event> {
        let first = self.ready.pop_front().or_else(&mut *read)?;
        if pressed(&first) != Some(KeyCode::Esc) {
            return Some(first);
        }
        let mut sequence = String::new();
        let mut held = Vec::new();
        while let Some(event) = self.ready.pop_front().or_else(&mut *read) {
            let code = pressed(&event);
            held.push(event);
            let Some(KeyCode::Char(c)) = code else { break };
            sequence.push(c);
            if let Some(code) = named_key(&sequence) {
                return Some(Event::Key(KeyEvent::new(code, KeyModifiers::ALT)));
            }
            if !matches!(sequence.as_bytes(), [b'[' | b'O'] | [b'[', b'1'..=b'8']) {
                break;
            }
        }
        for event in held.into_iter().rev() {
            self.ready.push_front(event);
        }
        Some(first)
    }
}

/// The key of an event, if it is one that types a character or escape, and no modifier but shift.
fn pressed(event: &Event) -> Option<KeyCode> {
    let key = event.as_key_press_event()?;
    key.modifiers.difference(KeyModifiers::SHIFT).is_empty().then_some(key.code)
}

/// The key that sends this after an escape.
fn named_key(sequence: &str) -> Option<KeyCode> {
    Some(match sequence {
        "[A" | "OA" => KeyCode::Up,
        "[B" | "OB" => KeyCode::Down,
        "[C" | "OC" => KeyCode::Right,
        "[D" | "OD" => KeyCode::Left,
        "[H" | "OH" | "[1~" | "[7~" => KeyCode::Home,
        "[F" | "OF" | "[4~" | "[8~" => KeyCode::End,
        "[2~" => KeyCode::Insert,
        "[3~" => KeyCode::Delete,
        "[5~" => KeyCode::PageUp,
        "[6~" => KeyCode::PageDown,
        _ => return None,
    })
}

/// Makes the terminal report again that bytes wait, if there are any. Setting its modes, even to
/// the same values, wakes those who wait for it.
fn tell_of_unread() -> io::Result<()> {
    let terminal = io::stdin();
    if has_unread()? && terminal.is_terminal() {
        tcsetattr(&terminal, OptionalActions::Now, &tcgetattr(&terminal)?)?;
    }
    Ok(())
}

/// Whether unread bytes wait in the terminal or, where the terminal edits lines, a whole line.
///
/// # Errors
///
/// When the terminal cannot be polled.
pub fn has_unread() -> io::Result<bool> {
    waits_for_input(Duration::ZERO)
}

/// Waits for at most `time` for bytes or, where the terminal edits lines, for a whole line. Returns
/// whether any came.
///
/// # Errors
///
/// When the terminal cannot be polled, also because a signal interrupts the wait.
pub fn waits_for_input(time: Duration) -> io::Result<bool> {
    let time = Timespec::try_from(time).map_err(io::Error::other)?;
    let terminal = io::stdin();
    let mut asked = [PollFd::new(&terminal, PollFlags::IN)];
    Ok(poll(&mut asked, Some(&time))? > 0 && asked[0].revents() == PollFlags::IN)
}

/// Drops unread keys, an unfinished line too. Does nothing where standard input is no terminal.
///
/// # Errors
///
/// When the terminal refuses.
pub fn drop_unread() -> io::Result<()> {
    let terminal = io::stdin();
    if terminal.is_terminal() {
        tcflush(&terminal, QueueSelector::IFlush)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events that crossterm makes of escapes and letters that come together.
    fn events(text: &str) -> Vec<Event> {
        let key = |c: char| match c {
            '\x1b' => KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE),
            c if c.is_uppercase() => KeyEvent::new(KeyCode::Char(c), KeyModifiers::SHIFT),
            c => KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE),
        };
        text.chars().map(|c| Event::Key(key(c))).collect()
    }

    /// What comes out of pieces, of which each comes after all before it was read.
    fn joined(pieces: &[&str]) -> Vec<Event> {
        let mut joiner = AltKeyJoiner::default();
        let mut out = Vec::new();
        for piece in pieces {
            let mut waiting = VecDeque::from(events(piece));
            while let Some(event) = joiner.next(&mut || waiting.pop_front()) {
                out.push(event);
            }
        }
        out
    }

    #[test]
    fn an_escape_and_an_arrow_that_come_together_are_alt_and_the_arrow() {
        for (text, code) in [
            ("\x1b[A", KeyCode::Up),
            ("\x1b[D", KeyCode::Left),
            ("\x1bOB", KeyCode::Down),
            ("\x1b[3~", KeyCode::Delete),
            ("\x1b[5~", KeyCode::PageUp),
        ] {
            let alt = Event::Key(KeyEvent::new(code, KeyModifiers::ALT));
            assert_eq!(joined(&[text]), std::slice::from_ref(&alt), "{text:?}");
            let typed = format!("a{text}{text}b");
            assert_eq!(
                joined(&[&typed]),
                [events("a"), vec![alt.clone(), alt], events("b")].concat(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn all_other_keys_come_as_they_were() {
        for text in [
            "\x1b", "\x1b\x1b", "\x1b[", "\x1b[x", "\x1b[1x", "\x1bO", "\x1b[9~", "a[A", "\x1b]11;",
        ] {
            assert_eq!(joined(&[text]), events(text), "{text:?}");
        }
        assert_eq!(joined(&["\x1b", "[A"]), events("\x1b[A"), "typed one after another");
        assert_eq!(joined(&["\x1b\x1b[A"]).len(), 2);
    }
}
