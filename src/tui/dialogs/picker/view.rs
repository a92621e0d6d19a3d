//! Draws a list over the chat.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::tui::app::choice::PickerChoice;
use crate::tui::app::picker_list::{PickerList, PickerPreview};
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::layout::{StyleRole, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::field::draw_field;
use crate::tui::view::list_rows::draw_rows;
use crate::tui::view::paint;
use crate::tui::view::paint::{RoleStyles, span, spans_width};

use crate::tui::dialogs::picker::{Picker, PickerLoading, PickerPlacement};

/// Most rows of a list, with its frame, unless half of the screen is more.
const TALLEST: u16 = 20;
/// Rows for a few lines beneath a list.
const LINES: u16 = 4;
/// Most characters shown of a long text beneath a list.
const BENEATH: usize = 4_000;
/// Columns of a list at the side.
const SIDE: u16 = 48;

/// Draws a list over the chat. Returns the caret's cell in its filter.
pub fn draw(
    picker: &Picker,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) -> Option<Position> {
    // As high as the unfiltered list, so that the height does not change while the user types.
    let tallest = TALLEST.max(area.height / 2);
    let filled = u16::try_from(picker.list.total() + 3).unwrap_or(tallest);
    let wanted = match picker.beneath {
        PickerPreview::Whole => tallest,
        PickerPreview::Lines => filled.saturating_add(LINES + 1),
        PickerPreview::Nothing => filled,
    };
    let least = area.height.min(8);
    let height = area.height.saturating_sub(4).min(tallest).min(wanted).max(least);
    let middle = paint::centred(area, area.width.saturating_sub(4).min(90), height);
    let outer = match picker.room {
        PickerPlacement::Middle => middle,
        PickerPlacement::Side => {
            let width = middle.width.min(SIDE);
            Rect { x: (area.x + area.width).saturating_sub(width + 2), width, ..middle }
        }
    };
    let count = match picker.state {
        PickerLoading::Ready => picker.list.count(),
        PickerLoading::Waiting(_) | PickerLoading::Failed(_) => String::new(),
    };
    let inner = paint::frame(picker.title, "", styles, outer, buffer);
    if inner.height < 2 {
        return None;
    }
    let filter = Rect { height: 1, ..inner };
    paint::spans(&[span("/ ", StyleRole::User)], styles, filter, buffer);
    let count = [span(count, StyleRole::Muted)];
    let wide = spans_width(&count);
    let at_right = Rect { x: filter.x + filter.width.saturating_sub(wide), width: wide, ..filter };
    paint::spans(&count, styles, at_right, buffer);
    let taken = if wide > 0 { wide + 3 } else { 2 };
    let field = Rect { x: filter.x + 2, width: filter.width.saturating_sub(taken), ..filter };
    let caret = draw_field(&picker.filter, styles, field, buffer);
    if picker.filter.is_empty() {
        paint::spans(&[span("type to filter", StyleRole::Muted)], styles, field, buffer);
    }
    let rows = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    let rows = match picker.beneath {
        PickerPreview::Whole if rows.height >= 12 => {
            let filled = u16::try_from(picker.list.total()).unwrap_or(u16::MAX).saturating_add(2);
            let height = rows.height.saturating_sub(filled).max(rows.height / 3);
            draw_beneath(&picker.list, styles, rows, height, buffer)
        }
        PickerPreview::Lines if rows.height >= 3 * LINES => {
            draw_beneath(&picker.list, styles, rows, LINES, buffer)
        }
        PickerPreview::Whole | PickerPreview::Lines | PickerPreview::Nothing => rows,
    };
    let word = match &picker.state {
        PickerLoading::Waiting(_) => Some("One moment …".to_owned()),
        PickerLoading::Failed(reason) => Some(harmless(reason)),
        PickerLoading::Ready if picker.list.is_empty() => Some("Nothing matches.".to_owned()),
        PickerLoading::Ready => None,
    };
    if let Some(word) = word {
        for (y, line) in
            (rows.y..rows.y + rows.height).zip(plain::render(&word, StyleRole::Muted, rows.width))
        {
            paint::spans(&line.spans, styles, Rect { y, height: 1, ..rows }, buffer);
        }
    }
    draw_rows(&picker.list, styles, rows, buffer);
    measured.list = Some(rows.into());
    Some(caret)
}

/// Draws the text of the selected row in the last `height` rows, and returns the area above for the
/// list.
fn draw_beneath(
    list: &PickerList,
    styles: &dyn RoleStyles,
    area: Rect,
    height: u16,
    buffer: &mut Buffer,
) -> Rect {
    let above = Rect { height: area.height - height - 1, ..area };
    let rule = Rect { y: above.y + above.height, height: 1, ..area };
    paint::spans(&[span("─".repeat(area.width.into()), StyleRole::Border)], styles, rule, buffer);
    let text = match list.chosen() {
        Some(PickerChoice::Sent(typed)) => typed.text.clone(),
        Some(PickerChoice::Hook(choice)) => choice.about(),
        Some(PickerChoice::Setting(choice)) => choice.about(),
        Some(_) | None => return above,
    };
    let end = text.char_indices().nth(BENEATH).map_or(text.len(), |(end, _)| end);
    let lines = plain::render(&text[..end], StyleRole::Text, area.width);
    let shown =
        if lines.len() > usize::from(height) || end < text.len() { height - 1 } else { height };
    for (y, line) in (rule.y + 1..=rule.y + shown).zip(&lines) {
        paint::spans(&line.spans, styles, Rect { y, height: 1, ..area }, buffer);
    }
    if shown < height {
        let last = Rect { y: rule.y + height, height: 1, ..area };
        let words = format!("… {} lines in total", text.lines().count());
        paint::spans(&[span(words, StyleRole::Muted)], styles, last, buffer);
    }
    above
}
