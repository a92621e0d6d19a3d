//! The source text of the transcript's blocks, before wrapping and styling.
//!
//! Selecting, searching and copying use places in this text, so that they mean the same text at any
//! width, folded or not, and while more text streams in. Copied text is a part of it: without line
//! breaks from wrapping, borders or padding. The view's lines say which of their columns show which
//! bytes.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use crate::domain::sanitize::strip_ansi;
use crate::domain::{DiffLineTag, FileDiff};
use crate::tui::layout::markdown::code_blocks;

use super::transcript::{
    BlockBody, BlockId, PaneFold, ToolCallBlock, ToolCallContent, ToolCallState, Transcript,
    TranscriptBlock,
};
use crate::tui::app::diff_text;

/// A place in the text of the transcript. Later places are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TranscriptPosition {
    pub block: BlockId,
    pub part: BlockPart,
    /// Byte offset in the text of the part.
    pub at: usize,
}

/// The two texts of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockPart {
    /// The line that names a pane.
    Head,
    /// The text below the head.
    Body,
}

/// The text of a part of a block; empty if it has none.
pub fn text(block: &TranscriptBlock, part: BlockPart) -> Cow<'_, str> {
    match (part, &block.body) {
        (BlockPart::Head, BlockBody::Image(image)) => format!("Image {image}").into(),
        (BlockPart::Head, BlockBody::Tool(tool)) => format!("{} {}", tool.name, tool.title).into(),
        (
            BlockPart::Head,
            BlockBody::User(_)
            | BlockBody::Assistant(_)
            | BlockBody::Thinking(_)
            | BlockBody::Notice(_)
            | BlockBody::Lookups
            | BlockBody::TurnEnd(_),
        )
        | (BlockPart::Body, BlockBody::Image(_) | BlockBody::Lookups | BlockBody::TurnEnd(_)) => {
            Cow::Borrowed("")
        }
        (BlockPart::Head, BlockBody::Compacted(compaction)) => match block.is_pane() {
            true => compaction.told.as_str().into(),
            false => Cow::Borrowed(""),
        },
        (BlockPart::Body, BlockBody::Compacted(compaction)) => compaction.note.as_str().into(),
        (BlockPart::Body, BlockBody::User(text)) => text.into(),
        (BlockPart::Body, BlockBody::Assistant(prose)) => prose.text.as_str().into(),
        (BlockPart::Body, BlockBody::Thinking(thinking)) => thinking.text.as_str().into(),
        (BlockPart::Body, BlockBody::Notice(notice)) => notice.text.as_str().into(),
        (BlockPart::Body, BlockBody::Tool(tool)) => tool_text(tool),
    }
}

/// The command of a call, if it has several lines: then the body shows it above the output.
pub fn long_command(tool: &ToolCallBlock) -> Option<&str> {
    let command = tool.input.as_ref()?.get("command")?.as_str()?;
    command.contains('\n').then_some(command)
}

/// Byte offset of the output in the body of a call.
pub fn output_start(tool: &ToolCallBlock) -> usize {
    long_command(tool).map_or(0, |command| command.len() + 1)
}

/// The steps of a plan, for a call about the plan: each with its status, as in the call's input.
/// `None` for other calls, and for a call that shows something else.
pub fn plan(tool: &ToolCallBlock) -> Option<Vec<(&str, &str)>> {
    let shown = match tool.content {
        ToolCallContent::Nothing => true,
        ToolCallContent::Text(_) => tool.state == ToolCallState::Done,
        ToolCallContent::Live(_) | ToolCallContent::Terminal(_) | ToolCallContent::Diff(_) => false,
    };
    let todos = tool.input.as_ref().filter(|_| shown && tool.is_plan())?;
    let todos = todos.get("todos")?.as_array()?;
    let steps = todos.iter().map(|todo| {
        let text = |key: &str| todo.get(key).and_then(Value::as_str).unwrap_or_default();
        (text("status"), text("content"))
    });
    Some(steps.collect())
}

/// The Markdown check box before a step of a plan.
pub fn plan_mark(status: &str) -> &'static str {
    if status == "completed" { "- [x] " } else { "- [ ] " }
}

/// The text between two places: each part on lines of its own, a blank line between blocks, and
/// only the heads of folded panes.
pub fn between(
    transcript: &Transcript,
    from: TranscriptPosition,
    to: TranscriptPosition,
) -> String {
    let mut out = String::new();
    let mut last = None;
    for index in transcript.index(from.block)..=transcript.index(to.block) {
        let Some(block) = transcript.blocks().get(index) else { break };
        let ends_inside =
            [from, to].iter().any(|it| it.block == block.id && it.part == BlockPart::Body);
        let body_shows = ends_inside || transcript.fold(block) != PaneFold::Closed;
        for part in [BlockPart::Head, BlockPart::Body] {
            if part == BlockPart::Body && !body_shows {
                continue;
            }
            let piece = cut(block, part, from, to);
            if piece.is_empty() {
                continue;
            }
            if !out.is_empty() {
                let below_a_name = match part {
                    BlockPart::Head => matches!(last, Some((_, BlockPart::Head))),
                    BlockPart::Body => last == Some((block.id, BlockPart::Head)),
                };
                out.push_str(if below_a_name { "\n" } else { "\n\n" });
            }
            out.push_str(&piece);
            last = Some((block.id, part));
        }
    }
    out
}

/// The whole conversation as Markdown: the user's messages under a heading, answers, notices,
/// images, and the heads of calls; no reasoning.
pub fn whole(transcript: &Transcript) -> String {
    let mut out = String::new();
    for block in transcript.blocks() {
        let piece = match &block.body {
            BlockBody::User(text) => format!("## You\n\n{}", text.trim()),
            BlockBody::Assistant(prose) => prose.text.trim().to_owned(),
            BlockBody::Tool(_) => format!("`{}`", text(block, BlockPart::Head)),
            BlockBody::Image(image) => format!("({image})"),
            BlockBody::Notice(notice) => format!("({})", notice.text),
            BlockBody::Thinking(_)
            | BlockBody::Lookups
            | BlockBody::TurnEnd(_)
            | BlockBody::Compacted(_) => continue,
        };
        if !out.is_empty() {
            out.push_str("\n\n");
        }
        out.push_str(&piece);
    }
    out
}

/// The text for copying a whole block: a diff as a patch, output without escape sequences.
pub fn of_block(block: &TranscriptBlock) -> String {
    match &block.body {
        BlockBody::Tool(tool) => match &tool.content {
            ToolCallContent::Nothing if plan(tool).is_none() => tool.title.clone(),
            ToolCallContent::Diff(diff) => diff_text::unified(diff),
            ToolCallContent::Nothing
            | ToolCallContent::Live(_)
            | ToolCallContent::Text(_)
            | ToolCallContent::Terminal(_) => {
                let text = tool_text(tool);
                strip_ansi(text.get(output_start(tool)..).unwrap_or(&text)).into_owned()
            }
        },
        BlockBody::Image(image) => image.to_string(),
        BlockBody::User(_)
        | BlockBody::Assistant(_)
        | BlockBody::Thinking(_)
        | BlockBody::Notice(_)
        | BlockBody::Lookups
        | BlockBody::TurnEnd(_)
        | BlockBody::Compacted(_) => text(block, BlockPart::Body).into_owned(),
    }
}

/// The code of the last code block in an answer; `None` if there is none.
pub fn last_code(block: &TranscriptBlock) -> Option<String> {
    let BlockBody::Assistant(prose) = &block.body else { return None };
    let code = code_blocks(&prose.text).pop()?.code(&prose.text, &(0..prose.text.len()));
    Some(code.trim_end_matches('\n').to_owned())
}

/// The bytes of the line around `at`, without the line feed.
pub fn line_around(text: &str, at: usize) -> Range<usize> {
    let at = text.floor_char_boundary(at);
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    start..end
}

/// The beginning of the line of `at`, if only Markdown marks like `- `, `## `, `> ` are before
/// `at`; else `at`.
pub fn before_marks(text: &str, at: usize) -> usize {
    let start = line_around(text, at).start;
    let marks = |c: char| c.is_whitespace() || c.is_ascii_digit() || "-*+#>.)[]x|".contains(c);
    if text[start..text.floor_char_boundary(at)].chars().all(marks) { start } else { at }
}

fn tool_text(tool: &ToolCallBlock) -> Cow<'_, str> {
    let output = match &tool.content {
        ToolCallContent::Nothing => Cow::Borrowed(""),
        ToolCallContent::Live(live) => live.text.as_str().into(),
        ToolCallContent::Text(text) | ToolCallContent::Terminal(text) => text.as_str().into(),
        ToolCallContent::Diff(diff) => {
            let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
            lines.flat_map(|line| [line.text.as_str(), "\n"]).collect::<String>().into()
        }
    };
    if let Some(steps) = plan(tool) {
        let lines = steps.iter().flat_map(|(status, text)| [plan_mark(status), text, "\n"]);
        return lines.collect::<String>().into();
    }
    match long_command(tool) {
        Some(command) => format!("{command}\n{output}").into(),
        None => output,
    }
}

/// The selected text of one part.
fn cut(
    block: &TranscriptBlock,
    part: BlockPart,
    from: TranscriptPosition,
    to: TranscriptPosition,
) -> String {
    let text = text(block, part);
    let here = |at: usize| TranscriptPosition { block: block.id, part, at };
    let start = if from > here(0) { from.at } else { 0 };
    let end = if to < here(text.len()) { to.at } else { text.len() };
    if from > here(text.len()) || to <= here(0) || start >= end {
        return String::new();
    }
    let range = text.floor_char_boundary(start)..text.ceil_char_boundary(end);
    let piece = match (&block.body, part) {
        (BlockBody::Assistant(_), BlockPart::Body) => markdown(&text, range),
        (BlockBody::Tool(tool), BlockPart::Body) => match &tool.content {
            ToolCallContent::Diff(diff) => of_diff(diff, &range),
            ToolCallContent::Terminal(_) | ToolCallContent::Live(_) => {
                strip_ansi(&text[range]).into_owned()
            }
            ToolCallContent::Nothing | ToolCallContent::Text(_) => text[range].to_owned(),
        },
        (
            BlockBody::User(_)
            | BlockBody::Assistant(_)
            | BlockBody::Thinking(_)
            | BlockBody::Tool(_)
            | BlockBody::Image(_)
            | BlockBody::Notice(_)
            | BlockBody::Lookups
            | BlockBody::TurnEnd(_)
            | BlockBody::Compacted(_),
            BlockPart::Head | BlockPart::Body,
        ) => text[range].to_owned(),
    };
    piece.trim_matches('\n').to_owned()
}

/// A part of Markdown. A part of one code block is copied as code. Else a hidden mark is included
/// if its other half is in the part, and for several lines also the marks before the first one.
fn markdown(text: &str, range: Range<usize>) -> String {
    if let Some(block) = code_blocks(text).into_iter().find(|block| block.contains(&range)) {
        return block.code(text, &range);
    }
    let mut range = range;
    if text[range.clone()].contains('\n') {
        range.start = before_marks(text, range.start);
    }
    for mark in ["**", "~~", "`", "*"] {
        let inner = &text[range.clone()];
        let strong = if mark == "*" { 2 * inner.matches("**").count() } else { 0 };
        if (inner.matches(mark).count() - strong) % 2 == 0 {
            continue;
        }
        if text[..range.start].ends_with(mark) {
            range.start -= mark.len();
        } else if text[range.end..].starts_with(mark) {
            range.end += mark.len();
        }
    }
    let inner = &text[range.clone()];
    if inner.contains("](") && text[..range.start].ends_with('[') {
        range.start -= 1;
    }
    text[range].to_owned()
}

/// A part of a diff: plain code, unless it mixes removed lines with others; then each line has a
/// sign.
fn of_diff(diff: &FileDiff, range: &Range<usize>) -> String {
    let mut at = 0;
    let mut parts: Vec<(DiffLineTag, &str)> = Vec::new();
    for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
        let start = range.start.max(at) - at;
        let end = range.end.min(at + line.text.len()).saturating_sub(at);
        if range.start <= at + line.text.len() && at < range.end {
            parts.push((line.tag, line.text.get(start..end).unwrap_or_default()));
        }
        at += line.text.len() + 1;
    }
    let removed = parts.iter().filter(|(tag, _)| *tag == DiffLineTag::Removed).count();
    let signs = removed > 0 && removed < parts.len();
    let lines = parts.iter().map(|(tag, text)| match tag {
        DiffLineTag::Context if signs => format!(" {text}"),
        DiffLineTag::Removed if signs => format!("-{text}"),
        DiffLineTag::Added if signs => format!("+{text}"),
        DiffLineTag::Context | DiffLineTag::Removed | DiffLineTag::Added => (*text).to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl ToolCallBlock {
    /// Whether there is anything below the head to open.
    pub fn has_body(&self) -> bool {
        let shows = match &self.content {
            ToolCallContent::Nothing => false,
            ToolCallContent::Live(_) | ToolCallContent::Diff(_) => true,
            ToolCallContent::Text(text) | ToolCallContent::Terminal(text) => {
                !text.trim().is_empty()
            }
        };
        shows || self.full_output.is_some() || plan(self).is_some() || long_command(self).is_some()
    }
}
