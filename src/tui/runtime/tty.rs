//! The real terminal: frames and what is told beside them, each in one write.
//!
//! A frame is drawn into memory first and leaves between the marks of a synchronized update.
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
use crate::tui::app::composer::CaretShape;
use crate::tui::links::LinkTable;
use crate::tui::picture_cells::PictureTable;

use super::backend::TerminalBackend;
use super::{ScreenSurface, TerminalAnnouncement};

const CLEAR: &[u8] = b"\x1b[0m\x1b[2J";

/// The real terminal.
pub(super) struct TtySurface {
    screen: TerminalGuard,
    terminal: Terminal<TerminalBackend<FrameBuffer>>,
    batch: FrameBuffer,
    announcer: TerminalNotifier,
    links: LinkTable,
    picture_table: PictureTable,
    /// How the cursor looks, once it has been said.
    shape: Option<CaretShape>,
    continued: ContinuedFlag,
}

/// Collects a frame, so that it leaves in one write.
#[derive(Debug, Clone, Default)]
pub(super) struct FrameBuffer(Arc<Mutex<Vec<u8>>>);

impl TtySurface {
    /// Draws on this screen from now on.
    pub(super) fn new(
        screen: TerminalGuard,
        announcer: TerminalNotifier,
        continued: ContinuedFlag,
    ) -> io::Result<Self> {
        let mut batch = FrameBuffer::default();
        // Another page may have been there before.
        batch.write_all(CLEAR)?;
        let (links, gallery) = (LinkTable::default(), PictureTable::default());
        let terminal = Self::terminal(&batch, &links, &gallery)?;
        Ok(Self {
            screen,
            terminal,
            batch,
            announcer,
            links,
            picture_table: gallery,
            shape: None,
            continued,
        })
    }

    fn terminal(
        batch: &FrameBuffer,
        links: &LinkTable,
        gallery: &PictureTable,
    ) -> io::Result<Terminal<TerminalBackend<FrameBuffer>>> {
        let pen = TerminalBackend::new(batch.clone(), links.clone(), HyperlinkSupport::detect());
        Terminal::new(pen.with_picture_table(gallery.clone()))
    }
}

/// Nothing of slug's pictures stays with the terminal.
impl Drop for TtySurface {
    fn drop(&mut self) {
        let old: String = self.picture_table.take_held().into_iter().map(forget).collect();
        // A terminal that is gone has nothing left to forget.
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
        // A terminal that cannot be asked is read on, which says what is wrong with it.
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
        // It goes out with the next frame. A batch in memory takes all that is written.
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
        // Not `Terminal::clear`: that asks the terminal for its cursor and waits for an answer.
        self.batch.write_all(CLEAR)?;
        for id in self.picture_table.take_held() {
            self.batch.write_all(forget(id).as_bytes())?;
        }
        self.shape = None;
        self.terminal = Self::terminal(&self.batch, &self.links, &self.picture_table)?;
        Ok(())
    }

    fn lend(&mut self, visitor: &mut dyn FnMut()) -> io::Result<()> {
        // The visitor may take hours: other tasks of this thread's runtime move elsewhere.
        tokio::task::block_in_place(|| self.screen.lend(visitor))
    }

    fn ask_background(&mut self) -> io::Result<()> {
        TerminalOutput.write_all(QUESTION.as_bytes())?;
        TerminalOutput.flush()
    }

    fn suspend(&mut self) -> io::Result<()> {
        // Without a shell above nothing has happened, and there is nothing to do about it.
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
    /// All that was written since the last time.
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
