//! Draws a long text over the whole screen: its title and position on top, the visible rows, and
//! the search line at the bottom.

use std::ops::Range;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use crate::tui::app::page_position::{PageEnd, PageRow};
use crate::tui::app::text_query::TextQueryKind;
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::pager::{Pager, PagerFollow, PagerLineNumbers, PagerPrompt, PagerSource};
use crate::tui::layout::pager_lines::PagerWrap;
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan, pager_lines};

use crate::tui::view::blocks::harmless;
use crate::tui::view::layouts::ViewLayouts;
use crate::tui::view::paint;
use crate::tui::view::paint::{RoleStyles, span, spans_width, truncate};

/// Draws the pager on all of `area`. Returns the caret's cell while the user types.
pub fn draw(
    pager: &Pager,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) -> Option<Position> {
    paint::clear(area, styles, buffer);
    let row = |y: u16| Rect { y, height: u16::from(y < area.y + area.height), ..area };
    let below = u16::from(pager.prompt.is_some() || pager.search.is_some());
    let body = Rect {
        x: area.x + 1,
        y: area.y + 2,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2 + below),
    };
    let page = rows(pager, layouts, styles, body, buffer);
    title(pager, &page, styles, row(area.y), buffer);
    paint::rule(row(area.y + 1), styles, buffer);
    let last = row((area.y + area.height).saturating_sub(1).max(area.y + 2));
    let last = Rect { x: last.x + 1, width: last.width.saturating_sub(2), ..last };
    measured.page = page;
    match (&pager.prompt, below) {
        (Some(prompt), _) => Some(field(pager, prompt, styles, last, buffer)),
        (None, 0) => None,
        (None, _) => {
            paint::spans(&query_spans(pager), styles, last, buffer);
            None
        }
    }
}

/// Draws the visible rows, and returns which they are.
fn rows(
    pager: &Pager,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> PageGeometry {
    let document = &pager.document;
    let numbers = match pager.numbers {
        PagerLineNumbers::Hidden => 0,
        PagerLineNumbers::Shown => {
            (document.len() + document.dropped_lines()).to_string().len() + 1
        }
    };
    let gutter = u16::try_from(numbers).unwrap_or(0).min(area.width / 2);
    let text = Rect { x: area.x + gutter, width: (area.width - gutter).max(1), ..area };
    let mut lay = |line: usize| layouts.pager_line(document, line, text.width, pager.wrap);
    let height = usize::from(area.height);
    let (top, end) = pager.position.settle(height, document.len(), &mut |line| lay(line).len());
    let mut shown = Vec::with_capacity(height);
    let marked = pager.marked_lines();
    let PageRow { mut line, row: mut first } = top;
    while shown.len() < height && line < document.len() {
        let laid = lay(line);
        let found = matches(pager, line, &laid);
        for (at, row) in laid.iter().enumerate().skip(first).take(height - shown.len()) {
            let y = area.y + u16::try_from(shown.len()).unwrap_or(0);
            if at == 0 && gutter > 0 {
                let number = line + document.dropped_lines() + 1;
                let number = format!("{number:>width$} ", width = numbers - 1);
                let place = Rect { y, height: 1, width: gutter, ..area };
                paint::spans(&[span(number, StyleRole::LineNumber)], styles, place, buffer);
            }
            let place = Rect { y, height: 1, ..text };
            let row = found.get(at).map_or_else(|| row.clone(), |it| it.highlight(row));
            let row = match pager.wrap {
                PagerWrap::On => row,
                PagerWrap::Off(left) => pager_lines::from_column(row, left),
            };
            paint::filled_line(&row, styles, place, buffer);
            if marked.as_ref().is_some_and(|lines| lines.contains(&line)) {
                buffer.set_style(place, Modifier::REVERSED);
            }
            let is_here = found.get(at).is_some_and(|it| it.is_current);
            if is_here && place.x > 0 {
                let mark = Rect { x: area.x.saturating_sub(1), y, width: 1, height: 1 };
                paint::spans(&[span("▸", StyleRole::User)], styles, mark, buffer);
            }
            shown.push(line);
        }
        (line, first) = (line + 1, 0);
    }
    PageGeometry { area: text.into(), rows: shown, top, end, list: None }
}

struct PagerRowMatches {
    ranges: Vec<Range<usize>>,
    /// Whether the current match begins in this row.
    is_current: bool,
}

impl PagerRowMatches {
    fn highlight(&self, row: &StyledLine) -> StyledLine {
        if self.ranges.is_empty() {
            return row.clone();
        }
        pager_lines::marked(row, &self.ranges, StyleRole::Match)
    }
}

/// The matches in each row of a line; empty without a search.
fn matches(pager: &Pager, line: usize, rows: &Arc<[StyledLine]>) -> Vec<PagerRowMatches> {
    let Some(search) = &pager.search else { return Vec::new() };
    let (text, starts) = pager_lines::joined(rows);
    let found = search.query.matches(&text);
    let here = search.current_place().filter(|(here, _)| *here == line).map(|(_, nth)| nth);
    let here = here.and_then(|nth| found.get(nth)).map(|range| range.start);
    let ends = starts.iter().skip(1).copied().chain([usize::MAX]);
    let of_row = |(start, end): (usize, usize)| PagerRowMatches {
        ranges: found
            .iter()
            .filter(|range| range.start < end && range.end > start)
            .map(|range| range.start.max(start) - start..range.end.min(end) - start)
            .collect(),
        is_current: here.is_some_and(|at| (start..end).contains(&at)),
    };
    starts.iter().copied().zip(ends).map(of_row).collect()
}

fn title(
    pager: &Pager,
    page: &PageGeometry,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let mut right = Vec::new();
    if pager.waiting.is_some() {
        right.push(span("loading   ", StyleRole::Warning));
    }
    match &pager.source {
        PagerSource::Whole | PagerSource::Branches { .. } => {}
        PagerSource::Running(_, PagerFollow::Tail) => {
            right.push(span("following   ", StyleRole::Warning));
        }
        PagerSource::Running(_, PagerFollow::Paused) => {
            right.push(span("running   ", StyleRole::Warning));
        }
    }
    right.push(span(place(pager, page), StyleRole::Muted));
    let room = area.width.saturating_sub(spans_width(&right) + 2);
    let left = [span(truncate(&harmless(&pager.title), room), StyleRole::Strong)];
    paint::both_edges(&left, &right, styles, area, buffer);
}

/// The range of visible lines and the share up to there, as text.
fn place(pager: &Pager, page: &PageGeometry) -> String {
    let document = &pager.document;
    let (Some(first), Some(last)) = (page.rows.first(), page.rows.last()) else {
        return "no output yet".to_owned();
    };
    let count = document.len() + document.dropped_lines();
    let number = |line: &usize| line + document.dropped_lines() + 1;
    let share = (number(last) * 100).checked_div(count).unwrap_or(100);
    let share = if page.end == PageEnd::Visible { 100 } else { share.min(99) };
    if count == 1 {
        return "1 line".to_owned();
    }
    format!("{}-{} of {count} lines  {share}%", number(first), number(last))
}

fn field(
    pager: &Pager,
    prompt: &PagerPrompt,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Position {
    let text = prompt.editor.text();
    let mark = match prompt.kind {
        TextQueryKind::Plain => "/",
        TextQueryKind::Regex => "regex /",
    };
    let right = match &prompt.error {
        Some(error) => vec![span(harmless(error), StyleRole::Error)],
        None if text.is_empty() => Vec::new(),
        None => vec![count(pager)],
    };
    let room = area.width.saturating_sub(spans_width(&right) + paint::width(mark) + 2);
    let (before, behind) = text.split_at(prompt.editor.caret().min(text.len()));
    // A long query shows the part before the caret.
    let mut before = harmless(before);
    while paint::width(&before) >= room.max(1) {
        before.remove(0);
    }
    let column = paint::width(&before);
    let typed = format!("{before}{}", harmless(behind));
    let left = [span(mark, StyleRole::User), span(typed, StyleRole::Text)];
    paint::both_edges(&left, &right, styles, area, buffer);
    Position { x: area.x + paint::width(mark) + column, y: area.y }
}

/// The query, while the user does not type in it.
fn query_spans(pager: &Pager) -> Vec<StyledSpan> {
    let Some(search) = &pager.search else { return Vec::new() };
    let text = format!("/{}  ", harmless(search.query.text()));
    vec![span(text, StyleRole::Muted), count(pager)]
}

fn count(pager: &Pager) -> StyledSpan {
    let Some(search) = &pager.search else { return span("", StyleRole::Muted) };
    if search.asked.is_some() {
        return span("searching", StyleRole::Muted);
    }
    match search.number() {
        Some(number) => span(format!("{number} of {}", search.total()), StyleRole::System),
        None => span("not found", StyleRole::Warning),
    }
}
