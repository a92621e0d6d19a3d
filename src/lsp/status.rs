//! What is known of the language servers, for the page about them.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::definition::{LspDefinitionSource, LspServerDefinition};

/// How far a server has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LspServerPhase {
    /// Installed; no file has needed it, or none for a while.
    NotNeeded,
    /// A sentence with the reason, and the command that installs it.
    NotInstalled(String),
    Starting,
    Ready,
    /// The user has ended it.
    Stopped,
    /// A sentence with the reason.
    Failed(String),
}

/// The files that a server has open, and what it has found in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LspFileCounts {
    pub files: usize,
    pub errors: usize,
    pub warnings: usize,
}

/// What is known of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LspServerStatus {
    pub name: String,
    pub source: LspDefinitionSource,
    /// By the names that the protocol has for them.
    pub languages: Vec<String>,
    /// The program with its arguments.
    pub command: String,
    pub phase: LspServerPhase,
    /// Where it works; `None` where it has not been needed.
    pub root: Option<PathBuf>,
    /// The name and the version that it has told; empty for neither.
    pub implementation: String,
    /// The server is still loading the project.
    pub is_busy: bool,
    pub counts: LspFileCounts,
    /// The end of what it has said on standard error.
    pub error_output: String,
}

impl LspServerStatus {
    /// What the definition says, of a server that has not been needed.
    pub(super) fn of(definition: &LspServerDefinition) -> Self {
        let mut languages: Vec<String> = definition.languages.values().cloned().collect();
        languages.sort();
        languages.dedup();
        Self {
            name: definition.name.clone(),
            source: definition.source,
            languages,
            command: definition.command.join(" "),
            phase: LspServerPhase::NotNeeded,
            root: None,
            implementation: String::new(),
            is_busy: false,
            counts: LspFileCounts::default(),
            error_output: String::new(),
        }
    }

    /// Its place in a list: those that have been needed, then those that are installed.
    pub(super) fn rank(&self) -> usize {
        match (&self.root, &self.phase) {
            (Some(_), _) => 0,
            (None, LspServerPhase::NotInstalled(_)) => 2,
            (None, _) => 1,
        }
    }
}

/// Tells that something has changed about the servers.
#[derive(Debug, Clone)]
pub(super) struct LspNews(Arc<watch::Sender<u64>>);

impl Default for LspNews {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl LspNews {
    pub(super) fn tell(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
