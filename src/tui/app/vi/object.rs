//! The text objects that an operator can take: words, quoted text, brackets, paragraphs.

use crate::tui::app::editor::words::{behind, line_end, line_start};

use super::command::{ViObjectExtent, ViTextObject, ViWordKind};
use super::motion::{ViCharKind, closing, kind, opening, run_end, run_start};
use super::operate::ViTextSpan;

/// The bytes of the text object at `at`; `None` if there is none. `count` takes that many words or
/// paragraphs, or levels of brackets.
pub fn find(
    text: &str,
    at: usize,
    extent: ViObjectExtent,
    object: ViTextObject,
    count: usize,
) -> Option<ViTextSpan> {
    match object {
        ViTextObject::Word(words) => word(text, at, extent, words, count),
        ViTextObject::Quote(quote) => quoted(text, at, extent, quote),
        ViTextObject::Pair(open, close) => pair(text, at, extent, open, close, count),
        ViTextObject::Paragraph => Some(paragraph(text, at, extent, count)),
    }
}

fn word(
    text: &str,
    at: usize,
    extent: ViObjectExtent,
    words: ViWordKind,
    count: usize,
) -> Option<ViTextSpan> {
    let is_blank = |at: usize| kind(text, at, words) == ViCharKind::Blank;
    let line_end = line_end(text, at);
    if line_start(text, at) == line_end {
        return None;
    }
    let mut start = run_start(text, at, words);
    let mut end = start;
    let began_blank = is_blank(start);
    for _ in 0..count {
        if end == line_end {
            break;
        }
        end = run_end(text, end, words);
        let pairs = extent == ViObjectExtent::Around && end < line_end;
        // A word includes the blanks behind it; blanks include the word behind them.
        if pairs && is_blank(end) != began_blank {
            end = run_end(text, end, words);
        }
    }
    let trails = end > start && is_blank(super::operate::last(text, end));
    if extent == ViObjectExtent::Around
        && !began_blank
        && !trails
        && start > line_start(text, start)
    {
        let left = super::operate::last(text, start);
        if is_blank(left) {
            start = run_start(text, left, words);
        }
    }
    Some(ViTextSpan::Chars(start..end))
}

fn quoted(text: &str, at: usize, extent: ViObjectExtent, quote: char) -> Option<ViTextSpan> {
    let (start, end) = (line_start(text, at), line_end(text, at));
    let mut escaped = false;
    let mut quotes = Vec::new();
    for (offset, c) in text[start..end].char_indices() {
        if c == quote && !escaped {
            quotes.push(start + offset);
        }
        escaped = c == '\\' && !escaped;
    }
    let (open, close) =
        quotes.chunks_exact(2).map(|pair| (pair[0], pair[1])).find(|(_, close)| at <= *close)?;
    match extent {
        ViObjectExtent::Inner => Some(ViTextSpan::Chars(open + 1..close)),
        ViObjectExtent::Around => {
            let (mut from, mut to) = (open, close + 1);
            let blanks = |c: char| c == ' ' || c == '\t';
            let behind = text[to..end].len() - text[to..end].trim_start_matches(blanks).len();
            if behind > 0 {
                to += behind;
            } else {
                from = start + text[start..open].trim_end_matches(blanks).len();
            }
            Some(ViTextSpan::Chars(from..to))
        }
    }
}

fn pair(
    text: &str,
    at: usize,
    extent: ViObjectExtent,
    open: char,
    close: char,
    count: usize,
) -> Option<ViTextSpan> {
    let mut from = match text[at..].chars().next() {
        Some(c) if c == open => at,
        Some(c) if c == close => opening(text, at, open, close)?,
        Some(_) | None => enclosing(text, at, open, close)?,
    };
    for _ in 1..count {
        from = enclosing(text, from, open, close)?;
    }
    let to = closing(text, from, open, close)?;
    if to < at {
        return None;
    }
    if extent == ViObjectExtent::Around {
        return Some(ViTextSpan::Chars(from..to + close.len_utf8()));
    }
    let inside = from + open.len_utf8();
    // Brackets on lines of their own contain whole lines.
    let own_lines = text[inside..to].starts_with('\n')
        && text[line_start(text, to)..to].chars().all(char::is_whitespace);
    match own_lines && line_start(text, to) > inside + 1 {
        true => Some(ViTextSpan::Lines(inside + 1..line_start(text, to))),
        false => Some(ViTextSpan::Chars(inside..to)),
    }
}

/// The innermost opening bracket around `at`.
fn enclosing(text: &str, at: usize, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, c) in text[..at].char_indices().rev() {
        if c == close {
            depth += 1;
        } else if c == open {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(offset),
            }
        }
    }
    None
}

fn paragraph(text: &str, at: usize, extent: ViObjectExtent, count: usize) -> ViTextSpan {
    let is_empty = |at: usize| text[line_start(text, at)..line_end(text, at)].trim().is_empty();
    let next = |at: usize| behind(text, line_end(text, at));
    let here = is_empty(at);
    let mut start = line_start(text, at);
    while start > 0 && is_empty(start - 1) == here {
        start = line_start(text, start - 1);
    }
    let mut end = start;
    let run = |mut end: usize| {
        let kind = is_empty(end);
        while end < text.len() && is_empty(end) == kind {
            end = next(end);
        }
        end
    };
    for _ in 0..count {
        end = run(end);
        if extent == ViObjectExtent::Around {
            end = run(end);
        }
    }
    // The last line may have no line end.
    let last = text[..end].strip_suffix('\n').map_or(end, str::len);
    let trails = end > start && is_empty(last.max(start));
    if extent == ViObjectExtent::Around && !here && !trails {
        while start > 0 && is_empty(start - 1) {
            start = line_start(text, start - 1);
        }
    }
    ViTextSpan::Lines(start..end)
}
