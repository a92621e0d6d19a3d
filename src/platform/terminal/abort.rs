//! Gives the terminal back when the process is aborted: out of memory, out of stack, or by a
//! library.
//!
//! An abort unwinds nothing and runs no hook, only the handler of SIGABRT. The handler must not
//! allocate or take a lock. So everything it needs is made when the screen is taken for the first
//! time.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use rustix::process::Signal;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::{GIVE_BACK, TAKEN, TRACES, UNDO_TRACES, output};

/// The message on the terminal; that of the standard library goes to the log.
const ABORT_MESSAGE: &str = "slug crashed (out of memory or stack, or a library aborted). The \
                    session is saved; `slug --continue` resumes it.\r\n";

/// A separate handle of the terminal, and its modes before slug took it.
static TERMINAL: OnceLock<(OwnedFd, Termios)> = OnceLock::new();

/// Installs the handler. Must be called before slug takes the terminal; later calls do nothing.
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

/// Runs inside a signal handler.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let Some((terminal, modes)) = TERMINAL.get() else { return };
    write(terminal, GIVE_BACK);
    for (trace, undo) in TRACES.iter().zip(UNDO_TRACES) {
        if trace.swap(false, Ordering::SeqCst) {
            write(terminal, undo);
        }
    }
    // Nobody is left to be told of a failure.
    let _ = tcsetattr(terminal, OptionalActions::Now, modes);
    write(terminal, ABORT_MESSAGE);
}

/// Stops at the first error: a terminal that takes nothing is left as it is.
fn write(terminal: &OwnedFd, text: &str) {
    let mut rest = text.as_bytes();
    while let Ok(count @ 1..) = rustix::io::write(terminal, rest) {
        rest = rest.get(count..).unwrap_or_default();
    }
}
