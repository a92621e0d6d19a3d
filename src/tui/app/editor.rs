//! A text being typed, of one line or many: the input, a rule, a filter, an instruction.
//!
//! The text, the caret and the undo history are ratatui-textarea's. This shim adds what the
//! crate lacks: whole graphemes as the unit of motion and deletion, undo by the word instead of
//! the character, and rows that follow the screen's width. Positions are bytes of the whole text.
//! Drawing is the view's.

use std::fmt;

use crossterm::event::KeyEvent;
use tui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;

use super::{keymap, softwrap};

/// A text with a caret.
#[derive(Clone)]
pub struct Editor {
    area: TextArea<'static>,
    lines: Lines,
    /// How many of the crate's steps make up each step of ours.
    undo: Vec<usize>,
    redo: Vec<usize>,
    typing: bool,
    killed: String,
    revision: u64,
}

/// Whether a text may have more than one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Line ends become spaces.
    One,
    /// As many as there are.
    Many,
}

/// Something that a key does to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edit {
    /// One grapheme left.
    Left,
    /// One grapheme right.
    Right,
    /// To the beginning of the word before.
    WordLeft,
    /// Behind the next word.
    WordRight,
    /// To the beginning of the line.
    Home,
    /// To the end of the line.
    End,
    /// Removes the grapheme before the caret.
    Backspace,
    /// Removes the grapheme behind the caret.
    Delete,
    /// Removes back to the beginning of the word.
    KillWordLeft,
    /// Removes up to the end of the next word.
    KillWordRight,
    /// Removes back to the beginning of the line.
    KillHome,
    /// Removes up to the end of the line.
    KillEnd,
    /// Puts in what was removed last by a kill.
    Yank,
    /// Takes the last change back.
    Undo,
    /// Makes the change again that was taken back last.
    Redo,
}

impl Editor {
    /// An empty text.
    pub fn new(lines: Lines) -> Self {
        let mut area = TextArea::default();
        area.set_max_histories(2000);
        Self {
            area,
            lines,
            undo: Vec::new(),
            redo: Vec::new(),
            typing: false,
            killed: String::new(),
            revision: 0,
        }
    }

    /// A text with the caret at its end.
    pub fn with_text(lines: Lines, text: &str) -> Self {
        let mut editor = Self::new(lines);
        editor.insert(text);
        editor
    }

    /// The whole text.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Changes with every change of the text.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The caret's place, in bytes of the whole text.
    pub fn caret(&self) -> usize {
        let cursor = self.area.cursor();
        let lines = self.area.lines();
        let above: usize = lines.iter().take(cursor.0).map(|line| line.len() + 1).sum();
        above + lines.get(cursor.0).map_or(0, |line| byte_of(line, cursor.1))
    }

    /// Puts the caret before byte `at`.
    pub fn set_caret(&mut self, at: usize) {
        self.typing = false;
        self.jump(at);
    }

    /// Replaces the whole text; the caret stands at its end. Can be undone.
    pub fn set_text(&mut self, text: &str) {
        let end = self.text().len();
        self.replace(0, end, text);
    }

    /// Types one character.
    pub fn insert_char(&mut self, c: char) {
        if c == '\n' || c == '\r' {
            self.insert("\n");
            return;
        }
        self.area.insert_char(c);
        self.revision += 1;
        self.redo.clear();
        match self.undo.last_mut() {
            Some(steps) if self.typing && !c.is_whitespace() => *steps += 1,
            Some(_) | None => self.undo.push(1),
        }
        self.typing = !c.is_whitespace();
    }

    /// Puts text in at the caret. Every kind of line end becomes a line feed.
    pub fn insert(&mut self, text: &str) {
        let caret = self.caret();
        self.replace(caret, caret, text);
    }

    /// Replaces the bytes from `start` to `end`; the caret stands behind the new text.
    pub fn replace(&mut self, start: usize, end: usize, with: &str) {
        let with = self.one_kind_of_line_end(with);
        let count = self.text().get(start..end).unwrap_or_default().chars().count();
        if count == 0 && with.is_empty() {
            return;
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
        self.undo.push(steps);
        self.redo.clear();
        self.typing = false;
        self.revision += 1;
    }

    /// Does what a key stands for.
    pub fn apply(&mut self, edit: Edit) {
        let text = self.text();
        let caret = self.caret();
        match edit {
            Edit::Left => self.set_caret(before(&text, caret)),
            Edit::Right => self.set_caret(behind(&text, caret)),
            Edit::WordLeft => self.set_caret(word_before(&text, caret)),
            Edit::WordRight => self.set_caret(word_behind(&text, caret)),
            Edit::Home => self.set_caret(line_start(&text, caret)),
            Edit::End => self.set_caret(line_end(&text, caret)),
            Edit::Backspace => self.replace(before(&text, caret), caret, ""),
            Edit::Delete => self.replace(caret, behind(&text, caret), ""),
            Edit::KillWordLeft => self.kill(&text, word_before(&text, caret), caret),
            Edit::KillWordRight => self.kill(&text, caret, word_behind(&text, caret)),
            // At the edge of a line a kill takes the line end with it.
            Edit::KillHome => match line_start(&text, caret) {
                start if start < caret => self.kill(&text, start, caret),
                _ => self.kill(&text, before(&text, caret), caret),
            },
            Edit::KillEnd => match line_end(&text, caret) {
                end if end > caret => self.kill(&text, caret, end),
                _ => self.kill(&text, caret, behind(&text, caret)),
            },
            Edit::Yank => self.insert(&self.killed.clone()),
            Edit::Undo => self.undo(),
            Edit::Redo => self.redo(),
        }
    }

    /// A key in a field that is nothing but text.
    pub fn key(&mut self, key: KeyEvent) {
        if let Some(edit) = keymap::find(keymap::EDITING, key) {
            self.apply(edit);
        } else if let Some(c) = keymap::typed(key) {
            self.insert_char(c);
        }
    }

    /// Moves the caret a row up on a screen of `width` columns. Says whether there was one.
    pub fn up(&mut self, width: u16) -> bool {
        self.vertical(width, |row| row.checked_sub(1))
    }

    /// Moves the caret a row down on a screen of `width` columns. Says whether there was one.
    pub fn down(&mut self, width: u16) -> bool {
        self.vertical(width, |row| Some(row + 1))
    }

    fn vertical(&mut self, width: u16, to: impl Fn(usize) -> Option<usize>) -> bool {
        let text = self.text();
        let rows = softwrap::rows(&text, width);
        let (row, column) = softwrap::place(&text, &rows, self.caret());
        let Some(target) = to(row).and_then(|row| rows.get(row)) else { return false };
        self.set_caret(softwrap::at(&text, target, column));
        true
    }

    fn kill(&mut self, text: &str, start: usize, end: usize) {
        if let Some(gone) = text.get(start..end).filter(|gone| !gone.is_empty()) {
            self.killed = gone.to_owned();
            self.replace(start, end, "");
        }
    }

    fn undo(&mut self) {
        let Some(steps) = self.undo.pop() else { return };
        for _ in 0..steps {
            self.area.undo();
        }
        self.redo.push(steps);
        self.typing = false;
        self.revision += 1;
    }

    fn redo(&mut self) {
        let Some(steps) = self.redo.pop() else { return };
        for _ in 0..steps {
            self.area.redo();
        }
        self.undo.push(steps);
        self.typing = false;
        self.revision += 1;
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

    fn one_kind_of_line_end(&self, text: &str) -> String {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        match self.lines {
            Lines::Many => text,
            Lines::One => text.replace('\n', " "),
        }
    }
}

impl PartialEq for Editor {
    fn eq(&self, other: &Self) -> bool {
        self.lines == other.lines
            && self.area.lines() == other.area.lines()
            && self.area.cursor() == other.area.cursor()
    }
}

impl fmt::Debug for Editor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.text();
        text.insert(self.caret(), '|');
        f.debug_tuple("Editor").field(&text).finish()
    }
}

fn byte_of(line: &str, chars: usize) -> usize {
    line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at)
}

fn before(text: &str, at: usize) -> usize {
    text[..at].grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
}

fn behind(text: &str, at: usize) -> usize {
    text[at..].graphemes(true).next().map_or(at, |grapheme| at + grapheme.len())
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

fn is_word(part: &str) -> bool {
    part.chars().any(|c| c.is_alphanumeric() || c == '_')
}

fn word_before(text: &str, at: usize) -> usize {
    text[..at]
        .split_word_bound_indices()
        .rfind(|(_, part)| is_word(part))
        .map_or(0, |(start, _)| start)
}

fn word_behind(text: &str, at: usize) -> usize {
    text[at..]
        .split_word_bound_indices()
        .find(|(_, part)| is_word(part))
        .map_or(text.len(), |(start, part)| at + start + part.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text with `|` for the caret, after the edits.
    fn edited(text: &str, edits: &[Edit]) -> String {
        let caret = text.find('|').unwrap();
        let mut editor = Editor::with_text(Lines::Many, &text.replace('|', ""));
        editor.set_caret(caret);
        for edit in edits {
            editor.apply(*edit);
        }
        let mut text = editor.text();
        text.insert(editor.caret(), '|');
        text
    }

    #[test]
    fn keys_edit_the_text() {
        let rows: &[(&str, &[Edit], &str)] = &[
            ("ab|", &[Edit::Left], "a|b"),
            ("|ab", &[Edit::Left], "|ab"),
            ("a|\nb", &[Edit::Right], "a\n|b"),
            ("x👩‍🚀|", &[Edit::Left], "x|👩‍🚀"),
            ("x👩‍🚀|y", &[Edit::Backspace], "x|y"),
            ("e\u{301}|", &[Edit::Backspace], "|"),
            ("a\n|b", &[Edit::Backspace], "a|b"),
            ("|日本", &[Edit::Delete], "|本"),
            ("one two|", &[Edit::WordLeft], "one |two"),
            ("|one two", &[Edit::WordRight], "one| two"),
            ("one two  |", &[Edit::KillWordLeft], "one |"),
            ("one| two x", &[Edit::KillWordRight], "one| x"),
            ("a\nbc|d", &[Edit::KillHome], "a\n|d"),
            ("a\n|d", &[Edit::KillHome], "a|d"),
            ("a|bc\nd", &[Edit::KillEnd], "a|\nd"),
            ("a|\nd", &[Edit::KillEnd], "a|d"),
            ("a\nb|c", &[Edit::Home], "a\n|bc"),
            ("a\nb|c", &[Edit::End], "a\nbc|"),
            ("ab cd|", &[Edit::KillWordLeft, Edit::Home, Edit::Yank], "cd|ab "),
            ("ab|", &[Edit::Backspace, Edit::Undo], "ab|"),
            ("ab|", &[Edit::Backspace, Edit::Undo, Edit::Redo], "a|"),
        ];
        for (text, edits, want) in rows {
            assert_eq!(edited(text, edits), *want, "{text} {edits:?}");
        }
    }

    #[test]
    fn undo_takes_back_a_word_at_a_time() {
        let mut editor = Editor::new(Lines::Many);
        for c in "one two".chars() {
            editor.insert_char(c);
        }
        editor.apply(Edit::Undo);
        assert_eq!(editor.text(), "one ");
        editor.apply(Edit::Redo);
        assert_eq!(editor.text(), "one two");
    }

    #[test]
    fn the_caret_moves_by_the_rows_of_the_screen() {
        let mut editor = Editor::with_text(Lines::Many, "one two three\nx");
        editor.set_caret(4);
        assert!(!editor.up(8));
        assert!(editor.down(8));
        assert_eq!(editor.caret(), 12);
        assert!(editor.down(8));
        assert_eq!(editor.caret(), 15);
        assert!(!editor.down(8));
    }

    #[test]
    fn line_ends_are_made_one_kind() {
        assert_eq!(Editor::with_text(Lines::Many, "a\r\nb\rc").text(), "a\nb\nc");
        assert_eq!(Editor::with_text(Lines::One, "a\r\nb").text(), "a b");
    }
}
