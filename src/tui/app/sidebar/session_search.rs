//! The search for the filter's text in the messages of all sessions. Each typed letter starts it
//! anew. It stops when the text is too short or the list closes.

use crate::session::SessionSearchResult;
use crate::tui::app::effect::ScreenEffect;
use crate::tui::app::request_id::{RequestCounter, RequestId};

use super::{SessionTree, Sidebar};

/// The state of the search in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidebarSearchState {
    No,
    /// The next [`Sidebar::jobs`] starts the search.
    Wanted,
    Running(RequestId),
    /// The next [`Sidebar::jobs`] stops the running search.
    Unwanted,
    /// All sessions were searched.
    Done,
}

impl Sidebar {
    /// Starts the search for the text as it is typed now; stops it if the text is too short.
    pub(super) fn start_search(&mut self) {
        let text = self.tree.as_ref().map_or("", |tree| tree.filter().text.as_str());
        if is_enough(text) {
            self.search_state = SidebarSearchState::Wanted;
        } else {
            self.stop_search();
        }
    }

    /// Ends the search.
    pub(super) fn stop_search(&mut self) {
        self.search_state = match self.search_state {
            SidebarSearchState::Running(_) | SidebarSearchState::Unwanted => {
                SidebarSearchState::Unwanted
            }
            SidebarSearchState::No | SidebarSearchState::Wanted | SidebarSearchState::Done => {
                SidebarSearchState::No
            }
        };
    }

    /// The effect that starts or stops the search, if one is due.
    pub(super) fn search_effect(&mut self, requests: &mut RequestCounter) -> Option<ScreenEffect> {
        match (self.search_state, &self.tree) {
            (SidebarSearchState::Wanted, Some(tree)) => {
                let id = requests.issue();
                self.search_state = SidebarSearchState::Running(id);
                let text = tree.filter().text.clone();
                Some(ScreenEffect::SearchSessions { id, text, sessions: tree.to_search() })
            }
            (SidebarSearchState::Unwanted, _) => {
                self.search_state = SidebarSearchState::No;
                Some(ScreenEffect::StopSearch)
            }
            (
                SidebarSearchState::No
                | SidebarSearchState::Wanted
                | SidebarSearchState::Running(_)
                | SidebarSearchState::Done,
                _,
            ) => None,
        }
    }

    /// Adds sessions that were found; none means that the search is complete.
    pub(super) fn found(&mut self, id: RequestId, found: Vec<SessionSearchResult>) {
        if self.search_state != SidebarSearchState::Running(id) {
            return;
        }
        if found.is_empty() {
            self.search_state = SidebarSearchState::Done;
            return;
        }
        // Unless the user moved the selection, the first line is selected, also if it is new.
        let before = self.selection().filter(|_| self.is_chosen);
        if let Some(tree) = &mut self.tree {
            tree.add_found(found);
        }
        self.restore_selection(before);
    }

    /// For tests: starts a search and answers it with `found`.
    #[cfg(test)]
    pub fn deliver(&mut self, requests: &mut RequestCounter, found: Vec<SessionSearchResult>) {
        self.start_search();
        let Some(ScreenEffect::SearchSessions { id, .. }) = self.search_effect(requests) else {
            panic!("no search is running")
        };
        self.found(id, found);
        self.found(id, Vec::new());
    }

    /// How many sessions contain the text, and the state of the search; `None` if there is none.
    pub fn search_progress(&self) -> Option<(usize, SidebarSearchState)> {
        let tree = self.tree.as_ref().filter(|_| self.search_state != SidebarSearchState::No);
        tree.map(|tree| (SessionTree::found(tree), self.search_state))
    }
}

/// Whether a text is long enough to search for. A single ASCII letter is in everything; a single
/// character of another script may be a word.
fn is_enough(text: &str) -> bool {
    let mut letters = text.chars().filter(|c| !c.is_whitespace());
    match (letters.next(), letters.next()) {
        (Some(one), None) => !one.is_ascii(),
        (Some(_), Some(_)) => true,
        (None, _) => false,
    }
}
