//! The order of the list of sessions: by project, by date, or by forks.
//!
//! It is computed once for each list and each grouping. A fork is a root if its parent is missing,
//! works in another folder (by project), or is its own descendant (only in a broken log). A tree is
//! sorted by its newest session.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Datelike, Days, FixedOffset};

use crate::domain::SessionId;
use crate::services::sessions::SessionRow;
use crate::session::SessionGrouping;

/// All sessions in order, before any filter.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SessionOrder {
    pub(super) nodes: Vec<SessionOrderNode>,
    pub(super) headings: Vec<String>,
}

/// A session in its tree; the numbers are indices of rows, nodes and headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SessionOrderNode {
    pub(super) row: usize,
    pub(super) parent: Option<usize>,
    pub(super) sibling: SiblingPosition,
    pub(super) has_forks: bool,
    pub(super) heading: usize,
}

/// Whether a fork is the last one of its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SiblingPosition {
    Last,
    Earlier,
}

/// A session on the walk down from a root; the numbers are indices of rows.
struct SessionWalkStep {
    row: usize,
    parent: Option<usize>,
    sibling: SiblingPosition,
}

/// What the order depends on beside the sessions: the sessions of `folder` come first, and `now`
/// tells what is today.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionOrderContext<'a> {
    pub(super) folder: &'a Path,
    pub(super) now: DateTime<FixedOffset>,
}

/// Sorts sessions into trees under headings.
pub(super) fn order(
    rows: &[SessionRow],
    context: SessionOrderContext<'_>,
    grouping: SessionGrouping,
) -> SessionOrder {
    let (steps, trees) = match grouping {
        SessionGrouping::Project | SessionGrouping::Forks => walk(rows, grouping),
        SessionGrouping::Date => alone(rows),
    };
    let mut order = SessionOrder::default();
    let mut places = vec![None; rows.len()];
    for (tree, heading) in headed(rows, context, grouping, &steps, &trees) {
        if order.headings.last() != Some(&heading) {
            order.headings.push(heading);
        }
        let heading = order.headings.len() - 1;
        for step in &steps[trees[tree].clone()] {
            let parent = step.parent.and_then(|parent| places[parent]);
            if let Some(parent) = parent.and_then(|parent: usize| order.nodes.get_mut(parent)) {
                parent.has_forks = true;
            }
            places[step.row] = Some(order.nodes.len());
            let SessionWalkStep { row, sibling, .. } = *step;
            order.nodes.push(SessionOrderNode { row, parent, sibling, has_forks: false, heading });
        }
    }
    order
}

/// The trees in order, each with its heading: a date, or by project the name of the project for all
/// but the present one.
fn headed(
    rows: &[SessionRow],
    context: SessionOrderContext<'_>,
    grouping: SessionGrouping,
    steps: &[SessionWalkStep],
    trees: &[Range<usize>],
) -> Vec<(usize, String)> {
    let root = |tree: usize| &rows[steps[trees[tree].start].row];
    let newest: Vec<DateTime<FixedOffset>> = trees
        .iter()
        .map(|tree| {
            let used = steps[tree.clone()].iter().map(|step| rows[step.row].last_used_at);
            used.max().unwrap_or(context.now)
        })
        .collect();
    let by_project = grouping == SessionGrouping::Project;
    let ranks = if by_project { ranks(rows, context.folder) } else { HashMap::new() };
    let rank = |tree: usize| ranks.get(root(tree).working_directory.as_path()).copied();
    let mut order: Vec<usize> = (0..trees.len()).collect();
    order.sort_by_cached_key(|tree| (rank(*tree), Reverse(newest[*tree]), Reverse(root(*tree).id)));
    let names = if by_project { project_names(rows) } else { BTreeMap::new() };
    let heading = |tree: usize| {
        let elsewhere = rank(tree).is_some_and(|rank| rank > 0);
        let name = names.get(root(tree).working_directory.as_path()).filter(|_| elsewhere);
        name.cloned().unwrap_or_else(|| date_heading(newest[tree], context.now))
    };
    order.into_iter().map(|tree| (tree, heading(tree))).collect()
}

/// The rank of each folder: the present one is 0, the others follow by their newest session.
fn ranks<'a>(rows: &'a [SessionRow], working_directory: &'a Path) -> HashMap<&'a Path, usize> {
    let mut folders: HashMap<&Path, DateTime<FixedOffset>> = HashMap::new();
    for row in rows.iter().filter(|row| row.working_directory != working_directory) {
        let newest = folders.entry(&row.working_directory).or_insert(row.last_used_at);
        *newest = (*newest).max(row.last_used_at);
    }
    let mut folders: Vec<_> = folders.into_iter().map(|it| (Reverse(it.1), it.0)).collect();
    folders.sort_unstable();
    let others = folders.into_iter().enumerate().map(|(at, (_, folder))| (folder, at + 1));
    std::iter::once((working_directory, 0)).chain(others).collect()
}

/// Every session as a tree of its own.
fn alone(rows: &[SessionRow]) -> (Vec<SessionWalkStep>, Vec<Range<usize>>) {
    let step = |row| SessionWalkStep { row, parent: None, sibling: SiblingPosition::Last };
    ((0..rows.len()).map(step).collect(), (0..rows.len()).map(|row| row..row + 1).collect())
}

/// Every session once, each tree in the order in which it is shown; and the range of each tree.
fn walk(
    rows: &[SessionRow],
    grouping: SessionGrouping,
) -> (Vec<SessionWalkStep>, Vec<Range<usize>>) {
    let places: HashMap<SessionId, usize> =
        rows.iter().enumerate().map(|(at, row)| (row.id, at)).collect();
    let parent = |row: &SessionRow| {
        let at = *places.get(&row.forked_from?)?;
        let is_near = rows[at].working_directory == row.working_directory;
        (is_near || grouping == SessionGrouping::Forks).then_some(at)
    };
    let mut forks = vec![Vec::new(); rows.len()];
    let mut roots = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        match parent(row) {
            Some(parent) => forks[parent].push(at),
            None => roots.push(at),
        }
    }
    for forks in &mut forks {
        forks.sort_by_key(|at| rows[*at].id);
    }
    // Roots first; sessions that no root leads to are part of a cycle.
    let starts = roots.into_iter().chain(0..rows.len());
    let mut seen = vec![false; rows.len()];
    let (mut steps, mut trees) = (Vec::with_capacity(rows.len()), Vec::new());
    for start in starts {
        let from = steps.len();
        let mut open =
            vec![SessionWalkStep { row: start, parent: None, sibling: SiblingPosition::Last }];
        while let Some(step) = open.pop() {
            if std::mem::replace(&mut seen[step.row], true) {
                continue;
            }
            for (from_last, fork) in forks[step.row].iter().rev().enumerate() {
                let sibling =
                    if from_last == 0 { SiblingPosition::Last } else { SiblingPosition::Earlier };
                open.push(SessionWalkStep { row: *fork, parent: Some(step.row), sibling });
            }
            steps.push(step);
        }
        if steps.len() > from {
            trees.push(from..steps.len());
        }
    }
    (steps, trees)
}

/// "Today", "Yesterday", "This week" from its Monday on, else the month; with the year if that is
/// another one.
pub(super) fn date_heading(then: DateTime<FixedOffset>, now: DateTime<FixedOffset>) -> String {
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

/// The folders' names; equal names get as much of the path as is needed to tell them apart.
fn project_names(rows: &[SessionRow]) -> BTreeMap<&Path, String> {
    // Work on folders, not sessions: they are far fewer, and comparing paths is slow.
    let folders: HashSet<&Path> = rows.iter().map(|row| row.working_directory.as_path()).collect();
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

/// The last `levels` parts of a folder's path, sanitized.
pub(super) fn tail(folder: &Path, levels: usize) -> String {
    let parts: Vec<_> = folder.components().collect();
    let start = parts.len().saturating_sub(levels);
    let name: PathBuf = parts[start..].iter().collect();
    if name.as_os_str().is_empty() {
        return "No folder".to_owned();
    }
    crate::domain::sanitize::sanitize(&name.display().to_string()).into_owned()
}
