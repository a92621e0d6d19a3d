//! A list, read out with a number for each row.

use crate::tui::app::choice::PickerChoice;
use crate::tui::dialogs::linear_page::{
    LabelledLine, LineLabel, LinearPage, indented, line, lines,
};

use super::{Picker, PickerLoading};

/// The rows, or why there are none.
pub(super) fn linear_page(picker: &Picker) -> Option<LinearPage> {
    let title = picker.title;
    match &picker.state {
        PickerLoading::Waiting(_) => None,
        PickerLoading::Failed(reason) => Some(LinearPage {
            key: format!("{title} failed"),
            lines: lines(LineLabel::Error, reason),
        }),
        PickerLoading::Ready => {
            let colon = if title.ends_with('?') { "" } else { ":" };
            let mut out = vec![LabelledLine::new(LineLabel::Note, format!("{title}{colon}"))];
            if let Some(PickerChoice::Hook(choice)) = picker.list.chosen()
                && let Some(subject) = choice.subject()
            {
                out.extend(lines(LineLabel::Continuation, &indented(&subject)));
            }
            let rows = (0..picker.list.len()).filter_map(|at| picker.list.row(at));
            out.extend(rows.zip(1..).map(|((label, detail, aside), number)| {
                let parts = [label, detail, aside].map(|part| line(part).trim().to_owned());
                let parts: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
                LabelledLine::new(
                    LineLabel::Continuation,
                    format!("{number}. {}", parts.join(", ")),
                )
            }));
            out.push(LabelledLine::new(
                LineLabel::Continuation,
                "Type a number, or an empty line to go back.",
            ));
            Some(LinearPage { key: format!("{title} ready"), lines: out })
        }
    }
}
