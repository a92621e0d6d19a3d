//! The kill ring: texts that kills removed, to be inserted again, the newest first.

use std::collections::VecDeque;

/// How many kills are kept.
const KILLS: usize = 30;

/// The removed texts, and whether the next kill joins the newest one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KillRing {
    kills: VecDeque<String>,
    /// Kills in a row join into one.
    last: LastEdit,
}

/// On which side of the caret a kill removed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillSide {
    Before,
    Behind,
}

/// The last edit, as far as the kill ring needs to know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LastEdit {
    #[default]
    Other,
    Kill,
    /// A kill was inserted at byte `start`, `length` bytes long; it is at index `number` of the
    /// ring.
    Yank {
        start: usize,
        length: usize,
        number: usize,
    },
}

impl KillRing {
    /// Whether nothing was removed yet.
    pub fn is_empty(&self) -> bool {
        self.kills.is_empty()
    }

    /// Adds a removed text. It joins the newest one if the last edit was a kill, too.
    pub fn push(&mut self, text: &str, side: KillSide) {
        match (self.last, self.kills.front_mut(), side) {
            (LastEdit::Kill, Some(newest), KillSide::Before) => newest.insert_str(0, text),
            (LastEdit::Kill, Some(newest), KillSide::Behind) => newest.push_str(text),
            (LastEdit::Kill | LastEdit::Other | LastEdit::Yank { .. }, _, _) => {
                self.kills.push_front(text.to_owned());
                self.kills.truncate(KILLS);
            }
        }
        self.last = LastEdit::Kill;
    }

    /// The newest kill, which the caller inserts at byte `start`.
    pub fn yank(&mut self, start: usize) -> Option<String> {
        let text = self.kills.front()?.clone();
        self.last = LastEdit::Yank { start, length: text.len(), number: 0 };
        Some(text)
    }

    /// Directly after a yank: the bytes to replace, and the next older kill, which replaces them.
    pub fn older(&mut self) -> Option<(usize, usize, String)> {
        let LastEdit::Yank { start, length, number } = self.last else { return None };
        let number = (number + 1) % self.kills.len().max(1);
        let text = self.kills.get(number)?.clone();
        self.last = LastEdit::Yank { start, length: text.len(), number };
        Some((start, start + length, text))
    }

    /// Records another kind of edit: the next kill starts a new text.
    pub fn interrupt(&mut self) {
        self.last = LastEdit::Other;
    }

    /// All kept texts, the newest first.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.kills.iter().map(String::as_str)
    }
}
