//! Which language servers the folder has for the languages of its files.

use super::DoctorFinding;
use crate::lsp::{LspInstallState, LspSurveyRow};

const SUBJECT: &str = "lsp";

/// A finding for each server, and one that says when they start. A server that is missing does not keep
/// slug from working.
pub(super) fn check(rows: &[LspSurveyRow], is_trusted: bool) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> = rows.iter().map(of_row).collect();
    if !is_trusted && !findings.is_empty() {
        findings.push(DoctorFinding::ok(
            SUBJECT,
            "Language servers start only in a folder that you trust.",
        ));
    }
    findings
}

fn of_row(row: &LspSurveyRow) -> DoctorFinding {
    let LspSurveyRow { languages, server, state, install } = row;
    let languages = languages.join(", ");
    let remedy = match install.is_empty() {
        true => format!("Install it, or correct [lsp.{server}] in config.toml."),
        false => format!("Install it: {install}"),
    };
    match state {
        LspInstallState::Installed(Some(version)) => {
            DoctorFinding::ok(SUBJECT, format!("{languages}: {server} is installed: {version}."))
        }
        LspInstallState::Installed(None) => DoctorFinding::ok(
            SUBJECT,
            format!("{languages}: {server} is installed. It does not tell its version."),
        ),
        LspInstallState::Broken(why) => DoctorFinding::warn(
            SUBJECT,
            format!(
                "{languages}: {server} is installed but does not run: {}.",
                why.trim_end_matches(['.', '…'])
            ),
            remedy,
        ),
        LspInstallState::Missing(_) => DoctorFinding::warn(
            SUBJECT,
            format!("{languages}: the language server {server} is not installed."),
            remedy,
        ),
    }
}
