//! The review, read out: each change has a number, by which it is rejected or taken back in.

use crate::agent::ReviewScope;
use crate::domain::{DiffLineTag, pluralise};
use crate::session::undo::ReviewedChange;
use crate::tui::app::intent::Intent;
use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::line::LineAnswerError;
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage, count_words, line};
use crate::tui::layout::diff::rows::entries;

use super::TurnReview;
use super::page_lines::{self, ReviewLine};

/// The lines of each change and its number; once some are rejected, only which.
pub(super) fn linear_page(page: &TurnReview, around: DialogView<'_>) -> Option<LinearPage> {
    let plan = page.plan.as_ref()?;
    let cwd = &around.shared.settings.cwd;
    let next = |text: &str| LabelledLine::new(LineLabel::Continuation, line(text));
    let key = format!("review {:?} {:?}", page.rejected, page.lines.diffs.first().map(|it| it.0));
    let mut out = Vec::new();
    if page.rejected.is_empty() {
        let what = match plan.scope {
            ReviewScope::Session => "Review of this session:".to_owned(),
            ReviewScope::Turn(turn) => format!("Review of turn {}: {}", turn.0, plan.title),
            ReviewScope::LastTurn | ReviewScope::Message(_) => "Review:".to_owned(),
        };
        out.push(LabelledLine::new(LineLabel::Note, line(&what)));
        for (at, of) in page.lines.lines.iter().enumerate() {
            match of {
                ReviewLine::Gap | ReviewLine::Diff { .. } => {}
                ReviewLine::File(file) => {
                    let file = page.files().get(*file)?;
                    let counts = file.diff().map(|diff| format!(", {}", count_words(diff)));
                    let kind = page_lines::kind(file).replace("  ", ", ");
                    let name = page_lines::name(file, cwd);
                    out.push(next(&format!("{name}{kind}{}:", counts.unwrap_or_default())));
                }
                ReviewLine::Note(text) | ReviewLine::Warning(text) => out.push(next(text)),
                ReviewLine::Whole(text) => out.push(next(&format!("{} {text}", number(page, at)))),
            }
            if let Some(change) = page.lines.change_at(at)
                && page.lines.changes[change].lines.start == at
                && matches!(of, ReviewLine::Diff { .. })
            {
                out.extend(change_lines(page, change).iter().map(|text| next(text)));
            }
        }
    } else {
        let rejected = pluralise(page.rejected_count(), "change");
        let rejected = format!("{rejected} of {} rejected:", page.lines.changes.len());
        out.push(LabelledLine::new(LineLabel::Note, rejected));
        for (at, change) in page.lines.changes.iter().enumerate() {
            if let (true, Some(file)) = (page.is_rejected(change), page.files().get(change.file)) {
                let of = file.changes().len();
                let name = page_lines::name(file, cwd);
                let which = format!("{} {name}, change {} of {of}", at + 1, change.change + 1);
                out.push(next(&which));
            }
        }
    }
    out.push(next(
        "Type a number to reject a change, or to keep it again, `all` for all of them, `apply` to \
         remove the rejected changes from the files, or an empty line to close.",
    ));
    Some(LinearPage { key, lines: out })
}

fn number(page: &TurnReview, line: usize) -> String {
    page.lines.change_at(line).map_or_else(String::new, |change| (change + 1).to_string())
}

/// The number and the changed lines of a change.
fn change_lines(page: &TurnReview, change: usize) -> Vec<String> {
    let placed = &page.lines.changes[change];
    let Some(diff) = page.files().get(placed.file).and_then(|file| file.diff()) else {
        return Vec::new();
    };
    let entries = entries(diff, usize::MAX);
    let runs = entries.chunk_by(|one, next| {
        (one.tag == DiffLineTag::Context) == (next.tag == DiffLineTag::Context)
            && one.new.or(one.old).is_some()
            && one.is_same_hunk(next)
    });
    let run = runs.filter(|run| run[0].tag != DiffLineTag::Context).nth(placed.change);
    let Some(run) = run else { return Vec::new() };
    let place = run[0].new.or(run[0].old).unwrap_or(1);
    let state = match placed.state {
        ReviewedChange::Present => "",
        ReviewedChange::Reverted => ", already reverted",
        ReviewedChange::Conflict(_) => ", cannot be rejected",
    };
    let mut texts = vec![format!("{} line {place}{state}", change + 1)];
    texts.extend(run.iter().filter_map(|entry| {
        let sign = if entry.tag == DiffLineTag::Removed { '-' } else { '+' };
        Some(format!("  {sign}{}", entry.line(diff)?.text))
    }));
    texts
}

/// Takes a line: a number, `all`, `apply`, or nothing.
pub(super) fn answer(page: &mut TurnReview, text: &str) -> Result<Vec<Intent>, LineAnswerError> {
    match text.trim() {
        "" => Ok(vec![Intent::Close]),
        "all" => {
            page.toggle_all(&page.of_all_files());
            Ok(Vec::new())
        }
        "apply" if page.rejected.is_empty() => Err(LineAnswerError::NothingRejected),
        "apply" => {
            let command = page.rejection();
            Ok(command.map(Intent::WhenIdle).into_iter().collect())
        }
        number => {
            let change = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let change = change.filter(|change| *change < page.lines.changes.len());
            match page.toggle(change.ok_or(LineAnswerError::NoRow)?) {
                true => Ok(Vec::new()),
                false => Err(LineAnswerError::NoRejection),
            }
        }
    }
}
