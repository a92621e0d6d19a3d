//! The selected line of the list of sessions, and which lines are in sight.

use crate::domain::SessionId;

use super::{SessionTree, SessionTreeLine, Sidebar};

/// The selection, to restore it after the lines change: the session, and the number of the search
/// hit in it.
type SidebarSelection = Option<(SessionId, Option<usize>)>;

impl Sidebar {
    /// Index of the first visible line, if `rows` lines fit.
    pub fn first_shown(&self, rows: usize) -> usize {
        // A heading right above the selected session stays visible with it.
        let heading = self.selected.checked_sub(1).filter(|above| {
            let lines = self.tree.as_ref().map_or(&[][..], SessionTree::lines);
            rows > 1 && matches!(lines.get(*above), Some(SessionTreeLine::Heading(_)))
        });
        let lowest = heading.unwrap_or(self.selected);
        self.top.clamp((self.selected + 1).saturating_sub(rows.max(1)), lowest)
    }

    /// Selects a line; nothing happens if the line has no session, as a heading.
    pub fn select(&mut self, line: usize) {
        if self.tree.as_ref().is_some_and(|tree| tree.session_at(line).is_some()) {
            self.is_chosen = true;
            self.selected = line;
        }
    }

    /// Moves the selection by a number of lines, over headings; stops at the ends.
    pub fn step(&mut self, by: isize) {
        let Some(tree) = &self.tree else { return };
        let last = tree.lines().len().saturating_sub(1);
        let to = self.selected.saturating_add_signed(by).min(last);
        let is_session = |line: &usize| tree.session_at(*line).is_some();
        // Skip a heading in the same direction; from the heading at the very top go back down.
        let found = if by < 0 {
            (0..=to).rev().find(is_session).or_else(|| (to..=last).find(is_session))
        } else {
            (to..=last).find(is_session).or_else(|| (0..=to).rev().find(is_session))
        };
        self.selected = found.unwrap_or(0);
    }

    pub(super) fn selection(&self) -> SidebarSelection {
        let tree = self.tree.as_ref()?;
        let place = match tree.lines().get(self.selected)? {
            SessionTreeLine::Place(_, place) => Some(*place),
            SessionTreeLine::Heading(_)
            | SessionTreeLine::Session(_)
            | SessionTreeLine::Parted(_) => None,
        };
        Some((self.session()?.id, place))
    }

    /// Restores the selection after the lines changed, else selects the first session.
    pub(super) fn restore_selection(&mut self, before: SidebarSelection) {
        let line = self.tree.as_ref().zip(before).and_then(|(tree, (session, place))| {
            let line = tree.line_of(session)?;
            let at = place.map(|place| line + 1 + place);
            let is_there =
                |at: &usize| matches!(tree.lines().get(*at), Some(SessionTreeLine::Place(_, _)));
            Some(at.filter(is_there).unwrap_or(line))
        });
        match line {
            Some(line) => self.selected = line,
            None => {
                self.selected = 0;
                self.top = 0;
                self.step(0);
            }
        }
    }

    /// Selects a session, if it is shown.
    pub(super) fn find(&mut self, session: SessionId) {
        if let Some(line) = self.tree.as_ref().and_then(|tree| tree.line_of(session)) {
            self.selected = line;
        }
    }
}
