//! How a formatter is defined: by slug's own table, and by `[formatters.NAME]` in the user's
//! configuration. A definition with the name of one in the table changes only what it says. A mistake in
//! one formatter leaves the others.

use serde_json::{Map, Value};

use super::table::built_in_formatters;

/// A formatter that slug can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatterDefinition {
    pub name: String,
    /// The program with its arguments; never empty.
    pub command: Vec<String>,
    /// Endings of the names of its files, in small letters and without the point.
    pub extensions: Vec<String>,
    /// What shows that a project uses it; with none it is for every project.
    pub(super) signs: Vec<ConfigurationSign>,
    pub(super) is_disabled: bool,
}

/// What in a folder shows that the project uses a formatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigurationSign {
    /// The name of a file.
    pub(super) file: String,
    /// What the file has to have in it; empty for anything.
    pub(super) text: String,
    pub(super) weight: SignWeight,
}

/// What a sign says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignWeight {
    /// The formatter is configured.
    Configured,
    /// The project has the formatter's language. A file that is not formatted is left so.
    Usual,
}

/// Definitions, and what is wrong with others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatterDefinitions {
    /// In order of precedence.
    pub formatters: Vec<FormatterDefinition>,
    /// Sentences that name the formatter and the key.
    pub problems: Vec<String>,
}

impl FormatterDefinitions {
    /// The user's formatters, and those of the table that none of these replaces.
    pub fn read(user: &Map<String, Value>) -> Self {
        let mut found = Self::default();
        for (name, value) in user {
            match read_formatter(name, value) {
                Ok(formatter) => found.formatters.push(formatter),
                Err(problem) => found.problems.push(format!("config.toml: {problem}")),
            }
        }
        let is_replaced = |own: &FormatterDefinition| user.contains_key(&own.name);
        found.formatters.extend(built_in_formatters().into_iter().filter(|it| !is_replaced(it)));
        found.formatters.retain(|formatter| !formatter.is_disabled);
        found
    }
}

impl ConfigurationSign {
    /// Reads a sign as the table has it.
    pub(super) fn parse(text: &str) -> Self {
        let (text, weight) = match text.strip_prefix('~') {
            Some(rest) => (rest, SignWeight::Usual),
            None => (text, SignWeight::Configured),
        };
        let (file, text) = text.split_once(':').unwrap_or((text, ""));
        Self { file: file.to_owned(), text: text.to_owned(), weight }
    }
}

fn read_formatter(name: &str, value: &Value) -> Result<FormatterDefinition, String> {
    let wrong = |what: &str| format!("The formatter {name:?} {what}.");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(wrong("has a name that is not 1 to 64 letters, digits, `_`, `-` or `.`"));
    }
    let Value::Object(keys) = value else { return Err(wrong("is not a table")) };
    let known = built_in_formatters().into_iter().find(|formatter| formatter.name == name);
    let mut formatter = known.unwrap_or_else(|| FormatterDefinition {
        name: name.to_owned(),
        command: Vec::new(),
        extensions: Vec::new(),
        signs: Vec::new(),
        is_disabled: false,
    });
    for (key, value) in keys {
        let unusable = || wrong(&format!("has a `{key}` that slug cannot use"));
        let texts = || serde_json::from_value::<Vec<String>>(value.clone()).map_err(|_| unusable());
        match key.as_str() {
            "command" => formatter.command = texts()?,
            "extensions" => {
                let plain = |name: String| name.trim_start_matches('.').to_ascii_lowercase();
                formatter.extensions = texts()?.into_iter().map(plain).collect();
            }
            "markers" => {
                let sign = |file: String| ConfigurationSign {
                    file,
                    text: String::new(),
                    weight: SignWeight::Configured,
                };
                formatter.signs = texts()?.into_iter().map(sign).collect();
            }
            "disabled" => formatter.is_disabled = value.as_bool().ok_or_else(unusable)?,
            _ => return Err(wrong(&format!("has the unknown key `{key}`"))),
        }
    }
    if formatter.is_disabled {
        return Ok(formatter);
    }
    if formatter.command.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(wrong("needs a `command`"));
    }
    if formatter.extensions.is_empty() {
        return Err(wrong("needs `extensions`"));
    }
    Ok(formatter)
}
