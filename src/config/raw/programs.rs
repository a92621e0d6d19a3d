//! The keys of `[mcp]`, `[lsp]` and `[formatters]`, as written: programs that slug would start. The rooms
//! that start them read what a table says of one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ConfigReader, LineValue, TomlValue, json};

/// What is set about formatters.
#[derive(Debug, Default)]
pub struct RawFormatters {
    pub enabled: Option<LineValue<bool>>,
    pub allow: Option<LineValue<Vec<LineValue<String>>>>,
    /// The tables `[formatters.NAME]`, by name, as JSON.
    pub tables: BTreeMap<String, LineValue<Value>>,
}

impl RawFormatters {
    /// The first line of what is set; `None` where nothing is.
    pub fn line(&self) -> Option<usize> {
        let Self { enabled, allow, tables } = self;
        let lines = [enabled.as_ref().map(|it| it.line), allow.as_ref().map(|it| it.line)];
        lines.into_iter().flatten().chain(tables.values().map(|it| it.line)).min()
    }
}

impl ConfigReader<'_> {
    pub(super) fn mcp(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("mcp", value) else { return };
        for (key, value) in table {
            let line = self.line(key.span());
            let server = LineValue { value: json(value.get_ref()), line };
            self.parsed.raw.mcp.insert(key.get_ref().to_string(), server);
        }
    }

    pub(super) fn lsp(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("lsp", value) else { return };
        for (key, value) in table {
            let path = format!("lsp.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "wait_seconds" => self.parsed.raw.lsp_wait = self.integer(&path, value),
                "memory_mb" => self.parsed.raw.lsp_memory = self.integer(&path, value),
                // A key that is no table would be a server by this name.
                name if value.get_ref().is_table() => {
                    let line = self.line(key.span());
                    let server = LineValue { value: json(value.get_ref()), line };
                    self.parsed.raw.lsp.insert(name.to_owned(), server);
                }
                _ => self.unknown(&path, key.span()),
            }
        }
    }

    pub(super) fn formatters(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("formatters", value) else { return };
        for (key, value) in table {
            let path = format!("formatters.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "enabled" => self.parsed.raw.formatters.enabled = self.boolean(&path, value),
                "allow" => self.parsed.raw.formatters.allow = self.strings(&path, value),
                name if value.get_ref().is_table() => {
                    let line = self.line(key.span());
                    let table = LineValue { value: json(value.get_ref()), line };
                    self.parsed.raw.formatters.tables.insert(name.to_owned(), table);
                }
                _ => self.unknown(&path, key.span()),
            }
        }
    }
}
