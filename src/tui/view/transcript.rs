//! Draws the conversation: the visible rows, the mark of the focused pane, the selection, and the
//! scroll bar with the timeline's marks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::{caret, start_screen};
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::{ConversationGeometry, ScrollBar, TranscriptRowKind, VisibleRow};
use crate::tui::layout::{StyleRole, StyledLine};

use super::heads;
use super::image;
use super::layouts::ViewLayouts;
use super::paint::{self, RoleStyles, span};
use super::pane_head::PaneHead;
use super::window::{BlockRowPosition, BlockShape, TranscriptRowFinder, TranscriptWindow};
use super::{pinned_message, search, select, start, timeline};

/// Below this width, in columns, there are no marks beside the scroll bar: they would be read as a part of
/// the text.
const MIN_TIMELINE_WIDTH: u16 = 60;

/// Draws the transcript, and records what each row shows.
pub fn draw(
    model: &ScreenModel,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    geometry: &mut ConversationGeometry,
) {
    // One column of margin on either side, and one for the scroll bar.
    let inside =
        |area: Rect| Rect { x: area.x + 1, width: area.width.saturating_sub(3).max(1), ..area };
    let mut area = area;
    if start_screen::is_shown(&model.conversation) {
        // Notices stand below it: at most half of the screen, the newest of them.
        let notices = TranscriptRowFinder::new(&model.conversation, layouts, inside(area).width)
            .window(usize::from(area.height / 2));
        let notices = u16::try_from(notices.rows.len()).unwrap_or(0);
        let gap = u16::from(notices > 0);
        let recent = &mut geometry.recent;
        let used = start::draw(model, notices + gap, styles, inside(area), buffer, recent);
        let used = (used + gap).min(area.height);
        area = Rect { y: area.y + used, height: area.height - used, ..area };
    }
    let whole = area;
    let mut text = inside(area);
    let mut window = TranscriptRowFinder::new(&model.conversation, layouts, text.width)
        .window(usize::from(area.height));
    let pinned = pinned_message::above(&model.conversation, layouts, &window, area.height);
    if let Some(block) = pinned {
        let first = |area: Rect| Rect { height: 1, ..area };
        let band = first(Rect { width: area.width.saturating_sub(1), ..area });
        geometry.pinned = pinned_message::draw(block, styles, (band, first(text)), buffer);
        area = Rect { y: area.y + 1, height: area.height - 1, ..area };
        text = inside(area);
        // The top row stays the same, or the first step away from the end would lead back to it.
        window.rows.truncate(usize::from(area.height));
    }
    geometry.transcript = text.into();
    geometry.top = window.top;
    geometry.anchor = window.anchor;
    if window.rows.is_empty() {
        return;
    }
    let focused = match model.conversation.focus {
        KeyboardFocus::Pane(block) => Some(model.conversation.transcript.shown(block)),
        KeyboardFocus::Input | KeyboardFocus::Caret(_) | KeyboardFocus::Sidebar => None,
    };
    for (y, at) in (area.y..area.y + area.height).zip(&window.rows) {
        let place = Rect { y, height: 1, ..text };
        let row = row(model, layouts, *at, text.width);
        match &row.content {
            TranscriptRowContent::Empty => {}
            TranscriptRowContent::Head(head) => {
                paint::spans(&head.spans(), styles, place, buffer);
            }
            TranscriptRowContent::Body(line) => {
                if line.fill == Some(StyleRole::UserMessage) {
                    let band = Rect { width: area.width.saturating_sub(1), height: 1, y, ..area };
                    buffer.set_style(band, styles.style(StyleRole::UserMessage));
                }
                paint::filled_line(line, styles, place, buffer);
                paint::link(&line.spans, layouts.links(), place, buffer);
            }
        }
        for (columns, style) in search::marks(model, &row.visible, styles) {
            let from = columns.start.min(text.width);
            let marked =
                Rect { x: text.x + from, width: columns.end.min(text.width) - from, ..place };
            buffer.set_style(marked, style);
        }
        for (from, to) in select::columns(model, &row.visible) {
            let from = from.min(text.width);
            let to = to.min(text.width);
            let marked = Rect { x: text.x + from, width: to - from, ..place };
            buffer.set_style(marked, styles.style(StyleRole::Selection));
        }
        if focused == Some(row.visible.block) && row.visible.kind != TranscriptRowKind::Gap {
            let mark = Rect { x: area.x, width: 1, ..place };
            paint::spans(&[span("▎", StyleRole::User)], styles, mark, buffer);
        }
        geometry.rows.push(row.visible);
    }
    image::place_pictures(&model.conversation, &model.shared, layouts, text, buffer, geometry);
    geometry.bar = bar(model, layouts, &window, whole, text.width);
    if let Some(bar) = &geometry.bar {
        for y in area.y + bar.start..area.y + bar.start + bar.size {
            let place = Rect { x: bar.area.x, y, width: 1, height: 1 };
            paint::spans(&[span("▐", StyleRole::Border)], styles, place, buffer);
        }
        if area.width < MIN_TIMELINE_WIDTH {
            return;
        }
        let blocks = model.conversation.transcript.blocks();
        let timeline = layouts.timeline();
        timeline.update(model.conversation.agent, blocks);
        geometry.timeline = timeline::draw(timeline, blocks, bar, styles, buffer);
    }
}

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

/// Builds one row of a block.
pub fn row(
    model: &ScreenModel,
    layouts: &mut ViewLayouts,
    at: BlockRowPosition,
    width: u16,
) -> TranscriptRow {
    let shape: BlockShape =
        TranscriptRowFinder::new(&model.conversation, layouts, width).shape(at.index);
    let Some(block) = model.conversation.transcript.blocks().get(at.index) else {
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
    let fold = model.conversation.transcript.fold(block);
    let (kind, source, runs, content) = match at.row.checked_sub(shape.gap) {
        None => (TranscriptRowKind::Gap, 0, Vec::new(), TranscriptRowContent::Empty),
        Some(row) if row < shape.head => {
            let run = model.conversation.transcript.run(at.index);
            let mut head =
                heads::head(block, run, fold, model.shared.shown_now(), width).unwrap_or_default();
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
fn bar(
    model: &ScreenModel,
    layouts: &mut ViewLayouts,
    window: &TranscriptWindow,
    area: Rect,
    width: u16,
) -> Option<ScrollBar> {
    let (first, last) = (window.rows.first()?, window.rows.last()?);
    let mut finder = TranscriptRowFinder::new(&model.conversation, layouts, width);
    let mut share = |at: &BlockRowPosition, after: usize| {
        let rows = finder.shape(at.index).rows.max(1);
        at.index as f64 + (at.row + after) as f64 / rows as f64
    };
    let count = model.conversation.transcript.blocks().len() as f64;
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

/// The cell of the caret in the transcript.
pub fn caret(model: &ScreenModel, geometry: &ConversationGeometry) -> Option<Position> {
    let KeyboardFocus::Caret(caret) = model.conversation.focus else { return None };
    let (row, column) = caret::place(geometry, caret.position)?;
    let area = geometry.transcript;
    Some(Position { x: area.x + column, y: area.y + u16::try_from(row).ok()? })
}
