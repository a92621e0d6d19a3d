//! Draws the mark of the guided tour: a band above the input, below whatever is asked, so that it
//! covers nothing.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::ScreenModel;
use crate::tui::app::tour::TourState;
use crate::tui::app::tour_progress::shown_extent;
use crate::tui::layout::{StyleRole, StyledLine, plain};

use super::paint::{self, RoleStyles, line, span, spans_width};

/// The most rows of a mark, also on a narrow screen.
const MOST_ROWS: usize = 3;

/// How many rows the mark takes; none without a tour.
pub fn height(model: &ScreenModel, width: u16) -> u16 {
    u16::try_from(rows(model, width).len()).unwrap_or(0)
}

/// Draws the mark.
pub fn draw(model: &ScreenModel, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    buffer.set_style(area, styles.style(StyleRole::UserMessage));
    for (y, row) in (area.y..area.y + area.height).zip(rows(model, area.width)) {
        paint::spans(&row.spans, styles, Rect { y, height: 1, ..area }, buffer);
    }
}

/// The mark's text, and on its last row the keys of the tour, where they fit.
fn rows(model: &ScreenModel, width: u16) -> Vec<StyledLine> {
    let Some(tour) = &model.shared.tour else { return Vec::new() };
    let keymap = &model.shared.settings.keys;
    let (number, of) = tour.number();
    let head = format!(" {number}/{of}  ");
    let text = tour.text(keymap, shown_extent(&model.dialogs));
    let indent = paint::width(&head);
    let texts = plain::render(&text, StyleRole::Strong, width.saturating_sub(indent + 1).max(1));
    let mut rows: Vec<StyledLine> = Vec::new();
    for (at, mut text) in texts.into_iter().take(MOST_ROWS).enumerate() {
        let lead = if at == 0 { head.clone() } else { " ".repeat(usize::from(indent)) };
        text.spans.insert(0, span(lead, StyleRole::System));
        rows.push(line(text.spans));
    }
    let mut keys = Vec::new();
    for (key, word) in TourState::keys(keymap) {
        keys.push(span(format!("  {key}"), StyleRole::Key));
        keys.push(span(format!(" {word}"), StyleRole::Muted));
    }
    let free = rows.last().map_or(0, |row| width.saturating_sub(spans_width(&row.spans) + 1));
    let taken = spans_width(&keys);
    if taken > free {
        if rows.len() < MOST_ROWS {
            rows.push(line(keys));
        }
    } else if let Some(row) = rows.last_mut() {
        row.spans.push(span(" ".repeat(usize::from(free - taken)), StyleRole::Text));
        row.spans.extend(keys);
    }
    rows
}
