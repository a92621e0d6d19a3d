//! The signals that ask slug to end, stop or continue, as a stream; and dying of one afterwards.
//!
//! The receiver of an ending signal gives the terminal back, saves, ends the children, and then
//! calls [`raise_again`], so that a shell sees which signal ended slug (130 for ctrl+c).

use std::future::poll_fn;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::signal::unix::{Signal as Source, SignalKind, signal};

use super::supervisor;

/// A signal that slug handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandledSignal {
    /// SIGTERM: asks slug to end.
    Terminate,
    /// SIGINT: ctrl+c outside the full screen.
    Interrupt,
    /// SIGHUP: the terminal is gone.
    Hangup,
    /// SIGQUIT: ctrl+\.
    Quit,
    /// SIGTSTP: asks slug to stop until SIGCONT.
    Stop,
    /// SIGCONT: slug runs again after a stop.
    Continue,
}

impl HandledSignal {
    const ALL: [Self; 6] =
        [Self::Terminate, Self::Interrupt, Self::Hangup, Self::Quit, Self::Stop, Self::Continue];

    /// Whether slug is to end.
    pub fn is_ending(self) -> bool {
        match self {
            Self::Terminate | Self::Interrupt | Self::Hangup | Self::Quit => true,
            Self::Stop | Self::Continue => false,
        }
    }

    /// The number of the signal on this system.
    pub fn number(self) -> i32 {
        use rustix::process::Signal as Raw;
        let raw = match self {
            Self::Terminate => Raw::TERM,
            Self::Interrupt => Raw::INT,
            Self::Hangup => Raw::HUP,
            Self::Quit => Raw::QUIT,
            Self::Stop => Raw::TSTP,
            Self::Continue => Raw::CONT,
        };
        raw.as_raw()
    }
}

/// The signals as they arrive. From its creation on, none of them has its default action.
#[derive(Debug)]
pub struct SignalStream {
    sources: Vec<(HandledSignal, Source)>,
}

impl SignalStream {
    /// Installs the handlers.
    ///
    /// # Errors
    ///
    /// When a handler cannot be installed.
    pub fn listen() -> io::Result<Self> {
        let sources = HandledSignal::ALL
            .into_iter()
            .map(|it| Ok((it, signal(SignalKind::from_raw(it.number()))?)))
            .collect::<io::Result<_>>()?;
        Ok(Self { sources })
    }

    /// Waits for the next signal. Cancel-safe.
    pub async fn next(&mut self) -> HandledSignal {
        poll_fn(|context| {
            for (signal, source) in &mut self.sources {
                if source.poll_recv(context).is_ready() {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Drops the signals that have arrived so far: a ctrl+c in an editor reaches slug as well.
    pub fn forget(&mut self) {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        for (_, source) in &mut self.sources {
            while source.poll_recv(&mut context).is_ready() {}
        }
    }
}

/// Whether slug was continued after a stop: keys that wait in the terminal then were typed at the
/// shell. The signal handler sets it; [`SignalStream`] reports it, too, but later than keys arrive.
#[derive(Debug, Clone, Default)]
pub struct ContinuedFlag(Arc<AtomicBool>);

impl ContinuedFlag {
    /// Notes each SIGCONT from here on.
    ///
    /// # Errors
    ///
    /// When the handler cannot be installed.
    pub fn listen() -> io::Result<Self> {
        let flag = Self::default();
        signal_hook::flag::register(HandledSignal::Continue.number(), flag.0.clone())?;
        Ok(flag)
    }

    /// Does what SIGCONT does.
    #[cfg(test)]
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether slug was continued since the last call.
    pub fn take(&self) -> bool {
        self.0.swap(false, Ordering::SeqCst)
    }
}

/// Stops slug until the shell continues it, as SIGTSTP does by default. Does nothing where no shell
/// is above: slug would be stopped for ever.
///
/// # Errors
///
/// When the signal cannot be sent.
pub fn stop() -> io::Result<()> {
    let own = rustix::process::getpid();
    if rustix::process::getsid(None).is_ok_and(|session| session == own) {
        return Ok(());
    }
    rustix::process::kill_current_process_group(rustix::process::Signal::STOP)?;
    Ok(())
}

/// Dies of `signal`; `slug` is the path from [`supervisor::program`]. Nothing is dropped, and no thread
/// goes on.
///
/// The default action cannot be restored without unsafe code, but starting a program restores it:
/// the process becomes a slug that only raises the signal. Where that fails, the exit status is the
/// one that a shell would show.
pub fn raise_again(signal: HandledSignal, slug: &Path) -> ! {
    let number = signal.number();
    // Returns only on failure; then the exit status tells the signal.
    let _ = Command::new(slug)
        .arg(supervisor::COMMAND)
        .arg(supervisor::RAISE)
        .arg(number.to_string())
        .exec();
    std::process::exit(128 + number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_arrives_once_and_can_be_forgotten() {
        let mut signals = SignalStream::listen().unwrap();
        let raise = |signal: HandledSignal| {
            let raw = rustix::process::Signal::from_named_raw(signal.number()).unwrap();
            rustix::process::kill_process(rustix::process::getpid(), raw).unwrap();
        };
        raise(HandledSignal::Hangup);
        assert_eq!(signals.next().await, HandledSignal::Hangup);
        raise(HandledSignal::Quit);
        assert_eq!(signals.next().await, HandledSignal::Quit);

        raise(HandledSignal::Interrupt);
        raise(HandledSignal::Terminate);
        // tokio's driver delivers both signals before this completes.
        let mut later = signal(SignalKind::user_defined1()).unwrap();
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::USR1).unwrap();
        later.recv().await;
        signals.forget();
        raise(HandledSignal::Continue);
        assert_eq!(signals.next().await, HandledSignal::Continue);
    }

    #[test]
    fn a_continue_is_reported_once() {
        let flag = ContinuedFlag::listen().unwrap();
        assert!(!flag.take());
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, rustix::process::Signal::CONT).unwrap();
        // Another thread may handle the signal.
        while !flag.take() {
            std::thread::yield_now();
        }
        assert!(!flag.take());
    }

    #[test]
    fn only_four_signals_end_slug() {
        let ending = HandledSignal::ALL.into_iter().filter(|signal| signal.is_ending());
        assert_eq!(ending.map(HandledSignal::number).collect::<Vec<_>>(), [15, 2, 1, 3]);
    }
}
