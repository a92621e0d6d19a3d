//! Vi keys for the input, on request: a pure state machine over the editor.
//!
//! [`Vi::key`] takes a key, changes the text, and says what is left to do for the input. In insert
//! mode it takes escape alone, so that everything else is as without it. The keys of a command
//! that is not complete are kept and read by `command`; `motion` and `object` know places,
//! `operate` changes the text. There is one register, and no ex commands, marks or macros.

mod command;
mod motion;
mod object;
mod operate;

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::editor::Editor;
use super::editor::words::{before, behind, boundary, line_end, line_start};

use command::{
    Command, Counted, Find, Motion, Operator, Over, Parsed, Place, Shape, Side, Where, parse,
};
use operate::{Linewise, Register, Span};

/// What the keys mean, and what they have left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Vi {
    mode: Mode,
    /// The keys of a command that is not complete.
    keys: Vec<char>,
    register: Register,
    find: Option<Find>,
    change: Option<Change>,
    inserting: Option<Inserting>,
}

/// What the keys mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They are typed.
    Insert,
    /// They are commands.
    Normal,
    /// They are commands for what is selected, from `anchor` to the caret.
    Visual {
        /// Where the selection began.
        anchor: usize,
        /// What of it is taken.
        shape: Shape,
    },
}

/// What is left for the input to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Done,
    /// What the key does without Vi.
    Pass,
    /// The older text: there is no row above.
    Older,
    /// The newer text: there is no row below.
    Newer,
}

/// A change that can be done once more.
#[derive(Debug, Clone, PartialEq)]
struct Change {
    counted: Counted,
    /// What was typed in it.
    typed: String,
}

/// What is being inserted.
#[derive(Debug, Clone, PartialEq)]
struct Inserting {
    counted: Counted,
    /// The text before anything was typed.
    before: String,
}

impl Default for Vi {
    fn default() -> Self {
        Self {
            mode: Mode::Insert,
            keys: Vec::new(),
            register: Register::default(),
            find: None,
            change: None,
            inserting: None,
        }
    }
}

impl Vi {
    /// What the keys mean now.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What the last line says: the mode, and the keys of a command that is not complete.
    pub fn label(&self) -> String {
        let mode = match self.mode {
            Mode::Insert => "INSERT",
            Mode::Normal => "NORMAL",
            Mode::Visual { shape: Shape::Chars, .. } => "VISUAL",
            Mode::Visual { shape: Shape::Lines, .. } => "VISUAL LINE",
        };
        let keys: String = self.keys.iter().collect();
        if keys.is_empty() { mode.to_owned() } else { format!("{mode} {keys}") }
    }

    /// Whether a command has been begun.
    pub fn is_pending(&self) -> bool {
        !self.keys.is_empty()
    }

    /// What was taken last, which may speak of chips.
    pub fn register(&self) -> &str {
        &self.register.text
    }

    /// A new text is begun.
    pub fn begin(&mut self) {
        self.mode = Mode::Insert;
        self.inserting = None;
        self.keys.clear();
    }

    /// What is selected.
    pub fn selection(&self, editor: &Editor) -> Option<Range<usize>> {
        let Mode::Visual { anchor, shape } = self.mode else { return None };
        let (text, caret) = (editor.text(), editor.caret());
        Some(selected(&text, boundary(&text, anchor), caret, shape).range())
    }

    /// A key, for a text that is wrapped at `width` columns.
    pub fn key(&mut self, editor: &mut Editor, key: KeyEvent, width: u16) -> Step {
        if self.mode == Mode::Insert {
            if key.code == KeyCode::Esc && key.modifiers.is_empty() {
                self.leave_insert(editor);
                return Step::Done;
            }
            return Step::Pass;
        }
        if key.code == KeyCode::Esc {
            return self.escape(editor);
        }
        let Some(c) = self.character(key) else {
            let given_up = !self.keys.is_empty() && key.modifiers.is_empty();
            self.keys.clear();
            return if given_up { Step::Done } else { Step::Pass };
        };
        self.settle(editor);
        self.keys.push(c);
        let place = if self.mode == Mode::Normal { Where::Normal } else { Where::Visual };
        match parse(&self.keys, place) {
            Parsed::More => Step::Done,
            Parsed::Nothing => {
                self.keys.clear();
                Step::Done
            }
            Parsed::Done(counted) => {
                self.keys.clear();
                self.run(editor, counted, width)
            }
        }
    }

    /// Puts the caret where it may stand: in normal mode on a character, not behind the last.
    pub fn settle(&self, editor: &mut Editor) {
        let (text, caret) = (editor.text(), editor.caret());
        if self.mode == Mode::Normal
            && caret == line_end(&text, caret)
            && caret > line_start(&text, caret)
        {
            editor.step_aside(before(&text, caret));
        }
    }

    /// The character that a key stands for; `None` for one that means here what it means
    /// everywhere.
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

    /// Leaves what is under way; where nothing is, escape means what it means everywhere.
    fn escape(&mut self, editor: &mut Editor) -> Step {
        if !self.keys.is_empty() {
            self.keys.clear();
            return Step::Done;
        }
        match self.mode {
            Mode::Visual { .. } => {
                self.mode = Mode::Normal;
                self.settle(editor);
                Step::Done
            }
            Mode::Normal | Mode::Insert => Step::Pass,
        }
    }

    fn run(&mut self, editor: &mut Editor, counted: Counted, width: u16) -> Step {
        let times = counted.count.unwrap_or(1);
        match counted.command {
            Command::Move(motion) => return self.go(editor, motion, counted.count, width),
            Command::Select(shape) => self.select(editor, shape),
            Command::OtherEnd => {
                if let Mode::Visual { anchor, shape } = self.mode {
                    self.mode = Mode::Visual { anchor: editor.caret(), shape };
                    editor.set_caret(anchor);
                }
            }
            Command::Take(extent, object) => {
                let (text, caret) = (editor.text(), editor.caret());
                if let Some(span) = object::find(&text, caret, extent, object, times) {
                    let range = span.range();
                    let shape = match span {
                        Span::Chars(_) => Shape::Chars,
                        Span::Lines(_) => Shape::Lines,
                    };
                    if !range.is_empty() {
                        self.mode = Mode::Visual { anchor: range.start, shape };
                        editor.set_caret(before(&text, range.end));
                    }
                }
            }
            Command::Undo => go_in_time(editor, times, Editor::undo),
            Command::Redo => go_in_time(editor, times, Editor::redo),
            Command::Repeat => self.repeat(editor, counted.count),
            Command::Operate(..)
            | Command::Insert(_)
            | Command::Put(_)
            | Command::Replace(_)
            | Command::Join => self.change(editor, counted),
        }
        self.settle(editor);
        Step::Done
    }

    fn go(
        &mut self,
        editor: &mut Editor,
        motion: Motion,
        count: Option<usize>,
        width: u16,
    ) -> Step {
        if matches!(motion, Motion::Up | Motion::Down) {
            return self.go_by_rows(editor, motion, count, width);
        }
        if let Motion::Find(find) = motion {
            self.find = Some(find);
        }
        let text = editor.text();
        if let Some(target) = motion::go(&text, editor.caret(), motion, count, self.find) {
            editor.set_caret(target.at);
        }
        self.settle(editor);
        Step::Done
    }

    /// Up and down go by what is seen; at the edge of the text lies the history.
    fn go_by_rows(
        &mut self,
        editor: &mut Editor,
        motion: Motion,
        count: Option<usize>,
        width: u16,
    ) -> Step {
        let mut moved = 0;
        for _ in 0..count.unwrap_or(1) {
            let goes = if motion == Motion::Up { editor.up(width) } else { editor.down(width) };
            if !goes {
                break;
            }
            moved += 1;
        }
        self.settle(editor);
        match (moved, count, self.mode) {
            (0, None, Mode::Normal) if motion == Motion::Up => Step::Older,
            (0, None, Mode::Normal) => Step::Newer,
            (_, _, Mode::Normal | Mode::Visual { .. } | Mode::Insert) => Step::Done,
        }
    }

    fn select(&mut self, editor: &Editor, shape: Shape) {
        self.mode = match self.mode {
            Mode::Visual { shape: same, .. } if same == shape => Mode::Normal,
            Mode::Visual { anchor, .. } => Mode::Visual { anchor, shape },
            Mode::Normal | Mode::Insert => Mode::Visual { anchor: editor.caret(), shape },
        };
    }

    /// Does something that changes the text, as one step of the undo history.
    fn change(&mut self, editor: &mut Editor, counted: Counted) {
        editor.open_group();
        let counted = match self.mode {
            Mode::Visual { anchor, shape } => {
                self.mode = Mode::Normal;
                let text = editor.text();
                let span = selected(&text, boundary(&text, anchor), editor.caret(), shape);
                self.change_selected(editor, counted, &text, span)
            }
            Mode::Normal | Mode::Insert => {
                self.change_here(editor, counted);
                counted
            }
        };
        if self.mode == Mode::Insert {
            self.inserting = Some(Inserting { counted, before: editor.text() });
            return;
        }
        editor.close_group();
        if !matches!(counted.command, Command::Operate(Operator::Yank, _)) {
            self.change = Some(Change { counted, typed: String::new() });
        }
    }

    fn change_here(&mut self, editor: &mut Editor, counted: Counted) {
        let times = counted.count.unwrap_or(1);
        let (text, caret) = (editor.text(), editor.caret());
        match counted.command {
            Command::Operate(operator, over) => {
                if let Over::Motion(Motion::Find(find)) = over {
                    self.find = Some(find);
                }
                let span = operate::span(&text, caret, operator, over, counted.count, self.find);
                // Changing nothing is to begin inserting, as on an empty line.
                let span = match (span, operator, over) {
                    (None, Operator::Change, Over::Motion(Motion::Right | Motion::LineEnd)) => {
                        Some(Span::Chars(caret..caret))
                    }
                    (span, _, _) => span,
                };
                let Some(span) = span else { return };
                self.operate(editor, operator, &span);
                if operator == Operator::SwapCase && over == Over::Motion(Motion::Right) {
                    editor.set_caret(span.range().end);
                }
            }
            Command::Insert(place) => self.insert_at(editor, &text, place),
            Command::Put(side) => {
                operate::put(editor, &self.register, side == Side::Behind, times);
            }
            Command::Replace(with) => {
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
            Command::Join => operate::join(editor, times),
            Command::Move(_)
            | Command::Select(_)
            | Command::OtherEnd
            | Command::Take(..)
            | Command::Undo
            | Command::Redo
            | Command::Repeat => {}
        }
    }

    /// The same for what is selected. What comes back does as much again from the caret on.
    fn change_selected(
        &mut self,
        editor: &mut Editor,
        counted: Counted,
        text: &str,
        span: Span,
    ) -> Counted {
        let lines = match &span {
            Span::Chars(range) => operate::whole_lines(text, range.start, range.end),
            Span::Lines(range) => Span::Lines(range.clone()),
        };
        editor.set_caret(span.range().start);
        let again = |operator, span: &Span| {
            let part = &text[span.range()];
            let (over, count) = match span {
                Span::Chars(_) => (Over::Chars, graphemes(part)),
                Span::Lines(_) => (Over::Lines, part.lines().count()),
            };
            Counted { count: Some(count.max(1)), command: Command::Operate(operator, over) }
        };
        match counted.command {
            Command::Operate(operator, over) => {
                let span = if over == Over::SelectedLines { lines } else { span };
                let again = again(operator, &span);
                self.operate(editor, operator, &span);
                again
            }
            Command::Put(_) => {
                let put = self.register.clone();
                let gone = span.range();
                self.operate(editor, Operator::Delete, &span);
                editor.set_caret(gone.start.min(editor.text().len()));
                // What was selected up to the end of the text leaves nothing to put it before.
                let at_end = put.lines == Linewise::Yes && gone.start >= editor.text().len();
                operate::put(editor, &put, at_end, counted.count.unwrap_or(1));
                counted
            }
            Command::Replace(with) => {
                let range = span.range();
                operate::overwrite(editor, range.clone(), with);
                editor.set_caret(range.start);
                counted
            }
            Command::Join => {
                operate::join(editor, text[lines.range()].lines().count());
                counted
            }
            Command::Move(_)
            | Command::Insert(_)
            | Command::Select(_)
            | Command::OtherEnd
            | Command::Take(..)
            | Command::Undo
            | Command::Redo
            | Command::Repeat => counted,
        }
    }

    fn operate(&mut self, editor: &mut Editor, operator: Operator, span: &Span) {
        operate::apply(editor, operator, span, &mut self.register);
        if operator == Operator::Change {
            self.mode = Mode::Insert;
        }
    }

    fn insert_at(&mut self, editor: &mut Editor, text: &str, place: Place) {
        let caret = editor.caret();
        let end = line_end(text, caret);
        match place {
            Place::Here => {}
            Place::Behind => editor.set_caret(behind(text, caret).min(end)),
            Place::FirstText => editor.set_caret(motion::first_text(text, caret)),
            Place::LineEnd => editor.set_caret(end),
            Place::LineBelow => editor.replace(end, end, "\n"),
            Place::LineAbove => {
                let start = line_start(text, caret);
                editor.replace(start, start, "\n");
                editor.set_caret(start);
            }
        }
        self.mode = Mode::Insert;
    }

    fn leave_insert(&mut self, editor: &mut Editor) {
        self.mode = Mode::Normal;
        if let Some(Inserting { counted, before }) = self.inserting.take() {
            let typed = added(&before, &editor.text());
            if let Command::Insert(place) = counted.command {
                let more = counted.count.unwrap_or(1).saturating_sub(1);
                let again = match place {
                    Place::LineBelow | Place::LineAbove => format!("\n{typed}"),
                    Place::Here | Place::Behind | Place::FirstText | Place::LineEnd => {
                        typed.clone()
                    }
                };
                if !typed.is_empty() {
                    editor.insert(&operate::copies(&again, more));
                }
            }
            editor.close_group();
            self.change = Some(Change { counted, typed });
        }
        let (text, caret) = (editor.text(), editor.caret());
        if caret > line_start(&text, caret) {
            editor.set_caret(before_in_line(&text, caret));
        }
    }

    fn repeat(&mut self, editor: &mut Editor, count: Option<usize>) {
        let Some(Change { counted, typed }) = self.change.clone() else { return };
        let counted = Counted { count: count.or(counted.count), ..counted };
        editor.open_group();
        self.change_here(editor, counted);
        if self.mode == Mode::Insert {
            let copies = match counted.command {
                Command::Insert(_) => counted.count.unwrap_or(1),
                _ => 1,
            };
            editor.insert(&operate::copies(&typed, copies));
            self.mode = Mode::Normal;
            let (text, caret) = (editor.text(), editor.caret());
            editor.set_caret(before_in_line(&text, caret));
        }
        editor.close_group();
        self.change = Some(Change { counted, typed });
    }
}

/// So many steps back or forth; the caret stands where the text begins to differ.
fn go_in_time(editor: &mut Editor, times: usize, step: fn(&mut Editor) -> bool) {
    for _ in 0..times {
        let before = editor.text();
        if !step(editor) {
            break;
        }
        let now = editor.text();
        editor.set_caret(same_head(&before, &now));
    }
}

/// What is selected from `anchor` to `caret`, the graphemes at both ends with it.
fn selected(text: &str, anchor: usize, caret: usize, shape: Shape) -> Span {
    let (from, to) = (anchor.min(caret), anchor.max(caret));
    match shape {
        Shape::Chars => Span::Chars(from..behind(text, to)),
        Shape::Lines => operate::whole_lines(text, from, to),
    }
}

fn before_in_line(text: &str, at: usize) -> usize {
    before(text, at).max(line_start(text, at))
}

fn graphemes(text: &str) -> usize {
    use unicode_segmentation::UnicodeSegmentation;
    text.graphemes(true).count()
}

/// What stands in `after` that does not in `before`, as typing leaves it.
fn added(before: &str, after: &str) -> String {
    let head = same_head(before, after);
    let tails = before[head..].chars().rev().zip(after[head..].chars().rev());
    let tail: usize =
        tails.take_while(|(one, other)| one == other).map(|(c, _)| c.len_utf8()).sum();
    after[head..after.len() - tail].to_owned()
}

/// Up to which byte two texts are the same.
fn same_head(one: &str, other: &str) -> usize {
    let heads = one.chars().zip(other.chars());
    heads.take_while(|(one, other)| one == other).map(|(c, _)| c.len_utf8()).sum()
}

#[cfg(test)]
mod tests;
