//! How a server is defined: read from `.mcp.json` and from the `[mcp]` tables of the configuration,
//! which have the same keys.
//!
//! Each server is read by itself: a mistake in one leaves the others. Variables stay unexpanded here,
//! because what the user is shown, asked about and what is hashed is the text as it is written;
//! [`McpServerDefinition::expanded`] is only for the moment of the start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::{ContentHash, jsonc};

use super::login::McpLoginSettings;
use super::names::{is_distinct, model_server_name};

/// How long a server may take to start: the first run of `npx` downloads its packages.
const DEFAULT_START_LIMIT: Duration = Duration::from_secs(30);

/// How long a call may go without a sign of progress, and how long it may take in all.
const DEFAULT_IDLE_LIMIT: Duration = Duration::from_secs(5 * 60);
const DEFAULT_TOTAL_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Below this a `timeout` in milliseconds is a number of seconds that somebody forgot to multiply.
const MIN_TIMEOUT_MS: u64 = 1000;

/// Headers that the protocol itself sends: setting them fails every request.
const PROTOCOL_HEADERS: [&str; 3] = ["accept", "mcp-session-id", "last-event-id"];

/// A server that is defined in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerDefinition {
    pub name: String,
    pub source: McpDefinitionSource,
    pub transport: McpTransport,
    pub is_enabled: bool,
    /// Only these tools are taken in; `None`: all of them.
    pub enabled_tools: Option<BTreeSet<String>>,
    pub disabled_tools: BTreeSet<String>,
    /// Whether its tools are in the tools array from the start of a session on.
    pub always_load: bool,
    pub limits: McpTimeLimits,
    pub login: McpLoginSettings,
}

/// Where a definition is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpDefinitionSource {
    /// The user's own configuration.
    User,
    /// The folder's `.mcp.json`: each of its servers needs a yes of its own.
    Project,
}

/// How slug reaches a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum McpTransport {
    /// A program whose standard input and output carry the messages.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// The folder in which it starts; `None`: the working folder.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http { url: String, headers: BTreeMap<String, String> },
    /// HTTP+SSE, of servers up to revision 2024-11-05.
    Sse { url: String, headers: BTreeMap<String, String> },
}

/// How long slug waits for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpTimeLimits {
    pub start: Duration,
    /// Without a sign of progress.
    pub idle: Duration,
    pub total: Duration,
}

impl Default for McpTimeLimits {
    fn default() -> Self {
        Self { start: DEFAULT_START_LIMIT, idle: DEFAULT_IDLE_LIMIT, total: DEFAULT_TOTAL_LIMIT }
    }
}

/// The definitions of a file, and what is wrong with the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpDefinitions {
    /// By name.
    pub servers: Vec<McpServerDefinition>,
    /// Sentences that name the server and the key.
    pub problems: Vec<String>,
}

impl McpDefinitions {
    /// Reads the text of a `.mcp.json`; comments are allowed.
    pub fn read_file(text: &str) -> Self {
        let problem = |text: String| Self { servers: Vec::new(), problems: vec![text] };
        let document = match jsonc::parse(text) {
            Ok(document) => document.value,
            Err(mistake) => return problem(format!("Cannot read .mcp.json: {mistake}.")),
        };
        match document.get("mcpServers") {
            Some(Value::Object(servers)) => {
                Self::read_table(servers, McpDefinitionSource::Project, ".mcp.json")
            }
            Some(_) => problem("`mcpServers` in .mcp.json is not an object.".into()),
            None => problem("There are no `mcpServers` in .mcp.json.".into()),
        }
    }

    /// Reads servers by name, from the place that `file` names.
    pub fn read_table(
        servers: &Map<String, Value>,
        source: McpDefinitionSource,
        file: &str,
    ) -> Self {
        let mut found = Self::default();
        for (name, value) in servers {
            match read_server(name, value, source) {
                Ok((server, warnings)) => {
                    found.servers.push(server);
                    found.problems.extend(warnings.into_iter().map(|it| format!("{file}: {it}")));
                }
                Err(problem) => found.problems.push(format!("{file}: {problem}")),
            }
        }
        found.servers.sort_by(|a, b| a.name.cmp(&b.name));
        Self::default().with(found)
    }

    /// These, and those of `others` that no rule could mistake for one of these.
    pub fn with(mut self, others: Self) -> Self {
        self.problems.extend(others.problems);
        for server in others.servers {
            let model_name = model_server_name(&server.name);
            let same = self.servers.iter().find(|it| model_server_name(&it.name) == model_name);
            match same {
                None => self.servers.push(server),
                Some(first) if first.name == server.name => {}
                Some(first) => self.problems.push(format!(
                    "The MCP server {:?} is left out: rules cannot tell it from {:?}. Give it another \
                     name.",
                    server.name, first.name
                )),
            }
        }
        self
    }
}

impl McpServerDefinition {
    /// A hash of what the user agrees to: where the server is and how it starts, as it is written.
    pub fn hash(&self) -> ContentHash {
        let mut text = serde_json::to_string(&self.transport).unwrap_or_default();
        // Definitions without it keep the hash that they had before there was a login.
        if self.login != McpLoginSettings::default() {
            text.push_str(&serde_json::to_string(&self.login).unwrap_or_default());
        }
        ContentHash::of(text.as_bytes())
    }

    /// What is started or reached, on one line, with variables as they are written and without the
    /// values of environment variables and headers.
    pub fn summary(&self) -> String {
        match &self.transport {
            McpTransport::Stdio { .. } => {
                self.words().iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
            }
            McpTransport::Http { url, .. } | McpTransport::Sse { url, .. } => without_query(url),
        }
    }

    /// The words of the command; none for an address.
    pub(super) fn words(&self) -> Vec<String> {
        match &self.transport {
            McpTransport::Stdio { command, args, .. } => {
                std::iter::once(command).chain(args).cloned().collect()
            }
            McpTransport::Http { .. } | McpTransport::Sse { .. } => Vec::new(),
        }
    }

    /// The names of environment variables and headers that are sent along.
    pub fn sent_names(&self) -> Vec<&str> {
        match &self.transport {
            McpTransport::Stdio { env: names, .. }
            | McpTransport::Http { headers: names, .. }
            | McpTransport::Sse { headers: names, .. } => {
                names.keys().map(String::as_str).collect()
            }
        }
    }

    /// Whether a tool of this name is taken in.
    pub fn takes(&self, tool: &str) -> bool {
        self.enabled_tools.as_ref().is_none_or(|enabled| enabled.contains(tool))
            && !self.disabled_tools.contains(tool)
    }

    /// How slug logs in, with `${VAR}` replaced.
    pub(super) fn expanded_login(
        &self,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> McpLoginSettings {
        let mut missing = BTreeSet::new();
        let mut expand = |text: &String| expand(text, lookup, &mut missing);
        McpLoginSettings {
            client_id: self.login.client_id.as_ref().map(&mut expand),
            client_secret: self.login.client_secret.as_ref().map(&mut expand),
            ..self.login.clone()
        }
    }

    /// The transport with `${VAR}` and `${VAR:-default}` replaced, and the names of variables that are
    /// not set, which stay as they are written.
    pub fn expanded(
        &self,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> (McpTransport, BTreeSet<String>) {
        let mut missing = BTreeSet::new();
        let mut expand = |text: &str| expand(text, lookup, &mut missing);
        let mut expand_all = |texts: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            texts.iter().map(|(name, text)| (name.clone(), expand(text))).collect()
        };
        let transport = match &self.transport {
            McpTransport::Stdio { command, args, env, cwd } => McpTransport::Stdio {
                env: expand_all(env),
                command: expand(command),
                args: args.iter().map(|arg| expand(arg)).collect(),
                cwd: cwd.clone(),
            },
            McpTransport::Http { url, headers } => {
                McpTransport::Http { headers: expand_all(headers), url: expand(url) }
            }
            McpTransport::Sse { url, headers } => {
                McpTransport::Sse { headers: expand_all(headers), url: expand(url) }
            }
        };
        (transport, missing)
    }
}

/// Reads one server; besides it, sentences about keys that were left out.
fn read_server(
    name: &str,
    value: &Value,
    source: McpDefinitionSource,
) -> Result<(McpServerDefinition, Vec<String>), String> {
    let wrong = |what: &str| format!("The MCP server {name:?} {what}.");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-. ".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(wrong(
            "has a name that is not 1 to 64 letters, digits, `_`, `-`, `.` or spaces",
        ));
    }
    if !is_distinct(name) {
        return Err(wrong(
            "has a name that rules cannot tell from others: it begins or ends with `_`, `.` or a space, \
             or has two of them in a row. Give it another name",
        ));
    }
    let Value::Object(keys) = value else { return Err(wrong("is not a table")) };
    let text = |key: &str| match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(&format!("needs a text as `{key}`"))),
    };
    let texts = |key: &str| match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => serde_json::from_value::<Vec<String>>(value.clone())
            .map(Some)
            .map_err(|_| wrong(&format!("needs a list of texts as `{key}`"))),
    };
    let table = |key: &str| match keys.get(key) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(value) => serde_json::from_value::<BTreeMap<String, String>>(value.clone())
            .map_err(|_| wrong(&format!("needs a table of texts as `{key}`"))),
    };
    let flag = |key: &str| match keys.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(wrong(&format!("needs true or false as `{key}`"))),
    };
    let kind = text("type")?;
    let transport = match (kind.as_deref(), text("command")?, text("url")?) {
        (Some("stdio") | None, Some(command), None) if !command.trim().is_empty() => {
            McpTransport::Stdio {
                command,
                args: texts("args")?.unwrap_or_default(),
                env: table("env")?,
                cwd: text("cwd")?.map(PathBuf::from),
            }
        }
        (Some("http" | "streamable-http" | "streamableHttp" | "sse") | None, None, Some(url)) => {
            let headers = table("headers")?;
            let own = headers
                .keys()
                .find(|it| PROTOCOL_HEADERS.iter().any(|header| it.eq_ignore_ascii_case(header)));
            if let Some(header) = own {
                return Err(wrong(&format!("sets the header `{header}`, which the protocol sets")));
            }
            match kind.as_deref() {
                Some("sse") => McpTransport::Sse { url, headers },
                Some(_) | None => McpTransport::Http { url, headers },
            }
        }
        (Some(kind @ ("stdio" | "http" | "streamable-http" | "streamableHttp" | "sse")), _, _) => {
            let needed = if kind == "stdio" { "command" } else { "url" };
            return Err(wrong(&format!("needs `{needed}` and nothing of the other kind")));
        }
        (Some(kind), _, _) => return Err(wrong(&format!("has the unknown type {kind:?}"))),
        (None, _, _) => return Err(wrong("needs either `command` or `url`")),
    };
    let mut warnings = Vec::new();
    let mut limits = McpTimeLimits::default();
    match keys.get("timeout") {
        None | Some(Value::Null) => {}
        Some(value) => match value.as_u64() {
            Some(ms) if ms >= MIN_TIMEOUT_MS => {
                limits.total = Duration::from_millis(ms);
                limits.idle = limits.idle.min(limits.total);
            }
            Some(_) => {
                warnings.push(wrong("has a `timeout` under 1000 milliseconds, which is ignored"));
            }
            None => return Err(wrong("needs a number of milliseconds as `timeout`")),
        },
    }
    for (key, limit) in [("start_timeout", &mut limits.start), ("idle_timeout", &mut limits.idle)] {
        match keys.get(key) {
            None | Some(Value::Null) => {}
            Some(value) => match value.as_u64().filter(|seconds| *seconds > 0) {
                Some(seconds) => *limit = Duration::from_secs(seconds),
                None => return Err(wrong(&format!("needs a number of seconds as `{key}`"))),
            },
        }
    }
    let (login, mut unused) = match keys.get("oauth") {
        None | Some(Value::Null) => (McpLoginSettings::default(), Vec::new()),
        Some(value) => {
            let (login, unused) = McpLoginSettings::read(value).map_err(|what| wrong(&what))?;
            (login, unused.into_iter().map(|key| format!("oauth.{key}")).collect())
        }
    };
    unused.extend(keys.contains_key("headersHelper").then(|| "headersHelper".to_owned()));
    for key in unused {
        warnings.push(wrong(&format!("has `{key}`, which slug does not use")));
    }
    let is_enabled = match (flag("enabled")?, flag("disabled")?) {
        (Some(enabled), _) => enabled,
        (None, disabled) => disabled != Some(true),
    };
    let server = McpServerDefinition {
        name: name.to_owned(),
        source,
        transport,
        is_enabled,
        enabled_tools: texts("enabled_tools")?.map(|names| names.into_iter().collect()),
        disabled_tools: texts("disabled_tools")?.unwrap_or_default().into_iter().collect(),
        always_load: flag("always_load")?.or(flag("alwaysLoad")?).unwrap_or(false),
        limits,
        login,
    };
    Ok((server, warnings))
}

/// Replaces `${NAME}` and `${NAME:-default}`; what is not set and has no default stays.
pub(super) fn expand(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    missing: &mut BTreeSet<String>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let Some(end) = from.find('}') else {
            rest = from;
            break;
        };
        let inner = &from[2..end];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let is_name = !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        match lookup(name)
            .filter(|value| is_name && !value.is_empty())
            .or(default.map(str::to_owned))
        {
            Some(value) if is_name => out.push_str(&value),
            Some(_) | None => {
                if is_name {
                    missing.insert(name.to_owned());
                }
                out.push_str(&from[..=end]);
            }
        }
        rest = &from[end + 1..];
    }
    out.push_str(rest);
    out
}

/// A word as a shell would need it, for people to read.
pub(super) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,${}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// An address without its query and its user, which may hold a key.
fn without_query(url: &str) -> String {
    let base = url.split(['?', '#']).next().unwrap_or(url);
    match base.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) =
                rest.split_once('/').map_or((rest, None), |(a, p)| (a, Some(p)));
            let host = authority.rsplit('@').next().unwrap_or(authority);
            path.map_or_else(
                || format!("{scheme}://{host}"),
                |path| format!("{scheme}://{host}/{path}"),
            )
        }
        None => base.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(servers: impl Into<Value>) -> McpDefinitions {
        let servers: Value = servers.into();
        McpDefinitions::read_file(&json!({"mcpServers": servers}).to_string())
    }

    #[test]
    fn programs_and_addresses_are_read() {
        let found = McpDefinitions::read_file(
            r#"{ // of another agent
              "mcpServers": {
                "git": {"command": "uvx", "args": ["mcp-server-git", "a b"], "env": {"A": "${B}"}},
                "web": {"type": "http", "url": "https://u:p@example.com/mcp?key=1", "headers": {"X-Key": "k"},
                        "timeout": 60000, "disabled": true, "disabled_tools": ["rm"],
                        "alwaysLoad": true},
              },
            }"#,
        );
        assert_eq!(found.problems, Vec::<String>::new());
        let [git, web] = &found.servers[..] else { panic!("{found:?}") };
        assert_eq!(git.summary(), "uvx mcp-server-git 'a b'");
        assert_eq!((git.sent_names(), git.is_enabled), (vec!["A"], true));
        assert_eq!(web.summary(), "https://example.com/mcp");
        assert_eq!(web.limits.total, Duration::from_secs(60));
        assert!(!web.is_enabled && web.takes("ls") && !web.takes("rm"));
        assert_eq!((git.always_load, web.always_load), (false, true));
    }

    #[test]
    fn a_mistake_in_one_server_leaves_the_others() {
        let found = read(json!({
            "good": {"command": "x"},
            "neither": {},
            "both": {"command": "x", "url": "https://a"},
            "args": {"command": "x", "args": "y"},
            "kind": {"type": "pigeon", "url": "https://a"},
            "old": {"type": "sse", "url": "https://a"},
            "older": {"type": "sse", "command": "x"},
            "list": [],
            "a/b": {"command": "x"},
            "git_": {"command": "x"},
            "git__x": {"command": "x"},
            " git": {"command": "x"},
            "go.od": {"command": "x"},
            "go od": {"command": "x"},
            "header": {"url": "https://a", "headers": {"Accept": "x"}},
            "short": {"command": "x", "timeout": 30},
        }));
        let names: Vec<&str> = found.servers.iter().map(|server| &*server.name).collect();
        assert_eq!(names, ["go od", "good", "old", "short"]);
        assert_eq!(found.problems.len(), 13, "{:?}", found.problems);
        let problems =
            ["neither", "both", "args", "kind", "older", "list", "a/b", "header", "short"];
        for name in problems.into_iter().chain(["git_", "git__x", " git", "go.od"]) {
            let names = |problem: &&String| problem.contains(&format!("{name:?}"));
            assert!(found.problems.iter().find(names).is_some(), "{name}: {:?}", found.problems);
        }
        assert_eq!(McpDefinitions::read_file("{").problems.len(), 1);
        assert_eq!(McpDefinitions::read_file("{}").problems.len(), 1);
    }

    #[test]
    fn variables_are_expanded_only_in_braces() {
        let found = read(json!({"s": {
            "command": "${HOME}/x", "args": ["$HOME", "${NONE}", "${NONE:-d}", "${", "${1A}", "${SET:-d}"],
            "env": {"K": "a${SET}b${SET}"},
        }}));
        let lookup = |name: &str| match name {
            "HOME" => Some("/h".to_owned()),
            "SET" => Some("${HOME}".to_owned()),
            _ => None,
        };
        let (transport, missing) = found.servers[0].expanded(&lookup);
        let McpTransport::Stdio { command, args, env, .. } = transport else { panic!() };
        assert_eq!(command, "/h/x");
        assert_eq!(args, ["$HOME", "${NONE}", "d", "${", "${1A}", "${HOME}"]);
        assert_eq!(env["K"], "a${HOME}b${HOME}", "a value is not expanded again");
        assert_eq!(missing.into_iter().collect::<Vec<_>>(), ["NONE"]);
    }

    /// S66: whatever changes what is started or reached changes the hash.
    #[test]
    fn s66_the_hash_covers_all_that_is_started_or_reached() {
        let hash = |server: Value| read(json!({"s": server})).servers[0].hash();
        let base = json!({"command": "x", "args": ["a b"], "env": {"A": "1"}, "cwd": "/w"});
        let changes = [
            ("command", json!("y")),
            ("args", json!(["a  b"])),
            ("env", json!({"A": "2"})),
            ("env", json!({"B": "1"})),
            ("cwd", json!("/v")),
        ];
        for (key, value) in changes {
            let mut changed = base.clone();
            changed[key] = value;
            assert_ne!(hash(base.clone()), hash(changed), "{key}");
        }
        let web = |url: &str| hash(json!({"url": url}));
        assert_ne!(web("https://a/x"), web("https://a/y"));
        assert_ne!(web("https://a/x"), hash(json!({"type": "sse", "url": "https://a/x"})));
        assert_eq!(hash(base.clone()), hash(base));
    }
}
