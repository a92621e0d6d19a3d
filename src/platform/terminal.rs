//! The full screen: taking the terminal over, and giving it back on every way out.
//!
//! [`TerminalGuard`] is the guard. What it turns on it turns off again in the opposite order, when it is
//! dropped, before a panic's message is printed, before an abort (`abort`), and around an editor
//! or a stop. Modes are written
//! as plain sequences in one write, without asking the terminal what it can do: an answer would
//! hold up the first frame, and what a terminal does not know it ignores. Only SIGKILL leaves the
//! modes on; [`reset`] is the cure.
//!
//! Everything for the terminal goes through [`output`], which never waits for it; what others
//! print goes to the log meanwhile (`diversion`). On the way out a terminal that reads nothing
//! is waited for, but not for ever.
//!
//! There is one terminal, so whether it is taken is one process-wide flag.

mod abort;
mod keys;
mod log_redirect;
pub mod output;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

pub use keys::{TerminalEvents, drop_unread, has_unread, waits_for_input};
use log_redirect::LogRedirect;
use rustix::termios::{self, InputModes, LocalModes, OptionalActions, OutputModes};

use super::terminal_notifier;
use crate::domain::sanitize::sanitize;

/// Alternate screen; then, for that screen alone, paste brackets, focus reports, unambiguous keys
/// (kitty's protocol, level 1) and a bar for a cursor.
const TAKE: &str = concat!("\x1b[?1049h", "\x1b[?2004h", "\x1b[?1004h", "\x1b[>1u", "\x1b[6 q");

/// Buttons and drags of the mouse, in SGR form.
const TAKE_MOUSE: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";

/// The opposite, in the opposite order. What was cut off in the middle of a sequence is cancelled
/// (CAN), and an unfinished frame is shown first. The picture is cleared: a terminal without another
/// screen (GNU screen with its `altscreen off`) would keep it under the shell's next lines.
const GIVE_BACK: &str = concat!(
    "\x18",
    "\x1b[?2026l",
    "\x1b[?1006l\x1b[?1002l\x1b[?1000l",
    "\x1b[0 q",
    "\x1b[<1u",
    "\x1b[?1004l",
    "\x1b[?2004l",
    "\x1b[0m",
    "\x1b[H\x1b[J",
    "\x1b[?1049l",
    "\x1b[?25h",
);

/// Whatever a program may have left on: every mouse mode, all of kitty's keyboard levels, the
/// alternate screen, margins, character sets, the cursor's look.
const RESET: &str = concat!(
    "\x18",
    "\x1b[?2026l",
    "\x1b[<99u\x1b[=0u\x1b[>4m",
    "\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l",
    "\x1b[?1004l\x1b[?2004l",
    "\x1b[?1049l",
    "\x1b[!p",
    "\x1b[r\x1b[?7h\x1b(B\x0f",
    "\x1b[0m\x1b[0 q\x1b[?25h\r\n",
);

/// Goes before a frame: the terminal shows nothing until [`END_UPDATE`] (DEC mode 2026).
/// Terminals without it ignore it.
pub const BEGIN_UPDATE: &str = "\x1b[?2026h";

/// Goes after a frame.
pub const END_UPDATE: &str = "\x1b[?2026l";

/// How long a terminal may take to read what it gets on the way in and on the way out. A slow
/// line needs a part of it; one that has stopped reading must not hold up the end.
const WRITE_TIMEOUT: Duration = Duration::from_millis(700);

/// What a panic says when the process is about to be aborted, on whatever thread: nothing is
/// dropped any more. The standard library's words; there is no other sign of it.
const ABORTING: [&str; 2] =
    ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];

/// What stays visible outside of the screen unless it is taken back, by [`TerminalTrace`].
static TRACES: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Whether the terminal is ours. Who turns it off gives the terminal back.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The thread that draws.
static DRAWING: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Where what others print goes while the terminal is ours.
static LOG_REDIRECT: Mutex<Option<LogRedirect>> = Mutex::new(None);

/// The terminal while it is slug's.
#[derive(Debug)]
pub struct TerminalGuard {
    mouse: MouseOwner,
}

/// Whose the mouse is while the screen is slug's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseOwner {
    /// slug's: wheel, clicks and selection are its own.
    Slugs,
    /// The terminal's, with its own selection.
    Terminals,
}

/// Something that the terminal shows of slug's beside the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalTrace {
    /// The window's name; what it was before is on the terminal's stack.
    Title,
    /// The progress in a tab or a task bar.
    Progress,
}

/// Whether a trace is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceStatus {
    /// This is the first since the terminal was taken.
    First,
    /// It is.
    Before,
}

/// Whether a stop was possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuspendOutcome {
    /// slug was stopped, and has been continued.
    Continued,
    /// No shell is there that could continue it.
    NoShell,
}

impl TerminalGuard {
    /// Takes the terminal. To be called on the thread that draws, whose panics give it back.
    pub fn enter(mouse: MouseOwner) -> io::Result<Self> {
        install_panic_hook();
        if let Err(error) = abort::prepare() {
            tracing::warn!(%error, "an abort would leave the terminal as it is");
        }
        *locked(&DRAWING) = Some(thread::current().id());
        let screen = Self { mouse };
        take(mouse)?;
        Ok(screen)
    }

    /// Gives the terminal to `visitor`, an editor for example, and takes it again. Nobody may
    /// read keys meanwhile. The whole screen has to be drawn anew afterwards.
    pub fn lend<T>(&mut self, visitor: impl FnOnce() -> T) -> io::Result<T> {
        give_back()?;
        let result = visitor();
        take(self.mouse)?;
        Ok(result)
    }

    /// From here on giving the terminal back takes this back, too. To be called before what
    /// leaves the trace is written.
    pub fn register_trace(&self, trace: TerminalTrace) -> TraceStatus {
        match TRACES[trace as usize].swap(true, Ordering::SeqCst) {
            false => TraceStatus::First,
            true => TraceStatus::Before,
        }
    }

    /// Stops slug as ctrl+z does in other programs, until the shell continues it. The whole screen
    /// has to be drawn anew afterwards.
    pub fn suspend(&mut self) -> io::Result<SuspendOutcome> {
        // The leader of a session has no shell above it, and would be stopped for ever.
        let own = rustix::process::getpid();
        if rustix::process::getsid(None).is_ok_and(|session| session == own) {
            return Ok(SuspendOutcome::NoShell);
        }
        // The whole group, since what started slug (`cargo run`) has to stop with it for the
        // shell to notice. STOP, because TSTP is handled and would come back as a message.
        self.lend(|| rustix::process::kill_current_process_group(rustix::process::Signal::STOP))??;
        Ok(SuspendOutcome::Continued)
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = give_back();
    }
}

/// What [`reset`] writes.
pub fn reset_sequence() -> &'static str {
    RESET
}

/// Puts a terminal right that a killed program has left in a bad state: modes, screen, and line
/// editing with echo.
pub fn reset(terminal: &mut (impl Write + std::os::fd::AsFd)) -> io::Result<()> {
    if let Ok(mut modes) = termios::tcgetattr(&*terminal) {
        modes.input_modes |= InputModes::BRKINT | InputModes::ICRNL | InputModes::IXON;
        modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        modes.local_modes |= LocalModes::ICANON
            | LocalModes::ECHO
            | LocalModes::ECHOE
            | LocalModes::ECHOK
            | LocalModes::ISIG
            | LocalModes::IEXTEN;
        termios::tcsetattr(&*terminal, OptionalActions::Now, &modes)?;
    }
    terminal.write_all(RESET.as_bytes())?;
    terminal.flush()
}

/// Whether a full screen is possible: both ends a terminal, and one that understands sequences.
pub fn is_capable() -> bool {
    !is_dumb() && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether the terminal says that it understands no sequences.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

fn take(mouse: MouseOwner) -> io::Result<()> {
    crossterm::terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    output::open()?;
    match LogRedirect::begin() {
        Ok(diversion) => *locked(&LOG_REDIRECT) = Some(diversion),
        Err(error) => tracing::warn!(%error, "what libraries print may disturb the screen"),
    }
    output::write_now(TAKE, WRITE_TIMEOUT)?;
    match mouse {
        MouseOwner::Slugs => output::write_now(TAKE_MOUSE, WRITE_TIMEOUT),
        MouseOwner::Terminals => Ok(()),
    }
}

/// Does nothing when the terminal is not ours, so that every way out may call it.
fn give_back() -> io::Result<()> {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let left = |trace: TerminalTrace| TRACES[trace as usize].swap(false, Ordering::SeqCst);
    let mut sequences = String::from(GIVE_BACK);
    if left(TerminalTrace::Progress) {
        sequences.push_str(terminal_notifier::CLEAR_PROGRESS);
    }
    if left(TerminalTrace::Title) {
        sequences.push_str(terminal_notifier::RETURN_TITLE);
    }
    let written = output::close(&sequences, WRITE_TIMEOUT);
    // Before the handles are the terminal again: what is printed next needs its line endings.
    let cooked = crossterm::terminal::disable_raw_mode();
    drop(locked(&LOG_REDIRECT).take());
    cooked.and(written)
}

/// On the thread that draws, a panic ends slug: the terminal is given back first, so that the
/// message can be read. On any other thread somebody waits for its result and decides; while the
/// screen is ours, the message goes to the log and not across the picture.
///
/// Some messages of the standard library quote the text that was at fault, which may be anybody's: one
/// that a terminal would obey is printed harmless, without a backtrace.
pub fn install_panic_hook() {
    static INSTALLED: AtomicBool = AtomicBool::new(false);
    if INSTALLED.swap(true, Ordering::SeqCst) {
        return;
    }
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let is_drawing = *locked(&DRAWING) == Some(thread::current().id());
        let aborts = info.payload_as_str().is_some_and(|text| ABORTING.contains(&text));
        if TAKEN.load(Ordering::SeqCst) && !is_drawing && !aborts {
            tracing::error!("{info}");
            return;
        }
        match give_back() {
            // Printing would wait for the terminal for ever.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => tracing::error!("{info}"),
            Ok(()) | Err(_) => match sanitize(&info.to_string()) {
                Cow::Borrowed(_) => print(info),
                // With standard error closed there is nobody to tell.
                Cow::Owned(harmless) => drop(writeln!(io::stderr(), "\n{harmless}")),
            },
        }
    }));
}

fn locked<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The private modes that `sequences` sets to `on`.
    fn modes(sequences: &str, on: char) -> Vec<String> {
        sequences
            .split('\x1b')
            .filter_map(|sequence| sequence.strip_prefix("[?")?.strip_suffix(on))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn all_that_is_turned_on_is_turned_off_in_the_opposite_order() {
        let off = modes(GIVE_BACK, 'l');
        let mut expected = modes(&format!("{TAKE}{TAKE_MOUSE}"), 'h');
        expected.reverse();
        assert_eq!(off[1..], expected);
        assert_eq!(off[0], "2026");
    }

    #[test]
    fn the_reset_knows_every_mode_that_slug_turns_on() {
        let off = modes(reset_sequence(), 'l');
        assert!(
            modes(&format!("{TAKE}{TAKE_MOUSE}"), 'h').iter().all(|mode| off.contains(mode)),
            "{off:?}"
        );
        let mut out = tempfile::tempfile().unwrap();
        reset(&mut out).unwrap();
        assert_eq!(out.metadata().unwrap().len(), RESET.len() as u64);
    }
}
