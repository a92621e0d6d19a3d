//! The model's plan as the user sees it: one list of the steps of TodoWrite and of the tasks.

use super::{TaskChange, TaskId, TaskItem, TaskList, TodoItem, TodoStatus, task_numbers};

/// The steps, which TodoWrite replaces as a whole, and the tasks, which change one by one. Neither
/// changes the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkPlan {
    pub todos: Vec<TodoItem>,
    pub tasks: TaskList,
}

/// A row of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanItem<'a> {
    /// What it is: "Run the tests".
    pub text: &'a str,
    /// The same while it is in progress: "Running the tests".
    pub active_form: &'a str,
    pub status: TodoStatus,
    /// The task; `None` for a step of TodoWrite.
    pub task: Option<&'a TaskItem>,
    tasks: &'a TaskList,
}

impl PlanItem<'_> {
    /// The open tasks that it waits for; none for a step.
    pub fn blockers(&self) -> Vec<TaskId> {
        self.task.map(|task| self.tasks.blockers(task)).unwrap_or_default()
    }

    /// The row as models read it: `[>] #2 Run the tests (by tester; after #1)`.
    pub fn as_line(&self) -> String {
        let mark = match self.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[>]",
            TodoStatus::Completed => "[x]",
        };
        let Some(task) = self.task else { return format!("{mark} {}", self.text) };
        let blockers = self.blockers();
        let after = (!blockers.is_empty()).then(|| format!("after {}", task_numbers(&blockers)));
        let owner = task.owner.iter().map(|owner| format!("by {owner}"));
        let notes: Vec<String> = owner.chain(after).collect();
        let notes =
            if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        format!("{mark} {} {}{notes}", task.id, self.text)
    }
}

impl WorkPlan {
    /// The tasks need not be in order.
    pub fn new(todos: Vec<TodoItem>, tasks: Vec<TaskItem>) -> Self {
        Self { todos, tasks: TaskList::of(tasks) }
    }

    /// The steps in their order, then the tasks by their numbers.
    pub fn items(&self) -> impl Iterator<Item = PlanItem<'_>> {
        let steps = self.todos.iter().map(|todo| PlanItem {
            text: &todo.content,
            active_form: &todo.active_form,
            status: todo.status,
            task: None,
            tasks: &self.tasks,
        });
        steps.chain(self.tasks.iter().map(|task| PlanItem {
            text: &task.subject,
            active_form: task.active_form.as_ref().unwrap_or(&task.subject),
            status: task.status,
            task: Some(task),
            tasks: &self.tasks,
        }))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.todos.len() + self.tasks.len()
    }

    /// Whether there is neither a step nor a task.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows are completed.
    pub fn completed(&self) -> usize {
        self.statuses().filter(|status| *status == TodoStatus::Completed).count()
    }

    /// The first row that is in progress.
    pub fn current(&self) -> Option<PlanItem<'_>> {
        // Most frames come here, and most plans are long done.
        let at = self.statuses().position(|status| status == TodoStatus::InProgress)?;
        self.items().nth(at)
    }

    /// Takes over a change of the tasks.
    pub fn apply(&mut self, change: &TaskChange) {
        self.tasks.apply(change);
    }

    fn statuses(&self) -> impl Iterator<Item = TodoStatus> {
        let steps = self.todos.iter().map(|todo| todo.status);
        steps.chain(self.tasks.iter().map(|task| task.status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::task;

    #[test]
    fn steps_and_tasks_are_one_list() {
        let step = |content: &str, status| TodoItem {
            content: content.into(),
            status,
            active_form: format!("doing {content}"),
        };
        let (done, open, now) =
            (TodoStatus::Completed, TodoStatus::Pending, TodoStatus::InProgress);
        let first = TaskItem { active_form: Some("doing 1".into()), ..task(1, now, &[]) };
        let mut plan =
            WorkPlan::new(vec![step("a", done), step("b", open)], vec![task(2, open, &[1]), first]);
        let rows: Vec<_> = plan.items().map(|it| (it.text, it.blockers())).collect();
        let expected =
            [("a", vec![]), ("b", vec![]), ("task 1", vec![]), ("task 2", vec![TaskId(1)])];
        assert_eq!(rows, expected);
        assert_eq!((plan.completed(), plan.len()), (1, 4));
        assert_eq!(plan.current().unwrap().active_form, "doing 1");
        plan.apply(&TaskChange { tasks: vec![task(1, done, &[])], removed: Vec::new() });
        assert_eq!((plan.completed(), plan.current()), (2, None));
        plan.apply(&TaskChange { tasks: vec![task(2, now, &[1])], removed: Vec::new() });
        assert_eq!(plan.current().unwrap().active_form, "task 2");
        assert!(!plan.is_empty() && WorkPlan::default().is_empty());
    }
}
