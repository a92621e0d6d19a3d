//! The list of past sessions beside the chat: what is in it, what its keys do, and what they
//! change on disk. What is typed in it narrows it at once, and is looked for in all that was said.
//!
//! A change shows at once and is carried out by a [`SessionStoreRequest`]; jobs that change something run
//! one after another, each begun when the one before is answered, and one that fails is taken
//! back on screen.

mod changes;
mod order;
mod pane;
mod routing;
mod session_search;
mod tree;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, FixedOffset, TimeDelta};

use crate::domain::{EntryId, SessionId};
use crate::session::SessionGrouping;

use super::editor::{EditorLines, TextEditor};
use super::effect::{RequestId, ScreenEffect};
use super::jump::PendingJump;
use super::keymap::{self, ChatKey, KeyPress, Keymap, ListKey, SidebarKey};
use super::model::PendingRequests;
use super::sessions::{
    SessionList, SessionLockState, SessionRow, SessionStoreRequest, SessionStoreResponse,
};

use changes::SidebarChange;

pub use crate::domain::NoticeLevel;
pub use pane::SidebarPreview;
pub use routing::{
    SidebarPlacement, answered, found, key, leave, mouse, on_screen, open, open_line, paste,
    placement, session_opened, title_changed, toggle,
};
pub use session_search::SidebarSearchState;
pub use tree::{SessionTitleMatcher, SessionTree, SessionTreeLine, SidebarScope, age};

/// The list of sessions. It keeps what was deleted also while it is closed.
#[derive(Debug, Clone, PartialEq)]
pub struct Sidebar {
    /// Whether it is on screen.
    pub visibility: SidebarVisibility,
    /// The sessions; `None` until they are there.
    pub tree: Option<SessionTree>,
    /// What the keys do in it.
    pub mode: SidebarMode,
    /// Which folders are shown.
    pub scope: SidebarScope,
    /// The session shown below the list.
    pub pane: SidebarPreview,
    /// The last thing to say about it.
    pub note: Option<SidebarNote>,
    /// How far the search of what was said is.
    search_state: SidebarSearchState,
    folder: PathBuf,
    listed_at: Duration,
    reading: SidebarReadState,
    /// Those that are there at once, while nothing is.
    at_once: Option<RequestId>,
    selected: usize,
    /// Whether the person pressed a key for it since the query changed.
    is_chosen: bool,
    /// Whether all sessions are there, and not only those that are at once.
    is_complete: bool,
    top: usize,
    trashed: Vec<SessionRow>,
    changes: VecDeque<SidebarChange>,
    under_way: Option<RequestId>,
    /// A grouping that is not remembered yet.
    grouped: Option<SessionGrouping>,
    /// The session that another one is to be compared with.
    marked: Option<SessionId>,
    /// What a page or the input waits for.
    branches: Option<RequestId>,
    /// Sessions that are being exported.
    exports: Vec<RequestId>,
}

/// Whether the list is on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidebarVisibility {
    /// It is.
    Shown,
    /// It is not.
    Hidden,
}

/// What the keys do.
#[derive(Debug, Clone, PartialEq)]
pub enum SidebarMode {
    /// Letters are commands.
    Browsing,
    /// What is typed filters.
    Filtering(TextEditor),
    /// What is typed is a new title.
    Renaming {
        /// Of which session.
        session: SessionId,
        /// The title.
        editor: TextEditor,
    },
}

/// Something to say below the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SidebarNote {
    /// How bad it is.
    pub level: NoticeLevel,
    /// A sentence.
    pub text: String,
}

/// What a key comes to, beside what it changes here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SidebarOutcome {
    /// Nothing more.
    Stay,
    /// The key means nothing here.
    Pass,
    /// The keys go back to the input.
    Leave,
    /// The list closes.
    Close,
    /// The keys are to be shown.
    Help,
    /// A session is to be opened.
    Open(SessionId),
    /// A place in a session is to be gone to.
    GoTo(PendingJump),
    /// A session is to be forked, after an entry where one is named, and the fork opened.
    Fork(SessionId, Option<EntryId>),
    /// Two sessions are to be compared.
    Compare([SessionId; 2]),
    /// A session is to be exported.
    Export(SessionId),
    /// A session is to be summed up in the input.
    SumUp(SessionId),
    /// The open session is to have this title.
    Retitle(String),
}

/// What a key needs to know of the rest.
#[derive(Debug, Clone, Copy)]
pub struct SidebarContext<'a> {
    /// Rows of the list on screen.
    pub page: usize,
    /// The session that is open.
    pub open: Option<SessionId>,
    /// What the keys do.
    pub keys: &'a Keymap,
}

/// Whether the list is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SidebarReadState {
    No,
    Wanted,
    Asked(RequestId),
}

/// What is selected, over a change of the lines: the session, and the place in it.
type SidebarSelection = Option<(SessionId, Option<usize>)>;

impl Sidebar {
    /// A list that has never been opened; the sessions of `folder` are to come first.
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

    /// Puts it on screen, if it is not there, and has the sessions read anew.
    pub fn open(&mut self) {
        self.visibility = SidebarVisibility::Shown;
        self.refresh();
    }

    /// Takes it off the screen, and lets go of all but what can be undone.
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

    /// Has the sessions read anew.
    pub fn refresh(&mut self) {
        if self.visibility == SidebarVisibility::Shown {
            self.reading = SidebarReadState::Wanted;
        }
    }

    /// The line that is selected.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// The session that is selected.
    pub fn session(&self) -> Option<&SessionRow> {
        self.tree.as_ref()?.session_at(self.selected)
    }

    /// The sessions that are shown, each with its line.
    pub fn sessions(&self) -> Vec<(usize, &SessionRow)> {
        self.tree.iter().flat_map(SessionTree::session_lines).collect()
    }

    /// The first line on a screen of so many rows.
    pub fn first_shown(&self, rows: usize) -> usize {
        // A heading right above the selected session is shown with it.
        let heading = self.selected.checked_sub(1).filter(|above| {
            let lines = self.tree.as_ref().map_or(&[][..], SessionTree::lines);
            rows > 1 && matches!(lines.get(*above), Some(SessionTreeLine::Heading(_)))
        });
        let lowest = heading.unwrap_or(self.selected);
        self.top.clamp((self.selected + 1).saturating_sub(rows.max(1)), lowest)
    }

    /// What time it is for the list, `now` after slug's start.
    pub fn clock(&self, now: Duration) -> Option<DateTime<FixedOffset>> {
        let passed = TimeDelta::from_std(now.saturating_sub(self.listed_at)).ok()?;
        self.tree.as_ref()?.now().checked_add_signed(passed)
    }

    /// Whether a deletion can be undone.
    pub fn can_undo(&self) -> bool {
        !self.trashed.is_empty()
    }

    /// The text that is typed in, if one is.
    pub fn editor(&mut self) -> Option<&mut TextEditor> {
        match &mut self.mode {
            SidebarMode::Browsing => None,
            SidebarMode::Filtering(editor) | SidebarMode::Renaming { editor, .. } => Some(editor),
        }
    }

    /// A key.
    pub fn key(&mut self, key: &KeyPress<'_>, around: SidebarContext<'_>) -> SidebarOutcome {
        self.top = self.first_shown(around.page);
        // Both ways out work while something is typed, too.
        if keymap::is(SidebarKey::Leave, key) {
            return SidebarOutcome::Leave;
        }
        if keymap::is(ChatKey::Sessions, key) {
            return SidebarOutcome::Close;
        }
        self.is_chosen = true;
        let step = match &self.mode {
            SidebarMode::Browsing => match keymap::find(keymap::SIDEBAR, key) {
                Some(command) => self.command(command, around),
                None => return SidebarOutcome::Pass,
            },
            SidebarMode::Filtering(_) => self.filter_key(key, around),
            SidebarMode::Renaming { .. } => self.title_key(key, around),
        };
        self.top = self.first_shown(around.page);
        step
    }

    /// After a text that is typed in here has changed.
    pub fn edited(&mut self) {
        if let SidebarMode::Filtering(editor) = &self.mode {
            let query = editor.text();
            self.show(query.trim());
        }
    }

    /// Selects the session on a line; a heading is none.
    pub fn select(&mut self, line: usize) {
        if self.tree.as_ref().is_some_and(|tree| tree.session_at(line).is_some()) {
            self.is_chosen = true;
            self.selected = line;
        }
    }

    /// Selects a session so many lines further, stopping at the ends.
    pub fn step(&mut self, by: isize) {
        let Some(tree) = &self.tree else { return };
        let last = tree.lines().len().saturating_sub(1);
        let to = self.selected.saturating_add_signed(by).min(last);
        let is_session = |line: &usize| tree.session_at(*line).is_some();
        // Over a heading in the same direction; at the very top back down from it.
        let found = if by < 0 {
            (0..=to).rev().find(is_session).or_else(|| (to..=last).find(is_session))
        } else {
            (to..=last).find(is_session).or_else(|| (0..=to).rev().find(is_session))
        };
        self.selected = found.unwrap_or(0);
    }

    /// What has to be done outside now.
    pub fn jobs(&mut self, requests: &mut PendingRequests) -> Vec<ScreenEffect> {
        let mut effects = Vec::new();
        let mut ask = |job: SessionStoreRequest| {
            let id = requests.issue();
            effects.push(ScreenEffect::Sessions { id, job });
            id
        };
        if let (None, Some(change)) = (self.under_way, self.changes.front()) {
            self.under_way = Some(ask(change.job()));
        }
        // A list that is read while something changes would show neither one state nor the other.
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

    /// The answer to a job. One to a request that nobody waits for is stale.
    pub fn answer(
        &mut self,
        id: RequestId,
        answer: Result<SessionStoreResponse, String>,
        now: Duration,
    ) {
        if self.at_once.take_if(|asked| *asked == id).is_some() {
            // All of them may have been faster, and a small store knows none at once.
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
        // What was there at once stood in for all of them.
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
        // What was typed meanwhile is to be looked for in all of them.
        if self.is_complete && !were_all_there {
            self.start_search();
        }
    }

    fn selection(&self) -> SidebarSelection {
        let tree = self.tree.as_ref()?;
        let place = match tree.lines().get(self.selected)? {
            SessionTreeLine::Place(_, place) => Some(*place),
            SessionTreeLine::Heading(_)
            | SessionTreeLine::Session(_)
            | SessionTreeLine::Parted(_) => None,
        };
        Some((self.session()?.id, place))
    }

    /// Selects what was selected before the lines changed, else the first session.
    fn restore_selection(&mut self, before: SidebarSelection) {
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

    /// Selects a session if it is shown.
    fn find(&mut self, session: SessionId) {
        if let Some(line) = self.tree.as_ref().and_then(|tree| tree.line_of(session)) {
            self.selected = line;
        }
    }

    fn query(&self) -> String {
        match &self.mode {
            SidebarMode::Filtering(editor) => editor.text().trim().to_owned(),
            SidebarMode::Browsing | SidebarMode::Renaming { .. } => String::new(),
        }
    }

    /// Shows what the scope and `query` leave; what is selected stays so while it is shown.
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

    fn command(&mut self, command: SidebarKey, around: SidebarContext<'_>) -> SidebarOutcome {
        self.note = None;
        let page = isize::try_from(around.page.max(2) - 1).unwrap_or(1);
        match command {
            SidebarKey::Previous => self.step(-1),
            SidebarKey::Next => self.step(1),
            SidebarKey::PageUp => self.step(-page),
            SidebarKey::PageDown => self.step(page),
            SidebarKey::First => self.step(isize::MIN),
            SidebarKey::Last => self.step(isize::MAX),
            SidebarKey::Open => return self.open_selected(around),
            SidebarKey::Fork => {
                let upto = self.session().and_then(|row| self.pane.chosen(row.id));
                return self
                    .session()
                    .map_or(SidebarOutcome::Stay, |row| SidebarOutcome::Fork(row.id, upto));
            }
            SidebarKey::Rename => self.begin_rename(),
            SidebarKey::Delete => self.delete(around),
            SidebarKey::Undo => self.undo(),
            SidebarKey::Filter => {
                self.mode = SidebarMode::Filtering(TextEditor::new(EditorLines::One))
            }
            SidebarKey::Preview => self.pane.toggle(),
            SidebarKey::PreviousMessage => self.choose(-1),
            SidebarKey::NextMessage => self.choose(1),
            SidebarKey::Group => self.group(),
            SidebarKey::Compare => return self.compare(around),
            SidebarKey::Export => return self.export(),
            SidebarKey::SumUp => {
                return self
                    .session()
                    .map_or(SidebarOutcome::Stay, |row| SidebarOutcome::SumUp(row.id));
            }
            SidebarKey::Scope => {
                self.scope = match self.scope {
                    SidebarScope::AllProjects => SidebarScope::ThisProject,
                    SidebarScope::ThisProject => SidebarScope::AllProjects,
                };
                self.show("");
            }
            SidebarKey::Help => return SidebarOutcome::Help,
            SidebarKey::Leave => return SidebarOutcome::Leave,
            SidebarKey::Close => return SidebarOutcome::Close,
        }
        SidebarOutcome::Stay
    }

    /// Groups the sessions in the next way, and has that remembered.
    fn group(&mut self) {
        let before = self.selection();
        let Some(tree) = &mut self.tree else { return };
        let next = tree.grouping().next();
        tree.group(next);
        self.grouped = Some(next);
        self.restore_selection(before);
        let text = match next {
            SessionGrouping::Project => "By project, the newest first.",
            SessionGrouping::Date => "By date, those of all projects together.",
            SessionGrouping::Forks => {
                "Forks, each with the message after which it goes its own way."
            }
        };
        self.say(NoticeLevel::Info, text);
    }

    fn export(&mut self) -> SidebarOutcome {
        let Some((id, name)) = self.session().map(|row| (row.id, row.name().to_owned())) else {
            return SidebarOutcome::Stay;
        };
        self.say(NoticeLevel::Info, format!("“{name}” is being exported …"));
        SidebarOutcome::Export(id)
    }

    /// The first time marks a session, the second time compares another one with it.
    fn compare(&mut self, around: SidebarContext<'_>) -> SidebarOutcome {
        let Some((id, name)) = self.session().map(|row| (row.id, row.name().to_owned())) else {
            return SidebarOutcome::Stay;
        };
        match self.marked.take() {
            Some(marked) if marked != id => return SidebarOutcome::Compare([marked, id]),
            Some(_) => self.say(NoticeLevel::Info, "Compared with nothing."),
            None => {
                self.marked = Some(id);
                let key = around.keys.key(SidebarKey::Compare);
                let text = format!("“{name}” is compared with the one you press {key} on next.");
                self.say(NoticeLevel::Info, text);
            }
        }
        SidebarOutcome::Stay
    }

    /// The session that another one is to be compared with.
    pub fn marked(&self) -> Option<SessionId> {
        self.marked
    }

    /// Goes to another message of the preview.
    fn choose(&mut self, by: isize) {
        if let Some(session) = self.session().map(|row| row.id) {
            self.pane.choose(session, by);
        }
    }

    fn filter_key(&mut self, key: &KeyPress<'_>, around: SidebarContext<'_>) -> SidebarOutcome {
        let page = isize::try_from(around.page.max(2) - 1).unwrap_or(1);
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Previous) => self.step(-1),
            Some(ListKey::Next) => self.step(1),
            Some(ListKey::PageUp) => self.step(-page),
            Some(ListKey::PageDown) => self.step(page),
            Some(ListKey::Accept) => return self.open_selected(around),
            Some(ListKey::Back) => {
                self.mode = SidebarMode::Browsing;
                self.show("");
            }
            None => {
                if let Some(editor) = self.editor() {
                    editor.key(key);
                }
                self.edited();
            }
        }
        SidebarOutcome::Stay
    }

    fn open_selected(&mut self, around: SidebarContext<'_>) -> SidebarOutcome {
        let Some(row) = self.session() else { return SidebarOutcome::Stay };
        let goal = self.goal();
        if let Some(goal) = goal.filter(|_| around.open == Some(row.id)) {
            return SidebarOutcome::GoTo(goal);
        }
        if around.open == Some(row.id) {
            return SidebarOutcome::Leave;
        }
        if row.lock == SessionLockState::Locked {
            let fork = around.keys.key(SidebarKey::Fork);
            let text =
                format!("It is open in another slug. Fork it with {fork}, or close it there.");
            self.say(NoticeLevel::Warning, text);
            return SidebarOutcome::Stay;
        }
        self.goal().map_or(SidebarOutcome::Open(row.id), SidebarOutcome::GoTo)
    }

    /// The place that the selected line leads to.
    fn goal(&self) -> Option<PendingJump> {
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
