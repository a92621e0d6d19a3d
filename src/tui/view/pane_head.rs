//! The line that names a pane, as its parts.

use crate::tui::layout::{SourceRun, StyleRole, StyledSpan};

use super::paint::span;

/// The head of a pane: what it is, and beside that how it went.
#[derive(Debug, Default)]
pub struct PaneHead {
    pub left: Vec<StyledSpan>,
    /// The result and the time.
    pub right: Vec<StyledSpan>,
    /// Which columns show which bytes of the head's text.
    pub runs: Vec<SourceRun>,
}

impl PaneHead {
    /// The whole line.
    pub fn spans(&self) -> Vec<StyledSpan> {
        let gap = (!self.right.is_empty()).then(|| span("  ", StyleRole::Text));
        self.left.iter().cloned().chain(gap).chain(self.right.iter().cloned()).collect()
    }
}
