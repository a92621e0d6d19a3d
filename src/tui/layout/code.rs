//! Lines of code in their colours, shared by Markdown and diffs.

use std::borrow::Cow;

use super::wrap::{StyledPiece, WrapFrame, display_width, escape, wrap};
use super::{
    BlockLayout, StyleRole, StyledLine, StyledSpan, SyntaxHighlighter, language_detection,
};
use crate::domain::sanitize::sanitize;

/// Marks the rows on which a long line of code continues.
const CONTINUATION_MARK: &str = "↳ ";
/// The indentation of continuation rows leaves at least this many columns for code.
const MIN_CODE: usize = 24;

/// The frame for a line of code that may not fit. Continuation rows are indented like the line
/// itself, behind a mark; neither is part of the code.
pub(super) fn hanging(text: &str, frame: &WrapFrame) -> WrapFrame {
    let indented = text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t'));
    let indent = indented.fold(0, |column, byte| match byte {
        b'\t' => (column / frame.tab + 1) * frame.tab,
        _ => column + 1,
    });
    let taken: usize = frame.rest.iter().map(|span| display_width(&span.text)).sum();
    let room = usize::from(frame.width).saturating_sub(taken + display_width(CONTINUATION_MARK));
    let mut frame = frame.clone();
    if room >= MIN_CODE / 2 {
        let indent = indent.min(room.saturating_sub(MIN_CODE));
        frame.rest.push(StyledSpan::new(
            format!("{}{CONTINUATION_MARK}", " ".repeat(indent)),
            StyleRole::Border,
        ));
    }
    frame
}

/// Lays out one line of code, which begins at `source`. `runs` says where in the line each role
/// ends; after the last of them the role is `plain`.
pub(super) fn line(
    text: &str,
    runs: impl IntoIterator<Item = (usize, StyleRole)>,
    plain: StyleRole,
    source: usize,
    frame: &WrapFrame,
    out: &mut Vec<StyledLine>,
) {
    let mut pieces: Vec<StyledPiece<'_>> = Vec::new();
    let mut at = 0;
    for (end, role) in runs {
        if let Some(part) = text.get(at..end) {
            escape(part, role, source + at, &mut pieces);
            at = end;
        }
    }
    escape(&text[at..], plain, source + at, &mut pieces);
    wrap(&pieces, &WrapFrame { source, ..frame.clone() }, out);
}

/// Lays out a shell command with all its characters visible, a `$` before its first line.
pub fn shell_command(command: &str, width: u16, highlighter: &SyntaxHighlighter) -> BlockLayout {
    let command = command.trim_end_matches(['\n', '\r']);
    let known = highlighter.highlight("bash", command);
    let mut lines = Vec::new();
    for (at, text) in split(command).enumerate() {
        let mark = if at == 0 { "$ " } else { "  " };
        let frame = WrapFrame {
            first: vec![StyledSpan::new(mark, StyleRole::Muted)],
            rest: vec![StyledSpan::new("  ", StyleRole::Muted)],
            ..WrapFrame::prose(width)
        };
        let tokens = known.line(at).iter();
        let runs = tokens.map(|token| (token.end as usize, StyleRole::Syntax(token.syntax)));
        line(text, runs, StyleRole::Code, 0, &hanging(text, &frame), &mut lines);
    }
    BlockLayout { lines, colours: known.colours }
}

/// The lines of a code block, without their line ends. The last line feed starts no further line.
pub(super) fn split(code: &str) -> impl Iterator<Item = &str> {
    code.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line))
}

/// The language in the words after a fence: `rust,ignore`, `{.python}`, `src/main.rs`, `ts
/// title="…"`.
pub(super) fn language(info: &str) -> Cow<'_, str> {
    let info = info.trim_start_matches(['{', '.', ' ', '\t']);
    let word = info.split([' ', ',', '{', '}', ';', '\t']).next().unwrap_or_default();
    let word = word.strip_prefix("language-").unwrap_or(word);
    sanitize(word)
}

/// The language of a code block: the named one, else the one that its first line reveals.
pub(super) fn known_or_guessed<'l>(named: &'l str, code: &str) -> Cow<'l, str> {
    Cow::Borrowed(if named.is_empty() { language_detection::language(code) } else { named })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_the_word_behind_the_fence() {
        for (info, expected) in [
            ("rust", "rust"),
            ("rust,ignore", "rust"),
            ("{.python .numberLines}", "python"),
            ("{r}", "r"),
            ("language-ts", "ts"),
            ("ts title=\"src/a.ts\"", "ts"),
            ("src/main.rs", "src/main.rs"),
            ("js{1,3}", "js"),
            ("", ""),
        ] {
            assert_eq!(language(info), expected, "{info}");
        }
    }

    #[test]
    fn a_long_line_goes_on_under_itself_and_the_mark_is_not_copied() {
        let text = "    let total = lines.iter().map(price).sum();";
        let frame = WrapFrame {
            breaks: super::super::wrap::BreakOpportunities::Anywhere,
            ..WrapFrame::prose(36)
        };
        let mut out = Vec::new();
        line(text, [], StyleRole::CodeBlock, 0, &hanging(text, &frame), &mut out);
        let shown: Vec<String> =
            out.iter().map(|line| line.spans.iter().map(|span| &*span.text).collect()).collect();
        assert_eq!(shown, ["    let total = lines.iter().map(pri", "    ↳ ce).sum();"]);
        assert_eq!(out[1].gutter, 6);
    }
}
