//! How a server is defined: by slug's own table, by `[lsp.NAME]` in the user's configuration, and by a
//! folder's `.lsp.json`, which other agents read, too.
//!
//! A definition with the name of one in the table changes only what it says. A mistake in one server leaves
//! the others.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::domain::jsonc;
use crate::domain::sanitize::sanitize_line;
use crate::platform::server_program::is_variable_name;

use super::table::{built_in_servers, language_of};

/// How long a server may take to start, unless its definition says otherwise.
pub(super) const DEFAULT_START_LIMIT: Duration = Duration::from_secs(45);

/// Names of keys that other agents write, for slug's own.
const OTHER_KEYS: [(&str, &str); 6] = [
    ("extensionToLanguage", "extensions"),
    ("initializationOptions", "initialization"),
    ("startupTimeout", "startup_timeout"),
    ("rootMarkers", "markers"),
    ("root_markers", "markers"),
    ("rootPatterns", "markers"),
];

/// Keys of other agents that change nothing here: how often a server is started again is slug's to say.
const UNUSED_KEYS: [&str; 7] = [
    "transport",
    "workspaceFolder",
    "shutdownTimeout",
    "restartOnCrash",
    "maxRestarts",
    "description",
    "loggingConfig",
];

/// Where a definition comes from. The first has precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LspDefinitionSource {
    /// The user's own configuration.
    User,
    /// The `.lsp.json` of a folder that the user trusts.
    Project,
    /// slug's table.
    BuiltIn,
}

/// The folder that a server works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LspRootRule {
    /// The nearest one above the file that has a marker.
    Nearest,
    /// The outermost one whose `Cargo.toml` has a `[workspace]`, else the nearest.
    CargoWorkspace,
    /// The nearest one with a `go.work`, else the nearest.
    GoWorkspace,
}

/// A server that slug can start.
#[derive(Debug, Clone, PartialEq)]
pub struct LspServerDefinition {
    pub name: String,
    pub source: LspDefinitionSource,
    /// The program with its arguments; never empty.
    pub command: Vec<String>,
    /// The language of each ending of a file's name, which has no point: `rs` → `rust`.
    pub languages: BTreeMap<String, String>,
    /// The names of files that a root has; a `*` stands for any characters.
    pub markers: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// By section; null for none.
    pub settings: Value,
    /// `initializationOptions`; null for none.
    pub initialization: Value,
    pub start_limit: Duration,
    /// How the user gets the program; empty where slug does not know.
    pub install: String,
    /// Of those with the same, the first that is installed is used.
    pub(super) family: String,
    pub(super) root: LspRootRule,
    /// Not started where no marker is found.
    pub(super) needs_marker: bool,
    /// Not started below a folder with one of these files.
    pub(super) not_below: Vec<String>,
    pub(super) is_disabled: bool,
}

/// Definitions, and what is wrong with others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LspDefinitions {
    /// In order of precedence.
    pub servers: Vec<LspServerDefinition>,
    /// Sentences that name the server and the key.
    pub problems: Vec<String>,
}

impl LspDefinitions {
    /// The user's servers, those of the text of a folder's `.lsp.json`, and those of the table that none of
    /// these replaces. Comments are allowed in the text.
    pub fn read(user: &Map<String, Value>, project: Option<&str>) -> Self {
        let mut found = Self::default();
        found.read_table(user, LspDefinitionSource::User, "config.toml");
        if let Some(text) = project {
            match project_table(text) {
                Ok(table) => found.read_table(&table, LspDefinitionSource::Project, ".lsp.json"),
                Err(problem) => found.problems.push(problem),
            }
        }
        let is_replaced = |own: &LspServerDefinition| {
            let same = |it: &LspServerDefinition| {
                it.name == own.name || (!it.is_disabled && it.command[0] == own.command[0])
            };
            found.servers.iter().any(same)
        };
        let built_in: Vec<_> =
            built_in_servers().into_iter().filter(|it| !is_replaced(it)).collect();
        found.servers.extend(built_in);
        found.servers.retain(|server| !server.is_disabled);
        found
    }

    fn read_table(&mut self, table: &Map<String, Value>, source: LspDefinitionSource, file: &str) {
        for (name, value) in table {
            if self.servers.iter().any(|known| known.name == *name) {
                continue;
            }
            match read_server(name, value, source) {
                Ok(server) => self.servers.push(server),
                Err(problem) => self.problems.push(format!("{file}: {problem}")),
            }
        }
    }
}

impl LspServerDefinition {
    /// What would be started, on a line each, harmless for a terminal.
    pub fn particulars(&self) -> Vec<String> {
        let mut lines = vec![format!("starts {}", self.command.join(" "))];
        lines.extend(self.env.iter().map(|(name, value)| format!("sets {name}={value}")));
        if !self.settings.is_null() || !self.initialization.is_null() {
            lines.push("has settings of its own".into());
        }
        lines.iter().map(|line| sanitize_line(line)).collect()
    }

    /// The language of a file whose name ends so; `None` where the server does not know it.
    pub(super) fn language(&self, extension: &str) -> Option<&str> {
        self.languages.get(extension).map(String::as_str)
    }
}

/// What a folder's `.lsp.json` would have slug start, on a line each, and what is wrong in it.
pub fn lsp_project_particulars(text: &str) -> Vec<String> {
    let table = match project_table(text) {
        Ok(table) => table,
        Err(problem) => return vec![problem],
    };
    let mut found = LspDefinitions::default();
    found.read_table(&table, LspDefinitionSource::Project, ".lsp.json");
    let lines = |server: &LspServerDefinition| {
        let name = sanitize_line(&server.name);
        let lines = server.particulars().into_iter();
        lines.map(|line| format!("{name}: {line}")).collect::<Vec<_>>()
    };
    found.servers.iter().flat_map(lines).chain(found.problems).collect()
}

fn project_table(text: &str) -> Result<Map<String, Value>, String> {
    match jsonc::parse(text) {
        Ok(document) => match document.value {
            Value::Object(mut table) => match table.remove("lspServers") {
                Some(Value::Object(servers)) => Ok(servers),
                Some(_) => Err("`lspServers` in .lsp.json is not an object.".into()),
                None => Ok(table),
            },
            _ => Err("What is in .lsp.json is not an object.".into()),
        },
        Err(mistake) => Err(format!("Cannot read .lsp.json: {mistake}.")),
    }
}

fn read_server(
    name: &str,
    value: &Value,
    source: LspDefinitionSource,
) -> Result<LspServerDefinition, String> {
    let wrong = |what: String| format!("The language server {name:?} {what}.");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(wrong(
            "has a name that is not 1 to 64 letters, digits, `_`, `-` or `.`".into(),
        ));
    }
    let Value::Object(keys) = value else { return Err(wrong("is not a table".into())) };
    let known = built_in_servers().into_iter().find(|server| server.name == name);
    let mut server = known.unwrap_or_else(|| LspServerDefinition {
        name: name.to_owned(),
        source,
        command: Vec::new(),
        languages: BTreeMap::new(),
        markers: Vec::new(),
        env: BTreeMap::new(),
        settings: Value::Null,
        initialization: Value::Null,
        start_limit: DEFAULT_START_LIMIT,
        install: String::new(),
        family: name.to_owned(),
        root: LspRootRule::Nearest,
        needs_marker: false,
        not_below: Vec::new(),
        is_disabled: false,
    });
    server.source = source;
    // Before `args`, which add to it.
    let ordered = ["command", "args"].into_iter().filter_map(|key| keys.get_key_value(key));
    let others = keys.iter().filter(|(key, _)| !matches!(key.as_str(), "command" | "args"));
    let ordered = ordered.chain(others);
    for (written, value) in ordered {
        let other = OTHER_KEYS.iter().find(|(other, _)| other == written);
        let key = other.map_or(written.as_str(), |(_, own)| *own);
        let fits = set_key(&mut server, key, value);
        match fits {
            Some(true) => {}
            Some(false) => return Err(wrong(format!("has a `{written}` that slug cannot use"))),
            None if UNUSED_KEYS.contains(&key) => {}
            None => return Err(wrong(format!("has the unknown key `{written}`"))),
        }
    }
    if keys.get("transport").is_some_and(|it| it.as_str() != Some("stdio")) {
        return Err(wrong("does not speak over standard input and output".into()));
    }
    if let Some(name) = server.env.keys().find(|name| !is_variable_name(name)) {
        return Err(wrong(format!("sets {name:?}, which is no name of a variable")));
    }
    if !server.is_disabled && server.command.is_empty() {
        return Err(wrong("needs a `command`".into()));
    }
    if !server.is_disabled && server.languages.is_empty() {
        return Err(wrong("needs `extensions`".into()));
    }
    Ok(server)
}

/// Takes in a key; whether its value fits, and `None` where there is no such key.
fn set_key(server: &mut LspServerDefinition, key: &str, value: &Value) -> Option<bool> {
    let texts = |value: &Value| serde_json::from_value::<Vec<String>>(value.clone()).ok();
    let fits = match key {
        "command" => {
            let words = match value {
                Value::String(program) => Some(vec![program.clone()]),
                other => texts(other),
            };
            let words = words.filter(|words| words.first().is_some_and(|it| !it.trim().is_empty()));
            words.map(|words| server.command = words).is_some()
        }
        "args" => texts(value)
            .map(|args| {
                server.command.truncate(1);
                server.command.extend(args);
            })
            .is_some(),
        "extensions" => extensions(value).map(|it| server.languages = it).is_some(),
        "markers" => texts(value)
            .map(|markers| {
                server.markers = markers;
                server.root = LspRootRule::Nearest;
            })
            .is_some(),
        "env" => serde_json::from_value(value.clone()).map(|env| server.env = env).is_ok(),
        "settings" => {
            server.settings = value.clone();
            value.is_object()
        }
        "initialization" => {
            server.initialization = value.clone();
            true
        }
        "startup_timeout" => value
            .as_u64()
            .filter(|ms| *ms > 0)
            .map(|ms| server.start_limit = Duration::from_millis(ms))
            .is_some(),
        "disabled" => value.as_bool().map(|it| server.is_disabled = it).is_some(),
        _ => return None,
    };
    Some(fits)
}

/// Endings of names with their languages: a list, or a table from one to the other.
fn extensions(value: &Value) -> Option<BTreeMap<String, String>> {
    let plain = |name: &str| name.trim_start_matches('.').to_ascii_lowercase();
    match value {
        Value::Array(all) => all
            .iter()
            .map(|it| {
                let extension = plain(it.as_str()?);
                let language = language_of(&extension).to_owned();
                Some((extension, language))
            })
            .collect(),
        Value::Object(table) => {
            table.iter().map(|(name, it)| Some((plain(name), it.as_str()?.to_owned()))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(user: &Value, project: Option<&str>) -> LspDefinitions {
        LspDefinitions::read(user.as_object().unwrap(), project)
    }

    fn named<'a>(found: &'a LspDefinitions, name: &str) -> &'a LspServerDefinition {
        found.servers.iter().find(|it| it.name == name).unwrap()
    }

    #[test]
    fn a_definition_changes_only_what_it_says() {
        let found = read(
            &json!({
                "pyright": {"settings": {"python": {"x": 1}}, "env": {"A": "b"}},
                "clangd": {"disabled": true},
                "mine": {"command": ["my-lsp", "--stdio"], "extensions": [".Foo", "rs"], "markers": ["a"]},
            }),
            None,
        );
        assert_eq!(found.problems, Vec::<String>::new());
        let pyright = named(&found, "pyright");
        assert_eq!(pyright.command, ["pyright-langserver", "--stdio"]);
        assert_eq!(
            (pyright.source, &pyright.settings["python"]["x"]),
            (LspDefinitionSource::User, &json!(1))
        );
        assert!(!found.servers.iter().any(|it| it.name == "clangd"));
        let mine = named(&found, "mine");
        assert_eq!((mine.language("foo"), mine.language("rs")), (Some("foo"), Some("rust")));
        let first: Vec<&str> = found.servers.iter().take(2).map(|it| &*it.name).collect();
        assert_eq!(first, ["pyright", "mine"], "the user's come first");
    }

    #[test]
    fn another_agents_file_is_read_and_the_users_servers_win() {
        let file = r#"{ // comments, too
            "gopls": {"command": "gopls", "args": ["serve"], "extensionToLanguage": {".go": "go"},
                      "transport": "stdio", "restartOnCrash": true, "maxRestarts": 3, "startupTimeout": 9000},
            "py": {"command": "pyright-langserver", "args": ["--stdio"], "extensionToLanguage": {".py": "python"}},
            "zls": {"command": "evil", "extensionToLanguage": {".zig": "zig"}},
            "net": {"command": "x", "extensionToLanguage": {".x": "x"}, "transport": "socket"},
        }"#;
        let found = read(&json!({"zls": {"command": "my-zls"}}), Some(file));
        assert_eq!(named(&found, "gopls").command, ["gopls", "serve"]);
        assert_eq!(named(&found, "gopls").start_limit, Duration::from_secs(9));
        assert_eq!(named(&found, "zls").command, ["my-zls"]);
        assert!(!found.servers.iter().any(|it| it.name == "pyright"), "one program, one server");
        assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
        let wrapped = read(
            &json!({}),
            Some(r#"{"lspServers": {"a": {"command": "b", "extensions": ["c"]}}}"#),
        );
        assert_eq!(named(&wrapped, "a").command, ["b"]);
    }

    #[test]
    fn a_mistake_in_one_server_leaves_the_others() {
        let found = read(
            &json!({
                "good": {"command": "x", "extensions": ["y"]},
                "list": [],
                "a/b": {"command": "x", "extensions": ["y"]},
                "empty": {"command": [], "extensions": ["y"]},
                "none": {"extensions": ["y"]},
                "bare": {"command": "x"},
                "args": {"command": "x", "extensions": ["y"], "args": "z"},
                "typo": {"command": "x", "extensions": ["y"], "comand": "z"},
                "env": {"command": "x", "extensions": ["y"], "env": {"A;rm": "z"}},
                "time": {"command": "x", "extensions": ["y"], "startup_timeout": 0},
            }),
            Some("{"),
        );
        assert_eq!(named(&found, "good").command, ["x"]);
        assert_eq!(found.problems.len(), 10, "{:#?}", found.problems);
        assert_eq!(read(&json!({}), Some("[]")).problems.len(), 1);
        assert_eq!(read(&json!({}), Some(r#"{"lspServers": 1}"#)).problems.len(), 1);
    }

    #[test]
    fn s63_what_a_folder_would_start_is_shown() {
        let text = r#"{"a": {"command": "node", "args": ["./x.js\u001b"], "env": {"NODE_OPTIONS": "-r ./y"},
            "extensions": ["q"]}, "b": 1}"#;
        assert_eq!(
            lsp_project_particulars(text),
            [
                "a: starts node ./x.js␛",
                "a: sets NODE_OPTIONS=-r ./y",
                ".lsp.json: The language server \"b\" is not a table."
            ]
        );
    }
}
