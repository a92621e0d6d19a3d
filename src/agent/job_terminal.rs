//! The terminal of a job of a session: its emulator between what the program prints and those who look.
//!
//! slug's own keys are taken out whenever the screen is read, for the model and for the user. What the
//! user types passes through here to the program alone: it is in no log, no event and no debug text.

use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use crate::domain::{TerminalFrame, TerminalInput, TerminalSize, TerminalText};
use crate::emulator::TerminalEmulator;
use crate::platform::redact::Redactor;
use crate::tools::{JobHandle, JobTerminal, OutputSink};

/// The most inputs that wait for a program which does not read.
const MOST_UNREAD: usize = 256;
/// The most bytes that are typed at once.
const LONGEST_INPUT: usize = 1 << 20;

/// The screen of a job that does not run yet.
pub(super) struct JobScreen {
    shared: Arc<SharedScreen>,
    typed: mpsc::Sender<Vec<u8>>,
    unread: mpsc::Receiver<Vec<u8>>,
}

struct SharedScreen {
    emulator: Mutex<TerminalEmulator>,
    printed: AtomicU64,
    /// The number of states that it has shown.
    state: watch::Sender<u64>,
}

impl SharedScreen {
    fn lock(&self) -> MutexGuard<'_, TerminalEmulator> {
        self.emulator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark_changed(&self) {
        self.state.send_modify(|state| *state += 1);
    }
}

impl JobScreen {
    pub(super) fn new(size: TerminalSize) -> Self {
        let emulator = Mutex::new(TerminalEmulator::new(size));
        let (printed, (state, _)) = (AtomicU64::new(0), watch::channel(1));
        let shared = Arc::new(SharedScreen { emulator, printed, state });
        let (typed, unread) = mpsc::channel(MOST_UNREAD);
        Self { shared, typed, unread }
    }

    /// Takes what the job prints.
    pub(super) fn sink(&self) -> impl OutputSink + use<> {
        ScreenSink { shared: Arc::clone(&self.shared), replies: self.typed.clone() }
    }

    /// The terminal, once the job runs.
    pub(super) fn of_job(
        self,
        process: Arc<dyn JobHandle>,
        redactor: Redactor,
    ) -> impl JobTerminal {
        let Self { shared, typed, mut unread } = self;
        let to = Arc::clone(&process);
        let writer = async move {
            while let Some(bytes) = unread.recv().await {
                // Fails once the program has closed the terminal: the job ends then.
                if to.write(&bytes).await.is_err() {
                    return;
                }
            }
        };
        let writer = AbortOnDropHandle::new(tokio::spawn(writer));
        LiveTerminal { shared, process, redactor, typed, _writer: writer }
    }
}

/// The terminal of a job that runs, or has ended.
struct LiveTerminal {
    shared: Arc<SharedScreen>,
    process: Arc<dyn JobHandle>,
    redactor: Redactor,
    typed: mpsc::Sender<Vec<u8>>,
    /// Writes what is typed, in order.
    _writer: AbortOnDropHandle<()>,
}

impl LiveTerminal {
    fn clean(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.redactor.redact_own(text) {
            *text = clean;
        }
    }
}

#[async_trait]
impl JobTerminal for LiveTerminal {
    fn text(&self, since: u64) -> TerminalText {
        let mut text = self.shared.lock().text(since);
        if !self.redactor.knows_nothing() {
            text.scrolled.iter_mut().chain(&mut text.screen).for_each(|line| self.clean(line));
        }
        text
    }

    fn frame(&self) -> TerminalFrame {
        let hides_input = self.hides_input();
        let mut frame = self.shared.lock().frame(hides_input);
        if !self.redactor.knows_nothing() {
            frame.rows.iter_mut().flatten().for_each(|run| self.clean(&mut run.text));
        }
        frame
    }

    fn printed(&self) -> u64 {
        self.shared.printed.load(Ordering::Relaxed)
    }

    async fn changed(&self, from: u64) -> u64 {
        let mut state = self.shared.state.subscribe();
        // The sender lives as long as this.
        state.wait_for(|state| *state != from).await.map_or(from, |state| *state)
    }

    fn type_in(&self, typed: &[TerminalInput]) -> io::Result<()> {
        if self.process.ended().is_some() {
            return Err(io::Error::other("it has ended"));
        }
        let bytes: Vec<u8> = {
            let emulator = self.shared.lock();
            typed.iter().flat_map(|it| emulator.bytes_for(it)).collect()
        };
        if bytes.len() > LONGEST_INPUT {
            return Err(io::Error::other("the text is longer than 1 MB"));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let sent = self.typed.try_send(bytes);
        sent.map_err(|_| {
            io::Error::other("its program has not read the earlier input yet. Try again later")
        })
    }

    fn resize(&self, size: TerminalSize) {
        let size = size.clamped();
        let mut emulator = self.shared.lock();
        if emulator.size() == size {
            return;
        }
        emulator.resize(size);
        drop(emulator);
        // Fails once the job has ended, whose screen can still be looked at.
        let _ = self.process.resize(size);
        self.shared.mark_changed();
    }

    fn hides_input(&self) -> bool {
        self.process.ended().is_none() && self.process.hides_input()
    }
}

/// What the job prints goes to the screen, and what the screen answers back to the job.
struct ScreenSink {
    shared: Arc<SharedScreen>,
    replies: mpsc::Sender<Vec<u8>>,
}

#[async_trait]
impl OutputSink for ScreenSink {
    async fn write(&mut self, bytes: &[u8]) {
        let replies = {
            let mut emulator = self.shared.lock();
            emulator.print(bytes);
            emulator.take_replies()
        };
        self.shared.printed.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.shared.mark_changed();
        if !replies.is_empty() {
            // A program that does not read asks in vain.
            let _ = self.replies.try_send(replies);
        }
    }

    async fn end(&mut self) {
        self.shared.mark_changed();
    }
}
