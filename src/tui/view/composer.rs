//! The input, and where the caret stands in it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::tui::app::Model;
use crate::tui::app::geometry::Geometry;
use crate::tui::app::model::Focus;
use crate::tui::app::softwrap::{self, Row};
use crate::tui::app::turn::Turn;
use crate::tui::layout::Role;

use super::blocks::harmless;
use super::paint::{self, Styles, span};

/// Draws the input, whose text stands on the rows `typed`, and returns the caret's cell.
pub fn draw(
    model: &Model,
    typed: &[Row],
    styles: &dyn Styles,
    area: Rect,
    buffer: &mut Buffer,
    geometry: &mut Geometry,
) -> Position {
    let text = model.composer.editor.text();
    let room = Rect { x: area.x + 3, width: area.width.saturating_sub(4).max(1), ..area };
    let (row, column) = softwrap::place(&text, typed, model.composer.editor.caret());
    let above = (row + 1).saturating_sub(usize::from(area.height.max(1)));
    geometry.input = room.into();
    geometry.input_above = above;

    let focused = model.focus == Focus::Input;
    let prompt = if text.starts_with('!') { "!" } else { "❯" };
    let prompt_role = if focused { Role::User } else { Role::Muted };
    let mark = Rect { x: area.x + 1, width: 1, ..area };
    paint::spans(&[span(prompt, prompt_role)], styles, mark, buffer);
    if text.is_empty() {
        let words = match &model.turn {
            Turn::Idle => "Say what you want done",
            Turn::Starting { .. } | Turn::Running(_) => "Type ahead: it is sent after this turn",
        };
        paint::spans(&[span(words, Role::Muted)], styles, room, buffer);
    }
    for (y, row) in (area.y..area.y + area.height).zip(typed.iter().skip(above)) {
        let shown = harmless(&text[row.clone()]);
        let place = Rect { y, height: 1, width: room.width + 1, ..room };
        paint::spans(&[span(shown, Role::Text)], styles, place, buffer);
    }
    let y = area.y + u16::try_from(row - above).unwrap_or(0);
    Position { x: (room.x + column).min(area.x + area.width.saturating_sub(1)), y }
}
