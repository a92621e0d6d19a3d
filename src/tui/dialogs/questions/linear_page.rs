//! The model's question, read out.

use crate::tui::dialogs::linear_page::{
    LabelledLine, LineLabel, LinearPage, indented, line, lines,
};

use super::state::QuestionsDialog;
use super::view;

/// The question that is asked now.
pub(super) fn linear_page(dialog: &QuestionsDialog) -> LinearPage {
    let (id, at) = (dialog.request.id.0, dialog.at);
    let Some(question) = dialog.question() else {
        return LinearPage { key: format!("questions {id} {at}"), lines: Vec::new() };
    };
    let subject = view::subject(dialog);
    let subject = if subject.is_empty() { subject } else { format!("({subject}) ") };
    let mut out = lines(LineLabel::Question, &format!("{subject}{}", question.question));
    if let Some(document) = dialog.document() {
        out.extend(lines(LineLabel::Continuation, &indented(document)));
    }
    for (number, option) in question.options.iter().enumerate() {
        let about = option.description.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
        let text = line(&format!("  {} {}{about}", number + 1, option.label));
        out.push(LabelledLine::new(LineLabel::Continuation, text));
        if let Some(preview) = &option.preview {
            out.extend(lines(LineLabel::Continuation, &indented(&indented(preview))));
        }
    }
    let numbers = match (question.options.is_empty(), question.allows_several) {
        (true, _) => "",
        (false, false) => "a number, ",
        (false, true) => "numbers such as 1 3, ",
    };
    let open = match (dialog.document(), &question.server) {
        (Some(_), _) => "",
        (None, Some(_)) => ", n to leave it open",
        (None, None) => ", n to leave it to the model",
    };
    let text = format!("Type {numbers}your own words{open}, or stop.");
    out.push(LabelledLine::new(LineLabel::Continuation, text));
    LinearPage { key: format!("questions {id} {at}"), lines: out }
}
