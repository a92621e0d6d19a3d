//! Draws the waiting messages above the input.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::ScreenModel;
use crate::tui::app::queue::Delivery;
use crate::tui::app::title::first_line;
use crate::tui::layout::StyleRole;

use super::blocks::harmless;
use super::paint::{self, RoleStyles, span, spans_width, truncate};

const MOST: usize = 3;

/// Rows that the waiting messages take.
pub fn height(model: &ScreenModel) -> u16 {
    let count = model.conversation.queue.items().len();
    u16::try_from(count.min(MOST) + usize::from(count > MOST)).unwrap_or(0)
}

/// Draws the waiting messages, the newest last.
pub fn draw(model: &ScreenModel, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    let items = model.conversation.queue.items();
    let hidden = items.len().saturating_sub(MOST);
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let mut y = area.y;
    if hidden > 0 {
        let text = format!("+ {hidden} more");
        paint::spans(
            &[span(text, StyleRole::Muted)],
            styles,
            Rect { y, height: 1, ..area },
            buffer,
        );
        y += 1;
    }
    for (number, item) in items.iter().enumerate().skip(hidden) {
        if y >= area.y + area.height {
            break;
        }
        let mut right = match item.delivery {
            Delivery::Steer => vec![span("next step", StyleRole::System)],
            Delivery::Queue => vec![span("queued", StyleRole::Muted)],
        };
        if number + 1 == items.len() {
            right.push(span("  up to edit", StyleRole::Muted));
        }
        let room = area.width.saturating_sub(spans_width(&right) + 3);
        let text = truncate(&harmless(&first_line(&item.text.text)), room);
        let left = [span("+ ", StyleRole::User), span(text, StyleRole::User)];
        paint::both_edges(&left, &right, styles, Rect { y, height: 1, ..area }, buffer);
        y += 1;
    }
}
