//! The mouse wheel: how many rows to scroll for its events.
//!
//! Terminals send different numbers of events for one notch. Each event scrolls its share of a
//! notch's rows; less than a row is kept for the next event.

/// The settings of the wheel; 0 counts as 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WheelSettings {
    /// Rows to scroll for a notch.
    pub rows: u16,
    /// Events that the terminal sends for one notch.
    pub events: u16,
}

/// The wheel's movement since the last whole row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WheelRemainder {
    rest: i32,
}

impl Default for WheelSettings {
    fn default() -> Self {
        Self { rows: 3, events: 1 }
    }
}

impl WheelRemainder {
    /// Counts one event up (negative) or down; returns the rows to scroll.
    pub fn by(&mut self, direction: i32, wheel: WheelSettings) -> i32 {
        let turn = direction.signum() * i32::from(wheel.rows.max(1));
        // The direction has changed: drop the remainder of the other direction.
        if self.rest.signum() == -turn.signum() {
            self.rest = 0;
        }
        let events = i32::from(wheel.events.max(1));
        self.rest += turn;
        let rows = self.rest / events;
        self.rest -= rows * events;
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notch_scrolls_the_same_rows_in_every_terminal() {
        for events in [1, 3, 9] {
            let (mut remainder, wheel) =
                (WheelRemainder::default(), WheelSettings { rows: 3, events });
            let rows: i32 = (0..events).map(|_| remainder.by(1, wheel)).sum();
            assert_eq!(rows, 3, "{events} events");
        }
    }

    #[test]
    fn changing_direction_takes_effect_at_once() {
        let (mut remainder, wheel) =
            (WheelRemainder::default(), WheelSettings { rows: 1, events: 3 });
        remainder.by(1, wheel);
        remainder.by(1, wheel);
        let rows: Vec<i32> = (0..3).map(|_| remainder.by(-1, wheel)).collect();
        assert_eq!(rows, [0, 0, -1]);
    }
}
