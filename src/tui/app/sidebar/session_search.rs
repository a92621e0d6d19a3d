//! Looking for what is typed in all that was said: begun with each letter, ended by the next one,
//! and by whatever makes the text too short or takes the list off the screen.

use crate::session::SessionSearchResult;
use crate::tui::app::effect::{RequestId, ScreenEffect};
use crate::tui::app::model::PendingRequests;

use super::{SessionTree, Sidebar};

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidebarSearchState {
    /// Nothing is looked for.
    No,
    /// It is to begin.
    Wanted,
    /// It runs.
    Running(RequestId),
    /// It is to be stopped.
    Unwanted,
    /// All was looked at.
    Done,
}

impl Sidebar {
    /// Begins anew with what is typed now.
    pub(super) fn start_search(&mut self) {
        let text = self.tree.as_ref().map_or("", |tree| tree.filter().text.as_str());
        if is_enough(text) {
            self.search_state = SidebarSearchState::Wanted;
        } else {
            self.stop_search();
        }
    }

    /// Ends it.
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

    /// What has to be done for it outside.
    pub(super) fn search_effect(&mut self, requests: &mut PendingRequests) -> Option<ScreenEffect> {
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

    /// Takes in what was found; nothing where all was looked at.
    pub(super) fn found(&mut self, id: RequestId, found: Vec<SessionSearchResult>) {
        if self.search_state != SidebarSearchState::Running(id) {
            return;
        }
        if found.is_empty() {
            self.search_state = SidebarSearchState::Done;
            return;
        }
        // What comes in above what nobody chose is what comes first.
        let before = self.selection().filter(|_| self.is_chosen);
        if let Some(tree) = &mut self.tree {
            tree.add_found(found);
        }
        self.restore_selection(before);
    }

    /// Begins what is wanted and takes this for all that it finds.
    #[cfg(test)]
    pub fn deliver(&mut self, requests: &mut PendingRequests, found: Vec<SessionSearchResult>) {
        self.start_search();
        let Some(ScreenEffect::SearchSessions { id, .. }) = self.search_effect(requests) else {
            panic!("nothing is looked for")
        };
        self.found(id, found);
        self.found(id, Vec::new());
    }

    /// How many sessions have the text, and whether more may come.
    pub fn search_progress(&self) -> Option<(usize, SidebarSearchState)> {
        let tree = self.tree.as_ref().filter(|_| self.search_state != SidebarSearchState::No);
        tree.map(|tree| (SessionTree::found(tree), self.search_state))
    }
}

/// A single letter of an alphabet is in everything.
fn is_enough(text: &str) -> bool {
    let mut letters = text.chars().filter(|c| !c.is_whitespace());
    match (letters.next(), letters.next()) {
        (Some(one), None) => !one.is_ascii(),
        (Some(_), Some(_)) => true,
        (None, _) => false,
    }
}
