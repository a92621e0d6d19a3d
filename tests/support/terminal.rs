//! slug on a real pseudo-terminal, and what the user sees there.
//!
//! ```ignore
//! let env = TestEnv::new();
//! let mut slug = PtySlug::chat(&env, &server);
//! slug.say("hello");
//! slug.wait_for("Good morning");
//! slug.answer("cargo test", "y"); // once that permission dialog takes keys
//! ```
//!
//! The screen is what a terminal with synchronized updates shows: whole frames only. Every wait
//! polls a condition, and fails with the screen printed if the condition does not become true in
//! time. A slug that still runs when its `PtySlug` is dropped is killed.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use rustix::process::{Pid, Signal};
use rustix::termios::LocalModes;
use slug_code::platform::terminal::{BEGIN_UPDATE, END_UPDATE};

use super::model_server::{ModelServer, wait_until};
use super::test_env::{SLUG, TestEnv, server_arguments};

/// How long a wait may take before the test fails.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a wait polls.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// The hint of a dialog whose end has not been on screen yet.
const MORE_BELOW_HINT: &str = "Scroll to the end";
/// A dialog accepts keys once no key has come for 300 ms; this is safely longer.
const KEY_GUARD_DELAY: Duration = Duration::from_millis(400);
/// What is added to it after text was typed: then the wait is a second.
const TYPING_GUARD_DELAY: Duration = Duration::from_millis(800);

/// Named keys.
pub mod key {
    /// Escape.
    pub const ESC: &str = "\x1b";
    /// Enter.
    pub const ENTER: &str = "\r";
    /// Arrow up.
    pub const UP: &str = "\x1b[A";
    /// Arrow down.
    pub const DOWN: &str = "\x1b[B";
    /// Arrow right.
    pub const RIGHT: &str = "\x1b[C";
    /// The End key.
    pub const END: &str = "\x1b[F";
    /// ctrl+b.
    pub const CTRL_B: &str = "\x02";
    /// ctrl+c.
    pub const CTRL_C: &str = "\x03";
    /// ctrl+f.
    pub const CTRL_F: &str = "\x06";
    /// ctrl+g.
    pub const CTRL_G: &str = "\x07";
    /// ctrl+s.
    pub const CTRL_S: &str = "\x13";
    /// ctrl+u.
    pub const CTRL_U: &str = "\x15";
    /// ctrl+z.
    pub const CTRL_Z: &str = "\x1a";
}

/// A running slug with a pseudo-terminal of its own.
pub struct PtySlug {
    output: Arc<Mutex<PtyOutput>>,
    /// Whether the terminal reads what slug writes.
    is_reading: Arc<AtomicBool>,
    writer: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    ended: Option<portable_pty::ExitStatus>,
    terminal: Box<dyn MasterPty + Send>,
    /// Kept open, so that the terminal's modes can be read after slug's end.
    tty: OwnedFd,
}

/// The way in which slug is started.
pub struct PtySlugBuilder<'a> {
    env: &'a TestEnv,
    size: (u16, u16),
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    shell: bool,
    umask: Option<rustix::fs::RawMode>,
}

/// Everything that the terminal received.
struct PtyOutput {
    parser: vt100::Parser,
    /// All bytes so far.
    raw: Vec<u8>,
    /// How many of them the parser has processed.
    parsed: usize,
}

impl PtySlug {
    /// slug as the user starts it in the test's workspace, on a screen of this size.
    pub fn at(env: &TestEnv, columns: u16, rows: u16) -> PtySlugBuilder<'_> {
        PtySlugBuilder {
            env,
            size: (columns, rows),
            arguments: Vec::new(),
            variables: Vec::new(),
            shell: false,
            umask: None,
        }
    }

    /// A chat with the server in a trusted workspace, ready for the first message.
    pub fn chat(env: &TestEnv, server: &ModelServer) -> Self {
        Self::chat_with(env, server, &[])
    }

    /// The same with more arguments.
    pub fn chat_with(env: &TestEnv, server: &ModelServer, arguments: &[&str]) -> Self {
        let mut slug = Self::at(env, 100, 30).server(server).args(arguments).open();
        slug.wait_for("test-model");
        slug
    }

    /// Types keys or text.
    pub fn keys(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).unwrap();
        self.writer.flush().unwrap();
    }

    /// Types a message and sends it.
    pub fn say(&mut self, text: &str) {
        self.keys(text);
        self.wait_for(text.lines().next_back().unwrap_or_default());
        self.keys(key::ENTER);
    }

    /// Clicks on the first place on screen that shows `text`.
    pub fn click(&mut self, text: &str) {
        let (column, row) = self.place_of(text);
        self.keys(&format!("\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m"));
    }

    /// Turns the wheel up by `steps` over the first place on screen that shows `text`.
    pub fn wheel_up(&mut self, text: &str, steps: usize) {
        let (column, row) = self.place_of(text);
        self.keys(&format!("\x1b[<64;{column};{row}M").repeat(steps));
    }

    /// The column and row, from 1, at which the screen shows `text`. Assumes single-width
    /// characters.
    fn place_of(&mut self, text: &str) -> (usize, usize) {
        self.wait_for(text);
        let screen = self.screen();
        let rows = screen.lines().enumerate();
        let mut places = rows.filter_map(|(row, line)| Some((line.find(text)?, row, line)));
        let (at, row, line) = places.next().unwrap_or_else(|| panic!("no {text:?}:\n{screen}"));
        (line[..at].chars().count() + 1, row + 1)
    }

    /// Waits for a permission dialog that shows `text` and for its key guard, scrolls to its end if
    /// that is not visible, and answers.
    pub fn answer(&mut self, text: &str, keys: &str) {
        self.wait_for_dialog(text);
        if self.screen().contains(MORE_BELOW_HINT) {
            self.keys(key::END);
            self.wait_for_no(MORE_BELOW_HINT);
        }
        self.keys(keys);
    }

    /// Waits for a question that shows `text`, until it accepts keys.
    pub fn wait_for_question(&mut self, text: &str) {
        self.wait_for(text);
        thread::sleep(KEY_GUARD_DELAY);
    }

    /// Waits for a permission dialog that shows `text`, until it accepts keys.
    pub fn wait_for_dialog(&mut self, text: &str) {
        self.wait_until(&format!("a dialog with {text:?}"), |screen| {
            // The chat above the question names the calls too.
            let dialog = screen.find('▌').map_or("", |at| &screen[at..]);
            (dialog.contains("y  Yes") || dialog.contains("y yes")) && dialog.contains(text)
        });
        // The only wait for a fixed time: the dialog must not accept keys any earlier.
        thread::sleep(KEY_GUARD_DELAY);
    }

    /// Waits for a question that shows `text`, after text was typed while it was open.
    pub fn wait_for_question_after_text(&mut self, text: &str) {
        self.wait_for_question(text);
        thread::sleep(TYPING_GUARD_DELAY);
    }

    /// Waits for a permission dialog that shows `text`, after text was typed while it was open.
    pub fn wait_for_dialog_after_text(&mut self, text: &str) {
        self.wait_for_dialog(text);
        thread::sleep(TYPING_GUARD_DELAY);
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        self.wait_until(&format!("{text:?} on screen"), |screen| screen.contains(text));
    }

    /// Waits until the screen no longer shows `text`.
    #[track_caller]
    pub fn wait_for_no(&mut self, text: &str) {
        self.wait_until(&format!("no {text:?} on screen"), |screen| !screen.contains(text));
    }

    /// Waits until `holds` is true of the screen.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, holds: impl Fn(&str) -> bool) {
        let began = Instant::now();
        loop {
            // Checked before the screen is read, so that slug's last output is included.
            let ended = self.child.try_wait().unwrap();
            if holds(&self.screen()) {
                return;
            }
            let waited = began.elapsed();
            assert!(ended.is_none(), "{ended:?}, waiting for {what}:\n{}", self.screen_dump());
            assert!(waited < WAIT_TIMEOUT, "not within {waited:?}: {what}\n{}", self.screen_dump());
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// The text on screen, one line per row.
    pub fn screen(&self) -> String {
        let shown = self.output();
        let screen = shown.parser.screen();
        screen.rows(0, screen.size().1.get()).collect::<Vec<_>>().join("\n")
    }

    /// What is on screen, with its colours and styles.
    pub fn cells(&self) -> Buffer {
        let shown = self.output();
        let screen = shown.parser.screen();
        let (rows, columns) = screen.size();
        let mut cells = Buffer::empty(Rect::new(0, 0, columns.get(), rows.get()));
        for (x, y) in (0..rows.get()).flat_map(|y| (0..columns.get()).map(move |x| (x, y))) {
            let Some(cell) = screen.cell(y, x) else { continue };
            let modifiers = [
                (cell.bold(), Modifier::BOLD),
                (cell.dim(), Modifier::DIM),
                (cell.italic(), Modifier::ITALIC),
                (cell.underline(), Modifier::UNDERLINED),
                (cell.inverse(), Modifier::REVERSED),
            ];
            let modifiers = modifiers.into_iter().filter(|(is_set, _)| *is_set).map(|(_, it)| it);
            let style = Style::new().fg(color(cell.fgcolor())).bg(color(cell.bgcolor()));
            let text = if cell.has_contents() { cell.contents() } else { " " };
            if !cell.is_wide_continuation() {
                cells[(x, y)].set_symbol(text).set_style(style.add_modifier(modifiers.collect()));
            }
        }
        cells
    }

    /// Everything written to the terminal.
    pub fn raw(&self) -> String {
        String::from_utf8_lossy(&self.output().raw).into_owned()
    }

    /// Changes the terminal's size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.output().parser.set_size(non_zero(rows), non_zero(columns));
        self.terminal.resize(size(columns, rows)).unwrap();
    }

    /// Changes only the pseudo-terminal's size; the emulated screen is meaningless from then on.
    pub fn resize_pty_only(&mut self, columns: u16, rows: u16) {
        self.terminal.resize(size(columns, rows)).unwrap();
    }

    /// The terminal stops reading what slug writes, until [`Self::resume_reading`].
    pub fn stop_reading(&mut self) {
        self.is_reading.store(false, Ordering::SeqCst);
    }

    /// Lets the terminal read again.
    pub fn resume_reading(&mut self) {
        self.is_reading.store(true, Ordering::SeqCst);
    }

    /// Sends a signal to the slug that runs below the shell.
    pub fn signal_child(&self, signal: Signal) {
        let shell = self.child.process_id().unwrap();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
        let pid = children.unwrap().trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Sends a signal to the started process.
    pub fn signal(&self, signal: Signal) {
        let pid = self.child.process_id().unwrap().cast_signed();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Kills slug as a crash would, and waits until it is gone.
    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }

    /// Quits slug as the user does, and waits for its end.
    pub fn quit(mut self) {
        self.keys("/quit\r");
        let status = self.wait();
        assert!(status.success(), "{status:?}\n{}", self.screen_dump());
    }

    /// Waits until `holds` is true of everything written to the terminal.
    #[track_caller]
    pub fn wait_for_raw(&self, what: &str, holds: impl Fn(&str) -> bool) {
        assert!(wait_until(|| holds(&self.raw())), "no {what} in {:?}", self.raw());
    }

    /// Waits for slug's end.
    pub fn wait(&mut self) -> portable_pty::ExitStatus {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < WAIT_TIMEOUT, "slug does not end\n{}", self.screen_dump());
            thread::sleep(POLL_INTERVAL);
        };
        self.ended = Some(status.clone());
        status
    }

    /// Whether the terminal is in line mode with echo, as a shell needs it.
    pub fn edits_lines(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.tty).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    fn output(&self) -> MutexGuard<'_, PtyOutput> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn screen_dump(&self) -> String {
        let screen = self.screen();
        let rows: Vec<String> = screen.lines().map(|row| format!("│{row}")).collect();
        rows.join("\n")
    }
}

fn color(of: vt100::Color) -> Color {
    match of {
        vt100::Color::Default => Color::Reset,
        vt100::Color::Idx(index) => Color::Indexed(index),
        vt100::Color::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
    }
}

impl Drop for PtySlug {
    fn drop(&mut self) {
        if self.ended.is_none() {
            // The process may have ended already.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl PtySlugBuilder<'_> {
    /// A chat with this server in a trusted workspace.
    pub fn server(self, server: &ModelServer) -> Self {
        self.args(&server_arguments(&server.endpoint()))
    }

    /// Adds command-line arguments.
    pub fn args(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the umask.
    pub fn umask(mut self, umask: rustix::fs::RawMode) -> Self {
        self.umask = Some(umask);
        self
    }

    /// Starts slug as a job of an interactive shell, whose prompt is `shell>`.
    pub fn in_shell(mut self) -> Self {
        self.shell = true;
        self
    }

    /// Starts slug.
    pub fn open(self) -> PtySlug {
        let (columns, rows) = self.size;
        let pty = portable_pty::native_pty_system().openpty(size(columns, rows)).unwrap();
        let mut command = CommandBuilder::new(if self.shell { "bash" } else { SLUG });
        if self.shell {
            command.args(["--norc", "--noprofile", "--noediting", "-i"]);
        } else {
            command.args(&self.arguments);
        }
        command.cwd(self.env.workspace());
        command.umask(self.umask);
        command.env_clear();
        for (name, value) in self.env.environment() {
            command.env(name, value);
        }
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        if self.shell {
            command.env("PS1", "shell> ");
            command.env("HISTFILE", "/dev/null");
        }
        let near = open_terminal(&pty.master.tty_name().unwrap());
        let child = pty.slave.spawn_command(command).unwrap();
        drop(pty.slave);
        let shown = Arc::new(Mutex::new(PtyOutput {
            parser: vt100::Parser::new(non_zero(rows), non_zero(columns), 0),
            raw: Vec::new(),
            parsed: 0,
        }));
        let mut reader = pty.master.try_clone_reader().unwrap();
        let showing = Arc::clone(&shown);
        let reads = Arc::new(AtomicBool::new(true));
        let reading = Arc::clone(&reads);
        thread::spawn(move || {
            let mut buffer = [0; 16 << 10];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                showing.lock().unwrap().take(&buffer[..count]);
                while !reading.load(Ordering::SeqCst) {
                    thread::sleep(POLL_INTERVAL);
                }
            }
        });
        let writer = pty.master.take_writer().unwrap();
        let mut slug = PtySlug {
            output: shown,
            is_reading: reads,
            writer,
            child,
            ended: None,
            terminal: pty.master,
            tty: near,
        };
        if self.shell {
            slug.wait_for("shell>");
            let words: Vec<String> = [SLUG.to_owned()].into_iter().chain(self.arguments).collect();
            slug.keys(&format!("{}\n", words.join(" ")));
        }
        slug
    }
}

impl PtyOutput {
    /// Processes bytes, and shows everything outside an unfinished frame.
    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend(bytes);
        let new = &self.raw[self.parsed..];
        let begun = last(new, BEGIN_UPDATE.as_bytes());
        let ended = last(new, END_UPDATE.as_bytes());
        let whole = match (begun, ended) {
            (Some(begun), ended) if ended.is_none_or(|ended| ended < begun) => begun,
            _ => new.len() - partial(new, BEGIN_UPDATE.as_bytes()),
        };
        self.parser.process(&new[..whole]);
        self.parsed += whole;
    }
}

/// The offset of the last occurrence of `needle`.
fn last(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).rposition(|window| window == needle)
}

/// How many bytes at the end may be the beginning of `needle`.
fn partial(bytes: &[u8], needle: &[u8]) -> usize {
    (1..needle.len()).rev().find(|&count| bytes.ends_with(&needle[..count])).unwrap_or(0)
}

fn open_terminal(path: &Path) -> OwnedFd {
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
    rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap()
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn non_zero(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap()
}
