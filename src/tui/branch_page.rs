//! Renders the comparison of two branches of a session as a page of a given width: where they
//! diverge, the files that each branch changed, and the messages of each. Where there is room for
//! two columns the branches stand side by side, and the user's messages with the same number start
//! at the same height; otherwise one branch follows the other.
//!
//! The page is text with colours (SGR sequences), which a pager can show and copy. Every row fits
//! the width.

use std::sync::Arc;

use crate::domain::sanitize::sanitize_line;
use crate::domain::{MessageRole as Speaker, format_bytes, pluralise};
use crate::session::{BranchComparison, BranchMessage, FileDelta, SessionBranch};

use super::layout::wrap::{
    StyledPiece, WrapFrame, display_width, escape, truncate, truncate_path, wrap,
};
use super::layout::{StyleRole, StyledLine, StyledSpan, SyntaxHighlighter, markdown, two_columns};
use crate::services::branch_text::title;
use crate::services::text_document::TextDocument;

/// From this width on the branches stand side by side: each then has the columns that prose needs.
pub const SIDE_BY_SIDE: u16 = 100;
/// Rows of the last shared message that are shown. The page is about what follows it.
const PARTED: usize = 8;
/// Width of the column for a file's change, and of the mark for a file that both branches changed.
const DELTA: usize = 12;
const MARK: usize = 6;
/// Shown where a branch has nothing to show.
const NOTHING: &str = "·";

/// The SGR parameters of each role.
const ROLE_SGR: [(StyleRole, &str); 14] = [
    (StyleRole::Strong, "\u{1b}[1m"),
    (StyleRole::StrongEmphasis, "\u{1b}[1m"),
    (StyleRole::Heading(1), "\u{1b}[1m"),
    (StyleRole::Heading(2), "\u{1b}[1m"),
    (StyleRole::Heading(3), "\u{1b}[1m"),
    (StyleRole::Emphasis, "\u{1b}[3m"),
    (StyleRole::Code, "\u{1b}[36m"),
    (StyleRole::Link, "\u{1b}[4m"),
    (StyleRole::Quote, "\u{1b}[2m"),
    (StyleRole::Muted, "\u{1b}[2m"),
    (StyleRole::Border, "\u{1b}[2m"),
    (StyleRole::Added, "\u{1b}[32m"),
    (StyleRole::Removed, "\u{1b}[31m"),
    (StyleRole::Warning, "\u{1b}[33m"),
];

/// A comparison of two branches, laid out for a width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchPage {
    pub branches: Arc<BranchComparison>,
    /// In columns.
    pub width: u16,
    pub document: Arc<TextDocument>,
}

/// Lays a comparison out for a width in columns, as a text with this id.
pub fn lay_out(branches: Arc<BranchComparison>, document: u64, width: u16) -> BranchPage {
    let text = render_comparison(&branches, width);
    let document = Arc::new(TextDocument::new(document, &text));
    BranchPage { branches, width, document }
}

/// The whole page, one line per row.
pub fn render_comparison(comparison: &BranchComparison, width: u16) -> String {
    let mut lines = shared_part(comparison, width);
    let branches = &comparison.branches;
    if width < SIDE_BY_SIDE {
        after_another(branches, width, &mut lines);
    } else {
        side_by_side(branches, width, &mut lines);
    }
    lines.iter().map(to_ansi).collect()
}

/// The part that both branches share.
fn shared_part(comparison: &BranchComparison, width: u16) -> Vec<StyledLine> {
    let mut lines = Vec::new();
    match &comparison.last_shared {
        Some(parted) => {
            let count = pluralise(comparison.shared, "message");
            let text = format!("They share {count} and diverge after this one:");
            prose(&text, StyleRole::Text, ["", ""], width, &mut lines);
            lines.push(StyledLine::default());
            let from = lines.len();
            push_message(parted, width, &mut lines);
            let hidden = lines.len().saturating_sub(from + PARTED);
            // The row with the count of hidden rows takes one row itself.
            if hidden > 1 {
                lines.truncate(from + PARTED);
                lines.push(row([StyledSpan::new(
                    format!("  … {hidden} more rows"),
                    StyleRole::Muted,
                )]));
            }
        }
        None => {
            let text = "They share no messages.";
            prose(text, StyleRole::Text, ["", ""], width, &mut lines);
        }
    }
    lines.push(StyledLine::default());
    lines
}

fn side_by_side(branches: &[SessionBranch; 2], width: u16, lines: &mut Vec<StyledLine>) {
    let column = two_columns::column(width);
    let mut cells = |[left, right]: [Vec<StyledLine>; 2]| {
        lines.extend(two_columns::rows(left, right, (None, None), column, 0));
    };
    let names = names(branches);
    let longest = longest(&names);
    let head = |letter, branch: &SessionBranch, other: &SessionBranch| {
        let mut head = heading(letter, branch, column);
        head.push(row([StyledSpan::new("─".repeat(column.into()), StyleRole::Border)]));
        let is_in =
            |branch: &SessionBranch, name: &str| branch.files.iter().any(|it| it.name == name);
        // Files that both branches changed come first, so that they stand at the same
        // height.
        let (both, own): (Vec<&str>, Vec<&str>) = (names.iter().copied())
            .filter(|name| is_in(branch, name))
            .partition(|name| is_in(other, name));
        let room = usize::from(column).saturating_sub(DELTA + 2 + MARK);
        let both = both.into_iter().map(|name| (name, BranchFileMark::Both));
        let own = own.into_iter().map(|name| (name, BranchFileMark::OneBranch));
        head.extend(
            both.chain(own).map(|(name, mark)| file(branch, name, mark, longest.min(room))),
        );
        head
    };
    let [one, two] = branches;
    cells([head("A", one, two), head("B", two, one)]);
    cells([vec![StyledLine::default()], Vec::new()]);
    let [one, two] = [exchanges(one), exchanges(two)];
    for at in 0..one.len().max(two.len()) {
        let cell = |exchanges: &[&[BranchMessage]]| {
            let mut lines = Vec::new();
            for message in exchanges.get(at).into_iter().copied().flatten() {
                push_message(message, column, &mut lines);
                lines.push(StyledLine::default());
            }
            if at == 0 && exchanges.iter().all(|exchange| exchange.is_empty()) {
                prose(NOTHING_SAID, StyleRole::Muted, ["", ""], column, &mut lines);
            }
            lines
        };
        cells([cell(&one), cell(&two)]);
    }
}

fn after_another(branches: &[SessionBranch; 2], width: u16, lines: &mut Vec<StyledLine>) {
    for (letter, branch) in ["A", "B"].into_iter().zip(branches) {
        lines.extend(heading(letter, branch, width));
    }
    lines.push(StyledLine::default());
    table(branches, width, lines);
    for (letter, branch) in ["A", "B"].into_iter().zip(branches) {
        let title = title(branch);
        let room = usize::from(width).saturating_sub("── A   ──".chars().count());
        let text = format!("── {letter}  {} ──", truncate(&title, room));
        lines.push(row([StyledSpan::new(text, StyleRole::Strong)]));
        lines.push(StyledLine::default());
        if branch.said.is_empty() {
            prose(NOTHING_SAID, StyleRole::Muted, ["", ""], width, lines);
            lines.push(StyledLine::default());
        }
        for message in &branch.said {
            push_message(message, width, lines);
            lines.push(StyledLine::default());
        }
    }
}

const NOTHING_SAID: &str = "No messages after that.";

/// A branch's letter, its title, and its counts.
fn heading(letter: &str, branch: &SessionBranch, width: u16) -> Vec<StyledLine> {
    let counts = format!(
        "{}, {}",
        pluralise(branch.said.len(), "message"),
        pluralise(branch.files.len(), "file")
    );
    let title = title(branch);
    let title = truncate(&title, usize::from(width).saturating_sub(3));
    let first = row([StyledSpan::new(format!("{letter}  {title}"), StyleRole::Strong)]);
    vec![first, row([StyledSpan::new(format!("   {counts}"), StyleRole::Muted)])]
}

/// The names of the files that either branch changed, sorted.
fn names(branches: &[SessionBranch; 2]) -> Vec<&str> {
    let mut names: Vec<&str> =
        branches.iter().flat_map(|branch| &branch.files).map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Columns that the longest of the names takes.
fn longest(names: &[&str]) -> usize {
    let widths = names.iter().map(|name| display_width(&sanitize_line(name)));
    widths.max().unwrap_or_default().max("Files".len())
}

/// Whether both branches changed a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BranchFileMark {
    Both,
    OneBranch,
}

impl BranchFileMark {
    fn span(self) -> Option<StyledSpan> {
        match self {
            Self::Both => Some(StyledSpan::new("  both", StyleRole::Warning)),
            Self::OneBranch => None,
        }
    }
}

/// A file's row in the column of its branch.
fn file(branch: &SessionBranch, name: &str, mark: BranchFileMark, room: usize) -> StyledLine {
    let mut spans = vec![padded(name, room)];
    spans.extend(delta(branch, name));
    spans.extend(mark.span());
    row(spans)
}

/// One row for each file, with each branch's change to it.
fn table(branches: &[SessionBranch; 2], width: u16, lines: &mut Vec<StyledLine>) {
    let names = names(branches);
    if names.is_empty() {
        return;
    }
    let room = usize::from(width).saturating_sub((DELTA + 2) * 2 + MARK).min(longest(&names));
    let text = format!("{:<room$}  {:>DELTA$}  {:>DELTA$}", "Files", "A", "B");
    lines.push(row([StyledSpan::new(text, StyleRole::Strong)]));
    for name in names {
        let mut spans = vec![padded(name, room)];
        branches.iter().for_each(|branch| spans.extend(delta(branch, name)));
        let of = |branch: &SessionBranch| branch.files.iter().any(|file| file.name == name);
        if branches.iter().all(of) {
            spans.extend(BranchFileMark::Both.span());
        }
        lines.push(row(spans));
    }
    lines.push(StyledLine::default());
}

fn padded(name: &str, room: usize) -> StyledSpan {
    let name = sanitize_line(name);
    let name = truncate_path(&name, room);
    let rest = room.saturating_sub(display_width(&name));
    StyledSpan::new(format!("{name}{:rest$}", ""), StyleRole::Text)
}

/// A branch's change to a file, right-aligned in its column.
fn delta(branch: &SessionBranch, name: &str) -> Vec<StyledSpan> {
    let known = branch.files.iter().find(|file| file.name == name);
    let counts = match known.map(|FileDelta { lines, .. }| lines) {
        None => vec![StyledSpan::new(NOTHING, StyleRole::Muted)],
        Some(None) => vec![StyledSpan::new("changed", StyleRole::Text)],
        Some(Some((added, removed))) => vec![
            StyledSpan::new(format!("+{added} "), StyleRole::Added),
            StyledSpan::new(format!("-{removed}"), StyleRole::Removed),
        ],
    };
    let taken: usize = counts.iter().map(|span| display_width(&span.text)).sum();
    let indent = StyledSpan::new(" ".repeat((DELTA + 2).saturating_sub(taken)), StyleRole::Text);
    [vec![indent], counts].concat()
}

/// The branch's messages, cut before each message of the user. The first part holds what still
/// answers the last shared message.
fn exchanges(branch: &SessionBranch) -> Vec<&[BranchMessage]> {
    let is_asked = |message: &BranchMessage| message.role == Speaker::User;
    let first = branch.said.iter().position(is_asked).unwrap_or(branch.said.len());
    let (answers, rest) = branch.said.split_at(first);
    let mut all = vec![answers];
    all.extend(rest.chunk_by(|_, next| !is_asked(next)));
    all
}

fn push_message(message: &BranchMessage, width: u16, lines: &mut Vec<StyledLine>) {
    match message.role {
        Speaker::User => prose(message.text.trim(), StyleRole::Strong, ["❯ ", "  "], width, lines),
        Speaker::Assistant => {
            let text = message.text.trim();
            let shown = &text[..text.floor_char_boundary(markdown::MAX_MARKDOWN)];
            let layout =
                markdown::render(shown, width.saturating_sub(2), &SyntaxHighlighter::off());
            lines.extend(layout.lines.into_iter().map(|mut line| {
                line.spans.insert(0, StyledSpan::new("  ", StyleRole::Text));
                line
            }));
            if shown.len() < text.len() {
                let more = format!("… {} more", format_bytes((text.len() - shown.len()) as u64));
                prose(&more, StyleRole::Muted, ["  ", "  "], width, lines);
            }
        }
    }
}

fn prose(
    text: &str,
    role: StyleRole,
    [first, rest]: [&str; 2],
    width: u16,
    lines: &mut Vec<StyledLine>,
) {
    let mut pieces: Vec<StyledPiece<'_>> = Vec::new();
    escape(text, role, 0, &mut pieces);
    let frame = WrapFrame {
        first: vec![StyledSpan::new(first, role)],
        rest: vec![StyledSpan::new(rest, role)],
        ..WrapFrame::prose(width)
    };
    wrap(&pieces, &frame, lines);
}

fn row(spans: impl Into<Vec<StyledSpan>>) -> StyledLine {
    StyledLine { spans: spans.into(), ..StyledLine::default() }
}

/// A row as text with SGR sequences.
fn to_ansi(line: &StyledLine) -> String {
    let mut text = String::new();
    for StyledSpan { text: part, role, .. } in &line.spans {
        match ROLE_SGR.iter().find(|(it, _)| it == role) {
            Some((_, sgr)) => text.extend([sgr, part.as_str(), "\u{1b}[0m"]),
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
