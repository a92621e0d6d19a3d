//! Front end without a screen: the same model and the same `update`, written line by line, for
//! screen readers and terminals that can do no more.
//!
//! Nothing is redrawn and no cursor moves: each thing is said once, when it is final. `announcer`
//! turns the model's changes into lines, `stdin_lines` reads the user's, `line_writer` writes.
//! `app::line_input` decides what a line of the user means.

mod announcer;
mod line_writer;
mod pages;
mod reader;
mod runtime;
mod stdin_lines;

#[cfg(test)]
mod tests;

pub use line_writer::{LabelColoring, LabelledLineWriter};
pub use reader::LinearReader;
pub use runtime::{LinearStart, TerminalBell, run};
pub use stdin_lines::{LinearInput, StdinLines, StdinSource};
