//! `slug config`: prints every value and where it came from. Of a key only its place is printed,
//! never the key; control characters in values are written as escapes.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::domain::SandboxBackendKind;

use super::{
    ConfigHeaderValue, ConfigOrigin, ConfigValue, ModelServerConfig, ResolvedConfig,
    ServerTransportConfig, ThemeChoice,
};

/// One value, ready to be printed.
pub(super) struct ConfigRow {
    pub(super) key: String,
    pub(super) value: Value,
    pub(super) origin: ConfigOrigin,
}

/// Writes a table for users; warnings come last.
///
/// # Errors
///
/// Fails when `out` cannot be written to.
pub fn write_text(config: &ResolvedConfig, out: &mut dyn Write) -> io::Result<()> {
    let rows = rows(config);
    let texts: Vec<String> = rows.iter().map(|row| shown(&row.value)).collect();
    let keys = rows.iter().map(|row| row.key.len()).max().unwrap_or_default();
    let values = texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
    for (row, text) in rows.iter().zip(&texts) {
        writeln!(out, "{:keys$}  {text:values$}  {}", row.key, row.origin)?;
    }
    for other in &config.others {
        let ModelServerConfig { name, endpoint, .. } = other;
        writeln!(out, "also: {} at {}  {}", name.value, endpoint.value, name.origin)?;
    }
    for warning in &config.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}

/// Writes one line of JSON:
/// `{"values":[{"key","value","origin"}],"others":[{"provider","endpoint","origin"}],"warnings":[…]}`
/// The value of a key says where the key is, `"set"` where it stands in the file; a value that is
/// not set and has no default is null.
///
/// # Errors
///
/// Fails when `out` cannot be written to.
pub fn write_json(config: &ResolvedConfig, out: &mut dyn Write) -> io::Result<()> {
    let values: Vec<Value> = rows(config)
        .into_iter()
        .map(|row| json!({"key": row.key, "value": row.value, "origin": origin(&row.origin)}))
        .collect();
    let others: Vec<Value> = config
        .others
        .iter()
        .map(|ModelServerConfig { name, endpoint, .. }| {
            json!({"provider": name.value.as_str(), "endpoint": endpoint.value.as_str(),
                   "origin": origin(&name.origin)})
        })
        .collect();
    writeln!(out, "{}", json!({"values": values, "others": others, "warnings": config.warnings}))
}

pub(super) fn rows(config: &ResolvedConfig) -> Vec<ConfigRow> {
    let server = &config.server;
    let mut rows = vec![
        row("provider", &server.name, |name| json!(name.as_str())),
        row("endpoint", &server.endpoint, |endpoint| json!(endpoint.as_str())),
        optional("api_key", server.api_key.as_ref(), |key| json!(key.to_string())),
        row("model", &server.model, |model| json!(model.name())),
        optional("system_prompt", config.system_prompt.as_ref(), |text| json!(text)),
        optional("max_tokens", server.max_tokens.as_ref(), |count| json!(count)),
        // Through its text: as a double, 0.7 would print as 0.699999988.
        optional("temperature", config.temperature.as_ref(), |number| {
            number.to_string().parse::<f64>().map_or(Value::Null, Value::from)
        }),
        optional("effort", server.effort.as_ref(), |effort| json!(effort.name())),
        optional("max_tool_rounds", config.max_tool_rounds.as_ref(), |count| json!(count)),
        optional("fallback_model", config.fallback_model.as_ref(), |name| json!(name)),
        optional("budget.turn", config.budget_turn.as_ref(), |it| json!(it.to_string())),
        optional("budget.session", config.budget_session.as_ref(), |it| json!(it.to_string())),
        optional("timeouts.first_byte", config.first_byte.as_ref(), |seconds| json!(seconds)),
        optional("timeouts.idle", config.idle.as_ref(), |seconds| json!(seconds)),
        optional("timeouts.total", config.total.as_ref(), |seconds| json!(seconds)),
        optional("bash.environment", config.bash_environment.as_ref(), |names| json!(names)),
        row("permission_mode", &config.mode, |mode| json!(mode.name())),
        row("sandbox.network", &config.sandbox_network, |flag| json!(flag)),
        optional("sandbox.hosts", config.sandbox_hosts.as_ref(), |hosts| json!(hosts)),
        row("sandbox.method", &config.sandbox_method, |method| {
            json!(method.map_or("auto", SandboxBackendKind::name))
        }),
        optional("web.searxng", config.searxng.as_ref(), |it| json!(it.as_str())),
        row("lsp.wait_seconds", &config.lsp_wait, |seconds| json!(seconds)),
        row("lsp.memory_mb", &config.lsp_memory, |megabytes| json!(megabytes)),
        row("formatters.enabled", &config.formatters.enabled(), |flag| json!(flag)),
        optional("formatters.allow", config.formatters.allow.as_ref(), |names| json!(names)),
        optional("local.model", config.local.model.as_ref(), |path| json!(path)),
        optional("local.context", config.local.context.as_ref(), |tokens| json!(tokens)),
        optional("local.server", config.local.server.as_ref(), |program| json!(program)),
        optional("local.args", config.local.args.as_ref(), |args| json!(args)),
        optional("local.folders", config.local.folders.as_ref(), |folders| json!(folders)),
        row("context_window", &server.context_window, |count| json!(count)),
    ];
    rows.extend(connection(server));
    rows.extend(
        config
            .statics
            .iter()
            .map(|(name, text)| row(&format!("context.static.{name}"), text, |text| json!(text))),
    );
    // What is started or reached; the values of variables and headers may be secret.
    rows.extend(config.mcp.iter().map(|(name, server)| {
        row(&format!("mcp.{name}"), server, |keys| {
            let shown = ["command", "args", "url"];
            let shown = shown.into_iter().filter_map(|key| Some((key, keys.get(key)?)));
            json!(shown.collect::<std::collections::BTreeMap<_, _>>())
        })
    }));
    rows.extend(config.lsp.iter().map(|(name, server)| {
        row(&format!("lsp.{name}"), server, |keys| {
            let shown = ["command", "args", "extensions", "disabled"];
            let shown = shown.into_iter().filter_map(|key| Some((key, keys.get(key)?)));
            json!(shown.collect::<std::collections::BTreeMap<_, _>>())
        })
    }));
    rows.extend(config.formatters.tables.iter().map(|(name, formatter)| {
        row(&format!("formatters.{name}"), formatter, |keys| keys.clone())
    }));
    rows.extend([
        row("ui.theme", &config.theme, theme),
        row("ui.keys", &config.keys, |preset| json!(preset.name())),
        row("ui.mouse", &config.mouse, |flag| json!(flag)),
        row("ui.reduced_motion", &config.reduced_motion, |flag| json!(flag)),
        row("ui.panel", &config.panel, |flag| json!(flag)),
        row("ui.model_titles", &config.model_titles, |flag| json!(flag)),
        row("ui.wheel_rows", &config.wheel_rows, |rows| json!(rows)),
        optional("ui.wheel_events", config.wheel_events.as_ref(), |events| json!(events)),
        row("ui.leave", &config.leave, |leave| json!(leave.name())),
        row("ui.status", &config.status, |items| json!(items.names())),
        optional("ui.status_command", config.status_command.as_ref(), |text| json!(text)),
        row("ui.title", &config.title, |flag| json!(flag)),
        row("ui.images", &config.images, |flag| json!(flag)),
        row("ui.progress", &config.progress, |flag| json!(flag)),
        row("ui.notify", &config.notify, |method| json!(method.name())),
        row("ui.notify_after", &config.notify_after, |seconds| json!(seconds)),
        row("ui.vi", &config.vi, |flag| json!(flag)),
    ]);
    rows
}

/// The rows on how the server is reached. Of what may be a secret, only its presence is printed.
fn connection(server: &ModelServerConfig) -> Vec<ConfigRow> {
    let ServerTransportConfig { origin_bound: own, ca_file, proxy } = &server.connection;
    let path = |path: &PathBuf| json!(path.display().to_string());
    let mut rows = vec![
        optional("proxy", proxy.as_ref(), |proxy| json!(proxy.to_string())),
        optional("ca_file", ca_file.as_ref(), path),
        optional("client_certificate", own.client_certificate.as_ref(), path),
        optional("client_key", own.client_key.as_ref(), path),
        optional("key_header", own.key_header.as_ref(), |name| json!(name)),
        optional("models", server.models.as_ref(), |models| json!(models)),
        optional("dialect", server.dialect.as_ref(), |dialect| json!(dialect.name())),
    ];
    rows.extend(own.headers.iter().map(|(name, text)| {
        row(&format!("headers.{name}"), text, |text| match text {
            ConfigHeaderValue::Value(_) => json!("set"),
            ConfigHeaderValue::Variable(name) => json!(format!("in ${name}")),
        })
    }));
    let query = own.query.iter();
    rows.extend(query.map(|(name, text)| row(&format!("query.{name}"), text, |_| json!("set"))));
    rows
}

/// A name, or a pair as it is written in the configuration.
fn theme(theme: &ThemeChoice) -> Value {
    match theme {
        ThemeChoice::Auto | ThemeChoice::Named(_) => json!(theme.to_string()),
        ThemeChoice::Pair { dark, light } => json!({ "dark": dark, "light": light }),
    }
}

fn row<T>(key: &str, value: &ConfigValue<T>, text: impl Fn(&T) -> Value) -> ConfigRow {
    ConfigRow { key: key.to_owned(), value: text(&value.value), origin: value.origin.clone() }
}

fn optional<T>(key: &str, value: Option<&ConfigValue<T>>, text: impl Fn(&T) -> Value) -> ConfigRow {
    match value {
        Some(value) => row(key, value, text),
        None => {
            ConfigRow { key: key.to_owned(), value: Value::Null, origin: ConfigOrigin::Default }
        }
    }
}

fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => text.escape_debug().to_string().replace("\\\"", "\""),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

fn origin(origin: &ConfigOrigin) -> Value {
    match origin {
        ConfigOrigin::Default => json!({"kind": "default"}),
        ConfigOrigin::File { path, line } => json!({"kind": "file", "file": path, "line": line}),
        ConfigOrigin::Environment(name) => json!({"kind": "environment", "name": name}),
        ConfigOrigin::Flag(name) => json!({"kind": "flag", "name": name}),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{ConfigEnvironment, ConfigFlags, ConfigText, ConfigTexts, resolve};
    use super::*;

    fn config() -> ResolvedConfig {
        let text = "api_key = \"CANARY\"\ntemperature = 0.7\nsystem_prompt = \"a\\n\\u001b[2Jb\"\n";
        let user = ConfigText { path: PathBuf::from("/home/me/config.toml"), text: text.into() };
        let texts = ConfigTexts { user: Some(user), ..ConfigTexts::default() };
        let flags = ConfigFlags { model: Some("m".into()), ..ConfigFlags::default() };
        resolve(&texts, &ConfigEnvironment::default(), &flags).unwrap()
    }

    #[test]
    fn the_table_says_where_each_value_comes_from() {
        let mut out = Vec::new();
        write_text(&config(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let line = |key: &str| {
            let line = text.lines().find(|line| line.starts_with(key)).unwrap();
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("endpoint"), "endpoint http://localhost:8000/v1 default");
        assert_eq!(line("api_key"), "api_key set /home/me/config.toml:1");
        assert_eq!(line("model"), "model m --model");
        assert_eq!(line("temperature"), "temperature 0.7 /home/me/config.toml:2");
        assert!(!text.contains("CANARY") && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn the_json_form_has_typed_values() {
        let mut out = Vec::new();
        write_json(&config(), &mut out).unwrap();
        assert!(!String::from_utf8_lossy(&out).contains("CANARY"));
        let json: Value = serde_json::from_slice(&out).unwrap();
        let find = |key: &str| {
            json["values"].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap()
        };
        assert_eq!(find("max_tokens")["value"], Value::Null);
        assert_eq!(find("temperature")["value"], 0.7);
        assert_eq!(find("api_key")["value"], "set");
        assert_eq!(find("model")["origin"], json!({"kind": "flag", "name": "--model"}));
        assert_eq!(
            find("system_prompt")["origin"],
            json!({"kind": "file", "file": "/home/me/config.toml", "line": 3})
        );
    }

    #[test]
    fn the_documentation_names_every_value() {
        let page = include_str!("../../docs/configuration.md");
        for row in rows(&config()) {
            assert!(page.contains(&format!("| `{}` |", row.key)), "{} is not documented", row.key);
        }
    }
}
