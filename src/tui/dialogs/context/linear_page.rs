//! The page of what fills the window, read out.

use std::iter;

use crate::tui::dialogs::DialogView;
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage, line};

use super::{ContextPage, lines, view};

/// The list with all its items open, a line each.
pub(super) fn linear_page(page: &ContextPage, around: DialogView<'_>) -> Option<LinearPage> {
    page.ledger.as_ref()?;
    let settings = &around.shared.settings;
    let all = lines::all(page, |path| view::shown_path(path, settings));
    let labels = iter::once(LineLabel::Note).chain(iter::repeat(LineLabel::Continuation));
    let lines = all.iter().zip(labels).map(|(text, label)| LabelledLine::new(label, line(text)));
    Some(LinearPage { key: format!("context {}", page.version), lines: lines.collect() })
}
