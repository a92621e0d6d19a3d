//! What each agent calls the keys of a server, and what it replaces in their values.
//!
//! Each function takes the keys that it understands out of the table, and returns them as slug calls
//! them; what is left in the table has no equal in slug.

use serde_json::{Map, Value, json};

use super::McpImportFormat;
use crate::platform::server_program::is_variable_name;

/// The keys whose texts agents replace variables in, as slug calls them.
const EXPANDED: [&str; 6] = ["command", "args", "env", "cwd", "url", "headers"];

/// The keys of a server as slug has them. What `table` still has afterwards was not understood.
///
/// # Errors
///
/// Fails, with a phrase, for a server that would be another one in slug.
pub(super) fn translated(
    format: McpImportFormat,
    table: &mut Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let (mut keys, convert): (_, TextConversion) = match format {
        McpImportFormat::ClaudeCode => (claude_code(table)?, |text| Ok(text.to_owned())),
        McpImportFormat::Codex => (codex(table)?, literal),
        McpImportFormat::Opencode => (opencode(table)?, opencode_text),
        McpImportFormat::Crush => (crush(table), crush_text),
        McpImportFormat::VsCode => (vs_code(table)?, vs_code_text),
    };
    for key in EXPANDED {
        if let Some(value) = keys.get_mut(key) {
            convert_texts(value, convert)?;
        }
    }
    if format == McpImportFormat::Codex {
        codex_variables(table, &mut keys)?;
    }
    Ok(keys)
}

/// Makes a text of another agent one that slug expands to the same; the error is a phrase.
type TextConversion = fn(&str) -> Result<String, String>;

fn convert_texts(value: &mut Value, convert: TextConversion) -> Result<(), String> {
    match value {
        Value::String(text) => *text = convert(text)?,
        Value::Array(items) => {
            return items.iter_mut().try_for_each(|item| convert_texts(item, convert));
        }
        Value::Object(keys) => {
            return keys.values_mut().try_for_each(|item| convert_texts(item, convert));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// Moves keys, each a pair of the agent's name and slug's.
fn take(table: &mut Map<String, Value>, names: &[(&str, &str)]) -> Map<String, Value> {
    let moved = names.iter().filter_map(|(from, to)| {
        let value = table.shift_remove(*from)?;
        Some(((*to).to_owned(), value))
    });
    moved.collect()
}

/// Moves keys that have the same name in slug.
fn take_same(table: &mut Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    take(table, &names.iter().map(|name| (*name, *name)).collect::<Vec<_>>())
}

fn claude_code(table: &mut Map<String, Value>) -> Result<Map<String, Value>, String> {
    if table.contains_key("headersHelper") {
        return Err("gets its headers from a command (`headersHelper`)".into());
    }
    let same = ["type", "command", "args", "env", "url", "headers", "timeout"];
    let mut keys = take_same(table, &same);
    keys.extend(take(table, &[("alwaysLoad", "always_load")]));
    Ok(keys)
}

fn codex(table: &mut Map<String, Value>) -> Result<Map<String, Value>, String> {
    let same =
        ["command", "args", "env", "cwd", "url", "enabled", "enabled_tools", "disabled_tools"];
    let mut keys = take_same(table, &same);
    keys.extend(take(table, &[("http_headers", "headers")]));
    if let Some(value) = table.shift_remove("startup_timeout_sec") {
        keys.insert("start_timeout".into(), seconds(&value, 1.0)?);
    }
    if let Some(value) = table.shift_remove("startup_timeout_ms") {
        keys.insert("start_timeout".into(), seconds(&value, 1000.0)?);
    }
    if let Some(value) = table.shift_remove("tool_timeout_sec") {
        keys.insert("timeout".into(), milliseconds(&value)?);
    }
    Ok(keys)
}

/// Codex names variables beside the values: these become references.
fn codex_variables(
    table: &mut Map<String, Value>,
    keys: &mut Map<String, Value>,
) -> Result<(), String> {
    let mut set = |part: &str, name: &str, value: String| {
        let part = keys.entry(part).or_insert_with(|| json!({}));
        if let Value::Object(part) = part {
            part.insert(name.to_owned(), Value::String(value));
        }
    };
    for item in
        table.shift_remove("env_vars").as_ref().and_then(Value::as_array).into_iter().flatten()
    {
        let source = item.get("source").and_then(Value::as_str);
        if source.is_some_and(|source| source != "local") {
            return Err("takes variables from elsewhere (`env_vars` with a `source`)".into());
        }
        let name = item.as_str().or_else(|| item.get("name").and_then(Value::as_str));
        let name = name.ok_or("has `env_vars` that are not names")?;
        set("env", name, format!("${{{name}}}"));
    }
    if let Some(name) = table.shift_remove("bearer_token_env_var") {
        let name = name.as_str().ok_or("has a `bearer_token_env_var` that is not a name")?;
        set("headers", "Authorization", format!("Bearer ${{{name}}}"));
    }
    let headers = table.shift_remove("env_http_headers");
    for (header, name) in headers.as_ref().and_then(Value::as_object).into_iter().flatten() {
        let name = name.as_str().ok_or("has `env_http_headers` that are not names")?;
        set("headers", header, format!("${{{name}}}"));
    }
    Ok(())
}

fn opencode(table: &mut Map<String, Value>) -> Result<Map<String, Value>, String> {
    let mut keys = take(
        table,
        &[
            ("environment", "env"),
            ("cwd", "cwd"),
            ("url", "url"),
            ("headers", "headers"),
            ("enabled", "enabled"),
            ("disabled", "disabled"),
        ],
    );
    match table.shift_remove("type").as_ref().and_then(Value::as_str) {
        Some("local" | "remote") | None => {}
        Some(_) => return Err("has an unknown type".into()),
    }
    match table.shift_remove("command") {
        None => {}
        Some(Value::Array(words)) => {
            let mut words = words.into_iter();
            keys.insert("command".into(), words.next().ok_or("has an empty `command`")?);
            keys.insert("args".into(), words.collect());
        }
        Some(_) => return Err("has a `command` that is not a list".into()),
    }
    if let Some(value) = table.shift_remove("timeout") {
        keys.insert("start_timeout".into(), seconds(&value, 1000.0)?);
    }
    Ok(keys)
}

fn crush(table: &mut Map<String, Value>) -> Map<String, Value> {
    let mut keys = take_same(
        table,
        &[
            "type",
            "command",
            "args",
            "env",
            "url",
            "headers",
            "disabled",
            "disabled_tools",
            "enabled_tools",
        ],
    );
    keys.extend(take(table, &[("timeout", "start_timeout")]));
    keys
}

fn vs_code(table: &mut Map<String, Value>) -> Result<Map<String, Value>, String> {
    if table.contains_key("envFile") {
        return Err("reads variables from a file (`envFile`)".into());
    }
    // slug starts servers in the working folder by itself.
    if table.get("cwd").and_then(Value::as_str) == Some("${workspaceFolder}") {
        table.shift_remove("cwd");
    }
    Ok(take_same(table, &["type", "command", "args", "env", "cwd", "url", "headers"]))
}

/// A time in seconds, at least one.
fn seconds(value: &Value, divisor: f64) -> Result<Value, String> {
    let number = value.as_f64().filter(|number| *number > 0.0 && *number < 1e9);
    let number = number.ok_or("has a time limit that is not a number")?;
    Ok(json!((number / divisor).ceil() as u64))
}

/// A number of seconds in milliseconds.
fn milliseconds(value: &Value) -> Result<Value, String> {
    match seconds(value, 1.0)?.as_u64() {
        Some(seconds) => Ok(json!(seconds * 1000)),
        None => Err("has a time limit that is not a number".into()),
    }
}

/// A text that the other agent takes as it is.
fn literal(text: &str) -> Result<String, String> {
    if text.contains("${") {
        return Err("has a `${…}` that slug would replace and the other agent does not".into());
    }
    Ok(text.to_owned())
}

/// `{env:NAME}` and `{file:PATH}`.
fn opencode_text(text: &str) -> Result<String, String> {
    literal(text)?;
    if text.contains("{file:") {
        return Err("has a value from a file (`{file:…}`)".into());
    }
    replaced(text, "{env:", |name| format!("${{{name}}}"))
}

/// `${env:NAME}`; `${input:ID}` and the others are known to VS Code alone.
fn vs_code_text(text: &str) -> Result<String, String> {
    // The sign that stands for a reference below.
    if text.contains('\u{0}') {
        return Err("has a value with a NUL".into());
    }
    let text = replaced(text, "${env:", |name| format!("\u{0}{name}}}"))?;
    let text = text.replace("${userHome}", "\u{0}HOME}");
    if text.contains("${input:") {
        return Err("asks for a value when it starts (`${input:…}`)".into());
    }
    if text.contains("${") {
        return Err("has a `${…}` that VS Code alone replaces".into());
    }
    Ok(text.replace('\u{0}', "${"))
}

/// Replaces `start` with a name and `}`.
fn replaced(text: &str, start: &str, by: impl Fn(&str) -> String) -> Result<String, String> {
    let mut parts = text.split(start);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part
            .split_once('}')
            .filter(|(name, _)| is_variable_name(name))
            .ok_or_else(|| format!("has a `{start}…}}` that does not name a variable"))?;
        out.push_str(&by(name));
        out.push_str(rest);
    }
    Ok(out)
}

/// crush gives each value to a shell. `$NAME` and `${NAME}` mean the same without one; slug runs none
/// for the rest.
fn crush_text(text: &str) -> Result<String, String> {
    const SHELL: &str = "has a value that a shell would have to expand";
    if !text.contains(['$', '`', '\\']) {
        return Ok(text.to_owned());
    }
    if text.contains(['`', '\\', '"', '\'']) {
        return Err(SHELL.into());
    }
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = match part.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or(SHELL)?,
            None => {
                let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                part.split_at(end.unwrap_or(part.len()))
            }
        };
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        if !is_variable_name(name) {
            return Err(SHELL.into());
        }
        match default {
            Some(default) => out.push_str(&format!("${{{name}:-{default}}}")),
            None => out.push_str(&format!("${{{name}}}")),
        }
        out.push_str(rest);
    }
    Ok(out)
}
