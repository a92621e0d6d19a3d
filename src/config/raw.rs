//! The values of a `config.toml` as written, key by key, each with its line.
//!
//! The walk over the parsed document is the one list of keys that slug knows. It is written out
//! instead of derived, so that an unknown key, a wrong type and a good value all know their line,
//! all mistakes are reported at once, and no message repeats a value, which could be a key. Whether
//! a value makes sense is decided when it is resolved.

mod local;
mod programs;
mod server;

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::settings;

pub use local::RawLocal;
pub use programs::RawFormatters;
pub use server::{RawCommand, RawSecret, RawServer};

/// The names of slug's own context, which `[context.static]` cannot use.
pub const CONTEXT_NAMES: [&str; 10] = [
    "continuation",
    "diagnostics",
    "environment",
    "file_structure",
    "git_status",
    "interruption",
    "mcp_servers",
    "mode",
    "rounds",
    "todo",
];

/// A value and the line on which it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct LineValue<T> {
    pub value: T,
    /// From 1.
    pub line: usize,
}

/// A message about one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigRemark {
    /// From 1.
    pub line: usize,
    /// One sentence.
    pub text: String,
}

/// Everything that a file sets. Fields have the names of their keys, most without the name of the
/// table.
#[derive(Debug, Default)]
pub struct RawConfig {
    /// The keys of a server that stand at the top of the file.
    pub server: RawServer,
    pub provider: Option<LineValue<String>>,
    pub system_prompt: Option<LineValue<String>>,
    pub temperature: Option<LineValue<f64>>,
    pub max_tool_rounds: Option<LineValue<i64>>,
    pub fallback_model: Option<LineValue<String>>,
    pub budget_turn: Option<LineValue<String>>,
    pub budget_session: Option<LineValue<String>>,
    /// `timeouts.first_byte`, in seconds.
    pub first_byte: Option<LineValue<i64>>,
    /// `timeouts.idle`, in seconds.
    pub idle: Option<LineValue<i64>>,
    /// `timeouts.total`, in seconds.
    pub total: Option<LineValue<i64>>,
    pub bash_environment: Option<LineValue<Vec<LineValue<String>>>>,
    pub permission_mode: Option<LineValue<RawMode>>,
    /// The texts of `[context.static]`, by name.
    pub statics: BTreeMap<String, LineValue<String>>,
    /// The tables `[mcp.NAME]`, by name, as JSON: `crate::mcp` reads their keys, which are those of
    /// `.mcp.json`.
    pub mcp: BTreeMap<String, LineValue<Value>>,
    /// The tables `[lsp.NAME]`, by name, as JSON: `crate::lsp` reads their keys.
    pub lsp: BTreeMap<String, LineValue<Value>>,
    pub local: RawLocal,
    pub formatters: RawFormatters,
    /// `lsp.wait_seconds`
    pub lsp_wait: Option<LineValue<i64>>,
    /// `lsp.memory_mb`
    pub lsp_memory: Option<LineValue<i64>>,
    /// The tables `[providers.NAME]`, by name; the line is that of the heading.
    pub providers: BTreeMap<String, LineValue<RawServer>>,
    /// `ui.theme`
    pub theme: Option<LineValue<RawTheme>>,
    /// `ui.keys`
    pub keys: Option<LineValue<String>>,
    /// `ui.mouse`
    pub mouse: Option<LineValue<bool>>,
    /// `ui.reduced_motion`
    pub reduced_motion: Option<LineValue<bool>>,
    /// `ui.panel`
    pub panel: Option<LineValue<bool>>,
    /// `ui.model_titles`
    pub model_titles: Option<LineValue<bool>>,
    /// `ui.wheel_rows`
    pub wheel_rows: Option<LineValue<i64>>,
    /// `ui.wheel_events`
    pub wheel_events: Option<LineValue<i64>>,
    /// `ui.leave`
    pub leave: Option<LineValue<String>>,
    /// `ui.status`
    pub status: Option<LineValue<Vec<LineValue<String>>>>,
    /// `ui.status_command`
    pub status_command: Option<LineValue<String>>,
    /// `ui.title`
    pub title: Option<LineValue<bool>>,
    /// `ui.images`
    pub images: Option<LineValue<bool>>,
    /// `ui.progress`
    pub progress: Option<LineValue<bool>>,
    /// `ui.notify`
    pub notify: Option<LineValue<String>>,
    /// `ui.notify_after`, in seconds.
    pub notify_after: Option<LineValue<i64>>,
    /// `ui.vi`
    pub vi: Option<LineValue<bool>>,
    pub sandbox_network: Option<LineValue<bool>>,
    pub sandbox_hosts: Option<LineValue<Vec<LineValue<String>>>>,
    pub sandbox_method: Option<LineValue<String>>,
    /// `web.searxng`
    pub searxng: Option<LineValue<String>>,
}

/// `permission_mode` as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawMode {
    /// A mode's name: `"yolo"`, or `{ type = "yolo" }`.
    Named(String),
    /// `"sandbox"`, or `{ type = "sandbox", dir = "…" }`.
    Sandbox { dir: Option<String> },
}

/// The name of the one mode that has a folder.
const SANDBOX_MODE: &str = "sandbox";

/// `ui.theme` as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawTheme {
    /// A theme's name.
    Named(String),
    /// `{ dark = "…", light = "…" }`.
    Pair { dark: Option<String>, light: Option<String> },
}

/// The values of a file, together with what is wrong in it.
#[derive(Debug, Default)]
pub struct ParsedConfig {
    /// The values that could be read.
    pub raw: RawConfig,
    /// Mistakes that make the file unusable, in the order of lines.
    pub errors: Vec<ConfigRemark>,
    /// Unknown keys that may have been meant to restrict something, in the order of lines.
    pub unknown: Vec<ConfigRemark>,
    /// Keys that were left out, in the order of lines.
    pub warnings: Vec<ConfigRemark>,
}

/// Reads the text of a whole file. Mistakes are in the result; the function does not fail.
pub fn parse(text: &str) -> ParsedConfig {
    let mut reader = ConfigReader { text, parsed: ParsedConfig::default() };
    match DeTable::parse(text) {
        Ok(table) => reader.top(table.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or_default();
            reader.error(span, format!("this is not valid TOML: {}", error.message()));
        }
    }
    let mut parsed = reader.parsed;
    parsed.errors.sort_by_key(|remark| remark.line);
    parsed.unknown.sort_by_key(|remark| remark.line);
    parsed.warnings.sort_by_key(|remark| remark.line);
    parsed
}

struct ConfigReader<'a> {
    text: &'a str,
    parsed: ParsedConfig,
}

type TomlValue<'a> = Spanned<DeValue<'a>>;

/// A value as JSON; a number that JSON does not have, and a date, become text.
fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => {
            let digits = number.to_string();
            digits.parse::<i64>().map_or_else(|_| digits.into(), Value::from)
        }
        DeValue::Float(number) => {
            let digits = number.to_string();
            digits.parse::<f64>().map_or_else(|_| digits.into(), Value::from)
        }
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(date) => Value::from(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())))
            .collect(),
    }
}

impl RawConfig {
    /// Whether the file holds a secret itself: a key, a header, a query parameter or a proxy's
    /// address.
    pub fn holds_secrets(&self) -> bool {
        let servers = self.providers.values().map(|it| &it.value).chain([&self.server]);
        let is_text = |secret: &RawSecret| matches!(secret, RawSecret::Text(_));
        servers.into_iter().any(|server| {
            let headers = server.headers.iter().flat_map(|it| it.value.values());
            let key = server.api_key.iter().chain(headers).any(|it| is_text(&it.value));
            key || server.query.is_some() || server.proxy.is_some()
        })
    }
}

impl ConfigReader<'_> {
    fn top(&mut self, table: &DeTable<'_>) {
        let mut server = RawServer::default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "provider" => self.parsed.raw.provider = self.string(name, value),
                "system_prompt" => self.parsed.raw.system_prompt = self.string(name, value),
                "temperature" => self.parsed.raw.temperature = self.number(name, value),
                "max_tool_rounds" => self.parsed.raw.max_tool_rounds = self.integer(name, value),
                "permission_mode" => self.parsed.raw.permission_mode = self.mode(name, value),
                "fallback_model" => self.parsed.raw.fallback_model = self.string(name, value),
                "budget" => self.budget(value),
                "timeouts" => self.timeouts(value),
                "bash" => self.bash(value),
                "context" => self.context(value),
                "providers" => self.providers(value),
                "mcp" => self.mcp(value),
                "lsp" => self.lsp(value),
                "formatters" => self.formatters(value),
                "local" => self.local(value),
                "ui" => self.ui(value),
                "sandbox" => self.sandbox(value),
                "web" => self.web(value),
                _ if self.of_server(&mut server, name, "", value) => {}
                _ => self.unknown(name, key.span()),
            }
        }
        self.parsed.raw.server = server;
    }

    fn budget(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("budget", value) else { return };
        for (key, value) in table {
            let path = format!("budget.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "turn" => self.parsed.raw.budget_turn = self.string(&path, value),
                "session" => self.parsed.raw.budget_session = self.string(&path, value),
                _ => self.unknown(&path, key.span()),
            }
        }
    }

    fn sandbox(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("sandbox", value) else { return };
        for (key, value) in table {
            let path = format!("sandbox.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "network" => self.parsed.raw.sandbox_network = self.boolean(&path, value),
                "hosts" => self.parsed.raw.sandbox_hosts = self.strings(&path, value),
                "method" => self.parsed.raw.sandbox_method = self.string(&path, value),
                _ => self.unknown(&path, key.span()),
            }
        }
    }

    fn web(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("web", value) else { return };
        for (key, value) in table {
            let path = format!("web.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "searxng" => self.parsed.raw.searxng = self.string(&path, value),
                _ => self.unknown(&path, key.span()),
            }
        }
    }

    fn timeouts(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("timeouts", value) else { return };
        for (key, value) in table {
            let path = format!("timeouts.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "first_byte" => self.parsed.raw.first_byte = self.integer(&path, value),
                "idle" => self.parsed.raw.idle = self.integer(&path, value),
                "total" => self.parsed.raw.total = self.integer(&path, value),
                _ => self.unknown(&path, key.span()),
            }
        }
    }

    fn bash(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("bash", value) else { return };
        for (key, value) in table {
            let path = format!("bash.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "environment" => self.parsed.raw.bash_environment = self.strings(&path, value),
                _ => self.unknown(&path, key.span()),
            }
        }
    }

    fn context(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("context", value) else { return };
        for (key, value) in table {
            if key.get_ref() != "static" {
                self.unknown(&format!("context.{}", key.get_ref()), key.span());
                continue;
            }
            let Some(statics) = self.table("context.static", value) else { continue };
            for (key, value) in statics {
                self.context_text(key.get_ref(), key.span(), value);
            }
        }
    }

    fn context_text(&mut self, name: &str, span: Range<usize>, value: &TomlValue<'_>) {
        if !is_plain_name(name) || CONTEXT_NAMES.contains(&name) {
            let own = CONTEXT_NAMES.join(", ");
            self.error(
                span,
                format!(
                    "a name under [context.static] can contain letters, digits, `-` and `_`, \
                     and cannot be one of slug's own: {own}"
                ),
            );
        } else if let Some(text) = self.string(&format!("context.static.{name}"), value) {
            self.parsed.raw.statics.insert(name.to_owned(), text);
        }
    }

    fn ui(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("ui", value) else { return };
        for (key, value) in table {
            let path = format!("ui.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "theme" => self.parsed.raw.theme = self.theme(&path, value),
                "keys" => self.parsed.raw.keys = self.string(&path, value),
                "mouse" => self.parsed.raw.mouse = self.boolean(&path, value),
                "reduced_motion" => self.parsed.raw.reduced_motion = self.boolean(&path, value),
                "panel" => self.parsed.raw.panel = self.boolean(&path, value),
                "model_titles" => self.parsed.raw.model_titles = self.boolean(&path, value),
                "wheel_rows" => self.parsed.raw.wheel_rows = self.integer(&path, value),
                "wheel_events" => self.parsed.raw.wheel_events = self.integer(&path, value),
                "leave" => self.parsed.raw.leave = self.string(&path, value),
                "status" => self.parsed.raw.status = self.strings(&path, value),
                "status_command" => self.parsed.raw.status_command = self.string(&path, value),
                "title" => self.parsed.raw.title = self.boolean(&path, value),
                "images" => self.parsed.raw.images = self.boolean(&path, value),
                "progress" => self.parsed.raw.progress = self.boolean(&path, value),
                "notify" => self.parsed.raw.notify = self.string(&path, value),
                "notify_after" => self.parsed.raw.notify_after = self.integer(&path, value),
                "vi" => self.parsed.raw.vi = self.boolean(&path, value),
                _ => self.unknown(&path, key.span()),
            }
        }
    }

    fn mode(&mut self, name: &str, value: &TomlValue<'_>) -> Option<LineValue<RawMode>> {
        let line = self.line(value.span());
        let mode = match value.get_ref() {
            DeValue::String(text) if text == SANDBOX_MODE => RawMode::Sandbox { dir: None },
            DeValue::String(text) => RawMode::Named(text.to_string()),
            DeValue::Table(table) => self.mode_table(name, table, value)?,
            other => {
                return self.wrong(name, "a mode's name in quotes, like \"ask\"", other, value);
            }
        };
        Some(LineValue { value: mode, line })
    }

    fn mode_table(
        &mut self,
        name: &str,
        table: &DeTable<'_>,
        at: &TomlValue<'_>,
    ) -> Option<RawMode> {
        let (mut kind, mut dir) = (None, None);
        let mut is_wrong = false;
        for (key, value) in table {
            let path = format!("{name}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "type" => {
                    kind = self.string(&path, value).map(|it| it.value);
                    is_wrong |= kind.is_none();
                }
                "dir" => {
                    let text = self.string(&path, value).map(|it| it.value);
                    is_wrong |= text.is_none();
                    dir = text.map(|text| (text, value.span()));
                }
                _ => self.unknown(&path, key.span()),
            }
        }
        match (kind, dir) {
            _ if is_wrong => None,
            (None, _) => {
                let text = format!(
                    "`{name}` is a table without `type`: write {{ type = \"ask\" }}, or the mode's \
                     name alone"
                );
                self.error(at.span(), text);
                None
            }
            (Some(kind), dir) if kind == SANDBOX_MODE => {
                Some(RawMode::Sandbox { dir: dir.map(|(text, _)| text) })
            }
            (Some(_), Some((_, span))) => {
                let text = format!(
                    "`{name}.dir` is the folder of the sandbox: write type = \"sandbox\", or take \
                     `dir` out"
                );
                self.error(span, text);
                None
            }
            (Some(kind), None) => Some(RawMode::Named(kind)),
        }
    }

    fn theme(&mut self, name: &str, value: &TomlValue<'_>) -> Option<LineValue<RawTheme>> {
        let line = self.line(value.span());
        let DeValue::Table(table) = value.get_ref() else {
            return self
                .string(name, value)
                .map(|it| LineValue { value: RawTheme::Named(it.value), line });
        };
        let (mut dark, mut light) = (None, None);
        for (key, value) in table {
            let path = format!("{name}.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "dark" => dark = self.string(&path, value).map(|it| it.value),
                "light" => light = self.string(&path, value).map(|it| it.value),
                _ => self.unknown(&path, key.span()),
            }
        }
        Some(LineValue { value: RawTheme::Pair { dark, light }, line })
    }

    fn string(&mut self, name: &str, value: &TomlValue<'_>) -> Option<LineValue<String>> {
        match value.get_ref() {
            DeValue::String(text) => {
                Some(LineValue { value: text.to_string(), line: self.line(value.span()) })
            }
            other => self.wrong(name, "text in quotes", other, value),
        }
    }

    fn strings(
        &mut self,
        name: &str,
        value: &TomlValue<'_>,
    ) -> Option<LineValue<Vec<LineValue<String>>>> {
        let DeValue::Array(items) = value.get_ref() else {
            return self.wrong(name, "a list of texts in quotes", value.get_ref(), value);
        };
        let texts = items.iter().filter_map(|item| self.string(name, item)).collect();
        Some(LineValue { value: texts, line: self.line(value.span()) })
    }

    fn boolean(&mut self, name: &str, value: &TomlValue<'_>) -> Option<LineValue<bool>> {
        match value.get_ref() {
            DeValue::Boolean(flag) => {
                Some(LineValue { value: *flag, line: self.line(value.span()) })
            }
            other => self.wrong(name, "true or false", other, value),
        }
    }

    fn integer(&mut self, name: &str, value: &TomlValue<'_>) -> Option<LineValue<i64>> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        match number {
            Some(number) => Some(LineValue { value: number, line: self.line(value.span()) }),
            None => self.wrong(name, "a whole number", value.get_ref(), value),
        }
    }

    fn number(&mut self, name: &str, value: &TomlValue<'_>) -> Option<LineValue<f64>> {
        let number = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::Integer(number) => number.as_str().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) => Some(LineValue { value: number, line: self.line(value.span()) }),
            None => self.wrong(name, "a number, like 0.7", value.get_ref(), value),
        }
    }

    fn table<'t>(&mut self, name: &str, value: &'t TomlValue<'_>) -> Option<&'t DeTable<'t>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            other => {
                let wanted = format!("a table ([{name}] with its keys below it)");
                self.wrong(name, &wanted, other, value)
            }
        }
    }

    fn wrong<T>(
        &mut self,
        name: &str,
        wanted: &str,
        found: &DeValue<'_>,
        at: &TomlValue<'_>,
    ) -> Option<T> {
        let text = format!("`{name}` must be {wanted}, not {}", type_name(found));
        self.error(at.span(), text);
        None
    }

    fn unknown(&mut self, name: &str, span: Range<usize>) {
        let line = self.line(span);
        let shown = name.escape_debug();
        let meant = settings::nearest_key(name).map(|key| format!("did you mean `{key}`?"));
        // No key of these tables restricts what slug may do.
        if ["ui.", "timeouts.", "context."].iter().any(|table| name.starts_with(table)) {
            let meant = meant.as_deref().unwrap_or("check its spelling");
            let text = format!("slug does not know the key `{shown}` and ignores it: {meant}");
            return self.parsed.warnings.push(ConfigRemark { line, text });
        }
        let meant = meant.as_deref().unwrap_or("check its spelling, or remove it");
        let text = format!("slug does not know the key `{shown}`: {meant}");
        self.parsed.unknown.push(ConfigRemark { line, text });
    }

    fn error(&mut self, span: Range<usize>, text: String) {
        let line = self.line(span);
        self.parsed.errors.push(ConfigRemark { line, text });
    }

    fn line(&self, span: Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn is_plain_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

#[cfg(test)]
mod tests;
