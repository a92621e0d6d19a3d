//! Looking for what is typed in all that was said: begun with each letter, ended by the next one,
//! and by whatever makes the text too short or takes the list off the screen.

use crate::session::SessionSearchResult;
use crate::tui::app::effect::{Effect, RequestId};
use crate::tui::app::model::Requests;

use super::{Sidebar, Tree};

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeking {
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
    pub(super) fn seek(&mut self) {
        let text = self.tree.as_ref().map_or("", |tree| tree.filter().text.as_str());
        if is_enough(text) {
            self.seeking = Seeking::Wanted;
        } else {
            self.stop_seeking();
        }
    }

    /// Ends it.
    pub(super) fn stop_seeking(&mut self) {
        self.seeking = match self.seeking {
            Seeking::Running(_) | Seeking::Unwanted => Seeking::Unwanted,
            Seeking::No | Seeking::Wanted | Seeking::Done => Seeking::No,
        };
    }

    /// What has to be done for it outside.
    pub(super) fn seeking_effect(&mut self, requests: &mut Requests) -> Option<Effect> {
        match (self.seeking, &self.tree) {
            (Seeking::Wanted, Some(tree)) => {
                let id = requests.issue();
                self.seeking = Seeking::Running(id);
                let text = tree.filter().text.clone();
                Some(Effect::SearchSessions { id, text, sessions: tree.to_search() })
            }
            (Seeking::Unwanted, _) => {
                self.seeking = Seeking::No;
                Some(Effect::StopSearch)
            }
            (Seeking::No | Seeking::Wanted | Seeking::Running(_) | Seeking::Done, _) => None,
        }
    }

    /// Takes in what was found; nothing where all was looked at.
    pub(super) fn found(&mut self, id: RequestId, found: Vec<SessionSearchResult>) {
        if self.seeking != Seeking::Running(id) {
            return;
        }
        if found.is_empty() {
            self.seeking = Seeking::Done;
            return;
        }
        // What comes in above what nobody chose is what comes first.
        let before = self.standing().filter(|_| self.is_chosen);
        if let Some(tree) = &mut self.tree {
            tree.add_found(found);
        }
        self.stand(before);
    }

    /// Begins what is wanted and takes this for all that it finds.
    #[cfg(test)]
    pub fn deliver(&mut self, requests: &mut Requests, found: Vec<SessionSearchResult>) {
        self.seek();
        let Some(Effect::SearchSessions { id, .. }) = self.seeking_effect(requests) else {
            panic!("nothing is looked for")
        };
        self.found(id, found);
        self.found(id, Vec::new());
    }

    /// How many sessions have the text, and whether more may come.
    pub fn sought(&self) -> Option<(usize, Seeking)> {
        let tree = self.tree.as_ref().filter(|_| self.seeking != Seeking::No);
        tree.map(|tree| (Tree::found(tree), self.seeking))
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
