//! Prints the findings, as text or as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{DoctorFinding, DoctorStatus};
use crate::domain::strip_invisible;

/// Writes one line for each finding, with its remedy below.
///
/// # Errors
///
/// When writing to `out` fails.
pub fn write_text(findings: &[DoctorFinding], out: &mut dyn Write) -> io::Result<()> {
    let width = findings.iter().map(|finding| finding.subject.len()).max().unwrap_or_default();
    for finding in findings {
        let DoctorFinding { subject, state, text, remedy } = finding;
        writeln!(out, "{:4}  {subject:width$}  {}", name(*state), line(text))?;
        if let Some(remedy) = remedy {
            writeln!(out, "{:4}  {:width$}  → {}", "", "", line(remedy))?;
        }
    }
    Ok(())
}

/// Writes `[{"subject","state":"ok"|"warn"|"fail","text","remedy"}]` on one line.
///
/// # Errors
///
/// When writing to `out` fails.
pub fn write_json(findings: &[DoctorFinding], out: &mut dyn Write) -> io::Result<()> {
    let findings: Vec<Value> = findings
        .iter()
        .map(|it| {
            json!({"subject": it.subject, "state": name(it.state), "text": it.text,
                   "remedy": it.remedy})
        })
        .collect();
    writeln!(out, "{}", Value::Array(findings))
}

fn name(state: DoctorStatus) -> &'static str {
    match state {
        DoctorStatus::Ok => "ok",
        DoctorStatus::Warn => "warn",
        DoctorStatus::Fail => "fail",
    }
}

/// Makes a text safe for the terminal: it may hold names and messages that come from servers.
fn line(text: &str) -> String {
    strip_invisible(&text.replace(['\n', '\t'], " ")).text.into_owned()
}
