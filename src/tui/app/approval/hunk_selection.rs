//! Which changes of an edit are taken, and which of them the keys are for.

use std::ops::Range;

use crate::domain::{ApprovalAnswer, ApprovalRequest, ExcludedHunks, FileDiff};
use crate::tui::app::geometry::ScrollExtent;

/// The changes of an edit that has more than one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkSelection {
    /// How many there are; at least two.
    pub count: usize,
    /// Those that are not taken.
    pub left_out: ExcludedHunks,
    /// The one that has the focus.
    pub focus: usize,
}

/// Which way to another change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HunkDirection {
    /// Down.
    Next,
    /// Up.
    Previous,
}

impl HunkSelection {
    /// The changes of a request, all taken. A single one is taken or refused with the whole.
    pub fn of(request: &ApprovalRequest) -> Option<Self> {
        let count = request.preview.as_ref().map_or(0, FileDiff::change_count);
        (count > 1).then(|| Self { count, left_out: ExcludedHunks::default(), focus: 0 })
    }

    /// How many are taken.
    pub fn included_count(&self) -> usize {
        self.count - self.left_out.count()
    }

    /// What a yes says: all that was asked for, a part of it, or no.
    pub fn answer(&self) -> ApprovalAnswer {
        match (self.included_count(), self.left_out.count()) {
            (_, 0) => ApprovalAnswer::Once,
            (0, _) => ApprovalAnswer::Deny { instruction: None },
            (_, _) => ApprovalAnswer::Part { left_out: self.left_out.clone() },
        }
    }

    /// Takes the change that has the focus, or leaves it out.
    pub fn toggle(&mut self) {
        self.left_out.toggle(self.focus);
    }

    /// The change below or above gets the focus.
    pub fn step(&mut self, way: HunkDirection) {
        self.focus = match way {
            HunkDirection::Next => (self.focus + 1).min(self.count - 1),
            HunkDirection::Previous => self.focus.saturating_sub(1),
        };
    }

    /// Where the part that scrolls has to stand for the focus to be in sight, with a few rows of
    /// what is around it. `places` are the rows of each change.
    pub fn reveal(&self, scroll: usize, places: &[Range<usize>], extent: ScrollExtent) -> usize {
        let Some(place) = places.get(self.focus) else { return scroll };
        let around = AROUND.min(extent.shown.saturating_sub(1) / 2);
        let first = place.start.saturating_sub(around);
        let last = (place.end + around).min(extent.rows);
        let lowest = last.saturating_sub(extent.shown).min(first);
        let to = if place.start < scroll { first } else { scroll.clamp(lowest, first.max(lowest)) };
        to.min(extent.rows.saturating_sub(extent.shown))
    }

    /// Whether any row of the focus is in sight.
    pub fn is_in_sight(
        &self,
        scroll: usize,
        places: &[Range<usize>],
        extent: ScrollExtent,
    ) -> bool {
        places.get(self.focus).is_some_and(|place| is_seen(place, scroll, extent))
    }

    /// The view has moved on: where the focus is out of sight, the first change in sight gets it.
    pub fn follow(&mut self, scroll: usize, places: &[Range<usize>], extent: ScrollExtent) {
        if !self.is_in_sight(scroll, places, extent)
            && let Some(seen) = places.iter().position(|place| is_seen(place, scroll, extent))
        {
            self.focus = seen;
        }
    }
}

/// Rows around a change that was gone to.
const AROUND: usize = 2;

fn is_seen(place: &Range<usize>, scroll: usize, extent: ScrollExtent) -> bool {
    place.start < scroll + extent.shown && place.end > scroll
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks() -> HunkSelection {
        HunkSelection { count: 3, left_out: ExcludedHunks::default(), focus: 0 }
    }

    #[test]
    fn a_yes_is_to_what_is_taken() {
        let mut picks = picks();
        assert_eq!(picks.answer(), ApprovalAnswer::Once);
        picks.step(HunkDirection::Next);
        picks.toggle();
        let left_out: ExcludedHunks = [1].into_iter().collect();
        assert_eq!(
            (picks.included_count(), picks.answer()),
            (2, ApprovalAnswer::Part { left_out })
        );
        picks.toggle();
        assert_eq!(picks.answer(), ApprovalAnswer::Once);
    }

    #[test]
    fn leaving_all_out_is_a_no() {
        let mut picks = picks();
        for _ in 0..3 {
            picks.toggle();
            picks.step(HunkDirection::Next);
        }
        assert_eq!(
            (picks.included_count(), picks.answer()),
            (0, ApprovalAnswer::Deny { instruction: None })
        );
    }

    #[test]
    fn the_focus_is_brought_into_sight_and_no_further() {
        let places = [2..4, 30..32, 60..80];
        let extent = ScrollExtent { rows: 90, shown: 10 };
        let at = |focus: usize, scroll: usize| {
            HunkSelection { focus, ..picks() }.reveal(scroll, &places, extent)
        };
        assert_eq!(at(0, 0), 0);
        assert_eq!(at(1, 0), 24, "its end and two rows below are the last in sight");
        assert_eq!(at(1, 25), 25, "it is in sight already");
        assert_eq!(at(1, 50), 28, "from below, two rows above it");
        assert_eq!(at(2, 0), 58, "one that is longer than the screen, from its beginning");
    }

    #[test]
    fn the_focus_follows_the_view() {
        let places = [2..4, 30..32, 60..80];
        let extent = ScrollExtent { rows: 90, shown: 10 };
        let mut picks = picks();
        for (scroll, focus) in [(3, 0), (10, 0), (25, 1), (65, 2), (0, 0)] {
            picks.follow(scroll, &places, extent);
            assert_eq!(picks.focus, focus, "{scroll}");
        }
    }
}
