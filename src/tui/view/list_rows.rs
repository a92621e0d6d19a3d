//! Draws the rows of a list to choose from, with what matches its filter marked.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::app::picker_list::PickerList;
use crate::tui::layout::{StyleRole, StyledSpan};

use super::blocks::harmless;
use super::paint::{self, RoleStyles, span, spans_width, truncate};

/// The first visible row, chosen so that the selected row is visible.
fn first(list: &PickerList, height: u16) -> usize {
    (list.selected() + 1).saturating_sub(usize::from(height.max(1)))
}

/// Draws the rows of a list, with the selected one in sight.
pub fn draw_rows(list: &PickerList, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
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

/// The column where the explanations begin: after the longest label, within half of the row.
fn details(list: &PickerList, width: u16) -> u16 {
    let rows = (0..list.len().min(64)).filter_map(|at| list.row(at));
    let labels = rows.filter(|(_, detail, _)| !detail.is_empty());
    labels
        .map(|(label, _, _)| paint::width(label))
        .max()
        .unwrap_or(0)
        .clamp(12, (width / 2).max(20))
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
pub fn fit(spans: Vec<StyledSpan>, room: u16) -> Vec<StyledSpan> {
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
