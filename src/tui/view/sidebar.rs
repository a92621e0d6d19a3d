//! Draws the list of past sessions. Only what is on screen is laid out.

use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use unicode_segmentation::UnicodeSegmentation;

use crate::domain::{MessageRole as Speaker, SessionId};
use crate::services::sessions::{PreviewMessage, SessionLockState, SessionPreview, SessionRow};
use crate::session::{SearchHitSource, SessionGrouping, SessionSearchHit};
use crate::tui::app::editor::TextEditor;
use crate::tui::app::geometry::CellRect;
use crate::tui::app::keymap::{FieldKey, KeyContext, Keymap, ListKey, SidebarKey};
use crate::tui::app::sidebar::{
    NoticeLevel, SessionTitleMatcher, SessionTree, SessionTreeLine, Sidebar, SidebarMode,
    SidebarPreview, SidebarScope, SidebarSearchState, age,
};
use crate::tui::app::softwrap;
use crate::tui::layout::{StyleRole, StyledSpan};

use super::field::draw_field;
use super::paint::{self, RoleStyles, span};

/// Messages that a preview shows of the beginning and of the end.
const FIRST: usize = 2;
const LAST: usize = 4;
/// Marks the open session.
const OPEN_MARK: &str = "›";
/// Marks the session that another one will be compared with.
const COMPARE_MARK: &str = "≠";

/// What the list needs besides its own state.
#[derive(Debug, Clone, Copy)]
pub struct SidebarViewContext<'a> {
    /// Time since slug started.
    pub now: Duration,
    pub open: Option<SessionId>,
    pub keys: SidebarKeyFocus,
    /// The keys, for hints.
    pub map: &'a Keymap,
}

/// Whether the list has the keyboard focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidebarKeyFocus {
    Focused,
    Unfocused,
}

/// Where parts of the list were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SidebarGeometry {
    /// The rows of the list, for `ScreenGeometry::sidebar`.
    pub rows: CellRect,
    /// The caret's cell while the user types a filter or a title.
    pub caret: Option<Position>,
}

/// Draws the list into the whole of `area`.
pub fn draw(
    sidebar: &Sidebar,
    context: SidebarViewContext<'_>,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> SidebarGeometry {
    let inner = border(area, styles, buffer);
    let mut caret = draw_title(sidebar, context, styles, area, buffer);
    let foot = foot(sidebar, context.map, inner.width);
    // The list gets at least half of the height.
    let foot_height = rows_of(foot.len()).min(inner.height / 2);
    let (inner, foot_area) = split(inner, foot_height);
    let (list, pane) = match sidebar.pane {
        SidebarPreview::Closed => (inner, None),
        SidebarPreview::Open { .. } if inner.height < 6 => (inner, None),
        SidebarPreview::Open { .. } => {
            let (list, pane) = split(inner, inner.height / 2);
            (list, Some(pane))
        }
    };
    if let Some(at) = draw_list(sidebar, context, styles, list, buffer) {
        caret = Some(at);
    }
    if let Some(pane) = pane {
        draw_pane(sidebar, context, styles, pane, buffer);
    }
    for (row, line) in foot.iter().take(usize::from(foot_area.height)).enumerate() {
        paint::spans(line, styles, nth_row(foot_area, row), buffer);
    }
    let caret = caret.filter(|at| context.keys == SidebarKeyFocus::Focused && area.contains(*at));
    let rows = CellRect { x: list.x, y: list.y, width: list.width, height: list.height };
    SidebarGeometry { rows, caret }
}

/// Draws the frame and returns its inside, without a margin.
fn border(area: Rect, styles: &dyn RoleStyles, buffer: &mut Buffer) -> Rect {
    paint::frame("", "", styles, area, buffer);
    Rect {
        x: area.x + 1,
        y: area.y + 1,
        width: area.width.saturating_sub(2),
        height: area.height.saturating_sub(2),
    }
}

/// Draws the title, `Sessions ── / search`, or the text that is searched for.
fn draw_title(
    sidebar: &Sidebar,
    context: SidebarViewContext<'_>,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let row = Rect {
        x: area.x + 1,
        height: area.height.min(1),
        width: area.width.saturating_sub(2),
        ..area
    };
    let grouping = sidebar.tree.as_ref().map(SessionTree::grouping).unwrap_or_default();
    let scope = match (grouping, sidebar.scope) {
        (SessionGrouping::Project, SidebarScope::AllProjects) => " Sessions ",
        (SessionGrouping::Project, SidebarScope::ThisProject) => " Sessions here ",
        (SessionGrouping::Date, SidebarScope::AllProjects) => " Sessions by date ",
        (SessionGrouping::Date, SidebarScope::ThisProject) => " Sessions here by date ",
        (SessionGrouping::Forks, SidebarScope::AllProjects) => " Forks ",
        (SessionGrouping::Forks, SidebarScope::ThisProject) => " Forks here ",
    };
    match &sidebar.mode {
        SidebarMode::Filtering(editor) => {
            let head = [span(" / ", StyleRole::Title)];
            let x = paint::overwrite(&head, styles, row, buffer);
            let room = Rect { x, width: (row.x + row.width).saturating_sub(x + 1), ..row };
            Some(draw_field(editor, styles, room, buffer))
        }
        SidebarMode::Browsing | SidebarMode::Renaming { .. } => {
            let mut spans = vec![span(scope, StyleRole::Title)];
            let search = format!(" {} search ", context.map.key(SidebarKey::Filter));
            if paint::width(scope) + paint::width(&search) + 2 <= row.width {
                spans.push(span("──", StyleRole::Border));
                spans.push(span(search, StyleRole::Muted));
            }
            // Over the frame, whose colour would show in a title without one of its own.
            paint::overwrite(&spans, styles, row, buffer);
            None
        }
    }
}

fn draw_list(
    sidebar: &Sidebar,
    context: SidebarViewContext<'_>,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let lines = sidebar.tree.as_ref().map_or(&[][..], SessionTree::lines);
    let (Some(tree), Some(now), false) =
        (&sidebar.tree, sidebar.clock(context.now), lines.is_empty())
    else {
        draw_empty(sidebar, context, styles, area, buffer);
        return None;
    };
    let first = sidebar.first_shown(usize::from(area.height));
    let mut hits = tree.hits();
    let mut caret = None;
    let shown = lines.iter().enumerate().skip(first).take(usize::from(area.height));
    for (number, line) in shown {
        let row = nth_row(area, number - first);
        match line {
            SessionTreeLine::Heading(heading) => {
                let text = paint::truncate(tree.heading(*heading), area.width.saturating_sub(2));
                let spans = [span(" ", StyleRole::Text), span(text, StyleRole::Muted)];
                paint::spans(&spans, styles, row, buffer);
            }
            SessionTreeLine::Parted(node) => {
                let text =
                    tree.session(*node).and_then(|session| session.last_shared_message.as_deref());
                let stem = tree.branches(*node).replace("├ ", "│ ").replace("└ ", "  ");
                let head = [span(" ", StyleRole::Text), span(stem, StyleRole::Border)];
                let room = area.width.saturating_sub(paint::spans_width(&head) + 1);
                let text = paint::truncate(&format!("after “{}”", text.unwrap_or_default()), room);
                let [mark, stem] = head;
                paint::spans(&[mark, stem, span(text, StyleRole::Muted)], styles, row, buffer);
            }
            SessionTreeLine::Session(_) | SessionTreeLine::Place(_, _) => {
                let is_selected = number == sidebar.selected();
                if is_selected && context.keys == SidebarKeyFocus::Focused {
                    paint::selected(row, styles, buffer);
                }
                if let SessionTreeLine::Session(node) = line
                    && let Some(session) = tree.session(*node)
                {
                    let session = (*node, session);
                    let around = (now, &mut hits);
                    let renamed =
                        draw_session(sidebar, context, session, around, styles, row, buffer);
                    caret = caret.or(renamed);
                } else if let SessionTreeLine::Place(node, place) = line
                    && let Some(place) = tree.place(*node, *place)
                {
                    draw_place(place, now, styles, row, buffer);
                }
                // The selection is underlined while another part of the screen has the focus.
                if is_selected && context.keys == SidebarKeyFocus::Unfocused {
                    buffer.set_style(row.intersection(*buffer.area()), Modifier::UNDERLINED);
                }
            }
        }
    }
    caret
}

/// Draws a search hit: who wrote it, the match in view with the text around it, and its age.
fn draw_place(
    place: &SessionSearchHit,
    now: DateTime<FixedOffset>,
    styles: &dyn RoleStyles,
    row: Rect,
    buffer: &mut Buffer,
) {
    let who = match &place.who {
        SearchHitSource::User => span("❯ ", StyleRole::User),
        SearchHitSource::Model => span("", StyleRole::Text),
        SearchHitSource::Thinking => span("thought ", StyleRole::Muted),
        SearchHitSource::Call(tool) => span(format!("{tool} "), StyleRole::Tool),
        SearchHitSource::Result(tool) => {
            span(format!("{} ▸ ", tool.as_deref().unwrap_or("tool")), StyleRole::Tool)
        }
    };
    let then = place.timestamp.with_timezone(now.offset());
    let aside = [span(age(then, now), StyleRole::Muted), span(" ", StyleRole::Text)];
    let head = [span("     ", StyleRole::Text), who];
    let right = paint::spans_width(&aside) + 1;
    let room = row.width.saturating_sub(paint::spans_width(&head) + right);
    // The text before the match is cut, so that the match is on screen.
    let before = tail_of(&place.before, room.saturating_sub(paint::width(&place.found)) / 2);
    let [indent, who] = head;
    let rest = room.saturating_sub(paint::width(&before));
    let found = paint::truncate(&place.found, rest);
    let behind = paint::truncate(&place.behind, rest.saturating_sub(paint::width(&found)));
    let spans = [
        indent,
        who,
        span(before, StyleRole::Muted),
        span(found, StyleRole::Match),
        span(behind, StyleRole::Muted),
    ];
    paint::both_edges(&spans, &aside, styles, row, buffer);
}

/// The end of a text, in at most `room` columns.
fn tail_of(text: &str, room: u16) -> String {
    if paint::width(text) <= room {
        return text.to_owned();
    }
    let mut from = text.len();
    for (at, _) in text.grapheme_indices(true).rev() {
        if paint::width(&text[at..]) + 1 > room {
            break;
        }
        from = at;
    }
    format!("…{}", &text[from..])
}

/// Draws a note in place of an empty list.
fn draw_empty(
    sidebar: &Sidebar,
    context: SidebarViewContext<'_>,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let (text, role) = match (&sidebar.tree, &sidebar.mode, sidebar.scope) {
        (None, _, _) if sidebar.note.is_some() => return,
        (None, _, _) => ("Loading sessions …".to_owned(), StyleRole::Muted),
        (Some(_), SidebarMode::Filtering(_), _) => {
            let text = match sidebar.search_progress() {
                None => "No title matches.",
                Some((_, SidebarSearchState::Done)) => "No session contains this.",
                Some((_, _)) => "Searching messages …",
            };
            (text.to_owned(), StyleRole::Muted)
        }
        (Some(tree), _, _) if !tree.is_empty() && tree.grouping() == SessionGrouping::Forks => {
            let fork = context.map.key(SidebarKey::Fork);
            let view = context.map.key(SidebarKey::Group);
            let text = format!("No forks yet. {view} shows all sessions; {fork} forks one.");
            (text, StyleRole::Muted)
        }
        (Some(tree), _, SidebarScope::ThisProject) if !tree.is_empty() => {
            let key = context.map.key(SidebarKey::Scope);
            let text = format!("No sessions in this folder yet. {key} shows all projects.");
            (text, StyleRole::Muted)
        }
        (Some(_), _, _) => {
            ("No sessions yet. They appear here as you talk.".to_owned(), StyleRole::Muted)
        }
    };
    for (row, line) in wrapped(&text, role, area.width, area.height).iter().enumerate() {
        paint::spans(line, styles, nth_row(area, row), buffer);
    }
}

fn draw_session(
    sidebar: &Sidebar,
    context: SidebarViewContext<'_>,
    (node, session): (usize, &SessionRow),
    (now, hits): (DateTime<FixedOffset>, &mut Option<SessionTitleMatcher>),
    styles: &dyn RoleStyles,
    row: Rect,
    buffer: &mut Buffer,
) -> Option<Position> {
    let tree = sidebar.tree.as_ref()?;
    let is_open = context.open == Some(session.id);
    let mark = if sidebar.marked() == Some(session.id) {
        span(COMPARE_MARK, StyleRole::Key)
    } else if is_open {
        span(OPEN_MARK, StyleRole::User)
    } else {
        span(" ", StyleRole::Text)
    };
    let head = [mark, span(tree.branches(node), StyleRole::Border)];
    let left = paint::spans_width(&head);
    let aside = match session.lock {
        SessionLockState::Locked => span("in use", StyleRole::Warning),
        SessionLockState::Unlocked => span(age(session.last_used_at, now), StyleRole::Muted),
    };
    let project = tree.project(session).map(|name| paint::truncate(&name, row.width / 4));
    let project =
        span(project.map_or_else(String::new, |name| format!("{name} ")), StyleRole::Muted);
    let aside = [project, aside];
    let right = paint::spans_width(&aside) + 2;
    let room = row.width.saturating_sub(left + right);
    if let SidebarMode::Renaming { session: renamed, editor } = &sidebar.mode
        && *renamed == session.id
    {
        paint::spans(&head, styles, row, buffer);
        let x = (row.x + left).min(row.x + row.width);
        let field = Rect { x, width: row.width.saturating_sub(left + 1), ..row };
        return Some(draw_field(editor, styles, field, buffer));
    }
    let role = if is_open { StyleRole::Strong } else { StyleRole::Text };
    let mut spans = head.to_vec();
    let hits = hits.as_mut().map_or(Vec::new(), |hits| hits.of(session.name()));
    spans.extend(highlighted(&paint::truncate(session.name(), room), &hits, role));
    let [project, age] = aside;
    let aside = [project, age, span(" ", StyleRole::Text)];
    paint::both_edges(&spans, &aside, styles, row, buffer);
    None
}

/// The text with the characters that match the filter highlighted.
fn highlighted(text: &str, hits: &[u32], role: StyleRole) -> Vec<StyledSpan> {
    if hits.is_empty() {
        return vec![span(text, role)];
    }
    let mut spans: Vec<StyledSpan> = Vec::new();
    // The matcher counts graphemes by their first character.
    for (at, grapheme) in text.graphemes(true).enumerate() {
        let is_hit = u32::try_from(at).is_ok_and(|at| hits.binary_search(&at).is_ok());
        let role = if is_hit && grapheme != "…" { StyleRole::Match } else { role };
        match spans.last_mut() {
            Some(last) if last.role == role => last.text.push_str(grapheme),
            Some(_) | None => spans.push(span(grapheme, role)),
        }
    }
    spans
}

fn draw_pane(
    sidebar: &Sidebar,
    context: SidebarViewContext<'_>,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    paint::rule(nth_row(area, 0), styles, buffer);
    let Some(session) = sidebar.session() else { return };
    let count = match session.message_count {
        Some(1) => " 1 message ".to_owned(),
        Some(count) => format!(" {count} messages "),
        None => " a very long session ".to_owned(),
    };
    let now = sidebar.clock(context.now).map(|now| age(session.last_used_at, now));
    let head = [
        span(count, StyleRole::Muted),
        span(format!("· {} ", now.unwrap_or_default()), StyleRole::Muted),
    ];
    let title = nth_row(area, 0);
    paint::spans(
        &head,
        styles,
        Rect { x: title.x + 1, width: title.width.saturating_sub(1), ..title },
        buffer,
    );
    let (_, body) = split(area, area.height.saturating_sub(1));
    let lines = match sidebar.pane.of(session.id) {
        None => Vec::new(),
        Some(Ok(preview)) => preview_lines(preview, sidebar.pane.at(), body.width, body.height),
        Some(Err(reason)) => wrapped(reason, StyleRole::Error, body.width, body.height),
    };
    for (row, line) in lines.iter().take(usize::from(body.height)).enumerate() {
        paint::spans(line, styles, nth_row(body, row), buffer);
    }
}

/// The preview: how a session begins and ends, or the messages from the selected one on.
fn preview_lines(
    preview: &SessionPreview,
    at: Option<usize>,
    width: u16,
    height: u16,
) -> Vec<Vec<StyledSpan>> {
    let all = &preview.messages;
    if all.is_empty() {
        return wrapped("No messages yet.", StyleRole::Muted, width, height);
    }
    if let Some(at) = at {
        let shown = all.iter().enumerate().skip(at).take(usize::from(height));
        return shown.flat_map(|(n, item)| message(item, n == at, width, 6)).collect();
    }
    let (first, last) = if all.len() <= FIRST + LAST {
        (&all[..], &all[..0])
    } else {
        (&all[..FIRST], &all[all.len() - LAST..])
    };
    let left_out = all.len() - first.len() - last.len();
    // Each message gets the same number of rows.
    let each = (height / rows_of(first.len() + last.len() + 1).max(1)).clamp(1, 6);
    let mut lines: Vec<Vec<StyledSpan>> =
        first.iter().flat_map(|item| message(item, false, width, each)).collect();
    if left_out > 0 {
        lines.push(vec![span(format!("   … {left_out} more"), StyleRole::Muted)]);
    }
    lines.extend(last.iter().flat_map(|item| message(item, false, width, each)));
    lines
}

fn message(item: &PreviewMessage, is_chosen: bool, width: u16, rows: u16) -> Vec<Vec<StyledSpan>> {
    let (mark, role) = match item.role {
        Speaker::User => ("❯ ", StyleRole::User),
        Speaker::Assistant => ("  ", StyleRole::Text),
    };
    let mut lines = wrapped(&item.text, role, width.saturating_sub(2), rows);
    for (row, line) in lines.iter_mut().enumerate() {
        line.insert(1, span(if row == 0 { mark } else { "  " }, role));
        if is_chosen && let Some(edge) = line.first_mut() {
            *edge = span("▌", StyleRole::Key);
        }
    }
    lines
}

/// Wraps a text into at most `height` rows, indented by one column. A cut is marked.
fn wrapped(text: &str, role: StyleRole, width: u16, height: u16) -> Vec<Vec<StyledSpan>> {
    let room = width.saturating_sub(2).max(1);
    let rows = softwrap::rows(text, room);
    let height = usize::from(height);
    let mut lines: Vec<Vec<StyledSpan>> = rows
        .iter()
        .take(height)
        .map(|row| vec![span(" ", StyleRole::Text), span(text[row.clone()].trim_end(), role)])
        .collect();
    if rows.len() > height
        && let Some(last) = lines.last_mut().and_then(|line| line.last_mut())
    {
        last.text = paint::truncate(&format!("{} …", last.text), room);
    }
    lines
}

/// The notice, and hints for the keys.
fn foot(sidebar: &Sidebar, keys: &Keymap, width: u16) -> Vec<Vec<StyledSpan>> {
    let mut lines = Vec::new();
    if let Some(note) = &sidebar.note {
        let role = match note.level {
            NoticeLevel::Info => StyleRole::System,
            NoticeLevel::Warning => StyleRole::Warning,
            NoticeLevel::Error => StyleRole::Error,
        };
        lines.extend(wrapped(&note.text, role, width, 4));
    }
    let hint = |key: String, word: &str| (key, word.to_owned());
    let hints: Vec<(String, String)> = match &sidebar.mode {
        SidebarMode::Filtering(editor) => {
            lines.extend(wrapped(&narrowing(sidebar, editor), StyleRole::Muted, width, 2));
            vec![
                hint(keys.key(ListKey::Accept), "open"),
                hint(keys.key(ListKey::Back), "clear search"),
            ]
        }
        SidebarMode::Renaming { .. } => {
            vec![hint(keys.key(FieldKey::Accept), "save"), hint(keys.key(FieldKey::Back), "cancel")]
        }
        SidebarMode::Browsing => {
            let named = keys.hints(KeyContext::Sessions).map(|(key, word)| hint(key, word));
            let undo = sidebar.can_undo().then(|| hint(keys.key(SidebarKey::Undo), "undo"));
            let forks =
                sidebar.tree.as_ref().is_some_and(|it| it.grouping() == SessionGrouping::Forks);
            let branches = [(SidebarKey::Compare, "compare"), (SidebarKey::SumUp, "sum up")];
            let branches = branches.into_iter().filter(|_| forks);
            let branches = branches.map(|(key, word)| hint(keys.key(key), word));
            named.chain(branches).chain(undo).collect()
        }
    };
    lines.extend(flowed(&hints, width));
    lines
}

/// A hint while the user types a search, or its result.
fn narrowing(sidebar: &Sidebar, editor: &TextEditor) -> String {
    if editor.text().trim().is_empty() {
        return "Words, or project:x model:x after:7d before:2026-11 today".to_owned();
    }
    if let Some(word) = sidebar.tree.as_ref().and_then(|tree| tree.filter().unread.first()) {
        return format!("{word} is not a date: 2026-11-01, 2026-11, 7d, today");
    }
    let count =
        |found: usize| if found == 1 { "1 session".into() } else { format!("{found} sessions") };
    match sidebar.search_progress() {
        None => String::new(),
        Some((0, SidebarSearchState::Done)) => "No more matches in messages.".to_owned(),
        Some((found, SidebarSearchState::Done)) => {
            format!("{} with matching messages", count(found))
        }
        Some((found, _)) => format!("{} with matching messages so far …", count(found)),
    }
}

/// Pairs of key and description, as many on a row as fit.
fn flowed(hints: &[(String, String)], width: u16) -> Vec<Vec<StyledSpan>> {
    let mut lines: Vec<Vec<StyledSpan>> = Vec::new();
    for (key, word) in hints {
        let wide = paint::width(key) + 1 + paint::width(word);
        match lines.last_mut() {
            Some(line) if paint::spans_width(line) + 2 + wide < width => {
                line.push(span("  ", StyleRole::Text));
            }
            Some(_) | None => lines.push(vec![span(" ", StyleRole::Text)]),
        }
        if let Some(line) = lines.last_mut() {
            line.push(span(key.clone(), StyleRole::Key));
            line.push(span(format!(" {word}"), StyleRole::Muted));
        }
    }
    lines
}

fn split(area: Rect, below: u16) -> (Rect, Rect) {
    let below = below.min(area.height);
    let above = Rect { height: area.height - below, ..area };
    (above, Rect { y: area.y + above.height, height: below, ..area })
}

fn nth_row(area: Rect, row: usize) -> Rect {
    let row = rows_of(row).min(area.height);
    Rect { y: area.y + row, height: (area.height - row).min(1), ..area }
}

fn rows_of(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

#[cfg(test)]
#[path = "sidebar_tests.rs"]
mod tests;
