//! Draws the plan under the line about the running turn, where no panel beside the transcript shows it
//! and the screen is high enough to spare the rows. Otherwise that line's step is all that is seen of it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::PlanItem;
use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::side_panel::columns as panel_columns;
use crate::tui::layout::StyleRole;

use super::paint::{self, RoleStyles, span};
use super::plan;

/// From this height on there are a few rows, from the second one on a few more.
const HEIGHTS: [(u16, usize); 2] = [(40, 6), (30, 4)];

/// The columns before a row, up to where the text of the line above begins.
const INDENT: u16 = 3;

/// The rows that the plan takes in a chat of this size.
pub fn height(model: &ScreenModel, chat: Rect) -> u16 {
    let conversation = &model.conversation;
    let panel = panel_columns(&conversation.transcript, model.shared.settings.panel, chat.width);
    let is_open = conversation.plan.completed() < conversation.plan.len();
    if conversation.turn.is_idle() || panel.is_some() || !is_open {
        return 0;
    }
    let most = HEIGHTS.iter().find(|(least, _)| chat.height >= *least).map_or(0, |(_, rows)| *rows);
    u16::try_from(conversation.plan.len().min(most)).unwrap_or_default()
}

/// Draws the rows around the first one that is open.
pub fn draw(model: &ScreenModel, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    let items: Vec<PlanItem<'_>> = model.conversation.plan.items().collect();
    let shown = plan::window(&items, usize::from(area.height));
    let rest = items.len() - shown.len();
    let width = area.width.saturating_sub(INDENT + 1);
    let rows = items[shown].iter().map(|item| {
        let wait = match plan::short_wait(item) {
            wait if wait.is_empty() => wait,
            wait => format!("  {wait}"),
        };
        let mut row = paint::fitted(&plan::row(item), width.saturating_sub(paint::width(&wait)));
        row.push(span(wait, StyleRole::Muted));
        row
    });
    let more = (rest > 0).then(|| vec![span(format!("… {rest} more"), StyleRole::Muted)]);
    for (y, row) in (area.y..area.bottom()).zip(rows.chain(more)) {
        let place = Rect { x: area.x + INDENT, y, width, height: 1 };
        paint::spans(&row, styles, place, buffer);
    }
}
