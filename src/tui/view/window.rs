//! Computes which rows of the transcript are on screen: up and down from the anchor, laying out
//! only the blocks on the way.

use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::block::BlockId;
use crate::tui::app::conversation::scroll::{
    BlockPosition, SHARES, ScrollAnchor, TranscriptScroll,
};

use super::heads;
use super::layouts::ViewLayouts;

/// The visible rows, and the scroll position that they amount to.
#[derive(Debug)]
pub struct TranscriptWindow {
    pub rows: Vec<BlockRowPosition>,
    /// Anchor of the top row.
    pub top: ScrollAnchor,
    /// The scroll position after layout: the tail, if that is on screen.
    pub anchor: ScrollAnchor,
}

/// Identifies a row of the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRowPosition {
    /// Index of the block in the transcript.
    pub index: usize,
    /// Row of the block, from 0, counting the gap and the head.
    pub row: usize,
}

/// How the rows of a block are divided, from its top.
#[derive(Debug, Clone, Copy)]
pub struct BlockShape {
    /// Empty rows above the block.
    pub gap: usize,
    /// Rows of the head.
    pub head: usize,
    /// All rows: gap, head and body.
    pub rows: usize,
}

/// Finds rows in a transcript at a width.
pub struct TranscriptRowFinder<'a> {
    conversation: &'a Conversation,
    layouts: &'a mut ViewLayouts,
    width: u16,
}

impl<'a> TranscriptRowFinder<'a> {
    /// A finder for a transcript whose text has this width.
    pub fn new(conversation: &'a Conversation, layouts: &'a mut ViewLayouts, width: u16) -> Self {
        Self { conversation, layouts, width }
    }

    /// The rows that a view of this height shows.
    pub fn window(&mut self, height: usize) -> TranscriptWindow {
        self.window_at(&self.conversation.scroll, height)
    }

    /// The rows that a view of this height shows at a scroll position of its own.
    pub fn window_at(&mut self, scroll: &TranscriptScroll, height: usize) -> TranscriptWindow {
        let start = match scroll.anchor {
            ScrollAnchor::Tail => None,
            ScrollAnchor::At { block, place } => self.find(block, place),
        };
        let start = match (start, scroll.delta) {
            (None, delta) => self.tail(height).and_then(|tail| self.step(tail, delta.min(0))),
            (Some(start), delta) => self.step(start, delta),
        };
        let Some(start) = start else {
            return TranscriptWindow {
                rows: Vec::new(),
                top: ScrollAnchor::Tail,
                anchor: ScrollAnchor::Tail,
            };
        };
        let mut rows = self.collect(start, height);
        let at_tail = self.ends_at_tail(&rows, height);
        if rows.len() < height
            && let Some(tail) = self.tail(height)
        {
            rows = self.collect(tail, height);
        }
        let top = rows.first().map_or(ScrollAnchor::Tail, |row| self.anchor(*row));
        TranscriptWindow { rows, top, anchor: if at_tail { ScrollAnchor::Tail } else { top } }
    }

    /// The gap, head and height of the block at `index`.
    pub fn shape(&mut self, index: usize) -> BlockShape {
        let Some(block) = self.conversation.transcript.blocks().get(index) else {
            return BlockShape { gap: 0, head: 0, rows: 0 };
        };
        let fold = self.conversation.transcript.fold(block);
        if self.conversation.transcript.is_hidden(block) {
            return BlockShape { gap: 0, head: 0, rows: 0 };
        }
        let head = usize::from(heads::has_head(block));
        let body = self.layouts.lines(block, fold, self.width).len();
        if head + body == 0 {
            return BlockShape { gap: 0, head: 0, rows: 0 };
        }
        let above =
            index.checked_sub(1).and_then(|above| self.conversation.transcript.blocks().get(above));
        // Panes that show only their heads stand together; a pane with a body has a gap.
        let gap = usize::from(above.is_some_and(|above| {
            let fold = self.conversation.transcript.fold(above);
            !heads::has_head(above)
                || !heads::has_head(block)
                || !self.layouts.lines(above, fold, self.width).is_empty()
        }));
        BlockShape { gap, head, rows: gap + head + body }
    }

    fn find(&mut self, block: BlockId, place: BlockPosition) -> Option<BlockRowPosition> {
        let blocks = self.conversation.transcript.blocks();
        let index = self.conversation.transcript.index(block).min(blocks.len().checked_sub(1)?);
        if blocks.get(index).is_none_or(|found| found.id != block) {
            return Some(BlockRowPosition { index, row: 0 });
        }
        let shape = self.shape(index);
        let row = match place {
            BlockPosition::Head(row) => row,
            BlockPosition::Share(share) => usize::from(share) * shape.rows / usize::from(SHARES),
            BlockPosition::Body { source, row } => {
                let block = blocks.get(index)?;
                let fold = self.conversation.transcript.fold(block);
                let lines = self.layouts.lines(block, fold, self.width);
                let last = lines.iter().rposition(|line| line.source <= source).unwrap_or(0);
                let from = lines.get(last).map_or(0, |line| line.source);
                let first = lines[..last].iter().rposition(|line| line.source != from);
                let first = first.map_or(0, |before| before + 1);
                shape.gap + shape.head + (first + row).min(last)
            }
        };
        Some(BlockRowPosition { index, row: row.min(shape.rows.saturating_sub(1)) })
    }

    fn anchor(&mut self, at: BlockRowPosition) -> ScrollAnchor {
        let shape = self.shape(at.index);
        let Some(block) = self.conversation.transcript.blocks().get(at.index) else {
            return ScrollAnchor::Tail;
        };
        let place = match at.row.checked_sub(shape.gap + shape.head) {
            None => BlockPosition::Head(at.row),
            Some(body) => {
                let fold = self.conversation.transcript.fold(block);
                let lines = self.layouts.lines(block, fold, self.width);
                let source = lines.get(body).map_or(0, |line| line.source);
                let above = lines.iter().take(body).rev().take_while(|line| line.source == source);
                BlockPosition::Body { source, row: above.count() }
            }
        };
        ScrollAnchor::At { block: block.id, place }
    }

    /// The top row of a view whose last row is the last row of the transcript.
    fn tail(&mut self, height: usize) -> Option<BlockRowPosition> {
        let mut index = self.conversation.transcript.blocks().len().checked_sub(1)?;
        let mut left = height;
        loop {
            let rows = self.shape(index).rows;
            if rows >= left {
                return Some(BlockRowPosition { index, row: rows - left });
            }
            left -= rows;
            match index.checked_sub(1) {
                Some(above) => index = above,
                None => return Some(BlockRowPosition { index: 0, row: 0 }),
            }
        }
    }

    /// The row `delta` rows further down (or up), at most to the ends of the transcript.
    fn step(&mut self, mut at: BlockRowPosition, delta: i32) -> Option<BlockRowPosition> {
        let mut left = delta.unsigned_abs() as usize;
        if delta < 0 {
            while left > at.row {
                left -= at.row;
                let Some(above) = at.index.checked_sub(1) else {
                    return Some(BlockRowPosition { index: 0, row: 0 });
                };
                at = BlockRowPosition { index: above, row: self.shape(above).rows };
            }
            at.row -= left;
            return Some(at);
        }
        let count = self.conversation.transcript.blocks().len();
        loop {
            let rows = self.shape(at.index).rows;
            if at.row + left < rows {
                at.row += left;
                return Some(at);
            }
            left -= rows - at.row.min(rows);
            if at.index + 1 >= count {
                return Some(BlockRowPosition { index: at.index, row: rows.saturating_sub(1) });
            }
            at = BlockRowPosition { index: at.index + 1, row: 0 };
        }
    }

    fn collect(&mut self, start: BlockRowPosition, height: usize) -> Vec<BlockRowPosition> {
        let mut rows = Vec::with_capacity(height);
        let (mut index, mut row) = (start.index, start.row);
        while rows.len() < height && index < self.conversation.transcript.blocks().len() {
            let count = self.shape(index).rows;
            while row < count && rows.len() < height {
                rows.push(BlockRowPosition { index, row });
                row += 1;
            }
            (index, row) = (index + 1, 0);
        }
        rows
    }

    fn ends_at_tail(&mut self, rows: &[BlockRowPosition], height: usize) -> bool {
        if rows.len() < height {
            return true;
        }
        let Some(last) = rows.last() else { return true };
        let below = last.index + 1..self.conversation.transcript.blocks().len();
        last.row + 1 >= self.shape(last.index).rows
            && below.into_iter().all(|index| self.shape(index).rows == 0)
    }
}
