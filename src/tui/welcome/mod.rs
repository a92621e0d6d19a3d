//! What may come before the chat: the question whether a folder is trusted, and the first run.
//!
//! Each is a screen of its own, with a state, an `update` that is pure, and a picture; `run` is
//! the loop that they share, and tells the guard of each what is painted and typed. What an answer
//! means on disk is the caller's.

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
    /// What its jobs answer.
    type Note: Send + 'static;
    /// What it wants done in the background.
    type Job;
    /// What it ends with.
    type Answer;

    /// Takes something in.
    fn update(
        &mut self,
        input: StartupInput<Self::Note>,
    ) -> StartupTransition<Self::Job, Self::Answer>;

    /// The guard of what it asks now.
    fn guard_mut(&mut self) -> &mut QuestionGuard;

    /// It was drawn.
    fn drawn(&mut self) {
        self.guard_mut().drawn();
    }

    /// Draws itself, and says where the caret is, if one is.
    fn draw(&self, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) -> Option<Position>;
}

/// What reaches a screen.
#[derive(Debug, Clone, PartialEq)]
pub enum StartupInput<N> {
    /// It has just been opened.
    Opened,
    /// A key.
    Key(KeyEvent),
    /// Text in one piece.
    Paste(String),
    /// The size of the screen, before the first frame and after each change.
    Size {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// An answer to a job.
    Note(N),
}

/// What a screen does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartupTransition<J, A> {
    /// It goes on; nothing has changed that could be seen.
    Wait,
    /// It goes on and has to be drawn, with these jobs begun.
    Draw(Vec<J>),
    /// It is over.
    Done(A),
}

#[cfg(test)]
mod samples;
