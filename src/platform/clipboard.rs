//! Copies and pastes for the user. Text is copied in every way that is available: through the
//! terminal (OSC 52, which also works over ssh), to the system's clipboard, to tmux's buffer, and
//! to a file where none of them is known to have the text.
//!
//! The terminal never answers, so slug can only say that it sent the text. The system's clipboard
//! has a thread of its own: it can block for seconds, and on X11 and Wayland the text is only there
//! as long as its owner lives. Over ssh the system's clipboard is another machine's, and slug does
//! not use it. tmux itself ignores OSC 52 from programs (`set-clipboard external`), but sets the
//! terminal's clipboard from a buffer that it is given.

mod paste;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::oneshot;

pub use paste::ClipboardContent;

use super::paths::replace_private;
use super::terminal_kind::{TerminalInfo, TerminalKind, TerminalLocation};

/// The largest OSC 52 text, in bytes of base64: what xterm and many others accept.
const OSC52_LIMIT: usize = 100_000;

/// GNU screen passes on strings of at most 768 bytes, including the envelope.
const SCREEN_CHUNK: usize = 700;

/// A program between slug and the terminal that drops sequences which it is not told to pass on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalMultiplexer {
    None,
    Tmux,
    Screen,
}

impl TerminalMultiplexer {
    /// Reads `TMUX` and `STY`, which the multiplexers set for their children.
    pub fn from_environment() -> Self {
        if std::env::var_os("TMUX").is_some() {
            Self::Tmux
        } else if std::env::var_os("STY").is_some() {
            Self::Screen
        } else {
            Self::None
        }
    }
}

/// Copies and pastes. Dropping it gives up the system's clipboard.
#[derive(Debug)]
pub struct Clipboard {
    terminal: TerminalInfo,
    sequences: Osc52Mode,
    /// tmux's own program; `None` where slug does not run in tmux.
    tmux: Option<PathBuf>,
    /// The file for a text that no clipboard is known to have.
    file: PathBuf,
    /// The clipboard's thread, which starts with the first copy or paste.
    native: Option<mpsc::Sender<ClipboardRequest>>,
}

/// Whether slug sends OSC 52 sequences to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Osc52Mode {
    Sent,
    /// The terminal would show the sequences, or something would pass them on.
    Never,
}

/// A request to the clipboard's thread, and where it replies.
enum ClipboardRequest {
    /// Gives one text to the system's clipboard and to tmux.
    Copy {
        text: String,
        tmux: Option<PathBuf>,
        reply: oneshot::Sender<CopyResults>,
    },
    Paste(oneshot::Sender<Result<ClipboardContent, String>>),
}

/// Which of the clipboards that answer have a text; an error says why one has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyResults {
    pub system: Result<(), String>,
    pub tmux: Result<(), String>,
}

/// The state of a copy before the slow clipboards have answered.
#[derive(Debug)]
pub struct PendingCopy {
    pub terminal: TerminalCopy,
    /// The clipboards that answer: sent when each has the text or says why not.
    pub results: oneshot::Receiver<CopyResults>,
}

/// What became of the copy through the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalCopy {
    /// The sequence was sent. Whether the terminal took it cannot be known.
    Sent,
    /// The text is longer than terminals accept, and was not sent.
    TooLong,
    /// The terminal is known to accept no OSC 52, and nothing was sent.
    Unable,
}

impl Clipboard {
    /// A clipboard that opens nothing yet. `tmux` is tmux's program; `file` gets a text that
    /// nothing else is known to have.
    pub fn new(terminal: TerminalInfo, tmux: Option<PathBuf>, file: PathBuf) -> Self {
        let tmux = tmux.filter(|_| terminal.multiplexer == TerminalMultiplexer::Tmux);
        Self { terminal, sequences: Osc52Mode::Sent, tmux, file, native: None }
    }

    /// The same clipboard without the terminal, which would show the sequence or pass it on.
    pub fn without_terminal(self) -> Self {
        Self { sequences: Osc52Mode::Never, ..self }
    }

    /// The file for a text that no clipboard is known to have.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Copies `text` without waiting. The sequence goes to `out`, between two frames.
    ///
    /// # Errors
    ///
    /// When `out` cannot be written. The other clipboards have been asked by then.
    pub fn copy(&mut self, text: &str, out: &mut impl Write) -> io::Result<PendingCopy> {
        let results = self.hand_on(text);
        let takes = self.sequences == Osc52Mode::Sent && takes_osc52(self.terminal);
        let terminal = match (takes, osc52(text, self.terminal.multiplexer)) {
            (false, _) => TerminalCopy::Unable,
            (true, Some(sequence)) => {
                out.write_all(&sequence)?;
                out.flush()?;
                TerminalCopy::Sent
            }
            (true, None) => TerminalCopy::TooLong,
        };
        Ok(PendingCopy { terminal, results })
    }

    fn hand_on(&mut self, text: &str) -> oneshot::Receiver<CopyResults> {
        let (reply, results) = oneshot::channel();
        self.hand_over(ClipboardRequest::Copy {
            text: text.to_owned(),
            tmux: self.tmux.clone(),
            reply,
        });
        results
    }

    fn hand_over(&mut self, job: ClipboardRequest) {
        let place = self.terminal.place;
        let jobs = self.native.get_or_insert_with(|| {
            let (jobs, waiting) = mpsc::channel();
            // Without the thread, `waiting` is dropped and the send below fails.
            let _ = thread::Builder::new()
                .name("clipboard".to_owned())
                .spawn(move || serve(&waiting, place));
            jobs
        });
        let no_thread = || "its thread could not be started".to_owned();
        // An answer that cannot be sent has no listener any more.
        match jobs.send(job) {
            Ok(()) => {}
            Err(mpsc::SendError(ClipboardRequest::Copy { reply, .. })) => {
                let _ =
                    reply.send(CopyResults { system: Err(no_thread()), tmux: Err(no_thread()) });
            }
            Err(mpsc::SendError(ClipboardRequest::Paste(reply))) => {
                let _ = reply.send(Err(format!("The clipboard: {}.", no_thread())));
            }
        }
    }
}

impl CopyResults {
    /// The results while nothing has answered.
    pub fn unknown() -> Self {
        let late = || Err("it has not answered".to_owned());
        Self { system: late(), tmux: late() }
    }

    /// Whether one of the clipboards is known to have the text.
    pub fn has_any(&self) -> bool {
        self.system.is_ok() || self.tmux.is_ok()
    }
}

/// Writes a text to a file that only the user can read.
///
/// # Errors
///
/// When the file, or the folder above it, cannot be written.
pub fn keep_in_file(file: &Path, text: &str) -> io::Result<()> {
    replace_private(file, text.as_bytes())
}

/// The message about a copy, which never claims more than is known. `file` is the path of the
/// written file as it is shown, or the reason why it could not be written.
///
/// # Errors
///
/// When the text is nowhere at all; the error is a sentence for the user.
pub fn describe(
    terminal: TerminalCopy,
    results: &CopyResults,
    file: &Result<String, String>,
) -> Result<String, String> {
    let why = match terminal {
        TerminalCopy::Sent => "",
        TerminalCopy::TooLong => "Too long for the terminal: ",
        TerminalCopy::Unable => "",
    };
    let handed = terminal == TerminalCopy::Sent;
    match (&results.system, &results.tmux, file) {
        (Ok(()), _, _) => Ok("Copied".to_owned()),
        (Err(_), Ok(()), _) if handed => Ok("Copied to tmux and the terminal".to_owned()),
        (Err(_), Ok(()), _) => Ok(format!("{why}copied to tmux's buffer")),
        (Err(_), Err(_), Ok(file)) if handed => {
            Ok(format!("Sent to the terminal, and saved in {file}"))
        }
        (Err(_), Err(_), Ok(file)) if why.is_empty() => Ok(format!("Saved in {file}")),
        (Err(_), Err(_), Ok(file)) => Ok(format!("{why}saved in {file}")),
        (Err(_), Err(_), Err(_)) if handed => Ok("Sent to the terminal's clipboard".to_owned()),
        (Err(system), Err(_), Err(file)) => {
            Err(format!("Not copied. {why}The system clipboard: {system}. A file: {file}."))
        }
    }
}

/// The clipboard's thread: opens the system's clipboard with the first request and keeps it open.
fn serve(jobs: &mpsc::Receiver<ClipboardRequest>, place: TerminalLocation) {
    let mut opened: Option<arboard::Clipboard> = None;
    while let Ok(job) = jobs.recv() {
        let (text, tmux, reply) = match job {
            ClipboardRequest::Copy { text, tmux, reply } => (text, tmux, reply),
            ClipboardRequest::Paste(reply) => {
                // The caller may no longer wait.
                let _ = reply.send(paste::take(&mut opened, place));
                continue;
            }
        };
        let tmux = match tmux {
            Some(program) => load_buffer(&program, &text),
            None => Err("slug does not run in it".to_owned()),
        };
        let system = match place {
            TerminalLocation::Local => set(&mut opened, text).map_err(|error| error.to_string()),
            TerminalLocation::OverSsh => Err("it is another machine's".to_owned()),
        };
        // The caller may no longer wait.
        let _ = reply.send(CopyResults { system, tmux });
    }
}

fn set(opened: &mut Option<arboard::Clipboard>, text: String) -> Result<(), arboard::Error> {
    match opened {
        Some(clipboard) => clipboard.set_text(text),
        None => opened.insert(arboard::Clipboard::new()?).set_text(text),
    }
}

/// Gives tmux the text as a buffer, and through tmux the terminal (`-w`, since tmux 3.2).
fn load_buffer(program: &Path, text: &str) -> Result<(), String> {
    let run = |arguments: &[&str]| -> io::Result<bool> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // A program that has ended takes no text; its status tells whether it failed.
        let written = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
        Ok(child.wait()?.success() && written.is_none_or(|it| it.is_ok()))
    };
    let as_text = |error: io::Error| error.to_string();
    if run(&["load-buffer", "-w", "-"]).map_err(as_text)?
        || run(&["load-buffer", "-"]).map_err(as_text)?
    {
        return Ok(());
    }
    Err("it refused the text".to_owned())
}

/// Whether the terminal may understand OSC 52: it is not known to have none.
fn takes_osc52(terminal: TerminalInfo) -> bool {
    !matches!(
        terminal.kind,
        TerminalKind::AppleTerminal | TerminalKind::LinuxConsole | TerminalKind::Dumb
    ) || terminal.multiplexer != TerminalMultiplexer::None
}

/// The bytes for the terminal; `None` when the text is too long.
fn osc52(text: &str, multiplexer: TerminalMultiplexer) -> Option<Vec<u8>> {
    let encoded = STANDARD.encode(text);
    if encoded.len() > OSC52_LIMIT {
        return None;
    }
    let plain = format!("\x1b]52;c;{encoded}\x07");
    Some(match multiplexer {
        TerminalMultiplexer::None => plain.into_bytes(),
        // tmux takes the first sequence where it may set the clipboard itself, and passes on the
        // second where that is allowed. Setting the same text twice does no harm.
        TerminalMultiplexer::Tmux => {
            let passed = plain.replace('\x1b', "\x1b\x1b");
            format!("{plain}\x1bPtmux;{passed}\x1b\\").into_bytes()
        }
        TerminalMultiplexer::Screen => plain
            .as_bytes()
            .chunks(SCREEN_CHUNK)
            .flat_map(|chunk| [b"\x1bP", chunk, b"\x1b\\"].concat())
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(text: &str, multiplexer: TerminalMultiplexer) -> String {
        String::from_utf8(osc52(text, multiplexer).unwrap()).unwrap()
    }

    #[test]
    fn the_sequence_fits_the_multiplexer() {
        assert_eq!(sequence("hé\n", TerminalMultiplexer::None), "\x1b]52;c;aMOpCg==\x07");
        assert_eq!(
            sequence("a", TerminalMultiplexer::Tmux),
            "\x1b]52;c;YQ==\x07\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\"
        );
        assert_eq!(sequence("a", TerminalMultiplexer::Screen), "\x1bP\x1b]52;c;YQ==\x07\x1b\\");
    }

    #[test]
    fn screen_gets_short_pieces_that_join_to_the_whole() {
        let text = "x".repeat(5_000);
        let sent = sequence(&text, TerminalMultiplexer::Screen);
        let pieces: Vec<_> = sent.split_terminator("\x1b\\").collect();
        assert!(pieces.iter().all(|piece| piece.len() + 2 <= 768));
        let joined: String =
            pieces.iter().map(|piece| piece.strip_prefix("\x1bP").unwrap()).collect();
        assert_eq!(joined, sequence(&text, TerminalMultiplexer::None));
    }

    #[test]
    fn the_limit_counts_what_is_sent() {
        assert!(osc52(&"x".repeat(75_000), TerminalMultiplexer::None).is_some());
        assert!(osc52(&"x".repeat(75_001), TerminalMultiplexer::None).is_none());
    }

    #[test]
    fn the_message_claims_only_what_is_known() {
        use TerminalCopy::{Sent, TooLong, Unable};
        let no = || Err("no display".to_owned());
        let file = || Ok("~/.slug/clipboard.txt".to_owned());
        let full = || Err("the disk is full".to_owned());
        let rows = [
            (Sent, Ok(()), no(), file(), "Copied"),
            (Sent, no(), Ok(()), file(), "Copied to tmux and the terminal"),
            (TooLong, no(), Ok(()), file(), "Too long for the terminal: copied to tmux's buffer"),
            (Sent, no(), no(), file(), "Sent to the terminal, and saved in ~/.slug/clipboard.txt"),
            (Sent, no(), no(), full(), "Sent to the terminal's clipboard"),
            (Unable, no(), no(), file(), "Saved in ~/.slug/clipboard.txt"),
            (
                TooLong,
                no(),
                no(),
                file(),
                "Too long for the terminal: saved in ~/.slug/clipboard.txt",
            ),
        ];
        for (terminal, system, tmux, file, message) in rows {
            assert_eq!(
                describe(terminal, &CopyResults { system, tmux }, &file).as_deref(),
                Ok(message)
            );
        }
        let nowhere = describe(TooLong, &CopyResults { system: no(), tmux: no() }, &full());
        assert!(nowhere.unwrap_err().starts_with("Not copied. Too long for the terminal"));
    }

    #[test]
    fn over_ssh_the_system_clipboard_is_left_alone() {
        let terminal = TerminalInfo::detect(|name| match name {
            "TERM" => Some("xterm-256color".into()),
            "SSH_CONNECTION" => Some("10.0.0.1 1 10.0.0.2 22".into()),
            _ => None,
        });
        let mut clipboard = Clipboard::new(terminal, None, PathBuf::from("/nowhere"));
        let mut out = Vec::new();
        let copied = clipboard.copy("hé", &mut out).unwrap();
        assert_eq!(
            (copied.terminal, out.as_slice()),
            (TerminalCopy::Sent, &b"\x1b]52;c;aMOp\x07"[..])
        );
        let results = copied.results.blocking_recv().unwrap();
        assert_eq!(results.system, Err("it is another machine's".to_owned()));
        assert!(!results.has_any());
    }

    #[test]
    fn without_a_terminal_nothing_is_written() {
        let terminal = TerminalInfo::detect(|name| match name {
            "TERM" => Some("xterm-256color".into()),
            "SSH_TTY" => Some("/dev/pts/1".into()),
            _ => None,
        });
        let clipboard = Clipboard::new(terminal, None, PathBuf::from("/nowhere"));
        let mut written = Vec::new();
        let copied = clipboard.without_terminal().copy("secret", &mut written).unwrap();
        assert_eq!((copied.terminal, written), (TerminalCopy::Unable, Vec::new()));
    }

    #[test]
    fn the_clipboard_file_is_private_to_the_user() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("clipboard.txt");
        keep_in_file(&file, "first").unwrap();
        keep_in_file(&file, "text").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
