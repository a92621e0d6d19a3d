//! The page of jobs, read out.

use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::linear_page::{
    LabelledLine, LineLabel, LinearPage, indented, line, lines,
};

use super::{JobsPage, view};

/// A line for each job, with the end of its output beneath.
pub(super) fn linear_page(page: &JobsPage, around: DialogView<'_>) -> Option<LinearPage> {
    let jobs = page.reports.as_ref()?;
    let mut out = Vec::new();
    if jobs.is_empty() {
        out.extend(lines(LineLabel::Note, &view::no_jobs(&around.shared.settings.keys)));
    } else {
        out.push(LabelledLine::new(LineLabel::Note, format!("Jobs: {}.", view::count(jobs))));
    }
    for job in jobs {
        let (state, size) = (view::state(job), view::size(job));
        let text = format!("{}. {}: {state}, {size}", job.job.id.0, job.job.command);
        out.push(LabelledLine::new(LineLabel::Continuation, line(&text)));
        if !job.last_lines.is_empty() {
            out.extend(lines(LineLabel::Continuation, &indented(&job.last_lines)));
        }
    }
    Some(LinearPage { key: "jobs".to_owned(), lines: out })
}
