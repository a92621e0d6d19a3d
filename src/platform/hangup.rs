//! Notices that the terminal is gone, even where SIGHUP is ignored (nohup) and nobody reads keys.
//!
//! A thread sleeps in `poll` on the terminal and waits for its end only, so that it costs nothing
//! while the terminal lives.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio_util::sync::CancellationToken;

/// Watches the terminal until it is dropped.
#[derive(Debug)]
pub struct HangupWatch {
    /// Closing this end wakes the thread, which then ends.
    _stop: UnixStream,
}

impl HangupWatch {
    /// Watches the terminal that keys are read from; cancels `gone` when it hangs up.
    ///
    /// # Errors
    ///
    /// When the terminal cannot be opened or the thread cannot be started.
    pub fn start(gone: CancellationToken) -> io::Result<Self> {
        let stdin = io::stdin();
        let terminal = if stdin.is_terminal() {
            stdin.as_fd().try_clone_to_owned()?
        } else {
            File::open("/dev/tty")?.into()
        };
        Self::watch(terminal, gone)
    }

    fn watch(terminal: OwnedFd, gone: CancellationToken) -> io::Result<Self> {
        let (stop, stopped) = UnixStream::pair()?;
        thread::Builder::new().name("hangup".to_owned()).spawn(move || {
            if wait(&terminal, &stopped) == HangupWaitEnd::HungUp {
                gone.cancel();
            }
        })?;
        Ok(Self { _stop: stop })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum HangupWaitEnd {
    HungUp,
    Stopped,
}

fn wait(terminal: &OwnedFd, stopped: &UnixStream) -> HangupWaitEnd {
    loop {
        let mut watched =
            [PollFd::new(terminal, PollFlags::empty()), PollFd::new(stopped, PollFlags::empty())];
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(_) => return HangupWaitEnd::Stopped,
        }
        let [terminal, stopped] = watched.map(|it| it.revents());
        if !stopped.is_empty() {
            return HangupWaitEnd::Stopped;
        }
        // macOS cannot poll a terminal and says so with NVAL; there SIGHUP alone has to do.
        if terminal.contains(PollFlags::NVAL) {
            return HangupWaitEnd::Stopped;
        }
        if terminal.intersects(PollFlags::HUP | PollFlags::ERR) {
            return HangupWaitEnd::HungUp;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pseudo-terminal and its other end.
    fn terminal() -> (OwnedFd, Box<dyn portable_pty::MasterPty + Send>) {
        let pty = portable_pty::native_pty_system().openpty(Default::default()).unwrap();
        let name = pty.master.tty_name().unwrap();
        let options = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let near = rustix::fs::open(name, options, rustix::fs::Mode::empty()).unwrap();
        (near, pty.master)
    }

    #[tokio::test]
    async fn the_end_of_the_terminal_is_noticed() {
        let (near, far) = terminal();
        let gone = CancellationToken::new();
        let _watch = HangupWatch::watch(near, gone.clone()).unwrap();
        drop(far);
        tokio::time::timeout(std::time::Duration::from_secs(2), gone.cancelled()).await.unwrap();
    }

    #[test]
    fn input_does_not_count_and_a_dropped_watch_ends() {
        let (near, far) = terminal();
        far.take_writer().unwrap().write_all(b"keys\n").unwrap();
        let (stop, stopped) = UnixStream::pair().unwrap();
        let waiting = thread::spawn(move || wait(&near, &stopped));
        drop(stop);
        assert_eq!(waiting.join().unwrap(), HangupWaitEnd::Stopped);
    }
}
