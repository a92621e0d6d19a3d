//! Draws the panel beside the transcript. The plan and the files share what the other parts leave; a
//! part that is empty is left out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::commands::SlashCommand;
use crate::domain::sanitize::sanitize_line;
use crate::domain::{WorkPlan, format_tokens};
use crate::services::session_changes::ChangedFile;
use crate::session::ChangedLines;
use crate::tui::app::ScreenModel;
use crate::tui::app::geometry::{CellRect, SidePanelGeometry};
use crate::tui::dialogs::reading::status_page;
use crate::tui::layout::one_line::harmless;
use crate::tui::layout::{StyleRole, StyledSpan};

use super::paint::{self, RoleStyles, span, spans_width};
use super::plan;

/// Rows of the plan and of the files at most, where the panel is high.
const MAX_LISTED: usize = 12;
/// Rows that a list keeps on a low panel.
const MIN_LISTED: usize = 2;
/// Kinds of context that are named; the others are one row.
const MAX_KINDS: usize = 5;

/// The two sides of a row, and what a click on it opens.
#[derive(Default)]
struct PanelRow {
    left: Vec<StyledSpan>,
    right: Vec<StyledSpan>,
    opens: Option<SlashCommand>,
}

/// Draws the panel, and returns what its rows open.
pub fn draw(
    model: &ScreenModel,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) -> SidePanelGeometry {
    let rows = rows(model, usize::from(area.height));
    for y in area.y..area.y + area.height {
        let edge = Rect { y, width: 1, height: 1, ..area };
        paint::spans(&[span("│", StyleRole::Border)], styles, edge, buffer);
    }
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(3), height: 1, ..area };
    for (y, row) in (area.y..area.y + area.height).zip(&rows) {
        let place = Rect { y, ..inner };
        let room = inner.width.saturating_sub(spans_width(&row.right) + 1);
        paint::both_edges(&paint::fitted(&row.left, room), &row.right, styles, place, buffer);
    }
    let Rect { x, y, width, height } = area;
    let area = CellRect { x, y, width, height };
    SidePanelGeometry { area, rows: rows.into_iter().map(|row| row.opens).collect() }
}

/// The rows that fit, from the top.
fn rows(model: &ScreenModel, height: usize) -> Vec<PanelRow> {
    let fixed = [context(model), jobs(model), session(model)];
    let taken: usize =
        fixed.iter().filter(|part| !part.is_empty()).map(|part| part.len() + 1).sum();
    let plan = &model.conversation.plan;
    let files: Vec<&ChangedFile> = model.conversation.changes.changed().collect();
    let lists = usize::from(!plan.is_empty()) + usize::from(!files.is_empty());
    // Each list has a heading, and an empty row before the next part.
    let room = height.saturating_sub(taken + 2 * lists).clamp(MIN_LISTED * lists, MAX_LISTED * 2);
    let of_plan = plan.len().min(room.saturating_sub(files.len()).max(room / 2)).min(MAX_LISTED);
    let of_files = files.len().min(room.saturating_sub(of_plan)).min(MAX_LISTED);
    let [context, jobs, session] = fixed;
    let mut rows = Vec::new();
    for part in
        [plan_rows(plan, of_plan), changed_files(model, &files, of_files), context, jobs, session]
    {
        if !rows.is_empty() && !part.is_empty() {
            rows.push(PanelRow::default());
        }
        rows.extend(part);
    }
    rows.truncate(height);
    rows
}

fn heading(text: &str, right: Vec<StyledSpan>, opens: Option<SlashCommand>) -> PanelRow {
    PanelRow { left: vec![span(text, StyleRole::Strong)], right, opens }
}

fn more(count: usize, opens: SlashCommand) -> PanelRow {
    let left = vec![span(format!("… {count} more"), StyleRole::Muted)];
    PanelRow { left, right: Vec::new(), opens: Some(opens) }
}

/// The plan around the first row that is open.
fn plan_rows(plan: &WorkPlan, most: usize) -> Vec<PanelRow> {
    if plan.is_empty() {
        return Vec::new();
    }
    let items: Vec<_> = plan.items().collect();
    let count = format!("{} of {}", plan.completed(), items.len());
    let count = vec![span(count, StyleRole::Muted)];
    let mut rows = vec![heading("Plan", count, Some(SlashCommand::Todos))];
    let shown = plan::window(&items, most);
    let rest = items.len() - shown.len();
    rows.extend(items[shown].iter().map(|item| PanelRow {
        left: plan::row(item),
        right: vec![span(plan::short_wait(item), StyleRole::Muted)],
        opens: Some(SlashCommand::Todos),
    }));
    if rest > 0 {
        rows.push(more(rest, SlashCommand::Todos));
    }
    rows
}

fn changed_files(model: &ScreenModel, files: &[&ChangedFile], most: usize) -> Vec<PanelRow> {
    if files.is_empty() {
        return Vec::new();
    }
    let all = files.iter().map(|file| file.lines()).try_fold(ChangedLines::default(), |sum, it| {
        let it = it?;
        Some(ChangedLines { added: sum.added + it.added, removed: sum.removed + it.removed })
    });
    let all = all.filter(|_| files.len() > 1).map(counts).unwrap_or_default();
    let mut rows = vec![heading("Changed files", all, Some(SlashCommand::Diff(None)))];
    let shown = if files.len() > most { most.saturating_sub(1).max(1) } else { files.len() };
    // The newest changes are the last.
    let older = files.len() - shown;
    if older > 0 {
        rows.push(more(older, SlashCommand::Diff(None)));
    }
    rows.extend(files[older..].iter().map(|file| {
        let path = file.path.strip_prefix(&model.shared.settings.cwd).unwrap_or(&file.path);
        PanelRow {
            left: vec![span(sanitize_line(&path.display().to_string()), StyleRole::Text)],
            right: file.lines().map(counts).unwrap_or_default(),
            opens: Some(SlashCommand::Diff(Some(file.path.display().to_string()))),
        }
    }));
    rows
}

fn counts(lines: ChangedLines) -> Vec<StyledSpan> {
    vec![
        span(format!("+{}", lines.added), StyleRole::Success),
        span(format!(" -{}", lines.removed), StyleRole::Error),
    ]
}

/// What fills the window, by kind. The parts are estimates.
fn context(model: &ScreenModel) -> Vec<PanelRow> {
    let kinds = &model.conversation.context_shares.kinds;
    if kinds.is_empty() {
        return Vec::new();
    }
    let row = |name: &str, tokens: u64| PanelRow {
        left: vec![span(name, StyleRole::Muted)],
        right: vec![span(format!("~{}", format_tokens(tokens)), StyleRole::Muted)],
        opens: Some(SlashCommand::Context),
    };
    // A row for the others takes as much room as a single one of them.
    let named = if kinds.len() > MAX_KINDS + 1 { MAX_KINDS } else { kinds.len() };
    let (named, rest) = kinds.split_at(named);
    let mut rows = vec![heading("Context", Vec::new(), Some(SlashCommand::Context))];
    rows.extend(named.iter().map(|(kind, tokens)| row(kind.title(), *tokens)));
    if !rest.is_empty() {
        rows.push(row("Other", rest.iter().map(|(_, tokens)| tokens).sum()));
    }
    rows
}

/// The commands that run in the background.
fn jobs(model: &ScreenModel) -> Vec<PanelRow> {
    let jobs = &model.conversation.status.jobs;
    if jobs.is_empty() {
        return Vec::new();
    }
    let opens = Some(SlashCommand::Jobs);
    let mut rows = vec![heading("Running", Vec::new(), opens.clone())];
    rows.extend(jobs.iter().map(|job| PanelRow {
        opens: opens.clone(),
        left: vec![span("◐ ", StyleRole::Warning), span(harmless(&job.command), StyleRole::Text)],
        ..PanelRow::default()
    }));
    rows
}

/// What the session took so far.
fn session(model: &ScreenModel) -> Vec<PanelRow> {
    let total = model.conversation.status.spending.total();
    if total.responses == 0 {
        return Vec::new();
    }
    let cost = status_page::cost(&total).map(|cost| vec![span(cost, StyleRole::Muted)]);
    let tokens = format!(
        "{} in, {} out",
        format_tokens(total.usage.input),
        format_tokens(total.usage.output)
    );
    let left = vec![span(tokens, StyleRole::Muted)];
    let opens = Some(SlashCommand::Status);
    vec![
        heading("Session", cost.unwrap_or_default(), opens.clone()),
        PanelRow { left, right: Vec::new(), opens },
    ]
}
