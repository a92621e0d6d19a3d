//! The keys of `[local]`, as written.

use super::{ConfigReader, LineValue, TomlValue};

/// What is set about a local model. Fields have the names of their keys.
#[derive(Debug, Default)]
pub struct RawLocal {
    pub model: Option<LineValue<String>>,
    pub context: Option<LineValue<i64>>,
    pub server: Option<LineValue<String>>,
    pub args: Option<LineValue<Vec<LineValue<String>>>>,
    pub folders: Option<LineValue<Vec<LineValue<String>>>>,
}

impl RawLocal {
    /// The first line of what is set; `None` where nothing is.
    pub fn line(&self) -> Option<usize> {
        let Self { model, context, server, args, folders } = self;
        let lines = [
            model.as_ref().map(|it| it.line),
            context.as_ref().map(|it| it.line),
            server.as_ref().map(|it| it.line),
            args.as_ref().map(|it| it.line),
            folders.as_ref().map(|it| it.line),
        ];
        lines.into_iter().flatten().min()
    }
}

impl ConfigReader<'_> {
    pub(super) fn local(&mut self, value: &TomlValue<'_>) {
        let Some(table) = self.table("local", value) else { return };
        for (key, value) in table {
            let path = format!("local.{}", key.get_ref());
            match key.get_ref().as_ref() {
                "model" => self.parsed.raw.local.model = self.string(&path, value),
                "context" => self.parsed.raw.local.context = self.integer(&path, value),
                "server" => self.parsed.raw.local.server = self.string(&path, value),
                "args" => self.parsed.raw.local.args = self.strings(&path, value),
                "folders" => self.parsed.raw.local.folders = self.strings(&path, value),
                _ => self.unknown(&path, key.span()),
            }
        }
    }
}
