//! The sidebar: the list of past sessions beside the chat, its keys, and the changes they make on
//! disk. Typed text filters the titles at once, and is searched for in the messages of all
//! sessions.
//!
//! A change shows at once and is carried out by a [`SessionStoreRequest`]. Requests that change
//! something run one after another: each is sent when the one before has its answer. One that fails
//! is reverted on screen.

mod changes;
mod keys;
mod order;
mod pane;
mod routing;
mod selection;
mod session_search;
mod tree;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, FixedOffset, TimeDelta};

use crate::domain::{EntryId, SessionId};
use crate::session::SessionGrouping;

use super::conversation::pending_jump::PendingJump;
use super::editor::TextEditor;
use super::effect::ScreenEffect;
use super::keymap::{KeyPlace, Keymap, SidebarKey};
use super::request_id::{RequestCounter, RequestId};
use crate::services::sessions::{
    SessionList, SessionLockState, SessionRow, SessionStoreRequest, SessionStoreResponse,
};

use changes::SidebarChange;

pub use crate::domain::NoticeLevel;
pub use pane::SidebarPreview;
pub use routing::{
    SidebarPlacement, answered, ask_for_export, branches_laid_out, found, key, leave, mouse,
    on_screen, open, open_line, paste, placement, session_opened, title_changed, toggle,
};
pub use session_search::SidebarSearchState;
pub use tree::{SessionTitleMatcher, SessionTree, SessionTreeLine, SidebarScope, age};

/// The list of sessions. It remembers deleted sessions, for undo, also while it is closed.
#[derive(Debug, Clone, PartialEq)]
pub struct Sidebar {
    pub visibility: SidebarVisibility,
    /// The sessions; `None` until they are loaded.
    pub tree: Option<SessionTree>,
    pub mode: SidebarMode,
    pub scope: SidebarScope,
    /// The preview below the list.
    pub pane: SidebarPreview,
    /// The last notice below the list.
    pub note: Option<SidebarNote>,
    /// The state of the search in messages.
    search_state: SidebarSearchState,
    folder: PathBuf,
    listed_at: Duration,
    reading: SidebarReadState,
    /// The request for the newest sessions, which shows some before all are loaded.
    at_once: Option<RequestId>,
    selected: usize,
    /// Whether the user has moved the selection since the query changed.
    is_chosen: bool,
    /// Whether all sessions are loaded, and not only the newest.
    is_complete: bool,
    top: usize,
    trashed: Vec<SessionRow>,
    changes: VecDeque<SidebarChange>,
    under_way: Option<RequestId>,
    /// A grouping that has not been saved yet.
    grouped: Option<SessionGrouping>,
    /// The session to compare another one with.
    marked: Option<SessionId>,
    /// The pending request for a comparison or a summary.
    branches: Option<RequestId>,
    /// Pending requests for exports.
    exports: Vec<RequestId>,
}

/// Whether the list is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidebarVisibility {
    Shown,
    Hidden,
}

/// What the keys do in the list.
#[derive(Debug, Clone, PartialEq)]
pub enum SidebarMode {
    /// Letters are commands.
    Browsing,
    /// Typed text filters the list.
    Filtering(TextEditor),
    /// Typed text is a new title.
    Renaming { session: SessionId, editor: TextEditor },
}

/// A notice below the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SidebarNote {
    pub level: NoticeLevel,
    pub text: String,
}

/// What the rest of the screen has to do after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SidebarOutcome {
    Stay,
    /// The list does not use the key.
    Pass,
    /// Give the focus back to the input.
    Leave,
    /// Close the list.
    Close,
    /// Show the help with the keys.
    Help,
    /// Open a session.
    Open(SessionId),
    /// Go to a place in a session.
    GoTo(PendingJump),
    /// Fork a session, after this entry or at its end, and open the fork.
    Fork(SessionId, Option<EntryId>),
    /// Compare two sessions.
    Compare([SessionId; 2]),
    /// Export a session.
    Export(SessionId),
    /// Put a summary of a session into the input.
    SumUp(SessionId),
    /// Change the title of the open session.
    Retitle(String),
}

/// What a key needs to know about the rest of the screen.
#[derive(Debug, Clone, Copy)]
pub struct SidebarContext<'a> {
    /// Rows of the list on screen.
    pub page: usize,
    /// The session in the chat.
    pub open: Option<SessionId>,
    pub keys: &'a Keymap,
}

/// Whether the list is being read from the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SidebarReadState {
    No,
    Wanted,
    Asked(RequestId),
}

impl Sidebar {
    /// The place that its keys are looked up in. While text is typed, the keys that leave and close
    /// the list work, too.
    pub fn place(&self) -> KeyPlace {
        match self.mode {
            SidebarMode::Browsing => KeyPlace::Sessions,
            SidebarMode::Filtering(_) => KeyPlace::List,
            SidebarMode::Renaming { .. } => KeyPlace::Field,
        }
    }

    /// A closed list; the sessions of `folder` will come first.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            visibility: SidebarVisibility::Hidden,
            tree: None,
            mode: SidebarMode::Browsing,
            scope: SidebarScope::default(),
            pane: SidebarPreview::Closed,
            note: None,
            search_state: SidebarSearchState::No,
            folder,
            listed_at: Duration::ZERO,
            reading: SidebarReadState::No,
            at_once: None,
            selected: 0,
            is_chosen: false,
            is_complete: false,
            top: 0,
            trashed: Vec::new(),
            changes: VecDeque::new(),
            under_way: None,
            grouped: None,
            marked: None,
            branches: None,
            exports: Vec::new(),
        }
    }

    /// Opens the list, and reads the sessions again.
    pub fn open(&mut self) {
        self.visibility = SidebarVisibility::Shown;
        self.refresh();
    }

    /// Closes the list, and drops everything except the deletions that can be undone.
    pub fn close(&mut self) {
        self.visibility = SidebarVisibility::Hidden;
        self.mode = SidebarMode::Browsing;
        self.tree = None;
        self.note = None;
        self.pane = SidebarPreview::Closed;
        self.stop_search();
        self.reading = SidebarReadState::No;
        self.at_once = None;
        self.is_chosen = false;
        self.is_complete = false;
        self.selected = 0;
        self.top = 0;
    }

    /// Reads the sessions again with the next [`Self::jobs`], if the list is open.
    pub fn refresh(&mut self) {
        if self.visibility == SidebarVisibility::Shown {
            self.reading = SidebarReadState::Wanted;
        }
    }

    /// Index of the selected line.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// The session of the selected line.
    pub fn session(&self) -> Option<&SessionRow> {
        self.tree.as_ref()?.session_at(self.selected)
    }

    /// The sessions that are shown, each with the index of its line.
    pub fn sessions(&self) -> Vec<(usize, &SessionRow)> {
        self.tree.iter().flat_map(SessionTree::session_lines).collect()
    }

    /// The time of day for ages in the list, `now` after slug's start; `None` before the list is
    /// loaded.
    pub fn clock(&self, now: Duration) -> Option<DateTime<FixedOffset>> {
        let passed = TimeDelta::from_std(now.saturating_sub(self.listed_at)).ok()?;
        self.tree.as_ref()?.now().checked_add_signed(passed)
    }

    /// Whether a deletion can be undone.
    pub fn can_undo(&self) -> bool {
        !self.trashed.is_empty()
    }

    /// The text field that is open, if any.
    pub fn editor(&mut self) -> Option<&mut TextEditor> {
        match &mut self.mode {
            SidebarMode::Browsing => None,
            SidebarMode::Filtering(editor) | SidebarMode::Renaming { editor, .. } => Some(editor),
        }
    }

    /// Applies the filter after its text has changed.
    pub fn edited(&mut self) {
        if let SidebarMode::Filtering(editor) = &self.mode {
            let query = editor.text();
            self.show(query.trim());
        }
    }

    /// The effects that are due now: changes, reading the list and the preview, saving the
    /// grouping, and the search.
    pub fn jobs(&mut self, requests: &mut RequestCounter) -> Vec<ScreenEffect> {
        let mut effects = Vec::new();
        let mut ask = |job: SessionStoreRequest| {
            let id = requests.issue();
            effects.push(ScreenEffect::Sessions { id, job });
            id
        };
        if let (None, Some(change)) = (self.under_way, self.changes.front()) {
            self.under_way = Some(ask(change.job()));
        }
        // A list read during a change could show a mix of the states before and after.
        if self.reading == SidebarReadState::Wanted && self.changes.is_empty() {
            if self.tree.is_none() {
                self.at_once = Some(ask(SessionStoreRequest::Newest));
            }
            self.reading = SidebarReadState::Asked(ask(SessionStoreRequest::List));
        }
        let selected = self.session().map(|row| row.id);
        if let Some(session) = self.pane.session_to_read(selected) {
            let id = ask(SessionStoreRequest::Preview { session });
            self.pane.asked(id, session);
        }
        if let Some(grouping) = self.grouped.take() {
            ask(SessionStoreRequest::Group(grouping));
        }
        effects.extend(self.search_effect(requests));
        effects
    }

    /// Takes over the answer to a request. An answer that nothing waits for is stale and ignored.
    pub fn answer(
        &mut self,
        id: RequestId,
        answer: Result<SessionStoreResponse, String>,
        now: Duration,
    ) {
        if self.at_once.take_if(|asked| *asked == id).is_some() {
            // The whole list may have come first, and a small store knows no newest ones at once.
            if let Ok(SessionStoreResponse::Listed(list)) = answer
                && self.tree.is_none()
                && !list.rows.is_empty()
            {
                self.fill(list, now);
            }
        } else if self.reading == SidebarReadState::Asked(id) {
            self.reading = SidebarReadState::No;
            match answer {
                Ok(SessionStoreResponse::Listed(list)) => self.fill(list, now),
                Ok(
                    SessionStoreResponse::Changed
                    | SessionStoreResponse::Previewed(_)
                    | SessionStoreResponse::Compared(_)
                    | SessionStoreResponse::Exported(_)
                    | SessionStoreResponse::SummedUp(_),
                ) => {}
                Err(reason) => self.say(NoticeLevel::Error, reason),
            }
        } else if self.under_way == Some(id) {
            self.under_way = None;
            let change = self.changes.pop_front();
            if let (Some(change), Err(reason)) = (change, answer) {
                self.take_back(change);
                self.say(NoticeLevel::Error, reason);
            }
        } else {
            self.pane.answer(id, answer);
        }
    }

    fn fill(&mut self, list: SessionList, now: Duration) {
        // Unless the user moved it, a selection among only the newest sessions does not count.
        let before = self.selection().filter(|_| self.is_chosen || self.is_complete);
        let were_all_there = self.is_complete;
        self.is_complete = self.reading == SidebarReadState::No;
        self.listed_at = now;
        let mut tree = SessionTree::new(list, &self.folder);
        tree.show(self.scope, &self.query());
        if let Some(old) = &mut self.tree {
            tree.add_found(old.take_found().into_values().collect());
        }
        self.tree = Some(tree);
        self.restore_selection(before);
        // A filter typed meanwhile has to be searched for in all sessions.
        if self.is_complete && !were_all_there {
            self.start_search();
        }
    }

    fn query(&self) -> String {
        match &self.mode {
            SidebarMode::Filtering(editor) => editor.text().trim().to_owned(),
            SidebarMode::Browsing | SidebarMode::Renaming { .. } => String::new(),
        }
    }

    /// Filters the list by the scope and `query`. The selection stays if its line is still shown.
    fn show(&mut self, query: &str) {
        let before = self.selection();
        let Some(tree) = &mut self.tree else { return };
        let changes = tree.shown() != (self.scope, query);
        tree.show(self.scope, query);
        self.restore_selection(before);
        if changes {
            self.is_chosen = false;
            self.start_search();
        }
    }

    /// The session marked for a comparison.
    pub fn marked(&self) -> Option<SessionId> {
        self.marked
    }

    fn open_selected(&mut self, context: SidebarContext<'_>) -> SidebarOutcome {
        let Some(row) = self.session() else { return SidebarOutcome::Stay };
        let jump = self.selected_jump();
        if let Some(jump) = jump.filter(|_| context.open == Some(row.id)) {
            return SidebarOutcome::GoTo(jump);
        }
        if context.open == Some(row.id) {
            return SidebarOutcome::Leave;
        }
        if row.lock == SessionLockState::Locked {
            let fork = context.keys.key(SidebarKey::Fork);
            let text = format!("Open in another slug. Close it there, or fork it with {fork}.");
            self.say(NoticeLevel::Warning, text);
            return SidebarOutcome::Stay;
        }
        self.selected_jump().map_or(SidebarOutcome::Open(row.id), SidebarOutcome::GoTo)
    }

    /// The place in a session that the selected line leads to.
    fn selected_jump(&self) -> Option<PendingJump> {
        let tree = self.tree.as_ref()?;
        let (row, place) = (self.session()?, tree.place_at(self.selected)?);
        Some(PendingJump::new(row.id, place, tree.filter().text.clone()))
    }

    fn say(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.note = Some(SidebarNote { level, text: text.into() });
    }
}

#[cfg(test)]
pub mod samples;
#[cfg(test)]
mod tests;
