//! Draws the pages to read over the chat: the plan, the status.

use ratatui::layout::Rect;

use crate::domain::WorkPlan;
use crate::tui::app::keymap::ReadingKey;
use crate::tui::app::tour;
use crate::tui::dialogs::dialog::{DialogCanvas, DialogView};
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::layout::{StyleRole, StyledLine, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::paint;
use crate::tui::view::paint::{line, span};
use crate::tui::view::plan as plan_row;

use crate::skills::PromptLibraryReport;
use crate::tui::dialogs::reading::skills_page::{self, SkillsPageRow};
use crate::tui::dialogs::reading::status_page;
use crate::tui::dialogs::reading::status_page::{HEADS, StatusPageRow};
use crate::tui::dialogs::reading::{ReadingDialog, ReadingPage};

/// Columns on both sides of the text of a page: the space around its frame, the frame, the space in it.
const AROUND_TEXT: u16 = 10;

/// Draws the page.
pub fn draw(around: DialogView<'_>, reading: &ReadingDialog, canvas: &mut DialogCanvas<'_>) {
    let (title, lines) = match reading.page {
        ReadingPage::Todos => ("The plan", plan(&around.conversation.plan, canvas.area.width)),
        ReadingPage::Status => ("Status", status(&status_page::rows(around))),
        ReadingPage::Skills => {
            ("Skills and commands", skills(&around.shared.prompt_files, canvas.area.width))
        }
        ReadingPage::Tour => ("That was slug", tour_card(canvas.area.width)),
    };
    let closes = format!("{} closes", around.shared.settings.keys.key(ReadingKey::Back));
    draw_page(title, &closes, &lines, reading.scroll, canvas);
}

/// Draws lines in a frame with a title and, at its other end, the keys.
pub fn draw_page(
    title: &str,
    keys: &str,
    lines: &[StyledLine],
    scroll: usize,
    canvas: &mut DialogCanvas<'_>,
) {
    let DialogCanvas { styles, area, buffer, measured, .. } = canvas;
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let height = rows.saturating_add(2).min(area.height.saturating_sub(2)).max(3);
    let outer = paint::centred(*area, area.width.saturating_sub(4), height);
    let inner = paint::frame(title, keys, *styles, outer, buffer);
    for (y, line) in (inner.y..inner.y + inner.height).zip(lines.iter().skip(scroll)) {
        paint::spans(&line.spans, *styles, Rect { y, height: 1, ..inner }, buffer);
    }
    measured.extent = ScrollExtent { rows: lines.len(), shown: usize::from(inner.height) };
    measured.is_cramped = inner.height == 0;
}

/// The card of the tour, in two rows for each thing where there is little room.
fn tour_card(width: u16) -> Vec<StyledLine> {
    let room = width.saturating_sub(AROUND_TEXT);
    let mut lines = Vec::new();
    for (what, how) in tour::CARD {
        lines.extend(plain::render(what, StyleRole::Strong, room));
        lines.extend(plain::render(how, StyleRole::Muted, room));
        lines.push(StyledLine::default());
    }
    let next = "/connect adds a model. Then start slug in a repository of yours.";
    lines.extend(plain::render(next, StyleRole::Text, room));
    lines
}

fn plan(plan: &WorkPlan, width: u16) -> Vec<StyledLine> {
    if plan.is_empty() {
        return vec![muted("No plan yet. The model makes one for work of several steps.")];
    }
    let room = width.saturating_sub(AROUND_TEXT);
    plan.items().flat_map(|item| plan_row::wrapped(&item, room)).collect()
}

/// The rows of `/status`, with the sums in columns.
fn status(rows: &[StatusPageRow]) -> Vec<StyledLine> {
    let table = || {
        rows.iter().filter_map(|row| match row {
            StatusPageRow::Sums(sums) => Some(sums.cells()),
            StatusPageRow::Gap
            | StatusPageRow::Heading(_)
            | StatusPageRow::Pair(..)
            | StatusPageRow::Note(_) => None,
        })
    };
    let widest = |column: usize| {
        let cells = table().map(|cells| paint::width(&harmless(cells[column])));
        usize::from(cells.chain([paint::width(HEADS[column])]).max().unwrap_or(0))
    };
    let widths: Vec<usize> = (0..HEADS.len()).map(widest).collect();
    let cell = |text: &str, column: usize, role| {
        let text = harmless(text);
        let space =
            " ".repeat(widths[column] - usize::from(paint::width(&text)).min(widths[column]));
        let text = if column == 0 { format!("{text}{space}") } else { format!("  {space}{text}") };
        span(text, role)
    };
    let cells = |texts: [&str; 6], first, other| {
        let role = |column| if column == 0 { first } else { other };
        line((0..6).map(|column| cell(texts[column], column, role(column))).collect())
    };
    let mut lines = Vec::new();
    let mut headed = false;
    for row in rows {
        match row {
            StatusPageRow::Gap => lines.push(StyledLine::default()),
            StatusPageRow::Heading(text) => lines.push(heading(text)),
            StatusPageRow::Pair(name, value) => lines.push(line(vec![
                span(format!("{name:<8} "), StyleRole::Muted),
                span(harmless(value), StyleRole::Text),
            ])),
            StatusPageRow::Sums(sums) => {
                if !std::mem::replace(&mut headed, true) {
                    lines.push(cells(HEADS, StyleRole::Muted, StyleRole::Muted));
                }
                lines.push(cells(sums.cells(), StyleRole::Assistant, StyleRole::Text));
            }
            StatusPageRow::Note(text) => lines.push(muted(text)),
        }
    }
    lines
}

/// The rows of `/skills`, wrapped.
fn skills(report: &PromptLibraryReport, width: u16) -> Vec<StyledLine> {
    let room = width.saturating_sub(AROUND_TEXT);
    let below = |text: &str, role| {
        let mut lines = plain::render(&harmless(text), role, room.saturating_sub(2));
        for line in &mut lines {
            line.spans.insert(0, span("  ", role));
        }
        lines
    };
    let mut lines = Vec::new();
    for row in skills_page::rows(report) {
        match row {
            SkillsPageRow::Gap => lines.push(StyledLine::default()),
            SkillsPageRow::Heading(text) => lines.push(heading(text)),
            SkillsPageRow::Entry { call, about } => {
                lines.extend(plain::render(&harmless(&call), StyleRole::Strong, room));
                lines.extend(below(&about, StyleRole::Muted));
            }
            SkillsPageRow::Detail(text) => lines.extend(below(&text, StyleRole::Text)),
            SkillsPageRow::Warning(text) => lines.extend(below(&text, StyleRole::Warning)),
            SkillsPageRow::Note(text) => lines.extend(plain::render(&text, StyleRole::Muted, room)),
        }
    }
    lines
}

fn heading(text: &str) -> StyledLine {
    line(vec![span(text, StyleRole::Heading(2))])
}

fn muted(text: &str) -> StyledLine {
    line(vec![span(text, StyleRole::Muted)])
}
