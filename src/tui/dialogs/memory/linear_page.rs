//! The page of instruction files, read out: a line for each.

use crate::tui::app::settings::ScreenSettings;
use crate::tui::dialogs::context::view::shown_path;
use crate::tui::dialogs::linear_page::{LabelledLine, LineLabel, LinearPage, line};

use super::{MemoryPage, lines};

/// Read out again whenever the agent has replied.
pub(super) fn linear_page(page: &MemoryPage, settings: &ScreenSettings) -> Option<LinearPage> {
    let report = page.report.as_ref()?;
    let mut out = vec![LabelledLine::new(
        LineLabel::Note,
        line(&format!("Instruction files, {}:", lines::summary(report))),
    )];
    let mut add = |text: &str| out.push(LabelledLine::new(LineLabel::Continuation, line(text)));
    if let Some((_, told)) = &page.told {
        add(told);
    }
    for warning in lines::warnings(report) {
        add(&format!("Warning: {warning}"));
    }
    for row in lines::rows(page) {
        let Some((at, file)) = row.and_then(|at| Some((at, page.files().get(at)?))) else {
            continue;
        };
        let path = shown_path(&file.path.display().to_string(), settings);
        let size = match lines::size(file) {
            size if size.is_empty() => size,
            size => format!(", {size}"),
        };
        let (number, heading) = (at + 1, lines::heading(file.group));
        add(&format!("{number}. {path} ({heading}){size}. {}", lines::details(file)));
    }
    add("Type a number to see a file, edit with its number, or an empty line to go back.");
    Some(LinearPage { key: format!("memory {} {:?}", page.version, page.told), lines: out })
}
