//! The short pages, read out.

use crate::domain::{PlanItem, TodoStatus, WorkPlan};
use crate::skills::PromptLibraryReport;
use crate::tui::app::tour;
use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage, line};
use crate::tui::view::plan as plan_row;

use super::skills_page::{self, SkillsPageRow};
use super::status_page::{self, StatusPageRow, StatusPageTotals};
use super::{ReadingDialog, ReadingPage};

/// The page in full.
pub(super) fn linear_page(reading: &ReadingDialog, around: DialogView<'_>) -> LinearPage {
    let (key, lines) = match reading.page {
        ReadingPage::Status => ("status", status(&status_page::rows(around))),
        ReadingPage::Skills => ("skills", skills(&around.shared.prompt_files)),
        ReadingPage::Tour => ("tour", tour_card()),
        ReadingPage::Todos => ("todos", plan(&around.conversation.plan)),
    };
    LinearPage { key: key.to_owned(), lines }
}

/// The page of `/status`, with the sums as sentences.
fn status(rows: &[StatusPageRow]) -> Vec<LabelledLine> {
    let spoken = |row: &StatusPageRow| match row {
        StatusPageRow::Gap => None,
        StatusPageRow::Heading(text) => Some(format!("{text}:")),
        StatusPageRow::Pair(name, value) => Some(format!("{name}: {}", line(value))),
        StatusPageRow::Sums(sums) => Some(sums_in_words(sums)),
        StatusPageRow::Note(text) => Some(text.clone()),
    };
    let label = std::iter::once(LineLabel::Note).chain(std::iter::repeat(LineLabel::Continuation));
    rows.iter()
        .filter_map(spoken)
        .zip(label)
        .map(|(text, label)| LabelledLine::new(label, text))
        .collect()
}

fn sums_in_words(sums: &StatusPageTotals) -> String {
    let parts = [
        ("input tokens", &sums.read),
        ("cache read", &sums.cached),
        ("cache write", &sums.stored),
        ("output", &sums.written),
        ("in cost", &sums.cost),
    ];
    let known = parts.into_iter().filter(|(_, count)| !count.is_empty());
    let out: Vec<String> = known.map(|(what, count)| format!("{count} {what}")).collect();
    format!("{}: {}", line(&sums.name), out.join(", "))
}

/// The page of `/skills`.
fn skills(report: &PromptLibraryReport) -> Vec<LabelledLine> {
    let spoken = |row: SkillsPageRow| match row {
        SkillsPageRow::Gap => None,
        SkillsPageRow::Heading(text) => Some((LineLabel::Note, format!("{text}:"))),
        SkillsPageRow::Entry { call, about } => {
            Some((LineLabel::Continuation, format!("{call}: {about}").replace(" · ", ", ")))
        }
        SkillsPageRow::Detail(text) | SkillsPageRow::Note(text) => {
            Some((LineLabel::Continuation, text))
        }
        SkillsPageRow::Warning(text) => Some((LineLabel::Continuation, format!("Warning: {text}"))),
    };
    let spoken = skills_page::rows(report).into_iter().filter_map(spoken);
    spoken.map(|(label, text)| LabelledLine::new(label, line(&text))).collect()
}

fn tour_card() -> Vec<LabelledLine> {
    let mut out = vec![LabelledLine::new(LineLabel::Note, "That was slug:")];
    out.extend(
        tour::CARD.map(|(what, how)| {
            LabelledLine::new(LineLabel::Continuation, format!("{what}: {how}."))
        }),
    );
    out
}

fn plan(plan: &WorkPlan) -> Vec<LabelledLine> {
    if plan.is_empty() {
        let text = "No plan yet. The model makes one for work of several steps.";
        return vec![LabelledLine::new(LineLabel::Note, text)];
    }
    let mut out = vec![LabelledLine::new(LineLabel::Note, "The plan:")];
    let spoken = |item: PlanItem<'_>| LabelledLine::new(LineLabel::Continuation, in_words(&item));
    out.extend(plan.items().map(spoken));
    out
}

fn in_words(item: &PlanItem<'_>) -> String {
    let state = match item.status {
        TodoStatus::Completed => "done",
        TodoStatus::InProgress => "now",
        TodoStatus::Pending => "to do",
    };
    let notes = plan_row::notes(item).replace(" · ", ", ");
    let notes = if notes.is_empty() { notes } else { format!(", {}", line(&notes)) };
    format!("{state}: {}{notes}", line(&plan_row::text(item)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::testing::task;
    use crate::domain::{TaskItem, TodoItem};

    #[test]
    fn the_plan_is_read_out_with_what_a_task_waits_for() {
        let step = |content: &str, status| TodoItem {
            content: content.into(),
            status,
            active_form: String::new(),
        };
        let owned =
            TaskItem { owner: Some("tester\n".into()), ..task(2, TodoStatus::Pending, &[1]) };
        let whole = WorkPlan::new(
            vec![step("read", TodoStatus::Completed)],
            vec![task(1, TodoStatus::InProgress, &[]), owned],
        );
        let lines: Vec<String> = plan(&whole).into_iter().map(|line| line.text).collect();
        let expected =
            ["The plan:", "done: read", "now: #1 task 1", "to do: #2 task 2, after #1, by tester␊"];
        assert_eq!(lines, expected);
    }
}
