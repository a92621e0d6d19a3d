//! The part of the text that an operator takes, and what the operator does with it.

use std::ops::Range;

use crate::tui::app::editor::TextEditor;
use crate::tui::app::editor::words::{before, behind, boundary, line_end, line_start};

use super::command::{ViCharSearch, ViMotion, ViOperator, ViOperatorTarget, ViWordKind};
use super::motion::{self, ViCharKind, ViMotionType, first_text, kind, run_end};
use super::object;

/// A part of a text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViTextSpan {
    /// Within or across lines.
    Chars(Range<usize>),
    /// Whole lines, with the line end of the last one if it has one.
    Lines(Range<usize>),
}

/// The text that was deleted or yanked last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ViRegister {
    /// Whole lines end in a line feed.
    pub text: String,
    pub lines: ViLinewise,
}

/// Whether a text consists of whole lines, and so is put between lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ViLinewise {
    Yes,
    #[default]
    No,
}

/// A count does not repeat a text much beyond this many bytes.
const LONGEST: usize = 20_000;

/// One level of indentation.
const INDENT: &str = "    ";

/// Where the grapheme before `at` begins.
pub fn last(text: &str, at: usize) -> usize {
    before(text, at)
}

/// The part that an operator takes; `None` if there is nothing, and for a selection, which is not
/// known here.
pub fn span(
    text: &str,
    at: usize,
    operator: ViOperator,
    over: ViOperatorTarget,
    count: Option<usize>,
    find: Option<ViCharSearch>,
) -> Option<ViTextSpan> {
    let times = count.unwrap_or(1);
    match over {
        ViOperatorTarget::Lines => {
            let to = (1..times).fold(at, |at, _| behind(text, line_end(text, at)));
            Some(whole_lines(text, at, to))
        }
        ViOperatorTarget::Chars => {
            let to = (0..times).fold(at, |at, _| behind(text, at));
            Some(ViTextSpan::Chars(at..to))
        }
        ViOperatorTarget::Object(extent, object) => object::find(text, at, extent, object, times),
        ViOperatorTarget::Motion(motion) => over_motion(text, at, operator, motion, count, find),
        ViOperatorTarget::Selection | ViOperatorTarget::SelectedLines => None,
    }
}

/// The lines from the one that holds `from` to the one that holds `to`.
pub fn whole_lines(text: &str, from: usize, to: usize) -> ViTextSpan {
    ViTextSpan::Lines(line_start(text, from)..behind(text, line_end(text, to)))
}

/// Applies an operator to a part of the text, and sets the caret as Vi does.
pub fn apply(
    editor: &mut TextEditor,
    operator: ViOperator,
    span: &ViTextSpan,
    register: &mut ViRegister,
) {
    let text = editor.text();
    let caret = editor.caret();
    match operator {
        ViOperator::Yank => {
            *register = register_of(&text, span);
            let start = span.range().start;
            match span {
                ViTextSpan::Chars(_) => editor.set_caret(start),
                ViTextSpan::Lines(_) if start < line_start(&text, caret) => editor.set_caret(start),
                ViTextSpan::Lines(_) => {}
            }
        }
        ViOperator::Delete => {
            *register = register_of(&text, span);
            delete(editor, &text, span);
        }
        ViOperator::Change => {
            *register = register_of(&text, span);
            let range = span.range();
            // Changing lines leaves an empty line to write in.
            let end = match span {
                ViTextSpan::Lines(_) if text[range.clone()].ends_with('\n') => range.end - 1,
                ViTextSpan::Lines(_) | ViTextSpan::Chars(_) => range.end,
            };
            editor.replace(range.start, end, "");
            editor.set_caret(range.start);
        }
        ViOperator::Indent => shift(editor, &text, &span.range(), indented),
        ViOperator::Outdent => shift(editor, &text, &span.range(), outdented),
        ViOperator::SwapCase | ViOperator::Lower | ViOperator::Upper => {
            let range = span.range();
            let with: String =
                text[range.clone()].chars().flat_map(|c| cased(operator, c)).collect();
            editor.replace(range.start, range.end, &with);
            editor.set_caret(match span {
                ViTextSpan::Chars(_) => range.start,
                ViTextSpan::Lines(_) => boundary(&editor.text(), caret),
            });
        }
    }
}

/// Inserts the register `times` times, behind the caret or before it.
pub fn put(editor: &mut TextEditor, register: &ViRegister, behind_caret: bool, times: usize) {
    let (text, caret) = (editor.text(), editor.caret());
    let copies = copies(&register.text, times);
    if copies.is_empty() {
        return;
    }
    match register.lines {
        ViLinewise::Yes if behind_caret => {
            let at = line_end(&text, caret);
            editor.replace(at, at, &format!("\n{}", copies.strip_suffix('\n').unwrap_or(&copies)));
            editor.set_caret(first_text(&editor.text(), at + 1));
        }
        ViLinewise::Yes => {
            let at = line_start(&text, caret);
            editor.replace(at, at, &copies);
            editor.set_caret(first_text(&editor.text(), at));
        }
        ViLinewise::No => {
            let at = match behind_caret {
                true if caret < line_end(&text, caret) => behind(&text, caret),
                true | false => caret,
            };
            editor.replace(at, at, &copies);
            let now = editor.text();
            editor.set_caret(match copies.contains('\n') {
                true => at,
                false => before(&now, at + copies.len()),
            });
        }
    }
}

/// A text repeated `times` times, but not much beyond `LONGEST` bytes.
pub fn copies(text: &str, times: usize) -> String {
    text.repeat(times.min(LONGEST.div_ceil(text.len().max(1))))
}

/// Joins `lines` lines, from the caret's on and at least two, with one space between them unless
/// there is a blank already.
pub fn join(editor: &mut TextEditor, lines: usize) {
    for _ in 1..lines.max(2) {
        let text = editor.text();
        let end = line_end(&text, editor.caret());
        if end == text.len() {
            return;
        }
        let next = first_text(&text, end + 1);
        let begins = text[next..].chars().next();
        let bare = end == line_start(&text, end)
            || text[..end].ends_with(char::is_whitespace)
            || begins.is_none_or(|c| c == '\n' || c == ')');
        editor.replace(end, next, if bare { "" } else { " " });
        editor.set_caret(end);
    }
}

/// Replaces each grapheme of a range by `with`, except line ends.
pub fn overwrite(editor: &mut TextEditor, range: Range<usize>, with: char) {
    use unicode_segmentation::UnicodeSegmentation;
    let text = editor.text();
    let new: String = text[range.clone()]
        .graphemes(true)
        .map(|grapheme| if grapheme == "\n" { '\n' } else { with })
        .collect();
    editor.replace(range.start, range.end, &new);
}

impl ViTextSpan {
    /// The bytes of the part, whether lines or characters.
    pub fn range(&self) -> Range<usize> {
        match self {
            Self::Chars(range) | Self::Lines(range) => range.clone(),
        }
    }
}

fn over_motion(
    text: &str,
    at: usize,
    operator: ViOperator,
    motion: ViMotion,
    count: Option<usize>,
    find: Option<ViCharSearch>,
) -> Option<ViTextSpan> {
    if let (ViOperator::Change, ViMotion::Word(words)) = (operator, motion)
        && kind(text, at, words) != ViCharKind::Blank
    {
        // `cw` leaves the blanks behind the word.
        return Some(ViTextSpan::Chars(at..word_end(text, at, words, count.unwrap_or(1))));
    }
    let target = motion::go(text, at, motion, count, find)?;
    let (from, to) = (at.min(target.at), at.max(target.at));
    let span = match target.motion_type {
        ViMotionType::Lines => return Some(whole_lines(text, from, to)),
        ViMotionType::Inclusive => from..behind(text, to),
        ViMotionType::Exclusive if to > from && is_line_start(text, to) => {
            return Some(exclusive_to_line_start(text, motion, from, to));
        }
        // A word motion at the last word of a line does not take the line end.
        ViMotionType::Exclusive
            if matches!(motion, ViMotion::Word(_))
                && first_text(text, to) == to
                && line_start(text, to) > from =>
        {
            from..line_start(text, to) - 1
        }
        ViMotionType::Exclusive => from..to,
    };
    (!span.is_empty()).then_some(ViTextSpan::Chars(span))
}

/// An exclusive motion to the beginning of a line stops at the end of the line before. A paragraph
/// motion takes whole lines if it begins at or before the first character of its line.
fn exclusive_to_line_start(text: &str, motion: ViMotion, from: usize, to: usize) -> ViTextSpan {
    let end = to - 1;
    let is_paragraph = matches!(motion, ViMotion::Paragraph | ViMotion::ParagraphBack);
    if is_paragraph && end > from && from <= first_text(text, from) {
        whole_lines(text, from, end)
    } else {
        ViTextSpan::Chars(from..end)
    }
}

fn is_line_start(text: &str, at: usize) -> bool {
    at > 0 && text.as_bytes().get(at - 1) == Some(&b'\n')
}

fn word_end(text: &str, at: usize, words: ViWordKind, times: usize) -> usize {
    let end = run_end(text, at, words);
    match times {
        0 | 1 => end,
        more => motion::go(text, before(text, end), ViMotion::End(words), Some(more - 1), None)
            .map_or(end, |target| behind(text, target.at)),
    }
}

fn register_of(text: &str, span: &ViTextSpan) -> ViRegister {
    let range = span.range();
    match span {
        ViTextSpan::Chars(_) => ViRegister { text: text[range].to_owned(), lines: ViLinewise::No },
        ViTextSpan::Lines(_) => {
            let text = &text[range];
            let text = text.strip_suffix('\n').unwrap_or(text);
            ViRegister { text: format!("{text}\n"), lines: ViLinewise::Yes }
        }
    }
}

fn delete(editor: &mut TextEditor, text: &str, span: &ViTextSpan) {
    let range = span.range();
    match span {
        ViTextSpan::Chars(_) => {
            editor.replace(range.start, range.end, "");
            editor.set_caret(range.start);
        }
        ViTextSpan::Lines(_) => {
            // The last line has no line end of its own: remove the one before it.
            let start = match text[range.clone()].ends_with('\n') {
                true => range.start,
                false => range.start.saturating_sub(1),
            };
            editor.replace(start, range.end, "");
            let now = editor.text();
            editor.set_caret(first_text(&now, range.start.min(now.len())));
        }
    }
}

fn shift(editor: &mut TextEditor, text: &str, range: &Range<usize>, how: fn(&str) -> String) {
    let start = line_start(text, range.start);
    let shifted: Vec<String> = text[start..range.end].split('\n').map(how).collect();
    editor.replace(start, range.end, &shifted.join("\n"));
    editor.set_caret(first_text(&editor.text(), start));
}

fn indented(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!("{INDENT}{line}") }
}

fn outdented(line: &str) -> String {
    let blanks = line.bytes().take_while(|byte| *byte == b' ').count().min(INDENT.len());
    line.strip_prefix('\t').unwrap_or(&line[blanks..]).to_owned()
}

fn cased(operator: ViOperator, c: char) -> Vec<char> {
    match operator {
        ViOperator::Upper => c.to_uppercase().collect(),
        ViOperator::SwapCase if c.is_lowercase() => c.to_uppercase().collect(),
        ViOperator::Lower | ViOperator::SwapCase => c.to_lowercase().collect(),
        ViOperator::Delete
        | ViOperator::Change
        | ViOperator::Yank
        | ViOperator::Indent
        | ViOperator::Outdent => vec![c],
    }
}
