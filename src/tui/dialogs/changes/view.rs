//! Draws the session's changes over the whole screen: the files with their counts beside the diff,
//! or above it where the screen is narrow.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::services::session_changes::{ExternalChange, NetChangeContent, NetFileChange};
use crate::tui::app::page_position::PageEnd;
use crate::tui::dialogs::changes::{ChangesPage, columns};
use crate::tui::dialogs::geometry::DialogGeometry;
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::page_rows;
use crate::tui::layout::diff::rows::DiffStyle;
use crate::tui::layout::wrap::truncate_path;
use crate::tui::layout::{StyleRole, StyledSpan, plain};

use crate::tui::view::blocks::harmless;
use crate::tui::view::layouts::ViewLayouts;
use crate::tui::view::paint;
use crate::tui::view::paint::{RoleStyles, span, spans_width};

/// Draws the page on all of `area`.
pub fn draw(
    page: &ChangesPage,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    measured: &mut DialogGeometry,
) {
    paint::clear(area, styles, buffer);
    let files = page.files.as_ref().map_or(&[][..], |files| files.as_slice());
    heading(page, files, styles, Rect { height: area.height.min(1), ..area }, buffer);
    let rule = Rect { y: area.y + 1, height: u16::from(area.height > 1), ..area };
    paint::rule(rule, styles, buffer);
    let rest = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
    let (list, body) = split(files.len(), rest);
    let first = draw_list(page, files, styles, list, buffer);
    if list.width < area.width && list.height > 0 {
        for y in list.y..list.y + list.height {
            let place = Rect { x: list.x + list.width, y, width: 1, height: 1 };
            paint::spans(&[span("│", StyleRole::Border)], styles, place, buffer);
        }
    }
    let mut shown = draw_file(page, layouts, styles, body, buffer);
    shown.list = Some((list.into(), first));
    measured.page = shown;
}

/// Divides the area between the list of files and the diff.
fn split(files: usize, area: Rect) -> (Rect, Rect) {
    let (list, body) = columns(area.width);
    if list > 0 {
        let x = area.x + list + 2;
        let width = body.min((area.x + area.width).saturating_sub(x));
        return (Rect { width: list, ..area }, Rect { x, width, ..area });
    }
    let most = (area.height / 4).max(1);
    // A single file needs no list: the first line of its diff names it.
    let height = match files {
        0 | 1 => 0,
        files => u16::try_from(files).unwrap_or(most).min(most).min(area.height),
    };
    let below = Rect {
        x: area.x + 1,
        y: area.y + height,
        width: body.min(area.width.saturating_sub(1)),
        height: area.height - height,
    };
    (Rect { height, ..area }, below)
}

fn heading(
    page: &ChangesPage,
    files: &[NetFileChange],
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let width = area.width;
    let area = Rect { x: area.x + 1, width: width.saturating_sub(2), ..area };
    let mut left = vec![span("What this session changed", StyleRole::Strong)];
    let sum = |of: fn(&crate::domain::FileDiff) -> usize| -> usize {
        files.iter().filter_map(NetFileChange::diff).map(|diff| of(diff)).sum()
    };
    match (files.len(), page.asked) {
        (0, Some(_)) => left.push(span("   loading files", StyleRole::Muted)),
        (count, _) => {
            let noun = if count == 1 { "file" } else { "files" };
            left.push(span(format!("   {count} {noun}  "), StyleRole::Muted));
            left.extend(counts(sum(|diff| diff.added), sum(|diff| diff.removed)));
        }
    }
    let sides = match page.sides_at(width) {
        DiffStyle::Unified => "unified",
        DiffStyle::SideBySide => "side by side",
    };
    let right = [span(sides, StyleRole::Muted)];
    paint::both_edges(&left, &right, styles, area, buffer);
}

fn counts(added: usize, removed: usize) -> [StyledSpan; 3] {
    [
        span(format!("+{added}"), StyleRole::Success),
        span(" ", StyleRole::Text),
        span(format!("-{removed}"), StyleRole::Error),
    ]
}

/// Draws the list of files with the shown one in view. Returns the index of the first visible file.
fn draw_list(
    page: &ChangesPage,
    files: &[NetFileChange],
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> usize {
    let height = usize::from(area.height).max(1);
    let first = (page.selected + 1).saturating_sub(height).min(files.len().saturating_sub(height));
    for (y, (at, file)) in (area.y..area.y + area.height).zip(files.iter().enumerate().skip(first))
    {
        let place = Rect { y, height: 1, ..area };
        let is_shown = at == page.selected;
        let right: Vec<StyledSpan> = match (file.diff(), &file.content) {
            (Some(diff), _) => counts(diff.added, diff.removed).into(),
            (None, NetChangeContent::Same) => vec![span("unchanged", StyleRole::Muted)],
            (None, _) => vec![span("?", StyleRole::Warning)],
        };
        let mark = if is_shown { "▎" } else { " " };
        let (sign, role) = match (&file.content, file.external_change) {
            (_, ExternalChange::Changed | ExternalChange::Deleted) => ("!", StyleRole::Warning),
            (NetChangeContent::New(_), _) => ("A", StyleRole::Success),
            (NetChangeContent::Deleted(_), _) => ("D", StyleRole::Error),
            (NetChangeContent::Changed(_), _) => ("M", StyleRole::System),
            (NetChangeContent::Same | NetChangeContent::Unknown(_), _) => ("·", StyleRole::Muted),
        };
        let room = place.width.saturating_sub(spans_width(&right) + 6);
        let name = harmless(&file.name);
        let name = truncate_path(&name, room.into());
        let role_of_name = if is_shown { StyleRole::Strong } else { StyleRole::Text };
        let left =
            [span(mark, StyleRole::User), span(format!("{sign} "), role), span(name, role_of_name)];
        let inside = Rect { width: place.width.saturating_sub(1), ..place };
        paint::both_edges(&left, &right, styles, inside, buffer);
    }
    first
}

/// Draws the shown file: its name, its notes, and its rows.
fn draw_file(
    page: &ChangesPage,
    layouts: &mut ViewLayouts,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> PageGeometry {
    let none = PageGeometry { area: area.into(), ..PageGeometry::default() };
    let Some(file) = page.file() else { return none };
    let above = u16::try_from(name(file, styles, area, buffer)).unwrap_or(area.height);
    let body = Rect {
        y: area.y + above.min(area.height),
        height: area.height.saturating_sub(above),
        ..area
    };
    let rows = &page.rows.rows;
    let Some(diff) = file.diff() else { return PageGeometry { area: body.into(), ..none } };
    let height = usize::from(body.height);
    let mut lay = |row: usize| layouts.changed_file_row(page.version, diff, rows, row, body.width);
    let (top, end, shown) = page_rows::visible(page.position, height, rows.len(), &mut lay);
    for (y, (_, line)) in (body.y..body.y + body.height).zip(&shown) {
        paint::filled_line(line, styles, Rect { y, height: 1, ..body }, buffer);
    }
    let shown: Vec<usize> = shown.into_iter().map(|(row, _)| row).collect();
    if end == PageEnd::Below && height > 0 {
        let place = Rect { x: area.x, y: body.y + body.height - 1, width: area.width, height: 1 };
        more(page, shown.last().copied().unwrap_or(0), styles, place, buffer);
    }
    PageGeometry { area: body.into(), rows: shown, top, end, list: None }
}

/// Draws at the right edge how many changes follow below.
fn more(page: &ChangesPage, last: usize, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    let changes = &page.rows.changes;
    let below = changes.len() - changes.partition_point(|at| *at <= last);
    if below == 0 {
        return;
    }
    let noun = if below == 1 { "change" } else { "changes" };
    let text = format!(" {below} more {noun} below ");
    let width = paint::width(&text).min(area.width);
    let place = Rect { x: area.x + area.width - width, width, ..area };
    paint::clear(place, styles, buffer);
    paint::spans(&[span(text, StyleRole::System)], styles, place, buffer);
}

/// Draws the name and the notes of a file. Returns how many rows they took.
fn name(file: &NetFileChange, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) -> usize {
    let mut right: Vec<StyledSpan> = Vec::new();
    if let Some(diff) = file.diff() {
        right.extend(counts(diff.added, diff.removed));
    }
    let kind = match &file.content {
        NetChangeContent::New(_) => "  new file",
        NetChangeContent::Deleted(_) => "  deleted",
        NetChangeContent::Changed(_) | NetChangeContent::Same | NetChangeContent::Unknown(_) => "",
    };
    let room = area.width.saturating_sub(spans_width(&right) + paint::width(kind) + 2);
    let left = [
        span(truncate_path(&harmless(&file.name), room.into()), StyleRole::Strong),
        span(kind, StyleRole::Muted),
    ];
    let first = Rect { height: area.height.min(1), ..area };
    paint::both_edges(&left, &right, styles, first, buffer);
    let mut lines = Vec::new();
    let mut add = |text: &str, role| lines.extend(plain::render(text, role, area.width));
    match file.external_change {
        ExternalChange::Nothing => {}
        ExternalChange::Changed => {
            add("! changed outside slug since: showing the current content", StyleRole::Warning);
        }
        ExternalChange::Deleted => add("! deleted outside slug since", StyleRole::Warning),
    }
    match &file.content {
        NetChangeContent::Same => add("Same as before this session.", StyleRole::Muted),
        NetChangeContent::Unknown(why) => add(why, StyleRole::Warning),
        NetChangeContent::Changed(_) | NetChangeContent::New(_) | NetChangeContent::Deleted(_) => {}
    }
    for (y, line) in (area.y + 1..area.y + area.height).zip(&lines) {
        paint::spans(&line.spans, styles, Rect { y, height: 1, ..area }, buffer);
    }
    1 + lines.len()
}
