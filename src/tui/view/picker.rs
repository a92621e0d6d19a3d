//! Draws lists to choose from: over the chat, and under the caret.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::tui::app::ScreenModel;
use crate::tui::app::completion_items::{self, CompletionHint};
use crate::tui::app::geometry::ScreenGeometry;
use crate::tui::app::picker::{
    Picker, PickerChoice, PickerList, PickerLoading, PickerPlacement, PickerPreview,
};
use crate::tui::layout::{StyleRole, StyledSpan, plain};

use super::blocks::harmless;
use super::paint::{self, RoleStyles, span, spans_width, truncate};
use super::sidebar::draw_field;

/// Most rows of the list under the caret.
const UNDER_CARET: u16 = 8;
/// Most rows of a list over the chat, with its frame.
const TALLEST: u16 = 20;
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
    geometry: &mut ScreenGeometry,
) -> Option<Position> {
    // As high as the unfiltered list, so that the height does not change while the user types.
    let wanted = match picker.beneath {
        PickerPreview::Whole => TALLEST,
        PickerPreview::Nothing => u16::try_from(picker.list.total() + 3).unwrap_or(TALLEST),
    };
    let least = area.height.min(8);
    let height = area.height.saturating_sub(4).min(TALLEST).min(wanted).max(least);
    let middle = paint::centred(area, area.width.saturating_sub(4).min(90), height);
    let outer = match picker.room {
        PickerPlacement::Middle => middle,
        PickerPlacement::Side => {
            let width = middle.width.min(SIDE);
            Rect { x: (area.x + area.width).saturating_sub(width + 2), width, ..middle }
        }
    };
    let count = match picker.state {
        PickerLoading::Ready => picker.list.len().to_string(),
        PickerLoading::Waiting(_) | PickerLoading::Failed(_) => String::new(),
    };
    let inner = paint::frame(picker.title, &count, styles, outer, buffer);
    if inner.height < 2 {
        return None;
    }
    let filter = Rect { height: 1, ..inner };
    paint::spans(&[span("/ ", StyleRole::User)], styles, filter, buffer);
    let field = Rect { x: filter.x + 2, width: filter.width.saturating_sub(2), ..filter };
    let caret = draw_field(&picker.filter, styles, field, buffer);
    if picker.filter.is_empty() {
        paint::spans(&[span("type to filter", StyleRole::Muted)], styles, field, buffer);
    }
    let rows = Rect { y: inner.y + 1, height: inner.height - 1, ..inner };
    let rows = match picker.beneath {
        PickerPreview::Whole if rows.height >= 12 => draw_whole(&picker.list, styles, rows, buffer),
        PickerPreview::Whole | PickerPreview::Nothing => rows,
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
    geometry.list = Some(rows.into());
    Some(caret)
}

/// Draws the text that the selected row would insert, and returns the area above it for the list,
/// no higher than a short list needs.
fn draw_whole(list: &PickerList, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) -> Rect {
    let filled = u16::try_from(list.total()).unwrap_or(u16::MAX).saturating_add(2);
    let height = area.height.saturating_sub(filled).max(area.height / 3);
    let above = Rect { height: area.height - height - 1, ..area };
    let rule = Rect { y: above.y + above.height, height: 1, ..area };
    paint::spans(&[span("─".repeat(area.width.into()), StyleRole::Border)], styles, rule, buffer);
    let text = match list.chosen() {
        Some(PickerChoice::Sent(typed)) => typed.text.clone(),
        Some(PickerChoice::Hook(choice)) => choice.about(),
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
        let words = format!("… {} lines in all", text.lines().count());
        paint::spans(&[span(words, StyleRole::Muted)], styles, last, buffer);
    }
    above
}

/// Draws the list under the caret, above the rule over the input.
pub fn draw_completion(
    model: &ScreenModel,
    styles: &dyn RoleStyles,
    rule: Rect,
    buffer: &mut Buffer,
) {
    let Some(open) = model.conversation.completion.as_ref().filter(|_| model.overlays.is_empty())
    else {
        return;
    };
    let hint = completion_items::hint(open, model);
    let count = u16::try_from(open.list.len()).unwrap_or(UNDER_CARET).min(UNDER_CARET);
    let height = (count + u16::from(hint.is_some())).min(rule.y.saturating_sub(1));
    if height == 0 {
        return;
    }
    let area = Rect { y: rule.y - height, height, ..rule };
    paint::clear(area, styles, buffer);
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

/// The first visible row, chosen so that the selected row is visible.
fn first(list: &PickerList, height: u16) -> usize {
    (list.selected() + 1).saturating_sub(usize::from(height.max(1)))
}

fn draw_rows(list: &PickerList, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    let from = first(list, area.height);
    let column = details(list, area.width);
    for (y, at) in (area.y..area.y + area.height).zip(from..list.len()) {
        let Some((label, detail, aside)) = list.row(at) else { break };
        let place = Rect { y, height: 1, ..area };
        let selected = at == list.selected();
        if selected {
            paint::selected(place, styles, buffer);
        }
        let right = [span(harmless(aside), StyleRole::Muted)];
        let mut left = vec![span(if selected { "❯ " } else { "  " }, StyleRole::User)];
        left.extend(matched(label, &list.hits(label), area.width.saturating_sub(4)));
        if !detail.is_empty() {
            let pad = column.saturating_sub(spans_width(&left) - 2) + 2;
            left.push(span(" ".repeat(usize::from(pad)), StyleRole::Text));
            left.push(span(harmless(detail), StyleRole::Muted));
        }
        let room = area.width.saturating_sub(spans_width(&right) + 1);
        paint::both_edges(&fit(left, room), &right, styles, place, buffer);
    }
}

/// The column where the explanations begin: after the longest label, within a third of the row.
fn details(list: &PickerList, width: u16) -> u16 {
    let rows = (0..list.len().min(64)).filter_map(|at| list.row(at));
    let labels = rows.filter(|(_, detail, _)| !detail.is_empty());
    labels
        .map(|(label, _, _)| paint::width(label))
        .max()
        .unwrap_or(0)
        .clamp(12, (width / 3).max(20))
}

/// The label with the characters that match the filter marked.
fn matched(label: &str, hits: &[u32], room: u16) -> Vec<StyledSpan> {
    let mut spans: Vec<StyledSpan> = Vec::new();
    // Later characters do not fit, even if all of them are narrow.
    let most = usize::from(room) * 4;
    for (at, c) in (0_u32..).zip(label.chars().take(most)) {
        let role = if hits.binary_search(&at).is_ok() { StyleRole::Match } else { StyleRole::Text };
        let text = harmless(c.encode_utf8(&mut [0; 4]));
        match spans.last_mut() {
            Some(last) if last.role == role => last.text.push_str(&text),
            Some(_) | None => spans.push(span(text, role)),
        }
    }
    fit(spans, room)
}

/// As many of the spans as fit; the last one is cut.
pub(super) fn fit(spans: Vec<StyledSpan>, room: u16) -> Vec<StyledSpan> {
    let mut left = room;
    let mut kept = Vec::with_capacity(spans.len());
    for part in spans {
        let wide = paint::width(&part.text);
        if wide > left {
            kept.push(span(truncate(&part.text, left), part.role));
            break;
        }
        left -= wide;
        kept.push(part);
    }
    kept
}
