//! The list of sessions in the order in which it is shown: by folder, by date, forks below their
//! parents.
//!
//! The order is worked out once for each list, and what a filter leaves once for each change of
//! it; a frame asks only for the lines on screen. A parent that is missing, that works in another
//! folder or that is its own descendant (only a broken log says so) counts as gone: its fork is a
//! root. A tree stands where its newest session stands.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Datelike, Days, FixedOffset};
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::domain::SessionId;
use crate::tui::app::sessions::{SessionList, SessionRow};

/// Levels of forks that are drawn; deeper ones are not moved further to the right.
const LEVELS: usize = 8;

/// Which folders' sessions are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// Those of every folder.
    #[default]
    AllProjects,
    /// Those of the working folder.
    ThisProject,
}

/// All sessions in order, and the lines that are shown of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    folder: PathBuf,
    now: DateTime<FixedOffset>,
    rows: Vec<SessionRow>,
    nodes: Vec<Node>,
    headings: Vec<String>,
    lines: Vec<Line>,
    scope: Scope,
    query: String,
}

/// A line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// A date or a project, by its number among the headings.
    Heading(usize),
    /// A session, by its place in the order.
    Session(usize),
}

/// A session in its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Node {
    row: usize,
    parent: Option<usize>,
    sibling: Sibling,
    has_forks: bool,
    heading: usize,
}

/// Whether a fork is the last one of its parent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sibling {
    Last,
    Earlier,
}

/// A session met while walking down from a root.
struct Step {
    row: usize,
    parent: Option<usize>,
    sibling: Sibling,
}

impl Tree {
    /// Puts sessions in order; those of `folder` come first.
    pub fn new(list: SessionList, folder: &Path) -> Self {
        let mut tree = Self {
            folder: folder.to_owned(),
            now: list.now,
            rows: list.rows,
            nodes: Vec::new(),
            headings: Vec::new(),
            lines: Vec::new(),
            scope: Scope::default(),
            query: String::new(),
        };
        tree.order();
        tree
    }

    /// When the list was made.
    pub fn now(&self) -> DateTime<FixedOffset> {
        self.now
    }

    /// The lines that are shown.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// A heading's words.
    pub fn heading(&self, number: usize) -> &str {
        self.headings.get(number).map_or("", String::as_str)
    }

    /// A session in the order.
    pub fn session(&self, node: usize) -> Option<&SessionRow> {
        self.rows.get(self.nodes.get(node)?.row)
    }

    /// The session on a line.
    pub fn session_at(&self, line: usize) -> Option<&SessionRow> {
        match self.lines.get(line)? {
            Line::Heading(_) => None,
            Line::Session(node) => self.session(*node),
        }
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
    pub fn shown(&self) -> (Scope, &str) {
        (self.scope, &self.query)
    }

    /// Shows the sessions of some folders whose titles contain every word of `query`; a capital
    /// letter in it makes case count.
    pub fn show(&mut self, scope: Scope, query: &str) {
        if (self.scope, self.query.as_str()) != (scope, query) {
            self.scope = scope;
            query.clone_into(&mut self.query);
            self.lay();
        }
    }

    /// Which characters of a title the filter found.
    pub fn hits(&self, title: &str) -> Vec<u32> {
        let mut hits = Vec::new();
        if !self.query.is_empty() {
            let mut buffer = Vec::new();
            let text = Utf32Str::new(title, &mut buffer);
            self.pattern().indices(text, &mut Matcher::new(Config::DEFAULT), &mut hits);
            hits.sort_unstable();
            hits.dedup();
        }
        hits
    }

    /// What stands before a title: the branches that lead to it. Under a filter there are none.
    pub fn branches(&self, node: usize) -> String {
        let Some(own) = self.nodes.get(node).filter(|_| self.query.is_empty()) else {
            return "  ".to_owned();
        };
        let mut parts = Vec::new();
        let mut at = own;
        while parts.len() < LEVELS
            && let Some(parent) = at.parent.and_then(|parent| self.nodes.get(parent))
        {
            parts.push(match (parts.is_empty(), at.sibling) {
                (true, Sibling::Last) => "└ ",
                (true, Sibling::Earlier) => "├ ",
                (false, Sibling::Last) => "  ",
                (false, Sibling::Earlier) => "│ ",
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
        let (steps, trees) = self.walk();
        let headed = self.headed(&steps, &trees);
        self.headings.clear();
        self.nodes.clear();
        let mut places = vec![None; self.rows.len()];
        for (tree, heading) in headed {
            if self.headings.last() != Some(&heading) {
                self.headings.push(heading);
            }
            let heading = self.headings.len() - 1;
            for step in &steps[trees[tree].clone()] {
                let parent = step.parent.and_then(|parent| places[parent]);
                if let Some(parent) = parent.and_then(|parent: usize| self.nodes.get_mut(parent)) {
                    parent.has_forks = true;
                }
                places[step.row] = Some(self.nodes.len());
                let Step { row, sibling, .. } = *step;
                self.nodes.push(Node { row, parent, sibling, has_forks: false, heading });
            }
        }
        self.lay();
    }

    /// The trees in order, each with its heading: a date here, the project elsewhere.
    fn headed(&self, steps: &[Step], trees: &[Range<usize>]) -> Vec<(usize, String)> {
        let root = |tree: usize| &self.rows[steps[trees[tree].start].row];
        let newest: Vec<DateTime<FixedOffset>> = trees
            .iter()
            .map(|tree| {
                let used = steps[tree.clone()].iter().map(|step| self.rows[step.row].last_used_at);
                used.max().unwrap_or(self.now)
            })
            .collect();
        let mut folders: HashMap<&Path, DateTime<FixedOffset>> = HashMap::new();
        for (tree, newest) in newest.iter().enumerate() {
            let known = folders.entry(&root(tree).working_directory).or_insert(*newest);
            *known = (*known).max(*newest);
        }
        let mut order: Vec<usize> = (0..trees.len()).collect();
        order.sort_by_cached_key(|tree| {
            let folder = root(*tree).working_directory.as_path();
            let folder_newest = Reverse(folders.get(folder).copied());
            let (used, id) = (Reverse(newest[*tree]), Reverse(root(*tree).id));
            (folder != self.folder, folder_newest, folder, used, id)
        });
        let names = project_names(&self.rows);
        let heading = |tree: usize| match root(tree).working_directory.as_path() {
            folder if folder == self.folder => date_heading(newest[tree], self.now),
            folder => names.get(folder).cloned().unwrap_or_default(),
        };
        order.into_iter().map(|tree| (tree, heading(tree))).collect()
    }

    /// Every session once, each tree in the order in which it is shown, and where each tree is.
    fn walk(&self) -> (Vec<Step>, Vec<Range<usize>>) {
        let places: HashMap<SessionId, usize> =
            self.rows.iter().enumerate().map(|(at, row)| (row.id, at)).collect();
        let parent = |row: &SessionRow| {
            let at = *places.get(&row.forked_from?)?;
            (self.rows[at].working_directory == row.working_directory).then_some(at)
        };
        let mut forks = vec![Vec::new(); self.rows.len()];
        let mut roots = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            match parent(row) {
                Some(parent) => forks[parent].push(at),
                None => roots.push(at),
            }
        }
        for forks in &mut forks {
            forks.sort_by_key(|at| self.rows[*at].id);
        }
        // The roots first; what they do not lead to goes round in circles.
        let starts = roots.into_iter().chain(0..self.rows.len());
        let mut seen = vec![false; self.rows.len()];
        let (mut steps, mut trees) = (Vec::with_capacity(self.rows.len()), Vec::new());
        for start in starts {
            let from = steps.len();
            let mut open = vec![Step { row: start, parent: None, sibling: Sibling::Last }];
            while let Some(step) = open.pop() {
                if std::mem::replace(&mut seen[step.row], true) {
                    continue;
                }
                for (from_last, fork) in forks[step.row].iter().rev().enumerate() {
                    let sibling = if from_last == 0 { Sibling::Last } else { Sibling::Earlier };
                    open.push(Step { row: *fork, parent: Some(step.row), sibling });
                }
                steps.push(step);
            }
            if steps.len() > from {
                trees.push(from..steps.len());
            }
        }
        (steps, trees)
    }

    /// Works out the lines.
    fn lay(&mut self) {
        let pattern = (!self.query.is_empty()).then(|| self.pattern());
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut buffer = Vec::new();
        let mut heading = None;
        self.lines.clear();
        for (at, node) in self.nodes.iter().enumerate() {
            let row = &self.rows[node.row];
            if self.scope == Scope::ThisProject && row.working_directory != self.folder {
                continue;
            }
            let found = pattern.as_ref().is_none_or(|pattern| {
                pattern.score(Utf32Str::new(row.name(), &mut buffer), &mut matcher).is_some()
            });
            if !found {
                continue;
            }
            if heading.replace(node.heading) != Some(node.heading) {
                self.lines.push(Line::Heading(node.heading));
            }
            self.lines.push(Line::Session(at));
        }
    }

    fn pattern(&self) -> Pattern {
        Pattern::new(&self.query, CaseMatching::Smart, Normalization::Smart, AtomKind::Substring)
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

/// Today, yesterday, this week from its Monday on, else the month; of another year with the year.
fn date_heading(then: DateTime<FixedOffset>, now: DateTime<FixedOffset>) -> String {
    let (day, today) = (then.date_naive(), now.date_naive());
    if day >= today {
        "Today".to_owned()
    } else if today.checked_sub_days(Days::new(1)) == Some(day) {
        "Yesterday".to_owned()
    } else if day.iso_week() == today.iso_week() {
        "This week".to_owned()
    } else if day.year() == today.year() {
        day.format("%B").to_string()
    } else {
        day.format("%B %Y").to_string()
    }
}

/// The folders' names; where two have the same, with as much of the path as tells them apart.
fn project_names(rows: &[SessionRow]) -> BTreeMap<&Path, String> {
    let mut folders: Vec<&Path> = rows.iter().map(|row| row.working_directory.as_path()).collect();
    folders.sort_unstable();
    folders.dedup();
    let mut levels: HashMap<&Path, usize> = folders.iter().map(|folder| (*folder, 1)).collect();
    loop {
        let mut named: HashMap<String, Vec<&Path>> = HashMap::new();
        for folder in &folders {
            named.entry(tail(folder, levels[folder])).or_default().push(folder);
        }
        let alike = named.into_values().filter(|folders| folders.len() > 1).flatten();
        let mut grown = false;
        for folder in alike {
            if let Some(level) = levels.get_mut(folder)
                && *level < folder.components().count()
            {
                *level += 1;
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    folders.into_iter().map(|folder| (folder, tail(folder, levels[folder]))).collect()
}

fn tail(folder: &Path, levels: usize) -> String {
    let parts: Vec<_> = folder.components().collect();
    let start = parts.len().saturating_sub(levels);
    let name: PathBuf = parts[start..].iter().collect();
    if name.as_os_str().is_empty() {
        return "No folder".to_owned();
    }
    crate::domain::sanitize::sanitize(&name.display().to_string()).into_owned()
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
