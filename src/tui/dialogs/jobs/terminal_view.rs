//! Draws the screen of a job's terminal: in the pane of the page, or over the whole screen while the
//! user has taken it over.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use crate::domain::{TerminalColor, TerminalFrame, TerminalRun, TerminalStyle, pluralise};
use crate::tui::app::page_position::{PageEnd, PageRow};
use crate::tui::dialogs::dialog::{DialogCanvas, DialogView};
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::layout::{AnsiColor, AnsiStyle, StyleRole};
use crate::tui::view::blocks::harmless;
use crate::tui::view::list_rows;
use crate::tui::view::paint::{self, RoleStyles, span, spans_width};

use super::{JobsPage, terminal};

/// Draws a terminal that has all keys: one row about it, and its screen on all others but the last.
/// Returns the cell of its cursor.
pub(super) fn draw_taken_over(
    page: &JobsPage,
    around: DialogView<'_>,
    canvas: DialogCanvas<'_>,
) -> Option<Position> {
    let area = canvas.above_hints();
    let DialogCanvas { styles, buffer, measured, .. } = canvas;
    paint::clear(area, styles, buffer);
    let top = Rect { height: area.height.min(1), ..area };
    let body = Rect { y: area.y + top.height, height: area.height - top.height, ..area };
    let frame = page.terminal.frame.as_ref();
    let waiting = around.shared.questions.len() as u64;
    let key = terminal::give_back_key(&around.shared.settings.keys);
    let state = match (waiting, frame.is_some_and(|frame| frame.hides_input)) {
        (0, true) => span("what you type is not shown, and not logged", StyleRole::Muted),
        (0, false) => span(format!("{key} gives the keys back"), StyleRole::Muted),
        (waiting, _) => {
            let wait = if waiting == 1 { "waits" } else { "wait" };
            let text = format!("{} {wait}: {key} to answer", pluralise(waiting, "question"));
            span(text, StyleRole::Warning)
        }
    };
    if let Some((_, job)) = page.chosen() {
        let row = Rect { x: top.x + 1, width: top.width.saturating_sub(2), ..top };
        let room = row.width.saturating_sub(spans_width(std::slice::from_ref(&state)) + 2);
        let number = span(format!("Your keys go to job {}", job.job.id.0), StyleRole::Strong);
        let command = span(format!("  {}", harmless(&job.job.command)), StyleRole::Muted);
        let left = list_rows::fit(vec![number, command], room);
        paint::both_edges(&left, &[state], styles, row, buffer);
    }
    let geometry = PageGeometry { area: body.into(), ..PageGeometry::default() };
    let Some(frame) = frame else {
        measured.page = geometry;
        return None;
    };
    draw_rows(frame, styles, body, buffer);
    measured.page = PageGeometry { rows: vec![0; body.height.into()], ..geometry };
    cursor(frame, body)
}

/// Draws the screen in a pane, with its cursor as a cell. `scrolled` is the number of lines that have
/// scrolled off it, which the page can scroll up to.
pub(super) fn draw_screen(
    frame: &TerminalFrame,
    scrolled: usize,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> PageGeometry {
    draw_rows(frame, styles, area, buffer);
    if let Some(cell) = cursor(frame, area).and_then(|at| buffer.cell_mut(at)) {
        cell.modifier.toggle(Modifier::REVERSED);
    }
    let rows = vec![scrolled; area.height.into()];
    let top = PageRow { line: scrolled, row: 0 };
    PageGeometry { area: area.into(), rows, top, end: PageEnd::Visible, list: None }
}

fn draw_rows(frame: &TerminalFrame, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    for (y, runs) in (area.y..area.y + area.height).zip(&frame.rows) {
        for run in runs.iter().filter(|run| run.column < area.width) {
            draw_run(run, styles, Rect { y, height: 1, ..area }, buffer);
        }
    }
}

fn draw_run(run: &TerminalRun, styles: &dyn RoleStyles, row: Rect, buffer: &mut Buffer) {
    let style = styles.style(StyleRole::Ansi(ansi(run.style)));
    let room = usize::from(row.width - run.column);
    buffer.set_stringn(row.x + run.column, row.y, &run.text, room, style);
}

/// The cell of the cursor, if it is within the area.
fn cursor(frame: &TerminalFrame, area: Rect) -> Option<Position> {
    let (column, row) = frame.cursor?;
    let is_inside = column < area.width && row < area.height;
    is_inside.then(|| Position { x: area.x + column, y: area.y + row })
}

fn ansi(style: TerminalStyle) -> AnsiStyle {
    let color = |color| match color {
        TerminalColor::Indexed(index) => AnsiColor::Indexed(index),
        TerminalColor::Rgb(red, green, blue) => AnsiColor::Rgb(red, green, blue),
    };
    AnsiStyle {
        foreground: style.foreground.map(color),
        background: style.background.map(color),
        bold: style.bold,
        dim: style.dim,
        italic: style.italic,
        underline: style.underline,
        reverse: style.reverse,
    }
}
