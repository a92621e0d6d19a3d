//! Draws the completion list under the caret.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::completion_items::{self, CompletionHint};
use crate::tui::app::picker_list::PickerList;
use crate::tui::layout::StyleRole;

use super::blocks::harmless;
use super::list_rows::draw_rows;
use super::paint::{self, RoleStyles, span, spans_width, truncate};

/// Most rows of the list.
const UNDER_CARET: u16 = 8;

/// Draws the list under the caret, above the rule over the input.
pub fn draw_completion(
    model: &ScreenModel,
    styles: &dyn RoleStyles,
    rule: Rect,
    buffer: &mut Buffer,
) {
    let Some(open) = model.conversation.completion.as_ref().filter(|_| model.dialogs.is_empty())
    else {
        return;
    };
    let hint = completion_items::hint(open, &model.conversation, &model.shared);
    let count = u16::try_from(open.list.len()).unwrap_or(UNDER_CARET).min(UNDER_CARET);
    let height = (count + u16::from(hint.is_some())).min(rule.y.saturating_sub(1));
    if height == 0 {
        return;
    }
    let area = Rect { y: rule.y - height, height, ..rule };
    paint::clear(area, styles, buffer);
    // An edge against the transcript, where there is a row for it.
    if area.y > 2 {
        let edge = Rect { y: area.y - 1, height: 1, ..area };
        paint::clear(edge, styles, buffer);
        draw_edge(&open.list, styles, edge, buffer);
    }
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    // On a screen this low, another row is worth more than the hint.
    let hint = hint.filter(|_| height > 1 || count == 0);
    let rows = Rect { height: height - u16::from(hint.is_some()), ..area };
    draw_rows(&open.list, styles, rows, buffer);
    if let Some(hint) = hint {
        let below = Rect { y: rows.y + rows.height, height: 1, ..area };
        let (text, role) = match &hint {
            CompletionHint::Says(text) => (text, StyleRole::Muted),
            CompletionHint::Warns(text) => (text, StyleRole::Warning),
        };
        let text = truncate(&harmless(text), area.width.saturating_sub(2));
        paint::spans(&[span("  ", StyleRole::Muted), span(text, role)], styles, below, buffer);
    }
}

/// Draws the edge, with the count of the rows at its right end.
fn draw_edge(list: &PickerList, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    paint::rule(area, styles, buffer);
    if list.total() == 0 {
        return;
    }
    let count = [span(format!(" {} ", list.count()), StyleRole::Muted)];
    let width = spans_width(&count);
    if width + 2 < area.width {
        let x = area.x + area.width - width - 1;
        paint::spans(&count, styles, Rect { x, width, ..area }, buffer);
    }
}
