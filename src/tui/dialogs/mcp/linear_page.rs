//! The page of MCP servers, read out.

use crate::tui::dialogs::linear_page::{
    LabelledLine, LineLabel, LinearPage, line, lines as labelled,
};

use super::lines::{self, McpServerRow, McpToolLine};
use super::{McpPage, McpQuestion};
use crate::mcp::{McpServerState, McpServerStatus};

/// A line for each server, or all of the one that is opened once it is known what its tools meet.
pub(super) fn linear_page(page: &McpPage) -> Option<LinearPage> {
    let servers = page.servers.as_ref()?;
    match page.chosen().filter(|_| page.opened.is_some()) {
        Some(server) => opened(page, server),
        None => Some(list(servers)),
    }
}

fn list(servers: &[McpServerStatus]) -> LinearPage {
    if servers.is_empty() {
        let lines = labelled(LineLabel::Note, lines::NO_SERVERS);
        return LinearPage { key: "mcp".to_owned(), lines };
    }
    let mut out = vec![LabelledLine::new(LineLabel::Note, "MCP servers:")];
    out.extend(servers.iter().zip(1..).map(|(server, number)| {
        let state = lines::state(server).0.trim_end_matches('.').to_owned();
        let parts = [state, lines::counts(server), lines::owner(server).into()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let text = format!("{number}. {}: {}", lines::name(server), parts.join(", "));
        LabelledLine::new(LineLabel::Continuation, line(&text))
    }));
    let end = "Type a number to see a server, or an empty line to go back.";
    out.push(LabelledLine::new(LineLabel::Continuation, end));
    // Read out again when a state has changed.
    let key = out.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    LinearPage { key, lines: out }
}

fn opened(page: &McpPage, server: &McpServerStatus) -> Option<LinearPage> {
    let (name, (state, _)) = (lines::name(server), lines::state(server));
    let mut out = vec![LabelledLine::new(LineLabel::Note, format!("{name}: {state}"))];
    let question = lines::question(server);
    let key = format!("{name} {state} {question:?}");
    if server.state == McpServerState::Starting {
        let text = "It is starting. An empty line goes back to the list.";
        out.push(LabelledLine::new(LineLabel::Continuation, text));
        return Some(LinearPage { key, lines: out });
    }
    let parts = lines::parts(server);
    for row in question.into_iter().chain(parts) {
        match row {
            McpServerRow::Text(_, text) => out.extend(labelled(LineLabel::Continuation, &text)),
            McpServerRow::ToolHeads => {
                out.push(LabelledLine::new(LineLabel::Continuation, "Tools:"));
            }
            McpServerRow::Tool(at) => {
                let McpToolLine { name, about, decision, tokens } =
                    lines::tool(server, at, &page.decisions)?;
                let about = if about.is_empty() { about } else { format!(". {about}") };
                let text = format!("  {name}: {}, {tokens} tokens{about}", decision?.0);
                out.push(LabelledLine::new(LineLabel::Continuation, line(&text)));
            }
        }
    }
    let answer = match McpQuestion::of(server) {
        Some(McpQuestion::Start(_)) => "Type allow to let it start, or",
        Some(McpQuestion::Definitions(_)) => {
            "Type accept to accept the new definitions, restart, or"
        }
        None if server.state == McpServerState::NeedsLogin => "Type login, restart, or",
        None => "Type restart, or",
    };
    let text = format!("{answer} an empty line to go back to the list.");
    out.push(LabelledLine::new(LineLabel::Continuation, text));
    Some(LinearPage { key, lines: out })
}
