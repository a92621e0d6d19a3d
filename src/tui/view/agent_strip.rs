//! Draws the line under the header that tells of the agents that run: what each does, what it has taken
//! and how long it has run. It is there only while one runs; all agents are on the page of `/agents`.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::{AgentId, format_tokens};
use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::status::clock;
use crate::tui::app::shared::SharedState;
use crate::tui::app::started_agent::StartedAgent;
use crate::tui::app::started_agents;
use crate::tui::layout::{StyleRole, StyledSpan};

use super::blocks::harmless;
use super::paint::{self, RoleStyles, span, spans_width, truncate};

/// The fewest columns of one agent where several are shown.
const LEAST: u16 = 24;
/// Columns between two agents.
const GAP: u16 = 3;
/// The columns that the name keeps before its figures are left out.
const NAME: u16 = 15;

/// The rows of the line.
pub fn height(model: &ScreenModel) -> u16 {
    u16::from(started_agents::running(&model.shared).next().is_some())
}

/// Draws the line.
pub fn draw(model: &ScreenModel, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let running: Vec<&StartedAgent> = started_agents::running(&model.shared).collect();
    let count = u16::try_from(running.len()).unwrap_or(u16::MAX);
    let fit = ((inner.width + GAP) / (LEAST + GAP)).clamp(1, count.max(1));
    let rest = match count - fit.min(count) {
        0 => Vec::new(),
        more => vec![span(format!("+{more}"), StyleRole::Muted)],
    };
    let gaps = GAP * (fit - 1) + if rest.is_empty() { 0 } else { spans_width(&rest) + GAP };
    let each = inner.width.saturating_sub(gaps) / fit;
    let mut line = Vec::new();
    for started in running.iter().take(usize::from(fit)) {
        if !line.is_empty() {
            line.push(span(" ".repeat(usize::from(GAP)), StyleRole::Text));
        }
        line.extend(of_agent(started, model.conversation.agent, &model.shared, each));
    }
    paint::both_edges(&line, &rest, styles, inner, buffer);
}

/// One agent, with a sign for whether it works or asks, on at most so many columns. The cost goes first,
/// then the tokens, then the end of the name.
fn of_agent(
    started: &StartedAgent,
    front: AgentId,
    shared: &SharedState,
    columns: u16,
) -> Vec<StyledSpan> {
    let StartedAgent { summary, .. } = started;
    let asks = shared.asker.as_ref().is_some_and(|asker| asker.agent == summary.agent)
        || shared.questions.iter().any(|(agent, _)| *agent == summary.agent);
    let sign = if asks { "? " } else { "◐ " };
    let time = clock(started.running_time(shared.shown_now()));
    let tokens = (summary.tokens > 0).then(|| format_tokens(summary.tokens));
    let cost = summary.cost.map(|cost| cost.to_string());
    let mut figures: Vec<String> = [tokens, cost, Some(time)].into_iter().flatten().collect();
    let wide = |figures: &[String]| 4 + paint::width(&figures.join(" ")) + NAME;
    while figures.len() > 1 && wide(&figures) > columns {
        figures.remove(figures.len() - 2);
    }
    let figures = format!("  {}", figures.join(" "));
    let role = if summary.agent == front { StyleRole::Strong } else { StyleRole::Text };
    let room = columns.saturating_sub(2 + paint::width(&figures));
    vec![
        span(sign, StyleRole::Warning),
        span(truncate(&harmless(&summary.name()), room), role),
        span(figures, StyleRole::Muted),
    ]
}
