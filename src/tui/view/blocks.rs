//! Lays out the body of a block: picks the layout for its kind of text, decides how much a fold
//! shows, and indents it.
//!
//! However long a text is, what is laid out of it is bounded. What is copied, searched, exported and
//! shown in the pager is the whole text.

use crate::domain::{NoticeLevel, grouped};
use crate::platform::graphics::GraphicsCanvas;
use crate::tui::app::conversation::block::{
    AssistantText, BlockBody, LiveOutput, PaneFold, TextState, ToolCallBlock, ToolCallContent,
    ToolCallState, TranscriptBlock,
};
use crate::tui::app::conversation::source;
use crate::tui::layout::ansi::{self, AnsiExcerpt};
use crate::tui::layout::one_line::beginning;
pub use crate::tui::layout::one_line::harmless;
use crate::tui::layout::wrap::PROSE_WIDTH;
use crate::tui::layout::{
    BlockLayout, HighlightState, StyleRole, StyledLine, SyntaxHighlighter, diff, markdown, plain,
};

use super::closing_line;
use super::image;
use super::paint::{line, span};

/// How much a pane in preview shows.
const PREVIEW: BlockExcerptLimits = BlockExcerptLimits { head: 3, tail: 5, bytes: 2 * 1024 };
/// How much an open pane shows. The pager shows all of it.
const WHOLE: BlockExcerptLimits = BlockExcerptLimits { head: 200, tail: 200, bytes: 128 * 1024 };
/// How much is shown, as plain text, of Markdown that is too long.
const LONG_MARKDOWN: BlockExcerptLimits =
    BlockExcerptLimits { head: 1000, tail: 1000, bytes: 64 * 1024 };
/// How much is shown of a long message of the user.
const MESSAGE: BlockExcerptLimits = BlockExcerptLimits { head: 6, tail: 3, bytes: 512 };
/// Lines shown of output while the command runs.
const RUNNING: usize = 10;
/// Rows shown of a diff; `/diff` shows all of it.
const DIFF: usize = 800;
/// Columns by which panes are indented.
pub(super) const INDENT: usize = 4;

/// The lines of a block below its head.
pub fn body(
    block: &TranscriptBlock,
    fold: PaneFold,
    width: u16,
    highlighter: &SyntaxHighlighter,
    canvas: Option<GraphicsCanvas>,
    view_key: &str,
) -> BlockLayout {
    let prose = width.min(PROSE_WIDTH);
    let lines = match &block.body {
        BlockBody::User(text) => user(text, fold, prose, view_key),
        BlockBody::Assistant(prose) => return assistant(prose, width, highlighter, view_key),
        BlockBody::Thinking(thinking) => match fold {
            PaneFold::Closed => Vec::new(),
            PaneFold::Preview | PaneFold::Open => {
                let role = prose_role(thinking.state, StyleRole::Thinking);
                let lay = |part: &str| plain::render(part, role, narrower(prose, 2));
                indent(cut(&thinking.text, WHOLE, view_key, lay), 2)
            }
        },
        BlockBody::Tool(tool) => {
            let laid = tool_body(tool, fold, narrower(width, INDENT), highlighter, view_key);
            return BlockLayout { lines: indent(laid.lines, INDENT), ..laid };
        }
        BlockBody::Image(picture) => match fold {
            PaneFold::Closed => Vec::new(),
            PaneFold::Preview | PaneFold::Open => {
                let width = narrower(width, INDENT);
                indent(
                    match canvas {
                        Some(canvas) => image::frame(picture, image::size(picture, canvas, width)),
                        None => image::label(picture, width),
                    },
                    INDENT,
                )
            }
        },
        BlockBody::Notice(notice) => {
            let (mark, role) = match notice.level {
                NoticeLevel::Info => ("i ", StyleRole::System),
                NoticeLevel::Warning => ("! ", StyleRole::Warning),
                NoticeLevel::Error => ("✗ ", StyleRole::Error),
            };
            let lay = |part: &str| plain::render(part, role, narrower(prose, 2));
            marked(mark, role, cut(&notice.text, WHOLE, view_key, lay))
        }
        BlockBody::Lookups => Vec::new(),
        BlockBody::TurnEnd(closing) => vec![closing_line::render(closing)],
        BlockBody::Compacted(compaction) if compaction.note.is_empty() => {
            let text = harmless(&compaction.told);
            marked(
                "─ ",
                StyleRole::System,
                plain::render(&text, StyleRole::System, narrower(prose, 2)),
            )
        }
        BlockBody::Compacted(compaction) => match fold {
            PaneFold::Closed => Vec::new(),
            PaneFold::Preview | PaneFold::Open => {
                let lay = |part: &str| plain::render(part, StyleRole::System, narrower(prose, 2));
                indent(cut(&compaction.note, WHOLE, view_key, lay), 2)
            }
        },
    };
    fixed(lines)
}

/// The model's thinking while it streams: complete lines are laid out once.
#[derive(Debug, Default)]
pub struct StreamingThinking {
    lines: Vec<StyledLine>,
    /// Number of lines, and of source bytes, that no longer change.
    kept: (usize, usize),
    width: u16,
}

impl StreamingThinking {
    /// Lays out the text that was added since the last call.
    pub fn update(&mut self, text: &str, width: u16) {
        if width != self.width || text.len() < self.kept.1 {
            *self = Self { width, ..Self::default() };
        }
        self.lines.truncate(self.kept.0);
        let from = self.kept.1;
        let whole = text[from..].rfind('\n').map_or(from, |end| from + end + 1);
        if whole > from {
            self.push(&text[from..whole], from);
            self.kept = (self.lines.len(), whole);
        }
        if whole < text.len() {
            self.push(&text[whole..], whole);
        }
    }

    /// All lines, without empty ones at the end.
    pub fn lines(&self) -> &[StyledLine] {
        let end = self.lines.iter().rposition(|line| !is_blank(line));
        &self.lines[..end.map_or(0, |end| end + 1)]
    }

    fn push(&mut self, text: &str, offset: usize) {
        let width = narrower(self.width.min(PROSE_WIDTH), 2);
        for line in text.split_inclusive('\n').scan(offset, |at, source| {
            let start = *at;
            *at += source.len();
            Some((start, source))
        }) {
            let (start, source) = line;
            let mut rows = plain::render(source, StyleRole::Thinking, width);
            if rows.is_empty() {
                rows.push(StyledLine::default());
            }
            rows.iter_mut().for_each(|row| row.move_source(start));
            self.lines.extend(indent(rows, 2));
        }
    }
}

fn is_blank(line: &StyledLine) -> bool {
    line.spans.iter().all(|span| span.text.trim().is_empty())
}

fn user(text: &str, fold: PaneFold, width: u16, view_key: &str) -> Vec<StyledLine> {
    let text = text.trim_end();
    let lay = |part: &str| plain::render(part, StyleRole::UserMessage, narrower(width, 2));
    let lines = match fold {
        PaneFold::Open => cut(text, WHOLE, view_key, lay),
        PaneFold::Preview => cut(text, MESSAGE, view_key, lay),
        PaneFold::Closed => {
            cut(text, BlockExcerptLimits { head: 1, tail: 0, bytes: 256 }, view_key, lay)
        }
    };
    let mut lines = marked("❯ ", StyleRole::User, lines);
    lines.iter_mut().for_each(|line| line.fill = Some(StyleRole::UserMessage));
    lines
}

fn assistant(
    prose: &AssistantText,
    width: u16,
    highlighter: &SyntaxHighlighter,
    view_key: &str,
) -> BlockLayout {
    match prose.state {
        TextState::Streaming | TextState::Done => {
            bounded_markdown(&prose.text, width, highlighter, view_key)
        }
        TextState::Dropped => fixed(cut(&prose.text, LONG_MARKDOWN, view_key, |part| {
            plain::render(part, StyleRole::Strikethrough, width)
        })),
    }
}

/// Lays out Markdown; of one that is too long the ends, as plain text. `view_key` shows all of it.
pub fn bounded_markdown(
    text: &str,
    width: u16,
    highlighter: &SyntaxHighlighter,
    view_key: &str,
) -> BlockLayout {
    if text.len() <= markdown::MAX_MARKDOWN {
        return markdown::render(text, width, highlighter);
    }
    let lay = |part: &str| plain::render(part, StyleRole::Text, width.min(PROSE_WIDTH));
    fixed(cut(text, LONG_MARKDOWN, view_key, lay))
}

fn prose_role(state: TextState, role: StyleRole) -> StyleRole {
    match state {
        TextState::Streaming | TextState::Done => role,
        TextState::Dropped => StyleRole::Strikethrough,
    }
}

fn tool_body(
    tool: &ToolCallBlock,
    fold: PaneFold,
    width: u16,
    highlighter: &SyntaxHighlighter,
    view_key: &str,
) -> BlockLayout {
    let mut lines = Vec::new();
    if fold == PaneFold::Closed {
        return fixed(lines);
    }
    if let ToolCallContent::Diff(diff) = &tool.content {
        return diff::render(diff, width, DIFF, highlighter);
    }
    let ends = if fold == PaneFold::Open { WHOLE } else { PREVIEW };
    if let Some(command) = source::long_command(tool).filter(|_| fold == PaneFold::Open) {
        let lay = |part: &str| plain::render(part, StyleRole::Code, narrower(width, 2));
        lines.extend(marked("$ ", StyleRole::Muted, cut(command, WHOLE, view_key, lay)));
    }
    if let Some(steps) = source::plan(tool) {
        return fixed(plan(&steps, width));
    }
    let above = lines.len();
    match &tool.content {
        ToolCallContent::Nothing => {}
        ToolCallContent::Live(live) => {
            let most = if fold == PaneFold::Open { WHOLE.tail } else { RUNNING };
            lines.extend(running(live, most, width));
        }
        ToolCallContent::Text(text) => {
            lines.extend(cut(text, ends, view_key, |part| {
                plain::render(part, result_role(tool), width)
            }));
        }
        ToolCallContent::Terminal(text) if tool.is_approved_plan() => {
            lines.extend(cut(text, ends, view_key, |part| {
                markdown::render(part, width, highlighter).lines
            }));
        }
        ToolCallContent::Terminal(text) => {
            lines.extend(cut(text, ends, view_key, |part| {
                ansi::render(part, AnsiExcerpt::All, width)
            }));
        }
        ToolCallContent::Diff(_) => {}
    }
    for line in &mut lines[above..] {
        line.move_source(source::output_start(tool));
    }
    if tool.full_output.is_some() {
        let source = lines.last().map_or(0, |line| line.source);
        lines.push(moved(hint("the result is a part of the output", view_key), source));
    }
    fixed(lines)
}

/// The output of a failed call is normal text: the head already marks the failure.
fn result_role(tool: &ToolCallBlock) -> StyleRole {
    match tool.state {
        ToolCallState::Failed => StyleRole::Text,
        ToolCallState::Writing(_)
        | ToolCallState::Waiting
        | ToolCallState::Running
        | ToolCallState::Done
        | ToolCallState::Denied
        | ToolCallState::Cancelled => StyleRole::Muted,
    }
}

/// The steps of a plan, one row each.
fn plan(steps: &[(&str, &str)], width: u16) -> Vec<StyledLine> {
    let mut at = 0;
    let lines = steps.iter().flat_map(|(status, text)| {
        let (mark, role) = match *status {
            "completed" => ("✓ ", StyleRole::Success),
            "in_progress" => ("→ ", StyleRole::Strong),
            _ => ("· ", StyleRole::Muted),
        };
        let from = at + source::plan_mark(status).len();
        at = from + text.len() + 1;
        let rows = marked(mark, role, plain::render(&beginning(text), role, narrower(width, 2)));
        rows.into_iter().map(move |row| moved(row, from))
    });
    lines.collect()
}

/// The last lines of a running command's output.
fn running(live: &LiveOutput, most: usize, width: u16) -> Vec<StyledLine> {
    let text = live.text.strip_suffix('\n').unwrap_or(&live.text);
    let start = text.rmatch_indices('\n').nth(most - 1).map_or(0, |(at, _)| at + 1);
    let above = live.hidden + text[..start].matches('\n').count();
    let mut lines = Vec::new();
    if above > 0 {
        lines.push(note(format!("… {above} lines above")));
    }
    let shown = ansi::render(&text[start..], AnsiExcerpt::All, width);
    lines.extend(shown.into_iter().map(|line| moved(line, start)));
    lines
}

/// How much of a text is shown: rows at its beginning and end, and at most this many bytes of each.
#[derive(Debug, Clone, Copy)]
struct BlockExcerptLimits {
    head: usize,
    tail: usize,
    bytes: usize,
}

/// Lays out the first and last rows of a text, and between them how many lines are not all shown. Only
/// what may be shown is laid out.
fn cut(
    text: &str,
    ends: BlockExcerptLimits,
    view_key: &str,
    lay: impl Fn(&str) -> Vec<StyledLine>,
) -> Vec<StyledLine> {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return Vec::new();
    }
    let BlockExcerptLimits { head, tail, bytes } = ends;
    // A note that one row is hidden takes as much room as that row.
    let most = head + tail + 1;
    if text.len() <= bytes * 2 && text.matches('\n').count() < most {
        let rows = lay(text);
        if rows.len() <= most {
            return rows;
        }
    }
    let end = text.match_indices('\n').nth(head - 1).map_or(text.len(), |(at, _)| at);
    let end = text.floor_char_boundary(end.min(bytes));
    let mut above = lay(&text[..end]);
    let end = above.get(head).map_or(end, |hidden| hidden.source);
    above.truncate(head);
    let start = match tail.checked_sub(1) {
        None => text.len(),
        Some(last) => text.rmatch_indices('\n').nth(last).map_or(0, |(at, _)| at + 1),
    };
    let start = text.ceil_char_boundary(start.max(text.len().saturating_sub(bytes))).max(end);
    let mut below = if start < text.len() { lay(&text[start..]) } else { Vec::new() };
    below.drain(..below.len().saturating_sub(tail));
    below.iter_mut().for_each(|row| row.move_source(start));
    let start = below.first().map_or(text.len(), |first| first.source);
    above.push(moved(hint(&hidden(text, end, start), view_key), end));
    above.extend(below);
    above
}

/// How much of a text is hidden: the number of lines that are not all shown, or the size of what is
/// hidden inside a single line.
fn hidden(text: &str, end: usize, start: usize) -> String {
    let part = text.get(end..start).unwrap_or_default();
    let lines = part.trim_matches('\n').matches('\n').count() + 1;
    let is_whole = (end == 0 || text[..end].ends_with('\n') || part.starts_with('\n'))
        && (start == text.len() || text[..start].ends_with('\n'));
    match lines {
        1 if !is_whole => format!("{:.1} kB", part.len() as f64 / 1000.0),
        1 => "1 line".to_owned(),
        lines => format!("{} lines", grouped(lines)),
    }
}

/// Says that there is more, and which keys show it; what is left in the terminal at the end has none.
fn hint(more: &str, view_key: &str) -> StyledLine {
    match view_key {
        "" => note(format!("… {more}")),
        keys => note(format!("… {more} · {keys} shows all")),
    }
}

fn note(text: String) -> StyledLine {
    line(vec![span(text, StyleRole::Muted)])
}

fn marked(mark: &str, role: StyleRole, lines: Vec<StyledLine>) -> Vec<StyledLine> {
    let mut lines = indent(lines, 2);
    if let Some(first) = lines.first_mut().and_then(|line| line.spans.first_mut()) {
        *first = span(mark, role);
    }
    lines
}

/// Indents lines; the indentation is not copied.
fn indent(mut lines: Vec<StyledLine>, by: usize) -> Vec<StyledLine> {
    for line in lines.iter_mut().filter(|_| by > 0) {
        line.indent(span(" ".repeat(by), StyleRole::Text), u16::try_from(by).unwrap_or(0));
    }
    lines
}

fn moved(mut line: StyledLine, by: usize) -> StyledLine {
    line.move_source(by);
    line
}

fn narrower(width: u16, by: usize) -> u16 {
    width.saturating_sub(u16::try_from(by).unwrap_or(0)).max(1)
}

fn fixed(lines: Vec<StyledLine>) -> BlockLayout {
    BlockLayout { lines, colours: HighlightState::Final }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::layout::one_line::MAX_LINE;

    #[test]
    fn streamed_thinking_equals_a_fresh_layout() {
        let text = "one two three four\n\nfive\nsix seven\n\n\neight";
        let mut growing = StreamingThinking::default();
        for end in 0..=text.len() {
            growing.update(&text[..end], 9);
            let whole = indent(plain::render(&text[..end], StyleRole::Thinking, 7), 2);
            let shown = whole.iter().rposition(|line| !is_blank(line)).map_or(0, |n| n + 1);
            let texts = |lines: &[StyledLine]| {
                let text =
                    |line: &StyledLine| line.spans.iter().map(|it| it.text.clone()).collect();
                lines.iter().map(text).collect::<Vec<String>>()
            };
            assert_eq!(texts(growing.lines()), texts(&whole[..shown]), "{:?}", &text[..end]);
        }
    }

    fn shown(text: &str, ends: BlockExcerptLimits) -> Vec<String> {
        let lines = cut(text, ends, "p", |part| plain::render(part, StyleRole::Text, 20));
        lines.iter().map(|line| line.spans.iter().map(|it| it.text.as_str()).collect()).collect()
    }

    #[test]
    fn a_long_output_shows_its_ends_and_how_much_is_between() {
        let text: String = (0..5_000).map(|n| format!("{n}\n")).collect();
        let lines = shown(&text, PREVIEW);
        let wanted = ["0", "1", "2", "… 4,992 lines · p shows all", "4995", "4996"];
        assert_eq!(lines[..6], wanted);
        assert_eq!((lines.len(), lines[8].as_str()), (9, "4999"));
        let short: String = (0..9).map(|n| format!("{n}\n")).collect();
        assert_eq!(shown(&short, PREVIEW).len(), 9);
    }

    #[test]
    fn rows_are_counted_and_not_lines() {
        // Each line takes three rows of 20 columns.
        let text: String = (0..6).map(|n| format!("{}\n", n.to_string().repeat(50))).collect();
        let lines = shown(&text, PREVIEW);
        assert_eq!(lines.len(), 9);
        assert_eq!(lines[3], "… 4 lines · p shows all");
        assert_eq!((lines[2].as_str(), lines[8].as_str()), ("0000000000", "5555555555"));
        assert_eq!(lines[4], "4".repeat(20), "the rest of a line that is not all shown");
    }

    #[test]
    fn a_long_line_is_cut_too() {
        let lines = shown(&"x".repeat(100_000), PREVIEW);
        assert_eq!(lines.len(), 9);
        assert_eq!(lines[3], "… 99.9 kB · p shows all");
    }

    #[test]
    fn no_character_of_a_long_line_is_cut_in_two() {
        let lines = shown(&"äx".repeat(5_000), BlockExcerptLimits { head: 2, tail: 2, bytes: 61 });
        assert_eq!((lines[0].as_str(), lines.len()), ("äx".repeat(10).as_str(), 5));
        assert!(lines[2].ends_with("kB · p shows all"), "{lines:?}");
    }

    #[test]
    fn a_message_of_the_user_says_how_long_it_is() {
        let text: String = (0..200).map(|n| format!("line {n}\n")).collect();
        let lines = |fold| user(&text, fold, 40, "p");
        let texts = |fold| lines(fold).into_iter().map(|line| line.spans[1].text.clone());
        let folded: Vec<String> = texts(PaneFold::Preview).collect();
        assert_eq!(folded[5..8], ["line 5", "… 191 lines · p shows all", "line 197"]);
        let closed: Vec<String> = texts(PaneFold::Closed).collect();
        assert_eq!(closed, ["line 0", "… 199 lines · p shows all"]);
        assert_eq!(lines(PaneFold::Open).len(), 200);
    }

    #[test]
    fn a_message_of_any_length_is_unfolded_to_its_ends() {
        let text = "line\n".repeat(5_000);
        let lines = user(&text, PaneFold::Open, 40, "p");
        assert_eq!(lines.len(), WHOLE.head + 1 + WHOLE.tail);
        assert_eq!(lines[WHOLE.head].spans[1].text, "… 4,600 lines · p shows all");
        let rows = user(&"x".repeat(2 << 20), PaneFold::Open, 40, "p").len();
        assert!(rows <= 2 * WHOLE.bytes / 38 + 3, "{rows}");
    }

    #[test]
    fn what_stays_in_the_terminal_names_no_key() {
        let text: String = (0..20).map(|n| format!("{n}\n")).collect();
        let lines = cut(&text, PREVIEW, "", |part| plain::render(part, StyleRole::Text, 20));
        assert_eq!(lines[3].spans[0].text, "… 12 lines");
    }

    /// The rows and the bytes of text in a layout.
    fn size(laid: &BlockLayout) -> (usize, usize) {
        let spans = laid.lines.iter().flat_map(|line| &line.spans);
        (laid.lines.len(), spans.map(|span| span.text.len()).sum())
    }

    #[test]
    fn what_is_laid_out_of_a_huge_answer_is_bounded() {
        let off = SyntaxHighlighter::off();
        let rows = LONG_MARKDOWN.head + LONG_MARKDOWN.tail + 1;
        let table = format!("|a|b|\n|-|-|\n{}", "|one|two|\n".repeat(300_000));
        let line = "x".repeat(3 << 20);
        let quotes = "> ".repeat(1 << 20);
        for (text, hint) in [
            (table, "… 298,002 lines · v shows all"),
            ("- \n".repeat(1 << 20), "… 1,046,576 lines · v shows all"),
            (line, "kB · v shows all"),
            (quotes, "kB · v shows all"),
        ] {
            for state in [TextState::Done, TextState::Dropped] {
                let answer = AssistantText { text: text.clone(), state };
                let laid = assistant(&answer, 80, &off, "v");
                let (lines, bytes) = size(&laid);
                assert!(
                    lines <= rows.max(2 * LONG_MARKDOWN.bytes / 70)
                        && bytes < markdown::MAX_MARKDOWN + 100
                );
                let is_hint =
                    |line: &StyledLine| line.spans.iter().any(|it| it.text.ends_with(hint));
                assert_eq!(laid.lines.iter().filter(|line| is_hint(line)).count(), 1, "{hint}");
            }
        }
    }

    #[test]
    fn an_answer_of_usual_length_is_markdown_whole() {
        let off = SyntaxHighlighter::off();
        let text = "| a | b |\n|---|---|\n".to_owned() + &"| one | *two* |\n".repeat(2_000);
        let answer = AssistantText { text: text.clone(), state: TextState::Done };
        let laid = assistant(&answer, 80, &off, "v");
        assert_eq!(laid.lines, markdown::render(&text, 80, &off).lines);
        assert!(laid.lines.len() > 2_000);
    }

    #[test]
    fn a_step_is_laid_out_up_to_its_limit() {
        let huge = "step ".repeat(1 << 20);
        let rows = plan(&[("pending", &huge), ("pending", "next")], 80);
        assert!(rows.len() < MAX_LINE / 60);
        let next = rows.last().unwrap();
        assert_eq!((next.spans[1].text.as_str(), next.source), ("next", huge.len() + 13));
    }
}
