//! Two branches of a session compared, as a page of a width: where they part, the files that each
//! changed, and what was said in each. Side by side where there is room for two columns, the
//! person's messages of one number at one height; else one branch after the other.
//!
//! The page is text with colours, as a pager shows and copies it. Every row fits the width.

use crate::domain::MessageRole as Speaker;
use crate::domain::sanitize::sanitize;
use crate::session::{BranchComparison, BranchMessage, FileDelta, SessionBranch};

use super::branch_text::{counted, title};
use super::layout::wrap::{Frame, Piece, display_width, escape, truncate, truncate_path, wrap};
use super::layout::{Highlighter, Line, Role, Span, beside, markdown};

/// From this width on the branches stand side by side, where each has the room that prose needs.
pub const SIDE_BY_SIDE: u16 = 100;
/// Rows of the message after which they part; what follows is what the page is for.
const PARTED: usize = 8;
/// Columns for what became of a file, and for the mark of one that both changed.
const DELTA: usize = 12;
const MARK: usize = 6;
/// What stands for nothing.
const NOTHING: &str = "·";

/// How each role looks as a terminal is told.
const LOOKS: [(Role, &str); 14] = [
    (Role::Strong, "\u{1b}[1m"),
    (Role::StrongEmphasis, "\u{1b}[1m"),
    (Role::Heading(1), "\u{1b}[1m"),
    (Role::Heading(2), "\u{1b}[1m"),
    (Role::Heading(3), "\u{1b}[1m"),
    (Role::Emphasis, "\u{1b}[3m"),
    (Role::Code, "\u{1b}[36m"),
    (Role::Link, "\u{1b}[4m"),
    (Role::Quote, "\u{1b}[2m"),
    (Role::Muted, "\u{1b}[2m"),
    (Role::Border, "\u{1b}[2m"),
    (Role::Added, "\u{1b}[32m"),
    (Role::Removed, "\u{1b}[31m"),
    (Role::Warning, "\u{1b}[33m"),
];

/// The page.
pub fn compared(comparison: &BranchComparison, width: u16) -> String {
    let mut lines = parting(comparison, width);
    let branches = &comparison.branches;
    if width < SIDE_BY_SIDE {
        after_another(branches, width, &mut lines);
    } else {
        side_by_side(branches, width, &mut lines);
    }
    lines.iter().map(told).collect()
}

/// What the branches share.
fn parting(comparison: &BranchComparison, width: u16) -> Vec<Line> {
    let mut lines = Vec::new();
    match &comparison.last_shared {
        Some(parted) => {
            let count = counted(comparison.shared, "message");
            let text = format!("They share {count} and part after this one:");
            prose(&text, Role::Text, ["", ""], width, &mut lines);
            lines.push(Line::default());
            let from = lines.len();
            say(parted, width, &mut lines);
            let hidden = lines.len().saturating_sub(from + PARTED);
            // The row that says so takes one itself.
            if hidden > 1 {
                lines.truncate(from + PARTED);
                lines.push(row([Span::new(format!("  … {hidden} more rows"), Role::Muted)]));
            }
        }
        None => {
            let text = "They have no message in common.";
            prose(text, Role::Text, ["", ""], width, &mut lines);
        }
    }
    lines.push(Line::default());
    lines
}

fn side_by_side(branches: &[SessionBranch; 2], width: u16, lines: &mut Vec<Line>) {
    let column = beside::column(width);
    let mut cells = |[left, right]: [Vec<Line>; 2]| {
        lines.extend(beside::rows(left, right, (None, None), column, 0));
    };
    let names = names(branches);
    let longest = longest(&names);
    let head = |letter, branch: &SessionBranch, other: &SessionBranch| {
        let mut head = heading(letter, branch, column);
        head.push(row([Span::new("─".repeat(column.into()), Role::Border)]));
        let is_in =
            |branch: &SessionBranch, name: &str| branch.files.iter().any(|it| it.name == name);
        // Those that both changed are first, so that they stand at one height.
        let (both, own): (Vec<&str>, Vec<&str>) = (names.iter().copied())
            .filter(|name| is_in(branch, name))
            .partition(|name| is_in(other, name));
        let room = usize::from(column).saturating_sub(DELTA + 2 + MARK);
        let both = both.into_iter().map(|name| (name, Mark::Both));
        let own = own.into_iter().map(|name| (name, Mark::Own));
        head.extend(
            both.chain(own).map(|(name, mark)| file(branch, name, mark, longest.min(room))),
        );
        head
    };
    let [one, two] = branches;
    cells([head("A", one, two), head("B", two, one)]);
    cells([vec![Line::default()], Vec::new()]);
    let [one, two] = [exchanges(one), exchanges(two)];
    for at in 0..one.len().max(two.len()) {
        let cell = |exchanges: &[&[BranchMessage]]| {
            let mut lines = Vec::new();
            for said in exchanges.get(at).into_iter().copied().flatten() {
                say(said, column, &mut lines);
                lines.push(Line::default());
            }
            if at == 0 && exchanges.iter().all(|exchange| exchange.is_empty()) {
                prose(NOTHING_SAID, Role::Muted, ["", ""], column, &mut lines);
            }
            lines
        };
        cells([cell(&one), cell(&two)]);
    }
}

fn after_another(branches: &[SessionBranch; 2], width: u16, lines: &mut Vec<Line>) {
    for (letter, branch) in ["A", "B"].into_iter().zip(branches) {
        lines.extend(heading(letter, branch, width));
    }
    lines.push(Line::default());
    table(branches, width, lines);
    for (letter, branch) in ["A", "B"].into_iter().zip(branches) {
        let title = title(branch);
        let room = usize::from(width).saturating_sub("── A   ──".chars().count());
        let text = format!("── {letter}  {} ──", truncate(&title, room));
        lines.push(row([Span::new(text, Role::Strong)]));
        lines.push(Line::default());
        if branch.said.is_empty() {
            prose(NOTHING_SAID, Role::Muted, ["", ""], width, lines);
            lines.push(Line::default());
        }
        for said in &branch.said {
            say(said, width, lines);
            lines.push(Line::default());
        }
    }
}

const NOTHING_SAID: &str = "Nothing was said after that.";

/// A branch's letter and title, and how much is in it.
fn heading(letter: &str, branch: &SessionBranch, width: u16) -> Vec<Line> {
    let counts = format!(
        "{}, {}",
        counted(branch.said.len(), "message"),
        counted(branch.files.len(), "file")
    );
    let title = title(branch);
    let title = truncate(&title, usize::from(width).saturating_sub(3));
    let first = row([Span::new(format!("{letter}  {title}"), Role::Strong)]);
    vec![first, row([Span::new(format!("   {counts}"), Role::Muted)])]
}

/// The files that either changed, by name.
fn names(branches: &[SessionBranch; 2]) -> Vec<&str> {
    let mut names: Vec<&str> =
        branches.iter().flat_map(|branch| &branch.files).map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The columns that the longest of the names takes.
fn longest(names: &[&str]) -> usize {
    let widths = names.iter().map(|name| display_width(&shown(name)));
    widths.max().unwrap_or_default().max("Files".len())
}

/// Whether both branches changed a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Both,
    Own,
}

impl Mark {
    fn span(self) -> Option<Span> {
        match self {
            Self::Both => Some(Span::new("  both", Role::Warning)),
            Self::Own => None,
        }
    }
}

/// A file in the column of its branch.
fn file(branch: &SessionBranch, name: &str, mark: Mark, room: usize) -> Line {
    let mut spans = vec![padded(name, room)];
    spans.extend(delta(branch, name));
    spans.extend(mark.span());
    row(spans)
}

/// A row for each file, with what each branch did to it.
fn table(branches: &[SessionBranch; 2], width: u16, lines: &mut Vec<Line>) {
    let names = names(branches);
    if names.is_empty() {
        return;
    }
    let room = usize::from(width).saturating_sub((DELTA + 2) * 2 + MARK).min(longest(&names));
    let text = format!("{:<room$}  {:>DELTA$}  {:>DELTA$}", "Files", "A", "B");
    lines.push(row([Span::new(text, Role::Strong)]));
    for name in names {
        let mut spans = vec![padded(name, room)];
        branches.iter().for_each(|branch| spans.extend(delta(branch, name)));
        let of = |branch: &SessionBranch| branch.files.iter().any(|file| file.name == name);
        if branches.iter().all(of) {
            spans.extend(Mark::Both.span());
        }
        lines.push(row(spans));
    }
    lines.push(Line::default());
}

/// A name as it stands in a row.
fn shown(name: &str) -> String {
    sanitize(name).replace(['\t', '\n'], "�")
}

fn padded(name: &str, room: usize) -> Span {
    let name = shown(name);
    let name = truncate_path(&name, room);
    let rest = room.saturating_sub(display_width(&name));
    Span::new(format!("{name}{:rest$}", ""), Role::Text)
}

/// What a branch did to a file, on the right of its columns.
fn delta(branch: &SessionBranch, name: &str) -> Vec<Span> {
    let known = branch.files.iter().find(|file| file.name == name);
    let told = match known.map(|FileDelta { lines, .. }| lines) {
        None => vec![Span::new(NOTHING, Role::Muted)],
        Some(None) => vec![Span::new("changed", Role::Text)],
        Some(Some((added, removed))) => vec![
            Span::new(format!("+{added} "), Role::Added),
            Span::new(format!("-{removed}"), Role::Removed),
        ],
    };
    let taken: usize = told.iter().map(|span| display_width(&span.text)).sum();
    let indent = Span::new(" ".repeat((DELTA + 2).saturating_sub(taken)), Role::Text);
    [vec![indent], told].concat()
}

/// What was said, cut before each of the person's messages: before the first of them stands what
/// still answers the last one that is shared.
fn exchanges(branch: &SessionBranch) -> Vec<&[BranchMessage]> {
    let is_asked = |said: &BranchMessage| said.role == Speaker::User;
    let first = branch.said.iter().position(is_asked).unwrap_or(branch.said.len());
    let (answers, rest) = branch.said.split_at(first);
    let mut all = vec![answers];
    all.extend(rest.chunk_by(|_, next| !is_asked(next)));
    all
}

fn say(said: &BranchMessage, width: u16, lines: &mut Vec<Line>) {
    match said.role {
        Speaker::User => prose(said.text.trim(), Role::Strong, ["❯ ", "  "], width, lines),
        Speaker::Assistant => {
            let laid =
                markdown::render(said.text.trim(), width.saturating_sub(2), &Highlighter::off());
            lines.extend(laid.lines.into_iter().map(|mut line| {
                line.spans.insert(0, Span::new("  ", Role::Text));
                line
            }));
        }
    }
}

fn prose(text: &str, role: Role, [first, rest]: [&str; 2], width: u16, lines: &mut Vec<Line>) {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    escape(text, role, 0, &mut pieces);
    let frame = Frame {
        first: vec![Span::new(first, role)],
        rest: vec![Span::new(rest, role)],
        ..Frame::prose(width)
    };
    wrap(&pieces, &frame, lines);
}

fn row(spans: impl Into<Vec<Span>>) -> Line {
    Line { spans: spans.into(), ..Line::default() }
}

/// A row as text with colours.
fn told(line: &Line) -> String {
    let mut text = String::new();
    for Span { text: part, role, .. } in &line.spans {
        match LOOKS.iter().find(|(it, _)| it == role) {
            Some((_, look)) => text.extend([look, part.as_str(), "\u{1b}[0m"]),
            None => text.push_str(part),
        }
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
    text
}

#[cfg(test)]
#[path = "branch_page_tests.rs"]
mod tests;
