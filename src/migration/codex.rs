//! The settings of Codex: what `config.toml` says about approval, and its rules about commands.

use serde_json::Value;

use super::{MigrationItem, shown};
use crate::domain::{RuleKind, jsonc};
use crate::permissions::Workspace;

/// The most rules that the alternatives of one pattern may make.
const MAX_ALTERNATIVES: usize = 32;

pub(super) fn config(text: &str) -> Result<Vec<MigrationItem>, String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.message().trim_end_matches('.').to_owned())?;
    let mut items = Vec::new();
    for (key, value) in &table {
        let value = match value.as_str() {
            Some(text) => format!("{key} {text}"),
            None => key.clone(),
        };
        let why = match key.as_str() {
            // Servers have an import of their own.
            "mcp_servers" => continue,
            "approval_policy" | "sandbox_mode" => "set `permission_mode` in ~/.slug/config.toml",
            "sandbox_workspace_write" => {
                "to run commands in a sandbox, set `permission_mode = \"sandbox\"`"
            }
            "model" | "model_provider" | "model_reasoning_effort" => {
                "choose one with /model and /effort"
            }
            "model_providers" => "add it with /connect",
            "profiles" | "profile" => "slug has no profiles; --config FILE reads another file",
            "notify" => "write a hook for Stop: docs/hooks.md",
            "projects" => "slug asks about each folder itself",
            _ => "not copied: slug does not know this setting",
        };
        items.push(MigrationItem::left(value, why));
    }
    Ok(items)
}

/// The rules of a file: each is a call `prefix_rule(pattern = [words], decision = "…")`. A word may be a
/// list of alternatives.
pub(super) fn rules(text: &str, workspace: &Workspace) -> Vec<MigrationItem> {
    let code: String = text.lines().map(|line| without_comment(line).to_owned() + "\n").collect();
    code.split("prefix_rule(").skip(1).flat_map(|call| rule(call, workspace)).collect()
}

fn rule(call: &str, workspace: &Workspace) -> Vec<MigrationItem> {
    let unclear = |why: &str| {
        let begin: String = call.split_whitespace().collect::<Vec<_>>().join(" ");
        let begin: String = begin.chars().take(60).collect();
        vec![MigrationItem::left(format!("prefix_rule({begin}"), why)]
    };
    let Some(words) = list(call, "pattern").and_then(|it| alternatives(&it)) else {
        return unclear("slug cannot read its pattern; write the rule with /permissions");
    };
    let kind = match word(call, "decision").as_deref() {
        None | Some("allow") => RuleKind::Allow,
        Some("prompt") => RuleKind::Ask,
        Some("forbidden") => RuleKind::Deny,
        Some(_) => return unclear("its decision is none of allow, prompt and forbidden"),
    };
    let rule = |words: Vec<String>| {
        let is_plain = words.iter().all(|it| {
            !it.is_empty()
                && !it.contains(|c: char| c.is_whitespace() || "*?[]{}()\\\"'".contains(c))
        });
        let words = words.join(" ");
        let name = format!("{} {words}", kind.word());
        match is_plain {
            true => MigrationItem::rule(name, kind, format!("Bash({words} *)"), workspace),
            false => MigrationItem::left(name, "its words have signs that mean something in rules"),
        }
    };
    words.into_iter().map(rule).collect()
}

/// A line up to a `#` outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    line
}

/// What stands behind `name =`.
fn value<'a>(call: &'a str, name: &str) -> Option<&'a str> {
    let (_, behind) = call.split_once(name)?;
    behind.trim_start().strip_prefix('=').map(str::trim_start)
}

fn word(call: &str, name: &str) -> Option<String> {
    let text = value(call, name)?;
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Some(text[1..].split(quote).next()?.to_owned())
}

/// A list of strings and lists of strings.
fn list(call: &str, name: &str) -> Option<Vec<Value>> {
    let text = value(call, name)?;
    let mut depth = 0_usize;
    let end = text.char_indices().find_map(|(at, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at + 1)
    })?;
    let document = jsonc::parse(&text[..end].replace('\'', "\"")).ok()?;
    document.value.as_array().cloned()
}

/// All commands that a pattern stands for; `None` where it is none, or there are too many.
fn alternatives(pattern: &[Value]) -> Option<Vec<Vec<String>>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for part in pattern {
        let words: Vec<String> = match part {
            Value::Array(words) => words.iter().map(shown).collect(),
            Value::String(word) => vec![word.clone()],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        };
        let longer = |before: &Vec<String>| {
            let before = before.clone();
            words
                .clone()
                .into_iter()
                .map(move |word| before.iter().cloned().chain([word]).collect::<Vec<String>>())
        };
        all = all.iter().flat_map(longer).collect();
        if all.is_empty() || all.len() > MAX_ALTERNATIVES {
            return None;
        }
    }
    (!pattern.is_empty()).then_some(all)
}
