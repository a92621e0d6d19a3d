//! Reads crossterm's events, and makes sure that none stays behind in the terminal.
//!
//! crossterm is told of new bytes only once, when they come, and loses that when something else
//! comes at the same moment: a key at the instant of a resize stays in the terminal until the next
//! key. So whenever crossterm has no event, slug asks the terminal itself, and makes it report
//! again where bytes wait.

use std::io::{self, IsTerminal};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crossterm::event::{Event, EventStream};
use futures_util::Stream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};

/// crossterm's stream of events, which also finds bytes that crossterm overlooked.
#[derive(Debug, Default)]
pub struct TerminalEvents(EventStream);

impl TerminalEvents {
    /// Starts to read events.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Stream for TerminalEvents {
    type Item = io::Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.0).poll_next(context);
        if next.is_pending()
            && let Err(error) = tell_of_unread()
        {
            tracing::debug!(%error, "the terminal cannot be asked bytes that wait");
        }
        next
    }
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
