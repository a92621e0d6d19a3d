//! The model whose server slug runs itself: `[local]` and the flags for it. A project sets nothing here,
//! since it names a program and what that gets.

use std::path::{Path, PathBuf};

use super::connection::path;
use super::findings::ConfigFindings;
use super::raw::{LineValue, RawLocal};
use super::{ConfigOrigin, ConfigValue};

/// What is set about a local model.
#[derive(Debug, Clone, Default)]
pub struct LocalModelConfig {
    /// The model's file, as written.
    pub model: Option<ConfigValue<PathBuf>>,
    /// The window to serve it with, in tokens; `None` goes by model and memory.
    pub context: Option<ConfigValue<u32>>,
    /// The server's program; `None` takes `llama-server` from the PATH.
    pub server: Option<ConfigValue<String>>,
    /// More arguments for the server.
    pub args: Option<ConfigValue<Vec<String>>>,
    /// More folders in which models are looked for, as written.
    pub folders: Option<ConfigValue<Vec<String>>>,
}

impl LocalModelConfig {
    /// The same with what `later` sets.
    pub(super) fn overridden(self, later: Self) -> Self {
        Self {
            model: later.model.or(self.model),
            context: later.context.or(self.context),
            server: later.server.or(self.server),
            args: later.args.or(self.args),
            folders: later.folders.or(self.folders),
        }
    }
}

impl ConfigFindings {
    pub(super) fn local(
        &mut self,
        raw: RawLocal,
        folder: &Path,
        place: &impl Fn(usize) -> ConfigOrigin,
    ) -> LocalModelConfig {
        let words = |words: LineValue<Vec<LineValue<String>>>| ConfigValue {
            value: words.value.into_iter().map(|word| word.value).collect(),
            origin: place(words.line),
        };
        LocalModelConfig {
            model: path(raw.model, folder, place).filter(|it| !it.value.as_os_str().is_empty()),
            context: raw.context.and_then(|it| self.count(&it, 1024, "local.context", place)),
            server: raw
                .server
                .filter(|it| !it.value.trim().is_empty())
                .map(|it| ConfigValue { value: it.value, origin: place(it.line) }),
            args: raw.args.map(words),
            folders: raw.folders.map(words),
        }
    }
}
