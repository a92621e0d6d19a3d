//! A pseudo-terminal for a job: the end that slug holds.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use tokio::net::unix::pipe;

use crate::tools::TerminalSize;

/// slug's end of a pseudo-terminal. Clones are the same terminal; it hangs up with the last one.
#[derive(Debug, Clone)]
pub(super) struct PseudoTerminal {
    ends: Arc<TerminalEnds>,
}

/// One descriptor for each direction. A terminal hands out at most a page at a time, so a short read
/// does not mean that nothing is left: each end is used until the system says that it would block.
#[derive(Debug)]
struct TerminalEnds {
    output: pipe::Receiver,
    input: pipe::Sender,
}

impl PseudoTerminal {
    /// A new terminal, and the end for the processes in it.
    ///
    /// # Errors
    ///
    /// When the system has no pseudo-terminal left.
    pub(super) fn open(size: TerminalSize) -> io::Result<(Self, OwnedFd)> {
        let end = openpt(own_flags())?;
        grantpt(&end)?;
        unlockpt(&end)?;
        let theirs = other_end(&end)?;
        rustix::fs::fcntl_setfl(&end, OFlags::RDWR | OFlags::NONBLOCK)?;
        let input = pipe::Sender::from_file_unchecked(end.try_clone()?.into())?;
        let output = pipe::Receiver::from_file_unchecked(end.into())?;
        let terminal = Self { ends: Arc::new(TerminalEnds { output, input }) };
        terminal.resize(size)?;
        Ok((terminal, theirs))
    }

    /// Changes the size; processes in the foreground hear of it from the kernel.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    pub(super) fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let TerminalSize { columns, rows } = size;
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.ends.input, size)?)
    }

    /// Reads what the processes have printed. Cancel-safe.
    ///
    /// # Errors
    ///
    /// When no process holds the other end any more.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.ends.output.readable().await?;
            match self.ends.output.try_read(buffer) {
                Err(error) if is_for_another_try(&error) => {}
                count => return count,
            }
        }
    }

    /// Types `bytes`, and waits while no process reads what was typed before.
    ///
    /// # Errors
    ///
    /// When the terminal cannot be written.
    pub(super) async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.ends.input.writable().await?;
            match self.ends.input.try_write(bytes) {
                Err(error) if is_for_another_try(&error) => {}
                count => bytes = bytes.get(count?..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    /// Whether a program reads a line without its characters being shown.
    pub(super) fn hides_input(&self) -> bool {
        tcgetattr(&self.ends.input).is_ok_and(|set| {
            set.local_modes.contains(LocalModes::ICANON)
                && !set.local_modes.contains(LocalModes::ECHO)
        })
    }

    /// Types one character if there is room for it.
    pub(super) fn type_now(&self, character: u8) {
        // A terminal that is full of what nobody reads takes no more, as one with a keyboard.
        let _ = self.ends.input.try_write(&[character]);
    }
}

fn is_for_another_try(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

// slug may lead a session without a terminal, and must not get this one.
#[cfg(target_os = "linux")]
fn own_flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC
}

#[cfg(not(target_os = "linux"))]
fn own_flags() -> OpenptFlags {
    OpenptFlags::RDWR | OpenptFlags::NOCTTY
}

#[cfg(target_os = "linux")]
fn other_end(end: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::pty::ioctl_tiocgptpeer(end, own_flags())?)
}

#[cfg(not(target_os = "linux"))]
fn other_end(end: &OwnedFd) -> io::Result<OwnedFd> {
    rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
    let name = rustix::pty::ptsname(end, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?)
}
