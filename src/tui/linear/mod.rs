//! Front end without a screen: the same model and the same `update`, spoken line by line, for
//! screen readers and terminals that can do no more.
//!
//! Nothing is drawn anew and no cursor moves: each thing is said once, when it is final. `speaker`
//! turns the model's changes into lines, `ears` reads the person's, `voice` writes. What a line
//! means is decided in `app::line_input`.

mod announcer;
mod line_writer;
mod pages;
mod runtime;
mod stdin_lines;

#[cfg(test)]
mod tests;

pub use line_writer::{LabelColoring, LabelledLineWriter};
pub use runtime::{LinearStart, TerminalBell, run};
pub use stdin_lines::{LinearInput, StdinLines, StdinSource};
