//! The formatters of `[formatters]`. A project sets nothing here, since it would name programs.

use std::collections::BTreeMap;

use serde_json::Value;

use super::raw::RawFormatters;
use super::{ConfigOrigin, ConfigValue};

/// What is set about formatters.
#[derive(Debug, Clone, Default)]
pub struct FormatterConfig {
    enabled: Option<ConfigValue<bool>>,
    /// Programs that may run although they are a project's own or there is no sandbox, by name and hash.
    pub allow: Option<ConfigValue<Vec<String>>>,
    /// The tables `[formatters.NAME]`, as JSON: `crate::formatters` reads their keys.
    pub tables: BTreeMap<String, ConfigValue<Value>>,
}

impl FormatterConfig {
    pub(super) fn new(raw: RawFormatters, place: &impl Fn(usize) -> ConfigOrigin) -> Self {
        let RawFormatters { enabled, allow, tables } = raw;
        Self {
            enabled: enabled.map(|it| ConfigValue { value: it.value, origin: place(it.line) }),
            allow: allow.map(|it| ConfigValue {
                value: it.value.into_iter().map(|word| word.value).collect(),
                origin: place(it.line),
            }),
            tables: tables
                .into_iter()
                .map(|(name, it)| (name, ConfigValue { value: it.value, origin: place(it.line) }))
                .collect(),
        }
    }

    /// Whether what tools write is formatted.
    pub fn enabled(&self) -> ConfigValue<bool> {
        self.enabled.clone().unwrap_or(ConfigValue::default(true))
    }

    /// Whether the user has set anything, and not turned them off.
    pub fn is_set_up(&self) -> bool {
        let is_set = self.enabled.is_some() || self.allow.is_some() || !self.tables.is_empty();
        is_set && self.enabled().value
    }

    /// The same with what `later` sets.
    pub(super) fn overridden(mut self, later: Self) -> Self {
        self.tables.extend(later.tables);
        Self {
            enabled: later.enabled.or(self.enabled),
            allow: later.allow.or(self.allow),
            tables: self.tables,
        }
    }
}
