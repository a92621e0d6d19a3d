//! What this front end needs of the rest of slug, which `launch` puts together.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agent_client_protocol_schema::v1::SessionId as EditorSessionId;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::agent::{AgentEventReceiver, AgentHandle, AgentProviderSet, InitialSession};
use crate::domain::{MessageImage, ModelName, PermissionMode, ReasoningEffort};
use crate::session::SessionStore;
use crate::tools::{Files, ToolRegistry, WorkingDirectory};

use super::buffers::EditorFiles;

/// Puts agents together.
#[async_trait]
pub trait AcpHost: Send + Sync {
    /// Starts an agent for a session.
    ///
    /// # Errors
    ///
    /// When there is no model to ask, the folder cannot be used, or its settings cannot be read.
    async fn open(&self, opening: AcpOpening) -> Result<AcpAgent, AcpOpenError>;

    /// Checks that there is a model to ask.
    ///
    /// # Errors
    ///
    /// [`AcpOpenError::NoModel`] where there is none.
    async fn check_model(&self) -> Result<(), AcpOpenError>;

    /// The logs of all sessions.
    fn store(&self) -> &SessionStore;

    /// Makes an image fit for a model and stores it. Blocks.
    ///
    /// # Errors
    ///
    /// When the bytes are no image that models take, or it cannot be stored; a sentence.
    fn keep_image(&self, name: &str, bytes: Vec<u8>) -> Result<MessageImage, String>;
}

/// A session that the editor wants to work with.
#[derive(Clone)]
pub struct AcpOpening {
    /// Absolute.
    pub cwd: PathBuf,
    /// More folders of the workspace, absolute.
    pub added: Vec<PathBuf>,
    /// The MCP servers that the editor passes on, as `.mcp.json` has them.
    pub servers: Map<String, Value>,
    pub start: InitialSession,
    /// The files as the editor has them; `None` where it does not give them.
    pub files: Option<EditorFilesOpening>,
}

/// What makes [`EditorFiles`] of the files on disk.
#[derive(Clone)]
pub struct EditorFilesOpening {
    pub(super) connection: super::EditorConnection,
    /// Known once the session is open.
    pub(super) session: Arc<OnceLock<EditorSessionId>>,
}

impl EditorFilesOpening {
    /// Files whose unsaved text comes from the editor.
    pub fn over(self, disk: Arc<dyn Files>) -> EditorFiles {
        EditorFiles::new(disk, self.connection, self.session)
    }
}

/// A running agent, and what this front end needs to know of it.
pub struct AcpAgent {
    pub handle: AgentHandle,
    pub events: AgentEventReceiver,
    pub registry: Arc<ToolRegistry>,
    pub place: WorkingDirectory,
    pub providers: AgentProviderSet,
    pub mode: PermissionMode,
    /// Whether there is a sandbox to run commands in.
    pub has_sandbox: bool,
    pub model: Option<ModelName>,
    pub effort: Option<ReasoningEffort>,
    /// The prompts of servers that are there now: name and description.
    pub prompts: Arc<dyn Fn() -> Vec<(String, String)> + Send + Sync>,
    /// Waits for the MCP servers that are starting, for a limited time.
    pub settle: Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
    /// Ends what its commands have left running, once the agent itself has ended.
    pub end: Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>,
}

/// Why no agent was started. Each text is a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcpOpenError {
    /// There is no model to ask; the text has ways to one.
    #[error("{0}")]
    NoModel(String),
    /// What the editor has sent cannot be used.
    #[error("{0}")]
    Request(String),
    #[error("{0}")]
    Other(String),
}
