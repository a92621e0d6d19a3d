//! Whether a long question was shown to its end: only then may it be answered with a yes.

use super::geometry::ScrollExtent;

/// Whether the end of the command, diff or arguments has been on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionReview {
    Seen,
    Unseen,
}

impl QuestionReview {
    /// Records a drawn frame: `scroll` rows are above the first one shown. Once the last row has
    /// been shown, the review stays [`Seen`](Self::Seen).
    pub fn drawn(&mut self, scroll: usize, extent: ScrollExtent) {
        if scroll + extent.shown >= extent.rows {
            *self = Self::Seen;
        }
    }
}
