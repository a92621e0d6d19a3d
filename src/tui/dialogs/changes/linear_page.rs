//! The files that the session changed, read out.

use crate::services::session_changes::{ExternalChange, NetChangeContent};
use crate::tui::dialogs::linear_page::{
    LabelledLine, LineLabel, LinearPage, count_words, line, lines,
};

use super::{ChangesPage, patch};

/// The changes of each file as a patch.
pub(super) fn linear_page(page: &ChangesPage) -> Option<LinearPage> {
    let files = page.files.as_ref()?;
    let mut out = Vec::new();
    for file in files.iter() {
        let name = line(&file.name);
        let what = match &file.content {
            NetChangeContent::Changed(diff) => count_words(diff),
            NetChangeContent::New(diff) => format!("new, {}", count_words(diff)),
            NetChangeContent::Deleted(diff) => format!("deleted, {}", count_words(diff)),
            NetChangeContent::Same => "same as before this session".to_owned(),
            NetChangeContent::Unknown(why) => line(why),
        };
        let since = match file.external_change {
            ExternalChange::Nothing => "",
            ExternalChange::Changed => ", changed outside of slug since",
            ExternalChange::Deleted => ", deleted outside of slug since",
        };
        out.push(LabelledLine::new(LineLabel::Note, format!("{name}, {what}{since}:")));
        out.extend(
            lines(LineLabel::Continuation, &patch::of(file))
                .into_iter()
                .filter(|_| file.diff().is_some()),
        );
    }
    Some(LinearPage { key: format!("changes {}", page.version), lines: out })
}
