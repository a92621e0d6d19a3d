//! The full screen: takes the terminal over, and gives it back on every way out.
//!
//! [`TerminalGuard`] turns off what it turned on, in the opposite order: when it is dropped, before
//! a panic's message is printed, before an abort (`abort`), and around an editor or a stop. Modes
//! are written as plain sequences in one write, without asking the terminal what it can do: an
//! answer would hold up the first frame, and a terminal ignores what it does not know. Only SIGKILL
//! leaves the modes on; [`reset`] repairs that.
//!
//! Everything for the terminal goes through [`output`], which never waits for it. What libraries
//! print meanwhile goes to the log (`log_redirect`). On the way out slug waits for a terminal that
//! reads nothing, but not for ever.
//!
//! A process has one terminal, so one process-wide flag says whether slug has taken it.

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

use super::clipboard::TerminalMultiplexer;
use super::terminal_kind::{TerminalInfo, TerminalKind};
use super::terminal_notifier;
use crate::domain::sanitize::sanitize;

/// Alternate screen; then, for that screen alone, paste brackets, focus reports, unambiguous keys
/// (kitty's protocol, level 1) and a bar for a cursor.
const TAKE: &str = concat!("\x1b[?1049h", "\x1b[?2004h", "\x1b[?1004h", "\x1b[>1u", "\x1b[6 q");

/// Buttons and drags of the mouse, in SGR form.
const TAKE_MOUSE: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";

/// Makes alt put an escape before a key, once the user's choice is saved (`s`). By default xterm
/// sets the 8th bit instead, and alt+b is the letter â.
const TAKE_ALT: &str = "\x1b[?1036s\x1b[?1036h";

/// Undoes [`TAKE`] and [`TAKE_MOUSE`] in the opposite order. First a half-written sequence is
/// cancelled (CAN) and an unfinished frame is shown. The screen is cleared: a terminal without an
/// alternate screen (GNU screen with `altscreen off`) would keep it under the shell's next lines.
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

/// Turns off whatever a program may have left on: every mouse mode, all of kitty's keyboard levels,
/// the alternate screen, margins, character sets, the shape of the cursor.
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

/// Begins a frame: the terminal shows nothing until [`END_UPDATE`] (DEC mode 2026). Terminals
/// without this mode ignore it.
pub const BEGIN_UPDATE: &str = "\x1b[?2026h";

/// Ends a frame that [`BEGIN_UPDATE`] began.
pub const END_UPDATE: &str = "\x1b[?2026l";

/// How long a terminal may take to read the sequences on the way in and on the way out. A slow
/// line needs a part of it; a terminal that has stopped reading must not hold up the end.
const WRITE_TIMEOUT: Duration = Duration::from_millis(700);

/// The messages of a panic after which the process aborts, on whatever thread: nothing is dropped
/// any more. They are the standard library's; there is no other sign of an abort.
const ABORTING: [&str; 2] =
    ["panic in a destructor during cleanup", "panic in a function that cannot unwind"];

/// What undoes each [`TerminalTrace`], in the order of the variants.
const UNDO_TRACES: [&str; 3] =
    [terminal_notifier::RETURN_TITLE, terminal_notifier::CLEAR_PROGRESS, "\x1b[?1036r"];

/// Whether each [`TerminalTrace`] is there, and has to be undone at the end.
static TRACES: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Whether slug has the terminal. The code that clears the flag gives the terminal back.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The thread that draws; its panics end slug.
static DRAWING: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Takes what libraries print while slug has the terminal.
static LOG_REDIRECT: Mutex<Option<LogRedirect>> = Mutex::new(None);

/// Owns the terminal; the drop gives it back.
#[derive(Debug)]
pub struct TerminalGuard {
    mouse: MouseOwner,
}

/// Who handles the mouse while slug has the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseOwner {
    /// slug handles wheel, clicks and selection itself.
    Slugs,
    /// The terminal handles the mouse, with its own selection.
    Terminals,
}

/// Something that slug changes outside the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalTrace {
    /// The window's title; the terminal's stack keeps the title before it.
    Title,
    /// The progress shown in a tab or a task bar.
    Progress,
    /// What alt does to a key.
    Alt,
}

/// Whether a trace was registered before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceStatus {
    /// This is the first registration since the terminal was taken.
    First,
    Before,
}

/// Whether a stop was possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuspendOutcome {
    /// slug was stopped, and has been continued.
    Continued,
    /// No shell is above slug that could continue it.
    NoShell,
}

impl TerminalGuard {
    /// Takes the terminal. Must be called on the thread that draws; a panic there gives it back.
    ///
    /// # Errors
    ///
    /// When raw mode cannot be set, or the terminal cannot be opened or does not read.
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

    /// Gives the terminal to `visitor`, for example an editor, and takes it again. No keys may be
    /// read meanwhile. The whole screen must be drawn again afterwards.
    ///
    /// # Errors
    ///
    /// When the terminal cannot be given back, and `visitor` has not run, or cannot be taken again.
    pub fn lend<T>(&mut self, visitor: impl FnOnce() -> T) -> io::Result<T> {
        give_back()?;
        let result = visitor();
        take(self.mouse)?;
        Ok(result)
    }

    /// Makes the end undo this trace as well. Must be called before the sequence that leaves the
    /// trace is written.
    pub fn register_trace(&self, trace: TerminalTrace) -> TraceStatus {
        match TRACES[trace as usize].swap(true, Ordering::SeqCst) {
            false => TraceStatus::First,
            true => TraceStatus::Before,
        }
    }

    /// Stops slug until the shell continues it, as ctrl+z does in other programs. The whole screen
    /// must be drawn again afterwards.
    ///
    /// # Errors
    ///
    /// When the terminal cannot be given back or taken again, or the signal cannot be sent.
    pub fn suspend(&mut self) -> io::Result<SuspendOutcome> {
        // The leader of a session has no shell above it, and would be stopped for ever.
        let own = rustix::process::getpid();
        if rustix::process::getsid(None).is_ok_and(|session| session == own) {
            return Ok(SuspendOutcome::NoShell);
        }
        // The whole group: what started slug (`cargo run`) has to stop with it, so that the shell
        // notices. STOP, because TSTP is handled and would come back as a message.
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

/// The sequence that [`reset`] writes.
pub fn reset_sequence() -> &'static str {
    RESET
}

/// Repairs a terminal after a program was killed: modes, screen, and line editing with echo.
///
/// # Errors
///
/// When the modes of the line cannot be set or `terminal` cannot be written.
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

/// Whether a full screen is possible: both ends are a terminal, and it understands sequences.
pub fn is_capable() -> bool {
    !is_dumb() && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether `TERM` says that the terminal understands no sequences.
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
    let terminal = TerminalInfo::from_environment();
    if terminal.kind == TerminalKind::Xterm && terminal.multiplexer == TerminalMultiplexer::None {
        TRACES[TerminalTrace::Alt as usize].store(true, Ordering::SeqCst);
        output::write_now(TAKE_ALT, WRITE_TIMEOUT)?;
    }
    match mouse {
        MouseOwner::Slugs => output::write_now(TAKE_MOUSE, WRITE_TIMEOUT),
        MouseOwner::Terminals => Ok(()),
    }
}

/// Does nothing when slug does not have the terminal, so that every way out may call it.
fn give_back() -> io::Result<()> {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let mut sequences = String::from(GIVE_BACK);
    for (trace, undo) in TRACES.iter().zip(UNDO_TRACES) {
        if trace.swap(false, Ordering::SeqCst) {
            sequences.push_str(undo);
        }
    }
    let written = output::close(&sequences, WRITE_TIMEOUT);
    // Comes before the handles are the terminal again: what is printed next needs its line endings.
    let cooked = crossterm::terminal::disable_raw_mode();
    drop(locked(&LOG_REDIRECT).take());
    cooked.and(written)
}

/// On the thread that draws, a panic ends slug: the hook gives the terminal back first, so that the
/// message can be read. On any other thread the caller waits for a result and decides; while slug
/// has the screen, the message goes to the log and not across the screen.
///
/// Some messages of the standard library quote the text that caused them, which may be foreign. A
/// message with control sequences is printed without them and without a backtrace.
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
                // With standard error closed, nobody can be told.
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

    /// The private modes in `sequences` that end with `on`: `h` sets, `l` resets.
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
