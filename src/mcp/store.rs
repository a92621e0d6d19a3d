//! `~/.slug/mcp.json`: which servers of projects the user allowed to start, and the definitions of
//! tools as they were when they were first seen, with mode 0600.
//!
//! An allowed server is stored by the hash of its definition as it is written and of the files that it
//! names, so that a change of them is asked about again (case S66). A tool is stored by the hash of all
//! that its server says of it: one whose definition has changed is not called before the user has accepted
//! it (case S93). The file is read again before each change, so that two running slugs do not lose each
//! other's answers.

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
}

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

    /// Which of these tools differ from what was seen first; those that were never seen are kept as
    /// they are now. Blocks.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn pin(
        &self,
        server: &McpServerDefinition,
        tools: &[McpToolDefinition],
    ) -> Result<Vec<String>, McpStoreError> {
        let key = server.hash().to_string();
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stored = self.read()?;
        let pinned = stored.tools.entry(key).or_default();
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
        if is_new {
            self.write(&stored)?;
        }
        Ok(changed)
    }

    /// Keeps the definitions of these tools as they are now, because the user has accepted them. Blocks.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn accept(
        &self,
        server: &McpServerDefinition,
        tools: &[McpToolDefinition],
    ) -> Result<(), McpStoreError> {
        self.change(|stored| {
            let pinned = stored.tools.entry(server.hash().to_string()).or_default();
            pinned.extend(tools.iter().map(|tool| (tool.name.clone(), tool.hash.clone())));
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::super::definition::McpDefinitions;
    use super::super::lists::TOOL_LIST;
    use super::*;

    fn server(command: &str) -> McpServerDefinition {
        let text = json!({"mcpServers": {"s": {"command": command}}}).to_string();
        McpDefinitions::read_file(&text).servers.remove(0)
    }

    fn tools(description: &str) -> Vec<McpToolDefinition> {
        let page = json!({"tools": [{"name": "a"}, {"name": "b", "description": description}]});
        TOOL_LIST.page(&page).unwrap().items
    }

    /// S55, S66: a yes is for one server of one folder, as it is written.
    #[test]
    fn s66_a_yes_is_for_this_definition_in_this_folder() {
        let home = TempDir::new().unwrap();
        let store = McpStore::new(home.path());
        let (one, other) = (Path::new("/w/a"), Path::new("/w/b"));
        assert!(!store.is_allowed(one, &server("x")).unwrap());
        store.allow(one, &server("x")).unwrap();
        let again = McpStore::new(home.path());
        assert!(again.is_allowed(one, &server("x")).unwrap());
        assert!(!again.is_allowed(one, &server("y")).unwrap());
        assert!(!again.is_allowed(other, &server("x")).unwrap());
    }

    /// S93: what was seen first holds until the user accepts what came later.
    #[test]
    fn s93_a_changed_definition_is_told_until_it_is_accepted() {
        let home = TempDir::new().unwrap();
        let store = McpStore::new(home.path());
        assert_eq!(store.pin(&server("x"), &tools("one")).unwrap(), Vec::<String>::new());
        assert_eq!(store.pin(&server("x"), &tools("two")).unwrap(), ["b"]);
        assert_eq!(store.pin(&server("x"), &tools("two")).unwrap(), ["b"]);
        assert_eq!(store.pin(&server("y"), &tools("two")).unwrap(), Vec::<String>::new());
        store.accept(&server("x"), &tools("two")).unwrap();
        assert_eq!(store.pin(&server("x"), &tools("two")).unwrap(), Vec::<String>::new());
        assert_eq!(store.pin(&server("x"), &tools("one")).unwrap(), ["b"]);
    }

    #[test]
    fn a_broken_store_allows_nothing() {
        let home = TempDir::new().unwrap();
        std::fs::write(home.path().join("mcp.json"), "{").unwrap();
        let store = McpStore::new(home.path());
        assert!(store.is_allowed(Path::new("/w"), &server("x")).is_err());
        assert!(store.pin(&server("x"), &tools("one")).is_err());
        assert!(store.allow(Path::new("/w"), &server("x")).is_err());
    }
}
