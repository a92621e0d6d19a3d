//! Draws the page of a race over the whole screen: both sides next to each other on a wide screen, on a
//! narrow one the selected side below a line that names both.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::format_tokens;
use crate::tui::app::conversation::Conversation;
use crate::tui::app::conversation::status::{ModelHost, clock};
use crate::tui::app::conversation::turn::{RunningTurnPhase, TurnActivity};
use crate::tui::app::geometry::CellRect;
use crate::tui::app::keymap::RaceKey;
use crate::tui::app::shared::SharedState;
use crate::tui::dialogs::dialog::{DialogCanvas, DialogView};
use crate::tui::dialogs::geometry::ScrollExtent;
use crate::tui::layout::StyleRole;
use crate::tui::view::blocks::harmless;
use crate::tui::view::heads::agent_role;
use crate::tui::view::list_rows;
use crate::tui::view::paint::{self, RoleStyles, span, spans_width};
use crate::tui::view::transcript_rows;

use super::{RacePage, side};

/// From this width on, in columns, both sides are shown.
const WIDE: u16 = 120;

/// Draws the page on all rows but the last one.
pub fn draw(page: &RacePage, around: DialogView<'_>, canvas: DialogCanvas<'_>) {
    let area = canvas.above_hints();
    let DialogCanvas { layouts, styles, buffer, measured, .. } = canvas;
    paint::clear(area, styles, buffer);
    let row = |at: u16| Rect { y: area.y + at, height: u16::from(at < area.height), ..area };
    title(page, around, styles, inset(row(0)), buffer);
    paint::rule(row(1), styles, buffer);
    let below = |at: u16| Rect {
        y: area.y + at.min(area.height),
        height: area.height.saturating_sub(at),
        ..area
    };
    let (heads, panes) = if area.width >= WIDE {
        let left = (area.width - 1) / 2;
        let halves = |of: Rect| {
            let right = Rect { x: of.x + left + 1, width: of.width - left - 1, ..of };
            vec![(0, Rect { width: left, ..of }), (1, right)]
        };
        divider(Rect { x: area.x + left, width: 1, ..below(2) }, styles, buffer);
        paint::rule(row(3), styles, buffer);
        for (y, joint) in [(1, "┬"), (3, "┼")] {
            let cell = Rect { x: area.x + left, width: 1, ..row(y) };
            paint::overwrite(&[span(joint, StyleRole::Border)], styles, cell, buffer);
        }
        (halves(row(2)), halves(below(4)))
    } else {
        paint::rule(row(4), styles, buffer);
        (vec![(0, row(2)), (1, row(3))], vec![(page.selected, below(5))])
    };
    for (at, place) in heads {
        head(page, at, around, styles, place, buffer);
        measured.boxes.push((CellRect::from(place), at));
    }
    for (at, place) in panes {
        let agent = page.race.sides[at];
        measured.boxes.push((CellRect::from(place), at));
        let Some(conversation) = of_side(around, page, at) else { continue };
        layouts.draw_for(agent);
        let now = around.shared.shown_now();
        let anchor = transcript_rows::draw_pane(
            conversation,
            (&page.scroll[at], now),
            layouts,
            styles,
            place,
            buffer,
        );
        measured.anchors.push((at, anchor));
        measured.extent = ScrollExtent { rows: 0, shown: usize::from(place.height) };
    }
    layouts.draw_for(around.conversation.agent);
}

/// What is raced, and what there is to know about it.
fn title(
    page: &RacePage,
    around: DialogView<'_>,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    let keys = &around.shared.settings.keys;
    let note = if page.is_leaving {
        let text = format!("{} again takes neither answer", keys.key(RaceKey::Stop));
        span(text, StyleRole::Warning)
    } else if waits_for_the_other(page, around) {
        span("a local server with one slot answers one after the other", StyleRole::Muted)
    } else {
        span("both can only read until you take an answer", StyleRole::Muted)
    };
    paint::both_edges(&[span("Race", StyleRole::Strong)], &[note], styles, area, buffer);
}

/// The line of a side: the model, what it does, and what it has taken.
fn head(
    page: &RacePage,
    at: usize,
    around: DialogView<'_>,
    styles: &dyn RoleStyles,
    area: Rect,
    buffer: &mut Buffer,
) {
    if at == page.selected {
        paint::selected(area, styles, buffer);
    }
    let area = inset(area);
    let Some(started) = side(around.shared, page.race.sides[at]) else { return };
    let summary = &started.summary;
    let conversation = of_side(around, page, at);
    let (sign, state) = match summary.state.is_running() {
        true => ("◐", conversation.map(|it| doing(it, around.shared)).unwrap_or_default()),
        false => ("●", summary.state.words().to_owned()),
    };
    let role = agent_role(summary.state);
    let mark = if at == page.selected { "❯ " } else { "  " };
    let name = harmless(summary.model.as_deref().unwrap_or(&summary.task));
    let left = vec![
        span(mark, StyleRole::User),
        span(format!("{} ", at + 1), StyleRole::Muted),
        span(name, StyleRole::Strong),
        span(format!("  {sign} {state}"), role),
    ];
    let tokens = (summary.tokens > 0).then(|| format!("{} tokens", format_tokens(summary.tokens)));
    let cost = summary.cost.map(|cost| cost.to_string());
    let time = clock(started.running_time(around.shared.shown_now()));
    let figures: Vec<String> = [tokens, cost, Some(time)].into_iter().flatten().collect();
    let right = [span(figures.join("  "), StyleRole::Muted)];
    let room = area.width.saturating_sub(spans_width(&right) + 2);
    paint::both_edges(&list_rows::fit(left, room), &right, styles, area, buffer);
}

/// What a side that runs does, in a word or two.
fn doing(conversation: &Conversation, shared: &SharedState) -> String {
    let TurnActivity::Running(running) = &conversation.turn else { return "starting".to_owned() };
    match &running.phase {
        RunningTurnPhase::Waiting => "waiting for the model".to_owned(),
        RunningTurnPhase::Compacting(_) => "compacting".to_owned(),
        RunningTurnPhase::Prefill(progress) => {
            let part = (progress.processed * 100).checked_div(progress.total).unwrap_or_default();
            format!("reading the prompt {}%", part.min(100))
        }
        RunningTurnPhase::Thinking => "thinking".to_owned(),
        RunningTurnPhase::Answering => "answering".to_owned(),
        RunningTurnPhase::Calling(tool) | RunningTurnPhase::Tool(tool) => harmless(tool),
        RunningTurnPhase::Retrying { again, .. } => {
            format!("trying again ({} of {})", again.number, again.of)
        }
        RunningTurnPhase::RateLimited { at, .. } => {
            let left = at.saturating_sub(shared.shown_now()).as_millis().div_ceil(1000);
            format!("waiting {left} s for the server")
        }
        RunningTurnPhase::Stopping => "stopping".to_owned(),
    }
}

/// Whether a side waits while a server on this machine answers the other one: it may have room for one
/// answer at a time.
fn waits_for_the_other(page: &RacePage, around: DialogView<'_>) -> bool {
    let (Some(one), Some(other)) = (of_side(around, page, 0), of_side(around, page, 1)) else {
        return false;
    };
    let waits = |it: &Conversation| {
        it.turn.running().is_some_and(|running| running.phase == RunningTurnPhase::Waiting)
    };
    let is_shared = one.status.provider == other.status.provider;
    let is_local = one.status.host == ModelHost::Local && is_shared;
    is_local && waits(one) != waits(other) && !one.turn.is_idle() && !other.turn.is_idle()
}

fn of_side<'a>(around: DialogView<'a>, page: &RacePage, at: usize) -> Option<&'a Conversation> {
    around.background.get(&page.race.sides[at])
}

fn divider(area: Rect, styles: &dyn RoleStyles, buffer: &mut Buffer) {
    for y in area.y..area.y + area.height {
        let cell = Rect { y, height: 1, ..area };
        paint::spans(&[span("│", StyleRole::Border)], styles, cell, buffer);
    }
}

/// A row without its first and last column.
fn inset(row: Rect) -> Rect {
    Rect { x: row.x + 1, width: row.width.saturating_sub(2), ..row }
}
