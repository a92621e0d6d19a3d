//! Sends what libraries print while slug has the screen to the log.
//!
//! Libraries, the system's own among them, write to standard error, and sometimes to standard
//! output. While the screen is up both are a pipe, and a thread writes each line from it to the
//! log. A handle that is not a terminal (`2> file`) is left as it is.
//!
//! A log that cannot be written complains on standard error, which would come back here. So the
//! number of logged lines is limited; further lines are read and dropped.

use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::stdio::{dup2_stderr, dup2_stdout};

/// The most lines that are logged while the screen is up.
const LINES: usize = 1000;
/// The most bytes of one line.
const LINE: u64 = 4096;
/// How long the end waits for the last lines. A child that still holds the pipe gets no more time.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(100);

/// Standard output and error are redirected until this is dropped.
#[derive(Debug)]
pub(super) struct LogRedirect {
    out: Option<OwnedFd>,
    error: Option<OwnedFd>,
    /// Disconnected when the thread has ended.
    done: mpsc::Receiver<()>,
}

impl LogRedirect {
    /// Redirects those of standard output and error that are a terminal.
    pub(super) fn begin() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let (working, done) = mpsc::channel();
        thread::Builder::new().name("stderr".to_owned()).spawn(move || {
            log_lines(BufReader::new(reader));
            drop(working);
        })?;
        let mut redirect = Self { out: None, error: None, done };
        let (out, error) = (io::stdout(), io::stderr());
        if out.is_terminal() {
            redirect.out = Some(out.as_fd().try_clone_to_owned()?);
            dup2_stdout(&writer)?;
        }
        if error.is_terminal() {
            redirect.error = Some(error.as_fd().try_clone_to_owned()?);
            dup2_stderr(&writer)?;
        }
        Ok(redirect)
    }
}

impl Drop for LogRedirect {
    fn drop(&mut self) {
        // Restoring a handle needs no new descriptor: the copies take the place of open ones.
        let restored = [self.out.take().map(dup2_stdout), self.error.take().map(dup2_stderr)];
        for error in restored.into_iter().flatten().filter_map(Result::err) {
            tracing::error!(%error, "standard output or error cannot be given back");
        }
        // Either the thread has ended, or its time is up.
        let _ = self.done.recv_timeout(DRAIN_TIMEOUT);
    }
}

fn log_lines(mut printed: impl BufRead) {
    let mut line = Vec::new();
    let mut logged = 0;
    loop {
        line.clear();
        match printed.by_ref().take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if logged < LINES && !text.is_empty() {
            logged += 1;
            tracing::warn!(target: "printed", "{text}");
        }
    }
}
