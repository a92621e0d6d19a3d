//! Draws the page of agents over the whole screen.

use std::time::Duration;

use ratatui::layout::Rect;

use crate::tui::app::conversation::status::clock;
use crate::tui::app::keymap::AgentsKey;
use crate::tui::app::started_agent::StartedAgent;
use crate::tui::dialogs::dialog::{DialogCanvas, DialogView};
use crate::tui::layout::{StyleRole, plain};
use crate::tui::view::blocks::harmless;
use crate::tui::view::heads::agent_role;
use crate::tui::view::list_rows;
use crate::tui::view::paint::{self, span, spans_width};

use super::{AgentRow, AgentsPage, rows};

/// On fewer columns a row has only the state at its right edge.
const NARROW: u16 = 60;

/// What is shown in the place of agents where there are none.
pub(super) const NO_AGENTS: &str = "No agents yet. When the model starts an agent, this page lists \
                                    it, and you can open its conversation.";

/// Draws the page on all rows but the last one.
pub fn draw(page: &AgentsPage, around: DialogView<'_>, canvas: DialogCanvas<'_>) {
    let area = canvas.above_hints();
    let DialogCanvas { styles, buffer, .. } = canvas;
    paint::clear(area, styles, buffer);
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let row = |at: u16| Rect { y: area.y + at, height: u16::from(at < area.height), ..inner };
    let rule = Rect { x: area.x, width: area.width, ..row(1) };
    let (shown, now) = (rows(around.shared), around.shared.shown_now());
    let started = around.shared.started_agents.iter();
    let running = started.filter(|it| it.summary.state.is_running()).count();
    let right = match page.asked(around.shared) {
        Some(summary) => {
            let key = around.shared.settings.keys.key(AgentsKey::Stop);
            span(format!("{key} again stops {}", harmless(&summary.kind)), StyleRole::Warning)
        }
        None if running > 0 => span(format!("{running} running"), StyleRole::Muted),
        None => span("", StyleRole::Muted),
    };
    let left = [span("Agents", StyleRole::Strong)];
    paint::both_edges(&left, &[right], styles, row(0), buffer);
    paint::rule(rule, styles, buffer);
    if shown.is_empty() {
        let lines = plain::render(NO_AGENTS, StyleRole::Muted, inner.width);
        for (at, line) in (2..area.height).zip(&lines) {
            paint::spans(&line.spans, styles, row(at), buffer);
        }
        return;
    }
    let height = usize::from(area.height.saturating_sub(2)).max(1);
    let selected = page.at(&shown);
    let first = (selected + 1).saturating_sub(height);
    for (y, (at, shown)) in (2..area.height).zip(shown.iter().enumerate().skip(first)) {
        let place = row(y);
        if at == selected {
            paint::selected(place, styles, buffer);
        }
        let mark = span(if at == selected { "❯ " } else { "  " }, StyleRole::User);
        let (left, right) = match shown {
            AgentRow::Main(_) => {
                (vec![mark, span("main conversation", StyleRole::Text)], Vec::new())
            }
            AgentRow::Started(started) => {
                let summary = &started.summary;
                let sign = if summary.state.is_running() { "◐ " } else { "● " };
                let role = agent_role(summary.state);
                let name = span(harmless(&summary.name()), StyleRole::Text);
                let right = match inner.width < NARROW {
                    true => vec![span(summary.state.words(), role)],
                    false => {
                        let rest = format!("  {}  {}", summary.figures(), time(started, now));
                        vec![span(summary.state.words(), role), span(rest, StyleRole::Muted)]
                    }
                };
                (vec![mark, span("  ", StyleRole::Text), span(sign, role), name], right)
            }
        };
        let room = inner.width.saturating_sub(spans_width(&right) + 2);
        paint::both_edges(&list_rows::fit(left, room), &right, styles, place, buffer);
    }
}

/// How an agent stands and what it has taken.
pub(super) fn told(started: &StartedAgent, now: Duration) -> String {
    let summary = &started.summary;
    format!("{}, {}, {}", summary.state.words(), summary.figures(), time(started, now))
}

fn time(started: &StartedAgent, now: Duration) -> String {
    clock(started.running_time(now))
}
