//! The editing keys: what each does to a text.

use crossterm::event::KeyCode;

use crate::tui::app::keymap::{self, EditAction};
use crate::tui::app::softwrap;

use super::kills::KillSide;
use super::words::{before, behind, line_end, line_start, word_before, word_behind};
use super::{EditorLines, TextEditor, UndoGroup};

/// A width at which no row is wrapped, so that home and end go by lines.
const UNWRAPPED: u16 = u16::MAX;

impl TextEditor {
    /// Applies an editing action to a text that is wrapped at `width` columns.
    pub fn apply(&mut self, edit: EditAction, width: u16) {
        let text = self.text();
        let caret = self.caret();
        match edit {
            EditAction::Left => match self.selection() {
                Some(selected) => self.set_caret(selected.start),
                None => self.set_caret(before(&text, caret)),
            },
            EditAction::Right => match self.selection() {
                Some(selected) => self.set_caret(selected.end),
                None => self.set_caret(behind(&text, caret)),
            },
            EditAction::WordLeft => self.set_caret(word_before(&text, caret)),
            EditAction::WordRight => self.set_caret(word_behind(&text, caret)),
            EditAction::Home => self.set_caret(self.home(&text, width)),
            EditAction::End => self.set_caret(self.end(&text, width)),
            EditAction::SelectLeft => self.select_to(before(&text, caret)),
            EditAction::SelectRight => self.select_to(behind(&text, caret)),
            EditAction::SelectWordLeft => self.select_to(word_before(&text, caret)),
            EditAction::SelectWordRight => self.select_to(word_behind(&text, caret)),
            EditAction::SelectHome => self.select_to(self.home(&text, width)),
            EditAction::SelectEnd => self.select_to(self.end(&text, width)),
            EditAction::SelectAll => {
                self.set_caret(0);
                self.select_to(text.len());
            }
            EditAction::Cut => {
                if let Some(selected) = self.selection() {
                    self.kills.interrupt();
                    self.kill(&text, selected.start, selected.end, KillSide::Behind);
                }
            }
            EditAction::Backspace => self.erase(before(&text, caret), caret),
            EditAction::Delete => self.erase(caret, behind(&text, caret)),
            EditAction::KillWordLeft => {
                self.kill(&text, word_before(&text, caret), caret, KillSide::Before);
            }
            EditAction::KillWordRight => {
                self.kill(&text, caret, word_behind(&text, caret), KillSide::Behind);
            }
            // At the edge of a line, a kill removes the line end.
            EditAction::KillHome => match line_start(&text, caret) {
                start if start < caret => self.kill(&text, start, caret, KillSide::Before),
                _ => self.kill(&text, before(&text, caret), caret, KillSide::Before),
            },
            EditAction::KillEnd => match line_end(&text, caret) {
                end if end > caret => self.kill(&text, caret, end, KillSide::Behind),
                _ => self.kill(&text, caret, behind(&text, caret), KillSide::Behind),
            },
            EditAction::Yank => {
                let at = self.selection().unwrap_or(caret..caret);
                if let Some(killed) = self.kills.yank(at.start) {
                    self.replace(at.start, at.end, &killed);
                }
            }
            EditAction::YankOlder => {
                if let Some((start, end, killed)) = self.kills.older() {
                    self.replace(start, end, &killed);
                }
            }
            EditAction::Undo => drop(self.undo()),
            EditAction::Redo => drop(self.redo()),
        }
        if !edit.is_kill_or_yank() {
            self.kills.interrupt();
        }
    }

    /// Handles a key in a text field that has no other keys.
    pub fn key(&mut self, key: &keymap::KeyPress<'_>) {
        if let Some(edit) = keymap::find(keymap::EDITING, key) {
            self.apply(edit, UNWRAPPED);
        } else if let Some(c) = keymap::typed(key) {
            self.insert_char(c);
        } else if self.lines == EditorLines::Many {
            match key.event().map(|key| key.code) {
                Some(KeyCode::Up) => drop(self.up(UNWRAPPED)),
                Some(KeyCode::Down) => drop(self.down(UNWRAPPED)),
                _ => {}
            }
        }
    }

    fn select_to(&mut self, at: usize) {
        let anchor = self.anchor.unwrap_or(self.caret());
        self.set_caret(at);
        self.anchor = Some(anchor);
    }

    fn erase(&mut self, start: usize, end: usize) {
        let at = self.selection().unwrap_or(start..end);
        let steps = self.splice(at.start, at.end, "");
        if steps > 0 {
            self.changed(steps, UndoGroup::Erasing);
        }
    }

    fn kill(&mut self, text: &str, start: usize, end: usize, side: KillSide) {
        if let Some(gone) = text.get(start..end).filter(|gone| !gone.is_empty()) {
            self.kills.push(gone, side);
            self.replace(start, end, "");
        }
    }

    /// The start of the caret's row, or of its line if the caret is there already.
    fn home(&self, text: &str, width: u16) -> usize {
        let caret = self.caret();
        let rows = self.rows(width);
        let row = rows.iter().rfind(|row| row.start <= caret);
        row.map(|row| row.start)
            .filter(|start| *start < caret)
            .unwrap_or_else(|| line_start(text, caret))
    }

    /// The end of the caret's row, or of its line if the caret is there already. The end of a
    /// wrapped row is the last place that is still drawn on it.
    fn end(&self, text: &str, width: u16) -> usize {
        let caret = self.caret();
        let (rows, line_end) = (self.rows(width), line_end(text, caret));
        let row = rows.iter().rfind(|row| row.start <= caret);
        match row.map(|row| softwrap::last_place(text, row)) {
            Some(last) if caret < last && last < line_end => last,
            Some(_) | None => line_end,
        }
    }
}

impl EditAction {
    fn is_kill_or_yank(self) -> bool {
        match self {
            Self::KillWordLeft
            | Self::KillWordRight
            | Self::KillHome
            | Self::KillEnd
            | Self::Cut
            | Self::Yank
            | Self::YankOlder => true,
            Self::Left
            | Self::Right
            | Self::WordLeft
            | Self::WordRight
            | Self::Home
            | Self::End
            | Self::SelectLeft
            | Self::SelectRight
            | Self::SelectWordLeft
            | Self::SelectWordRight
            | Self::SelectHome
            | Self::SelectEnd
            | Self::SelectAll
            | Self::Backspace
            | Self::Delete
            | Self::Undo
            | Self::Redo => false,
        }
    }
}
