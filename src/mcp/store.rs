//! `~/.slug/mcp.json`: which servers of projects the user allowed to start, and the definitions of
//! tools as they were when they were first seen, with mode 0600.
//!
//! An allowed server is stored by the hash of its definition as it is written and of the files that it
//! names, so that a change of them is asked about again (case S66). A tool is stored by the hash of all
//! that its server says of it: one whose definition has changed is not called before the user has accepted
//! it (case S93). Of a server that is always loaded the definitions themselves are stored, too, because
//! its tools are in the tools array before it has started. The file is read again before each change, so
//! that two running slugs do not lose each other's answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::disk::{UserOwnedTextError, read_user_owned};
use crate::domain::ContentHash;
use crate::platform::paths::replace_private;

use super::definition::McpServerDefinition;
use super::lists::McpToolDefinition;

/// The user's answers about servers, on disk.
#[derive(Debug, Clone)]
pub struct McpStore {
    file: PathBuf,
    /// One change at a time.
    changing: Arc<Mutex<()>>,
}

/// Why the answers could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum McpStoreError {
    #[error("{file} {source}.")]
    Unreadable { file: PathBuf, source: UserOwnedTextError },
    #[error("Cannot read {file} ({source}). Repair it, or delete it to be asked again.")]
    Broken { file: PathBuf, source: serde_json::Error },
    #[error("Cannot save {file}: {source}.")]
    Unsaved { file: PathBuf, source: std::io::Error },
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct McpStoreFile {
    /// By folder and server, the hash of the definition that the user agreed to.
    allowed: BTreeMap<PathBuf, BTreeMap<String, ContentHash>>,
    /// By the hash of a server's definition and the name of a tool, the hash of its definition.
    tools: BTreeMap<String, BTreeMap<String, ContentHash>>,
    /// By the hash of a server's definition, for a server that is always loaded, what belongs to the
    /// hashes of its tools, by name; as many as fit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    definitions: BTreeMap<String, Vec<McpToolDefinition>>,
}

/// The most bytes of definitions that are kept of a server.
const MAX_DEFINITIONS: usize = 128 << 10;

impl McpStore {
    /// The store in slug's home; a missing one is empty.
    pub fn new(slug_home: &Path) -> Self {
        Self { file: slug_home.join("mcp.json"), changing: Arc::default() }
    }

    /// Whether the user let this server of `folder` start, as it and the files that it names are now.
    /// Blocks.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn is_allowed(
        &self,
        folder: &Path,
        server: &McpServerDefinition,
    ) -> Result<bool, McpStoreError> {
        let stored = self.read()?;
        let allowed = stored.allowed.get(folder).and_then(|servers| servers.get(&server.name));
        Ok(allowed == Some(&server.hash_in(folder)))
    }

    /// Keeps that the user lets this server start in `folder`. Blocks.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn allow(&self, folder: &Path, server: &McpServerDefinition) -> Result<(), McpStoreError> {
        self.allow_shown(folder, &server.name, server.hash_in(folder))
    }

    /// Keeps that the user lets a server start in `folder` as it was when it had this hash. Blocks.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub(super) fn allow_shown(
        &self,
        folder: &Path,
        name: &str,
        shown: ContentHash,
    ) -> Result<(), McpStoreError> {
        self.change(|stored| {
            let servers = stored.allowed.entry(folder.to_owned()).or_default();
            servers.insert(name.to_owned(), shown);
        })
    }

    /// Which of these tools, all that the server has, differ from what was seen first; those that were
    /// never seen are kept as they are now. Blocks.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub(super) fn pin(
        &self,
        server: &McpServerDefinition,
        tools: &[McpToolDefinition],
    ) -> Result<Vec<String>, McpStoreError> {
        let key = server.hash().to_string();
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stored = self.read()?;
        let pinned = stored.tools.entry(key.clone()).or_default();
        let (mut changed, mut is_new) = (Vec::new(), false);
        for tool in tools {
            match pinned.get(&tool.name) {
                Some(hash) if *hash == tool.hash => {}
                Some(_) => changed.push(tool.name.clone()),
                None => {
                    pinned.insert(tool.name.clone(), tool.hash.clone());
                    is_new = true;
                }
            }
        }
        if server.always_load {
            let before = stored.definitions.remove(&key).unwrap_or_default();
            let kept = kept_definitions(pinned, tools, &before);
            is_new |= kept != before;
            stored.definitions.insert(key, kept);
        }
        if is_new {
            self.write(&stored)?;
        }
        Ok(changed)
    }

    /// The definitions of a server's tools that were seen first or accepted, by name, as far as they are
    /// kept. Blocks.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub(super) fn pinned(
        &self,
        server: &McpServerDefinition,
    ) -> Result<Vec<McpToolDefinition>, McpStoreError> {
        let key = server.hash().to_string();
        let mut stored = self.read()?;
        let pinned = stored.tools.remove(&key).unwrap_or_default();
        let mut definitions = stored.definitions.remove(&key).unwrap_or_default();
        // A slug without definitions keeps the hashes alone.
        definitions.retain(|it| pinned.get(&it.name) == Some(&it.hash) && server.takes(&it.name));
        Ok(definitions)
    }

    /// Keeps the definitions of these tools as they are now, because the user has accepted them. Blocks.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub(super) fn accept(
        &self,
        server: &McpServerDefinition,
        tools: &[McpToolDefinition],
    ) -> Result<(), McpStoreError> {
        self.change(|stored| {
            let key = server.hash().to_string();
            let pinned = stored.tools.entry(key.clone()).or_default();
            pinned.extend(tools.iter().map(|tool| (tool.name.clone(), tool.hash.clone())));
            if server.always_load {
                let before = stored.definitions.remove(&key).unwrap_or_default();
                let is_other =
                    |it: &&McpToolDefinition| tools.iter().all(|new| new.name != it.name);
                let all: Vec<_> = before.iter().filter(is_other).chain(tools).cloned().collect();
                stored.definitions.insert(key, kept_definitions(pinned, &all, &[]));
            }
        })
    }

    fn change(&self, change: impl FnOnce(&mut McpStoreFile)) -> Result<(), McpStoreError> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stored = self.read()?;
        change(&mut stored);
        self.write(&stored)
    }

    fn read(&self) -> Result<McpStoreFile, McpStoreError> {
        let file = || self.file.clone();
        let text = read_user_owned(&self.file, None)
            .map_err(|source| McpStoreError::Unreadable { file: file(), source })?;
        match text {
            None => Ok(McpStoreFile::default()),
            Some(text) => serde_json::from_str(&text.text)
                .map_err(|source| McpStoreError::Broken { file: file(), source }),
        }
    }

    fn write(&self, stored: &McpStoreFile) -> Result<(), McpStoreError> {
        let bytes = serde_json::to_vec_pretty(stored).unwrap_or_default();
        replace_private(&self.file, &bytes)
            .map_err(|source| McpStoreError::Unsaved { file: self.file.clone(), source })
    }
}

/// The definitions of these tools that belong to their hashes, by name: as they were before, so that the
/// bytes stay, or else as they are now. Those that no longer fit are left out.
fn kept_definitions(
    pinned: &BTreeMap<String, ContentHash>,
    tools: &[McpToolDefinition],
    before: &[McpToolDefinition],
) -> Vec<McpToolDefinition> {
    let mut kept: Vec<&McpToolDefinition> = Vec::new();
    for tool in tools {
        let of_tool = before.iter().filter(|it| it.name == tool.name);
        let mut known = of_tool.chain([tool]);
        kept.extend(known.find(|it| pinned.get(&it.name) == Some(&it.hash)));
    }
    kept.sort_by(|a, b| a.name.cmp(&b.name));
    let mut left = MAX_DEFINITIONS;
    kept.retain(|tool| {
        let size = tool.size();
        let fits = size <= left;
        left -= if fits { size } else { 0 };
        fits
    });
    kept.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests;
