//! The list of past sessions beside the chat: what is in it, what its keys do, and what they
//! change on disk. What is typed in it narrows it at once, and is looked for in all that was said.
//!
//! A change shows at once and is carried out by a [`SessionJob`]; jobs that change something run
//! one after another, each begun when the one before is answered, and one that fails is taken
//! back on screen.

mod changes;
mod order;
mod pane;
mod routing;
mod seeking;
mod tree;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, FixedOffset, TimeDelta};

use crate::domain::{EntryId, SessionId};
use crate::session::SessionGrouping;

use super::editor::{Editor, Lines};
use super::effect::{Effect, RequestId};
use super::jump::Goal;
use super::keymap::{self, ChatKey, Keymap, ListKey, Press, SidebarKey};
use super::model::Requests;
use super::sessions::{Held, SessionAnswer, SessionJob, SessionList, SessionRow};

use changes::Change;

pub use crate::domain::NoticeLevel;
pub use pane::Pane;
pub use routing::{
    Placement, answered, found, key, leave, mouse, on_screen, open, open_line, paste, placement,
    session_opened, title_changed, toggle,
};
pub use seeking::Seeking;
pub use tree::{Hits, Line, Scope, Tree, age};

/// The list of sessions. It keeps what was deleted also while it is closed.
#[derive(Debug, Clone, PartialEq)]
pub struct Sidebar {
    /// Whether it is on screen.
    pub presence: Presence,
    /// The sessions; `None` until they are there.
    pub tree: Option<Tree>,
    /// What the keys do in it.
    pub mode: Mode,
    /// Which folders are shown.
    pub scope: Scope,
    /// The session shown below the list.
    pub pane: Pane,
    /// The last thing to say about it.
    pub note: Option<Note>,
    /// How far the search of what was said is.
    seeking: Seeking,
    folder: PathBuf,
    listed_at: Duration,
    reading: Reading,
    /// Those that are there at once, while nothing is.
    at_once: Option<RequestId>,
    selected: usize,
    /// Whether the person pressed a key for it since the query changed.
    is_chosen: bool,
    /// Whether all sessions are there, and not only those that are at once.
    is_complete: bool,
    top: usize,
    trashed: Vec<SessionRow>,
    changes: VecDeque<Change>,
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
pub enum Presence {
    /// It is.
    Shown,
    /// It is not.
    Hidden,
}

/// What the keys do.
#[derive(Debug, Clone, PartialEq)]
pub enum Mode {
    /// Letters are commands.
    Browsing,
    /// What is typed filters.
    Filtering(Editor),
    /// What is typed is a new title.
    Renaming {
        /// Of which session.
        session: SessionId,
        /// The title.
        editor: Editor,
    },
}

/// Something to say below the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How bad it is.
    pub level: NoticeLevel,
    /// A sentence.
    pub text: String,
}

/// What a key comes to, beside what it changes here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
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
    GoTo(Goal),
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
pub struct Around<'a> {
    /// Rows of the list on screen.
    pub page: usize,
    /// The session that is open.
    pub open: Option<SessionId>,
    /// What the keys do.
    pub keys: &'a Keymap,
}

/// Whether the list is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    No,
    Wanted,
    Asked(RequestId),
}

/// What is selected, over a change of the lines: the session, and the place in it.
type Standing = Option<(SessionId, Option<usize>)>;

impl Sidebar {
    /// A list that has never been opened; the sessions of `folder` are to come first.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            presence: Presence::Hidden,
            tree: None,
            mode: Mode::Browsing,
            scope: Scope::default(),
            pane: Pane::Closed,
            note: None,
            seeking: Seeking::No,
            folder,
            listed_at: Duration::ZERO,
            reading: Reading::No,
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
        self.presence = Presence::Shown;
        self.refresh();
    }

    /// Takes it off the screen, and lets go of all but what can be undone.
    pub fn close(&mut self) {
        self.presence = Presence::Hidden;
        self.mode = Mode::Browsing;
        self.tree = None;
        self.note = None;
        self.pane = Pane::Closed;
        self.stop_seeking();
        self.reading = Reading::No;
        self.at_once = None;
        self.is_chosen = false;
        self.is_complete = false;
        self.selected = 0;
        self.top = 0;
    }

    /// Has the sessions read anew.
    pub fn refresh(&mut self) {
        if self.presence == Presence::Shown {
            self.reading = Reading::Wanted;
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
        self.tree.iter().flat_map(Tree::session_lines).collect()
    }

    /// The first line on a screen of so many rows.
    pub fn first_shown(&self, rows: usize) -> usize {
        // A heading right above the selected session is shown with it.
        let heading = self.selected.checked_sub(1).filter(|above| {
            let lines = self.tree.as_ref().map_or(&[][..], Tree::lines);
            rows > 1 && matches!(lines.get(*above), Some(Line::Heading(_)))
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
    pub fn editor(&mut self) -> Option<&mut Editor> {
        match &mut self.mode {
            Mode::Browsing => None,
            Mode::Filtering(editor) | Mode::Renaming { editor, .. } => Some(editor),
        }
    }

    /// A key.
    pub fn key(&mut self, key: &Press<'_>, around: Around<'_>) -> Step {
        self.top = self.first_shown(around.page);
        // Both ways out work while something is typed, too.
        if keymap::is(SidebarKey::Leave, key) {
            return Step::Leave;
        }
        if keymap::is(ChatKey::Sessions, key) {
            return Step::Close;
        }
        self.is_chosen = true;
        let step = match &self.mode {
            Mode::Browsing => match keymap::find(keymap::SIDEBAR, key) {
                Some(command) => self.command(command, around),
                None => return Step::Pass,
            },
            Mode::Filtering(_) => self.filter_key(key, around),
            Mode::Renaming { .. } => self.title_key(key, around),
        };
        self.top = self.first_shown(around.page);
        step
    }

    /// After a text that is typed in here has changed.
    pub fn edited(&mut self) {
        if let Mode::Filtering(editor) = &self.mode {
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
    pub fn jobs(&mut self, requests: &mut Requests) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut ask = |job: SessionJob| {
            let id = requests.issue();
            effects.push(Effect::Sessions { id, job });
            id
        };
        if let (None, Some(change)) = (self.under_way, self.changes.front()) {
            self.under_way = Some(ask(change.job()));
        }
        // A list that is read while something changes would show neither one state nor the other.
        if self.reading == Reading::Wanted && self.changes.is_empty() {
            if self.tree.is_none() {
                self.at_once = Some(ask(SessionJob::Newest));
            }
            self.reading = Reading::Asked(ask(SessionJob::List));
        }
        let selected = self.session().map(|row| row.id);
        if let Some(session) = self.pane.wants(selected) {
            let id = ask(SessionJob::Preview { session });
            self.pane.asked(id, session);
        }
        if let Some(grouping) = self.grouped.take() {
            ask(SessionJob::Group(grouping));
        }
        effects.extend(self.seeking_effect(requests));
        effects
    }

    /// The answer to a job. One to a request that nobody waits for is stale.
    pub fn answer(&mut self, id: RequestId, answer: Result<SessionAnswer, String>, now: Duration) {
        if self.at_once.take_if(|asked| *asked == id).is_some() {
            // All of them may have been faster, and a small store knows none at once.
            if let Ok(SessionAnswer::Listed(list)) = answer
                && self.tree.is_none()
                && !list.rows.is_empty()
            {
                self.fill(list, now);
            }
        } else if self.reading == Reading::Asked(id) {
            self.reading = Reading::No;
            match answer {
                Ok(SessionAnswer::Listed(list)) => self.fill(list, now),
                Ok(
                    SessionAnswer::Changed
                    | SessionAnswer::Previewed(_)
                    | SessionAnswer::Compared(_)
                    | SessionAnswer::Exported(_)
                    | SessionAnswer::SummedUp(_),
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
        let before = self.standing().filter(|_| self.is_chosen || self.is_complete);
        let were_all_there = self.is_complete;
        self.is_complete = self.reading == Reading::No;
        self.listed_at = now;
        let mut tree = Tree::new(list, &self.folder);
        tree.show(self.scope, &self.query());
        if let Some(old) = &mut self.tree {
            tree.add_found(old.take_found().into_values().collect());
        }
        self.tree = Some(tree);
        self.stand(before);
        // What was typed meanwhile is to be looked for in all of them.
        if self.is_complete && !were_all_there {
            self.seek();
        }
    }

    fn standing(&self) -> Standing {
        let tree = self.tree.as_ref()?;
        let place = match tree.lines().get(self.selected)? {
            Line::Place(_, place) => Some(*place),
            Line::Heading(_) | Line::Session(_) | Line::Parted(_) => None,
        };
        Some((self.session()?.id, place))
    }

    /// Selects what was selected before the lines changed, else the first session.
    fn stand(&mut self, before: Standing) {
        let line = self.tree.as_ref().zip(before).and_then(|(tree, (session, place))| {
            let line = tree.line_of(session)?;
            let at = place.map(|place| line + 1 + place);
            let is_there = |at: &usize| matches!(tree.lines().get(*at), Some(Line::Place(_, _)));
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
            Mode::Filtering(editor) => editor.text().trim().to_owned(),
            Mode::Browsing | Mode::Renaming { .. } => String::new(),
        }
    }

    /// Shows what the scope and `query` leave; what is selected stays so while it is shown.
    fn show(&mut self, query: &str) {
        let before = self.standing();
        let Some(tree) = &mut self.tree else { return };
        let changes = tree.shown() != (self.scope, query);
        tree.show(self.scope, query);
        self.stand(before);
        if changes {
            self.is_chosen = false;
            self.seek();
        }
    }

    fn command(&mut self, command: SidebarKey, around: Around<'_>) -> Step {
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
                return self.session().map_or(Step::Stay, |row| Step::Fork(row.id, upto));
            }
            SidebarKey::Rename => self.begin_rename(),
            SidebarKey::Delete => self.delete(around),
            SidebarKey::Undo => self.undo(),
            SidebarKey::Filter => self.mode = Mode::Filtering(Editor::new(Lines::One)),
            SidebarKey::Preview => self.pane.toggle(),
            SidebarKey::PreviousMessage => self.choose(-1),
            SidebarKey::NextMessage => self.choose(1),
            SidebarKey::Group => self.group(),
            SidebarKey::Compare => return self.compare(around),
            SidebarKey::Export => return self.export(),
            SidebarKey::SumUp => {
                return self.session().map_or(Step::Stay, |row| Step::SumUp(row.id));
            }
            SidebarKey::Scope => {
                self.scope = match self.scope {
                    Scope::AllProjects => Scope::ThisProject,
                    Scope::ThisProject => Scope::AllProjects,
                };
                self.show("");
            }
            SidebarKey::Help => return Step::Help,
            SidebarKey::Leave => return Step::Leave,
            SidebarKey::Close => return Step::Close,
        }
        Step::Stay
    }

    /// Groups the sessions in the next way, and has that remembered.
    fn group(&mut self) {
        let before = self.standing();
        let Some(tree) = &mut self.tree else { return };
        let next = tree.grouping().next();
        tree.group(next);
        self.grouped = Some(next);
        self.stand(before);
        let text = match next {
            SessionGrouping::Project => "By project, the newest first.",
            SessionGrouping::Date => "By date, those of all projects together.",
            SessionGrouping::Forks => {
                "Forks, each with the message after which it goes its own way."
            }
        };
        self.say(NoticeLevel::Info, text);
    }

    fn export(&mut self) -> Step {
        let Some((id, name)) = self.session().map(|row| (row.id, row.name().to_owned())) else {
            return Step::Stay;
        };
        self.say(NoticeLevel::Info, format!("“{name}” is being exported …"));
        Step::Export(id)
    }

    /// The first time marks a session, the second time compares another one with it.
    fn compare(&mut self, around: Around<'_>) -> Step {
        let Some((id, name)) = self.session().map(|row| (row.id, row.name().to_owned())) else {
            return Step::Stay;
        };
        match self.marked.take() {
            Some(marked) if marked != id => return Step::Compare([marked, id]),
            Some(_) => self.say(NoticeLevel::Info, "Compared with nothing."),
            None => {
                self.marked = Some(id);
                let key = around.keys.key(SidebarKey::Compare);
                let text = format!("“{name}” is compared with the one you press {key} on next.");
                self.say(NoticeLevel::Info, text);
            }
        }
        Step::Stay
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

    fn filter_key(&mut self, key: &Press<'_>, around: Around<'_>) -> Step {
        let page = isize::try_from(around.page.max(2) - 1).unwrap_or(1);
        match keymap::find(keymap::LIST, key) {
            Some(ListKey::Previous) => self.step(-1),
            Some(ListKey::Next) => self.step(1),
            Some(ListKey::PageUp) => self.step(-page),
            Some(ListKey::PageDown) => self.step(page),
            Some(ListKey::Accept) => return self.open_selected(around),
            Some(ListKey::Back) => {
                self.mode = Mode::Browsing;
                self.show("");
            }
            None => {
                if let Some(editor) = self.editor() {
                    editor.key(key);
                }
                self.edited();
            }
        }
        Step::Stay
    }

    fn open_selected(&mut self, around: Around<'_>) -> Step {
        let Some(row) = self.session() else { return Step::Stay };
        let goal = self.goal();
        if let Some(goal) = goal.filter(|_| around.open == Some(row.id)) {
            return Step::GoTo(goal);
        }
        if around.open == Some(row.id) {
            return Step::Leave;
        }
        if row.held == Held::Elsewhere {
            let fork = around.keys.key(SidebarKey::Fork);
            let text =
                format!("It is open in another slug. Fork it with {fork}, or close it there.");
            self.say(NoticeLevel::Warning, text);
            return Step::Stay;
        }
        self.goal().map_or(Step::Open(row.id), Step::GoTo)
    }

    /// The place that the selected line leads to.
    fn goal(&self) -> Option<Goal> {
        let tree = self.tree.as_ref()?;
        let (row, place) = (self.session()?, tree.place_at(self.selected)?);
        Some(Goal::new(row.id, place, tree.filter().text.clone()))
    }

    fn say(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.note = Some(Note { level, text: text.into() });
    }
}

#[cfg(test)]
pub mod samples;
#[cfg(test)]
mod tests;
