//! Computes which cells of a row are selected.

use crate::tui::app::ScreenModel;
use crate::tui::app::conversation::select::TranscriptSelection;
use crate::tui::app::conversation::source::TranscriptPosition;
use crate::tui::app::geometry::VisibleRow;

/// The selected columns of a row as pairs: the first column, and the one after the last.
pub fn columns(model: &ScreenModel, row: &VisibleRow) -> Vec<(u16, u16)> {
    let Some(selection) = model.conversation.selection.filter(TranscriptSelection::covers) else {
        return Vec::new();
    };
    let (from, to) = selection.ends();
    let here = |at: usize| TranscriptPosition { block: row.block, part: row.kind.part(), at };
    if to <= here(0) || from >= here(usize::MAX) {
        return Vec::new();
    }
    let start = if from > here(0) { from.at } else { 0 };
    let end = if to < here(usize::MAX) { to.at } else { usize::MAX };
    row.columns(&(start..end))
}
