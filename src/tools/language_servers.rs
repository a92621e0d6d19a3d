//! What the agent and the tool about code need from language servers, which `lsp` implements and tests
//! replace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use super::FileChange;
use crate::domain::ContentHash;

/// Answers questions about code, and finds mistakes after changes.
#[async_trait]
pub trait LanguageServers: Send + Sync {
    /// Asks the server of the file's language, which is started where it does not run. Dropping this
    /// cancels the question.
    ///
    /// # Errors
    ///
    /// When no server can answer; a sentence that says what to do instead.
    async fn ask(&self, query: &CodeQuery) -> Result<CodeAnswer, LanguageServerError>;

    /// Whether a server may have something to say about this file. Costs no look at the disk.
    fn covers(&self, path: &Path) -> bool;

    /// Tells the servers what a call has changed, and waits a moment for what they find in it; `None` where
    /// nothing new was found by then.
    async fn check_changes(&self, changes: Vec<FileChange>) -> Option<String>;

    /// What servers have found too late for the call that made the change. Each is told once.
    fn take_late_findings(&self) -> Option<String>;
}

/// Why there is no answer: a sentence for the model, with what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LanguageServerError(pub String);

/// What is asked about code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeOperation {
    Diagnostics,
    Definition,
    References,
    Hover,
    DocumentSymbols,
    WorkspaceSymbols,
    Implementations,
    IncomingCalls,
    OutgoingCalls,
    /// What would change; nothing is changed by asking.
    Rename,
}

/// A question about code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeQuery {
    pub operation: CodeOperation,
    /// The file, absolute. For symbols of the whole workspace it only says which server is asked; `None`
    /// there asks all that run.
    pub path: Option<PathBuf>,
    /// What is in the file.
    pub text: Arc<str>,
    /// Where in the file; the start where the operation needs no place.
    pub position: CodePosition,
    /// The name to look for in the workspace, or the new name of what is renamed.
    pub name: String,
}

/// A place in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodePosition {
    /// From 0.
    pub line: usize,
    /// From the start of the line.
    pub byte: usize,
}

/// What servers know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeAnswer {
    pub items: Vec<CodeItem>,
    /// An explanation, where the answer is no list.
    pub text: String,
    /// Sentences about what may be missing.
    pub notes: Vec<String>,
    /// What a rename would change, by file.
    pub edits: Vec<CodeFileEdits>,
}

/// What would change in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFileEdits {
    /// Absolute and clean.
    pub path: PathBuf,
    /// Tells the text that the edits are for from another one.
    pub content: ContentHash,
    /// In order, without an overlap.
    pub edits: Vec<CodeEdit>,
}

/// A text in the place of the bytes from `start` to before `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeEdit {
    pub start: usize,
    pub end: usize,
    pub text: String,
}

/// One line of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeItem {
    pub place: CodePlace,
    /// From 1.
    pub line: u64,
    /// What is there; empty where the line itself says it.
    pub label: String,
    /// How many symbols enclose it.
    pub depth: usize,
}

/// Where something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodePlace {
    /// Absolute.
    File(PathBuf),
    /// An address that no file has, such as a class in an archive; harmless for a terminal.
    Foreign(String),
}

/// For agents without language servers.
#[derive(Debug)]
pub struct NoLanguageServers;

#[async_trait]
impl LanguageServers for NoLanguageServers {
    async fn ask(&self, _: &CodeQuery) -> Result<CodeAnswer, LanguageServerError> {
        Err(LanguageServerError(
            "Language servers run only in a folder that the user has trusted, and this one is not. \
             Use Grep and Read."
                .into(),
        ))
    }

    fn covers(&self, _: &Path) -> bool {
        false
    }

    async fn check_changes(&self, _: Vec<FileChange>) -> Option<String> {
        None
    }

    fn take_late_findings(&self) -> Option<String> {
        None
    }
}
