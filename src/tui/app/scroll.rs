//! Where in the transcript the view stands.
//!
//! The position is an anchor, the tail or a place in a block's source, so that it survives a
//! change of width; never a count of rows from the top. `update` only says how many rows to go;
//! the view, which knows the rows, finds the place and hands it back as the new anchor. Nothing
//! here sums heights.

use super::transcript::BlockId;

/// What a block has of [`BlockPosition::Share`]s.
pub const SHARES: u16 = 10_000;

/// The position of the view.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TranscriptScroll {
    /// What the top row shows, or that the view follows the tail.
    pub anchor: ScrollAnchor,
    /// Rows still to go from there; negative is up.
    pub delta: i32,
    /// The transcript's count of lines when the view left the tail.
    left_at: u64,
}

/// What the view is held to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScrollAnchor {
    /// The newest row is at the bottom.
    #[default]
    Tail,
    /// This place is at the top.
    At {
        /// The block.
        block: BlockId,
        /// The place in it.
        place: BlockPosition,
    },
}

/// A place in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockPosition {
    /// This row of the gap above and the head.
    Head(usize),
    /// A row of the body.
    Body {
        /// Where the row begins in the source, in bytes.
        source: usize,
        /// Which of the rows that begin there.
        row: usize,
    },
    /// So many of the [`SHARES`] of its rows are above.
    Share(u16),
}

impl TranscriptScroll {
    /// Goes so many rows; negative is up.
    pub fn by(&mut self, rows: i32, lines: u64) {
        if self.anchor == ScrollAnchor::Tail && self.delta == 0 {
            if rows >= 0 {
                return;
            }
            self.left_at = lines;
        }
        self.delta = self.delta.saturating_add(rows);
    }

    /// Goes to the top of `block`, with `above` rows of what is before it.
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

    /// Holds the top row where it is, whatever happens below.
    pub fn hold(&mut self, top: ScrollAnchor, lines: u64) {
        if self.anchor == ScrollAnchor::Tail {
            self.left_at = lines;
        }
        self.anchor = top;
        self.delta = 0;
    }

    /// Takes over the place that the view found.
    pub fn found(&mut self, anchor: ScrollAnchor) {
        self.anchor = anchor;
        self.delta = 0;
    }

    /// Lines that have come since the view left the tail; `lines` is the count now.
    pub fn new_below(&self, lines: u64) -> u64 {
        match self.anchor {
            ScrollAnchor::Tail => 0,
            ScrollAnchor::At { .. } => lines.saturating_sub(self.left_at),
        }
    }
}
