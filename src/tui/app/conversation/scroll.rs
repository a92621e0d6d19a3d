//! The scroll position of the transcript.
//!
//! The position is an anchor: the tail, or a place in a block's source. So it survives a change of
//! width; it is never a count of rows from the top. `update` only says how many rows to scroll; the
//! view, which knows the rows, finds the place and hands it back as the new anchor. Nothing here
//! sums heights.

use super::transcript::BlockId;

/// How many shares [`BlockPosition::Share`] divides a block into.
pub const SHARES: u16 = 10_000;

/// The scroll position, and rows that the view still has to apply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TranscriptScroll {
    pub anchor: ScrollAnchor,
    /// Rows still to scroll from the anchor; negative is up.
    pub delta: i32,
    /// The transcript's count of lines when the view left the tail.
    left_at: u64,
}

/// What the view is fixed to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScrollAnchor {
    /// The view follows the newest row, at the bottom.
    #[default]
    Tail,
    /// This place is at the top.
    At { block: BlockId, place: BlockPosition },
}

/// A place in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockPosition {
    /// A row of the gap above the block or of its head, counted from 0.
    Head(usize),
    /// A row of the body.
    Body {
        /// Byte offset in the source at which the row begins.
        source: usize,
        /// Which of the rows that begin at this offset, from 0.
        row: usize,
    },
    /// This share of the block's rows, in [`SHARES`], is above the view.
    Share(u16),
}

impl TranscriptScroll {
    /// Scrolls by a number of rows; negative is up. `lines` is the transcript's count of lines now.
    pub fn by(&mut self, rows: i32, lines: u64) {
        if self.anchor == ScrollAnchor::Tail && self.delta == 0 {
            if rows >= 0 {
                return;
            }
            self.left_at = lines;
        }
        self.delta = self.delta.saturating_add(rows);
    }

    /// Goes to the top of `block`, with `above` rows before it in sight.
    pub fn to(&mut self, block: BlockId, above: i32, lines: u64) {
        if self.anchor == ScrollAnchor::Tail {
            self.left_at = lines;
        }
        self.anchor = ScrollAnchor::At { block, place: BlockPosition::Head(0) };
        self.delta = -above;
    }

    /// Goes to the tail and follows it.
    pub fn to_tail(&mut self) {
        self.anchor = ScrollAnchor::Tail;
        self.delta = 0;
    }

    /// Fixes the top row, whatever happens below it.
    pub fn hold(&mut self, top: ScrollAnchor, lines: u64) {
        if self.anchor == ScrollAnchor::Tail {
            self.left_at = lines;
        }
        self.anchor = top;
        self.delta = 0;
    }

    /// Takes over the place that the view found for the top row.
    pub fn found(&mut self, anchor: ScrollAnchor) {
        self.anchor = anchor;
        self.delta = 0;
    }

    /// Lines added since the view left the tail; `lines` is the count now.
    pub fn new_below(&self, lines: u64) -> u64 {
        match self.anchor {
            ScrollAnchor::Tail => 0,
            ScrollAnchor::At { .. } => lines.saturating_sub(self.left_at),
        }
    }
}
