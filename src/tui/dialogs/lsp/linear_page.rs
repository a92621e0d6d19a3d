//! The page of language servers, read out: a line for each, and all that is known of the selected one.

use std::path::Path;

use crate::tui::dialogs::linear_page::{
    LabelledLine, LineLabel, LinearPage, line, lines as labelled,
};

use super::LspPage;
use super::lines;

/// Read out again whenever something of it changes.
pub(super) fn linear_page(page: &LspPage, home: Option<&Path>) -> Option<LinearPage> {
    let servers = page.servers.as_ref()?;
    if servers.is_empty() {
        let lines = labelled(LineLabel::Note, lines::NO_SERVERS);
        return Some(LinearPage { key: "lsp".to_owned(), lines });
    }
    let mut out = vec![LabelledLine::new(LineLabel::Note, "Language servers:")];
    for (number, server) in (1..).zip(servers) {
        let (state, findings) = (lines::state(server).0, lines::findings(server).0);
        let findings = if findings.is_empty() { findings } else { format!(", {findings}") };
        let text = format!(
            "{number}. {}: {state}{findings}. {}",
            lines::name(server),
            lines::languages(server)
        );
        out.push(LabelledLine::new(LineLabel::Continuation, line(&text)));
    }
    if let Some(server) = page.chosen() {
        out.push(LabelledLine::new(LineLabel::Note, format!("Number {}:", page.selected + 1)));
        for (text, _) in lines::details(server, home) {
            out.extend(labelled(LineLabel::Continuation, &text));
        }
    }
    let end = "Type a number to see a server, restart or stop with its number, or an empty line to \
               go back.";
    out.push(LabelledLine::new(LineLabel::Continuation, end));
    let key = out.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    Some(LinearPage { key, lines: out })
}
