//! The real terminal. Frames, and what the terminal is told outside of them, each leave in one
//! write.
//!
//! A frame is drawn into memory first and is written between the marks of a synchronized update.
//! Nothing here waits for the terminal; the loop asks whether it has room.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use ratatui::{Frame, Terminal};

use crate::platform::graphics::forget;
use crate::platform::hyperlinks::HyperlinkSupport;
use crate::platform::signals::ContinuedFlag;
use crate::platform::terminal::output::TerminalOutput;
use crate::platform::terminal::{
    self, BEGIN_UPDATE, END_UPDATE, TerminalGuard, TerminalTrace, has_unread,
};
use crate::platform::terminal_background::QUESTION;
use crate::platform::terminal_notifier::{KEEP_TITLE, TerminalNotifier};
use crate::tui::app::conversation::composer::CaretShape;
use crate::tui::links::LinkTable;
use crate::tui::picture_cells::PictureTable;

use super::backend::TerminalBackend;
use super::{ScreenSurface, TerminalAnnouncement};

const CLEAR: &[u8] = b"\x1b[0m\x1b[2J";

/// The terminal that slug runs in.
pub(super) struct TtySurface {
    screen: TerminalGuard,
    terminal: Terminal<TerminalBackend<FrameBuffer>>,
    batch: FrameBuffer,
    announcer: TerminalNotifier,
    links: LinkTable,
    picture_table: PictureTable,
    /// The cursor's shape that the terminal was told last.
    shape: Option<CaretShape>,
    continued: ContinuedFlag,
}

/// Collects a frame in memory, so that it leaves in one write.
#[derive(Debug, Clone, Default)]
pub(super) struct FrameBuffer(Arc<Mutex<Vec<u8>>>);

impl TtySurface {
    /// Takes the terminal over: from now on the surface draws on it.
    pub(super) fn new(
        screen: TerminalGuard,
        announcer: TerminalNotifier,
        continued: ContinuedFlag,
    ) -> io::Result<Self> {
        let mut batch = FrameBuffer::default();
        // Another page may have been drawn before.
        batch.write_all(CLEAR)?;
        let (links, picture_table) = (LinkTable::default(), PictureTable::default());
        let terminal = Self::terminal(&batch, &links, &picture_table)?;
        Ok(Self {
            screen,
            terminal,
            batch,
            announcer,
            links,
            picture_table,
            shape: None,
            continued,
        })
    }

    /// From now on the terminal is told this way what it shows outside of the frame.
    pub(super) fn announce_by(&mut self, announcer: TerminalNotifier) {
        self.announcer = announcer;
    }

    fn terminal(
        batch: &FrameBuffer,
        links: &LinkTable,
        picture_table: &PictureTable,
    ) -> io::Result<Terminal<TerminalBackend<FrameBuffer>>> {
        let backend =
            TerminalBackend::new(batch.clone(), links.clone(), HyperlinkSupport::detect());
        Terminal::new(backend.with_picture_table(picture_table.clone()))
    }
}

/// The terminal does not keep slug's pictures after slug.
impl Drop for TtySurface {
    fn drop(&mut self) {
        let old: String = self.picture_table.take_held().into_iter().map(forget).collect();
        // A terminal that is gone has no pictures to forget.
        let _ = TerminalOutput.write_all(old.as_bytes()).and_then(|()| TerminalOutput.flush());
    }
}

impl ScreenSurface for TtySurface {
    fn links(&self) -> LinkTable {
        self.links.clone()
    }

    fn picture_table(&self) -> PictureTable {
        self.picture_table.clone()
    }

    fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    fn is_free(&self) -> bool {
        TerminalOutput::has_all()
    }

    async fn wait_until_free(&mut self) -> io::Result<()> {
        TerminalOutput::all_sent().await
    }

    fn was_continued(&self) -> bool {
        self.continued.take()
    }

    fn has_unread_input(&self) -> bool {
        // When the check fails, the next read reports what is wrong with the terminal.
        has_unread().unwrap_or(false)
    }

    fn set_caret_shape(&mut self, shape: CaretShape) {
        if self.shape == Some(shape) {
            return;
        }
        let sequence: &[u8] = match shape {
            CaretShape::Bar => b"\x1b[6 q",
            CaretShape::Block => b"\x1b[2 q",
            CaretShape::Underline => b"\x1b[4 q",
        };
        // It leaves with the next frame. Writing to the buffer in memory does not fail.
        if self.batch.write_all(sequence).is_ok() {
            self.shape = Some(shape);
        }
    }

    fn draw(&mut self, render: &mut dyn FnMut(&mut Frame<'_>)) -> io::Result<()> {
        self.links.begin_frame();
        self.picture_table.begin_frame();
        self.terminal.draw(|frame| render(frame))?;
        let mut frame = self.batch.take();
        frame.splice(0..0, BEGIN_UPDATE.bytes());
        frame.extend_from_slice(END_UPDATE.as_bytes());
        TerminalOutput.write_all(&frame)?;
        TerminalOutput.flush()
    }

    fn forget(&mut self) -> io::Result<()> {
        // Not `Terminal::clear`: that queries the cursor and waits for the reply.
        self.batch.write_all(CLEAR)?;
        for id in self.picture_table.take_held() {
            self.batch.write_all(forget(id).as_bytes())?;
        }
        self.shape = None;
        self.terminal = Self::terminal(&self.batch, &self.links, &self.picture_table)?;
        Ok(())
    }

    fn lend(&mut self, visitor: &mut dyn FnMut()) -> io::Result<()> {
        // The visitor may take hours: this thread's other tasks move to other threads.
        tokio::task::block_in_place(|| self.screen.lend(visitor))
    }

    fn ask_background(&mut self) -> io::Result<()> {
        TerminalOutput.write_all(QUESTION.as_bytes())?;
        TerminalOutput.flush()
    }

    fn suspend(&mut self) -> io::Result<()> {
        // Without a shell above, nothing happens and nothing needs to be done.
        self.screen.suspend().map(|_| ())
    }

    fn announce(&mut self, news: TerminalAnnouncement<'_>) -> io::Result<()> {
        match news {
            TerminalAnnouncement::Call(text) => {
                self.batch.write_all(&self.announcer.notification(text).unwrap_or_default())
            }
            TerminalAnnouncement::Title(title) => {
                let Some(sequence) = self.announcer.title(title) else { return Ok(()) };
                if self.screen.register_trace(TerminalTrace::Title) == terminal::TraceStatus::First
                {
                    self.batch.write_all(KEEP_TITLE.as_bytes())?;
                }
                self.batch.write_all(sequence.as_bytes())
            }
            TerminalAnnouncement::Progress(progress) => {
                let Some(sequence) = self.announcer.progress(progress) else { return Ok(()) };
                self.screen.register_trace(TerminalTrace::Progress);
                self.batch.write_all(sequence.as_bytes())
            }
        }
    }
}

impl FrameBuffer {
    /// Takes all bytes that were written since the last call.
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for FrameBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
