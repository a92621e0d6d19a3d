//! The rewind dialog, read out.

use crate::session::undo::PlannedFile;
use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage, line};

use super::{RewindDialog, RewindRow, RewindStage};

/// What a rewind would do, and its choices, each with its number.
pub(super) fn linear_page(dialog: &RewindDialog, around: DialogView<'_>) -> Option<LinearPage> {
    let RewindStage::Planned(plan) = &dialog.stage else { return None };
    let mut out = vec![LabelledLine::new(LineLabel::Note, format!("{}:", dialog.title()))];
    let rows = dialog.rows(&around.shared.settings.cwd);
    out.extend(rows.into_iter().filter_map(|row| {
        let text = match row {
            RewindRow::Gap => return None,
            RewindRow::Message(text) => format!("  before: {text}"),
            RewindRow::Note(text) | RewindRow::Warning(text) => format!("  {text}"),
            RewindRow::File { name, what, fate, .. } => {
                format!("  {}{name}: {what}", fate.mark())
            }
        };
        Some(LabelledLine::new(LineLabel::Continuation, line(&text)))
    }));
    let answers = dialog.answers(&around.shared.settings.cwd);
    let offers = dialog.offers().into_iter().map(|(_, word)| word.to_owned());
    let all = offers.chain(answers).zip(1..);
    out.extend(all.map(|(word, number)| {
        LabelledLine::new(LineLabel::Continuation, line(&format!("{number} {word}")))
    }));
    out.push(LabelledLine::new(
        LineLabel::Continuation,
        "Type a number, or an empty line to cancel.",
    ));
    let turned: Vec<bool> = plan.files.files.iter().map(PlannedFile::is_overridden).collect();
    Some(LinearPage { key: format!("rewind {:?} {turned:?}", plan.to), lines: out })
}
