//! The terminal is taken, and given back on each way out, in a real pseudo-terminal.
//!
//! Each test starts this test binary again with only [`helper`], which runs one case there.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, MasterPty, PtySize};
use rustix::process::{Pid, Signal as RawSignal};
use rustix::termios::LocalModes;
use slug_code::platform::hangup::HangupWatch;
use slug_code::platform::logging;
use slug_code::platform::redact::Redactor;
use slug_code::platform::signals::{HandledSignal, SignalStream, raise_again};
use slug_code::platform::terminal::output::TerminalOutput;
use slug_code::platform::terminal::{MouseOwner, SuspendOutcome, TerminalGuard};
use tokio_util::sync::CancellationToken;

const HELPER: [&str; 4] = ["--exact", "terminal::helper", "--ignored", "--nocapture"];
const ENTER_SCREEN: &str = "\x1b[?1049h";
const LEAVE_SCREEN: &str = "\x1b[?1049l\x1b[?25h";

/// Runs the case that `$SCENE` names, on a terminal of its own.
#[test]
#[ignore = "started by other tests, in a process of its own"]
fn helper() {
    let scene = std::env::var("SCENE").unwrap();
    match scene.as_str() {
        "drop" => {
            let screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            show("FRAME");
            drop(screen);
            show("AFTER");
        }
        "panic" => {
            let _screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            panic!("BOOM \u{1b}]0;T\u{7}");
        }
        "other thread" => {
            let screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            std::thread::spawn(|| panic!("BOOM")).join().unwrap_err();
            show("FRAME");
            drop(screen);
        }
        "tokio worker" => {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            let task = runtime.spawn(async { panic!("BOOM") });
            runtime.block_on(task).unwrap_err();
            show("FRAME");
            drop(screen);
        }
        "panic in a drop" => {
            let _screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            drop(PanicOnDrop);
        }
        "double panic" => {
            let _screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            let _bomb = PanicOnDrop;
            panic!("FIRST");
        }
        "double panic elsewhere" => {
            let _screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            let thread = std::thread::spawn(|| {
                let _bomb = PanicOnDrop;
                panic!("FIRST");
            });
            drop(thread.join());
        }
        "stack overflow" => {
            let _screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            println!("{}", deeper(1));
        }
        "stack overflow elsewhere" => {
            let _screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let task = runtime.spawn(async { println!("{}", deeper(1)) });
            runtime.block_on(task).unwrap();
        }
        "out of memory" => {
            let _screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<[u8; 1 << 20]>());
        }
        "libraries" => {
            let folder = std::env::var_os("SCENE_FILE").unwrap();
            let log = logging::start(Path::new(&folder), None, Redactor::default()).unwrap();
            let screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            rustix::io::write(std::io::stderr(), b"TO STDERR\n").unwrap();
            rustix::io::write(std::io::stdout(), b"TO STDOUT\n").unwrap();
            show("FRAME");
            drop(screen);
            rustix::io::write(std::io::stderr(), b"AFTER\n").unwrap();
            drop(log);
        }
        "stuck" => {
            let file = std::env::var_os("SCENE_FILE").unwrap();
            let screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            show(&"x".repeat(1 << 20));
            assert!(!TerminalOutput::has_all());
            drop(screen);
            std::fs::write(file, "over").unwrap();
        }
        "lend" => {
            let mut screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            screen.lend(|| show("EDITOR")).unwrap();
            show("FRAME");
        }
        "stop" => {
            let mut screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            assert_eq!(screen.suspend().unwrap(), SuspendOutcome::Continued);
            show("FRAME");
        }
        "stop without a shell" => {
            let mut screen = TerminalGuard::enter(MouseOwner::Slugs).unwrap();
            assert_eq!(screen.suspend().unwrap(), SuspendOutcome::NoShell);
            show("FRAME");
        }
        "signal" => {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let signal = runtime.block_on(async {
                let mut signals = SignalStream::listen().unwrap();
                let own = rustix::process::getpid();
                rustix::process::kill_process(own, RawSignal::TERM).unwrap();
                signals.next().await
            });
            assert_eq!(signal, HandledSignal::Terminate);
            raise_again(signal, Path::new(env!("CARGO_BIN_EXE_slug")));
        }
        "hang-up" => {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                // As under nohup: SIGHUP does not end it.
                let _signals = SignalStream::listen().unwrap();
                let gone = CancellationToken::new();
                let _watch = HangupWatch::start(gone.clone()).unwrap();
                let file = std::env::var_os("SCENE_FILE").unwrap();
                std::fs::write(&file, "").unwrap();
                gone.cancelled().await;
                std::fs::write(file, "gone").unwrap();
            });
        }
        other => panic!("no scene {other}"),
    }
}

/// Uses up the stack.
#[allow(unconditional_recursion, reason = "that is the point")]
fn deeper(depth: u64) -> u64 {
    std::hint::black_box([depth; 64])[0] + deeper(std::hint::black_box(depth + 1))
}

fn show(text: &str) {
    TerminalOutput.write_all(text.as_bytes()).unwrap();
    TerminalOutput.flush().unwrap();
}

struct PanicOnDrop;

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        panic!("BOOM");
    }
}

type PtyMaster = Box<dyn MasterPty + Send>;
type PtyChild = Box<dyn portable_pty::Child + Send + Sync>;

/// Starts a case, below a shell if one is given.
fn start(name: &str, shell: Option<&str>, file: Option<&Path>) -> (PtyMaster, PtyChild) {
    let size = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };
    let pty = portable_pty::native_pty_system().openpty(size).unwrap();
    let helper = std::env::current_exe().unwrap();
    let mut command = CommandBuilder::new(shell.map_or(helper.as_os_str(), OsStr::new));
    if shell.is_some() {
        command.args(["-c", "\"$@\"; exit $?", "shell"]);
        command.arg(&helper);
    }
    command.args(HELPER);
    command.env("SCENE", name);
    command.env("RUST_BACKTRACE", "0");
    if let Some(file) = file {
        command.env("SCENE_FILE", file);
    }
    let child = pty.slave.spawn_command(command).unwrap();
    (pty.master, child)
}

/// A running case, and what has been written to its terminal.
struct TerminalHelper {
    /// The terminal, held open so that its modes can be read after the end.
    tty: OwnedFd,
    child: PtyChild,
    written: Arc<Mutex<Vec<u8>>>,
    _terminal: PtyMaster,
}

impl TerminalHelper {
    fn spawn(name: &str, shell: Option<&str>) -> Self {
        Self::spawn_with(name, shell, None)
    }

    fn spawn_with(name: &str, shell: Option<&str>, file: Option<&Path>) -> Self {
        let (terminal, child) = start(name, shell, file);
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let path = terminal.tty_name().unwrap();
        let near = rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap();
        let mut reader = terminal.try_clone_reader().unwrap();
        let written = Arc::new(Mutex::new(Vec::new()));
        let writing = Arc::clone(&written);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                writing.lock().unwrap().extend(&buffer[..count]);
            }
        });
        Self { tty: near, child, written, _terminal: terminal }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    fn wait_for(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        until(what, || holds(&self.text()));
        self.text()
    }

    /// Waits for the end; returns what was written by then, and whether the case succeeded.
    fn end(&mut self) -> (String, bool) {
        let status = self.child.wait().unwrap();
        // Drops the last lines of libtest.
        (self.wait_for("the end", |text| text.contains("test result")), status.success())
    }

    fn edits_lines(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.tty).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }
}

/// Asserts that the `needles` are in `text`, each after the one before it.
fn in_order(text: &str, needles: &[&str]) {
    let mut from = 0;
    for needle in needles {
        let found = text[from..].find(needle);
        from += found.unwrap_or_else(|| panic!("{needle:?} after {from} in {text:?}"));
    }
}

#[test]
fn the_terminal_is_given_back_at_the_end() {
    let mut helper = TerminalHelper::spawn("drop", None);
    let (text, success) = helper.end();
    assert!(success);
    in_order(
        &text,
        &[ENTER_SCREEN, "\x1b[?2004h", "FRAME", "\x1b[<1u", "\x1b[?2004l", LEAVE_SCREEN, "AFTER"],
    );
    assert!(helper.edits_lines());
}

#[test]
fn a_panic_is_printed_after_the_terminal_is_given_back() {
    let mut helper = TerminalHelper::spawn("panic", None);
    let (text, success) = helper.end();
    assert!(!success);
    // The text that a message quotes may be foreign (S73).
    in_order(&text, &[ENTER_SCREEN, LEAVE_SCREEN, "BOOM ␛]0;T␇"]);
    assert_eq!(text.matches(LEAVE_SCREEN).count(), 1);
    assert!(helper.edits_lines());
}

#[test]
fn a_panic_elsewhere_does_not_disturb_the_screen() {
    for name in ["other thread", "tokio worker"] {
        let (text, success) = TerminalHelper::spawn(name, None).end();
        assert!(success);
        in_order(&text, &[ENTER_SCREEN, "FRAME", LEAVE_SCREEN]);
        assert!(!text.contains("BOOM"), "{text}");
    }
}

#[test]
fn a_panic_in_a_drop_is_printed_after_the_terminal_is_given_back() {
    let mut helper = TerminalHelper::spawn("panic in a drop", None);
    let (text, success) = helper.end();
    assert!(!success);
    in_order(&text, &[ENTER_SCREEN, LEAVE_SCREEN, "BOOM"]);
    assert!(helper.edits_lines());
}

#[test]
fn a_panic_that_aborts_gives_the_terminal_back_on_any_thread() {
    for (name, told) in [("double panic", "FIRST"), ("double panic elsewhere", "cleanup")] {
        let mut helper = TerminalHelper::spawn(name, None);
        assert!(!helper.child.wait().unwrap().success());
        let text = helper.wait_for("the end", |text| text.contains("cleanup"));
        in_order(&text, &[ENTER_SCREEN, LEAVE_SCREEN, told]);
        assert_eq!(text.matches(LEAVE_SCREEN).count(), 1);
        assert!(helper.edits_lines());
    }
}

#[test]
fn an_abort_gives_the_terminal_back() {
    for name in ["stack overflow", "stack overflow elsewhere", "out of memory"] {
        let mut helper = TerminalHelper::spawn(name, None);
        assert!(!helper.child.wait().unwrap().success());
        let text = helper.wait_for("the end", |text| text.contains("--continue"));
        in_order(&text, &[ENTER_SCREEN, LEAVE_SCREEN, "slug crashed"]);
        assert_eq!(text.matches(LEAVE_SCREEN).count(), 1);
        assert!(helper.edits_lines(), "{name}");
    }
}

#[test]
fn what_libraries_print_goes_to_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (text, success) = TerminalHelper::spawn_with("libraries", None, Some(folder.path())).end();
    assert!(success);
    in_order(&text, &[ENTER_SCREEN, "FRAME", LEAVE_SCREEN, "AFTER"]);
    assert!(!text.contains("TO STD"), "{text}");
    let log = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
    let log = std::fs::read_to_string(log.path()).unwrap();
    assert!(log.contains("TO STDERR") && log.contains("TO STDOUT"), "{log}");
    assert!(!log.contains("AFTER"), "{log}");
}

#[test]
fn a_terminal_that_reads_nothing_does_not_hold_up_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("over");
    // Nobody reads what slug writes.
    let (terminal, mut child) = start("stuck", None, Some(&file));
    until("it is over", || file.exists());
    // libtest prints a line, too, and waits for somebody to read it.
    drop(terminal);
    until("it is gone", || child.try_wait().unwrap().is_some());
}

#[test]
fn the_terminal_is_lent_and_taken_again() {
    let (text, success) = TerminalHelper::spawn("lend", None).end();
    assert!(success);
    in_order(&text, &[ENTER_SCREEN, LEAVE_SCREEN, "EDITOR", ENTER_SCREEN, "FRAME", LEAVE_SCREEN]);
}

#[test]
fn a_stop_gives_the_terminal_back_until_it_is_continued() {
    let mut helper = TerminalHelper::spawn("stop", Some("bash"));
    helper.wait_for("given back", |text| text.contains(LEAVE_SCREEN));
    let group = Pid::from_raw(helper.child.process_id().unwrap().cast_signed()).unwrap();
    // The process may not have stopped yet, and would miss a single signal.
    helper.wait_for("taken again", |text| {
        let _ = rustix::process::kill_process_group(group, RawSignal::CONT);
        text.matches(ENTER_SCREEN).count() == 2
    });
    let (text, success) = helper.end();
    assert!(success);
    in_order(&text, &[ENTER_SCREEN, LEAVE_SCREEN, ENTER_SCREEN, "FRAME", LEAVE_SCREEN]);
}

#[test]
fn without_a_shell_above_there_is_no_stop() {
    let (text, success) = TerminalHelper::spawn("stop without a shell", None).end();
    assert!(success, "{text}");
}

#[test]
fn slug_dies_of_the_signal_that_ended_it() {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(HELPER)
        .env("SCENE", "signal")
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(15), "{status}");
}

#[test]
fn a_hang_up_is_noticed_where_sighup_is_handled() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gone");
    let (terminal, mut child) = start("hang-up", None, Some(&file));
    until("it watches", || file.exists());
    drop(terminal);
    let began = Instant::now();
    until("it is gone", || child.try_wait().unwrap().is_some());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(std::fs::read_to_string(file).unwrap(), "gone");
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
