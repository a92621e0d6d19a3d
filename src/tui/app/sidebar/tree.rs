//! The lines of the list of sessions: headings, sessions, below a fork the last message that it
//! shares with its parent, and below a session its search hits.
//!
//! The order ([`super::order`]) is computed once for each list. The filtered lines are computed
//! once for each change of the filter and each batch of search results. A frame asks only for the
//! lines on screen.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, FixedOffset};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::domain::SessionId;
use crate::services::sessions::{SessionList, SessionRow};
use crate::session::{
    SessionAttributes, SessionGrouping, SessionListFilter, SessionSearchHit, SessionSearchResult,
    without_copies,
};

use super::order::{SessionOrder, SessionOrderContext, SiblingPosition, order, tail};

/// Levels of forks that are indented; deeper ones are not moved further to the right.
const LEVELS: usize = 8;

/// Which folders' sessions are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SidebarScope {
    /// Sessions of every folder.
    #[default]
    AllProjects,
    /// Sessions of the working folder only.
    ThisProject,
}

/// All sessions in order, and the lines that are shown.
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
    /// The sessions found so far that contain the query's text.
    found: HashMap<SessionId, SessionSearchResult>,
}

/// A line of the list; the numbers are indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTreeLine {
    /// A date or a project: an index for [`SessionTree::heading`].
    Heading(usize),
    /// A session: an index for [`SessionTree::session`].
    Session(usize),
    /// The last message that the fork above shares with its parent; the index is the session's.
    Parted(usize),
    /// A search hit in the session above: the indices for [`SessionTree::place`].
    Place(usize, usize),
}

impl SessionTree {
    /// Sorts the sessions; those of `folder` come first.
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

    /// When the list was read.
    pub fn now(&self) -> DateTime<FixedOffset> {
        self.now
    }

    /// The lines that are shown.
    pub fn lines(&self) -> &[SessionTreeLine] {
        &self.lines
    }

    /// The text of a heading; empty if there is no such number.
    pub fn heading(&self, number: usize) -> &str {
        self.order.headings.get(number).map_or("", String::as_str)
    }

    /// The session at an index of the order.
    pub fn session(&self, node: usize) -> Option<&SessionRow> {
        self.rows.get(self.order.nodes.get(node)?.row)
    }

    /// The session that a line belongs to; `None` for lines that cannot be selected.
    pub fn session_at(&self, line: usize) -> Option<&SessionRow> {
        match self.lines.get(line)? {
            SessionTreeLine::Heading(_) | SessionTreeLine::Parted(_) => None,
            SessionTreeLine::Session(node) | SessionTreeLine::Place(node, _) => self.session(*node),
        }
    }

    /// The search hit that a line leads to: its own, or the first one of the session on the line.
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

    /// A search hit, by the indices of its session and among the session's hits.
    pub fn place(&self, node: usize, place: usize) -> Option<&SessionSearchHit> {
        self.found.get(&self.session(node)?.id)?.places.get(place)
    }

    /// The lines of sessions, each session once, with their indices.
    pub fn session_lines(&self) -> impl Iterator<Item = (usize, &SessionRow)> {
        self.lines.iter().enumerate().filter_map(|(at, line)| match line {
            SessionTreeLine::Session(node) => Some((at, self.session(*node)?)),
            SessionTreeLine::Heading(_)
            | SessionTreeLine::Parted(_)
            | SessionTreeLine::Place(_, _) => None,
        })
    }

    /// The name of the project that a session works in; `None` if the list shows it already.
    pub fn project(&self, row: &SessionRow) -> Option<String> {
        let is_said =
            self.grouping == SessionGrouping::Project || row.working_directory == self.folder;
        (!is_said).then(|| tail(&row.working_directory, 1))
    }

    /// How the sessions are grouped.
    pub fn grouping(&self) -> SessionGrouping {
        self.grouping
    }

    /// Changes the grouping and sorts again.
    pub fn group(&mut self, grouping: SessionGrouping) {
        self.grouping = grouping;
        self.order();
    }

    /// The parsed query that filters the list.
    pub fn filter(&self) -> &SessionListFilter {
        &self.filter
    }

    /// The sessions to search for the query's text, the newest first.
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

    /// Adds sessions that contain the query's text.
    pub fn add_found(&mut self, found: Vec<SessionSearchResult>) {
        self.found.extend(found.into_iter().map(|found| (found.session, found)));
        self.lay();
    }

    /// Removes the search results, for a list that replaces this one.
    pub fn take_found(&mut self) -> HashMap<SessionId, SessionSearchResult> {
        std::mem::take(&mut self.found)
    }

    /// How many sessions contain the query's text.
    pub fn found(&self) -> usize {
        self.found.len()
    }

    /// Finds a session by its id, whether or not it is shown.
    pub fn get(&self, id: SessionId) -> Option<&SessionRow> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Index of the line of a session; `None` if it is not shown.
    pub fn line_of(&self, id: SessionId) -> Option<usize> {
        (0..self.lines.len()).find(|line| self.session_at(*line).is_some_and(|row| row.id == id))
    }

    /// Whether there is no session at all, regardless of the filter.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The present scope and query.
    pub fn shown(&self) -> (SidebarScope, &str) {
        (self.scope, &self.query)
    }

    /// Filters the list by folder and query: shows the sessions that meet the query's conditions
    /// and whose titles contain every word of its text, or that were found to contain it. Search
    /// results for another text are dropped.
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

    /// A matcher for highlighting the filter's text in titles; `None` if the filter has no text.
    pub fn hits(&self) -> Option<SessionTitleMatcher> {
        let text = &self.filter.text;
        (!text.is_empty()).then(|| SessionTitleMatcher {
            pattern: pattern(text),
            matcher: Matcher::new(Config::DEFAULT),
            buffer: Vec::new(),
        })
    }

    /// The lines of the tree to draw before a title; only indentation under a filter.
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

    /// Changes a title in the list only.
    pub fn rename(&mut self, id: SessionId, title: &str) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.id == id) {
            title.clone_into(&mut row.title);
            if !self.query.is_empty() {
                self.lay();
            }
        }
    }

    /// Removes a session from the list and returns it.
    pub fn remove(&mut self, id: SessionId) -> Option<SessionRow> {
        let at = self.rows.iter().position(|row| row.id == id)?;
        let row = self.rows.remove(at);
        self.order();
        Some(row)
    }

    /// Adds a session, unless it is in the list already.
    pub fn insert(&mut self, row: SessionRow) {
        if self.rows.iter().all(|other| other.id != row.id) {
            self.rows.push(row);
            self.order();
        }
    }

    fn order(&mut self) {
        let context = SessionOrderContext { folder: &self.folder, now: self.now };
        self.order = order(&self.rows, context, self.grouping);
        self.lay();
    }

    /// Computes the lines for the present filter.
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
            // Grouped by forks, a session without forks is left out, unless a query asks for it.
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

    /// Found sessions with only copies of hits that other sessions have, as forks do; the newest
    /// session keeps a hit.
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

/// Finds the characters of titles that match the filter. The matcher is large: make one for a
/// frame.
pub struct SessionTitleMatcher {
    pattern: Pattern,
    matcher: Matcher,
    buffer: Vec<char>,
}

impl SessionTitleMatcher {
    /// Indices of the matching characters of a title, in order.
    pub fn of(&mut self, title: &str) -> Vec<u32> {
        let mut hits = Vec::new();
        let text = Utf32Str::new(title, &mut self.buffer);
        self.pattern.indices(text, &mut self.matcher, &mut hits);
        hits.sort_unstable();
        hits.dedup();
        hits
    }
}

/// Matches texts that contain every word, anywhere; a capital letter makes the match
/// case-sensitive.
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

/// The age in as few characters as possible, as `17m` or `3d`.
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
