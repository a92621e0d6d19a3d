//! The words about MCP servers, which the page and the line mode share. Whatever a server says is made
//! harmless here.

use crate::agent::RuleTestError;
use crate::domain::sanitize::{sanitize, sanitize_line};
use crate::domain::{PermissionOutcome, format_tokens, pluralise};
use crate::mcp::{
    McpDefinitionSource, McpOffers, McpServerState, McpServerStatus, model_tool_name,
};
use crate::permissions::PermissionTestReport;
use crate::tui::dialogs::linear_page;
use crate::tui::layout::StyleRole;

use super::McpToolDecisions;

/// What is shown in the place of servers where there are none.
pub const NO_SERVERS: &str =
    "No MCP servers. A server gives the model more tools.\nAdd one: slug mcp add NAME -- COMMAND";

/// The most prompts of a server that are listed.
const MAX_PROMPTS: usize = 50;

/// A row of what is shown of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum McpServerRow {
    /// A text that may take several rows; a blank one where it is empty.
    Text(StyleRole, String),
    /// The heading of the tools.
    ToolHeads,
    /// A tool, by its index.
    Tool(usize),
}

/// What is shown of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct McpToolLine {
    pub name: String,
    /// The first line of its description.
    pub about: String,
    /// What a call would meet; `None` until that is known.
    pub decision: Option<(String, StyleRole)>,
    pub tokens: String,
}

/// The name of a server.
pub fn name(server: &McpServerStatus) -> String {
    sanitize_line(&server.name)
}

/// The state of a server.
pub fn state(server: &McpServerStatus) -> (String, StyleRole) {
    let changed = server.changed_tools.len();
    match &server.state {
        McpServerState::Disabled => ("disabled".to_owned(), StyleRole::Muted),
        McpServerState::NotAllowed => ("not allowed here yet".to_owned(), StyleRole::Warning),
        McpServerState::Starting => ("starting".to_owned(), StyleRole::Muted),
        McpServerState::Ready if changed > 0 => {
            (format!("ready, {} changed", pluralise(changed, "tool")), StyleRole::Warning)
        }
        McpServerState::Ready => ("ready".to_owned(), StyleRole::Success),
        McpServerState::NeedsLogin => ("needs login".to_owned(), StyleRole::Warning),
        McpServerState::Failed(why) => {
            (format!("failed: {}", sanitize_line(why)), StyleRole::Error)
        }
    }
}

/// Who has defined a server.
pub fn owner(server: &McpServerStatus) -> &'static str {
    match server.source {
        McpDefinitionSource::User => "yours",
        McpDefinitionSource::Project => "this project's",
    }
}

/// How many tools, resources and prompts a server has told; empty for none.
pub fn counts(server: &McpServerStatus) -> String {
    let offers = &server.offers;
    let counts = [
        (server.tools.len(), "tool"),
        (offers.resources.len(), "resource"),
        (offers.prompts.len(), "prompt"),
    ];
    let told = counts.into_iter().filter(|(count, _)| *count > 0);
    told.map(|(count, noun)| pluralise(count, noun)).collect::<Vec<_>>().join(", ")
}

/// What the user can do about the state of a server.
pub fn remedy(server: &McpServerStatus) -> Option<String> {
    let name = name(server);
    Some(match (&server.state, server.source) {
        (McpServerState::Disabled, McpDefinitionSource::User) => {
            format!("It starts with the next session after: slug mcp enable {name}")
        }
        (McpServerState::Disabled, McpDefinitionSource::Project) => {
            "Its definition in .mcp.json disables it.".to_owned()
        }
        (McpServerState::NotAllowed, _) => {
            "This project's server is not allowed yet. Open it to review and allow it.".to_owned()
        }
        (McpServerState::Starting, _) => "Starting; you can go on working.".to_owned(),
        (McpServerState::NeedsLogin, _) if server.login_address.is_some() => {
            "Log in at the address that the server's page shows.".to_owned()
        }
        (McpServerState::NeedsLogin, _) => "The server needs a login.".to_owned(),
        (McpServerState::Failed(why), _) => {
            let why = sanitize_line(why);
            match server.error_output.is_empty() {
                true => why,
                false => format!("{why} Its standard error may say more."),
            }
        }
        (McpServerState::Ready, _) if !server.changed_tools.is_empty() => {
            "The definitions of some tools have changed. Open the server to review them.".to_owned()
        }
        (McpServerState::Ready, _) => return None,
    })
}

/// What the user has to read before a yes; empty where nothing is asked.
pub fn question(server: &McpServerStatus) -> Vec<McpServerRow> {
    let mut rows = Vec::new();
    if let Some(question) = &server.start_question {
        rows.push(text(StyleRole::Strong, "Allow this project's server, as it is now?"));
        rows.extend(question.particulars.iter().map(|it| indented(StyleRole::Text, it)));
    } else if !server.changed_tools.is_empty() {
        let heading = "These tools are not called until you accept their new definitions:";
        rows.push(text(StyleRole::Strong, heading));
        for tool in server.changed() {
            rows.push(indented(StyleRole::Tool, &sanitize_line(&tool.name)));
            rows.push(deeper(StyleRole::Text, &tool.description));
            rows.push(deeper(StyleRole::Muted, &format!("arguments: {:#}", tool.input_schema)));
        }
    }
    rows
}

/// What is known of a server, beneath its question.
pub fn parts(server: &McpServerStatus) -> Vec<McpServerRow> {
    let mut rows = Vec::new();
    if server.start_question.is_none() {
        if server.changed_tools.is_empty() {
            rows.extend(login(server).unwrap_or_else(|| {
                remedy(server).map(|it| text(StyleRole::Warning, &it)).into_iter().collect()
            }));
        }
        let is_address = server.summary.starts_with("http");
        rows.push(pair(if is_address { "connects to" } else { "starts" }, &server.summary));
        if !server.sent_names.is_empty() {
            let names = server.sent_names.join(", ");
            rows.push(pair(if is_address { "sends" } else { "sets" }, &names));
        }
    }
    rows.extend(server.implementation.as_ref().map(|it| pair("calls itself", it)));
    let warnings = server.warnings.iter().map(|it| format!("! {}", sanitize_line(it)));
    rows.extend(warnings.map(|it| text(StyleRole::Warning, &it)));
    if let Some(first) = server.tools.first() {
        rows.push(text(StyleRole::Text, ""));
        rows.push(McpServerRow::ToolHeads);
        rows.extend((0..server.tools.len()).map(McpServerRow::Tool));
        let named = model_tool_name(&server.name, &first.name);
        let when = match server.is_always_loaded {
            true => {
                "in each request of a session that started with the tool in its tools array (see \
                 /context)"
            }
            false => "once the model looks for the tool",
        };
        let notes = format!(
            "A definition takes its tokens {when}. Rules, as in /permissions, name the tools like \
             this: {named}"
        );
        rows.push(text(StyleRole::Muted, &notes));
    }
    rows.extend(offers(server));
    let errors = server.error_output.trim_end();
    if !errors.is_empty() {
        rows.push(text(StyleRole::Text, ""));
        rows.push(text(StyleRole::Heading(2), "The end of its standard error"));
        rows.push(indented(StyleRole::Muted, errors));
    }
    rows
}

/// Where the user logs in, while a login waits for them.
fn login(server: &McpServerStatus) -> Option<Vec<McpServerRow>> {
    let address = server.login_address.as_deref()?;
    let elsewhere = format!(
        "slug goes on when the browser has come back to this machine. If it runs on another one: \
         slug mcp login {}",
        name(server)
    );
    Some(vec![
        text(StyleRole::Strong, "Open this address in your browser and log in:"),
        text(StyleRole::Link, &sanitize_line(address)),
        text(StyleRole::Muted, &elsewhere),
        text(StyleRole::Text, ""),
    ])
}

/// What a server offers besides tools.
fn offers(server: &McpServerStatus) -> Vec<McpServerRow> {
    let McpOffers { resources, templates, prompts, .. } = &*server.offers;
    let mut rows = Vec::new();
    if !prompts.is_empty() {
        rows.push(text(StyleRole::Text, ""));
        rows.push(text(StyleRole::Heading(2), "Prompts: each is a slash command."));
        rows.extend(prompts.iter().take(MAX_PROMPTS).map(|prompt| {
            let command = prompt.command(&server.name);
            indented(StyleRole::Text, &format!("/{command}  {}", prompt.description))
        }));
        if let Some(more @ 1..) = prompts.len().checked_sub(MAX_PROMPTS) {
            rows.push(indented(StyleRole::Muted, &format!("and {more} more: type / to list them")));
        }
    }
    if !resources.is_empty() || !templates.is_empty() {
        let more = match templates.len() {
            0 => String::new(),
            1 => ", and 1 address with places to fill in".to_owned(),
            count => format!(", and {count} addresses with places to fill in"),
        };
        let count = resources.len();
        rows.push(text(StyleRole::Text, ""));
        let about = format!("{count}{more}. Mention one with @{}:", server.name);
        rows.push(pair("resources", &about));
    }
    rows
}

/// What is shown of the tool with this index.
pub fn tool(
    server: &McpServerStatus,
    at: usize,
    decisions: &McpToolDecisions,
) -> Option<McpToolLine> {
    let tool = server.tools.get(at)?;
    let decided = decisions.get(&model_tool_name(&server.name, &tool.name));
    let mut about = tool.description.lines().filter(|line| !line.trim().is_empty());
    Some(McpToolLine {
        name: sanitize_line(&tool.name),
        about: sanitize_line(about.next().unwrap_or_default()),
        decision: match server.changed_tools.contains(&tool.name) {
            true => Some(("changed, not called".to_owned(), StyleRole::Warning)),
            false => decided.map(decision),
        },
        tokens: format!("~{}", format_tokens(tool.tokens)),
    })
}

fn decision(decided: &Result<PermissionTestReport, RuleTestError>) -> (String, StyleRole) {
    let Ok(report) = decided else { return ("not known".to_owned(), StyleRole::Muted) };
    let by = if report.rule.is_some() { "a rule" } else { "the mode" };
    match report.decision {
        PermissionOutcome::Allow => (format!("allowed by {by}"), StyleRole::Success),
        PermissionOutcome::Ask => ("asks you".to_owned(), StyleRole::Text),
        PermissionOutcome::Deny => (format!("denied by {by}"), StyleRole::Error),
    }
}

fn text(role: StyleRole, text: &str) -> McpServerRow {
    McpServerRow::Text(role, sanitize(text).into_owned())
}

fn indented(role: StyleRole, given: &str) -> McpServerRow {
    text(role, &linear_page::indented(given))
}

fn deeper(role: StyleRole, given: &str) -> McpServerRow {
    indented(role, &linear_page::indented(given))
}

fn pair(name: &str, value: &str) -> McpServerRow {
    text(StyleRole::Text, &format!("{name:<12}  {}", sanitize_line(value)))
}
