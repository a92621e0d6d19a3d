//! A text being edited, of one line or many: the input, a rule, a filter, an instruction.
//!
//! The text, the caret and the undo history are `tui-textarea`'s. This wrapper adds what the crate
//! lacks: motion and deletion by whole graphemes, undo by word instead of by character, rows
//! wrapped to the screen's width, a kill ring, and chips, which stand in the text as one character
//! for a long paste or an image. Positions are byte offsets into the whole text. Drawing is the
//! view's.

mod chips;
mod edits;
mod kills;
pub mod words;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use tui_textarea::{CursorMove, TextArea};

use crate::domain::sanitize::strip_ansi;
use crate::domain::{MessageImage, UserInput};

use super::request_id::RequestId;
use super::softwrap::{self, SoftWrapRow};

pub use chips::{ChipContent, ChipSet, InputChip, is_chip};

use kills::KillRing;

/// A paste with more lines than this becomes a chip.
const CHIP_LINES: usize = 20;
/// A paste with more characters than this becomes a chip.
const CHIP_CHARS: usize = 2000;
/// The longest text that can be loaded or expanded for editing: in a longer one, keys lag.
const EDITABLE_CHARS: usize = 20_000;

/// A text with a caret, a selection and an undo history.
#[derive(Clone)]
pub struct TextEditor {
    area: TextArea<'static>,
    lines: EditorLines,
    chips: ChipSet,
    kills: KillRing,
    /// Where the selection began; it extends to the caret.
    anchor: Option<usize>,
    /// The column that vertical moves aim for; cleared by any other action.
    goal: Option<u16>,
    /// For each undo step of this editor, the number of steps of `tui-textarea`.
    undo: Vec<usize>,
    redo: Vec<usize>,
    group: UndoGroup,
    revision: u64,
}

/// Whether a text may have more than one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditorLines {
    /// Line ends become spaces, and pastes do not become chips.
    One,
    Many,
}

/// What the newest undo step consists of, which decides what can join it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UndoGroup {
    /// Nothing can join.
    Closed,
    /// Typed characters of one word.
    Typing,
    /// Characters erased one by one.
    Erasing,
    /// Everything until [`TextEditor::close_group`].
    Open,
}

/// What came of expanding a chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChipExpansion {
    /// The chip's text has replaced it.
    Done,
    /// The chip's text is too long to be edited here.
    TooLong,
    /// No chip with text is at the caret.
    NoChip,
}

impl TextEditor {
    /// An editor without text, kills or undo history.
    pub fn new(lines: EditorLines) -> Self {
        Self {
            area: area(),
            lines,
            chips: ChipSet::default(),
            kills: KillRing::default(),
            anchor: None,
            goal: None,
            undo: Vec::new(),
            redo: Vec::new(),
            group: UndoGroup::Closed,
            revision: 0,
        }
    }

    /// An editor with a text that slug provides, as it is; the caret is at the end.
    pub fn with_text(lines: EditorLines, text: &str) -> Self {
        let mut editor = Self::new(lines);
        editor.insert(&ChipSet::foreign(text));
        editor
    }

    /// The text as it is edited: each chip is one character.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// The text with chips replaced by the text they stand for.
    pub fn expanded(&self) -> String {
        self.chips.expand(&self.text())
    }

    /// The expanded text together with its images.
    pub fn typed(&self) -> UserInput {
        self.chips.typed(&self.text())
    }

    /// What the chip characters of the text stand for.
    pub fn chips(&self) -> &ChipSet {
        &self.chips
    }

    /// Whether there is no text; a chip counts as text.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// A number that changes with every change of the text.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The byte offset of the caret.
    pub fn caret(&self) -> usize {
        let cursor = self.area.cursor();
        let lines = self.area.lines();
        let above: usize = lines.iter().take(cursor.0).map(|line| line.len() + 1).sum();
        above + lines.get(cursor.0).map_or(0, |line| byte_of(line, cursor.1))
    }

    /// The bytes that are selected; `None` if nothing is.
    pub fn selection(&self) -> Option<Range<usize>> {
        let (anchor, caret) = (self.anchor?, self.caret());
        (anchor != caret).then(|| anchor.min(caret)..anchor.max(caret))
    }

    /// The text wrapped to `width` columns.
    pub fn rows(&self, width: u16) -> Vec<SoftWrapRow> {
        softwrap::rows_with(&self.text(), width, &self.chips)
    }

    /// Puts the caret before byte `at`, or before the grapheme that contains it. Ends the
    /// selection.
    pub fn set_caret(&mut self, at: usize) {
        self.anchor = None;
        self.goal = None;
        self.settle();
        self.jump(words::boundary(&self.text(), at));
    }

    /// Like [`Self::set_caret`], but keeps the column that vertical moves aim for.
    pub fn set_caret_keeping_column(&mut self, at: usize) {
        let goal = self.goal;
        self.set_caret(at);
        self.goal = goal;
    }

    /// Empties the text and its undo history. Keeps the kills, and the chips that the kills or
    /// `retained` contain.
    pub fn start_over(&mut self, retained: &str) {
        let Self { chips, kills, .. } = self;
        chips.keep_only(|place| {
            retained.contains(place) || kills.texts().any(|text| text.contains(place))
        });
        kills.interrupt();
        *self = Self {
            area: area(),
            chips: std::mem::take(&mut self.chips),
            kills: std::mem::take(&mut self.kills),
            revision: self.revision + 1,
            ..Self::new(self.lines)
        };
    }

    /// Replaces the text by a draft or an older text; can be undone. Its images become chips, and
    /// so does text that is too long to be edited.
    pub fn load(&mut self, typed: &UserInput) {
        let whole = self.sanitized(&typed.text);
        let is_too_long = self.lines == EditorLines::Many && is_longer(&whole, EDITABLE_CHARS);
        let mut pieces = String::new();
        let mut rest = &*whole;
        for attached in &typed.images {
            let Some((before, behind)) = rest.split_once(&attached.label) else { continue };
            pieces.push_str(&self.editable(before, is_too_long));
            match self.chips.bring_back(attached, &pieces) {
                Some(place) => pieces.push(place),
                None => pieces.push_str(&attached.label),
            }
            rest = behind;
        }
        pieces.push_str(&self.editable(rest, is_too_long));
        self.replace(0, self.text().len(), &pieces);
    }

    /// Replaces the chip that waits for this request by an image.
    pub fn settle_image(&mut self, id: RequestId, image: MessageImage) {
        if self.chips.settle(id, image) {
            self.revision += 1;
        }
    }

    /// Replaces the chip that waits for this request by `found`, or by what was pasted if that is
    /// `None`. The caret keeps its place in the text typed since.
    pub fn settle_text(&mut self, id: RequestId, found: Option<&str>) {
        let Some(chip) = self.chips.reading(id) else { return };
        let (place, content) = (chip.place, chip.content.clone());
        let replacement = match (&content, found) {
            (_, Some(text)) => text,
            (ChipContent::Reading { fallback, .. }, None) => fallback,
            (ChipContent::Text(_) | ChipContent::Image(_) | ChipContent::Session { .. }, None) => {
                return;
            }
        };
        let Some(start) = self.text().find(place) else { return };
        let end = start + place.len_utf8();
        let caret = self.caret();
        let whole = self.text().len();
        self.set_caret(start);
        self.replace(start, end, "");
        self.paste(replacement);
        let behind = whole.saturating_sub(caret);
        if caret < end {
            self.set_caret(caret.min(start));
        } else {
            self.set_caret(self.text().len().saturating_sub(behind));
        }
    }

    /// Whether the text has a chip whose content is still being read.
    pub fn is_reading(&self) -> bool {
        let text = self.text();
        let mut chips = text.chars().filter(|c| is_chip(*c)).filter_map(|c| self.chips.get(c));
        chips.any(|chip| matches!(chip.content, ChipContent::Reading { .. }))
    }

    /// Inserts text in one piece in place of the selection. A long text becomes a chip; an editor
    /// of one line takes only the first 2,000 characters.
    pub fn paste(&mut self, text: &str) {
        let text = self.sanitized(text);
        let text = match self.lines {
            EditorLines::Many if is_long(&text) => self.chip_for(&text),
            EditorLines::Many => text,
            EditorLines::One => text.chars().take(CHIP_CHARS).collect::<String>().into(),
        };
        let at = self.selection().unwrap_or(self.caret()..self.caret());
        self.replace(at.start, at.end, &text);
    }

    /// Inserts a chip in place of the selection. `None` if there are as many chips as there can be.
    pub fn insert_chip(&mut self, content: ChipContent) -> Option<()> {
        let at = self.selection().unwrap_or(self.caret()..self.caret());
        self.replace_by_chip(at, content)
    }

    /// Replaces these bytes by a chip. `None` if there are as many chips as there can be.
    pub fn replace_by_chip(&mut self, at: Range<usize>, content: ChipContent) -> Option<()> {
        let place = self.chips.add(content)?;
        self.replace(at.start, at.end, place.encode_utf8(&mut [0; 4]));
        Some(())
    }

    /// The chip directly after or before the caret, and its bytes.
    pub fn chip_at_caret(&self) -> Option<(Range<usize>, &InputChip)> {
        let (text, caret) = (self.text(), self.caret());
        let behind = caret..words::behind(&text, caret);
        let before = words::before(&text, caret)..caret;
        [behind, before].into_iter().find_map(|at| {
            let chip = self.chips.of(text.get(at.clone())?)?;
            Some((at, chip))
        })
    }

    /// Replaces the chip at the caret by its text, so that it can be edited.
    pub fn expand_chip(&mut self) -> ChipExpansion {
        let Some((at, chip)) = self.chip_at_caret() else { return ChipExpansion::NoChip };
        let content = match &chip.content {
            ChipContent::Text(content) => Arc::clone(content),
            ChipContent::Session { id, .. } => chips::mention(*id).into(),
            ChipContent::Image(_) | ChipContent::Reading { .. } => return ChipExpansion::NoChip,
        };
        if is_longer(&content, EDITABLE_CHARS) {
            return ChipExpansion::TooLong;
        }
        self.replace(at.start, at.end, &content);
        ChipExpansion::Done
    }

    /// Types one character in place of the selection.
    pub fn insert_char(&mut self, c: char) {
        self.kills.interrupt();
        if let Some(selected) = self.selection() {
            self.replace(selected.start, selected.end, "");
        }
        if c == '\n' || c == '\r' {
            self.insert("\n");
            return;
        }
        self.area.insert_char(c);
        self.changed(1, UndoGroup::Typing);
        if c.is_whitespace() && self.group == UndoGroup::Typing {
            self.group = UndoGroup::Closed;
        }
    }

    /// Inserts text at the caret. Every kind of line end becomes a line feed.
    pub fn insert(&mut self, text: &str) {
        let caret = self.caret();
        self.replace(caret, caret, text);
    }

    /// Replaces the bytes from `start` to `end`; the caret moves behind the new text.
    pub fn replace(&mut self, start: usize, end: usize, with: &str) {
        let steps = self.splice(start, end, with);
        if steps > 0 {
            self.changed(steps, UndoGroup::Closed);
        }
    }

    /// Starts an undo step that takes all changes until [`Self::close_group`].
    pub fn open_group(&mut self) {
        self.undo.push(0);
        self.group = UndoGroup::Open;
    }

    /// Ends the undo step that [`Self::open_group`] started; drops it if nothing changed.
    pub fn close_group(&mut self) {
        self.group = UndoGroup::Closed;
        if self.undo.last() == Some(&0) {
            self.undo.pop();
        }
    }

    /// Undoes the last step. Returns whether there was one.
    pub fn undo(&mut self) -> bool {
        let Some(steps) = self.undo.pop() else { return false };
        for _ in 0..steps {
            self.area.undo();
        }
        self.redo.push(steps);
        self.after_history_step();
        true
    }

    /// Whether there is a removed text to put back.
    pub fn can_yank(&self) -> bool {
        !self.kills.is_empty()
    }

    /// Whether there is a step to undo.
    pub fn can_undo(&self) -> bool {
        !self.undo.is_empty()
    }

    /// Redoes the step that was undone last. Returns whether there was one.
    pub fn redo(&mut self) -> bool {
        let Some(steps) = self.redo.pop() else { return false };
        for _ in 0..steps {
            self.area.redo();
        }
        self.undo.push(steps);
        self.after_history_step();
        true
    }

    /// Moves the caret a row up in a text wrapped to `width` columns. Returns whether it could.
    pub fn up(&mut self, width: u16) -> bool {
        self.vertical(width, |row| row.checked_sub(1))
    }

    /// Moves the caret a row down in a text wrapped to `width` columns. Returns whether it could.
    pub fn down(&mut self, width: u16) -> bool {
        self.vertical(width, |row| Some(row + 1))
    }

    fn vertical(&mut self, width: u16, to: impl Fn(usize) -> Option<usize>) -> bool {
        let text = self.text();
        let rows = self.rows(width);
        let (row, column) = softwrap::place_with(&text, &rows, self.caret(), &self.chips);
        let column = self.goal.unwrap_or(column);
        let Some(target) = to(row).and_then(|row| rows.get(row)) else { return false };
        let at = softwrap::at(&text, target, column, &self.chips);
        // The end of a wrapped row is the start of the next one: the caret would be drawn there.
        let wraps = rows.iter().any(|row| row.start == at && row.start != target.start);
        self.set_caret(if wraps { words::before(&text, at) } else { at });
        self.goal = Some(column);
        true
    }

    /// Replaces bytes, and returns how many `tui-textarea` steps that took.
    fn splice(&mut self, start: usize, end: usize, with: &str) -> usize {
        let with = self.one_kind_of_line_end(with);
        let count = self.text().get(start..end).unwrap_or_default().chars().count();
        if count == 0 && with.is_empty() {
            return 0;
        }
        self.jump(start);
        let mut steps = 0;
        if count > 0 {
            self.area.delete_str(count);
            steps += 1;
        }
        if !with.is_empty() {
            self.area.insert_str(&with);
            steps += 1;
        }
        steps
    }

    /// Records a change of `steps` `tui-textarea` steps. The change joins the newest undo step if
    /// both are of the same kind.
    fn changed(&mut self, steps: usize, kind: UndoGroup) {
        self.revision += 1;
        self.redo.clear();
        self.anchor = None;
        self.goal = None;
        let joins =
            self.group == UndoGroup::Open || (self.group == kind && kind != UndoGroup::Closed);
        match self.undo.last_mut() {
            Some(last) if joins => *last += steps,
            Some(_) | None => self.undo.push(steps),
        }
        if self.group != UndoGroup::Open {
            self.group = kind;
        }
        self.leave_grapheme();
    }

    /// Moves the caret behind a grapheme that a change has formed around it.
    fn leave_grapheme(&mut self) {
        let (text, caret) = (self.text(), self.caret());
        let start = words::boundary(&text, caret);
        if start < caret {
            self.jump(words::behind(&text, start));
        }
    }

    /// Closes the newest undo step, so that nothing joins it.
    fn settle(&mut self) {
        if self.group != UndoGroup::Open {
            self.group = UndoGroup::Closed;
        }
    }

    fn after_history_step(&mut self) {
        self.revision += 1;
        self.anchor = None;
        self.goal = None;
        self.group = UndoGroup::Closed;
        self.leave_grapheme();
    }

    fn jump(&mut self, at: usize) {
        let mut left = at;
        let mut row = 0;
        let mut column = 0;
        for (number, line) in self.area.lines().iter().enumerate() {
            row = number;
            column = line.get(..left.min(line.len())).map_or(0, |text| text.chars().count());
            if left <= line.len() {
                break;
            }
            left -= line.len() + 1;
        }
        let clamp = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(clamp(row), clamp(column)));
    }

    /// A piece of a text to load: a chip if the whole text is too long to be edited.
    fn editable<'a>(&mut self, piece: &'a str, is_too_long: bool) -> Cow<'a, str> {
        match is_too_long && !piece.is_empty() {
            true => self.chip_for(piece),
            false => piece.into(),
        }
    }

    /// A new chip's character for a text, or the text itself if there is no room for a chip.
    fn chip_for<'a>(&mut self, text: &str) -> Cow<'a, str> {
        let place = self.chips.add(ChipContent::Text(text.into()));
        place.map(String::from).unwrap_or_else(|| text.to_owned()).into()
    }

    /// Text from outside, made safe to edit: line feeds for all kinds of line ends (terminals send
    /// lone carriage returns), no escape sequences, no control characters, no chip characters.
    fn sanitized<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = match self.one_kind_of_line_end(text) {
            Cow::Borrowed(text) => strip_ansi(text),
            Cow::Owned(text) => Cow::Owned(strip_ansi(&text).into_owned()),
        };
        match text {
            Cow::Borrowed(text) => ChipSet::foreign(text),
            Cow::Owned(text) => Cow::Owned(ChipSet::foreign(&text).into_owned()),
        }
    }

    fn one_kind_of_line_end<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        if text.contains('\r') {
            text = Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"));
        }
        match self.lines {
            EditorLines::One if text.contains('\n') => Cow::Owned(text.replace('\n', " ")),
            EditorLines::One | EditorLines::Many => text,
        }
    }
}

impl PartialEq for TextEditor {
    fn eq(&self, other: &Self) -> bool {
        self.lines == other.lines
            && self.area.lines() == other.area.lines()
            && self.area.cursor() == other.area.cursor()
    }
}

impl fmt::Debug for TextEditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.text();
        text.insert(self.caret(), '|');
        f.debug_tuple("Editor").field(&text).finish()
    }
}

fn area() -> TextArea<'static> {
    let mut area = TextArea::default();
    area.set_max_histories(10_000);
    area
}

fn byte_of(line: &str, chars: usize) -> usize {
    line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at)
}

fn is_long(text: &str) -> bool {
    is_longer(text, CHIP_CHARS)
        || text.bytes().filter(|byte| *byte == b'\n').nth(CHIP_LINES).is_some()
}

fn is_longer(text: &str, chars: usize) -> bool {
    text.len() > chars && text.chars().nth(chars).is_some()
}

#[cfg(test)]
mod tests;
