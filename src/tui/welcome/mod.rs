//! The screens that may come before the chat: the question whether a folder is trusted, and the
//! first run.
//!
//! Each has its own state and a pure `update`, and draws itself; `run` is the loop that they share,
//! which also tells the guard of each page what was painted and typed. The caller acts on the
//! answer and writes it to disk.

pub mod first_run;
mod frame;
pub mod runner;
pub mod trust;

pub use runner::run;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::app::guard::QuestionGuard;
use super::view::RoleStyles;

/// A screen before the chat.
pub trait StartupPage {
    /// The result of a background job.
    type Note: Send + 'static;
    /// A background job that `update` can request.
    type Job;
    /// How the page ends.
    type Answer;

    /// Updates the page with an input, and says what to do next.
    fn update(
        &mut self,
        input: StartupInput<Self::Note>,
    ) -> StartupTransition<Self::Job, Self::Answer>;

    /// The guard of the question that the page asks now.
    fn guard_mut(&mut self) -> &mut QuestionGuard;

    /// Called after a frame of the page was drawn.
    fn drawn(&mut self) {
        self.guard_mut().drawn();
    }

    /// Draws the page, and returns the caret's cell while the user types.
    fn draw(&self, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) -> Option<Position>;
}

/// An input of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum StartupInput<N> {
    /// The page has just been opened.
    Opened,
    Key(KeyEvent),
    /// Pasted text.
    Paste(String),
    /// The size of the screen, before the first frame and after each change.
    Size {
        width: u16,
        height: u16,
    },
    /// The result of a job.
    Note(N),
}

/// What to do after an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartupTransition<J, A> {
    /// Wait: nothing visible has changed.
    Wait,
    /// Draw the page, and start these jobs.
    Draw(Vec<J>),
    /// The page is over.
    Done(A),
}

#[cfg(test)]
mod samples;
