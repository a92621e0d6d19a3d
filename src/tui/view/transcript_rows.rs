//! Rows of a transcript: each ready to be drawn, its scroll bar, and a transcript that is drawn beside others.
//! What only the conversation in front has (a selection, a search, pictures) is in `transcript`.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::scroll::{ScrollAnchor, TranscriptScroll};
use crate::tui::app::geometry::{ScrollBar, TranscriptRowKind, VisibleRow};
use crate::tui::layout::{StyleRole, StyledLine};

use super::heads;
use super::layouts::ViewLayouts;
use super::paint::{self, RoleStyles, span};
use super::pane_head::PaneHead;
use super::window::{BlockRowPosition, BlockShape, TranscriptRowFinder, TranscriptWindow};

/// A row of the transcript, ready to be drawn.
pub struct TranscriptRow {
    /// The row's place in the transcript, for the mouse and the selection.
    pub visible: VisibleRow,
    pub content: TranscriptRowContent,
}

/// A row's text, still to be drawn.
pub enum TranscriptRowContent {
    Empty,
    /// The head of a pane.
    Head(PaneHead),
    /// A line of a block's body.
    Body(StyledLine),
}

/// Draws the text of a row at its place within the area of its transcript.
pub(super) fn draw_row(
    content: &TranscriptRowContent,
    layouts: &ViewLayouts,
    styles: &dyn RoleStyles,
    (area, place): (Rect, Rect),
    buffer: &mut Buffer,
) {
    match content {
        TranscriptRowContent::Empty => {}
        TranscriptRowContent::Head(head) => {
            paint::spans(&head.spans(), styles, place, buffer);
        }
        TranscriptRowContent::Body(line) => {
            if line.fill == Some(StyleRole::UserMessage) {
                let width = area.width.saturating_sub(1);
                let band = Rect { width, height: 1, y: place.y, ..area };
                buffer.set_style(band, styles.style(StyleRole::UserMessage));
            }
            paint::filled_line(line, styles, place, buffer);
            paint::link(&line.spans, layouts.links(), place, buffer);
        }
    }
}

pub(super) fn draw_bar(bar: &ScrollBar, styles: &dyn RoleStyles, buffer: &mut Buffer) {
    for y in bar.area.y + bar.start..bar.area.y + bar.start + bar.size {
        let place = Rect { x: bar.area.x, y, width: 1, height: 1 };
        paint::spans(&[span("▐", StyleRole::Border)], styles, place, buffer);
    }
}

/// Draws a transcript that is shown beside others, at a scroll position of its own: without a selection,
/// pictures and marks. Returns the position as the view resolved it. The layouts have to be those of its
/// agent ([`ViewLayouts::draw_for`]).
pub fn draw_pane(
    conversation: &Conversation,
    (scroll, now): (&TranscriptScroll, Duration),
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> ScrollAnchor {
    let text = Rect { x: area.x + 1, width: area.width.saturating_sub(3).max(1), ..area };
    let window = TranscriptRowFinder::new(conversation, layouts, text.width)
        .window_at(scroll, usize::from(area.height));
    for (y, at) in (area.y..area.y + area.height).zip(&window.rows) {
        let row = row(conversation, layouts, *at, (text.width, now));
        draw_row(&row.content, layouts, styles, (area, Rect { y, height: 1, ..text }), buffer);
    }
    if let Some(bar) = bar(conversation, layouts, &window, area, text.width) {
        draw_bar(&bar, styles, buffer);
    }
    window.anchor
}

/// Builds one row of a block, for this width and time.
pub fn row(
    conversation: &Conversation,
    layouts: &mut ViewLayouts,
    at: BlockRowPosition,
    (width, now): (u16, Duration),
) -> TranscriptRow {
    let shape: BlockShape = TranscriptRowFinder::new(conversation, layouts, width).shape(at.index);
    let Some(block) = conversation.transcript.blocks().get(at.index) else {
        let block = crate::tui::app::conversation::block::BlockId(u64::MAX);
        let visible = VisibleRow {
            block,
            row: at.row,
            kind: TranscriptRowKind::Gap,
            source: 0,
            runs: Vec::new(),
        };
        return TranscriptRow { visible, content: TranscriptRowContent::Empty };
    };
    let fold = conversation.transcript.fold(block);
    let (kind, source, runs, content) = match at.row.checked_sub(shape.gap) {
        None => (TranscriptRowKind::Gap, 0, Vec::new(), TranscriptRowContent::Empty),
        Some(row) if row < shape.head => {
            let run = conversation.transcript.run(at.index);
            let mut head = heads::head(block, run, fold, now, width).unwrap_or_default();
            (
                TranscriptRowKind::Head,
                0,
                std::mem::take(&mut head.runs),
                TranscriptRowContent::Head(head),
            )
        }
        Some(row) => {
            let lines = layouts.lines(block, fold, width);
            let mut line = lines.get(row - shape.head).cloned().unwrap_or_default();
            let runs = std::mem::take(&mut line.runs);
            (TranscriptRowKind::Body, line.source, runs, TranscriptRowContent::Body(line))
        }
    };
    TranscriptRow {
        visible: VisibleRow { block: block.id, row: at.row, kind, source, runs },
        content,
    }
}

/// Draws the scroll bar. Its position counts blocks: rows that were never laid out are unknown, so
/// the cost does not grow with the session.
pub(super) fn bar(
    conversation: &Conversation,
    layouts: &mut ViewLayouts,
    window: &TranscriptWindow,
    area: Rect,
    width: u16,
) -> Option<ScrollBar> {
    let (first, last) = (window.rows.first()?, window.rows.last()?);
    let mut finder = TranscriptRowFinder::new(conversation, layouts, width);
    let mut share = |at: &BlockRowPosition, after: usize| {
        let rows = finder.shape(at.index).rows.max(1);
        at.index as f64 + (at.row + after) as f64 / rows as f64
    };
    let count = conversation.transcript.blocks().len() as f64;
    let (top, bottom) = (share(first, 0) / count, share(last, 1) / count);
    if top <= 0.0 && bottom >= 1.0 {
        return None;
    }
    let span = bottom - top;
    let height = f64::from(area.height);
    let size = (span * height).round().clamp(1.0, height) as u16;
    let room = area.height.saturating_sub(size);
    let above = if span < 1.0 { top / (1.0 - span) } else { 0.0 };
    let start = (above * f64::from(room)).round().clamp(0.0, f64::from(room)) as u16;
    let column = Rect { x: area.x + area.width.saturating_sub(1), width: 1, ..area };
    Some(ScrollBar { area: column.into(), start, size, span })
}
