//! Optional Vi keys for the input: a pure state machine over the editor.
//!
//! [`ViState::key`] handles a key, changes the text, and says what is left to do for the input. In
//! insert mode it handles only Escape, so that all other keys work as without Vi. `command` parses
//! the keys, `motion` and `object` find places, `operate` changes the text. There is one register,
//! and no ex commands, marks or macros.

mod command;
mod motion;
mod object;
mod operate;

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::editor::TextEditor;
use super::editor::words::{before, behind, boundary, line_end, line_start};

use command::{
    ViCharSearch, ViCommand, ViCommandMode, ViCountedCommand, ViInsertPlace, ViMotion, ViOperator,
    ViOperatorTarget, ViParseResult, ViSide, ViVisualShape, parse,
};
use operate::{ViLinewise, ViRegister, ViTextSpan};

/// The mode, the unfinished command, the register, and what `;` and `.` repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct ViState {
    mode: ViMode,
    /// The keys of an unfinished command.
    keys: Vec<char>,
    register: ViRegister,
    find: Option<ViCharSearch>,
    change: Option<ViChange>,
    inserting: Option<ViInsertion>,
}

/// What Vi does with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViMode {
    /// Keys are typed into the text.
    Insert,
    /// Keys are commands.
    Normal,
    /// Keys are commands for the selection, from `anchor` to the caret.
    Visual {
        /// Byte offset at which the selection began.
        anchor: usize,
        shape: ViVisualShape,
    },
}

/// What the input has to do after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViOutcome {
    /// Nothing: Vi has handled the key.
    Done,
    /// Handle the key as without Vi.
    Pass,
    /// Show the older text of the history: there is no row above.
    Older,
    /// Show the newer text of the history: there is no row below.
    Newer,
}

/// The last change, for `.`.
#[derive(Debug, Clone, PartialEq)]
struct ViChange {
    counted: ViCountedCommand,
    /// The text typed in insert mode as a part of the change.
    typed: String,
}

/// The command that began the present insert mode.
#[derive(Debug, Clone, PartialEq)]
struct ViInsertion {
    counted: ViCountedCommand,
    /// The whole text before anything was typed.
    before: String,
}

impl Default for ViState {
    fn default() -> Self {
        Self {
            mode: ViMode::Insert,
            keys: Vec::new(),
            register: ViRegister::default(),
            find: None,
            change: None,
            inserting: None,
        }
    }
}

impl ViState {
    /// The present mode.
    pub fn mode(&self) -> ViMode {
        self.mode
    }

    /// The label for the last line: the mode, and the keys of an unfinished command.
    pub fn label(&self) -> String {
        let mode = match self.mode {
            ViMode::Insert => "INSERT",
            ViMode::Normal => "NORMAL",
            ViMode::Visual { shape: ViVisualShape::Chars, .. } => "VISUAL",
            ViMode::Visual { shape: ViVisualShape::Lines, .. } => "VISUAL LINE",
        };
        let keys: String = self.keys.iter().collect();
        if keys.is_empty() { mode.to_owned() } else { format!("{mode} {keys}") }
    }

    /// Whether there is an unfinished command.
    pub fn is_pending(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The text of the register, which may contain placeholders of chips.
    pub fn register(&self) -> &str {
        &self.register.text
    }

    /// Starts a new text, in insert mode.
    pub fn begin(&mut self) {
        self.mode = ViMode::Insert;
        self.inserting = None;
        self.keys.clear();
    }

    /// The bytes of the selection; `None` outside visual mode.
    pub fn selection(&self, editor: &TextEditor) -> Option<Range<usize>> {
        let ViMode::Visual { anchor, shape } = self.mode else { return None };
        let (text, caret) = (editor.text(), editor.caret());
        Some(selected(&text, boundary(&text, anchor), caret, shape).range())
    }

    /// Handles a key, for a text that is wrapped at `width` columns.
    pub fn key(&mut self, editor: &mut TextEditor, key: KeyEvent, width: u16) -> ViOutcome {
        if self.mode == ViMode::Insert {
            if key.code == KeyCode::Esc && key.modifiers.is_empty() {
                self.leave_insert(editor);
                return ViOutcome::Done;
            }
            return ViOutcome::Pass;
        }
        if key.code == KeyCode::Esc {
            return self.escape(editor);
        }
        let Some(c) = self.character(key) else {
            let abandoned = !self.keys.is_empty() && key.modifiers.is_empty();
            self.keys.clear();
            return if abandoned { ViOutcome::Done } else { ViOutcome::Pass };
        };
        self.settle(editor);
        self.keys.push(c);
        let mode =
            if self.mode == ViMode::Normal { ViCommandMode::Normal } else { ViCommandMode::Visual };
        match parse(&self.keys, mode) {
            ViParseResult::More => ViOutcome::Done,
            ViParseResult::Nothing => {
                self.keys.clear();
                ViOutcome::Done
            }
            ViParseResult::Done(counted) => {
                self.keys.clear();
                self.run(editor, counted, width)
            }
        }
    }

    /// Corrects the caret: in normal mode it is on a character, not behind the last one of a line.
    pub fn settle(&self, editor: &mut TextEditor) {
        let (text, caret) = (editor.text(), editor.caret());
        if self.mode == ViMode::Normal
            && caret == line_end(&text, caret)
            && caret > line_start(&text, caret)
        {
            editor.set_caret_keeping_column(before(&text, caret));
        }
    }

    /// The character that stands for a key in commands; `None` if the key does what it does without
    /// Vi.
    fn character(&self, key: KeyEvent) -> Option<char> {
        let plain = (key.modifiers & !KeyModifiers::SHIFT).is_empty();
        let literal = command::wants_literal(&self.keys);
        match key.code {
            KeyCode::Char('r') if key.modifiers == KeyModifiers::CONTROL => Some('\u{12}'),
            KeyCode::Char(c) if plain => Some(c),
            KeyCode::Enter if literal && plain => Some('\n'),
            _ if literal || !key.modifiers.is_empty() => None,
            KeyCode::Left | KeyCode::Backspace => Some('h'),
            KeyCode::Right => Some('l'),
            KeyCode::Up => Some('k'),
            KeyCode::Down => Some('j'),
            KeyCode::Home => Some('0'),
            KeyCode::End => Some('$'),
            KeyCode::Delete => Some('x'),
            _ => None,
        }
    }

    /// Drops an unfinished command or ends visual mode; else passes Escape on.
    fn escape(&mut self, editor: &mut TextEditor) -> ViOutcome {
        if !self.keys.is_empty() {
            self.keys.clear();
            return ViOutcome::Done;
        }
        match self.mode {
            ViMode::Visual { .. } => {
                self.mode = ViMode::Normal;
                self.settle(editor);
                ViOutcome::Done
            }
            ViMode::Normal | ViMode::Insert => ViOutcome::Pass,
        }
    }

    fn run(&mut self, editor: &mut TextEditor, counted: ViCountedCommand, width: u16) -> ViOutcome {
        let times = counted.count.unwrap_or(1);
        match counted.command {
            ViCommand::Move(motion) => return self.go(editor, motion, counted.count, width),
            ViCommand::Select(shape) => self.select(editor, shape),
            ViCommand::OtherEnd => {
                if let ViMode::Visual { anchor, shape } = self.mode {
                    self.mode = ViMode::Visual { anchor: editor.caret(), shape };
                    editor.set_caret(anchor);
                }
            }
            ViCommand::Take(extent, object) => {
                let (text, caret) = (editor.text(), editor.caret());
                if let Some(span) = object::find(&text, caret, extent, object, times) {
                    let range = span.range();
                    let shape = match span {
                        ViTextSpan::Chars(_) => ViVisualShape::Chars,
                        ViTextSpan::Lines(_) => ViVisualShape::Lines,
                    };
                    if !range.is_empty() {
                        self.mode = ViMode::Visual { anchor: range.start, shape };
                        editor.set_caret(before(&text, range.end));
                    }
                }
            }
            ViCommand::Undo => step_history(editor, times, TextEditor::undo),
            ViCommand::Redo => step_history(editor, times, TextEditor::redo),
            ViCommand::Repeat => self.repeat(editor, counted.count),
            ViCommand::Operate(..)
            | ViCommand::Insert(_)
            | ViCommand::Put(_)
            | ViCommand::Replace(_)
            | ViCommand::Join => self.change(editor, counted),
        }
        self.settle(editor);
        ViOutcome::Done
    }

    fn go(
        &mut self,
        editor: &mut TextEditor,
        motion: ViMotion,
        count: Option<usize>,
        width: u16,
    ) -> ViOutcome {
        if matches!(motion, ViMotion::Up | ViMotion::Down) {
            return self.go_by_rows(editor, motion, count, width);
        }
        if let ViMotion::Find(find) = motion {
            self.find = Some(find);
        }
        let text = editor.text();
        if let Some(target) = motion::go(&text, editor.caret(), motion, count, self.find) {
            editor.set_caret(target.at);
        }
        self.settle(editor);
        ViOutcome::Done
    }

    /// Moves up and down by wrapped rows; beyond the text's first or last row, asks for the
    /// history.
    fn go_by_rows(
        &mut self,
        editor: &mut TextEditor,
        motion: ViMotion,
        count: Option<usize>,
        width: u16,
    ) -> ViOutcome {
        let mut moved = 0;
        for _ in 0..count.unwrap_or(1) {
            let has_moved =
                if motion == ViMotion::Up { editor.up(width) } else { editor.down(width) };
            if !has_moved {
                break;
            }
            moved += 1;
        }
        self.settle(editor);
        match (moved, count, self.mode) {
            (0, None, ViMode::Normal) if motion == ViMotion::Up => ViOutcome::Older,
            (0, None, ViMode::Normal) => ViOutcome::Newer,
            (_, _, ViMode::Normal | ViMode::Visual { .. } | ViMode::Insert) => ViOutcome::Done,
        }
    }

    fn select(&mut self, editor: &TextEditor, shape: ViVisualShape) {
        self.mode = match self.mode {
            ViMode::Visual { shape: same, .. } if same == shape => ViMode::Normal,
            ViMode::Visual { anchor, .. } => ViMode::Visual { anchor, shape },
            ViMode::Normal | ViMode::Insert => ViMode::Visual { anchor: editor.caret(), shape },
        };
    }

    /// Runs a command that changes the text, as one step of the undo history.
    fn change(&mut self, editor: &mut TextEditor, counted: ViCountedCommand) {
        editor.open_group();
        let counted = match self.mode {
            ViMode::Visual { anchor, shape } => {
                self.mode = ViMode::Normal;
                let text = editor.text();
                let span = selected(&text, boundary(&text, anchor), editor.caret(), shape);
                self.change_selected(editor, counted, &text, span)
            }
            ViMode::Normal | ViMode::Insert => {
                self.change_here(editor, counted);
                counted
            }
        };
        if self.mode == ViMode::Insert {
            self.inserting = Some(ViInsertion { counted, before: editor.text() });
            return;
        }
        editor.close_group();
        if !matches!(counted.command, ViCommand::Operate(ViOperator::Yank, _)) {
            self.change = Some(ViChange { counted, typed: String::new() });
        }
    }

    fn change_here(&mut self, editor: &mut TextEditor, counted: ViCountedCommand) {
        let times = counted.count.unwrap_or(1);
        let (text, caret) = (editor.text(), editor.caret());
        match counted.command {
            ViCommand::Operate(operator, over) => {
                if let ViOperatorTarget::Motion(ViMotion::Find(find)) = over {
                    self.find = Some(find);
                }
                let span = operate::span(&text, caret, operator, over, counted.count, self.find);
                // `Change` over nothing, as on an empty line, still begins to insert.
                let span = match (span, operator, over) {
                    (
                        None,
                        ViOperator::Change,
                        ViOperatorTarget::Motion(ViMotion::Right | ViMotion::LineEnd),
                    ) => Some(ViTextSpan::Chars(caret..caret)),
                    (span, _, _) => span,
                };
                let Some(span) = span else { return };
                self.operate(editor, operator, &span);
                if operator == ViOperator::SwapCase
                    && over == ViOperatorTarget::Motion(ViMotion::Right)
                {
                    editor.set_caret(span.range().end);
                }
            }
            ViCommand::Insert(place) => self.insert_at(editor, &text, place),
            ViCommand::Put(side) => {
                operate::put(editor, &self.register, side == ViSide::Behind, times);
            }
            ViCommand::Replace(with) => {
                let end = (0..times).try_fold(caret, |at, _| {
                    Some(behind(&text, at)).filter(|to| at < *to && *to <= line_end(&text, caret))
                });
                match (end, with) {
                    (None, _) => {}
                    (Some(end), '\n') => editor.replace(caret, end, "\n"),
                    (Some(end), with) => {
                        operate::overwrite(editor, caret..end, with);
                        let now = editor.text();
                        editor.set_caret(before(&now, editor.caret()));
                    }
                }
            }
            ViCommand::Join => operate::join(editor, times),
            ViCommand::Move(_)
            | ViCommand::Select(_)
            | ViCommand::OtherEnd
            | ViCommand::Take(..)
            | ViCommand::Undo
            | ViCommand::Redo
            | ViCommand::Repeat => {}
        }
    }

    /// Runs a command on the selection. Returns a command that `.` can repeat, for as much text
    /// from the caret on.
    fn change_selected(
        &mut self,
        editor: &mut TextEditor,
        counted: ViCountedCommand,
        text: &str,
        span: ViTextSpan,
    ) -> ViCountedCommand {
        let lines = match &span {
            ViTextSpan::Chars(range) => operate::whole_lines(text, range.start, range.end),
            ViTextSpan::Lines(range) => ViTextSpan::Lines(range.clone()),
        };
        editor.set_caret(span.range().start);
        let again = |operator, span: &ViTextSpan| {
            let part = &text[span.range()];
            let (over, count) = match span {
                ViTextSpan::Chars(_) => (ViOperatorTarget::Chars, graphemes(part)),
                ViTextSpan::Lines(_) => (ViOperatorTarget::Lines, part.lines().count()),
            };
            ViCountedCommand {
                count: Some(count.max(1)),
                command: ViCommand::Operate(operator, over),
            }
        };
        match counted.command {
            ViCommand::Operate(operator, over) => {
                let span = if over == ViOperatorTarget::SelectedLines { lines } else { span };
                let again = again(operator, &span);
                self.operate(editor, operator, &span);
                again
            }
            ViCommand::Put(_) => {
                let put = self.register.clone();
                let gone = span.range();
                self.operate(editor, ViOperator::Delete, &span);
                editor.set_caret(gone.start.min(editor.text().len()));
                // After a selection up to the end of the text, there is no line left to put lines
                // before.
                let at_end = put.lines == ViLinewise::Yes && gone.start >= editor.text().len();
                operate::put(editor, &put, at_end, counted.count.unwrap_or(1));
                counted
            }
            ViCommand::Replace(with) => {
                let range = span.range();
                operate::overwrite(editor, range.clone(), with);
                editor.set_caret(range.start);
                counted
            }
            ViCommand::Join => {
                operate::join(editor, text[lines.range()].lines().count());
                counted
            }
            ViCommand::Move(_)
            | ViCommand::Insert(_)
            | ViCommand::Select(_)
            | ViCommand::OtherEnd
            | ViCommand::Take(..)
            | ViCommand::Undo
            | ViCommand::Redo
            | ViCommand::Repeat => counted,
        }
    }

    fn operate(&mut self, editor: &mut TextEditor, operator: ViOperator, span: &ViTextSpan) {
        operate::apply(editor, operator, span, &mut self.register);
        if operator == ViOperator::Change {
            self.mode = ViMode::Insert;
        }
    }

    fn insert_at(&mut self, editor: &mut TextEditor, text: &str, place: ViInsertPlace) {
        let caret = editor.caret();
        let end = line_end(text, caret);
        match place {
            ViInsertPlace::Here => {}
            ViInsertPlace::Behind => editor.set_caret(behind(text, caret).min(end)),
            ViInsertPlace::FirstText => editor.set_caret(motion::first_text(text, caret)),
            ViInsertPlace::LineEnd => editor.set_caret(end),
            ViInsertPlace::LineBelow => editor.replace(end, end, "\n"),
            ViInsertPlace::LineAbove => {
                let start = line_start(text, caret);
                editor.replace(start, start, "\n");
                editor.set_caret(start);
            }
        }
        self.mode = ViMode::Insert;
    }

    fn leave_insert(&mut self, editor: &mut TextEditor) {
        self.mode = ViMode::Normal;
        if let Some(ViInsertion { counted, before }) = self.inserting.take() {
            let typed = added(&before, &editor.text());
            if let ViCommand::Insert(place) = counted.command {
                let more = counted.count.unwrap_or(1).saturating_sub(1);
                let again = match place {
                    ViInsertPlace::LineBelow | ViInsertPlace::LineAbove => format!("\n{typed}"),
                    ViInsertPlace::Here
                    | ViInsertPlace::Behind
                    | ViInsertPlace::FirstText
                    | ViInsertPlace::LineEnd => typed.clone(),
                };
                if !typed.is_empty() {
                    editor.insert(&operate::copies(&again, more));
                }
            }
            editor.close_group();
            self.change = Some(ViChange { counted, typed });
        }
        let (text, caret) = (editor.text(), editor.caret());
        if caret > line_start(&text, caret) {
            editor.set_caret(before_in_line(&text, caret));
        }
    }

    fn repeat(&mut self, editor: &mut TextEditor, count: Option<usize>) {
        let Some(ViChange { counted, typed }) = self.change.clone() else { return };
        let counted = ViCountedCommand { count: count.or(counted.count), ..counted };
        editor.open_group();
        self.change_here(editor, counted);
        if self.mode == ViMode::Insert {
            let copies = match counted.command {
                ViCommand::Insert(_) => counted.count.unwrap_or(1),
                _ => 1,
            };
            editor.insert(&operate::copies(&typed, copies));
            self.mode = ViMode::Normal;
            let (text, caret) = (editor.text(), editor.caret());
            editor.set_caret(before_in_line(&text, caret));
        }
        editor.close_group();
        self.change = Some(ViChange { counted, typed });
    }
}

/// Undoes or redoes a number of steps; the caret goes to where the texts begin to differ.
fn step_history(editor: &mut TextEditor, times: usize, step: fn(&mut TextEditor) -> bool) {
    for _ in 0..times {
        let before = editor.text();
        if !step(editor) {
            break;
        }
        let now = editor.text();
        editor.set_caret(same_head(&before, &now));
    }
}

/// The selection from `anchor` to `caret`, including the graphemes at both ends.
fn selected(text: &str, anchor: usize, caret: usize, shape: ViVisualShape) -> ViTextSpan {
    let (from, to) = (anchor.min(caret), anchor.max(caret));
    match shape {
        ViVisualShape::Chars => ViTextSpan::Chars(from..behind(text, to)),
        ViVisualShape::Lines => operate::whole_lines(text, from, to),
    }
}

fn before_in_line(text: &str, at: usize) -> usize {
    before(text, at).max(line_start(text, at))
}

fn graphemes(text: &str) -> usize {
    use unicode_segmentation::UnicodeSegmentation;
    text.graphemes(true).count()
}

/// The text that was inserted at one place between `before` and `after`.
fn added(before: &str, after: &str) -> String {
    let head = same_head(before, after);
    let tails = before[head..].chars().rev().zip(after[head..].chars().rev());
    let tail: usize =
        tails.take_while(|(one, other)| one == other).map(|(c, _)| c.len_utf8()).sum();
    after[head..after.len() - tail].to_owned()
}

/// The length in bytes of the beginning that two texts share.
fn same_head(one: &str, other: &str) -> usize {
    let heads = one.chars().zip(other.chars());
    heads.take_while(|(one, other)| one == other).map(|(c, _)| c.len_utf8()).sum()
}

#[cfg(test)]
mod tests;
