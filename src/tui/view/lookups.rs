//! The line above a run of calls that only look something up: how many, of what, and which did not work.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::domain::{ToolKind, pluralise};
use crate::tools::kind_of;
use crate::tui::app::conversation::block::{
    PaneFold, ToolCallBlock, ToolCallState, TranscriptBlock,
};
use crate::tui::app::conversation::status::clock;
use crate::tui::layout::one_line::harmless;
use crate::tui::layout::{StyleRole, StyledSpan};

use super::paint::{self, span, spans_width, truncate};
use super::pane_head::PaneHead;

/// Columns of one name at most.
const NAME: u16 = 32;

/// The line for these calls, fitted to `width`.
pub fn head(calls: &[TranscriptBlock], fold: PaneFold, now: Duration, width: u16) -> PaneHead {
    let calls = || calls.iter().filter_map(|block| block.body.tool_call());
    let count = |state: ToolCallState| calls().filter(|tool| tool.state == state).count();
    let is_live = calls().any(|tool| !tool.is_over());
    let (mark, role) = match fold {
        _ if is_live => ("◐ ", StyleRole::Warning),
        PaneFold::Closed => ("▸ ", StyleRole::Tool),
        PaneFold::Preview | PaneFold::Open => ("▾ ", StyleRole::Tool),
    };
    let mut right = Vec::new();
    for (state, sign, word, role) in [
        (ToolCallState::Failed, "✗", "failed", StyleRole::Error),
        (ToolCallState::Denied, "⊘", "denied", StyleRole::Error),
        (ToolCallState::Cancelled, "■", "stopped", StyleRole::Warning),
    ] {
        let count = count(state);
        if count > 0 {
            let gap = if right.is_empty() { "" } else { "  " };
            right.push(span(format!("{gap}{sign} {count} {word}"), role));
        }
    }
    if let Some(since) = calls().filter_map(|tool| tool.since).min().filter(|_| is_live) {
        let gap = if right.is_empty() { "" } else { "  " };
        let time = clock(now.saturating_sub(since));
        right.push(span(format!("{gap}running {time}"), StyleRole::Muted));
    }
    let room = width.saturating_sub(paint::width(mark) + spans_width(&right) + 2);
    let what = truncate(&what(calls(), is_live), room);
    let mut left = vec![span(mark, role), span(what, StyleRole::Tool)];
    if fold == PaneFold::Closed {
        let room = width.saturating_sub(spans_width(&left) + spans_width(&right) + 4);
        left.extend(names(calls(), room));
    }
    PaneHead { left, right, ..PaneHead::default() }
}

/// What the calls do: "Read 8 files", "Read 2 files, searched 3 times".
fn what<'a>(calls: impl Iterator<Item = &'a ToolCallBlock>, is_live: bool) -> String {
    let (mut files, mut searches, mut unnamed) = (BTreeSet::new(), 0_usize, 0_usize);
    for tool in calls {
        match kind_of(&tool.name) {
            ToolKind::Search => searches += 1,
            // A call that is still being written has no title.
            _ if tool.title.is_empty() => unnamed += 1,
            _ => {
                files.insert(without_range(&tool.title));
            }
        }
    }
    let count = files.len() + unnamed;
    let files = pluralise(count, "file");
    let times = if searches == 1 { "once".to_owned() } else { format!("{searches} times") };
    match (is_live, count, searches) {
        (true, 0, _) => format!("Searching {times}"),
        (true, _, 0) => format!("Reading {files}"),
        (true, _, _) => format!("Reading {files}, searching {times}"),
        (false, 0, _) => format!("Searched {times}"),
        (false, _, 0) => format!("Read {files}"),
        (false, _, _) => format!("Read {files}, searched {times}"),
    }
}

/// The names that fit, behind two spaces, and `…` for the others.
fn names<'a>(calls: impl Iterator<Item = &'a ToolCallBlock>, room: u16) -> Option<StyledSpan> {
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for tool in calls.filter(|tool| !tool.title.is_empty()) {
        let name = match kind_of(&tool.name) {
            ToolKind::Search => tool.title.as_str(),
            _ => {
                let path = without_range(&tool.title);
                path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
            }
        };
        if !seen.insert(name) {
            continue;
        }
        let name = truncate(&harmless(name), NAME);
        let gap = if text.is_empty() { "  " } else { ", " };
        // Room for the sign that says that there are more.
        if paint::width(&text) + paint::width(gap) + paint::width(&name) + 3 > room {
            text.push_str(if text.is_empty() { "" } else { ", …" });
            break;
        }
        text.push_str(gap);
        text.push_str(&name);
    }
    (!text.is_empty()).then(|| span(text, StyleRole::Text))
}

/// The title of a read without the lines that were read.
fn without_range(title: &str) -> &str {
    match title.rsplit_once(' ') {
        Some((path, range))
            if range.starts_with(|c: char| c.is_ascii_digit())
                && range.chars().all(|c| c.is_ascii_digit() || "-–…".contains(c)) =>
        {
            path
        }
        Some(_) | None => title,
    }
}
