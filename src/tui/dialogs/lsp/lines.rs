//! The words about language servers, which the page and the line mode share. Whatever a server says is
//! made harmless here.

use std::path::Path;

use crate::domain::pluralise;
use crate::domain::sanitize::sanitize_line;
use crate::lsp::{LspDefinitionSource, LspServerPhase, LspServerStatus};
use crate::tui::app::conversation::title::home_path;
use crate::tui::layout::StyleRole;

/// What is shown where there are no servers.
pub const NO_SERVERS: &str = "No language servers here: they start only in a folder that you trust.\n\
     Start slug with --trust-workspace, or put [lsp.NAME] into config.toml, so that slug asks.";

/// The most lines of standard error that are shown.
const MAX_ERROR_LINES: usize = 20;

/// The name of a server.
pub fn name(server: &LspServerStatus) -> String {
    sanitize_line(&server.name)
}

/// The state of a server, in one or two words.
pub fn state(server: &LspServerStatus) -> (&'static str, StyleRole) {
    match &server.phase {
        LspServerPhase::NotNeeded => ("not needed yet", StyleRole::Muted),
        LspServerPhase::NotInstalled(_) => ("not installed", StyleRole::Muted),
        LspServerPhase::Starting => ("starting", StyleRole::Warning),
        LspServerPhase::Ready if server.is_busy => ("loading", StyleRole::Warning),
        LspServerPhase::Ready => ("ready", StyleRole::Success),
        LspServerPhase::Stopped => ("stopped", StyleRole::Warning),
        LspServerPhase::Failed(_) => ("failed", StyleRole::Error),
    }
}

/// Who has defined a server; empty for slug.
pub fn owner(server: &LspServerStatus) -> &'static str {
    match server.source {
        LspDefinitionSource::User => "yours",
        LspDefinitionSource::Project => "this project's",
        LspDefinitionSource::BuiltIn => "",
    }
}

/// The errors and warnings in the open files; empty for a server that does not run.
pub fn findings(server: &LspServerStatus) -> (String, StyleRole) {
    let counts = server.counts;
    let parts = [(counts.errors, "error"), (counts.warnings, "warning")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let text: Vec<String> = parts.map(|(count, noun)| pluralise(count, noun)).collect();
    let role = match (counts.errors, counts.warnings) {
        (1.., _) => StyleRole::Error,
        (0, 1..) => StyleRole::Warning,
        (0, 0) => StyleRole::Muted,
    };
    (text.join(", "), role)
}

/// The languages of a server.
pub fn languages(server: &LspServerStatus) -> String {
    sanitize_line(&server.languages.join(", "))
}

/// All that is known of a server, by rows; each may take several. `home` is the user's.
pub fn details(server: &LspServerStatus, home: Option<&Path>) -> Vec<(String, StyleRole)> {
    let mut rows = vec![(about(server), StyleRole::Strong)];
    if let Some((text, role)) = advice(server) {
        rows.push((text, role));
    }
    let mut pair = |label: &str, text: &str| {
        rows.push((format!("{label:<10} {}", sanitize_line(text)), StyleRole::Text));
    };
    if let Some(root) = &server.root {
        pair("folder", &home_path(root, home));
    }
    if server.phase == LspServerPhase::Ready {
        let found = Some(findings(server).0).filter(|text| !text.is_empty());
        let found = found.unwrap_or_else(|| "no errors or warnings".to_owned());
        pair("files", &format!("{} open, {found}", server.counts.files));
    }
    pair("languages", &languages(server));
    pair("starts", &server.command);
    let said: Vec<&str> = server.error_output.lines().filter(|it| !it.trim().is_empty()).collect();
    if !said.is_empty() {
        rows.push((String::new(), StyleRole::Text));
        rows.push(("The end of its standard error".to_owned(), StyleRole::Heading(2)));
        let last = said.len().saturating_sub(MAX_ERROR_LINES);
        let said = said[last..].iter().map(|line| format!("  {}", sanitize_line(line)));
        rows.extend(said.map(|line| (line, StyleRole::Muted)));
    }
    rows
}

/// The name of a server, and what it calls itself.
fn about(server: &LspServerStatus) -> String {
    let name = name(server);
    let told = sanitize_line(&server.implementation);
    let about = if told.is_empty() { name } else { format!("{name}: {told}") };
    match owner(server) {
        "" => about,
        owner => format!("{about} ({owner})"),
    }
}

/// Why a server is in its state, and what the user can do.
pub fn advice(server: &LspServerStatus) -> Option<(String, StyleRole)> {
    let text = match &server.phase {
        LspServerPhase::NotNeeded => {
            "Installed. It starts with the first change of a file in one of its languages."
        }
        LspServerPhase::NotInstalled(why) => return Some((to_user(why), StyleRole::Text)),
        LspServerPhase::Failed(why) => return Some((to_user(why), StyleRole::Error)),
        LspServerPhase::Starting => "It is starting. You can go on working.",
        LspServerPhase::Ready if server.is_busy => "The server is still loading the project.",
        LspServerPhase::Ready => return None,
        LspServerPhase::Stopped => "You have stopped it. Restart it to use it again.",
    };
    Some((text.to_owned(), StyleRole::Muted))
}

/// A reason as the model is told it, for the user.
fn to_user(why: &str) -> String {
    sanitize_line(&why.replace("The user can install it:", "Install it:"))
}
