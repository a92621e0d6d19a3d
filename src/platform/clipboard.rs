//! Copies text for the person, by both ways there are: the terminal (OSC 52, which also works
//! over ssh) and the system's clipboard.
//!
//! The terminal never answers, so all that can be said of it is that it was sent the text. The
//! system's clipboard lives on a thread of its own: it can block for seconds, and on X11 and
//! Wayland the text is only there as long as its owner is.

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::sync::oneshot;

/// The most that is sent by OSC 52, in bytes of base64: what xterm and many others take.
const OSC52_LIMIT: usize = 100_000;

/// GNU screen passes on strings of at most 768 bytes, its own envelope included.
const SCREEN_CHUNK: usize = 700;

/// What stands between slug and the terminal and swallows sequences that it is not told to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiplexer {
    /// Nothing.
    None,
    /// tmux.
    Tmux,
    /// GNU screen.
    Screen,
}

impl Multiplexer {
    /// As the environment says.
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

/// Copies. Dropping it gives the system's clipboard up.
#[derive(Debug)]
pub struct Clipboard {
    /// What lies before the terminal; `None` where there is none that understands OSC 52.
    terminal: Option<Multiplexer>,
    /// Started with the first copy.
    native: Option<mpsc::Sender<Job>>,
}

/// One text for the system's clipboard, and where to say how it went.
type Job = (String, oneshot::Sender<Result<(), String>>);

/// What became of a copy so far.
#[derive(Debug)]
pub struct Copied {
    /// The way through the terminal.
    pub terminal: TerminalCopy,
    /// The way through the system; answers when the clipboard has taken the text or says why not.
    pub native: oneshot::Receiver<Result<(), String>>,
}

/// What became of the way through the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalCopy {
    /// It was sent. Whether the terminal took it cannot be known.
    Sent,
    /// It is more than terminals take, and was not sent.
    TooLong,
    /// There is no terminal that understands it.
    Absent,
}

impl Clipboard {
    /// A clipboard that has not been used yet.
    pub fn new(multiplexer: Multiplexer) -> Self {
        Self { terminal: Some(multiplexer), native: None }
    }

    /// One that leaves the terminal alone, which would show the sequence or pass it on.
    pub fn without_terminal() -> Self {
        Self { terminal: None, native: None }
    }

    /// Copies `text`; the sequence goes to `terminal`, between two frames. Does not wait.
    pub fn copy(&mut self, text: &str, terminal: &mut impl Write) -> io::Result<Copied> {
        let native = self.copy_natively(text);
        let sequence = self.terminal.map(|multiplexer| osc52(text, multiplexer));
        let terminal = match sequence {
            None => TerminalCopy::Absent,
            Some(Some(sequence)) => {
                terminal.write_all(&sequence)?;
                terminal.flush()?;
                TerminalCopy::Sent
            }
            Some(None) => TerminalCopy::TooLong,
        };
        Ok(Copied { terminal, native })
    }

    fn copy_natively(&mut self, text: &str) -> oneshot::Receiver<Result<(), String>> {
        let (reply, native) = oneshot::channel();
        let jobs = self.native.get_or_insert_with(|| {
            let (jobs, waiting) = mpsc::channel();
            // Without the thread, `waiting` is dropped and the send below fails.
            let _ =
                thread::Builder::new().name("clipboard".to_owned()).spawn(move || serve(&waiting));
            jobs
        });
        if let Err(mpsc::SendError((_, reply))) = jobs.send((text.to_owned(), reply)) {
            // Nobody listens any more where this fails.
            let _ = reply.send(Err("its thread could not be started".to_owned()));
        }
        native
    }
}

/// What to tell the person, never more than is known.
pub fn describe(terminal: TerminalCopy, native: &Result<(), String>) -> String {
    match (terminal, native) {
        (TerminalCopy::Sent, Ok(())) => "Copied: clipboard, and sent to the terminal (OSC 52)",
        (TerminalCopy::TooLong | TerminalCopy::Absent, Ok(())) => "Copied: clipboard",
        (TerminalCopy::Sent, Err(_)) => {
            "Sent to the terminal (OSC 52); whether it took it is unknown"
        }
        (TerminalCopy::Absent, Err(reason)) => {
            return format!("Not copied: there is no system clipboard: {reason}");
        }
        (TerminalCopy::TooLong, Err(reason)) => {
            return format!(
                "Not copied: too long for the terminal (OSC 52), and no system clipboard: {reason}"
            );
        }
    }
    .to_owned()
}

/// The thread: opens the system's clipboard with the first text and keeps it.
fn serve(jobs: &mpsc::Receiver<Job>) {
    let mut opened: Option<arboard::Clipboard> = None;
    while let Ok((text, reply)) = jobs.recv() {
        let outcome = set(&mut opened, text).map_err(|error| error.to_string());
        // The asker may have lost interest.
        let _ = reply.send(outcome);
    }
}

fn set(opened: &mut Option<arboard::Clipboard>, text: String) -> Result<(), arboard::Error> {
    match opened {
        Some(clipboard) => clipboard.set_text(text),
        None => opened.insert(arboard::Clipboard::new()?).set_text(text),
    }
}

/// The bytes for the terminal; `None` when the text is too long.
fn osc52(text: &str, multiplexer: Multiplexer) -> Option<Vec<u8>> {
    let encoded = STANDARD.encode(text);
    if encoded.len() > OSC52_LIMIT {
        return None;
    }
    let plain = format!("\x1b]52;c;{encoded}\x07");
    Some(match multiplexer {
        Multiplexer::None => plain.into_bytes(),
        // tmux takes the first where it may set the clipboard itself, and passes the second on
        // where passing on is allowed. Twice the same text does no harm.
        Multiplexer::Tmux => {
            let passed = plain.replace('\x1b', "\x1b\x1b");
            format!("{plain}\x1bPtmux;{passed}\x1b\\").into_bytes()
        }
        Multiplexer::Screen => plain
            .as_bytes()
            .chunks(SCREEN_CHUNK)
            .flat_map(|chunk| [b"\x1bP", chunk, b"\x1b\\"].concat())
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(text: &str, multiplexer: Multiplexer) -> String {
        String::from_utf8(osc52(text, multiplexer).unwrap()).unwrap()
    }

    #[test]
    fn the_sequence_fits_what_is_in_between() {
        assert_eq!(sequence("hé\n", Multiplexer::None), "\x1b]52;c;aMOpCg==\x07");
        assert_eq!(
            sequence("a", Multiplexer::Tmux),
            "\x1b]52;c;YQ==\x07\x1bPtmux;\x1b\x1b]52;c;YQ==\x07\x1b\\"
        );
        assert_eq!(sequence("a", Multiplexer::Screen), "\x1bP\x1b]52;c;YQ==\x07\x1b\\");
    }

    #[test]
    fn screen_gets_short_pieces_that_join_to_the_whole() {
        let text = "x".repeat(5_000);
        let sent = sequence(&text, Multiplexer::Screen);
        let pieces: Vec<_> = sent.split_terminator("\x1b\\").collect();
        assert!(pieces.iter().all(|piece| piece.len() + 2 <= 768));
        let joined: String =
            pieces.iter().map(|piece| piece.strip_prefix("\x1bP").unwrap()).collect();
        assert_eq!(joined, sequence(&text, Multiplexer::None));
    }

    #[test]
    fn the_limit_counts_what_is_sent() {
        assert!(osc52(&"x".repeat(75_000), Multiplexer::None).is_some());
        assert!(osc52(&"x".repeat(75_001), Multiplexer::None).is_none());
    }

    #[test]
    fn nothing_is_claimed_that_is_not_known() {
        let failed = Err("no display".to_owned());
        assert!(describe(TerminalCopy::Sent, &failed).starts_with("Sent to the terminal"));
        assert!(describe(TerminalCopy::TooLong, &failed).starts_with("Not copied"));
        assert!(describe(TerminalCopy::TooLong, &Ok(())).starts_with("Copied"));
        assert!(describe(TerminalCopy::Absent, &failed).starts_with("Not copied"));
    }

    #[tokio::test]
    async fn without_a_terminal_nothing_is_written() {
        let mut written = Vec::new();
        let copied = Clipboard::without_terminal().copy("secret", &mut written).unwrap();
        assert_eq!((copied.terminal, written), (TerminalCopy::Absent, Vec::new()));
    }
}
