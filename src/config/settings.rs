//! The settings of a `config.toml`, one row each: what `/settings` shows and changes. A test holds the
//! keys to those of docs/configuration.md, and to what `slug config` prints. Of what may be a secret
//! there is no value here, and no row can change it.

use std::path::Path;

use serde_json::Value;

use crate::domain::nearest;

use super::setting_options::{
    SettingOption, dialects, efforts, exits, header_items, key_presets, modes, notifications,
    sandboxes,
};
use super::{ConfigOrigin, ResolvedConfig, show};

/// A setting: its key, and how it is changed.
#[derive(Debug)]
pub struct SettingDescriptor {
    /// The key, with its table: `ui.mouse`.
    pub key: &'static str,
    /// What it is for, in a phrase without a full stop.
    pub summary: &'static str,
    pub kind: SettingKind,
    pub timing: SettingTiming,
}

/// What a setting holds, and so how its value is chosen.
#[derive(Debug, Clone, Copy)]
pub enum SettingKind {
    /// `true` or `false`.
    Switch,
    /// One of these values.
    Choice(fn() -> Vec<SettingOption>),
    Number,
    Text,
    /// Several words: of these, where there are any, or else any words.
    List(fn() -> Vec<&'static str>),
    /// A slash command changes it.
    Command(&'static str),
    /// Only the file does.
    File,
}

/// When a change of a setting is felt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingTiming {
    Now,
    NextStart,
}

/// A setting with its current value, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingValue {
    pub setting: &'static SettingDescriptor,
    /// `not set` where there is neither a value nor a default.
    pub value: String,
    /// Where the value comes from, in a word or two.
    pub source: String,
    /// Why the user's file does not decide the value; `None` where it does.
    pub overridden: Option<String>,
}

impl PartialEq for SettingDescriptor {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for SettingDescriptor {}

use SettingKind::{Choice, Command, File, List, Number, Switch, Text};
use SettingTiming::{NextStart, Now};

const fn row(
    key: &'static str,
    kind: SettingKind,
    timing: SettingTiming,
    summary: &'static str,
) -> SettingDescriptor {
    SettingDescriptor { key, summary, kind, timing }
}

/// All settings, in the order of the list: what people change first.
pub const SETTINGS: &[SettingDescriptor] = &[
    row("ui.theme", Command("theme"), Now, "the colour theme"),
    row("ui.keys", Choice(key_presets), NextStart, "the keys to begin with"),
    row("ui.vi", Switch, Now, "vi modes in the input"),
    row("ui.mouse", Switch, NextStart, "scroll, fold and select with the mouse"),
    row("ui.wheel_rows", Number, Now, "rows that a notch of the mouse wheel scrolls, 1 to 50"),
    row("ui.wheel_events", Number, Now, "events that the terminal sends for a notch, 1 to 50"),
    row("ui.reduced_motion", Switch, Now, "no animation: nothing moves by itself"),
    row("ui.panel", Switch, Now, "a panel with plan, files and context, from 140 columns on"),
    row("ui.model_titles", Switch, NextStart, "a hosted model gives new sessions a title"),
    row("ui.status", List(header_items), Now, "what the first line shows"),
    row("ui.status_command", Text, NextStart, "a shell command whose output the first line shows"),
    row("ui.title", Switch, NextStart, "name the terminal's window"),
    row("ui.images", Switch, NextStart, "show images as pictures"),
    row("ui.progress", Switch, NextStart, "show in the tab or task bar that slug works"),
    row(
        "ui.notify",
        Choice(notifications),
        NextStart,
        "how slug calls you: a notification, a bell",
    ),
    row(
        "ui.notify_after",
        Number,
        Now,
        "seconds that a turn takes before its end is a notification",
    ),
    row("ui.leave", Choice(exits), NextStart, "what stays in the terminal when slug quits"),
    row("permission_mode", Choice(modes), NextStart, "the mode to start in; /mode changes it now"),
    row("model", Text, NextStart, "the model to start with; /model changes it now"),
    row("effort", Choice(efforts), NextStart, "how hard the model thinks; /effort changes it now"),
    row("provider", Command("connect"), NextStart, "which provider slug uses"),
    row("endpoint", Command("connect"), NextStart, "the address of the server"),
    row("api_key", Command("connect"), NextStart, "the key, token or password of the server"),
    row("api_key_command", File, NextStart, "a command that prints the key"),
    row("key_header", File, NextStart, "the header that the key travels in"),
    row("headers", File, NextStart, "HTTP headers for the server"),
    row("query", File, NextStart, "what is added to every address"),
    row("proxy", File, NextStart, "the proxy for all servers"),
    row("ca_file", Text, NextStart, "more certificates of authorities (TLS)"),
    row("client_certificate", Text, NextStart, "slug's own certificate (TLS)"),
    row("client_key", Text, NextStart, "the file with the key of that certificate (TLS)"),
    row("models", List(Vec::new), NextStart, "models to offer where the server lists none"),
    row("dialect", Choice(dialects), NextStart, "how chat completions are spoken"),
    row("providers.NAME", Command("connect"), NextStart, "other providers, by name"),
    row("system_prompt", Text, NextStart, "a text in place of slug's own prompt"),
    row("context.static.NAME", File, NextStart, "texts for the model at the start of a session"),
    row("temperature", Number, NextStart, "the temperature, from 0 to 2"),
    row("max_tokens", Number, NextStart, "the limit of one response, in tokens"),
    row("context_window", Number, NextStart, "the window in tokens, where nobody else says"),
    row("max_tool_rounds", Number, NextStart, "rounds of tool calls that one turn may take"),
    row("fallback_model", Text, NextStart, "a model that answers while the first is overloaded"),
    row("budget.turn", Text, NextStart, "what a turn may take before slug asks (tokens or cost)"),
    row("budget.session", Text, NextStart, "what a session may take before slug asks"),
    row("timeouts.first_byte", Number, NextStart, "seconds until an answer begins"),
    row("timeouts.idle", Number, NextStart, "seconds between two pieces of an answer"),
    row("timeouts.total", Number, NextStart, "seconds for one answer in all"),
    row("sandbox.network", Switch, NextStart, "network for commands in the sandbox"),
    row("sandbox.hosts", List(Vec::new), NextStart, "hosts that commands in the sandbox reach"),
    row("sandbox.method", Choice(sandboxes), NextStart, "which sandbox is used"),
    row("web.searxng", Text, NextStart, "the address of a SearXNG server, for WebSearch"),
    row(
        "lsp.wait_seconds",
        Number,
        NextStart,
        "seconds that a change waits for language servers, 0 for never",
    ),
    row("lsp.memory_mb", Number, NextStart, "memory of a language server, in megabytes"),
    row("formatters.enabled", Switch, NextStart, "run the project's formatter on what is written"),
    row(
        "formatters.allow",
        List(Vec::new),
        NextStart,
        "formatters that run by their name and hash",
    ),
    row("local.model", Text, NextStart, "a model file whose server slug starts"),
    row("local.context", Number, NextStart, "context window of the local model, in tokens"),
    row("local.server", Text, NextStart, "the program that serves it, such as llama-server"),
    row("local.args", List(Vec::new), NextStart, "more arguments for `local.server`"),
    row("local.folders", List(Vec::new), NextStart, "more folders with model files"),
    row(
        "bash.environment",
        List(Vec::new),
        NextStart,
        "variables that commands get although they look secret",
    ),
];

/// Other words for what a setting is about, which find it in the list: those of other programs, other
/// spellings, and what somebody looks for who does not know the key.
const SYNONYMS: &[(&str, &str)] = &[
    ("ui.theme", "color colors colours appearance dark light scheme"),
    ("ui.keys", "keybindings shortcuts bindings emacs vim"),
    ("ui.vi", "vim modal editor"),
    ("ui.mouse", "click pointer"),
    ("ui.wheel_rows", "scrolling speed lines"),
    ("ui.wheel_events", "scrolling speed touchpad"),
    ("ui.reduced_motion", "animations spinner blink accessibility"),
    ("ui.panel", "sidebar right todo cost wide"),
    ("ui.model_titles", "name rename session summary"),
    ("ui.status", "header statusline bar"),
    ("ui.status_command", "header statusline script"),
    ("ui.images", "graphics kitty sixel"),
    ("ui.notify", "alert sound desktop"),
    ("ui.leave", "exit scrollback transcript"),
    ("permission_mode", "approval ask plan yolo auto permissions"),
    ("effort", "thinking reasoning"),
    ("endpoint", "url base_url"),
    ("api_key", "login secret"),
    ("api_key_command", "token password helper"),
    ("headers", "http"),
    ("query", "url parameters"),
    ("ca_file", "tls ssl certificate"),
    ("client_certificate", "mtls ssl"),
    ("client_key", "mtls ssl"),
    ("system_prompt", "instructions"),
    ("context.static.NAME", "instructions notes"),
    ("max_tokens", "output length"),
    ("context_window", "length size"),
    ("max_tool_rounds", "steps iterations turns"),
    ("fallback_model", "backup"),
    ("budget.turn", "cost price money limit"),
    ("budget.session", "cost price money limit"),
    ("timeouts.first_byte", "wait slow"),
    ("timeouts.idle", "wait slow"),
    ("timeouts.total", "wait slow"),
    ("sandbox.network", "internet offline"),
    ("sandbox.hosts", "internet domains allowlist"),
    ("sandbox.method", "bubblewrap isolation"),
    ("lsp.wait_seconds", "diagnostics errors lint"),
    ("lsp.memory_mb", "ram limit"),
    ("formatters.enabled", "format_after_edit prettier rustfmt black gofmt style autoformat"),
    ("formatters.allow", "node_modules prettier sandbox"),
    ("local.model", "gguf llama.cpp offline"),
    ("local.context", "num_ctx n_ctx"),
    ("bash.environment", "env secrets shell"),
];

impl SettingDescriptor {
    /// Other words that find the setting, with blanks between them.
    pub fn synonyms(&self) -> &'static str {
        SYNONYMS.iter().find(|(key, _)| *key == self.key).map_or("", |(_, words)| words)
    }
}

/// The key that a mistyped one probably meant. Keys of a named provider are compared with those of
/// settings that are no table's, and a table with tables.
pub fn nearest_key(written: &str) -> Option<String> {
    let keys = || SETTINGS.iter().map(|setting| setting.key);
    if let Some((name, key)) = written.strip_prefix("providers.").and_then(|it| it.split_once('.'))
    {
        let known = nearest(key, keys().filter(|key| !key.contains('.')))?;
        return Some(format!("providers.{name}.{known}"));
    }
    let tables = keys().filter_map(|key| Some(key.split_once('.')?.0)).chain(["mcp"]);
    let known = keys().filter(|key| !key.ends_with("NAME")).chain(tables);
    nearest(written, known).map(str::to_owned)
}

/// The setting with this key.
pub fn setting(key: &str) -> Option<&'static SettingDescriptor> {
    SETTINGS.iter().find(|it| it.key == key)
}

/// All settings with their values. `file` is the user's own configuration.
pub fn setting_values(config: &ResolvedConfig, file: &Path) -> Vec<SettingValue> {
    let rows = show::rows(config);
    SETTINGS.iter().map(|setting| value(setting, config, &rows, file)).collect()
}

fn value(
    setting: &'static SettingDescriptor,
    config: &ResolvedConfig,
    rows: &[show::ConfigRow],
    file: &Path,
) -> SettingValue {
    let family = setting.key.strip_suffix("NAME").unwrap_or(setting.key);
    let row = rows.iter().find(|row| row.key == setting.key);
    let members = rows.iter().filter(|row| {
        row.key
            .strip_prefix(family)
            .is_some_and(|rest| family.ends_with('.') || rest.starts_with('.'))
    });
    let (value, origin) = match row {
        Some(row) => (shown(&row.value), &row.origin),
        None => {
            let first = members.clone().next().map(|row| &row.origin);
            let count = match setting.key {
                "providers.NAME" => config.named_providers.len(),
                _ => members.count(),
            };
            let value = if count == 0 { NOT_SET.to_owned() } else { format!("{count} set") };
            (value, first.unwrap_or(&ConfigOrigin::Default))
        }
    };
    let overridden = match origin {
        ConfigOrigin::Flag(name) => {
            Some(format!("{name} sets {} for this run. Start slug without it first.", setting.key))
        }
        ConfigOrigin::Environment(name) => {
            Some(format!("${name} sets {}. Unset it, then start slug again.", setting.key))
        }
        ConfigOrigin::File { path, .. } if is_of_project(path) && path != file => {
            Some(format!("The project sets {}. Change {}.", setting.key, path.display()))
        }
        ConfigOrigin::File { .. } | ConfigOrigin::Default => None,
    };
    SettingValue { setting, value, source: source(origin, file), overridden }
}

const NOT_SET: &str = "not set";

/// The whole value as it is typed: a field begins with it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => NOT_SET.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let words = items.iter().map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
            words.collect::<Vec<_>>().join(" ")
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

fn is_of_project(path: &Path) -> bool {
    path.ends_with(".slug/config.toml")
}

fn source(origin: &ConfigOrigin, file: &Path) -> String {
    match origin {
        ConfigOrigin::Default => "default".to_owned(),
        ConfigOrigin::Environment(name) => format!("${name}"),
        ConfigOrigin::Flag(name) => (*name).to_owned(),
        ConfigOrigin::File { path, line } if path == file => format!("your file:{line}"),
        ConfigOrigin::File { path, line } if is_of_project(path) => format!("project:{line}"),
        ConfigOrigin::File { path, line } => format!("{}:{line}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::super::{ConfigEnvironment, ConfigFlags, ConfigText, ConfigTexts, resolve};
    use super::*;

    fn values(user: &str, project: &str, flags: &ConfigFlags) -> Vec<SettingValue> {
        let file = |path: &str, text: &str| {
            Some(ConfigText { path: PathBuf::from(path), text: text.to_owned() })
        };
        let texts = ConfigTexts {
            user: file("/h/config.toml", user),
            project: file("/p/.slug/config.toml", project),
            ..ConfigTexts::default()
        };
        let config = resolve(&texts, &ConfigEnvironment::default(), flags).unwrap();
        setting_values(&config, Path::new("/h/config.toml"))
    }

    fn of<'a>(values: &'a [SettingValue], key: &str) -> &'a SettingValue {
        values.iter().find(|it| it.setting.key == key).unwrap()
    }

    #[test]
    fn each_setting_has_its_value_and_its_source() {
        let flags = ConfigFlags { model: Some("m".into()), ..ConfigFlags::default() };
        let user = "\nui.mouse = false\nmodels = [\"a\", \"b\"]\nheaders = { X-A = \"1\" }\n";
        let values = values(user, "temperature = 1\n", &flags);
        let shown = |key| {
            let it = of(&values, key);
            (it.value.as_str(), it.source.as_str(), it.overridden.is_some())
        };
        assert_eq!(shown("ui.mouse"), ("false", "your file:2", false));
        assert_eq!(shown("models"), ("a b", "your file:3", false));
        assert_eq!(shown("headers"), ("1 set", "your file:4", false));
        assert_eq!(shown("temperature"), ("1.0", "project:1", true));
        assert_eq!(shown("model"), ("m", "--model", true));
        assert_eq!(shown("ui.leave"), ("end", "default", false));
    }

    /// What a list offers is what the file takes.
    #[test]
    fn every_offered_value_is_accepted() {
        for setting in SETTINGS {
            let Choice(options) = setting.kind else { continue };
            for option in options() {
                let user = format!("{} = \"{}\"\n", setting.key, option.name);
                let values = values(&user, "", &ConfigFlags::default());
                assert_eq!(of(&values, setting.key).source, "your file:1", "{user}");
            }
        }
    }

    #[test]
    fn synonyms_belong_to_settings_and_add_words() {
        for (key, words) in SYNONYMS {
            let setting = setting(key).unwrap_or_else(|| panic!("{key}"));
            assert_eq!(setting.synonyms(), *words, "{key} twice");
            for word in words.split(' ') {
                let known = setting.summary.split(' ').chain([setting.key]).any(|it| it == word);
                assert!(!known && !word.is_empty(), "{key}: {word}");
            }
        }
    }

    #[test]
    fn a_mistyped_key_is_answered_with_the_nearest() {
        for (written, meant) in [
            ("modle", Some("model")),
            ("sandbx", Some("sandbox")),
            ("ui.thme", Some("ui.theme")),
            ("ui.wheel_row", Some("ui.wheel_rows")),
            ("timeouts.first-byte", Some("timeouts.first_byte")),
            ("providers.groq.modle", Some("providers.groq.model")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest_key(written).as_deref(), meant, "{written}");
        }
    }

    #[test]
    fn no_value_of_a_secret_is_among_them() {
        let user = "api_key = \"sk-secret\"\nheaders = { X = \"hidden\" }\nquery = { k = \"hidden\" }\n\
                    proxy = \"http://u:hidden@p:1\"\n";
        let text = format!("{:?}", values(user, "", &ConfigFlags::default()));
        assert!(!text.contains("sk-secret") && !text.contains("hidden"), "{text}");
    }

    #[test]
    fn the_settings_are_those_that_slug_config_prints() {
        let config = resolve(
            &ConfigTexts::default(),
            &ConfigEnvironment::default(),
            &ConfigFlags::default(),
        );
        let printed: BTreeSet<String> =
            show::rows(&config.unwrap()).into_iter().map(|row| row.key).collect();
        let own: BTreeSet<String> = SETTINGS.iter().map(|it| it.key.to_owned()).collect();
        assert_eq!(own.len(), SETTINGS.len(), "one twice");
        let missing: Vec<&String> = printed.difference(&own).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let families =
            ["api_key_command", "context.static.NAME", "headers", "providers.NAME", "query"];
        let more: Vec<&String> = own.difference(&printed).collect();
        assert_eq!(more, families);
    }
}
