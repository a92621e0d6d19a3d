//! Gives the terminal back where the process is aborted: out of memory, out of stack, or in a
//! library that gives up.
//!
//! Nothing is unwound then and no hook runs, only the handler of SIGABRT. It may do little: no
//! memory, no lock. So all that it needs is made when the screen is taken for the first time.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use rustix::process::Signal;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::{GIVE_BACK, TAKEN, TRACES, TerminalTrace, output};
use crate::platform::terminal_notifier;

/// What is said, since what the standard library says is lost on the way to the log.
const ABORT_MESSAGE: &str = "slug was aborted: it ran out of memory or of stack, or a library gave up. What \
                    was said is in the session's log; `slug --continue` goes on from there.\r\n";

/// A handle of its own, and the terminal as it was.
static TERMINAL: OnceLock<(OwnedFd, Termios)> = OnceLock::new();

/// Makes ready for the worst. To be called while the terminal is not yet slug's; later calls do
/// nothing.
pub(super) fn prepare() -> io::Result<()> {
    if TERMINAL.get().is_some() {
        return Ok(());
    }
    let terminal = output::reopen_terminal()?;
    let modes = tcgetattr(&terminal)?;
    if TERMINAL.set((terminal, modes)).is_ok() {
        on_abort(give_back)?;
    }
    Ok(())
}

/// Calls `action` before an abort.
#[allow(unsafe_code, reason = "a handler has to keep to what may be done in one")]
fn on_abort(action: fn()) -> io::Result<()> {
    // SAFETY: `give_back`, the only action, does atomic reads and writes, `write` and `tcsetattr`,
    // all of which POSIX allows in a handler; it takes no lock and no memory, and cannot panic.
    unsafe { signal_hook_registry::register(Signal::ABORT.as_raw(), action) }.map(drop)
}

/// Runs in a handler.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let Some((terminal, modes)) = TERMINAL.get() else { return };
    let left = |trace: TerminalTrace| TRACES[trace as usize].swap(false, Ordering::SeqCst);
    write(terminal, GIVE_BACK);
    if left(TerminalTrace::Progress) {
        write(terminal, terminal_notifier::CLEAR_PROGRESS);
    }
    if left(TerminalTrace::Title) {
        write(terminal, terminal_notifier::RETURN_TITLE);
    }
    // There is nobody left to tell of a failure.
    let _ = tcsetattr(terminal, OptionalActions::Now, modes);
    write(terminal, ABORT_MESSAGE);
}

/// A terminal that takes nothing is left as it is.
fn write(terminal: &OwnedFd, text: &str) {
    let mut rest = text.as_bytes();
    while let Ok(count @ 1..) = rustix::io::write(terminal, rest) {
        rest = rest.get(count..).unwrap_or_default();
    }
}
