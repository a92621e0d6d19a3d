//! Definitions of other agents, read as slug's own. Nothing is run, nothing is looked up in the
//! environment, and nothing is written here.
//!
//! Where another agent would replace something in a value that slug cannot replace in the same way, the
//! server is skipped: a definition that means something else is worse than none. References to
//! variables stay references. No message has a value of a variable, a header or an argument.

mod dialects;

use std::path::Path;

use serde_json::{Map, Value};

use crate::domain::jsonc;
use crate::domain::secrets::{is_secret_name, is_secret_value};
use crate::platform::redact::{REDACTED, Redactor};

use super::definition::{McpDefinitionSource, McpDefinitions, McpServerDefinition, shell_word};
use super::names::model_server_name;

/// Another agent, by the form of its definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpImportFormat {
    ClaudeCode,
    Codex,
    Opencode,
    Crush,
    VsCode,
}

/// A server of another agent that slug can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportableServer {
    pub definition: McpServerDefinition,
    /// What goes into `[mcp.NAME]`. Values may be secrets.
    pub keys: Map<String, Value>,
    /// Sentences about what differs from the original, and about secrets that are copied.
    pub warnings: Vec<String>,
}

/// A server of another agent: how slug would have it, or why slug cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpImportEntry {
    pub name: String,
    /// The error is a phrase without a full stop.
    pub server: Result<Box<ImportableServer>, String>,
}

impl McpImportFormat {
    pub const ALL: [Self; 5] =
        [Self::ClaudeCode, Self::Codex, Self::Opencode, Self::Crush, Self::VsCode];

    /// The word on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Crush => "crush",
            Self::VsCode => "vscode",
        }
    }

    /// The name that the agent gives itself.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "opencode",
            Self::Crush => "crush",
            Self::VsCode => "VS Code",
        }
    }
}

/// Reads the servers in `text`, in the order in which they are written; `None` as `format` takes the
/// form from the keys of the text. `folder` is the one whose own servers Claude Code keeps in its file;
/// they come first.
///
/// # Errors
///
/// Fails, with a phrase, if the text is neither JSON nor TOML as the format needs it, or has no servers
/// in a form that slug knows.
pub fn read_import(
    format: Option<McpImportFormat>,
    text: &str,
    folder: &Path,
) -> Result<Vec<McpImportEntry>, String> {
    let document = match format {
        Some(McpImportFormat::Codex) => toml_value(text)?,
        Some(_) => json_value(text)?,
        None => json_value(text).or_else(|problem| toml_value(text).map_err(|_| problem))?,
    };
    let format = match format {
        Some(format) => format,
        None => detected(&document)
            .ok_or("has no MCP servers in the form of an agent that slug knows".to_owned())?,
    };
    let found = tables(format, &document, folder);
    Ok(found
        .into_iter()
        .map(|(name, value)| McpImportEntry {
            name: name.clone(),
            server: importable(format, name, value).map(Box::new),
        })
        .collect())
}

impl McpImportEntry {
    /// The same, or skipped if `taken` has the name, or one that rules could not tell from it.
    pub fn beside<'a>(self, taken: impl Iterator<Item = &'a str>) -> Self {
        let model_name = model_server_name(&self.name);
        let mut taken = taken.filter(|name| model_server_name(name) == model_name);
        let problem = taken.next().map(|other| match other == self.name {
            true => "there is a server of this name".to_owned(),
            false => format!("rules could not tell its name from that of the server {other:?}"),
        });
        match (problem, self.server) {
            (Some(problem), Ok(_)) => Self { name: self.name, server: Err(problem) },
            (_, server) => Self { name: self.name, server },
        }
    }
}

impl ImportableServer {
    /// What is started or reached, on one line, without what looks like a secret among the arguments.
    pub fn summary(&self) -> String {
        let words = self.definition.words();
        if words.is_empty() {
            return self.definition.summary();
        }
        let secret = secret_words(&words);
        let shown = words.iter().zip(secret).map(|(word, is_secret)| match word.split_once('=') {
            _ if !is_secret => Redactor::default().text(&shell_word(word)),
            Some((name, _)) if name.starts_with('-') => format!("{name}={REDACTED}"),
            Some(_) | None => REDACTED.to_owned(),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
}

fn json_value(text: &str) -> Result<Value, String> {
    jsonc::parse(text).map(|document| document.value).map_err(|error| error.to_string())
}

/// What goes wrong in a TOML file is told by its line alone: the parser's own text repeats the line,
/// which may have a key.
fn toml_value(text: &str) -> Result<Value, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("not valid TOML (line {})", before.lines().count().max(1))
    })
}

/// Whose form a document has, by the keys at its top.
fn detected(document: &Value) -> Option<McpImportFormat> {
    let top = document.as_object()?;
    let is_command_list = |server: &Value| {
        server.get("command").is_some_and(Value::is_array)
            || matches!(server.get("type").and_then(Value::as_str), Some("local" | "remote"))
    };
    let servers = |key: &str| top.get(key).and_then(Value::as_object);
    if servers("mcp_servers").is_some() {
        Some(McpImportFormat::Codex)
    } else if servers("mcpServers").is_some() || servers("projects").is_some() {
        Some(McpImportFormat::ClaudeCode)
    } else if servers("servers").is_some() {
        Some(McpImportFormat::VsCode)
    } else if let Some(servers) = servers("mcp") {
        let is_opencode = servers.get("servers").is_some_and(Value::is_object)
            || servers.values().any(is_command_list);
        Some(if is_opencode { McpImportFormat::Opencode } else { McpImportFormat::Crush })
    } else {
        // As plugins of Claude Code have them.
        let is_server = |it: &Value| it.get("command").is_some() || it.get("url").is_some();
        (!top.is_empty() && top.values().all(is_server)).then_some(McpImportFormat::ClaudeCode)
    }
}

/// The servers of a document by name, as they are written.
fn tables<'a>(
    format: McpImportFormat,
    document: &'a Value,
    folder: &Path,
) -> Vec<(&'a String, &'a Value)> {
    let of = |value: Option<&'a Value>| value.and_then(Value::as_object).into_iter().flatten();
    match format {
        McpImportFormat::ClaudeCode => {
            let local = document["projects"].get(folder.to_string_lossy().as_ref());
            let local = of(local.and_then(|project| project.get("mcpServers")));
            let top = document.as_object().filter(|top| {
                !["mcpServers", "projects"].iter().any(|key| top.contains_key(*key))
                    && detected(document) == Some(McpImportFormat::ClaudeCode)
            });
            let bare = top.into_iter().flatten();
            local.chain(of(document.get("mcpServers"))).chain(bare).collect()
        }
        McpImportFormat::Codex => of(document.get("mcp_servers")).collect(),
        McpImportFormat::VsCode => of(document.get("servers")).collect(),
        McpImportFormat::Crush => of(document.get("mcp")).collect(),
        McpImportFormat::Opencode => {
            // A server of the first form has a command or an address.
            let nested = document["mcp"].get("servers").filter(|it| {
                !["type", "command", "url"]
                    .iter()
                    .any(|key| it.get(key).is_some_and(|it| !it.is_object()))
            });
            of(nested.or(document.get("mcp"))).collect()
        }
    }
}

fn importable(
    format: McpImportFormat,
    name: &str,
    value: &Value,
) -> Result<ImportableServer, String> {
    let Value::Object(written) = value else { return Err("is not a table".into()) };
    let mut rest = written.clone();
    let mut keys = dialects::translated(format, &mut rest)?;
    keys.retain(|_, value| !value.is_null());
    let table = Map::from_iter([(name.to_owned(), Value::Object(keys.clone()))]);
    let mut read = McpDefinitions::read_table(&table, McpDefinitionSource::User, "");
    let about = format!("The MCP server {name:?} ");
    let problems = read.problems.iter().map(|problem| {
        let problem = problem.trim_start_matches(": ");
        problem.strip_prefix(&about).unwrap_or(problem).trim_end_matches('.').to_owned()
    });
    let mut warnings: Vec<String> = problems.collect();
    let Some(definition) = read.servers.pop() else {
        return Err(warnings.pop().unwrap_or_else(|| "is not a server that slug can use".into()));
    };
    if !rest.is_empty() {
        let names: Vec<String> = rest.keys().map(|key| format!("`{key}`")).collect();
        warnings.push(format!("slug has nothing like {}, and leaves it out", names.join(", ")));
    }
    warnings.extend(copied_secrets(&keys, &definition));
    Ok(ImportableServer { definition, keys, warnings })
}

/// Sentences that name each value which may be a secret and is copied as it is.
fn copied_secrets(keys: &Map<String, Value>, definition: &McpServerDefinition) -> Vec<String> {
    const COPIED: &str = "may be a secret, and is copied as it is into your config.toml";
    let texts = |key: &str| {
        let table = keys.get(key).and_then(Value::as_object).into_iter().flatten();
        table.filter_map(|(name, value)| Some((name, value.as_str()?))).collect::<Vec<_>>()
    };
    let mut found = Vec::new();
    for (name, value) in texts("env") {
        if is_literal(value) && (is_secret_name(name) || is_secret_value(value)) {
            found.push(format!("the value of env.{name} {COPIED}"));
        }
    }
    for (name, value) in texts("headers") {
        let is_plain = ["content-type", "user-agent", "accept-language"]
            .iter()
            .any(|plain| name.eq_ignore_ascii_case(plain));
        if is_literal(value) && !is_plain {
            found.push(format!("the value of headers.{name} {COPIED}"));
        }
    }
    let words = definition.words();
    let has_shape = words.iter().any(|word| Redactor::default().text(word) != *word);
    if has_shape || secret_words(&words).contains(&true) {
        found.push(format!("something in args {COPIED}"));
    }
    let url = keys.get("url").and_then(Value::as_str).unwrap_or_default();
    let (start, query) = url.split_once('?').unwrap_or((url, ""));
    let user = start.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    if is_literal(query) && !query.is_empty() || user.is_some_and(|user| user.contains('@')) {
        found.push(format!("something in url {COPIED}"));
    }
    found
}

/// Whether a value has more than references to variables and the word before a token.
fn is_literal(value: &str) -> bool {
    let mut rest = value.to_owned();
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        // A default is written out.
        if rest[start..start + length].contains(":-") {
            return true;
        }
        rest.replace_range(start..=start + length, "");
    }
    let rest = rest.trim().to_ascii_lowercase();
    !["", "bearer", "basic", "token"].contains(&&*rest)
}

/// Which words of a command are secrets by the option that they belong to.
fn secret_words(words: &[String]) -> Vec<bool> {
    let mut option = None;
    let each = words.iter().map(|word| {
        let own = word.starts_with('-').then(|| word.split_once('=').unwrap_or((word, "")));
        let (name, value) = match (own, option.take()) {
            (Some((name, "")), _) => {
                option = Some(name);
                return false;
            }
            (Some(own), _) => own,
            (None, Some(name)) => (name, word.as_str()),
            (None, None) => return false,
        };
        let is_header = ["--header", "-H"].contains(&name);
        // The name of a header stands in the value.
        let value = value.split_once(':').filter(|_| is_header).map_or(value, |(_, it)| it);
        let name = name.trim_start_matches('-').replace('-', "_");
        (is_header || is_secret_name(&name)) && is_literal(value)
    });
    each.collect()
}

#[cfg(test)]
mod tests;
