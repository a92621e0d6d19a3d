//! What servers find in a file, and which of it is new.

use std::collections::HashMap;

use serde_json::Value;

use crate::domain::pluralise;

use super::connection::lsp_text;
use super::position::LspPosition;

/// The most findings that are kept of a file and a server.
const MAX_KEPT: usize = 2_000;

/// The most findings that are told of a file after a change.
const MAX_TOLD: usize = 10;

/// The most characters of a finding's text.
const MAX_MESSAGE: usize = 400;
const MAX_CODE: usize = 80;

/// How bad a finding is. The worst is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LspSeverity {
    Error,
    Warning,
    Information,
    Hint,
}

impl LspSeverity {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Information => "information",
            Self::Hint => "hint",
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LspDiagnostic {
    pub(super) at: LspPosition,
    pub(super) severity: LspSeverity,
    /// What found it; empty where the server does not say.
    source: String,
    code: String,
    message: String,
}

impl LspDiagnostic {
    /// Reads a list of findings; what is none is left out.
    pub(super) fn read_list(value: &Value) -> Vec<Self> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(Self::read).take(MAX_KEPT).collect()
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |key: &str, limit| match value.get(key) {
            Some(Value::String(text)) => lsp_text(text, limit),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
                String::new()
            }
        };
        Some(Self {
            at: LspPosition::read(value.get("range")?.get("start")?)?,
            severity: match value.get("severity").and_then(Value::as_u64) {
                Some(2) => LspSeverity::Warning,
                Some(3) => LspSeverity::Information,
                Some(4) => LspSeverity::Hint,
                Some(_) | None => LspSeverity::Error,
            },
            source: text("source", MAX_CODE),
            code: text("code", MAX_CODE),
            message: text("message", MAX_MESSAGE),
        })
    }

    /// The finding on one line, without its place: `error reportAttribute (Pyright): …`.
    pub(super) fn line(&self) -> String {
        let code = if self.code.is_empty() { String::new() } else { format!(" {}", self.code) };
        let source =
            if self.source.is_empty() { String::new() } else { format!(" ({})", self.source) };
        format!("{}{code}{source}: {}", self.severity.word(), self.message)
    }

    /// What stays the same when lines are put in before it.
    fn identity<'a>(&'a self, lines: &[&'a str]) -> [&'a str; 4] {
        let line = usize::try_from(self.at.line).ok().and_then(|at| lines.get(at));
        [&self.source, &self.code, &self.message, line.map_or("", |line| line.trim())]
    }
}

/// A file's findings with the text that they are about.
#[derive(Debug, Clone, Copy)]
pub(super) struct LspFindings<'a> {
    pub(super) text: &'a str,
    pub(super) items: &'a [LspDiagnostic],
}

/// Those findings after a change that were not there before it, the worst first. Two are the same if their
/// source, code, message and the text of their line are: numbers of lines move.
pub(super) fn new_findings(before: LspFindings<'_>, after: LspFindings<'_>) -> Vec<LspDiagnostic> {
    let lines: Vec<&str> = before.text.lines().collect();
    let mut known: HashMap<[&str; 4], usize> = HashMap::new();
    for item in before.items {
        *known.entry(item.identity(&lines)).or_default() += 1;
    }
    let lines: Vec<&str> = after.text.lines().collect();
    let mut new = Vec::new();
    for item in after.items {
        match known.get_mut(&item.identity(&lines)) {
            Some(count @ 1..) => *count -= 1,
            Some(0) | None if item.severity <= LspSeverity::Warning => new.push(item.clone()),
            Some(0) | None => {}
        }
    }
    new.sort_by_key(|item| (item.severity, item.at));
    new
}

/// What the model is told of new findings in the file that is shown as `path`.
pub(super) fn findings_text(path: &str, new: &[LspDiagnostic]) -> String {
    let mut text = format!("New diagnostics in {path} (found by language servers):");
    for item in new.iter().take(MAX_TOLD) {
        text.push_str(&format!("\n{}: {}", u64::from(item.at.line) + 1, item.line()));
    }
    if let more @ 1.. = new.len().saturating_sub(MAX_TOLD) {
        text.push_str(&format!("\n… and {}", pluralise(more, "more finding")));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(line: u32, severity: u64, message: &str) -> Value {
        json!({"range": {"start": {"line": line, "character": 0}}, "severity": severity,
               "source": "S", "code": 7, "message": message})
    }

    fn list(items: &[Value]) -> Vec<LspDiagnostic> {
        LspDiagnostic::read_list(&json!(items))
    }

    #[test]
    fn findings_are_read_leniently() {
        let all = list(&[
            item(1, 2, "a\nb\u{1b}[2J"),
            json!({"range": {"start": {"line": 0, "character": 0}}, "code": {"value": 1}}),
            json!({"message": "no range"}),
            json!(null),
        ]);
        let lines: Vec<String> = all.iter().map(LspDiagnostic::line).collect();
        assert_eq!(lines, ["warning 7 (S): a b␛[2J", "error: "]);
        assert_eq!(LspDiagnostic::read_list(&json!({})), []);
        let long = list(&[item(0, 1, &"x".repeat(9000))]);
        assert!(long[0].message.chars().count() <= MAX_MESSAGE + 1);
        assert_eq!(list(&vec![item(0, 1, ""); MAX_KEPT + 1]).len(), MAX_KEPT);
    }

    #[test]
    fn a_finding_that_only_moved_is_not_new() {
        let before = list(&[item(0, 1, "bad"), item(0, 1, "bad")]);
        let after = list(&[
            item(2, 1, "bad"),
            item(2, 2, "other"),
            item(0, 1, "bad"),
            item(2, 1, "bad"),
            item(2, 1, "bad"),
            item(1, 4, "a hint"),
        ]);
        let new = new_findings(
            LspFindings { text: "x = y\n", items: &before },
            LspFindings { text: "a\n\n  x = y\n", items: &after },
        );
        let told: Vec<_> = new.iter().map(|it| (it.at.line, it.line())).collect();
        assert_eq!(
            told,
            [
                (0, "error 7 (S): bad".to_owned()),
                (2, "error 7 (S): bad".to_owned()),
                (2, "warning 7 (S): other".to_owned())
            ]
        );
    }

    #[test]
    fn ten_are_told_and_the_rest_is_counted() {
        let many: Vec<Value> = (0..12).map(|at| item(at, 1, "m")).collect();
        let text = findings_text("a.py", &list(&many));
        assert_eq!(text.lines().count(), 12);
        assert!(text.starts_with("New diagnostics in a.py (found by language servers):\n1: error"));
        assert!(text.ends_with("\n… and 2 more findings"), "{text}");
    }
}
