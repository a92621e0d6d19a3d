//! All that an agent is given when it is made. Nothing of it is process-wide: several agents with
//! other folders, rules and models can run side by side.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::catalogue::CatalogueCache;
use crate::context::ContextProvider;
use crate::domain::{AgentBudgets, PermissionMode, ReasoningEffort};
use crate::hooks::HookSet;
use crate::permissions::Workspace;
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::debug_log::DebugLog;
use crate::platform::redact::Redactor;
use crate::session::{BlobStore, SessionStore};
use crate::tools::{Files, Processes, ToolRegistry, WorkingDirectory};

use super::gate::Interactivity;
use super::provider_set::AgentProviderSet;
use super::sandbox_escalation::SandboxEscalation;

/// Whether the model that a run begins with holds for a session that had another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPin {
    /// It was named for this very run.
    Explicit,
    /// It is what usually answers; a session goes on with its own.
    Default,
}

/// What an agent works with.
pub struct AgentSetup {
    /// Where the models are.
    pub providers: AgentProviderSet,
    /// What may be spent before the person is asked.
    pub budgets: AgentBudgets,
    /// What is known of models without asking.
    pub catalogue: Arc<CatalogueCache>,
    /// The model that was asked for by name; `None` takes what the server offers.
    pub model: Option<String>,
    /// How hard it is to think, where that is not as its provider was configured.
    pub effort: Option<ReasoningEffort>,
    /// Where it is kept which model the person chose in which folder; nowhere where they have no
    /// say in it.
    pub last_models: Option<PathBuf>,
    /// Whether that model and its provider hold for a session that had others.
    pub model_pin: ModelPin,
    /// The model of the same provider that stands in, for the rest of a turn, where the first one's
    /// server is overloaded.
    pub fallback_model: Option<String>,
    /// Sent only when set.
    pub temperature: Option<f32>,
    /// Rounds of tool calls in one turn.
    pub max_tool_rounds: u32,
    /// Replaces the built-in system prompt.
    pub system_prompt: Option<String>,
    /// Where relative paths start.
    pub place: WorkingDirectory,
    /// What counts as inside.
    pub workspace: Arc<Workspace>,
    /// The tools.
    pub registry: Arc<ToolRegistry>,
    /// Reads and writes files for the tools.
    pub files: Arc<dyn Files>,
    /// Runs commands for the tools; inside the sandbox, where one is in force.
    pub processes: Arc<dyn Processes>,
    /// The sandbox that is in force, and the way around it.
    pub escalation: Option<SandboxEscalation>,
    /// Whether the project's own settings files count.
    pub project: ProjectSettingsTrust,
    /// How much is asked.
    pub mode: PermissionMode,
    /// Who answers.
    pub interactivity: Interactivity,
    /// The sessions.
    pub store: SessionStore,
    /// Contents by hash.
    pub blobs: BlobStore,
    /// slug's own folder, for the person's instruction files.
    pub home: PathBuf,
    /// The folders whose instruction files are read, each time anew; none without trust.
    pub instruction_folders: Vec<PathBuf>,
    /// What is told besides the conversation.
    pub contexts: Vec<Box<dyn ContextProvider>>,
    /// What the person, or a project that they trust, wants done at set moments.
    pub hooks: Arc<HookSet>,
    /// How long the person does nothing before hooks call them.
    pub idle_after: Duration,
    /// Numbered files of every request and call, where that was asked for.
    pub debug: DebugLog,
    /// Knows slug's own keys, which no tool's output may hold.
    pub redactor: Redactor,
    /// What the person should know from the start.
    pub notices: Vec<String>,
}
