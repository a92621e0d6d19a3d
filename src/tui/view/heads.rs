//! The line that names a pane. It holds the elapsed time, so it is made for each frame while the
//! body below it is cached.

use std::time::Duration;

use crate::domain::{MessageImage, SubagentState, SubagentSummary};
use crate::tui::app::conversation::block::{
    BlockBody, CompactionBlock, PaneFold, TextState, ThinkingText, ToolCallBlock, ToolCallContent,
    ToolCallOrigin, ToolCallState, TranscriptBlock,
};
use crate::tui::app::conversation::status::clock;
use crate::tui::layout::{SourceRun, StyleRole, StyledSpan};

use super::blocks::harmless;
use super::lookups;
use super::paint::{self, span, spans_width, truncate};
use super::pane_head::PaneHead;

/// Columns of the tool's name, so that titles align.
const NAME: usize = 7;
/// Narrower heads show the result of a call without its time.
const ROOMY: u16 = 60;

/// The head of a block, if it has one, fitted to `width`. `run` are the calls under a line of lookups.
pub fn head(
    block: &TranscriptBlock,
    run: &[TranscriptBlock],
    fold: PaneFold,
    now: Duration,
    width: u16,
) -> Option<PaneHead> {
    match &block.body {
        BlockBody::Thinking(thinking) => Some(of_thinking(thinking, fold, now)),
        BlockBody::Tool(tool) => {
            let indent = if block.run.is_some() { "  " } else { "" };
            Some(of_tool(tool, indent, fold, now, width))
        }
        BlockBody::Lookups => Some(lookups::head(run, fold, now, width)),
        BlockBody::Image(image) => Some(of_image(image, fold, width)),
        BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Notice(_)
        | BlockBody::TurnEnd(_) => None,
        BlockBody::Compacted(compaction) => {
            block.is_pane().then(|| of_compaction(compaction, fold, width))
        }
    }
}

/// Whether a block has a head.
pub fn has_head(block: &TranscriptBlock) -> bool {
    match &block.body {
        BlockBody::Thinking(_) | BlockBody::Tool(_) | BlockBody::Lookups | BlockBody::Image(_) => {
            true
        }
        BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Notice(_)
        | BlockBody::TurnEnd(_) => false,
        BlockBody::Compacted(_) => block.is_pane(),
    }
}

/// A duration as text: `0.6 s`, `14 s`, `1:05`. `None` below half a second, which says nothing.
pub fn format_elapsed(time: Duration) -> Option<String> {
    match time.as_millis() {
        0..500 => None,
        500..9_950 => Some(format!("{:.1} s", time.as_secs_f64())),
        9_950..59_500 => Some(format!("{:.0} s", time.as_secs_f64())),
        _ => Some(clock(time)),
    }
}

fn of_thinking(thinking: &ThinkingText, fold: PaneFold, now: Duration) -> PaneHead {
    let mark = if fold == PaneFold::Closed { "▸ " } else { "▾ " };
    let text = match (thinking.state, thinking.elapsed) {
        (TextState::Streaming, _) => {
            let since = thinking.since.unwrap_or(now);
            format!("Thinking {}", clock(now.saturating_sub(since)))
        }
        (TextState::Done, elapsed) => match elapsed.and_then(format_elapsed) {
            Some(elapsed) => format!("Thought {elapsed}"),
            None => "Thought".to_owned(),
        },
        (TextState::Dropped, _) => "Thought, then had to start over".to_owned(),
    };
    let left = vec![span(mark, StyleRole::Thinking), span(text, StyleRole::Thinking)];
    PaneHead { left, ..PaneHead::default() }
}

fn of_compaction(compaction: &CompactionBlock, fold: PaneFold, width: u16) -> PaneHead {
    let mark = if fold == PaneFold::Closed { "▸ " } else { "▾ " };
    let text = truncate(&harmless(&compaction.told), width.saturating_sub(2));
    let left = vec![span(mark, StyleRole::System), span(text, StyleRole::System)];
    PaneHead { left, ..PaneHead::default() }
}

fn of_image(image: &MessageImage, fold: PaneFold, width: u16) -> PaneHead {
    let mark = if fold == PaneFold::Closed { "▸ " } else { "▾ " };
    let right = vec![span(super::image::about(image), StyleRole::Muted)];
    let mut left =
        vec![span(mark, StyleRole::User), span(format!("{:NAME$} ", "Image"), StyleRole::User)];
    let room = width.saturating_sub(spans_width(&left) + spans_width(&right) + 2);
    left.push(span(truncate(image.name(), room), StyleRole::Text));
    PaneHead { left, right, ..PaneHead::default() }
}

fn of_tool(
    tool: &ToolCallBlock,
    indent: &str,
    fold: PaneFold,
    now: Duration,
    width: u16,
) -> PaneHead {
    let right = right(tool, now, width);
    let (mark, mark_role) = mark(tool, fold);
    // A command of the user's is told by its sign, and not by its colour alone.
    let sign = if tool.origin == ToolCallOrigin::User { "! " } else { "" };
    let called = truncate(&harmless(&tool.name), width);
    let name = format!("{:NAME$} ", format!("{sign}{called}"));
    let name_role =
        if tool.state == ToolCallState::Failed { StyleRole::Error } else { StyleRole::Tool };
    let mut left = vec![span(format!("{indent}{mark} "), mark_role), span(name, name_role)];
    let room = width.saturating_sub(spans_width(&left) + spans_width(&right) + 2);
    let mut runs = Vec::new();
    let column = spans_width(&left[..1]) + paint::width(sign);
    let called = called.trim_end_matches('…');
    if tool.name.starts_with(called) {
        SourceRun::push_text(&mut runs, called, column, 0);
    }
    let title = truncate(&harmless(&tool.title), room);
    // If characters were escaped, columns no longer match bytes, so there are no runs.
    let shown = title.trim_end_matches('…');
    if tool.title.starts_with(shown) {
        SourceRun::push_text(&mut runs, shown, spans_width(&left), tool.name.len() + 1);
    }
    left.push(span(title, StyleRole::Text));
    PaneHead { left, right, runs }
}

/// What can be opened has a triangle, whatever came of it; how it went is said behind the title.
fn mark(tool: &ToolCallBlock, fold: PaneFold) -> (&'static str, StyleRole) {
    let role = match tool.state {
        ToolCallState::Writing(_) | ToolCallState::Waiting => return ("○", StyleRole::Muted),
        ToolCallState::Running => return ("◐", StyleRole::Warning),
        ToolCallState::Failed | ToolCallState::Denied => StyleRole::Error,
        ToolCallState::Cancelled => StyleRole::Warning,
        ToolCallState::Done if tool.origin == ToolCallOrigin::User => StyleRole::User,
        ToolCallState::Done => StyleRole::Tool,
    };
    let mark = match fold {
        _ if !tool.has_body() => "●",
        PaneFold::Closed => "▸",
        PaneFold::Preview | PaneFold::Open => "▾",
    };
    (mark, role)
}

/// The result of the call, and its time.
fn right(tool: &ToolCallBlock, now: Duration, width: u16) -> Vec<StyledSpan> {
    let mut spans = outcome(tool);
    let ran = tool
        .agent
        .as_ref()
        .filter(|agent| agent.in_background)
        .map(|agent| Duration::from_millis(agent.elapsed_ms));
    let time = match tool.state {
        // The call itself ended at once.
        ToolCallState::Done if ran.is_some() => ran.and_then(format_elapsed),
        ToolCallState::Writing(_) | ToolCallState::Waiting => return spans,
        ToolCallState::Running => Some(clock(now.saturating_sub(tool.since.unwrap_or(now)))),
        ToolCallState::Done | ToolCallState::Failed | ToolCallState::Cancelled => {
            tool.elapsed.and_then(format_elapsed)
        }
        // The call did not run.
        ToolCallState::Denied => None,
    };
    let Some(time) = time else { return spans };
    if spans.is_empty() {
        return vec![span(time, StyleRole::Muted)];
    }
    if width >= ROOMY {
        spans.push(span(format!("  {time}"), StyleRole::Muted));
    } else if tool.state == ToolCallState::Running {
        spans.push(span(format!(" {time}"), StyleRole::Muted));
    }
    spans
}

/// The colour of how a started agent stands.
pub fn agent_role(state: SubagentState) -> StyleRole {
    if state == SubagentState::Done {
        StyleRole::Success
    } else if state.is_failure() {
        StyleRole::Error
    } else {
        StyleRole::Warning
    }
}

/// How an agent stands that the call has started, and what it has taken.
fn of_agent(agent: &SubagentSummary) -> Vec<StyledSpan> {
    let role = agent_role(agent.state);
    let figures = format!("  {}", agent.figures());
    vec![span(agent.state.words(), role), span(figures, StyleRole::Muted)]
}

fn outcome(tool: &ToolCallBlock) -> Vec<StyledSpan> {
    if let Some(agent) = &tool.agent {
        return of_agent(agent);
    }
    let summary = tool.summary.as_deref().map(harmless);
    let with = |word: &str, role: StyleRole| match &summary {
        Some(summary) if !word.ends_with(summary.as_str()) => {
            vec![span(format!("{word}, {summary}"), role)]
        }
        Some(_) | None => vec![span(word, role)],
    };
    match tool.state {
        ToolCallState::Waiting => vec![span("waiting", StyleRole::Muted)],
        // With fewer bytes a count says nothing about the progress.
        ToolCallState::Writing(..100) => vec![span("writing", StyleRole::Muted)],
        ToolCallState::Writing(bytes) => {
            vec![span(format!("writing {:.1} kB", bytes as f64 / 1000.0), StyleRole::Muted)]
        }
        ToolCallState::Running => vec![span("running", StyleRole::Warning)],
        ToolCallState::Done => match (&tool.content, summary) {
            (ToolCallContent::Diff(diff), summary) => {
                let (added, removed) = (format!("+{}", diff.added), format!("-{}", diff.removed));
                // A note before the counts: that only a part of the change was made.
                let before = summary.and_then(|summary| {
                    summary.strip_suffix(&format!("{added} {removed}")).map(str::to_owned)
                });
                let undone = if tool.is_undone { "undone  " } else { "" };
                vec![
                    span(undone, StyleRole::Muted),
                    span(before.unwrap_or_default(), StyleRole::Muted),
                    span(added, StyleRole::Success),
                    span(" ", StyleRole::Text),
                    span(removed, StyleRole::Error),
                ]
            }
            (_, Some(summary)) => vec![span(summary, StyleRole::Muted)],
            (_, None) => Vec::new(),
        },
        ToolCallState::Failed => with("✗ failed", StyleRole::Error),
        ToolCallState::Denied => vec![span("⊘ denied", StyleRole::Error)],
        ToolCallState::Cancelled => vec![span("■ stopped", StyleRole::Warning)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        let at = Duration::from_millis;
        for (millis, shown) in [
            (499, None),
            (600, Some("0.6 s")),
            (4_210, Some("4.2 s")),
            (14_400, Some("14 s")),
            (59_400, Some("59 s")),
            (65_000, Some("1:05")),
        ] {
            assert_eq!(format_elapsed(at(millis)).as_deref(), shown, "{millis}");
        }
        assert_eq!(clock(at(7_900)), "0:07");
        assert_eq!(clock(Duration::from_secs(3_723)), "1:02:03");
    }
}
