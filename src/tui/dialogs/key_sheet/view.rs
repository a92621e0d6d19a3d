//! Draws the sheet of keys: three columns, or fewer where the screen is narrow.

use crate::tui::app::keymap::{EmptyInputKey, KeySheetColumn, ReadingKey};
use crate::tui::app::shared::SharedState;
use crate::tui::dialogs::dialog::DialogCanvas;
use crate::tui::dialogs::reading::view::draw_page;
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan};
use crate::tui::view::paint::{self, line, span, spans_width};

use super::KeySheet;

/// Columns between two columns of keys, at least and at most.
const GAP: (u16, u16) = (2, 8);

/// Draws the sheet.
pub(super) fn draw(sheet: &KeySheet, shared: &SharedState, canvas: &mut DialogCanvas<'_>) {
    let screen = canvas.area;
    // The frame, its padding and what is around it take ten columns.
    let blocks = KeySheetColumn::ALL.map(|column| block(&sheet.rows(shared, column), column));
    let (mut lines, width) = side_by_side(&blocks, screen.width.saturating_sub(10));
    lines.extend([StyledLine::default(), more(shared)]);
    canvas.area = paint::centred(screen, width.saturating_add(10), screen.height);
    let closes = format!("{} closes", shared.settings.keys.key(ReadingKey::Back));
    draw_page("Keys", &closes, &lines, sheet.scroll, canvas);
    canvas.area = screen;
}

/// The blocks in as many columns as fit into `room`, and how wide that is. The last column has the
/// blocks for which there is no column.
fn side_by_side(blocks: &[Vec<StyledLine>], room: u16) -> (Vec<StyledLine>, u16) {
    let stacks = |columns: usize| -> Vec<Vec<StyledLine>> {
        let (own, last) = blocks.split_at(columns - 1);
        let last = last.join(&StyledLine::default());
        own.iter().cloned().chain([last]).collect()
    };
    let width = |stack: &Vec<StyledLine>| {
        stack.iter().map(|line| spans_width(&line.spans)).max().unwrap_or(0)
    };
    let total = |stacks: &[Vec<StyledLine>]| stacks.iter().map(width).sum::<u16>();
    let gaps = |columns: usize| u16::try_from(columns - 1).unwrap_or(0);
    let fits = |columns: &usize| total(&stacks(*columns)) + GAP.0 * gaps(*columns) <= room;
    let columns = (1..=blocks.len()).rev().find(fits).unwrap_or(1);
    let stacks = stacks(columns);
    let free = room.saturating_sub(total(&stacks));
    let gap = free.checked_div(gaps(columns)).unwrap_or(0).min(GAP.1);
    let tallest = stacks.iter().map(Vec::len).max().unwrap_or(0);
    let row = |row: usize| {
        let mut spans: Vec<StyledSpan> = Vec::new();
        let mut from = 0;
        for stack in &stacks {
            let pad = from - spans_width(&spans).min(from);
            spans.push(span(" ".repeat(usize::from(pad)), StyleRole::Text));
            spans.extend(stack.get(row).into_iter().flat_map(|line| line.spans.clone()));
            from += width(stack) + gap;
        }
        line(spans)
    };
    ((0..tallest).map(row).collect(), total(&stacks) + gap * gaps(columns))
}

/// A heading and its rows.
fn block(rows: &[(String, &'static str)], column: KeySheetColumn) -> Vec<StyledLine> {
    let keys = rows.iter().map(|(key, _)| paint::width(key)).max().unwrap_or(0);
    let heading = line(vec![span(column.title(), StyleRole::Heading(2))]);
    let row = |(key, words): &(String, &'static str)| {
        let gap = keys.saturating_sub(paint::width(key)) + 1;
        line(vec![
            span(key.clone(), StyleRole::Key),
            span(" ".repeat(usize::from(gap)), StyleRole::Text),
            span(*words, StyleRole::Text),
        ])
    };
    std::iter::once(heading).chain(rows.iter().map(row)).collect()
}

/// How to reach the other keys.
fn more(shared: &SharedState) -> StyledLine {
    let all = shared.settings.keys.key(EmptyInputKey::Help);
    line(vec![span(all, StyleRole::Key), span(" all keys, to search", StyleRole::Muted)])
}
