//! Where motions lead. Positions are byte offsets in the text, always at the beginning of a
//! grapheme.

use crate::tui::app::editor::is_chip;
use crate::tui::app::editor::words::{before, behind, line_end, line_start};

use super::command::{ViCharSearch, ViCharSearchStop, ViMotion, ViSide, ViWordKind};

/// Where a motion leads, and how an operator uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViMotionTarget {
    pub at: usize,
    pub motion_type: ViMotionType,
}

/// How much an operator takes between the caret and a motion's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViMotionType {
    /// Without the grapheme at the later end.
    Exclusive,
    /// With the grapheme at the later end.
    Inclusive,
    /// Whole lines.
    Lines,
}

/// Kinds of characters; a word consists of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViCharKind {
    /// Spaces, tabs and line ends.
    Blank,
    /// Letters, digits and `_`.
    Word,
    /// Other signs.
    Sign,
    /// The placeholder of a chip, which is a word of its own.
    Chip(char),
}

/// Where `motion` leads from `at`; `None` if it leads nowhere. `last` is the search that `;`
/// repeats.
pub fn go(
    text: &str,
    at: usize,
    motion: ViMotion,
    count: Option<usize>,
    last: Option<ViCharSearch>,
) -> Option<ViMotionTarget> {
    let times = count.unwrap_or(1);
    let exclusive = |at| Some(ViMotionTarget { at, motion_type: ViMotionType::Exclusive });
    let inclusive = |at| Some(ViMotionTarget { at, motion_type: ViMotionType::Inclusive });
    let lines = |at| Some(ViMotionTarget { at, motion_type: ViMotionType::Lines });
    match motion {
        ViMotion::Left => {
            let start = line_start(text, at);
            exclusive(repeat(at, times, |at| Some(before(text, at)).filter(|to| *to >= start))?)
        }
        ViMotion::Right => {
            let end = line_end(text, at);
            exclusive(repeat(at, times, |at| Some(behind(text, at)).filter(|to| *to <= end))?)
        }
        ViMotion::Up => lines(all(at, times, |at| line_start(text, at).checked_sub(1))?),
        ViMotion::Down => lines(all(at, times, |at| next_line(text, at))?),
        ViMotion::Word(words) => exclusive(repeat(at, times, |at| word(text, at, words))?),
        ViMotion::Back(words) => exclusive(repeat(at, times, |at| back(text, at, words))?),
        ViMotion::End(words) => inclusive(repeat(at, times, |at| end(text, at, words))?),
        ViMotion::LineStart => exclusive(line_start(text, at)),
        ViMotion::FirstText => exclusive(first_text(text, at)),
        ViMotion::LineEnd => {
            exclusive(line_end(text, all(at, times - 1, |at| next_line(text, at))?))
        }
        ViMotion::Find(find) => found(text, at, find, times),
        ViMotion::Again => again(text, at, last?, times),
        ViMotion::AgainBack => {
            let find = last?;
            let side = match find.side {
                ViSide::Before => ViSide::Behind,
                ViSide::Behind => ViSide::Before,
            };
            again(text, at, ViCharSearch { side, ..find }, times)
        }
        ViMotion::FirstLine => lines(first_text(text, nth_line(text, times))),
        ViMotion::LastLine => lines(first_text(
            text,
            match count {
                Some(number) => nth_line(text, number),
                None => text.len(),
            },
        )),
        ViMotion::ParagraphBack => exclusive(repeat(at, times, |at| paragraph_before(text, at))?),
        ViMotion::Paragraph => exclusive(repeat(at, times, |at| paragraph_behind(text, at))?),
        ViMotion::Match => inclusive(matching(text, at)?),
    }
}

/// The first character of the line that is not blank; the line's end if there is none.
pub fn first_text(text: &str, at: usize) -> usize {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let indent = text[start..end].find(|c: char| !c.is_whitespace());
    indent.map_or(end, |indent| start + indent)
}

/// The kind of the character at `at`; the end of the text counts as blank.
pub fn kind(text: &str, at: usize, words: ViWordKind) -> ViCharKind {
    match (text[at..].chars().next(), words) {
        (None, _) => ViCharKind::Blank,
        (Some(c), _) if c.is_whitespace() => ViCharKind::Blank,
        (Some(c), _) if is_chip(c) => ViCharKind::Chip(c),
        (Some(_), ViWordKind::Big) => ViCharKind::Word,
        (Some(c), ViWordKind::Small) if c.is_alphanumeric() || c == '_' => ViCharKind::Word,
        (Some(_), ViWordKind::Small) => ViCharKind::Sign,
    }
}

/// The end of the run of characters of one kind from `at` on, within the line.
pub fn run_end(text: &str, at: usize, words: ViWordKind) -> usize {
    let (kind_here, end) = (kind(text, at, words), line_end(text, at));
    let mut to = at;
    while to < end && kind(text, to, words) == kind_here {
        to = behind(text, to);
    }
    to
}

/// The beginning of the run of characters of one kind around `at`, within the line.
pub fn run_start(text: &str, at: usize, words: ViWordKind) -> usize {
    let (kind_here, start) = (kind(text, at, words), line_start(text, at));
    let mut from = at;
    while from > start && kind(text, before(text, from), words) == kind_here {
        from = before(text, from);
    }
    from
}

/// Takes up to `times` steps; `None` if not even one is possible.
fn repeat(at: usize, times: usize, step: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    let mut here = at;
    for _ in 0..times {
        match step(here).filter(|to| *to != here) {
            Some(to) => here = to,
            None => break,
        }
    }
    (here != at).then_some(here)
}

/// Takes exactly `times` steps; `None` if that many are not possible.
fn all(at: usize, times: usize, step: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    (0..times).try_fold(at, |at, _| step(at))
}

fn next_line(text: &str, at: usize) -> Option<usize> {
    let end = line_end(text, at);
    (end < text.len()).then_some(end + 1)
}

/// The beginning of a line by its number, from 1; of the last line if there are fewer.
fn nth_line(text: &str, number: usize) -> usize {
    let ends = text.match_indices('\n').map(|(end, _)| end + 1);
    std::iter::once(0).chain(ends).take(number.max(1)).last().unwrap_or(0)
}

fn is_empty_line(text: &str, at: usize) -> bool {
    line_start(text, at) == at && line_end(text, at) == at
}

fn word(text: &str, at: usize, words: ViWordKind) -> Option<usize> {
    let mut to =
        if kind(text, at, words) == ViCharKind::Blank { at } else { run_end(text, at, words) };
    while to < text.len() && kind(text, to, words) == ViCharKind::Blank {
        if to > at && is_empty_line(text, to) {
            break;
        }
        to = behind(text, to);
    }
    Some(to)
}

fn back(text: &str, at: usize, words: ViWordKind) -> Option<usize> {
    let mut to = at;
    while to > 0 {
        to = before(text, to);
        if kind(text, to, words) != ViCharKind::Blank {
            return Some(run_start(text, to, words));
        }
        if is_empty_line(text, to) {
            return Some(to);
        }
    }
    Some(0)
}

fn end(text: &str, at: usize, words: ViWordKind) -> Option<usize> {
    let mut to = behind(text, at);
    while to < text.len() && kind(text, to, words) == ViCharKind::Blank {
        to = behind(text, to);
    }
    match to == text.len() {
        true => Some(before(text, to)).filter(|last| *last > at),
        false => Some(before(text, run_end(text, to, words))),
    }
}

fn found(text: &str, at: usize, find: ViCharSearch, times: usize) -> Option<ViMotionTarget> {
    let (start, end) = (line_start(text, at), line_end(text, at));
    match find.side {
        ViSide::Behind => {
            let from = behind(text, at).min(end);
            let hit = text[from..end].match_indices(find.target).nth(times - 1)?.0 + from;
            let at = match find.stop {
                ViCharSearchStop::On => hit,
                ViCharSearchStop::Short => before(text, hit),
            };
            Some(ViMotionTarget { at, motion_type: ViMotionType::Inclusive })
        }
        ViSide::Before => {
            let hit = text[start..at].rmatch_indices(find.target).nth(times - 1)?.0 + start;
            let at = match find.stop {
                ViCharSearchStop::On => hit,
                ViCharSearchStop::Short => behind(text, hit),
            };
            Some(ViMotionTarget { at, motion_type: ViMotionType::Exclusive })
        }
    }
}

/// Repeats a search. One that stops short skips the character that it already stands before.
fn again(text: &str, at: usize, find: ViCharSearch, times: usize) -> Option<ViMotionTarget> {
    let target = found(text, at, find, times)?;
    if target.at == at && find.stop == ViCharSearchStop::Short {
        return found(text, at, find, times + 1);
    }
    Some(target)
}

fn paragraph_behind(text: &str, at: usize) -> Option<usize> {
    let mut to = line_start(text, at);
    while is_empty_line(text, to) {
        to = next_line(text, to)?;
    }
    while !is_empty_line(text, to) {
        match next_line(text, to) {
            Some(next) => to = next,
            None => return Some(text.len()),
        }
    }
    Some(to)
}

fn paragraph_before(text: &str, at: usize) -> Option<usize> {
    let up = |at: usize| at.checked_sub(1).map(|end| line_start(text, end));
    let mut to = line_start(text, at);
    while is_empty_line(text, to) {
        to = up(to)?;
    }
    while !is_empty_line(text, to) {
        match up(to) {
            Some(next) => to = next,
            None => return Some(0),
        }
    }
    Some(to)
}

const PAIRS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// The bracket that matches the first bracket in the line from `at` on.
fn matching(text: &str, at: usize) -> Option<usize> {
    let line = &text[at..line_end(text, at)];
    let bracket = |c: char| PAIRS.iter().any(|(open, close)| c == *open || c == *close);
    let from = at + line.find(bracket)?;
    let c = text[from..].chars().next()?;
    let (open, close) = *PAIRS.iter().find(|(open, close)| c == *open || c == *close)?;
    if c == open { closing(text, from, open, close) } else { opening(text, from, open, close) }
}

/// Byte offset of the bracket that closes the one at `from`; `None` if it is not closed.
pub fn closing(text: &str, from: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, c) in text[from..].char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(from + offset);
            }
        }
    }
    None
}

/// Byte offset of the bracket that the one at `from` closes; `None` if there is none.
pub fn opening(text: &str, from: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, c) in text[..from + close.len_utf8()].char_indices().rev() {
        if c == close {
            depth += 1;
        } else if c == open {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(offset);
            }
        }
    }
    None
}
