//! What is probably wrong with a rule that can be read: a tool that is not there, or a path that nothing has.
//! Such a rule holds as it is written; a warning says what to write instead.

use crate::domain::nearest;

use super::file_family::FileToolFamily;
use super::tool_names::{OTHER_NAMES, OWN_TOOLS, own_name, parts};

/// What is wrong with a rule, and what to write instead; `None` where nothing is.
pub(super) fn advice(rule: &str) -> Option<String> {
    let (tool, pattern) = parts(rule)?;
    if tool.starts_with("mcp__") {
        return None;
    }
    let Some(own) = own_name(tool) else {
        let lower = tool.to_lowercase();
        let others = OTHER_NAMES.map(|(other, _)| other);
        let names: Vec<String> =
            OWN_TOOLS.into_iter().chain(others).map(str::to_lowercase).collect();
        let near = nearest(&lower, names.iter().map(String::as_str)).and_then(own_name);
        let instead = near.map_or_else(
            || "Rules name tools as docs/tools.md does".to_owned(),
            |near| format!("Write `{near}`"),
        );
        return Some(format!(
            "`{rule}` has no effect, because there is no tool `{tool}`. {instead}, or \
             `mcp__SERVER__TOOL` for a tool of a server."
        ));
    };
    FileToolFamily::of(own)?;
    let pattern = pattern?;
    let listed = split_at_commas(pattern);
    if let [_, _, ..] = listed[..] {
        let rules = listed.iter().map(|it| format!("`{tool}({})`", corrected(it)));
        let rules = rules.collect::<Vec<_>>().join(" and ");
        return Some(format!(
            "in `{rule}` the comma is part of one name. For several paths write one rule each, {rules}; \
             for a name with a comma write `\\,`."
        ));
    }
    let corrected = corrected(pattern);
    (corrected != pattern).then(|| {
        format!(
            "`{rule}` can never match, because no path is written so. Write `{tool}({corrected})`."
        )
    })
}

/// The parts of a pattern between commas that are neither in braces or brackets nor behind a backslash.
fn split_at_commas(pattern: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut is_escaped) = (Vec::new(), 0, 0_usize, false);
    for (at, c) in pattern.char_indices() {
        match c {
            _ if is_escaped => {}
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&pattern[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    parts.push(&pattern[start..]);
    parts
}

/// The pattern that was meant: without blanks and quotes around it, and as paths are compared, which have
/// neither empty parts nor a `.` as one.
fn corrected(pattern: &str) -> String {
    let pattern = pattern.trim();
    let quoted = |mark: char| pattern.strip_prefix(mark)?.strip_suffix(mark);
    let pattern = quoted('"').or_else(|| quoted('\'')).unwrap_or(pattern).trim();
    let home = ["$HOME/", "${HOME}/"].into_iter().find_map(|start| pattern.strip_prefix(start));
    let (start, rest) = if pattern == "~" || pattern == "$HOME" {
        ("~/", "")
    } else if let Some(rest) = home.or_else(|| pattern.strip_prefix("~/")) {
        ("~/", rest)
    } else if pattern.starts_with('/') {
        // All slashes at the beginning count as one.
        (&pattern[..pattern.len() - pattern.trim_start_matches('/').len()], pattern)
    } else if pattern.starts_with("./") {
        ("./", pattern)
    } else {
        ("", pattern)
    };
    let end = if rest.ends_with('/') && !rest.trim_matches('/').is_empty() { "/" } else { "" };
    let parts = rest.split('/').filter(|part| !part.is_empty() && *part != ".");
    let rest = parts.collect::<Vec<_>>().join("/");
    match (start, rest.is_empty()) {
        ("" | "./", true) => "./".to_owned(),
        (_, true) => start.to_owned(),
        (_, false) => format!("{start}{rest}{end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_on_a_tool_that_is_not_there_is_told_and_others_are_not() {
        for (rule, told) in [
            ("Tsk", "Write `Agent`"),
            ("Agents", "Write `Agent`"),
            ("web_serch", "Write `WebSearch`"),
            ("Frobnicate", "Rules name tools"),
            ("ReadMcpResource", "mcp__SERVER__TOOL"),
        ] {
            let advice = advice(rule).unwrap_or_default();
            assert!(advice.contains(told) && advice.contains(rule), "{rule}: {advice}");
        }
        for rule in ["Task", "task", "Agent", "todo-write", "MultiEdit", "mcp__x", "mcp__x__*"] {
            assert_eq!(advice(rule), None, "{rule}");
        }
    }

    #[test]
    fn a_path_that_nothing_has_is_told_with_what_to_write() {
        for (rule, meant) in [
            ("Read( .env )", "`Read(.env)`"),
            ("Read(.env,f.txt)", "`Read(.env)` and `Read(f.txt)`"),
            ("read(a, {b,c})", "`read(a)` and `read({b,c})`"),
            ("Read(.//.env)", "`Read(./.env)`"),
            ("Read(././.env)", "`Read(./.env)`"),
            ("Edit(src//x/)", "`Edit(src/x/)`"),
            ("Edit(src/./x)", "`Edit(src/x)`"),
            ("Write(/etc//x)", "`Write(/etc/x)`"),
            ("Grep(~//x)", "`Grep(~/x)`"),
            ("Read(~)", "`Read(~/)`"),
            ("Read($HOME/.ssh)", "`Read(~/.ssh)`"),
            ("Read(\".env\")", "`Read(.env)`"),
            ("Read(.)", "`Read(./)`"),
        ] {
            let advice = advice(rule).unwrap_or_default();
            assert!(advice.contains(meant) && advice.contains(rule), "{rule}: {advice}");
        }
        for rule in [
            "Read",
            "Read(.env)",
            "Read(./.env)",
            "Read(**/.env)",
            "Read(src/)",
            "Read(./)",
            "Read(/)",
            "Read(//etc/x)",
            "Read(~/)",
            "Read(~/.ssh/**)",
            "Read(*.{a,b})",
            "Read([,]x)",
            "Read(a\\,b)",
            "Read(a b/c d.txt)",
            "Bash(a, b)",
            "Bash( x )",
            "WebFetch(domain:x.org)",
        ] {
            assert_eq!(advice(rule), None, "{rule}");
        }
    }
}
