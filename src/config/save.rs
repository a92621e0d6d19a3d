//! Writes choices into a `config.toml`, and keeps everything else that stands there, comments
//! included.
//!
//! The file holds keys, so it has mode 0600 and its folder 0700. It is replaced as a whole: a
//! reader sees the old text or the new one.

use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::disk::read_text;
use crate::domain::ProviderProtocol;
use crate::platform::paths::replace_private;

use super::{ConfigEndpoint, ConfigError, ThemeChoice, services};

/// A value to write into the configuration.
#[derive(Debug, Clone)]
pub enum ConfigChange {
    /// `provider`: the name of a protocol or of a `[providers.NAME]`.
    Provider(String),
    /// A `[providers.NAME]`.
    Named(String, NamedServerChange),
    /// No `[providers.NAME]` of this name, and another one as `provider` where it was that.
    RemoveNamed(String),
    /// No server at the top of the file.
    RemoveTop,
    Endpoint(ConfigEndpoint),
    ApiKey(SecretString),
    Model(String),
    /// The model file that slug starts a server for.
    LocalModel(PathBuf),
    /// `ui.theme`
    Theme(ThemeChoice),
    /// A `[mcp.NAME]` with these keys in place of all that it had; `None` removes it.
    McpServer(String, Option<serde_json::Map<String, serde_json::Value>>),
    /// `enabled` of a `[mcp.NAME]` that is there.
    McpEnabled(String, bool),
}

/// What is written into a `[providers.NAME]`. The rest of the table stays.
#[derive(Debug, Clone)]
pub struct NamedServerChange {
    pub protocol: ProviderProtocol,
    pub endpoint: ConfigEndpoint,
    /// `None` removes a key.
    pub api_key: Option<SecretString>,
    /// `None` leaves the model as it is.
    pub model: Option<String>,
}

const HEAD: &str = "# `slug config` prints all values in effect, and where each comes from.\n\n";

/// Writes `changes` into the file at `path`, which is created when it does not exist. Where `path`
/// is a symbolic link, the file behind it is written.
///
/// # Errors
///
/// Fails when the file cannot be read, is not TOML, has a `ui` that is no table, or cannot be
/// written.
pub fn save(path: &Path, changes: &[ConfigChange]) -> Result<(), ConfigError> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let unreadable = |problem| ConfigError::Unreadable { path: target.clone(), problem };
    let found = read_text(&target, u64::MAX).map_err(|error| unreadable(error.to_string()))?;
    let (head, text) = match found {
        Some(text) => ("", text),
        None => (HEAD, String::new()),
    };
    let mut document: DocumentMut = text.parse().map_err(|_| {
        unreadable(
            "is not valid TOML, so slug cannot save anything in it: correct it first".to_owned(),
        )
    })?;
    for change in changes {
        let top = document.as_table_mut();
        match change {
            ConfigChange::Provider(name) => set(top, "provider", name.as_str().into()),
            ConfigChange::Named(name, change) => {
                let table = named_tables(top)
                    .and_then(|all| {
                        all.entry(name).or_insert_with(toml_edit::table).as_table_like_mut()
                    })
                    .ok_or_else(|| unreadable(NOT_TABLES.to_owned()))?;
                write_named(table, name, change);
            }
            ConfigChange::RemoveNamed(name) => {
                let all = named_tables(top).ok_or_else(|| unreadable(NOT_TABLES.to_owned()))?;
                all.remove(name);
                let other = all.iter().next().map(|(name, _)| name.to_owned());
                if top.get("provider").and_then(Item::as_str) == Some(name.as_str()) {
                    match other {
                        Some(other) => set(top, "provider", other.into()),
                        None => drop(top.remove("provider")),
                    }
                }
            }
            ConfigChange::RemoveTop => {
                for key in ["endpoint", "api_key", "api_key_command", "model"] {
                    top.remove(key);
                }
                let is_protocol = |name: &str| ProviderProtocol::parse(name).is_some();
                if top.get("provider").and_then(Item::as_str).is_some_and(is_protocol) {
                    top.remove("provider");
                }
            }
            ConfigChange::Endpoint(endpoint) => set(top, "endpoint", endpoint.as_str().into()),
            ConfigChange::ApiKey(key) => set(top, "api_key", key.expose_secret().into()),
            ConfigChange::Model(model) => set(top, "model", model.as_str().into()),
            ConfigChange::LocalModel(path) => {
                let local = top.entry("local").or_insert_with(toml_edit::table);
                let local = local.as_table_like_mut().ok_or_else(|| {
                    unreadable("has a `local` that is not a table: correct it first".to_owned())
                })?;
                set(local, "model", path.to_string_lossy().into_owned().into());
            }
            ConfigChange::Theme(choice) => {
                let ui = top.entry("ui").or_insert_with(toml_edit::table);
                let ui = ui.as_table_like_mut().ok_or_else(|| {
                    unreadable("has a `ui` that is not a table: correct it first".to_owned())
                })?;
                set(ui, "theme", theme(choice));
            }
            ConfigChange::McpServer(name, keys) => {
                let all = tables(top, "mcp").ok_or_else(|| unreadable(NOT_SERVERS.to_owned()))?;
                all.remove(name);
                if let Some(keys) = keys {
                    let keys = keys.iter().filter_map(|(key, it)| Some((key.as_str(), toml(it)?)));
                    all.insert(name, Item::Table(keys.collect()));
                }
            }
            ConfigChange::McpEnabled(name, enabled) => {
                let server = tables(top, "mcp")
                    .and_then(|all| all.get_mut(name))
                    .and_then(Item::as_table_like_mut)
                    .ok_or_else(|| unreadable(format!("has no table [mcp.{name}]")))?;
                server.remove("disabled");
                set(server, "enabled", (*enabled).into());
            }
        }
    }
    write(&target, &format!("{head}{document}"))
}

/// Replaces the file at `path`, or what the link there leads to.
///
/// # Errors
///
/// Fails when the file cannot be written.
pub(super) fn write(path: &Path, text: &str) -> Result<(), ConfigError> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    replace_private(&target, text.as_bytes())
        .map_err(|source| ConfigError::Unwritable { path: target, source })
}

const NOT_TABLES: &str = "has a `providers` that does not hold tables: correct it first";

const NOT_SERVERS: &str = "has an `mcp` that does not hold tables: correct it first";

/// A value of JSON; TOML has no null.
fn toml(value: &serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;

    Some(match value {
        Json::Null => return None,
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::from(number),
            None => Value::from(number.as_f64()?),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from_iter(items.iter().filter_map(toml)),
        Json::Object(keys) => Value::from_iter(
            keys.iter().filter_map(|(key, value)| Some((key.as_str(), toml(value)?))),
        ),
    })
}

/// The table of the `[providers.NAME]`.
fn named_tables(top: &mut Table) -> Option<&mut dyn TableLike> {
    tables(top, "providers")
}

/// A table that holds only tables.
fn tables<'a>(top: &'a mut Table, name: &str) -> Option<&'a mut dyn TableLike> {
    let all = top.entry(name).or_insert_with(|| {
        let mut all = Table::new();
        // Only the tables in it have a heading.
        all.set_implicit(true);
        Item::Table(all)
    });
    all.as_table_like_mut()
}

fn write_named(table: &mut dyn TableLike, name: &str, change: &NamedServerChange) {
    let NamedServerChange { protocol, endpoint, api_key, model } = change;
    let service = services::of(*protocol);
    let own = ConfigEndpoint::parse(service.own_endpoint).ok();
    // A protocol's name stands for its own service already.
    if name != protocol.name() || own.as_ref() != Some(endpoint) {
        if *protocol != ProviderProtocol::ChatCompletions {
            set(table, "protocol", protocol.name().into());
        }
        set(table, "endpoint", endpoint.as_str().into());
    }
    table.remove("api_key_command");
    match api_key {
        Some(key) => set(table, "api_key", key.expose_secret().into()),
        None => drop(table.remove("api_key")),
    }
    if let Some(model) = model {
        set(table, "model", model.as_str().into());
    }
}

fn theme(choice: &ThemeChoice) -> Value {
    match choice {
        ThemeChoice::Auto | ThemeChoice::Named(_) => Value::from(choice.to_string()),
        ThemeChoice::Pair { dark, light } => {
            Value::from_iter([("dark", dark.as_str()), ("light", light.as_str())])
        }
    }
}

/// Sets a key, and keeps the white space and the comment around its old value.
pub(super) fn set(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            // A table in its place is removed together with its heading.
            table.remove(key);
            table.insert(key, Item::Value(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::super::raw::RawSecret;
    use super::*;

    fn endpoint(text: &str) -> ConfigChange {
        ConfigChange::Endpoint(ConfigEndpoint::parse(text).unwrap())
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_first_file_is_private_and_so_is_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let path = home.join("config.toml");
        save(&path, &[endpoint("http://h:1/v1"), ConfigChange::ApiKey("a\"b".into())]).unwrap();
        assert_eq!((mode(&path), mode(&home)), (0o600, 0o700));
        let text = fs::read_to_string(&path).unwrap();
        let parsed = super::super::raw::parse(&text);
        assert!(parsed.errors.is_empty() && parsed.warnings.is_empty(), "{text}");
        assert_eq!(parsed.raw.server.endpoint.unwrap().value, "http://h:1/v1");
        let key = parsed.raw.server.api_key.unwrap().value;
        assert!(matches!(key, RawSecret::Text(key) if key.expose_secret() == "a\"b"));
    }

    #[test]
    fn a_service_is_written_by_its_protocol() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        save(&path, &[ConfigChange::Provider("anthropic".into()), ConfigChange::Model("m".into())])
            .unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("provider = \"anthropic\"\nmodel = \"m\"\n"), "{text}");
    }

    #[test]
    fn named_servers_are_added_changed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let named =
            |protocol, address: &str, key: Option<&str>, model: Option<&str>| NamedServerChange {
                protocol,
                endpoint: ConfigEndpoint::parse(address).unwrap(),
                api_key: key.map(Into::into),
                model: model.map(str::to_owned),
            };
        let anthropic = named(
            ProviderProtocol::Anthropic,
            "https://api.anthropic.com",
            Some("k1"),
            Some("claude"),
        );
        let lab = named(ProviderProtocol::ChatCompletions, "http://localhost:8089/v1", None, None);
        let added = [
            ConfigChange::Named("anthropic".into(), anthropic.clone()),
            ConfigChange::Provider("anthropic".into()),
            ConfigChange::Named("lab".into(), lab),
        ];
        save(&path, &added).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.ends_with(
                "provider = \"anthropic\"\n\n[providers.anthropic]\napi_key = \"k1\"\nmodel = \
                 \"claude\"\n\n[providers.lab]\nendpoint = \"http://localhost:8089/v1\"\n"
            ),
            "{text}"
        );
        assert_eq!(mode(&path), 0o600);
        let changed = NamedServerChange { api_key: Some("k2".into()), model: None, ..anthropic };
        save(&path, &[ConfigChange::Named("anthropic".into(), changed)]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("k2") && !text.contains("k1") && text.contains("claude"), "{text}");
        save(&path, &[ConfigChange::RemoveNamed("anthropic".into())]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("provider = \"lab\"") && !text.contains("k2"), "{text}");
        save(&path, &[ConfigChange::RemoveNamed("lab".into())]).unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains("provider"));
    }

    #[test]
    fn the_rest_of_the_file_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let before =
            "# mine\nmodel = \"a\" # the fast one\n\n[providers.p]\nendpoint = \"http://p/v1\"\n";
        fs::write(&path, before).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        save(&path, &[ConfigChange::Model("b".into())]).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "# mine\nmodel = \"b\" # the fast one\n\n[providers.p]\nendpoint = \"http://p/v1\"\n"
        );
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_theme_goes_into_its_table_and_comments_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let rows = [
            ("", "[ui]\ntheme = \"nord\"\n"),
            (
                "# mine\n[ui] # looks\nmouse = false # no\ntheme = \"dark\" # calm\n",
                "# mine\n[ui] # looks\nmouse = false # no\ntheme = \"nord\" # calm\n",
            ),
            ("ui = { mouse = true }\n", "ui = { mouse = true , theme = \"nord\" }\n"),
            ("[ui.theme]\ndark = \"a\"\n", "[ui]\ntheme = \"nord\"\n"),
        ];
        for (before, after) in rows {
            fs::write(&path, before).unwrap();
            save(&path, &[ConfigChange::Theme(ThemeChoice::Named("nord".into()))]).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before}");
        }
        fs::write(&path, "").unwrap();
        let (dark, light) = ("nord".to_owned(), "light".to_owned());
        save(&path, &[ConfigChange::Theme(ThemeChoice::Pair { dark, light })]).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, "[ui]\ntheme = { dark = \"nord\", light = \"light\" }\n");
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("dotfiles.toml");
        let link = folder.path().join("config.toml");
        fs::write(&real, "").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        save(&link, &[ConfigChange::Model("m".into())]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("model = \"m\""));
    }

    #[test]
    fn a_broken_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "model = ").unwrap();
        let error = save(&path, &[ConfigChange::Model("m".into())]).unwrap_err();
        assert!(error.to_string().contains("correct it first"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "model = ");
    }
}
