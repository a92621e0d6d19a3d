//! Draws the line about the running turn: a slowly moving mark, the step of the plan or the tool,
//! what it waits for, and at the right edge the elapsed time and the amount of text. When there is
//! little room, the right side stays and the left side is cut, its detail first.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::format_tokens;
use crate::providers::{ModelLoading, PrefillProgress};
use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::block::ToolCallBlock;
use crate::tui::app::conversation::status::clock;
use crate::tui::app::conversation::turn::{
    RunningTurn, RunningTurnPhase, TokenCountCertainty, TurnActivity,
};
use crate::tui::app::keymap::ChatKey;
use crate::tui::app::settings::MotionPreference;
use crate::tui::layout::{StyleRole, StyledSpan};

use super::blocks::harmless;
use super::paint::{self, RoleStyles, span, spans_width, truncate, width};

/// Rows of the line: 0 or 1.
pub fn height(model: &ScreenModel) -> u16 {
    u16::from(!model.conversation.turn.is_idle())
}

/// Whether the line would say nothing but that a question waits, which the question itself says.
pub fn says_only_that_a_question_waits(model: &ScreenModel) -> bool {
    match &model.conversation.turn {
        TurnActivity::Running(running) => {
            running.phase != RunningTurnPhase::Stopping && model.has_question()
        }
        TurnActivity::Idle | TurnActivity::Starting { .. } => false,
    }
}

/// Draws the line about the running turn.
pub fn draw(model: &ScreenModel, styles: &dyn RoleStyles, area: Rect, buffer: &mut Buffer) {
    let Some(since) = model.conversation.turn.since() else { return };
    let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let elapsed = clock(model.shared.shown_now().saturating_sub(since));
    let counted = match &model.conversation.turn {
        TurnActivity::Running(running) => written(running, model),
        TurnActivity::Idle | TurnActivity::Starting { .. } => Vec::new(),
    };
    let mut right: Vec<StyledSpan> = counted;
    right.push(span(elapsed, StyleRole::Muted));
    let room = area.width.saturating_sub(spans_width(&right) + 4);
    let ActivityText { what, detail } = current_activity(model);
    let detail = stops(model).map_or(detail.clone(), |stops| format!("{stops} · {detail}"));
    let what = truncate(&what, room);
    let left = room.saturating_sub(width(&what) + 3);
    let mut line = vec![
        span(mark(model), StyleRole::Assistant),
        span(" ", StyleRole::Text),
        span(what, StyleRole::Text),
    ];
    // A few letters of a detail are not worth showing.
    if !detail.is_empty() && left >= 8.min(width(&detail)) {
        line.push(span(" · ", StyleRole::Muted));
        line.push(span(truncate(&detail, left), StyleRole::Muted));
    }
    paint::both_edges(&line, &right, styles, area, buffer);
}

/// The turn's activity in words, which the linear front end uses too.
pub fn words(model: &ScreenModel) -> String {
    let ActivityText { what, detail } = current_activity(model);
    if detail.is_empty() { what } else { format!("{what}, {detail}") }
}

/// The same without the detail.
pub fn what(model: &ScreenModel) -> String {
    current_activity(model).what
}

/// How far a model is loaded.
pub fn loading_words(loading: ModelLoading) -> String {
    match loading.percent {
        Some(percent) => format!("Loading {percent}%"),
        None => "Loading".to_owned(),
    }
}

struct ActivityText {
    what: String,
    detail: String,
}

impl ActivityText {
    fn of(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { what: what.into(), detail: detail.into() }
    }
}

fn current_activity(model: &ScreenModel) -> ActivityText {
    let TurnActivity::Running(running) = &model.conversation.turn else {
        return ActivityText::of("Sending", "");
    };
    if says_only_that_a_question_waits(model) {
        let tool = model.question().map(|question| harmless(&question.tool)).unwrap_or_default();
        return ActivityText::of("Waiting for your answer", tool);
    }
    if running.phase == RunningTurnPhase::Waiting
        && let Some(loading) = model.conversation.status.loading
    {
        return ActivityText::of(
            loading_words(loading),
            harmless(&model.conversation.status.model),
        );
    }
    let (plain, detail) = match &running.phase {
        RunningTurnPhase::Stopping => return ActivityText::of("Stopping", ""),
        RunningTurnPhase::Retrying { at, again, reason } => {
            let seconds = seconds_left(model, *at);
            let what = format!("Trying again in {seconds} s ({} of {})", again.number, again.of);
            return ActivityText::of(what, harmless(reason));
        }
        RunningTurnPhase::RateLimited { at, reason } => {
            let what = format!("Waiting {} s for the server", seconds_left(model, *at));
            return ActivityText::of(what, harmless(reason));
        }
        RunningTurnPhase::Prefill(progress) => return reading(progress),
        RunningTurnPhase::Waiting => ("Waiting for the model", String::new()),
        RunningTurnPhase::Compacting(read) => return compacting(running, read.as_ref()),
        RunningTurnPhase::Thinking => ("Thinking", String::new()),
        RunningTurnPhase::Answering => ("Answering", String::new()),
        RunningTurnPhase::Calling(tool) => ("Writing a tool call", harmless(tool)),
        RunningTurnPhase::Tool(tool) => ("Running", running_tools(model, tool)),
    };
    let step = model.conversation.plan.current();
    match (step, detail.is_empty()) {
        (Some(step), false) => ActivityText::of(harmless(step.active_form), detail),
        (Some(step), true) => ActivityText::of(harmless(step.active_form), plain.to_lowercase()),
        (None, _) if plain == "Running" => ActivityText::of(detail, ""),
        (None, _) => ActivityText::of(plain, detail),
    }
}

/// Seconds until `at`, rounded as in the clock next to it.
fn seconds_left(model: &ScreenModel, at: Duration) -> u128 {
    at.saturating_sub(model.shared.shown_now()).as_millis().div_ceil(1000)
}

/// A hint about how to end a wait.
fn stops(model: &ScreenModel) -> Option<String> {
    let TurnActivity::Running(running) = &model.conversation.turn else { return None };
    match running.phase {
        RunningTurnPhase::Retrying { .. } | RunningTurnPhase::RateLimited { .. }
            if !model.has_question() =>
        {
            Some(format!("{} stops", model.shared.settings.keys.key(ChatKey::Back)))
        }
        RunningTurnPhase::Retrying { .. }
        | RunningTurnPhase::RateLimited { .. }
        | RunningTurnPhase::Waiting
        | RunningTurnPhase::Compacting(_)
        | RunningTurnPhase::Prefill(_)
        | RunningTurnPhase::Thinking
        | RunningTurnPhase::Answering
        | RunningTurnPhase::Calling(_)
        | RunningTurnPhase::Tool(_)
        | RunningTurnPhase::Stopping => None,
    }
}

/// How far a compaction is; the amount of the summary stands at the right edge.
fn compacting(running: &RunningTurn, read: Option<&PrefillProgress>) -> ActivityText {
    let part = read.and_then(|read| (read.processed * 100).checked_div(read.total));
    let detail = match part {
        _ if running.streamed.bytes > 0 => "writing the summary".to_owned(),
        Some(part) if part < 100 => format!("reading the conversation, {part}%"),
        Some(_) => "waiting for the summary".to_owned(),
        None => "summarising the older part".to_owned(),
    };
    ActivityText::of("Compacting", detail)
}

fn reading(progress: &PrefillProgress) -> ActivityText {
    let part = (progress.processed * 100).checked_div(progress.total);
    let what = match part {
        Some(part) => format!("Reading the prompt {}%", part.min(100)),
        None => "Reading the prompt".to_owned(),
    };
    let read = format!(
        "{} of {} tokens",
        format_tokens(progress.processed),
        format_tokens(progress.total)
    );
    match progress.cached {
        0 => ActivityText::of(what, read),
        cached => ActivityText::of(what, format!("{read}, {} cached", format_tokens(cached))),
    }
}

/// The newest running call with its subject, and how many others run.
fn running_tools(model: &ScreenModel, name: &str) -> String {
    let mut running = model.conversation.transcript.running_calls();
    let named =
        |tool: &ToolCallBlock| format!("{} {}", harmless(&tool.name), harmless(&tool.title));
    let Some(newest) = running.next() else { return harmless(name) };
    match running.count() {
        0 => named(newest).trim_end().to_owned(),
        more => format!("{} and {more} more", named(newest).trim_end()),
    }
}

/// A mark that slowly grows and shrinks, once in two seconds.
fn mark(model: &ScreenModel) -> &'static str {
    const BEATS: [&str; 4] = ["∙", "•", "●", "•"];
    match model.shared.settings.motion {
        MotionPreference::Reduced => "●",
        MotionPreference::Full => BEATS[(model.shared.now.as_millis() / 500 % 4) as usize],
    }
}

/// Tokens and their rate. With reduced motion, only measured counts.
fn written(running: &RunningTurn, model: &ScreenModel) -> Vec<StyledSpan> {
    let mut text = String::new();
    let (count, certainty) = match model.shared.settings.motion {
        MotionPreference::Full => running.tokens(),
        MotionPreference::Reduced => (running.tokens, TokenCountCertainty::Measured),
    };
    match (count, certainty) {
        (0, _) => {}
        (count, TokenCountCertainty::Measured) => {
            text.push_str(&format!("{} tokens  ", format_tokens(count)));
        }
        (count, TokenCountCertainty::Estimated) => {
            text.push_str(&format!("~{} tokens  ", format_tokens(count)));
        }
    }
    if let (MotionPreference::Full, Some(rate)) =
        (model.shared.settings.motion, running.rate(model.shared.now))
    {
        text.push_str(&format!("~{rate:.0}/s  "));
    }
    if let (MotionPreference::Full, Some(reading)) =
        (model.shared.settings.motion, running.prefill_rate(model.shared.now))
    {
        let left = reading.left.as_secs_f64().ceil();
        text.push_str(&format!("{:.0}/s  ~{left:.0} s left  ", reading.rate));
    }
    if text.is_empty() { Vec::new() } else { vec![span(text, StyleRole::Muted)] }
}
