//! Draws the page of language servers over the whole screen: the list, and the selected one beneath.

use std::path::Path;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::pluralise;
use crate::lsp::{LspServerPhase, LspServerStatus};
use crate::tui::dialogs::dialog::DialogCanvas;
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::page_head::draw_head;
use crate::tui::layout::{StyleRole, StyledLine, plain};
use crate::tui::view::list_rows;
use crate::tui::view::paint::{self, RoleStyles, span, spans_width};

use super::LspPage;
use super::lines;

/// Rows of what is known of a server that stay in sight beneath the list.
const DETAILS: u16 = 8;
/// Columns of the widest state.
const STATE: usize = 14;
/// The most columns of a name.
const NAME: u16 = 20;

/// Draws the page on all rows but the last one.
pub fn draw(page: &LspPage, home: Option<&Path>, canvas: DialogCanvas<'_>) {
    let area = canvas.above_hints();
    let DialogCanvas { styles, buffer, measured, .. } = canvas;
    let full = |row: Rect| Rect { x: area.x, width: area.width, ..row };
    let body = draw_head("Language servers", summary(page.all()), styles, area, buffer);
    measured.page = PageGeometry { area: body.into(), ..PageGeometry::default() };
    let Some(chosen) = page.chosen() else {
        let text = if page.servers.is_some() { lines::NO_SERVERS } else { "One moment …" };
        draw_texts(&[(text.to_owned(), StyleRole::Muted)], styles, body, buffer);
        return;
    };
    let count = u16::try_from(page.all().len()).unwrap_or(u16::MAX);
    let details = (DETAILS + 1).min(body.height / 2);
    let list = Rect { height: count.min(body.height - details), ..body };
    let first = draw_list(page, styles, list, buffer);
    measured.list = Some(list.into());
    measured.page.list = Some((list.into(), first));
    let beneath = body.height - list.height;
    if beneath > 1 {
        let y = list.y + list.height;
        paint::rule(full(Rect { y, height: 1, ..list }), styles, buffer);
        let place = Rect { y: y + 1, height: beneath - 1, ..list };
        draw_texts(&lines::details(chosen, home), styles, place, buffer);
    }
}

/// How many run, and how many are installed.
fn summary(servers: &[LspServerStatus]) -> String {
    let mut counts = [0; 2];
    for server in servers {
        match server.phase {
            LspServerPhase::NotInstalled(_) => {}
            LspServerPhase::Ready => counts = counts.map(|count| count + 1),
            LspServerPhase::NotNeeded
            | LspServerPhase::Starting
            | LspServerPhase::Stopped
            | LspServerPhase::Failed(_) => counts[1] += 1,
        }
    }
    match servers.len() {
        0 => String::new(),
        all => format!(
            "{} known, {} installed, {} running",
            pluralise(all, "server"),
            counts[1],
            counts[0]
        ),
    }
}

fn draw_texts(
    texts: &[(String, StyleRole)],
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let lines = texts.iter().flat_map(|(text, role)| plain::render(text, *role, area.width));
    let lines: Vec<StyledLine> = lines.take(usize::from(area.height)).collect();
    for (y, line) in (area.y..).zip(&lines) {
        paint::spans(&line.spans, styles, Rect { y, height: 1, ..area }, buffer);
    }
}

/// Draws the list with the selected server in view. Returns the index of the first visible one.
fn draw_list(page: &LspPage, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) -> usize {
    let first = (page.selected + 1).saturating_sub(usize::from(area.height));
    let names = page.all().iter().map(|server| paint::width(&lines::name(server)));
    let column = usize::from(names.max().unwrap_or(0).min(NAME)) + 2;
    for (at, server) in page.all().iter().enumerate().skip(first).take(area.height.into()) {
        let offset = u16::try_from(at - first).unwrap_or(u16::MAX);
        let place = Rect { y: area.y + offset, height: 1, ..area };
        if at == page.selected {
            paint::selected(place, styles, buffer);
        }
        let (state, role) = lines::state(server);
        let name = paint::truncate(&lines::name(server), NAME);
        let gap = " ".repeat(column.saturating_sub(paint::width(&name).into()));
        let (findings, findings_role) = lines::findings(server);
        let right = [span(findings, findings_role)];
        let left = vec![
            span(format!("{name}{gap}"), StyleRole::Text),
            span(format!("{state:STATE$}  "), role),
            span(lines::languages(server), StyleRole::Muted),
        ];
        let room = area.width.saturating_sub(spans_width(&right) + 2);
        paint::both_edges(&list_rows::fit(left, room), &right, styles, place, buffer);
    }
    first
}
