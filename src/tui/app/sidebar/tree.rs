//! The lines of the list of sessions: headings, sessions, below a fork where it parts, below a
//! session where it has what is looked for.
//!
//! The order ([`super::order`]) is worked out once for each list, and what a filter leaves once
//! for each change of it and each time that more was found; a frame asks only for the lines on
//! screen.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, FixedOffset};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::domain::SessionId;
use crate::session::{
    SessionAttributes, SessionGrouping, SessionListFilter, SessionSearchHit, SessionSearchResult,
    without_copies,
};
use crate::tui::app::sessions::{SessionList, SessionRow};

use super::order::{SessionOrder, SessionOrderContext, SiblingPosition, order, tail};

/// Levels of forks that are drawn; deeper ones are not moved further to the right.
const LEVELS: usize = 8;

/// Which folders' sessions are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SidebarScope {
    /// Those of every folder.
    #[default]
    AllProjects,
    /// Those of the working folder.
    ThisProject,
}

/// All sessions in order, and the lines that are shown of them.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionTree {
    folder: PathBuf,
    now: DateTime<FixedOffset>,
    rows: Vec<SessionRow>,
    order: SessionOrder,
    grouping: SessionGrouping,
    lines: Vec<SessionTreeLine>,
    scope: SidebarScope,
    query: String,
    filter: SessionListFilter,
    /// What was found of the query's text so far.
    found: HashMap<SessionId, SessionSearchResult>,
}

/// A line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTreeLine {
    /// A date or a project, by its number among the headings.
    Heading(usize),
    /// A session, by its place in the order.
    Session(usize),
    /// Where the fork above parts from its parent.
    Parted(usize),
    /// A place in the session above that has what is looked for, by its number.
    Place(usize, usize),
}

impl SessionTree {
    /// Puts sessions in order; those of `folder` come first.
    pub fn new(list: SessionList, folder: &Path) -> Self {
        let mut tree = Self {
            folder: folder.to_owned(),
            now: list.now,
            rows: list.rows,
            order: SessionOrder::default(),
            grouping: list.grouping,
            lines: Vec::new(),
            scope: SidebarScope::default(),
            query: String::new(),
            filter: SessionListFilter::default(),
            found: HashMap::new(),
        };
        tree.order();
        tree
    }

    /// When the list was made.
    pub fn now(&self) -> DateTime<FixedOffset> {
        self.now
    }

    /// The lines that are shown.
    pub fn lines(&self) -> &[SessionTreeLine] {
        &self.lines
    }

    /// A heading's words.
    pub fn heading(&self, number: usize) -> &str {
        self.order.headings.get(number).map_or("", String::as_str)
    }

    /// A session in the order.
    pub fn session(&self, node: usize) -> Option<&SessionRow> {
        self.rows.get(self.order.nodes.get(node)?.row)
    }

    /// The session that a line is of, where the line can be selected.
    pub fn session_at(&self, line: usize) -> Option<&SessionRow> {
        match self.lines.get(line)? {
            SessionTreeLine::Heading(_) | SessionTreeLine::Parted(_) => None,
            SessionTreeLine::Session(node) | SessionTreeLine::Place(node, _) => self.session(*node),
        }
    }

    /// The place that a line leads to: its own, or that of the session's first.
    pub fn place_at(&self, line: usize) -> Option<&SessionSearchHit> {
        match self.lines.get(line)? {
            SessionTreeLine::Heading(_) | SessionTreeLine::Parted(_) => None,
            SessionTreeLine::Session(node) => match self.lines.get(line + 1)? {
                SessionTreeLine::Place(_, place) => self.place(*node, *place),
                SessionTreeLine::Heading(_)
                | SessionTreeLine::Parted(_)
                | SessionTreeLine::Session(_) => None,
            },
            SessionTreeLine::Place(node, place) => self.place(*node, *place),
        }
    }

    /// A place that was found in a session of the order.
    pub fn place(&self, node: usize, place: usize) -> Option<&SessionSearchHit> {
        self.found.get(&self.session(node)?.id)?.places.get(place)
    }

    /// The lines that are selected one by one: each session once.
    pub fn session_lines(&self) -> impl Iterator<Item = (usize, &SessionRow)> {
        self.lines.iter().enumerate().filter_map(|(at, line)| match line {
            SessionTreeLine::Session(node) => Some((at, self.session(*node)?)),
            SessionTreeLine::Heading(_)
            | SessionTreeLine::Parted(_)
            | SessionTreeLine::Place(_, _) => None,
        })
    }

    /// The name of the project that a session works in, where the order does not say it.
    pub fn project(&self, row: &SessionRow) -> Option<String> {
        let is_said =
            self.grouping == SessionGrouping::Project || row.working_directory == self.folder;
        (!is_said).then(|| tail(&row.working_directory, 1))
    }

    /// How the sessions are grouped.
    pub fn grouping(&self) -> SessionGrouping {
        self.grouping
    }

    /// Groups the sessions otherwise.
    pub fn group(&mut self, grouping: SessionGrouping) {
        self.grouping = grouping;
        self.order();
    }

    /// What narrows the list.
    pub fn filter(&self) -> &SessionListFilter {
        &self.filter
    }

    /// The sessions in which the query's text is to be looked for, newest first.
    pub fn to_search(&self) -> Arc<[SessionId]> {
        let here = |row: &&SessionRow| {
            let is_here =
                self.scope == SidebarScope::AllProjects || row.working_directory == self.folder;
            is_here && self.filter.takes(facts(row))
        };
        let mut rows: Vec<&SessionRow> = self.rows.iter().filter(here).collect();
        rows.sort_by_key(|row| Reverse(row.last_used_at));
        rows.into_iter().map(|row| row.id).collect()
    }

    /// Takes in where the query's text was found.
    pub fn add_found(&mut self, found: Vec<SessionSearchResult>) {
        self.found.extend(found.into_iter().map(|found| (found.session, found)));
        self.lay();
    }

    /// What was found so far, for a list that takes this one's place.
    pub fn take_found(&mut self) -> HashMap<SessionId, SessionSearchResult> {
        std::mem::take(&mut self.found)
    }

    /// How many sessions have the query's text in them.
    pub fn found(&self) -> usize {
        self.found.len()
    }

    /// A session by its id.
    pub fn get(&self, id: SessionId) -> Option<&SessionRow> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// The line that a session is on.
    pub fn line_of(&self, id: SessionId) -> Option<usize> {
        (0..self.lines.len()).find(|line| self.session_at(*line).is_some_and(|row| row.id == id))
    }

    /// Whether there is no session at all, whatever is shown.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Which folders are shown, and what the titles are filtered by.
    pub fn shown(&self) -> (SidebarScope, &str) {
        (self.scope, &self.query)
    }

    /// Shows the sessions of some folders that a query leaves: those that its conditions take and
    /// whose titles contain every word of its text. What was found of another text is let go.
    pub fn show(&mut self, scope: SidebarScope, query: &str) {
        if (self.scope, self.query.as_str()) != (scope, query) {
            self.scope = scope;
            query.clone_into(&mut self.query);
            let filter = SessionListFilter::parse(query, self.now.date_naive());
            if filter.text != self.filter.text {
                self.found.clear();
            }
            self.filter = filter;
            self.lay();
        }
    }

    /// Finds what the filter found in titles; `None` where it has no text.
    pub fn hits(&self) -> Option<SessionTitleMatcher> {
        let text = &self.filter.text;
        (!text.is_empty()).then(|| SessionTitleMatcher {
            pattern: pattern(text),
            matcher: Matcher::new(Config::DEFAULT),
            buffer: Vec::new(),
        })
    }

    /// What stands before a title: the branches that lead to it. Under a filter there are none.
    pub fn branches(&self, node: usize) -> String {
        let Some(own) = self.order.nodes.get(node).filter(|_| self.query.is_empty()) else {
            return "  ".to_owned();
        };
        let mut parts = Vec::new();
        let mut at = own;
        while parts.len() < LEVELS
            && let Some(parent) = at.parent.and_then(|parent| self.order.nodes.get(parent))
        {
            parts.push(match (parts.is_empty(), at.sibling) {
                (true, SiblingPosition::Last) => "└ ",
                (true, SiblingPosition::Earlier) => "├ ",
                (false, SiblingPosition::Last) => "  ",
                (false, SiblingPosition::Earlier) => "│ ",
            });
            at = parent;
        }
        parts.push(if own.parent.is_none() && own.has_forks { "▾ " } else { "  " });
        parts.into_iter().rev().collect()
    }

    /// Changes a title.
    pub fn rename(&mut self, id: SessionId, title: &str) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.id == id) {
            title.clone_into(&mut row.title);
            if !self.query.is_empty() {
                self.lay();
            }
        }
    }

    /// Takes a session out.
    pub fn remove(&mut self, id: SessionId) -> Option<SessionRow> {
        let at = self.rows.iter().position(|row| row.id == id)?;
        let row = self.rows.remove(at);
        self.order();
        Some(row)
    }

    /// Puts a session in, unless it is there.
    pub fn insert(&mut self, row: SessionRow) {
        if self.rows.iter().all(|other| other.id != row.id) {
            self.rows.push(row);
            self.order();
        }
    }

    fn order(&mut self) {
        let here = SessionOrderContext { folder: &self.folder, now: self.now };
        self.order = order(&self.rows, here, self.grouping);
        self.lay();
    }

    /// Works out the lines.
    fn lay(&mut self) {
        let text = &self.filter.text;
        let pattern = (!text.is_empty()).then(|| pattern(text));
        let takes_all = self.filter.is_text_alone();
        let copies = self.copies();
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut heading = None;
        self.lines.clear();
        for (at, node) in self.order.nodes.iter().enumerate() {
            let row = &self.rows[node.row];
            let is_here =
                self.scope == SidebarScope::AllProjects || row.working_directory == self.folder;
            // By what was forked, a session without forks has nothing to show, unless it is sought.
            let is_single = node.parent.is_none() && !node.has_forks;
            let is_left_out =
                is_single && self.grouping == SessionGrouping::Forks && self.query.is_empty();
            if !is_here || is_left_out || !takes_all && !self.filter.takes(facts(row)) {
                continue;
            }
            let places = self.found.get(&row.id).filter(|_| !copies.contains(&row.id));
            let places = places.map_or(0, |found| found.places.len());
            let is_named = pattern.as_ref().is_none_or(|pattern| {
                pattern.score(Utf32Str::new(row.name(), &mut buffer), &mut matcher).is_some()
            });
            if !is_named && places == 0 {
                continue;
            }
            if heading.replace(node.heading) != Some(node.heading) {
                self.lines.push(SessionTreeLine::Heading(node.heading));
            }
            self.lines.push(SessionTreeLine::Session(at));
            if self.grouping == SessionGrouping::Forks
                && text.is_empty()
                && row.last_shared_message.is_some()
            {
                self.lines.push(SessionTreeLine::Parted(at));
            }
            self.lines.extend((0..places).map(|place| SessionTreeLine::Place(at, place)));
        }
    }

    /// The sessions in which only copies were found of what others have, newer ones first.
    fn copies(&self) -> HashSet<SessionId> {
        if self.found.is_empty() {
            return HashSet::new();
        }
        let rows = self.rows.iter().filter(|row| self.found.contains_key(&row.id));
        let mut newest: Vec<&SessionRow> = rows.collect();
        newest.sort_by_key(|row| Reverse(row.last_used_at));
        let found = newest.iter().filter_map(|row| self.found.get(&row.id));
        let forks = self.rows.iter().filter_map(|row| Some((row.id, row.forked_from?)));
        let parents: HashMap<SessionId, SessionId> = forks.collect();
        let parent = |session| parents.get(&session).copied();
        let kept = without_copies(found.cloned().collect(), parent);
        let kept: HashSet<SessionId> = kept.into_iter().map(|found| found.session).collect();
        self.found.keys().filter(|session| !kept.contains(session)).copied().collect()
    }
}

/// Finds the characters of titles that a filter found. The matcher is large: one for a frame.
pub struct SessionTitleMatcher {
    pattern: Pattern,
    matcher: Matcher,
    buffer: Vec<char>,
}

impl SessionTitleMatcher {
    /// The characters of this title, in order.
    pub fn of(&mut self, title: &str) -> Vec<u32> {
        let mut hits = Vec::new();
        let text = Utf32Str::new(title, &mut self.buffer);
        self.pattern.indices(text, &mut self.matcher, &mut hits);
        hits.sort_unstable();
        hits.dedup();
        hits
    }
}

/// Every word of it anywhere; a capital letter makes case count.
fn pattern(text: &str) -> Pattern {
    Pattern::new(text, CaseMatching::Smart, Normalization::Smart, AtomKind::Substring)
}

fn facts(row: &SessionRow) -> SessionAttributes<'_> {
    SessionAttributes {
        project: &row.working_directory,
        model: &row.model,
        day: row.last_used_at.date_naive(),
    }
}

/// How long ago it was, in as few characters as it takes.
pub fn age(then: DateTime<FixedOffset>, now: DateTime<FixedOffset>) -> String {
    let minutes = (now - then).num_minutes();
    match minutes {
        ..1 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1440 => format!("{}h", minutes / 60),
        1440..10_080 => format!("{}d", minutes / 1440),
        10_080..87_600 => format!("{}w", minutes / 10_080),
        87_600..525_600 => format!("{}mo", minutes / 43_800),
        525_600.. => format!("{}y", minutes / 525_600),
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
