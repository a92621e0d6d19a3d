//! Draws the page of MCP servers over the whole screen: the list with what can be done about the
//! selected one beneath, or all that is known of one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::pluralise;
use crate::mcp::McpServerStatus;
use crate::tui::app::keymap::{Keymap, McpKey};
use crate::tui::dialogs::dialog::DialogCanvas;
use crate::tui::dialogs::geometry::{PageGeometry, ScrollExtent};
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::list_rows;
use crate::tui::view::paint::{self, RoleStyles, span, spans_width};

use super::lines::{self, McpServerRow};
use super::{McpPage, McpQuestion, OpenedMcpServer};

/// Rows beneath the list, with the rule.
const BENEATH: u16 = 5;
/// On fewer columns a row has no owner.
const NARROW: u16 = 60;
/// The most columns of a name on a screen that is not wide.
const NAME: u16 = 24;
const OWNER: usize = 16;
const TOKENS: usize = 8;

/// Draws the page on all rows but the last one.
pub fn draw(page: &McpPage, canvas: DialogCanvas<'_>) {
    let area = canvas.above_hints();
    let DialogCanvas { styles, buffer, measured, .. } = canvas;
    paint::clear(area, styles, buffer);
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let row = |at: u16| Rect { y: area.y + at, height: u16::from(at < area.height), ..inner };
    let body =
        Rect { y: area.y + area.height.min(2), height: area.height.saturating_sub(2), ..inner };
    paint::rule(Rect { x: area.x, width: area.width, ..row(1) }, styles, buffer);
    measured.page = PageGeometry { area: body.into(), ..PageGeometry::default() };
    if let (Some(server), Some(opened)) = (page.chosen(), &page.opened) {
        measured.extent = draw_server(page, server, opened, styles, body, buffer);
        measured.is_cramped = body.height == 0;
        let below = measured.extent.rows.saturating_sub(opened.scroll + measured.extent.shown);
        let below = match below {
            0 => String::new(),
            below => format!("{} below   ", pluralise(below, "row")),
        };
        let right = [span(below, StyleRole::System), span(lines::owner(server), StyleRole::Muted)];
        let (state, role) = lines::state(server);
        let left = vec![
            span(lines::name(server), StyleRole::Strong),
            span("   ", StyleRole::Text),
            span(state, role),
        ];
        let room = inner.width.saturating_sub(spans_width(&right) + 2);
        paint::both_edges(&list_rows::fit(left, room), &right, styles, row(0), buffer);
        return;
    }
    let servers = page.all();
    let count = match servers.len() {
        0 => String::new(),
        count => pluralise(count, "server"),
    };
    let left = [span("MCP servers", StyleRole::Strong)];
    paint::both_edges(&left, &[span(count, StyleRole::Muted)], styles, row(0), buffer);
    if servers.is_empty() {
        let text = if page.servers.is_some() { lines::NO_SERVERS } else { "One moment …" };
        let lines = text.lines().flat_map(|it| plain::render(it, StyleRole::Muted, body.width));
        draw_lines(&lines.collect::<Vec<_>>(), styles, body, buffer);
        return;
    }
    let beneath = BENEATH.min(body.height / 2);
    let list = Rect { height: body.height - beneath, ..body };
    let first = draw_list(page, styles, list, buffer);
    measured.list = Some(list.into());
    measured.page.list = Some((list.into(), first));
    if let (Some(server), true) = (page.chosen(), beneath > 0) {
        let y = list.y + list.height;
        paint::rule(Rect { x: area.x, y, width: area.width, height: 1 }, styles, buffer);
        let mut details = plain::render(&harmless(&server.summary), StyleRole::Text, list.width);
        details.truncate(1);
        let remedy = lines::remedy(server).unwrap_or_default();
        details.extend(plain::render(&remedy, StyleRole::Muted, list.width));
        let place = Rect { y: y + 1, height: beneath - 1, ..list };
        draw_lines(&details, styles, place, buffer);
    }
}

fn draw_lines(lines: &[StyledLine], styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    for (y, line) in (area.y..area.y + area.height).zip(lines) {
        paint::spans(&line.spans, styles, Rect { y, height: 1, ..area }, buffer);
    }
}

/// Draws the list with the selected server in view. Returns the index of the first visible one.
fn draw_list(page: &McpPage, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) -> usize {
    let servers = page.all();
    let first = (page.selected + 1).saturating_sub(usize::from(area.height).max(1));
    let names = servers.iter().map(|server| paint::width(&lines::name(server)));
    let column = names.max().unwrap_or(0).min(NAME);
    let shown = servers.iter().enumerate().skip(first);
    for (y, (at, server)) in (area.y..area.y + area.height).zip(shown) {
        let place = Rect { y, height: 1, ..area };
        let is_selected = at == page.selected;
        if is_selected {
            paint::selected(place, styles, buffer);
        }
        let (state, role) = lines::state(server);
        let name = paint::truncate(&lines::name(server), column);
        let pad = " ".repeat(usize::from(column - paint::width(&name)) + 2);
        let left = vec![
            span(if is_selected { "❯ " } else { "  " }, StyleRole::User),
            span("● ", role),
            span(format!("{name}{pad}"), StyleRole::Text),
            span(state, role),
        ];
        let mut right = vec![span(lines::counts(server), StyleRole::Text)];
        if area.width >= NARROW {
            right.push(span(format!("{:>OWNER$}", lines::owner(server)), StyleRole::Muted));
        }
        let room = area.width.saturating_sub(spans_width(&right) + 2);
        paint::both_edges(&list_rows::fit(left, room), &right, styles, place, buffer);
    }
    first
}

/// What is shown of a server, laid out for a width, so that a frame costs what is on screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpServerLayout {
    rows: Vec<LaidOutRow>,
    /// How many of the first rows are its question with the key that answers it.
    pub question: usize,
    /// The columns of the tools' names.
    names: u16,
}

#[derive(Debug, Clone, PartialEq)]
enum LaidOutRow {
    Text(Vec<StyledSpan>),
    ToolHeads,
    Tool(usize),
}

impl McpServerLayout {
    /// All rows of a server on a screen of this width.
    pub fn of(server: &McpServerStatus, keys: &Keymap, screen_width: u16) -> Self {
        let width = screen_width.saturating_sub(2);
        let mut rows = laid_out(question(server, keys), width);
        let question = rows.len();
        rows.extend(laid_out(lines::parts(server), width));
        let names = server.tools.iter().map(|tool| paint::width(&harmless(&tool.name)));
        Self { rows, question, names: names.max().unwrap_or(0).min(NAME.max(width / 3)) }
    }
}

fn question(server: &McpServerStatus, keys: &Keymap) -> Vec<McpServerRow> {
    let answer = match McpQuestion::of(server) {
        None => return Vec::new(),
        Some(McpQuestion::Start(_)) => {
            format!("{} lets it start, until one of these changes.", keys.key(McpKey::Allow))
        }
        Some(McpQuestion::Definitions(_)) => {
            format!("{} accepts them as they are here.", keys.key(McpKey::Accept))
        }
    };
    let mut rows = lines::question(server);
    rows.push(McpServerRow::Text(StyleRole::User, answer));
    rows.push(McpServerRow::Text(StyleRole::Text, String::new()));
    rows
}

fn laid_out(rows: Vec<McpServerRow>, width: u16) -> Vec<LaidOutRow> {
    let mut out = Vec::new();
    for row in rows {
        match row {
            McpServerRow::Text(role, text) => {
                out.extend(text.split('\n').flat_map(|line| indented(line, role, width)));
            }
            McpServerRow::ToolHeads => out.push(LaidOutRow::ToolHeads),
            McpServerRow::Tool(at) => out.push(LaidOutRow::Tool(at)),
        }
    }
    out
}

/// A line whose further rows begin as far in as its first.
fn indented(line: &str, role: StyleRole, width: u16) -> Vec<LaidOutRow> {
    let text = line.trim_start_matches(' ');
    if text.is_empty() {
        return vec![LaidOutRow::Text(Vec::new())];
    }
    let margin = u16::try_from(line.len() - text.len()).unwrap_or(width).min(width / 2);
    let rows = plain::render(text, role, width - margin).into_iter();
    let margin = span(" ".repeat(usize::from(margin)), role);
    rows.map(|row| LaidOutRow::Text([vec![margin.clone()], row.spans].concat())).collect()
}

fn draw_server(
    page: &McpPage,
    server: &McpServerStatus,
    opened: &OpenedMcpServer,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> ScrollExtent {
    let McpServerLayout { rows, names, .. } = &opened.layout;
    let extent = ScrollExtent { rows: rows.len(), shown: usize::from(area.height) };
    let scroll = opened.scroll.min(extent.rows.saturating_sub(extent.shown));
    let tokens = |text: &str| span(format!("{text:>TOKENS$}"), StyleRole::Muted);
    for (y, row) in (area.y..area.y + area.height).zip(rows.iter().skip(scroll)) {
        let place = Rect { y, height: 1, ..area };
        let (left, right) = match row {
            LaidOutRow::Text(spans) => (spans.clone(), Vec::new()),
            LaidOutRow::ToolHeads => (
                vec![span("Tools", StyleRole::Heading(2))],
                vec![span("a call now", StyleRole::Muted), tokens("tokens")],
            ),
            LaidOutRow::Tool(at) => {
                let Some(tool) = lines::tool(server, *at, &page.decisions) else { continue };
                let name = paint::truncate(&tool.name, *names);
                let pad = " ".repeat(usize::from(*names - paint::width(&name)) + 2);
                let (decision, role) =
                    tool.decision.unwrap_or_else(|| ("…".to_owned(), StyleRole::Muted));
                let right = vec![span(decision, role), tokens(&tool.tokens)];
                let room = area.width.saturating_sub(spans_width(&right) + 2);
                let left = vec![
                    span(format!("  {name}{pad}"), StyleRole::Tool),
                    span(tool.about, StyleRole::Muted),
                ];
                (list_rows::fit(left, room), right)
            }
        };
        paint::both_edges(&left, &right, styles, place, buffer);
    }
    extent
}
