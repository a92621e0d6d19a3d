//! Draws the review page over the whole screen: a heading, and below it all changes, each with a
//! box that says whether it stays.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::agent::ReviewScope;
use crate::domain::pluralise;
use crate::session::undo::{ReviewedChange, ReviewedFile};
use crate::tui::app::conversation::sending;
use crate::tui::app::keymap::ReviewKey;
use crate::tui::dialogs::dialog::{DialogCanvas, DialogView};
use crate::tui::dialogs::geometry::PageGeometry;
use crate::tui::dialogs::page_rows;
use crate::tui::layout::wrap::truncate_path;
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::layouts::ViewLayouts;
use crate::tui::view::paint::{self, RoleStyles, line, span, spans_width, truncate};

use super::TurnReview;
use super::page_lines::{self, ReviewLine};

/// Columns before the lines, for the bar and the box of a change.
const MARGIN: u16 = 5;

/// The width of the diffs on a screen of this width.
pub(super) fn diff_width(width: u16) -> u16 {
    width.saturating_sub(MARGIN + 1).max(1)
}

/// Draws the page on all of the canvas but the line of hints.
pub fn draw(page: &TurnReview, around: DialogView<'_>, canvas: DialogCanvas<'_>) {
    let area = canvas.above_hints();
    let DialogCanvas { layouts, styles, buffer, measured, .. } = canvas;
    paint::clear(area, styles, buffer);
    heading(page, around, styles, Rect { height: area.height.min(1), ..area }, buffer);
    let rule = Rect { y: area.y + 1, height: u16::from(area.height > 1), ..area };
    paint::rule(rule, styles, buffer);
    let body = Rect { y: area.y + 2, height: area.height.saturating_sub(2), ..area };
    let width = diff_width(area.width);
    let (top, end, shown) = {
        let mut lay = |at: usize| lay_line(page, around, layouts, at, width);
        let (height, count) = (usize::from(body.height), page.lines.lines.len());
        page_rows::visible(page.position, height, count, &mut lay)
    };
    let mut last = None;
    for (y, (at, line)) in (body.y..body.y + body.height).zip(&shown) {
        let row = Rect { y, height: 1, ..body };
        let is_first = last != Some(*at);
        last = Some(*at);
        draw_row(page, (*at, line, is_first), styles, row, buffer);
    }
    let rows = shown.into_iter().map(|(at, _)| at).collect();
    measured.page = PageGeometry { area: body.into(), rows, top, end, list: None };
}

fn heading(
    page: &TurnReview,
    around: DialogView<'_>,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let Some(plan) = &page.plan else {
        let left = [span("Review", StyleRole::Strong), span("   loading", StyleRole::Muted)];
        paint::spans(&left, styles, area, buffer);
        return;
    };
    let files = page.files();
    let sum = |of: fn(&crate::domain::FileDiff) -> usize| -> usize {
        files.iter().filter_map(ReviewedFile::diff).map(|diff| of(diff)).sum()
    };
    let mut right = vec![span(pluralise(files.len(), "file"), StyleRole::Muted)];
    right.extend(counts(sum(|diff| diff.added), sum(|diff| diff.removed)));
    let rejected = page.rejected_count();
    if rejected > 0 {
        let key = around.shared.settings.keys.key(ReviewKey::Apply);
        let how = match sending::is_busy(around.conversation) {
            true => "after this turn".to_owned(),
            false => format!("{key} applies"),
        };
        let all = page.lines.changes.len();
        let text = format!("{rejected} of {all} rejected, {how}  ");
        right.insert(0, span(text, StyleRole::Warning));
    }
    let what = match plan.scope {
        ReviewScope::Session => "Review of this session".to_owned(),
        ReviewScope::Turn(turn) => format!("Review of turn {}", turn.0),
        ReviewScope::LastTurn | ReviewScope::Message(_) => "Review".to_owned(),
    };
    let mut left = vec![span(what, StyleRole::Strong)];
    let room = area.width.saturating_sub(spans_width(&left) + spans_width(&right) + 4);
    if !plan.title.is_empty() && room > 8 {
        let title = truncate(&harmless(&plan.title), room);
        left.push(span(format!("  {title}"), StyleRole::Muted));
    }
    paint::both_edges(&left, &right, styles, area, buffer);
}

fn counts(added: usize, removed: usize) -> [StyledSpan; 3] {
    [
        span(format!("  +{added}"), StyleRole::Success),
        span(" ", StyleRole::Text),
        span(format!("-{removed}"), StyleRole::Error),
    ]
}

/// The rows of a line of the page.
fn lay_line(
    page: &TurnReview,
    around: DialogView<'_>,
    layouts: &mut ViewLayouts,
    at: usize,
    width: u16,
) -> Vec<StyledLine> {
    let Some(of) = page.lines.lines.get(at) else { return Vec::new() };
    match of {
        ReviewLine::Gap => vec![StyledLine::default()],
        ReviewLine::File(file) => {
            let cwd = &around.shared.settings.cwd;
            page.files().get(*file).map(|file| head(file, cwd, width)).into_iter().collect()
        }
        ReviewLine::Note(text) => plain::render(text, StyleRole::Muted, width),
        ReviewLine::Warning(text) => plain::render(&format!("! {text}"), StyleRole::Warning, width),
        ReviewLine::Whole(text) => vec![line(vec![span(text.as_str(), StyleRole::Text)])],
        ReviewLine::Diff { file, row } => {
            let diff = page.files().get(*file).and_then(ReviewedFile::diff);
            let (Some(diff), Some((version, rows))) = (diff, page.lines.diffs.get(*file)) else {
                return Vec::new();
            };
            layouts.changed_file_row(*version, diff, &rows.rows, *row, width).to_vec()
        }
    }
}

/// The head of a file: its name, what became of it, and its counts.
fn head(file: &ReviewedFile, cwd: &std::path::Path, width: u16) -> StyledLine {
    let kind = page_lines::kind(file);
    let right = file.diff().map(|diff| counts(diff.added, diff.removed));
    let right = right.map_or_else(Vec::new, Vec::from);
    let room = width.saturating_sub(spans_width(&right) + paint::width(&kind));
    let name = harmless(&page_lines::name(file, cwd));
    let name = truncate_path(&name, room.into()).into_owned();
    let mut spans = vec![span(name, StyleRole::Strong), span(kind, StyleRole::Muted)];
    spans.extend(right);
    line(spans)
}

fn draw_row(
    page: &TurnReview,
    (at, line, is_first): (usize, &StyledLine, bool),
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let left = match page.lines.lines.get(at) {
        Some(ReviewLine::File(_) | ReviewLine::Gap) | None => 1,
        Some(_) => MARGIN,
    };
    let margin = Rect { width: left.min(area.width), ..area };
    let rest = Rect {
        x: area.x + margin.width,
        width: area.width.saturating_sub(margin.width + 1),
        ..area
    };
    let change = page.lines.change_at(at);
    let Some(placed) = change.and_then(|change| page.lines.changes.get(change)) else {
        return paint::filled_line(line, styles, rest, buffer);
    };
    let is_rejected = page.is_rejected(placed);
    let bar = if change == Some(page.focus) { "▎" } else { " " };
    let (tick, role) = match (placed.lines.start == at && is_first, &placed.state) {
        (false, _) => ("   ", StyleRole::Text),
        (true, ReviewedChange::Conflict(_)) => (" ! ", StyleRole::Warning),
        (true, ReviewedChange::Reverted) => (" - ", StyleRole::Muted),
        (true, ReviewedChange::Present) if is_rejected => ("[ ]", StyleRole::Warning),
        (true, ReviewedChange::Present) => ("[x]", StyleRole::Success),
    };
    paint::spans(&[span(bar, StyleRole::User), span(tick, role)], styles, margin, buffer);
    if is_rejected || placed.state == ReviewedChange::Reverted {
        let faded = line.spans.iter().map(|part| span(part.text.as_str(), StyleRole::Muted));
        paint::spans(&faded.collect::<Vec<_>>(), styles, rest, buffer);
    } else {
        paint::filled_line(line, styles, rest, buffer);
    }
}
