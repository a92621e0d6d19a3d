//! Everything an agent is given when it is made. Nothing of it is process-wide: several agents with
//! different folders, rules and models can run side by side.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::catalogue::CatalogueCache;
use crate::context::{ContextProvider, GitExecutable};
use crate::domain::{AgentBudgets, PermissionMode, ReasoningEffort, SpawnOrigin};
use crate::hooks::HookSet;
use crate::permissions::Workspace;
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::debug_log::DebugLog;
use crate::platform::redact::Redactor;
use crate::platform::scratch::ScratchRoot;
use crate::platform::watch::FolderWatcher;
use crate::session::{BlobStore, SessionStore};
use crate::skills::PromptPlaces;
use crate::subagents::SubagentTypes;
use crate::tools::{
    Files, LanguageServers, PdfReader, Processes, ServerPrompts, TextFormatter, ToolRegistry,
    WebPages, WorkingDirectory,
};

use super::children::fork_limits::ForkLimits;
use super::permission_state::PermissionState;
use super::provider_set::AgentProviderSet;
use super::sandbox_in_force::SandboxInForce;
use super::tool_gate::Interactivity;

/// Whether the model that a run begins with replaces the model of a resumed session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPin {
    /// It was named for this very run, so it replaces the session's model.
    Explicit,
    /// It comes from the configuration; a resumed session keeps its own model.
    Default,
}

/// What an agent does when no model is named and the server offers several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnnamedModel {
    /// It asks the user.
    Ask,
    /// It takes the first, and says so.
    TakeFirst,
}

impl UnnamedModel {
    /// What suits a run with or without a user.
    pub fn of(interactivity: Interactivity) -> Self {
        match interactivity {
            Interactivity::Interactive => Self::Ask,
            Interactivity::Headless => Self::TakeFirst,
        }
    }
}

/// The agent that has started another one, as far as the other one shares it.
#[derive(Clone)]
pub struct AgentParent {
    /// The name of the type that the agent is of.
    pub(super) kind: String,
    pub(super) origin: SpawnOrigin,
    pub(super) permissions: Arc<PermissionState>,
    pub(super) watch: Arc<FolderWatcher>,
    /// Of a fork: what the gate keeps it from, since it has all tools of its parent.
    pub(super) fork: Option<ForkLimits>,
}

/// The settings and services of one agent.
#[derive(Clone)]
pub struct AgentSetup {
    /// The configured providers, one of which is current.
    pub providers: AgentProviderSet,
    /// What may be spent before the user is asked.
    pub budgets: AgentBudgets,
    /// What is known about models without a request.
    pub catalogue: Arc<CatalogueCache>,
    /// The configured model; `None` takes what the server offers.
    pub model: Option<String>,
    /// The reasoning effort; `None` takes the one that is configured for the provider.
    pub effort: Option<ReasoningEffort>,
    /// The file that remembers the model the user chose in each folder; `None` in runs in which
    /// the user does not choose.
    pub last_models: Option<PathBuf>,
    /// Whether `model` and its provider replace those of a resumed session.
    pub model_pin: ModelPin,
    /// The model of the same provider that answers for the rest of a turn when the server is
    /// overloaded.
    pub fallback_model: Option<String>,
    /// The sampling temperature; not sent when `None`.
    pub temperature: Option<f32>,
    /// The most rounds of tool calls in one turn; `None` for no limit.
    pub max_tool_rounds: Option<u32>,
    /// Replaces the built-in system prompt.
    pub system_prompt: Option<String>,
    /// The folder that relative paths start from.
    pub place: WorkingDirectory,
    /// Which paths count as inside the project.
    pub workspace: Arc<Workspace>,
    /// The tools that the model can call.
    pub registry: Arc<ToolRegistry>,
    /// The prompts of servers, which a message can begin with.
    pub prompts: Arc<dyn ServerPrompts>,
    /// Reads and writes files for the tools.
    pub files: Arc<dyn Files>,
    /// Runs commands for the tools; inside the sandbox, if one is in force.
    pub processes: Arc<dyn Processes>,
    /// Gets pages of the web for the tools.
    pub web: Arc<dyn WebPages>,
    /// Gets the text out of PDFs for the tools.
    pub pdfs: Arc<dyn PdfReader>,
    /// Answers questions about code, and finds mistakes after changes.
    pub code: Arc<dyn LanguageServers>,
    /// Formats what tools write as the project does.
    pub formatter: Arc<dyn TextFormatter>,
    /// The sandbox that is in force, and how to leave it; `None` without a sandbox.
    pub escalation: Option<SandboxInForce>,
    /// Whether the project's own settings files count.
    pub project: ProjectSettingsTrust,
    /// Where the scratch folders of sessions are.
    pub scratch: ScratchRoot,
    /// The permission mode that the run begins with.
    pub mode: PermissionMode,
    /// Whether a user can answer questions.
    pub interactivity: Interactivity,
    /// What is done where no model is named.
    pub unnamed_model: UnnamedModel,
    /// The logs of all sessions.
    pub store: SessionStore,
    /// Contents of files, images and long outputs, by hash.
    pub blobs: BlobStore,
    /// slug's own folder, for the user's instruction files.
    pub home: PathBuf,
    /// The project folders whose instruction files are read in each turn; empty without trust.
    pub instruction_folders: Vec<PathBuf>,
    /// Where skills and commands are looked for; no folders of the project without trust.
    pub prompt_places: PromptPlaces,
    /// git for what a question says about files and commits; `None` without trust.
    pub git: Option<GitExecutable>,
    /// The providers of notes for the model.
    pub contexts: Arc<[Box<dyn ContextProvider>]>,
    /// The hooks of the user and of a project that the user trusts.
    pub hooks: Arc<HookSet>,
    /// How long the user is idle before the `Notification` hooks run.
    pub idle_after: Duration,
    /// Whether a hosted model names new sessions.
    pub model_titles: bool,
    /// Writes every request and call into numbered files; does nothing without `--debug-log`.
    pub debug: DebugLog,
    /// Knows slug's own keys, which are removed from the output of tools.
    pub redactor: Redactor,
    /// Warnings to show at the start, as sentences.
    pub notices: Vec<String>,
    /// The types of agents that the model can start.
    pub subagents: Arc<SubagentTypes>,
    /// Whoever has started this agent; `None` of one that the user talks to.
    pub parent: Option<AgentParent>,
}
