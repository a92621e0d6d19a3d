//! A row of the model's plan, as every list of them shows it.

use std::ops::Range;

use crate::domain::{PlanItem, TodoStatus, task_numbers};
use crate::tui::layout::one_line::harmless;
use crate::tui::layout::{StyleRole, StyledLine, StyledSpan, plain};

use super::paint::{self, line, span, spans_width};

/// How many tasks are named that another one waits for, where there is little room.
const MAX_NAMED: usize = 2;

/// The row with its sign: done, under way, or still to come.
pub fn row(item: &PlanItem<'_>) -> Vec<StyledSpan> {
    let (sign, role) = sign(item);
    vec![span(sign, role), span(text(item), role)]
}

/// The rows around the first one that is open, of which `most` have room: all, or one less and a row for
/// how many more there are.
pub fn window(items: &[PlanItem<'_>], most: usize) -> Range<usize> {
    let shown = if items.len() > most { most.saturating_sub(1).max(1) } else { items.len() };
    let now = items.iter().position(|item| item.status != TodoStatus::Completed);
    let before = usize::from(shown > 2);
    let from = now.unwrap_or(items.len()).saturating_sub(before).min(items.len() - shown);
    from..from + shown
}

/// Which open tasks a task waits for, in a few letters; empty for a row that waits for none.
pub fn short_wait(item: &PlanItem<'_>) -> String {
    let blockers = item.blockers();
    let (named, more) = blockers.split_at(blockers.len().min(MAX_NAMED));
    match (named.is_empty(), more.len()) {
        (true, _) => String::new(),
        (false, 0) => format!("after {}", task_numbers(named)),
        (false, more) => format!("after {} +{more}", task_numbers(named)),
    }
}

/// The row in full, wrapped, with what a task waits for and who does it.
pub fn wrapped(item: &PlanItem<'_>, width: u16) -> Vec<StyledLine> {
    let (sign, role) = sign(item);
    let room = width.saturating_sub(paint::width(sign));
    let rows = plain::render(&text(item), role, room).into_iter().enumerate();
    let mut lines: Vec<StyledLine> = rows
        .map(|(at, row)| {
            let before = span(if at == 0 { sign } else { "  " }, role);
            line([before].into_iter().chain(row.spans).collect())
        })
        .collect();
    let notes = notes(item);
    let Some(last) = lines.last_mut().filter(|_| !notes.is_empty()) else { return lines };
    let with_notes = spans_width(&last.spans).saturating_add(2 + paint::width(&notes));
    if with_notes <= width {
        last.spans.push(span(format!("  {notes}"), StyleRole::Muted));
        return lines;
    }
    let below = plain::render(&notes, StyleRole::Muted, room).into_iter();
    lines
        .extend(below.map(|row| {
            line([span("  ", StyleRole::Muted)].into_iter().chain(row.spans).collect())
        }));
    lines
}

/// What a task waits for and who does it: `after #1, #2 · by tester`.
pub fn notes(item: &PlanItem<'_>) -> String {
    let blockers = item.blockers();
    let after = (!blockers.is_empty()).then(|| format!("after {}", task_numbers(&blockers)));
    let owner = item.task.and_then(|task| task.owner.as_deref()).map(harmless);
    let owner = owner.map(|owner| format!("by {owner}"));
    let notes: Vec<String> = after.into_iter().chain(owner).collect();
    notes.join(" · ")
}

/// What a row says, with the number of a task.
pub fn text(item: &PlanItem<'_>) -> String {
    let text = harmless(item.text);
    match item.task {
        None => text,
        Some(task) => format!("{} {text}", task.id),
    }
}

fn sign(item: &PlanItem<'_>) -> (&'static str, StyleRole) {
    match item.status {
        TodoStatus::Completed => ("✓ ", StyleRole::Success),
        TodoStatus::InProgress => ("→ ", StyleRole::Strong),
        TodoStatus::Pending => ("· ", StyleRole::Muted),
    }
}
