//! What the terminal sends: crossterm's events, and none that stays behind.
//!
//! crossterm hears of new bytes only once, when they come, and forgets what it has heard when
//! something else comes in the same moment: a key at the instant of a resize stays in the
//! terminal until the next key. So whenever it has nothing to say, the terminal itself is asked,
//! and made to speak up again where bytes wait.

use std::io::{self, IsTerminal};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crossterm::event::{Event, EventStream};
use futures_util::Stream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};

/// The events of the terminal.
#[derive(Debug, Default)]
pub struct TerminalEvents(EventStream);

impl TerminalEvents {
    /// Listens from now on.
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
            tracing::debug!(%error, "the terminal cannot be asked for bytes that wait");
        }
        next
    }
}

/// Has the terminal tell again that there is something to read, if there is. Setting its modes,
/// even to what they are, wakes those who wait for it.
fn tell_of_unread() -> io::Result<()> {
    let terminal = io::stdin();
    if has_unread()? && terminal.is_terminal() {
        tcsetattr(&terminal, OptionalActions::Now, &tcgetattr(&terminal)?)?;
    }
    Ok(())
}

/// Whether bytes wait in the terminal, or, where it edits lines, a whole line.
pub fn has_unread() -> io::Result<bool> {
    waits_for_input(Duration::ZERO)
}

/// Waits so long for bytes, or, where the terminal edits lines, for a whole line; whether any came.
pub fn waits_for_input(time: Duration) -> io::Result<bool> {
    let time = Timespec::try_from(time).map_err(io::Error::other)?;
    let terminal = io::stdin();
    let mut asked = [PollFd::new(&terminal, PollFlags::IN)];
    Ok(poll(&mut asked, Some(&time))? > 0 && asked[0].revents() == PollFlags::IN)
}

/// Drops what was typed and not read, a half line too. Does nothing where input is no terminal.
pub fn drop_unread() -> io::Result<()> {
    let terminal = io::stdin();
    if terminal.is_terminal() {
        tcflush(&terminal, QueueSelector::IFlush)?;
    }
    Ok(())
}
