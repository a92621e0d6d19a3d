//! Draws the page of instruction files over the whole screen: the list under its headings, and beneath it
//! what there is to know of the selected file.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::NoticeLevel;
use crate::tui::app::settings::ScreenSettings;
use crate::tui::dialogs::context::view::shown_path;
use crate::tui::dialogs::dialog::DialogCanvas;
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::page_head::draw_head;
use crate::tui::layout::{StyleRole, StyledLine, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::list_rows;
use crate::tui::view::paint::{self, RoleStyles, span, spans_width};

use super::{MemoryPage, lines};

/// Rows beneath the list that stay in sight, with the rule.
const BENEATH: u16 = 7;
/// Columns of the widest state and of the widest size.
const STATE: usize = 14;
const SIZE: usize = 13;

/// Draws the page on all rows but the last one.
pub fn draw(page: &MemoryPage, settings: &ScreenSettings, canvas: DialogCanvas<'_>) {
    let area = canvas.above_hints();
    let DialogCanvas { styles, buffer, measured, .. } = canvas;
    let summary = page.report.as_ref().map(lines::summary).unwrap_or_default();
    let body = draw_head("Memory", summary, styles, area, buffer);
    measured.page = PageGeometry { area: body.into(), ..PageGeometry::default() };
    if page.report.is_none() {
        let text = [span("One moment …", StyleRole::Muted)];
        paint::spans(&text, styles, Rect { height: body.height.min(1), ..body }, buffer);
        return;
    }
    let beneath = beneath(page, settings, body.width);
    let rows = lines::rows(page);
    let wanted = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let list = Rect { height: wanted.min(body.height - BENEATH.min(body.height / 2)), ..body };
    let first = draw_list(page, &rows, settings, styles, list, buffer);
    measured.list = Some(list.into());
    measured.page.list = Some((list.into(), first));
    let y = list.y + list.height;
    let left = body.height - list.height;
    if left > 1 {
        let rule = Rect { x: area.x, y, width: area.width, height: 1 };
        paint::rule(rule, styles, buffer);
        for (y, line) in (y + 1..y + left).zip(&beneath) {
            paint::spans(&line.spans, styles, Rect { y, height: 1, ..list }, buffer);
        }
    }
}

/// What came of the last edit, what there is to know of the selected file, and what is wrong.
fn beneath(page: &MemoryPage, settings: &ScreenSettings, width: u16) -> Vec<StyledLine> {
    let mut out = Vec::new();
    let mut add = |text: &str, role| out.extend(plain::render(&harmless(text), role, width));
    if let Some((level, told)) = &page.told {
        let role = match level {
            NoticeLevel::Info => StyleRole::Success,
            NoticeLevel::Warning => StyleRole::Warning,
            NoticeLevel::Error => StyleRole::Error,
        };
        add(told, role);
    }
    if let Some(file) = page.chosen() {
        add(&shown_path(&file.path.display().to_string(), settings), StyleRole::Text);
        add(&lines::details(file), StyleRole::Muted);
    }
    for warning in page.report.iter().flat_map(lines::warnings) {
        add(&warning, StyleRole::Warning);
    }
    out
}

/// Draws the list with the selected file in view. Returns the index of the first visible row.
fn draw_list(
    page: &MemoryPage,
    rows: &[Option<usize>],
    settings: &ScreenSettings,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> usize {
    let selected = rows.iter().position(|row| *row == Some(page.selected)).unwrap_or_default();
    let first = (selected + 1).saturating_sub(usize::from(area.height));
    for (y, (at, row)) in (area.y..area.y + area.height).zip(rows.iter().enumerate().skip(first)) {
        let place = Rect { y, height: 1, ..area };
        let file = match row {
            Some(file) => page.files().get(*file),
            None => None,
        };
        let Some(file) = file else {
            let next = rows.get(at + 1).copied().flatten().and_then(|file| page.files().get(file));
            let text = next.map_or("", |file| lines::heading(file.group));
            paint::spans(&[span(text, StyleRole::Heading(2))], styles, place, buffer);
            continue;
        };
        let is_selected = at == selected;
        if is_selected {
            paint::selected(place, styles, buffer);
        }
        let (state, role) = lines::state(file);
        let path = harmless(&shown_path(&file.path.display().to_string(), settings));
        let name = if lines::exists(file) { StyleRole::Text } else { StyleRole::Muted };
        let indent = "  ".repeat(file.depth.min(8));
        let include = if file.depth > 0 { "@ " } else { "" };
        let left = vec![
            span(if is_selected { "❯ " } else { "  " }, StyleRole::User),
            span(format!("{indent}{include}"), StyleRole::Muted),
            span(path, name),
        ];
        let mut right = vec![span(format!("{state:>STATE$}"), role)];
        // A narrow screen has no room for it beside the path.
        if area.width >= 60 {
            right.push(span(format!("{:>SIZE$}", lines::size(file)), StyleRole::Muted));
        }
        let room = area.width.saturating_sub(spans_width(&right) + 2);
        paint::both_edges(&list_rows::fit(left, room), &right, styles, place, buffer);
    }
    first
}
