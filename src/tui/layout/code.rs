//! Lines of code in their colours, shared by Markdown and diffs.

use std::borrow::Cow;

use super::wrap::{Frame, Piece, escape, wrap};
use super::{Line, Role};
use crate::domain::sanitize::sanitize;

/// Lays out one line of code, which begins at `source`. `runs` tells where in the line each role
/// ends; behind the last of them the role is `plain`.
pub(super) fn line(
    text: &str,
    runs: impl IntoIterator<Item = (usize, Role)>,
    plain: Role,
    source: usize,
    frame: &Frame,
    out: &mut Vec<Line>,
) {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut at = 0;
    for (end, role) in runs {
        if let Some(part) = text.get(at..end) {
            escape(part, role, source + at, &mut pieces);
            at = end;
        }
    }
    escape(&text[at..], plain, source + at, &mut pieces);
    wrap(&pieces, &Frame { source, ..frame.clone() }, out);
}

/// The lines of a code block, without their line ends. The last line feed begins no line.
pub(super) fn split(code: &str) -> impl Iterator<Item = &str> {
    code.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line))
}

/// The name of a language from the words after a fence: `rust,ignore`, `{.python}`,
/// `src/main.rs`, `ts title="…"`.
pub(super) fn language(info: &str) -> Cow<'_, str> {
    let info = info.trim_start_matches(['{', '.', ' ', '\t']);
    sanitize(info.split([' ', ',', '{', '}', ';', '\t']).next().unwrap_or_default())
}
