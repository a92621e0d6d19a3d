//! Short pages to read: the plan, the status, the skills.

mod linear_page;
pub mod skills_page;
pub mod status_page;
pub mod view;

use ratatui::layout::Position;

use crate::tui::app::intent::Intent;
use crate::tui::app::keymap::{self, KeyPlace, KeyPress, ReadingKey};
use crate::tui::dialogs::linear_page::LinearPage;

use super::dialog::{Dialog, DialogCanvas, DialogContext, DialogView};
use super::geometry::{ScrollExtent, scrolled, wheel_scrolled};

/// A short page to read, and how far it is scrolled.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadingDialog {
    pub page: ReadingPage,
    /// Rows above the visible part.
    scroll: usize,
}

/// The pages that a [`ReadingDialog`] can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingPage {
    /// The model's plan.
    Todos,
    /// The session, its model, and the tokens it used.
    Status,
    /// The skills and custom commands.
    Skills,
    /// The card at the end of the tour.
    Tour,
}

impl ReadingDialog {
    /// Opens a page at its beginning.
    pub fn new(page: ReadingPage) -> Self {
        Self { page, scroll: 0 }
    }
}

/// Scrolls or closes a page to read.
pub fn page_key(scroll: &mut usize, key: &KeyPress<'_>, extent: ScrollExtent) -> Vec<Intent> {
    match keymap::find(keymap::READING, key) {
        Some(ReadingKey::Back) => return vec![Intent::Close],
        Some(ReadingKey::Scroll(how)) => *scroll = scrolled(*scroll, how, extent),
        None => {}
    }
    Vec::new()
}

impl Dialog for ReadingDialog {
    fn place(&self) -> KeyPlace {
        KeyPlace::Reading
    }

    fn key(&mut self, key: &KeyPress<'_>, around: &mut DialogContext<'_>) -> Vec<Intent> {
        page_key(&mut self.scroll, key, around.measured.extent)
    }

    fn draw(&self, around: DialogView<'_>, mut canvas: DialogCanvas<'_>) -> Option<Position> {
        view::draw(around, self, &mut canvas);
        None
    }

    fn linear_page(&self, around: DialogView<'_>) -> Option<LinearPage> {
        Some(linear_page::linear_page(self, around))
    }

    fn wheel(&mut self, rows: i32, around: &mut DialogContext<'_>) {
        self.scroll = wheel_scrolled(self.scroll, rows, around.measured.extent);
    }
}
