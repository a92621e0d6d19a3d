//! What was removed by kills, to be put back: the newest first, and the older ones in turn.

use std::collections::VecDeque;

/// How many kills are remembered.
const KILLS: usize = 30;

/// The kill ring.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KillRing {
    kills: VecDeque<String>,
    /// What the last edit was, since kills in a row are one.
    last: LastEdit,
}

/// Where a kill took its text from, seen from the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillSide {
    /// Before it.
    Before,
    /// Behind it.
    Behind,
}

/// What the last edit was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum LastEdit {
    #[default]
    Other,
    Kill,
    /// A kill was put back from byte `start`; it is `length` bytes, and the `number`th.
    Yank {
        start: usize,
        length: usize,
        number: usize,
    },
}

impl KillRing {
    /// Takes in what was removed. It joins the kill just before it.
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

    /// What was removed last, to be put in at `start`.
    pub fn yank(&mut self, start: usize) -> Option<String> {
        let text = self.kills.front()?.clone();
        self.last = LastEdit::Yank { start, length: text.len(), number: 0 };
        Some(text)
    }

    /// Right after a yank: the bytes to replace, and the kill before the one that is there.
    pub fn older(&mut self) -> Option<(usize, usize, String)> {
        let LastEdit::Yank { start, length, number } = self.last else { return None };
        let number = (number + 1) % self.kills.len().max(1);
        let text = self.kills.get(number)?.clone();
        self.last = LastEdit::Yank { start, length: text.len(), number };
        Some((start, start + length, text))
    }

    /// Something else was done: the next kill begins anew.
    pub fn interrupt(&mut self) {
        self.last = LastEdit::Other;
    }

    /// All that is remembered.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.kills.iter().map(String::as_str)
    }
}
