//! Draws the conversation: the visible rows, the mark of the focused pane, the selection, and the
//! scroll bar with the timeline's marks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::{caret, start_screen};
use crate::tui::app::focus::KeyboardFocus;
use crate::tui::app::geometry::{ConversationGeometry, TranscriptRowKind};
use crate::tui::layout::StyleRole;

use super::image;
use super::layouts::ViewLayouts;
use super::paint::{self, RoleStyles, span};
use super::transcript_rows::{bar, draw_bar, draw_row, row};
use super::window::TranscriptRowFinder;
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
        let row = row(&model.conversation, layouts, *at, (text.width, model.shared.shown_now()));
        draw_row(&row.content, layouts, styles, (area, place), buffer);
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
    geometry.bar = bar(&model.conversation, layouts, &window, whole, text.width);
    if let Some(bar) = &geometry.bar {
        draw_bar(bar, styles, buffer);
        if area.width < MIN_TIMELINE_WIDTH {
            return;
        }
        let blocks = model.conversation.transcript.blocks();
        let timeline = layouts.timeline();
        timeline.update(model.conversation.agent, blocks);
        geometry.timeline = timeline::draw(timeline, blocks, bar, styles, buffer);
    }
}

/// The cell of the caret in the transcript.
pub fn caret(model: &ScreenModel, geometry: &ConversationGeometry) -> Option<Position> {
    let KeyboardFocus::Caret(caret) = model.conversation.focus else { return None };
    let (row, column) = caret::place(geometry, caret.position)?;
    let area = geometry.transcript;
    Some(Position { x: area.x + column, y: area.y + u16::try_from(row).ok()? })
}
