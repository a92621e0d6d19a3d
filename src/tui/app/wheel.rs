//! The wheel: how many rows a turn of it goes.
//!
//! Terminals send a different number of events for one notch. Each event goes its share of the
//! rows of a notch, and what is less than a row is kept for the next one.

/// How the wheel is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WheelSettings {
    /// Rows that a notch goes.
    pub rows: u16,
    /// Events that the terminal sends for a notch.
    pub events: u16,
}

/// How far the wheel has turned since the last whole row.
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
    /// One event up (negative) or down; returns the rows to go.
    pub fn by(&mut self, direction: i32, wheel: WheelSettings) -> i32 {
        let turn = direction.signum() * i32::from(wheel.rows.max(1));
        // Turned back: what was left of the other direction is not waited for.
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
    fn a_notch_goes_the_same_way_in_every_terminal() {
        for events in [1, 3, 9] {
            let (mut turned, wheel) =
                (WheelRemainder::default(), WheelSettings { rows: 3, events });
            let rows: i32 = (0..events).map(|_| turned.by(1, wheel)).sum();
            assert_eq!(rows, 3, "{events} events");
        }
    }

    #[test]
    fn turning_back_takes_effect_at_once() {
        let (mut turned, wheel) = (WheelRemainder::default(), WheelSettings { rows: 1, events: 3 });
        turned.by(1, wheel);
        turned.by(1, wheel);
        let rows: Vec<i32> = (0..3).map(|_| turned.by(-1, wheel)).collect();
        assert_eq!(rows, [0, 0, -1]);
    }
}
