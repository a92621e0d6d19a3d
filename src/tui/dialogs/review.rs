//! Whether a long question was shown to its end: only then may it be answered with a yes.

use super::geometry::DialogGeometry;

/// Whether the end of the command, diff or arguments has been on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionReview {
    Seen,
    Unseen,
}

impl QuestionReview {
    /// Records a drawn frame: `scroll` rows are above the first one shown. Once the last row has
    /// been shown, the review stays [`Seen`](Self::Seen). A frame in which the question cannot be read
    /// does not count.
    pub fn drawn(&mut self, scroll: usize, measured: &DialogGeometry) {
        let extent = measured.extent;
        if !measured.is_cramped && scroll + extent.shown >= extent.rows {
            *self = Self::Seen;
        }
    }
}
