//! Draws the pages to read over the chat: the keys, the plan, the status.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::{TodoItem, TodoStatus};
use crate::tui::app::ScreenModel;
use crate::tui::app::approval::QuestionReview;
use crate::tui::app::geometry::{ScreenGeometry, ScrollExtent};
use crate::tui::app::hooks::HookTrustQuestion;
use crate::tui::app::keymap::{KeyContext, ReadingKey, ScrollAction};
use crate::tui::app::overlay::{ReadingOverlay, ReadingPage};
use crate::tui::app::status_page::{self, HEADS, StatusPageRow};
use crate::tui::layout::{StyleRole, StyledLine, plain};

use super::blocks::harmless;
use super::paint::{self, RoleStyles, line, span};

/// Mouse actions and their effects.
const MOUSE: [(&str, &str); 6] = [
    ("wheel", "scroll what is under it"),
    ("click", "fold a pane, put the caret, choose a row or an answer"),
    ("drag", "select and copy; past the edge it goes on"),
    ("double, triple click", "take a word, a line"),
    ("shift+click", "go on with what is selected"),
    ("shift+drag", "the terminal's own selection, in most terminals"),
];

/// Draws the page.
pub fn draw(
    model: &ScreenModel,
    reading: &ReadingOverlay,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
    geometry: &mut ScreenGeometry,
) {
    let closes = || format!("{} closes", model.shared.settings.keys.key(ReadingKey::Back));
    let (title, lines, keys) = match &reading.page {
        ReadingPage::Help => ("Keys and commands", help(model), closes()),
        ReadingPage::Todos => ("The plan", plan(&model.conversation.todos), closes()),
        ReadingPage::Status => ("Status", status(&status_page::rows(model)), closes()),
        ReadingPage::HookTrust(question) => {
            // The margins outside and inside of the frame.
            let width = area.width.saturating_sub(10).max(1);
            let lines = news(&question.news, width);
            let shown = usize::from(area.height.saturating_sub(4));
            let keys = answers(model, question, reading.scroll + shown >= lines.len());
            (HookTrustQuestion::TITLE, lines, keys)
        }
    };
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let height = rows.saturating_add(2).min(area.height.saturating_sub(2)).max(3);
    let outer = paint::centred(area, area.width.saturating_sub(4), height);
    let inner = paint::frame(title, &keys, styles, outer, buffer);
    for (y, line) in (inner.y..inner.y + inner.height).zip(lines.iter().skip(reading.scroll)) {
        paint::spans(&line.spans, styles, Rect { y, height: 1, ..inner }, buffer);
    }
    geometry.dialog = Some(ScrollExtent { rows: lines.len(), shown: usize::from(inner.height) });
}

/// The news of changed hooks, every line in full.
fn news(news: &str, width: u16) -> Vec<StyledLine> {
    let role = |line: &str| match line.trim_start().as_bytes() {
        [b'+', b' ', ..] => StyleRole::Added,
        [b'-', b' ', ..] => StyleRole::Removed,
        _ if line.starts_with(' ') => StyleRole::Text,
        _ => StyleRole::Strong,
    };
    news.lines().flat_map(|line| plain::render(line, role(line), width)).collect()
}

fn answers(model: &ScreenModel, question: &HookTrustQuestion, is_at_end: bool) -> String {
    if is_at_end || question.end == QuestionReview::Seen {
        return "y trusts it, n leaves it".to_owned();
    }
    let down = model.shared.settings.keys.key(ReadingKey::Scroll(ScrollAction::PageDown));
    format!("{down} to the end, then y trusts it")
}

fn help(model: &ScreenModel) -> Vec<StyledLine> {
    let mut lines = vec![heading("Commands")];
    for command in model.shared.settings.commands.all() {
        lines.push(pair(&format!("/{}", command.name), &command.summary));
    }
    for context in KeyContext::ALL {
        lines.push(StyledLine::default());
        lines.push(heading(context.title()));
        let rows =
            model.shared.settings.keys.rows(context).iter().filter(|row| !row.keys.is_empty());
        lines.extend(rows.map(|row| pair(&row.shown(), row.help)));
    }
    lines.extend([StyledLine::default(), heading("Mouse")]);
    lines.extend(MOUSE.iter().map(|(does, help)| pair(does, help)));
    lines
}

fn plan(todos: &[TodoItem]) -> Vec<StyledLine> {
    if todos.is_empty() {
        return vec![muted("There is no plan. The model makes one for work of several steps.")];
    }
    let step = |todo: &TodoItem| {
        let (mark, role) = match todo.status {
            TodoStatus::Completed => ("✓ ", StyleRole::Success),
            TodoStatus::InProgress => ("→ ", StyleRole::Strong),
            TodoStatus::Pending => ("· ", StyleRole::Muted),
        };
        line(vec![span(mark, role), span(harmless(&todo.content), role)])
    };
    todos.iter().map(step).collect()
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

fn heading(text: &str) -> StyledLine {
    line(vec![span(text, StyleRole::Heading(2))])
}

fn pair(left: &str, right: &str) -> StyledLine {
    line(vec![span(format!("{left:<24} "), StyleRole::Text), span(right, StyleRole::Muted)])
}

fn muted(text: &str) -> StyledLine {
    line(vec![span(text, StyleRole::Muted)])
}
