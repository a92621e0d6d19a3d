//! The body of a block as lines: which layout a kind of text gets, how much of it a fold shows,
//! and how far it is indented. Everything that is text goes through the functions at the end.

use serde_json::Value;

use crate::agent::NoticeLevel;
use crate::domain::{Diff, LineTag};
use crate::tui::app::block::{Block, Body, Fold, Live, Prose, Shows, TextState, Tool, ToolState};
use crate::tui::layout::{Join, Line, Role, Span};

use super::paint::{line, span};

/// Lines shown of a pane that is only looked into.
const PREVIEW: usize = 10;
/// Lines shown of an open pane; the middle of longer ones is left out.
const MOST: usize = 400;
/// Columns that panes are indented.
const INDENT: usize = 4;

/// The lines of a block below its head.
pub fn body(block: &Block, fold: Fold, width: u16) -> Vec<Line> {
    match &block.body {
        Body::User(text) => user(text, fold, width),
        Body::Assistant(prose) => assistant(prose, width),
        Body::Thinking(thinking) => match fold {
            Fold::Closed => Vec::new(),
            Fold::Preview | Fold::Open => {
                let role = prose_role(thinking.state, Role::Thinking);
                indent(plain(&thinking.text, role, narrower(width, 2)), 2)
            }
        },
        Body::Tool(tool) => indent(tool_body(tool, fold, narrower(width, INDENT)), INDENT),
        Body::Notice(notice) => {
            let (mark, role) = match notice.level {
                NoticeLevel::Info => ("i ", Role::System),
                NoticeLevel::Warning => ("! ", Role::Warning),
                NoticeLevel::Error => ("✗ ", Role::Error),
            };
            marked(mark, role, plain(&notice.text, role, narrower(width, 2)))
        }
        Body::Interrupted => vec![line(vec![span("■ stopped by you", Role::Warning)])],
        Body::Compacted => {
            vec![line(vec![span("─ what is above is no longer sent in full", Role::System)])]
        }
    }
}

/// Text that grows: what is complete is laid out once.
#[derive(Debug)]
pub struct Growing {
    role: Role,
    indent: usize,
    lines: Vec<Line>,
    /// Lines and bytes that no longer change.
    kept: (usize, usize),
    width: u16,
}

impl Growing {
    /// The answer.
    pub fn answer() -> Self {
        Self::new(Role::Text, 0)
    }

    /// The reasoning.
    pub fn thinking() -> Self {
        Self::new(Role::Thinking, 2)
    }

    fn new(role: Role, indent: usize) -> Self {
        Self { role, indent, lines: Vec::new(), kept: (0, 0), width: 0 }
    }

    /// Takes over the text as it is now.
    pub fn update(&mut self, text: &str, width: u16) {
        if width != self.width || text.len() < self.kept.1 {
            *self = Self { width, ..Self::new(self.role, self.indent) };
        }
        self.lines.truncate(self.kept.0);
        let from = self.kept.1;
        let whole = text[from..].rfind('\n').map_or(from, |end| from + end + 1);
        if whole > from {
            self.push(&text[from..whole - 1], from);
            self.kept = (self.lines.len(), whole);
        }
        if whole < text.len() {
            self.push(&text[whole..], whole);
        }
    }

    /// All lines, without empty ones at the end.
    pub fn lines(&self) -> &[Line] {
        let end = self.lines.iter().rposition(|line| !is_blank(line));
        &self.lines[..end.map_or(0, |end| end + 1)]
    }

    fn push(&mut self, text: &str, offset: usize) {
        let lines = wrap(text, self.role, narrower(self.width, self.indent), offset);
        self.lines.extend(indent(lines, self.indent));
    }
}

fn is_blank(line: &Line) -> bool {
    line.spans.iter().all(|span| span.text.trim().is_empty())
}

fn user(text: &str, fold: Fold, width: u16) -> Vec<Line> {
    let mut lines =
        marked("❯ ", Role::User, plain(text.trim_end(), Role::User, narrower(width, 2)));
    if fold == Fold::Preview || fold == Fold::Closed {
        let hidden = lines.len().saturating_sub(PREVIEW);
        lines.truncate(PREVIEW);
        if hidden > 0 {
            lines.push(note(format!("  … {hidden} more lines")));
        }
    }
    lines
}

fn assistant(prose: &Prose, width: u16) -> Vec<Line> {
    let text = prose.text.trim_end();
    match prose.state {
        TextState::Streaming | TextState::Done => markdown(text, width),
        TextState::Dropped => plain(text, Role::Strikethrough, width),
    }
}

fn prose_role(state: TextState, role: Role) -> Role {
    match state {
        TextState::Streaming | TextState::Done => role,
        TextState::Dropped => Role::Strikethrough,
    }
}

fn tool_body(tool: &Tool, fold: Fold, width: u16) -> Vec<Line> {
    let mut lines = Vec::new();
    if fold == Fold::Closed {
        return lines;
    }
    let most = if fold == Fold::Open { MOST } else { PREVIEW };
    let command = tool.input.as_ref().and_then(|input| input.get("command")?.as_str());
    if let Some(command) = command.filter(|command| command.contains('\n') && fold == Fold::Open) {
        lines.extend(marked("$ ", Role::Muted, plain(command, Role::Code, narrower(width, 2))));
    }
    match &tool.shows {
        Shows::Nothing => lines.extend(plan(tool)),
        Shows::Text(_) if tool.name == "TodoWrite" && tool.state == ToolState::Done => {
            lines.extend(plan(tool));
        }
        Shows::Live(live) => lines.extend(running(live, most, width)),
        Shows::Text(text) => {
            lines.extend(cut(text, most, |part| plain(part, result_role(tool), width)));
        }
        Shows::Terminal(text) => lines.extend(cut(text, most, |part| terminal(part, width))),
        Shows::Diff(diff) => lines.extend(self::diff(diff, width).into_iter().take(MOST * 2)),
    }
    lines
}

fn result_role(tool: &Tool) -> Role {
    match tool.state {
        ToolState::Failed => Role::Error,
        ToolState::Writing(_)
        | ToolState::Waiting
        | ToolState::Running
        | ToolState::Done
        | ToolState::Denied
        | ToolState::Cancelled => Role::Muted,
    }
}

/// The steps of a plan, as TodoWrite got them.
fn plan(tool: &Tool) -> Vec<Line> {
    let todos = tool.input.as_ref().and_then(|input| input.get("todos")?.as_array());
    let todos = todos.filter(|_| tool.name == "TodoWrite").map_or(&[][..], Vec::as_slice);
    let text = |todo: &Value, key: &str| {
        todo.get(key).and_then(Value::as_str).map(harmless).unwrap_or_default()
    };
    let step = |todo: &Value| {
        let (mark, role) = match text(todo, "status").as_str() {
            "completed" => ("✓ ", Role::Success),
            "in_progress" => ("→ ", Role::Strong),
            _ => ("· ", Role::Muted),
        };
        line(vec![span(mark, role), span(text(todo, "content"), role)])
    };
    todos.iter().map(step).collect()
}

/// The last lines of what a command has put out so far.
fn running(live: &Live, most: usize, width: u16) -> Vec<Line> {
    let text = live.text.strip_suffix('\n').unwrap_or(&live.text);
    let start = text.rmatch_indices('\n').nth(most - 1).map_or(0, |(at, _)| at + 1);
    let above = live.hidden + text[..start].matches('\n').count();
    let mut lines = Vec::new();
    if above > 0 {
        lines.push(note(format!("… {above} lines above")));
    }
    lines.extend(terminal(&text[start..], width));
    lines
}

/// Lays out the first and the last lines of a text, and says how many are between them.
fn cut(text: &str, most: usize, lay: impl Fn(&str) -> Vec<Line>) -> Vec<Line> {
    let text = text.trim_end_matches('\n');
    let count = text.matches('\n').count() + 1;
    if text.is_empty() || count <= most {
        return if text.is_empty() { Vec::new() } else { lay(text) };
    }
    let head = most / 2;
    let end = text.match_indices('\n').nth(head - 1).map_or(0, |(at, _)| at);
    let start = text.rmatch_indices('\n').nth(most - head - 1).map_or(0, |(at, _)| at + 1);
    let mut lines = lay(&text[..end]);
    lines.push(note(format!("… {} lines", count - most)));
    lines.extend(
        lay(&text[start..]).into_iter().map(|line| Line { source: line.source + start, ..line }),
    );
    lines
}

fn note(text: String) -> Line {
    line(vec![span(text, Role::Muted)])
}

fn marked(mark: &str, role: Role, lines: Vec<Line>) -> Vec<Line> {
    let mut lines = indent(lines, 2);
    if let Some(first) = lines.first_mut().and_then(|line| line.spans.first_mut()) {
        *first = span(mark, role);
    }
    lines
}

/// Moves lines right; the room on the left is not copied.
fn indent(mut lines: Vec<Line>, by: usize) -> Vec<Line> {
    for line in lines.iter_mut().filter(|_| by > 0) {
        line.spans.insert(0, span(" ".repeat(by), Role::Text));
        line.gutter += u16::try_from(by).unwrap_or(0);
    }
    lines
}

fn narrower(width: u16, by: usize) -> u16 {
    width.saturating_sub(u16::try_from(by).unwrap_or(0)).max(1)
}

// The layouts that the rest of this file is written against.

/// Markdown.
pub fn markdown(text: &str, width: u16) -> Vec<Line> {
    plain(text, Role::Text, width)
}

/// Text as it is.
pub fn plain(text: &str, role: Role, width: u16) -> Vec<Line> {
    wrap(text, role, width, 0)
}

/// Output of a command: of a line that was written over, what was left.
pub fn terminal(text: &str, width: u16) -> Vec<Line> {
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default())
        .collect();
    wrap(&strip_sequences(&lines.join("\n")), Role::Text, width, 0)
}

/// A changed file.
pub fn diff(diff: &Diff, width: u16) -> Vec<Line> {
    let last =
        diff.hunks.last().map_or(0, |hunk| hunk.old_start.max(hunk.new_start) + hunk.lines.len());
    let digits = last.to_string().len();
    let mut lines = Vec::new();
    for (number, hunk) in diff.hunks.iter().enumerate() {
        if number > 0 {
            lines.push(note("…".to_owned()));
        }
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        for changed in &hunk.lines {
            let (mark, role, left, right) = match changed.tag {
                LineTag::Context => (' ', Role::Text, Some(old), Some(new)),
                LineTag::Removed => ('-', Role::Removed, Some(old), None),
                LineTag::Added => ('+', Role::Added, None, Some(new)),
            };
            old += usize::from(left.is_some());
            new += usize::from(right.is_some());
            let show = |number: Option<usize>| number.map_or(String::new(), |n| n.to_string());
            let numbers = format!("{:>digits$}   {:>digits$} ", show(left), show(right));
            let gutter = numbers.len() + 2;
            let room = narrower(width, gutter);
            for (row, mut part) in wrap(&changed.text, role, room, 0).into_iter().enumerate() {
                let numbers = if row == 0 { numbers.clone() } else { " ".repeat(numbers.len()) };
                let mark = if row == 0 { mark } else { ' ' };
                part.spans.insert(0, span(numbers, Role::LineNumber));
                part.spans.insert(1, span(format!("{mark} "), role));
                part.gutter = u16::try_from(gutter).unwrap_or(0);
                part.source = 0;
                lines.push(part);
            }
        }
    }
    lines
}

/// A text on one line with nothing in it that a terminal would obey or a reader could not see.
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\0'..='\x1f' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('?')),
            '\x7f' => out.push('␡'),
            c if is_hidden(c) => out.push_str(&format!("‹U+{:04X}›", c as u32)),
            c => out.push(c),
        }
    }
    out
}

fn is_hidden(c: char) -> bool {
    let marks = ['\u{ad}', '\u{61c}', '\u{feff}', '\u{2060}'];
    c.is_control()
        || marks.contains(&c)
        || ('\u{200b}'..='\u{200f}').contains(&c) && c != '\u{200d}'
        || ('\u{2028}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

fn strip_sequences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 2..];
        let end = tail.find(|c: char| ('@'..='~').contains(&c));
        rest = end.map_or("", |end| &tail[end + 1..]);
    }
    out.push_str(rest);
    out
}

/// Wraps at spaces. `offset` is where the text begins in its source.
fn wrap(text: &str, role: Role, width: u16, offset: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = offset;
    for source in text.split('\n') {
        let shown = harmless(source.strip_suffix('\r').unwrap_or(source));
        for (number, row) in crate::tui::app::softwrap::rows(&shown, width).into_iter().enumerate()
        {
            let text = shown[row.clone()].trim_end_matches(' ');
            let join = match number {
                0 => Join::Newline,
                _ if shown[..row.start].ends_with(' ') => Join::Space,
                _ => Join::Nothing,
            };
            let spans: Vec<Span> =
                if text.is_empty() { Vec::new() } else { vec![span(text, role)] };
            lines.push(Line {
                spans,
                source: start + row.start.min(source.len()),
                gutter: 0,
                join,
            });
        }
        start += source.len() + 1;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_what_is_laid_out_whole() {
        let text = "one two three four\n\nfive\nsix seven\n\n\neight";
        let mut growing = Growing::answer();
        for end in 0..=text.len() {
            growing.update(&text[..end], 9);
            let whole = plain(text[..end].trim_end_matches('\n'), Role::Text, 9);
            let shown = whole.iter().rposition(|line| !line.spans.is_empty()).map_or(0, |n| n + 1);
            let texts =
                |lines: &[Line]| lines.iter().map(|line| line.spans.clone()).collect::<Vec<_>>();
            assert_eq!(texts(growing.lines()), texts(&whole[..shown]), "{:?}", &text[..end]);
        }
    }

    #[test]
    fn a_long_output_says_how_much_it_hides() {
        let text: String = (0..100).map(|n| format!("{n}\n")).collect();
        let lines = cut(&text, 10, |part| plain(part, Role::Text, 20));
        assert_eq!(lines.len(), 11);
        assert_eq!(lines[5].spans[0].text, "… 90 lines");
        assert_eq!(lines[10].spans[0].text, "99");
    }

    #[test]
    fn nothing_in_a_text_reaches_the_terminal_raw() {
        assert_eq!(harmless("a\x1b[31m\u{202e}\t\u{7}"), "a␛[31m‹U+202E›    ␇");
        assert_eq!(terminal("10%\r20%\r\n\x1b[31mred\x1b[0m", 20).len(), 2);
    }
}
