//! Writes everything for the terminal while slug has it: in order, and without ever waiting for it.
//!
//! A terminal that stops reading (a paused multiplexer, a dead ssh connection, a stopped emulator)
//! must not stop slug. So the terminal is opened a second time, for writing without blocking, which
//! leaves the flags of the shell's own handle alone. What the terminal does not take at once is
//! kept and follows when there is room. A new frame is only drawn when nothing is kept, so what is
//! kept is at most one frame and the short sequences sent since (a title, a copied text).
//!
//! Where the terminal cannot be opened again, its own handle is used, after asking whether it takes
//! anything; one write may then wait for it.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The most bytes that are kept for a terminal that reads nothing, in addition to one frame.
const KEPT: usize = 4 << 20;
/// The most bytes of one write where the write may block.
const CAREFUL: usize = 1024;

/// Writes to the terminal at each `flush`. While slug does not have the terminal, this is standard
/// output.
#[derive(Debug, Clone, Copy, Default)]
pub struct TerminalOutput;

/// Whether the terminal has taken everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushState {
    All,
    /// The rest is kept until the terminal has room.
    Part,
}

static BUFFER: Mutex<Option<OutputBuffer>> = Mutex::new(None);

#[derive(Debug)]
struct OutputBuffer {
    terminal: TerminalHandle,
    kept: Vec<u8>,
    /// How many bytes of `kept` the terminal has taken.
    sent: usize,
}

/// How the terminal was opened.
#[derive(Debug)]
enum TerminalHandle {
    /// slug's own handle: writing never blocks.
    Own(OwnedFd),
    /// A copy of standard output, whose flags other programs share.
    Shared(OwnedFd),
}

impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match lock_buffer().as_mut() {
            Some(line) => line.keep(bytes)?,
            None => io::stdout().write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match lock_buffer().as_mut() {
            Some(line) => line.push().map(drop),
            None => io::stdout().flush(),
        }
    }
}

impl TerminalOutput {
    /// Whether the terminal has taken everything that was written.
    pub fn has_all() -> bool {
        lock_buffer().as_ref().is_none_or(|line| line.kept.is_empty())
    }

    /// Waits until the terminal has taken everything. Cancel-safe.
    ///
    /// The terminal is watched only during this call: else it would wake the runtime after each
    /// frame that it has read.
    ///
    /// # Errors
    ///
    /// When the terminal is gone or cannot be watched.
    pub async fn all_sent() -> io::Result<()> {
        let terminal = match lock_buffer().as_ref() {
            Some(line) => line.terminal.fd().try_clone()?,
            None => return Ok(()),
        };
        #[allow(
            deprecated,
            reason = "its successor is unsafe to call, since a handle could lie about its number; \
                      an OwnedFd does not"
        )]
        let room = AsyncFd::with_interest(terminal, Interest::WRITABLE)?;
        loop {
            let mut ready = room.writable().await?;
            let sent = lock_buffer().as_mut().map_or(Ok(FlushState::All), OutputBuffer::push)?;
            match sent {
                FlushState::All => return Ok(()),
                FlushState::Part => ready.clear_ready(),
            }
        }
    }
}

/// Whether standard output would take a line at once.
pub fn takes_lines() -> bool {
    let out = io::stdout();
    let mut watched = [PollFd::new(&out, PollFlags::OUT)];
    poll(&mut watched, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Opens the terminal behind standard output.
pub(super) fn open() -> io::Result<()> {
    let terminal = match reopen_terminal() {
        Ok(terminal) => TerminalHandle::Own(terminal),
        Err(error) => {
            tracing::info!(%error, "the terminal cannot be opened for slug alone");
            TerminalHandle::Shared(io::stdout().as_fd().try_clone_to_owned()?)
        }
    };
    *lock_buffer() = Some(OutputBuffer { terminal, kept: Vec::new(), sent: 0 });
    Ok(())
}

/// Writes `last` after the kept bytes and closes. A terminal that does not take the kept bytes
/// within `timeout` gets `last` alone, and the same time again for it.
pub(super) fn close(last: &str, timeout: Duration) -> io::Result<()> {
    let Some(mut line) = lock_buffer().take() else { return Ok(()) };
    // What fails here fails again below, and is reported there.
    let _ = line.finish(timeout);
    line.kept.clear();
    line.sent = 0;
    line.kept.extend_from_slice(last.as_bytes());
    line.finish(timeout)
}

/// Writes `sequences` and waits until the terminal has taken them, for at most `timeout`.
pub(super) fn write_now(sequences: &str, timeout: Duration) -> io::Result<()> {
    let mut line = lock_buffer();
    let line = line.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    line.keep(sequences.as_bytes())?;
    line.finish(timeout)
}

impl OutputBuffer {
    fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.kept.is_empty() && self.kept.len() + bytes.len() > KEPT && self.is_stuck()? {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "the terminal reads nothing"));
        }
        self.kept.extend_from_slice(bytes);
        Ok(())
    }

    fn is_stuck(&mut self) -> io::Result<bool> {
        let before = self.sent;
        Ok(self.push()? == FlushState::Part && self.sent == before)
    }

    /// Writes as much as the terminal takes.
    fn push(&mut self) -> io::Result<FlushState> {
        while self.sent < self.kept.len() {
            match self.terminal.write(&self.kept[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(FlushState::Part),
                Err(error) => return Err(error.into()),
            }
        }
        self.kept.clear();
        self.sent = 0;
        Ok(FlushState::All)
    }

    fn finish(&mut self, timeout: Duration) -> io::Result<()> {
        let until = Instant::now() + timeout;
        while self.push()? == FlushState::Part {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.terminal.has_room(left)? {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the terminal has stopped reading",
                ));
            }
        }
        Ok(())
    }
}

impl TerminalHandle {
    fn fd(&self) -> &OwnedFd {
        match self {
            Self::Own(fd) | Self::Shared(fd) => fd,
        }
    }

    fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::Own(fd) => rustix::io::write(fd, bytes),
            Self::Shared(fd) => {
                if !self.has_room(Duration::ZERO)? {
                    return Err(Errno::AGAIN);
                }
                rustix::io::write(fd, &bytes[..bytes.len().min(CAREFUL)])
            }
        }
    }

    /// Waits until the terminal takes more, for at most `timeout`.
    fn has_room(&self, timeout: Duration) -> Result<bool, Errno> {
        let mut watched = [PollFd::new(self.fd(), PollFlags::OUT)];
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut watched, timeout.as_ref()) {
            Ok(count) => Ok(count > 0),
            // A signal came: the caller checks its clock and asks again.
            Err(Errno::INTR) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// Opens the terminal behind standard output a second time.
pub(super) fn reopen_terminal() -> rustix::io::Result<OwnedFd> {
    let out = io::stdout();
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let by_name = rustix::termios::ttyname(&out, Vec::new())
        .and_then(|name| rustix::fs::open(name, flags, Mode::empty()));
    by_name.or_else(|error| {
        // Under `su` the terminal belongs to another user; this name opens it all the same.
        let is_ours = rustix::termios::tcgetsid(&out).is_ok();
        if is_ours { rustix::fs::open("/dev/tty", flags, Mode::empty()) } else { Err(error) }
    })
}

fn lock_buffer() -> MutexGuard<'static, Option<OutputBuffer>> {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// A buffer to a pipe that holds little, as a terminal does, and the pipe's other end.
    fn pipe() -> (OutputBuffer, io::PipeReader) {
        let (reader, writer) = io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let line = OutputBuffer {
            terminal: TerminalHandle::Own(writer.into()),
            kept: Vec::new(),
            sent: 0,
        };
        (line, reader)
    }

    #[test]
    fn unsent_bytes_are_kept_and_follow_in_order() {
        let (mut line, mut far) = pipe();
        let frame: Vec<u8> = (0..300_000_u32).flat_map(u32::to_be_bytes).collect();
        line.keep(&frame).unwrap();
        assert_eq!(line.push().unwrap(), FlushState::Part);
        line.keep(b"title").unwrap();
        let mut got = Vec::new();
        let mut piece = vec![0; 10_000];
        while line.push().unwrap() == FlushState::Part {
            let count = far.read(&mut piece).unwrap();
            got.extend_from_slice(&piece[..count]);
        }
        drop(line);
        far.read_to_end(&mut got).unwrap();
        assert!(got == [&frame[..], b"title"].concat());
    }

    #[test]
    fn a_terminal_that_reads_nothing_is_given_up_and_not_filled_up() {
        let (mut line, _far) = pipe();
        line.keep(&vec![b'x'; KEPT + 1]).unwrap();
        assert_eq!(line.push().unwrap(), FlushState::Part);
        let error = line.finish(Duration::from_millis(1)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(line.keep(b"more").unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn a_terminal_that_is_gone_is_an_error() {
        let (mut line, far) = pipe();
        drop(far);
        line.keep(b"frame").unwrap();
        assert_eq!(line.push().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
