//! The first line: where slug is and what it works with. What matters least goes first when the
//! screen is narrow.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::Window;
use crate::tui::app::Model;
use crate::tui::app::status::{Git, Host, Status, tokens};
use crate::tui::layout::{Role, Span};

use super::blocks::harmless;
use super::paint::{self, Styles, span, spans_width, truncate};

/// A part of the line. The one with the greatest weight goes last.
struct Part {
    weight: u8,
    side: Side,
    spans: Vec<Span>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Draws the first line.
pub fn draw(model: &Model, styles: &dyn Styles, area: Rect, buffer: &mut Buffer) {
    let mut parts = parts(&model.status, area.width);
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    while parts.len() > 1 && taken(&parts) > area.width {
        let least = parts.iter().enumerate().min_by_key(|(_, part)| part.weight);
        if let Some(least) = least.map(|(at, _)| at) {
            parts.remove(least);
        }
    }
    let side = |side| {
        let mut spans = Vec::new();
        for part in parts.iter().filter(|part| part.side == side) {
            if !spans.is_empty() {
                spans.push(span("  ", Role::Text));
            }
            spans.extend(part.spans.iter().cloned());
        }
        spans
    };
    paint::both_edges(&side(Side::Left), &side(Side::Right), styles, area, buffer);
}

fn taken(parts: &[Part]) -> u16 {
    parts.iter().map(|part| spans_width(&part.spans) + 2).sum()
}

fn parts(status: &Status, width: u16) -> Vec<Part> {
    let part = |weight, side, spans| Part { weight, side, spans };
    let mut parts = vec![part(4, Side::Left, vec![span("slug", Role::Title)])];
    if !status.project.is_empty() {
        let project = truncate(&harmless(&status.project), 24);
        parts.push(part(6, Side::Left, vec![span(project, Role::Text)]));
    }
    if let Some(git) = &status.git {
        parts.push(part(3, Side::Left, of_git(git)));
    }
    if let Some(title) = &status.title {
        let title = truncate(&harmless(title), width / 4);
        parts.push(part(2, Side::Left, vec![span(title, Role::Muted)]));
    }
    if status.host == Host::Local
        && let Some(rate) = status.rate
    {
        parts.push(part(0, Side::Right, vec![span(format!("{rate:.0} tok/s"), Role::Muted)]));
    }
    if !status.model.is_empty() {
        let model = truncate(&harmless(&status.model), 28);
        parts.push(part(5, Side::Right, vec![span(model, Role::Assistant)]));
    }
    parts.push(part(8, Side::Right, vec![span(status.mode.name(), Role::System)]));
    if let Some(meter) = meter(status) {
        parts.push(part(7, Side::Right, vec![span(meter, Role::Text)]));
    }
    if let Some(cached) = cached(status) {
        parts.push(part(1, Side::Right, vec![span(cached, Role::Muted)]));
    }
    parts
}

fn of_git(git: &Git) -> Vec<Span> {
    let mut spans = vec![span(truncate(&harmless(&git.branch), 24), Role::Text)];
    let counts = [
        ('+', git.added, Role::Success),
        ('~', git.changed, Role::Warning),
        ('-', git.removed, Role::Error),
    ];
    for (sign, count, role) in counts.into_iter().filter(|(_, count, _)| *count > 0) {
        spans.push(span(format!(" {sign}{count}"), role));
    }
    spans
}

/// How full the window is, as the provider counted it.
fn meter(status: &Status) -> Option<String> {
    let used = status.usage.map(|usage| usage.input + usage.output);
    // What nobody measured carries a tilde.
    let (window, mark) = match status.window {
        Some(Window::Served(window)) => (Some(window), ""),
        Some(Window::Assumed(window)) => (Some(window), "~"),
        None => (None, ""),
    };
    match (used, window) {
        (Some(used), Some(window)) if window > 0 => Some(format!(
            "{}/{mark}{} {mark}{}%",
            tokens(used),
            tokens(window),
            (used * 100 + window / 2) / window
        )),
        (Some(used), _) => Some(tokens(used)),
        (None, Some(window)) => Some(format!("0/{mark}{}", tokens(window))),
        (None, None) => None,
    }
}

fn cached(status: &Status) -> Option<String> {
    let usage = status.usage.filter(|usage| usage.cache_read > 0)?;
    Some(format!("{} cached", tokens(usage.cache_read)))
}
