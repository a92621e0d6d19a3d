//! Which changes of an edit the user approves, and which change has the focus.

use std::ops::Range;

use crate::domain::{ApprovalAnswer, ApprovalRequest, ExcludedHunks, FileDiff};
use crate::tui::dialogs::geometry::ScrollExtent;

/// The choice among the changes of an edit that has more than one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkSelection {
    /// The number of changes; at least two.
    pub count: usize,
    /// The changes that the user does not approve.
    pub left_out: ExcludedHunks,
    /// The index of the change that keys act on; less than `count`.
    pub focus: usize,
}

/// The direction in which the focus moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HunkDirection {
    Next,
    Previous,
}

impl HunkSelection {
    /// The changes of a request, all included. `None` for fewer than two and for those of several files,
    /// which belong together: these are approved or denied as a whole.
    pub fn of(request: &ApprovalRequest) -> Option<Self> {
        let count = request.preview.as_ref().map_or(0, FileDiff::change_count);
        let is_one_file = request.other_previews.is_empty();
        (count > 1 && is_one_file).then(|| Self {
            count,
            left_out: ExcludedHunks::default(),
            focus: 0,
        })
    }

    /// The number of changes that the user approves.
    pub fn included_count(&self) -> usize {
        self.count - self.left_out.count()
    }

    /// The answer that a yes stands for: all changes, or some of them. There is no yes to none.
    pub fn answer(&self) -> ApprovalAnswer {
        match self.left_out.count() {
            0 => ApprovalAnswer::Once,
            _ => ApprovalAnswer::Part { left_out: self.left_out.clone() },
        }
    }

    /// Includes the focused change, or leaves it out if it is included.
    pub fn toggle(&mut self) {
        self.left_out.toggle(self.focus);
    }

    /// Moves the focus to the next or previous change; stops at the first and the last.
    pub fn step(&mut self, direction: HunkDirection) {
        self.focus = match direction {
            HunkDirection::Next => (self.focus + 1).min(self.count - 1),
            HunkDirection::Previous => self.focus.saturating_sub(1),
        };
    }

    /// The scroll position that brings the focused change into view, with `AROUND` rows of
    /// context. Moves no further than needed. `hunk_rows` are the rows of each change.
    pub fn reveal(&self, scroll: usize, hunk_rows: &[Range<usize>], extent: ScrollExtent) -> usize {
        let Some(rows) = hunk_rows.get(self.focus) else { return scroll };
        let around = AROUND.min(extent.shown.saturating_sub(1) / 2);
        let first = rows.start.saturating_sub(around);
        let last = (rows.end + around).min(extent.rows);
        let lowest = last.saturating_sub(extent.shown).min(first);
        let to = if rows.start < scroll { first } else { scroll.clamp(lowest, first.max(lowest)) };
        to.min(extent.rows.saturating_sub(extent.shown))
    }

    /// Whether any row of the focused change is in view.
    pub fn is_in_sight(
        &self,
        scroll: usize,
        hunk_rows: &[Range<usize>],
        extent: ScrollExtent,
    ) -> bool {
        hunk_rows.get(self.focus).is_some_and(|rows| is_seen(rows, scroll, extent))
    }

    /// Follows a scrolled view: if the focused change is out of view, the first change in view gets
    /// the focus.
    pub fn follow(&mut self, scroll: usize, hunk_rows: &[Range<usize>], extent: ScrollExtent) {
        if !self.is_in_sight(scroll, hunk_rows, extent)
            && let Some(seen) = hunk_rows.iter().position(|rows| is_seen(rows, scroll, extent))
        {
            self.focus = seen;
        }
    }
}

/// Rows of context above and below a change that gets the focus.
const AROUND: usize = 2;

fn is_seen(rows: &Range<usize>, scroll: usize, extent: ScrollExtent) -> bool {
    rows.start < scroll + extent.shown && rows.end > scroll
}

#[cfg(test)]
mod tests {
    use crate::tui::dialogs::approval::hunk_selection::*;

    fn selection() -> HunkSelection {
        HunkSelection { count: 3, left_out: ExcludedHunks::default(), focus: 0 }
    }

    #[test]
    fn yes_covers_only_the_included_changes() {
        let mut selection = selection();
        assert_eq!(selection.answer(), ApprovalAnswer::Once);
        selection.step(HunkDirection::Next);
        selection.toggle();
        let left_out: ExcludedHunks = [1].into_iter().collect();
        assert_eq!(
            (selection.included_count(), selection.answer()),
            (2, ApprovalAnswer::Part { left_out })
        );
        selection.toggle();
        assert_eq!(selection.answer(), ApprovalAnswer::Once);
    }

    #[test]
    fn reveal_scrolls_no_further_than_needed() {
        let hunk_rows = [2..4, 30..32, 60..80];
        let extent = ScrollExtent { rows: 90, shown: 10 };
        let at = |focus: usize, scroll: usize| {
            HunkSelection { focus, ..selection() }.reveal(scroll, &hunk_rows, extent)
        };
        assert_eq!(at(0, 0), 0);
        assert_eq!(at(1, 0), 24, "its end and two rows below are the last in view");
        assert_eq!(at(1, 25), 25, "it is in view already");
        assert_eq!(at(1, 50), 28, "from below, two rows above it");
        assert_eq!(at(2, 0), 58, "one that is longer than the screen, from its beginning");
    }

    #[test]
    fn the_focus_follows_the_view() {
        let hunk_rows = [2..4, 30..32, 60..80];
        let extent = ScrollExtent { rows: 90, shown: 10 };
        let mut selection = selection();
        for (scroll, focus) in [(3, 0), (10, 0), (25, 1), (65, 2), (0, 0)] {
            selection.follow(scroll, &hunk_rows, extent);
            assert_eq!(selection.focus, focus, "{scroll}");
        }
    }
}
