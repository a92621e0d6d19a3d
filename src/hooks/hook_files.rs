//! The files that hooks are written in, and the user's own list of the hooks that are switched off.
//!
//! The list names hooks by hash, so that slug never writes a project's file, and a hook that
//! changes is on again.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::disk::read_user_owned;
use crate::domain::ContentHash;
use crate::platform::paths::replace_private;

use super::hook::{Hook, HookId, HookOrigin};
use super::read::{HookWarning, read, unreadable};

/// The folders whose files may hold hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFiles {
    /// slug's own folder, whose hooks always hold.
    pub home: PathBuf,
    /// The working folder, where the user trusts it.
    pub project: Option<PathBuf>,
}

/// Why a hook could not be switched off or on.
#[derive(Debug, thiserror::Error)]
pub enum HookSwitchError {
    /// The list of switched-off hooks cannot be read.
    #[error("Cannot read {file} ({why}). Repair or delete it, then try again.")]
    Broken {
        file: PathBuf,
        /// What is wrong with the list.
        why: String,
    },
    /// The operating system refused.
    #[error("cannot write {file}: {source}")]
    Io {
        file: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
}

impl HookFiles {
    /// The files, in the order in which hooks are asked.
    fn all(&self) -> Vec<PathBuf> {
        let of_user = ["settings.json", "hooks.json"].map(|name| self.home.join(name));
        let names = ["hooks.json", "settings.json", "settings.local.json"];
        let of_project = self.project.iter().flat_map(|folder| {
            let folder = folder.join(".slug");
            names.map(|name| folder.join(name))
        });
        let mut files: Vec<PathBuf> = Vec::new();
        for file in of_user.into_iter().chain(of_project) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }

    /// Reads each of the files as it is now.
    pub(super) fn load(&self) -> Vec<HookFileText> {
        let files = self.all().into_iter();
        files
            .map(|file| {
                let folder = self.project.as_deref().filter(|folder| file.starts_with(folder));
                HookFileText { text: content(&file, folder), file }
            })
            .collect()
    }

    /// Whether a file is a project's, whose hooks hold only as the user has seen them.
    pub(super) fn is_of_project(&self, file: &Path) -> bool {
        !file.starts_with(&self.home)
    }

    fn off_file(&self) -> PathBuf {
        self.home.join("hooks-off.json")
    }

    /// The hooks that are switched off. Where the list cannot be read, none is off, and there is a
    /// warning.
    pub(super) fn off(&self) -> (BTreeSet<HookId>, Option<HookWarning>) {
        match self.read_off() {
            Ok(off) => (off, None),
            Err(error) => {
                let origin = HookOrigin { file: self.off_file(), line: None };
                let text = format!("all hooks are on: {error}");
                (BTreeSet::new(), Some(HookWarning { origin, text }))
            }
        }
    }

    /// Switches a hook off, or on again. Reads the list again first, so that a change by another
    /// running slug is kept.
    pub(super) fn switch(&self, id: &HookId) -> Result<BTreeSet<HookId>, HookSwitchError> {
        let mut off = self.read_off()?;
        if !off.remove(id) {
            off.insert(id.clone());
        }
        let names: Vec<&str> = off.iter().map(|id| id.0.as_str()).collect();
        let text = format!("{:#}\n", json!({ "off": names }));
        let file = self.off_file();
        replace_private(&file, text.as_bytes())
            .map_err(|source| HookSwitchError::Io { file, source })?;
        Ok(off)
    }

    fn read_off(&self) -> Result<BTreeSet<HookId>, HookSwitchError> {
        let file = self.off_file();
        let broken = |why: String| HookSwitchError::Broken { file: file.clone(), why };
        let Some(text) = content(&file, None).map_err(|why| broken(format!("it {why}")))? else {
            return Ok(BTreeSet::new());
        };
        let list: Value = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let names = list.get("off").and_then(Value::as_array);
        let names = names.ok_or_else(|| broken("it has no list `off`".into()))?;
        let hash = |name: &Value| serde_json::from_value::<ContentHash>(name.clone()).map(HookId);
        names.iter().map(|name| hash(name).map_err(|error| broken(error.to_string()))).collect()
    }
}

/// The text of one hook file, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HookFileText {
    pub(super) file: PathBuf,
    /// `None` where there was no file; the error reads on behind the file's name.
    text: Result<Option<String>, String>,
}

impl HookFileText {
    /// Whether the file holds other hooks than before.
    pub(super) fn differs(&self, before: &Self) -> bool {
        let ids = |source: &Self| source.hooks().0.into_iter().map(|hook| hook.id);
        self != before && !ids(self).eq(ids(before))
    }

    /// The hash of the text; `None` where there is no text, or none that can be read.
    pub(super) fn hash(&self) -> Option<ContentHash> {
        let text = self.text.as_ref().ok()?.as_ref()?;
        Some(ContentHash::of(text.as_bytes()))
    }

    /// The hooks in the file, and what is wrong there.
    pub(super) fn hooks(&self) -> (Vec<Hook>, Vec<HookWarning>) {
        match &self.text {
            Ok(Some(text)) => read(text, &self.file),
            Ok(None) => (Vec::new(), Vec::new()),
            Err(error) => unreadable(&self.file, error),
        }
    }
}

/// The text of a file. The error reads on behind the file's name.
fn content(file: &Path, folder: Option<&Path>) -> Result<Option<String>, String> {
    let read = read_user_owned(file, folder).map_err(|error| error.to_string())?;
    Ok(read.map(|read| read.text))
}
