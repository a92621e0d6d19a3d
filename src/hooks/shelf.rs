//! The files that hooks stand in, and the person's own list of those that are switched off.
//!
//! The list names hooks by hash, so that no project's file is ever written and a hook that changes
//! is on again.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::domain::ContentHash;
use crate::platform::paths::replace_private;

use super::hook::{Hook, HookId, Origin};
use super::read::{Warning, read, unreadable};

/// More than this is no settings file.
const MAX_BYTES: u64 = 1024 * 1024;

/// Where hooks are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFiles {
    /// slug's own folder, whose hooks always hold.
    pub home: PathBuf,
    /// The working folder, where the person trusts it.
    pub project: Option<PathBuf>,
}

/// Why a hook could not be switched off or on.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The list holds something else.
    #[error("{file} is not readable ({why}). Repair or delete it, then try again.")]
    Broken {
        /// The list.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The operating system says no.
    #[error("cannot write {file}: {source}")]
    Io {
        /// The list.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl HookFiles {
    /// In the order in which hooks are asked.
    fn all(&self) -> Vec<PathBuf> {
        let own = ["settings.json", "hooks.json"].map(|name| self.home.join(name));
        let names = ["hooks.json", "settings.json", "settings.local.json"];
        let of_project = self.project.iter().flat_map(|folder| {
            let folder = folder.join(".slug");
            names.map(|name| folder.join(name))
        });
        let mut files: Vec<PathBuf> = Vec::new();
        for file in own.into_iter().chain(of_project) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }

    /// What is in each of them now.
    pub(super) fn load(&self) -> Vec<Source> {
        let files = self.all().into_iter();
        files
            .map(|file| Source { text: content(&file).map_err(|it| it.to_string()), file })
            .collect()
    }

    /// Whether a file is a project's, whose hooks hold as the person has seen them.
    pub(super) fn is_of_project(&self, file: &Path) -> bool {
        !file.starts_with(&self.home)
    }

    fn off_file(&self) -> PathBuf {
        self.home.join("hooks-off.json")
    }

    /// The hooks that are switched off. Where that cannot be said, none is, and there is a warning.
    pub(super) fn off(&self) -> (BTreeSet<HookId>, Option<Warning>) {
        match self.read_off() {
            Ok(off) => (off, None),
            Err(error) => {
                let origin = Origin { file: self.off_file(), line: None };
                let text = format!("every hook is on: {error}");
                (BTreeSet::new(), Some(Warning { origin, text }))
            }
        }
    }

    /// Switches a hook off, or on again. What another slug has switched meanwhile stays so.
    pub(super) fn switch(&self, id: &HookId) -> Result<BTreeSet<HookId>, SwitchError> {
        let mut off = self.read_off()?;
        if !off.remove(id) {
            off.insert(id.clone());
        }
        let names: Vec<&str> = off.iter().map(|id| id.0.as_str()).collect();
        let text = format!("{:#}\n", json!({ "off": names }));
        let file = self.off_file();
        replace_private(&file, text.as_bytes())
            .map_err(|source| SwitchError::Io { file, source })?;
        Ok(off)
    }

    fn read_off(&self) -> Result<BTreeSet<HookId>, SwitchError> {
        let file = self.off_file();
        let broken = |why: String| SwitchError::Broken { file: file.clone(), why };
        let Some(text) = content(&file).map_err(|error| broken(error.to_string()))? else {
            return Ok(BTreeSet::new());
        };
        let list: Value = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let names = list.get("off").and_then(Value::as_array);
        let names = names.ok_or_else(|| broken("it has no list `off`".into()))?;
        let hash = |name: &Value| serde_json::from_value::<ContentHash>(name.clone()).map(HookId);
        names.iter().map(|name| hash(name).map_err(|error| broken(error.to_string()))).collect()
    }
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) file: PathBuf,
    /// `None` where there was none.
    text: Result<Option<String>, String>,
}

impl Source {
    /// Whether other hooks are in it than before.
    pub(super) fn differs(&self, before: &Self) -> bool {
        let ids = |source: &Self| source.hooks().0.into_iter().map(|hook| hook.id);
        self != before && !ids(self).eq(ids(before))
    }

    /// What is in it; `None` where there is nothing, or nothing that can be read.
    pub(super) fn hash(&self) -> Option<ContentHash> {
        let text = self.text.as_ref().ok()?.as_ref()?;
        Some(ContentHash::of(text.as_bytes()))
    }

    /// The hooks in it, and what is wrong there.
    pub(super) fn hooks(&self) -> (Vec<Hook>, Vec<Warning>) {
        match &self.text {
            Ok(Some(text)) => read(text, &self.file),
            Ok(None) => (Vec::new(), Vec::new()),
            Err(error) => unreadable(&self.file, error),
        }
    }
}

fn content(file: &Path) -> io::Result<Option<String>> {
    let metadata = match std::fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A FIFO would block, a device might never end.
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut text = String::new();
    std::fs::File::open(file)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than 1 MB"));
    }
    Ok(Some(text))
}
