//! Whether the MCP servers start, and can be used as they are now.

use super::DoctorFinding;
use crate::domain::pluralise;
use crate::mcp::{McpServerState, McpServerStatus};

const SUBJECT: &str = "mcp";

/// A finding for each server, and for what is wrong with the definitions. A server that fails does not
/// keep slug from working.
pub(super) fn check(servers: &[McpServerStatus], problems: &[String]) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> = problems
        .iter()
        .map(|problem| DoctorFinding::warn(SUBJECT, problem, "Correct the definition."))
        .collect();
    for server in servers {
        findings.push(of_server(server));
        let told = server.warnings.iter().map(|warning| format!("{}: {warning}", server.name));
        let remedy = format!("See what it tells of itself: slug mcp test {}", server.name);
        findings.extend(told.map(|text| DoctorFinding::warn(SUBJECT, text, remedy.clone())));
    }
    findings
}

fn of_server(server: &McpServerStatus) -> DoctorFinding {
    let McpServerStatus { name, tools, changed_tools, .. } = server;
    let warn = |text: String, remedy: String| DoctorFinding::warn(SUBJECT, text, remedy);
    match &server.state {
        McpServerState::Disabled => DoctorFinding::ok(SUBJECT, format!("{name} is disabled.")),
        McpServerState::Ready if changed_tools.is_empty() => {
            let tools = pluralise(tools.len(), "tool");
            DoctorFinding::ok(SUBJECT, format!("{name} starts and has {tools}."))
        }
        McpServerState::Ready => warn(
            format!(
                "{name} has {} whose definition has changed: {}.",
                pluralise(changed_tools.len(), "tool"),
                changed_tools.join(", ")
            ),
            format!("They are not called until you accept them: slug mcp accept {name}"),
        ),
        McpServerState::NotAllowed => warn(
            format!("{name} of .mcp.json has not been allowed to start here as it is now."),
            format!("See it, then let it: slug mcp get {name}; slug mcp allow {name}"),
        ),
        McpServerState::NeedsLogin => {
            warn(format!("{name} needs a login."), format!("Log in with: slug mcp login {name}"))
        }
        McpServerState::Starting => warn(
            format!("{name} did not start in time."),
            "Give it more with `start_timeout`, or disable it: slug mcp disable".to_owned()
                + &format!(" {name}"),
        ),
        McpServerState::Failed(why) => warn(
            format!("{name} cannot be used: {why}"),
            format!("To see what it prints: slug mcp test {name}"),
        ),
    }
}
