//! The tasks of a session, which the model maintains with TaskCreate and TaskUpdate.
//!
//! A list may come from a log that slug did not write, so nothing here relies on what the tools check: a
//! task may name tasks that do not exist, and tasks may wait for each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::TodoStatus;

/// The number of a task. Numbers begin at 1 and are not given twice.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskId(pub u64);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Numbers in a sentence: `#1, #2`.
pub fn task_numbers(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::to_string).collect::<Vec<_>>().join(", ")
}

/// A part of the work that has a number of its own, so that it can be changed by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskItem {
    pub id: TaskId,
    /// One line.
    pub subject: String,
    /// What has to be done, in full; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The task while it is in progress: "Running the tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Who does it, as the model names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    pub status: TodoStatus,
    /// The tasks that have to be completed first.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub blocked_by: BTreeSet<TaskId>,
}

/// What one call did to the tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskChange {
    /// The tasks that are new or different, as they are from here on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskItem>,
    /// The tasks that are gone. No other task waits for them any longer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<TaskId>,
}

/// The tasks by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskList {
    tasks: BTreeMap<TaskId, TaskItem>,
    /// The highest number that was given.
    last: TaskId,
}

impl TaskList {
    /// The tasks may be in any order; of two with one number the later one counts.
    pub fn of(tasks: Vec<TaskItem>) -> Self {
        let mut list = Self::default();
        list.apply(&TaskChange { tasks, removed: Vec::new() });
        list
    }

    /// Takes over a change, whatever it holds.
    pub fn apply(&mut self, change: &TaskChange) {
        for task in &change.tasks {
            self.last = self.last.max(task.id);
            self.tasks.insert(task.id, task.clone());
        }
        for removed in &change.removed {
            self.tasks.remove(removed);
            for task in self.tasks.values_mut() {
                task.blocked_by.remove(removed);
            }
        }
    }

    /// The tasks in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &TaskItem> {
        self.tasks.values()
    }

    /// The task of this number, unless it was never made or is gone.
    pub fn get(&self, id: TaskId) -> Option<&TaskItem> {
        self.tasks.get(&id)
    }

    /// How many tasks there are; those that are gone do not count.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is no task, or none is left.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The number of the next new task; `None` once there is no higher one.
    pub fn next_id(&self) -> Option<TaskId> {
        self.last.0.checked_add(1).map(TaskId)
    }

    /// The tasks that still have to be completed before this one; none for one that is completed.
    pub fn blockers(&self, task: &TaskItem) -> Vec<TaskId> {
        if task.status == TodoStatus::Completed {
            return Vec::new();
        }
        let tasks = task.blocked_by.iter().filter_map(|id| self.get(*id));
        let open = tasks.filter(|task| task.status != TodoStatus::Completed);
        open.map(|task| task.id).collect()
    }

    /// The tasks that this one has to be completed for.
    pub fn waiting_for(&self, id: TaskId) -> Vec<TaskId> {
        let waiting = self.iter().filter(|task| task.blocked_by.contains(&id));
        waiting.map(|task| task.id).collect()
    }

    /// The way on which a task waits for itself, from that task to that task; `None` where there is none.
    pub fn circle_through(&self, id: TaskId) -> Option<Vec<TaskId>> {
        let mut seen = BTreeSet::new();
        let mut ways = vec![vec![id]];
        while let Some(way) = ways.pop() {
            let end = way.last().and_then(|end| self.get(*end));
            for next in end.into_iter().flat_map(|end| &end.blocked_by) {
                let longer = || way.iter().copied().chain([*next]).collect();
                if *next == id {
                    return Some(longer());
                }
                if seen.insert(*next) {
                    ways.push(longer());
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::task;

    fn ids(ids: &[u64]) -> Vec<TaskId> {
        ids.iter().copied().map(TaskId).collect()
    }

    #[test]
    fn only_open_tasks_block_and_only_open_tasks_are_blocked() {
        let (pending, done) = (TodoStatus::Pending, TodoStatus::Completed);
        let list = TaskList::of(vec![
            task(1, done, &[]),
            task(2, pending, &[]),
            task(3, pending, &[1, 2, 9]),
            task(4, done, &[2]),
        ]);
        let blockers = |id| list.blockers(list.get(TaskId(id)).unwrap());
        assert_eq!(blockers(3), ids(&[2]), "1 is completed, 9 is not there");
        assert_eq!(blockers(4), ids(&[]));
        assert_eq!(list.waiting_for(TaskId(2)), ids(&[3, 4]));
    }

    #[test]
    fn a_task_that_is_gone_blocks_nobody_and_leaves_its_number_free_for_nobody() {
        let mut list = TaskList::of(vec![
            task(1, TodoStatus::Pending, &[2]),
            task(2, TodoStatus::Pending, &[]),
        ]);
        list.apply(&TaskChange { tasks: Vec::new(), removed: ids(&[2, 7]) });
        assert_eq!(list.len(), 1);
        assert!(list.get(TaskId(1)).unwrap().blocked_by.is_empty());
        assert_eq!(list.next_id(), Some(TaskId(3)));
        let last = TaskList::of(vec![task(u64::MAX, TodoStatus::Pending, &[])]);
        assert_eq!(last.next_id(), None);
    }

    /// A log that slug did not write may hold any of this.
    #[test]
    fn circles_are_found_and_end() {
        let open = |id, blocked_by: &[u64]| task(id, TodoStatus::Pending, blocked_by);
        let list = TaskList::of(vec![
            open(1, &[2]),
            open(2, &[3]),
            open(3, &[1, 4]),
            open(4, &[5]),
            open(5, &[4]),
            open(6, &[6]),
            open(7, &[4]),
        ]);
        assert_eq!(list.circle_through(TaskId(1)), Some(ids(&[1, 2, 3, 1])));
        assert_eq!(list.circle_through(TaskId(4)), Some(ids(&[4, 5, 4])));
        assert_eq!(list.circle_through(TaskId(6)), Some(ids(&[6, 6])));
        assert_eq!(list.circle_through(TaskId(7)), None, "it only waits for a circle");
        assert_eq!(list.circle_through(TaskId(8)), None);
        // Each task waits for all before it: as many ways as there are subsets, but few tasks.
        let dense = (1..=200).map(|id| open(id, &(1..id).collect::<Vec<_>>())).collect();
        assert_eq!(TaskList::of(dense).circle_through(TaskId(200)), None);
    }

    #[test]
    fn what_is_in_the_log_is_short() {
        let small = task(3, TodoStatus::Pending, &[]);
        let json = serde_json::to_string(&TaskChange { tasks: vec![small], removed: Vec::new() });
        let expected = r#"{"tasks":[{"id":3,"subject":"task 3","status":"pending"}]}"#;
        assert_eq!(json.unwrap(), expected);
        let full = TaskItem {
            description: "all of it".into(),
            active_form: Some("doing it".into()),
            owner: Some("tester".into()),
            ..task(4, TodoStatus::InProgress, &[3])
        };
        let change = TaskChange { tasks: vec![full], removed: ids(&[2]) };
        let json = serde_json::to_string(&change).unwrap();
        assert_eq!(serde_json::from_str::<TaskChange>(&json).unwrap(), change);
    }
}
