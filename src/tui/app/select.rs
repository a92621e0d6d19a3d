//! Selecting text of the transcript with the mouse.
//!
//! A selection is held by block and row, not by screen cells, so that it scrolls along. Its text
//! is put together by the view, which has the lines.

use std::time::Duration;

use super::transcript::BlockId;

/// A cell of the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The block.
    pub block: BlockId,
    /// The row in it, from 0.
    pub row: usize,
    /// The column from the left edge of the text.
    pub column: u16,
}

/// What is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// Where the button went down.
    pub from: Spot,
    /// Where it is, or was let go.
    pub to: Spot,
    /// What is taken at once.
    pub unit: Unit,
}

/// What is taken at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Single characters.
    Char,
    /// Whole words.
    Word,
    /// Whole lines, however they are wrapped.
    Line,
}

/// The mouse button, for telling single, double and triple clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Clicks {
    last: Option<(u16, u16, Duration)>,
    count: u8,
}

const DOUBLE_CLICK: Duration = Duration::from_millis(400);

impl Selection {
    /// The first and the last cell, in reading order.
    pub fn ordered(&self) -> (Spot, Spot) {
        (self.from.min(self.to), self.from.max(self.to))
    }

    /// Whether it covers anything.
    pub fn covers(&self) -> bool {
        self.from != self.to || self.unit != Unit::Char
    }
}

impl Clicks {
    /// Notes that the button went down, and says what it selects.
    pub fn down(&mut self, column: u16, row: u16, now: Duration) -> Unit {
        let again = self.last.is_some_and(|(c, r, at)| {
            (c, r) == (column, row) && now.saturating_sub(at) < DOUBLE_CLICK
        });
        self.count = if again { self.count % 3 + 1 } else { 1 };
        self.last = Some((column, row, now));
        match self.count {
            2 => Unit::Word,
            3 => Unit::Line,
            _ => Unit::Char,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_clicks_at_one_place_take_more() {
        let mut clicks = Clicks::default();
        let at = Duration::from_millis;
        assert_eq!(clicks.down(3, 3, at(0)), Unit::Char);
        assert_eq!(clicks.down(3, 3, at(200)), Unit::Word);
        assert_eq!(clicks.down(3, 3, at(400)), Unit::Line);
        assert_eq!(clicks.down(4, 3, at(500)), Unit::Char);
        assert_eq!(clicks.down(4, 3, at(2000)), Unit::Char);
    }
}
