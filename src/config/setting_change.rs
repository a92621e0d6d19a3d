//! Changes one setting in the user's `config.toml`. The file is checked with the change before it is
//! written: what slug would refuse at its next start is refused here, and the file stays as it was.

use std::path::Path;

use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::save::{set, write};
use super::settings::{SettingDescriptor, SettingKind};
use super::{
    ConfigEnvironment, ConfigError, ConfigFiles, ConfigFlags, ConfigText, ResolvedConfig, resolve,
};

/// A setting, and what it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    pub setting: &'static SettingDescriptor,
    /// What the file is to say.
    pub to: SettingInput,
}

/// The value that a setting is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingInput {
    /// Its default: the key is removed from the file.
    Default,
    /// As the user typed or chose it; nothing is the default.
    Typed(String),
    /// As it stood in the file before.
    Toml(String),
}

/// What a change came to.
#[derive(Debug)]
pub struct SettingOutcome {
    /// The configuration with the change.
    pub config: ResolvedConfig,
    /// Brings the value from before back.
    pub undo: SettingChange,
}

/// Writes a change into the user's file at `path`, which is the user's file of `files`.
///
/// # Errors
///
/// Sentences for the user: the value is not allowed, the setting cannot be changed here, or the file
/// cannot be read or written.
pub fn change_setting(
    files: ConfigFiles<'_>,
    environment: &ConfigEnvironment,
    flags: &ConfigFlags,
    path: &Path,
    change: &SettingChange,
) -> Result<SettingOutcome, String> {
    let mut texts = files.read().map_err(|error| error.to_string())?;
    let old = texts.user.take().map_or(String::new(), |file| file.text);
    let (text, before) = edited(&old, change)?;
    let undo = SettingChange { setting: change.setting, to: before };
    let reset = SettingChange { setting: change.setting, to: SettingInput::Default };
    let mut resolved = |text: String| {
        texts.user = Some(ConfigText { path: path.to_owned(), text });
        resolve(&texts, environment, flags)
    };
    let without = resolved(edited(&old, &reset)?.0);
    let config = resolved(text.clone()).map_err(|errors| refusal(&errors, without.is_ok()))?;
    let known = without.map_or(Vec::new(), |it| without_lines(&it.warnings, path));
    let ignored = without_lines(&config.warnings, path).into_iter().find(|it| !known.contains(it));
    if let Some(ignored) = ignored {
        return Err(format!("Not saved: {ignored}."));
    }
    write(path, &text).map_err(|error| error.to_string())?;
    Ok(SettingOutcome { config, undo })
}

/// Why slug would not start with the change. A line is named only if slug would not start without the
/// setting either: what is wrong there is in the file already.
fn refusal(errors: &[ConfigError], is_right_without: bool) -> String {
    let sentence = |error: &ConfigError| match error {
        ConfigError::Value { problem, .. } if is_right_without => format!("{problem}."),
        ConfigError::Value { .. }
        | ConfigError::Missing(_)
        | ConfigError::Unreadable { .. }
        | ConfigError::Unwritable { .. } => error.to_string(),
    };
    let errors: Vec<String> = errors.iter().map(sentence).collect();
    format!("Not saved: {}", errors.join("\n"))
}

/// Warnings without the file and line that they begin with: a change moves the lines below it.
fn without_lines(warnings: &[String], path: &Path) -> Vec<String> {
    let file = format!("{}:", path.display());
    let text = |warning: &String| {
        let behind = warning.strip_prefix(&file).and_then(|it| it.split_once(": "));
        behind.map_or_else(|| warning.clone(), |(_, text)| text.to_owned())
    };
    warnings.iter().map(text).collect()
}

/// The text with the change, and what the setting was.
fn edited(text: &str, change: &SettingChange) -> Result<(String, SettingInput), String> {
    let SettingChange { setting, to } = change;
    let mut document: DocumentMut =
        text.parse().map_err(|_| "The file is not valid TOML. Correct it first.".to_owned())?;
    let value = match to {
        SettingInput::Default => None,
        SettingInput::Typed(text) if text.trim().is_empty() => None,
        SettingInput::Typed(text) => Some(typed(setting, text.trim())?),
        SettingInput::Toml(text) => Some(parsed(text)?),
    };
    let (table, key) = match setting.key.split_once('.') {
        None => (document.as_table_mut() as &mut dyn TableLike, setting.key),
        Some((table, _)) if value.is_none() && !document.contains_key(table) => {
            return Ok((document.to_string(), SettingInput::Default));
        }
        Some((table, key)) => {
            let tables = document.as_table_mut();
            let inner = tables.entry(table).or_insert_with(toml_edit::table).as_table_like_mut();
            (
                inner.ok_or_else(|| {
                    format!("`{table}` in the file is not a table. Correct it first.")
                })?,
                key,
            )
        }
    };
    if table.get(key).is_some_and(|item| !item.is_value()) {
        return Err(format!("`{}` is a table in the file. Change it there.", setting.key));
    }
    let before = table.get(key).and_then(Item::as_value).map(|value| {
        let mut value = value.clone();
        value.decor_mut().clear();
        SettingInput::Toml(value.to_string())
    });
    match value {
        Some(value) => set(table, key, value),
        None => drop(table.remove(key)),
    }
    Ok((document.to_string(), before.unwrap_or(SettingInput::Default)))
}

fn parsed(text: &str) -> Result<Value, String> {
    text.parse().map_err(|_| "That is not a value of TOML.".to_owned())
}

/// The value of what the user typed. A number that is none stays a text, which the check of the file
/// then refuses in the words of the file.
fn typed(setting: &SettingDescriptor, text: &str) -> Result<Value, String> {
    match setting.kind {
        SettingKind::Switch | SettingKind::Number => {
            Ok(text.parse::<Value>().unwrap_or_else(|_| text.into()))
        }
        SettingKind::Choice(_) | SettingKind::Text => Ok(text.into()),
        SettingKind::List(_) => {
            let words = text.split([',', ' ']).filter(|word| !word.is_empty());
            Ok(words.collect())
        }
        SettingKind::Command(command) => Err(format!("/{command} changes this.")),
        SettingKind::File => Err(format!("Set `{}` in the file itself.", setting.key)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::{UserConfigFile, setting};
    use super::*;

    fn change(key: &str, to: SettingInput) -> SettingChange {
        SettingChange { setting: setting(key).unwrap(), to }
    }

    fn typed(text: &str) -> SettingInput {
        SettingInput::Typed(text.to_owned())
    }

    fn apply(home: &Path, change: &SettingChange) -> Result<SettingChange, String> {
        let files = ConfigFiles { user: UserConfigFile::Home(home), project: None, inputrc: &[] };
        let (environment, flags) = (ConfigEnvironment::default(), ConfigFlags::default());
        let path = home.join("config.toml");
        change_setting(files, &environment, &flags, &path, change).map(|outcome| outcome.undo)
    }

    const FILE: &str =
        "# mine\nmodel = \"m\" # the good one\napi_key = \"k\"\n\n[ui]\n# rows\nwheel_rows = 5\n";

    #[test]
    fn a_change_keeps_comments_and_is_undone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        fs::write(&path, FILE).unwrap();
        let read = || fs::read_to_string(&path).unwrap();
        let undo = apply(home.path(), &change("ui.wheel_rows", typed("7"))).unwrap();
        assert_eq!(read(), FILE.replace("wheel_rows = 5", "wheel_rows = 7"));
        apply(home.path(), &undo).unwrap();
        assert_eq!(read(), FILE);
        let undo = apply(home.path(), &change("sandbox.hosts", typed("a.io, b.io"))).unwrap();
        assert!(read().contains("[sandbox]\nhosts = [\"a.io\", \"b.io\"]"), "{}", read());
        assert_eq!(undo.to, SettingInput::Default);
        let undo = apply(home.path(), &change("model", SettingInput::Default)).unwrap();
        assert!(!read().contains("model ="));
        apply(home.path(), &undo).unwrap();
        assert!(read().contains("model = \"m\""));
    }

    #[test]
    fn a_table_is_neither_replaced_nor_made_for_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        let file = "api_key = \"k\"\n[permission_mode]\ntype = \"plan\" # careful\n";
        fs::write(&path, file).unwrap();
        let error = apply(home.path(), &change("permission_mode", typed("ask"))).unwrap_err();
        assert_eq!(error, "`permission_mode` is a table in the file. Change it there.");
        apply(home.path(), &change("ui.vi", SettingInput::Default)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), file);
    }

    #[test]
    fn a_file_that_does_not_exist_is_made() {
        let home = tempfile::tempdir().unwrap();
        apply(home.path(), &change("ui.vi", typed("true"))).unwrap();
        let text = fs::read_to_string(home.path().join("config.toml")).unwrap();
        assert!(text.ends_with("[ui]\nvi = true\n"), "{text}");
    }

    #[test]
    fn what_slug_would_refuse_is_not_written() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        fs::write(&path, FILE).unwrap();
        for (key, text) in [
            ("ui.wheel_rows", "99"),
            ("ui.wheel_rows", "many"),
            ("temperature", "7"),
            ("permission_mode", "sometimes"),
            ("max_tokens", "0"),
            ("sandbox.hosts", "http://a/b"),
        ] {
            let error = apply(home.path(), &change(key, typed(text))).unwrap_err();
            assert!(error.starts_with("Not saved: ") && !error.contains(".toml"), "{key}: {error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), FILE, "{key}");
        }
        let broken = "effort = \"hard\"\n";
        fs::write(&path, broken).unwrap();
        let error = apply(home.path(), &change("ui.vi", typed("true"))).unwrap_err();
        assert!(error.contains("config.toml:1: ") && error.contains("effort"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), broken);
        let error = apply(home.path(), &change("api_key", typed("new"))).unwrap_err();
        assert_eq!(error, "/connect changes this.");
        let error = apply(home.path(), &change("headers", typed("new"))).unwrap_err();
        assert_eq!(error, "Set `headers` in the file itself.");
    }

    /// What slug would leave out with a warning is refused, too; what is wrong elsewhere is left alone.
    #[test]
    fn what_slug_would_ignore_is_not_written() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        let file = "api_key = \"k\"\n[ui]\nthme = \"dark\"\n";
        fs::write(&path, file).unwrap();
        let error = apply(home.path(), &change("ui.status", typed("slug modle"))).unwrap_err();
        assert!(error.starts_with("Not saved: the header has no item `modle`"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), file);
        fs::write(&path, format!("{file}status = [\"modle\"]\n")).unwrap();
        apply(home.path(), &change("model", typed("m"))).unwrap();
        let again = apply(home.path(), &change("ui.status", typed("modle"))).unwrap_err();
        assert_eq!(again, error, "the file has it already");
        apply(home.path(), &change("ui.status", typed("slug | model"))).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("status = [\"slug\", \"|\", \"model\"]"), "{text}");
    }
}
