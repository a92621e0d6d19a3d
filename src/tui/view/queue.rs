//! Draws the waiting messages above the input.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::queue::Delivery;
use crate::tui::app::conversation::title::first_line;
use crate::tui::app::keymap::InputKey;
use crate::tui::layout::{StyleRole, StyledSpan};

use super::blocks::harmless;
use super::paint::{self, RoleStyles, span, spans_width, truncate};

const MOST: usize = 3;

/// Rows that the waiting messages take.
pub fn height(model: &ScreenModel) -> u16 {
    let count = model.conversation.queue.items().len();
    u16::try_from(count.min(MOST) + usize::from(count > MOST)).unwrap_or(0)
}

/// What the rows say of a message besides its text: what it waits for, and the keys for the first and the
/// last one.
fn state_spans(model: &ScreenModel, number: usize, hidden: usize) -> Vec<StyledSpan> {
    let conversation = &model.conversation;
    let items = conversation.queue.items();
    let keys = &model.shared.settings.keys;
    let is_typing = !conversation.composer.is_empty();
    let is_first = number == hidden;
    let mut spans = match items[number].delivery {
        Delivery::Steer => vec![span("next step", StyleRole::System)],
        Delivery::Queue if !conversation.turn.is_idle() => vec![span("queued", StyleRole::Muted)],
        Delivery::Queue if is_first && is_typing => {
            vec![span("queued: sent after your next message", StyleRole::Warning)]
        }
        Delivery::Queue if is_first => {
            let first = if hidden > 0 { " the first" } else { "" };
            let text = format!("queued: {} sends{first}", keys.key(InputKey::Send));
            vec![span(text, StyleRole::Warning)]
        }
        Delivery::Queue => vec![span("queued", StyleRole::Warning)],
    };
    if number + 1 == items.len() && !is_typing {
        spans.push(span(format!(" · {} edits", keys.key(InputKey::Up)), StyleRole::Muted));
    }
    spans
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
        let right = state_spans(model, number, hidden);
        let room = area.width.saturating_sub(spans_width(&right) + 3);
        let text = truncate(&harmless(&first_line(&item.text.text)), room);
        let left = [span("+ ", StyleRole::User), span(text, StyleRole::User)];
        paint::both_edges(&left, &right, styles, Rect { y, height: 1, ..area }, buffer);
        y += 1;
    }
}
