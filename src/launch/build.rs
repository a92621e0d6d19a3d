//! Puts an agent's setup together.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chrono::Local;

use crate::agent::{AgentProvider, AgentProviderSet, AgentSetup, Interactivity, ModelPin};
use crate::catalogue::CatalogueCache;
use crate::cli::Cli;
use crate::config::{ConfigOrigin, ModelChoice, ModelServerConfig, ResolvedConfig};
use crate::context::{self, GitExecutable};
use crate::domain::AgentBudgets;
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::debug_log::DebugLog;
use crate::platform::environment::{ChildEnvironment, EnvironmentRules};
use crate::platform::files::DiskFiles;
use crate::platform::process::{HostPrograms, ProcessHost};
use crate::platform::redact::Redactor;
use crate::providers::Provider;
use crate::providers::demo::{self, DemoProvider, DemoScript, DemoSpeed};
use crate::session::{LastModels, SessionStore};
use crate::tools::{ToolRegistry, WorkingDirectory};

use super::hooks;
use super::run_context::RunContext;
use super::sandbox_setup::{self, SandboxSetup};
use super::servers::ServerConnector;

/// As other agents have it.
const IDLE_AFTER: Duration = Duration::from_secs(60);

/// What a run is made of.
pub(super) struct RunParts {
    /// For [`crate::agent::spawn`].
    pub(super) setup: AgentSetup,
    /// Owns what commands have left running.
    pub(super) processes: Arc<ProcessHost>,
    /// Only when the working folder is trusted.
    pub(super) git: Option<GitExecutable>,
}

/// Who answers, and who is asked.
pub(super) struct RunParticipants {
    /// The models.
    pub(super) providers: AgentProviderSet,
    /// The person.
    pub(super) interactivity: Interactivity,
    /// Where it is kept which model they chose in which folder, where that counts.
    pub(super) last_models: Option<PathBuf>,
}

/// The setup of an agent for this run.
pub(super) fn parts(
    cli: &Cli,
    ground: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    sides: RunParticipants,
    redactor: &Redactor,
) -> anyhow::Result<RunParts> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let changeable = sandbox_setup::changeable(ground, config);
    let programs = HostPrograms::find(&path, &changeable)?;
    let environment = child_environment(config, redactor);
    let processes = Arc::new(ProcessHost::new(programs, environment)?);
    let sandboxed = sandbox_setup::establish(ground, config, project, &processes)?;
    let (inside, outside, said) = match sandboxed {
        Some(SandboxSetup { inside, escalation: outside, notices }) => {
            (inside, Some(outside), notices)
        }
        None => (processes.clone(), None, Vec::new()),
    };
    let (git, instruction_folders) = match project {
        ProjectSettingsTrust::Trusted => {
            let folders: Vec<PathBuf> =
                std::iter::once(&changeable).chain(&ground.added_folders).cloned().collect();
            let instructions = context::project_folders(&ground.cwd, ground.user_home.as_deref());
            (GitExecutable::find(&path, &folders), instructions)
        }
        ProjectSettingsTrust::Untrusted => (None, Vec::new()),
    };
    let git = match &outside {
        Some(_) => git.map(|git| git.inside(inside.clone())),
        None => git,
    };
    let statics = config.statics.iter();
    let contexts = context::providers(context::ContextProviderSetup {
        cwd: ground.cwd.clone(),
        user_home: ground.user_home.clone(),
        statics: statics.map(|(name, text)| (name.clone(), text.value.clone())).collect(),
        git: git.clone(),
    });
    let debug = if cli.debug_log {
        DebugLog::start(&ground.home.debug(), redactor.clone(), Local::now())
            .context("The debug log cannot be begun")?
    } else {
        DebugLog::off()
    };
    let store = store(ground);
    let RunParticipants { providers: mut services, interactivity: person, last_models } = sides;
    let (mut model, mut effort) = (services.current().model.clone(), None);
    if let (ModelPin::Default, Some(path)) = (model_pin(config), &last_models)
        && let Some(last) = LastModels::load(path).of(&ground.cwd)
        && services.choose(&last.name.provider)
    {
        (model, effort) = (Some(last.name.model.clone()), last.effort);
    }
    let workspace = match &outside {
        Some(outside) => ground.workspace(project).with_sandbox(&outside.boundary.dir),
        None => ground.workspace(project),
    };
    let setup = AgentSetup {
        model,
        providers: services,
        effort,
        last_models,
        model_pin: model_pin(config),
        fallback_model: config.fallback_model.as_ref().map(|model| model.value.clone()),
        budgets: AgentBudgets {
            turn: config.budget_turn.as_ref().map(|budget| budget.value).unwrap_or_default(),
            session: config.budget_session.as_ref().map(|budget| budget.value).unwrap_or_default(),
        },
        catalogue: Arc::new(CatalogueCache::new(ground.home.catalogue())),
        temperature: config.temperature.as_ref().map(|temperature| temperature.value),
        max_tool_rounds: config.max_tool_rounds.value,
        system_prompt: config.system_prompt.as_ref().map(|prompt| prompt.value.clone()),
        place: WorkingDirectory { cwd: ground.cwd.clone(), home: ground.user_home.clone() },
        workspace: Arc::new(workspace),
        registry: Arc::new(ToolRegistry::standard()),
        files: Arc::new(DiskFiles),
        idle_after: IDLE_AFTER,
        hooks: hooks::hooks(ground, project, inside.clone(), processes.clone(), redactor),
        processes: inside,
        escalation: outside,
        project,
        mode: config.mode.value,
        interactivity: person,
        blobs: store.blobs().clone(),
        store,
        home: ground.home.root().to_owned(),
        instruction_folders,
        contexts,
        debug,
        redactor: redactor.clone(),
        notices: ground.notices.iter().chain(&config.warnings).chain(&said).cloned().collect(),
    };
    Ok(RunParts { setup, processes, git })
}

/// What of slug's environment goes to what it starts.
pub(super) fn child_environment(config: &ResolvedConfig, redactor: &Redactor) -> ChildEnvironment {
    let own_keys = config.key_variables.clone();
    let passed = config.bash_environment.as_ref().map(|it| it.value.clone()).unwrap_or_default();
    let rules = EnvironmentRules { own_keys, passed };
    ChildEnvironment::from_variables(std::env::vars_os(), &rules).without_secrets_of(redactor)
}

/// The sessions below slug's home.
pub(super) fn store(ground: &RunContext) -> SessionStore {
    let home = &ground.home;
    SessionStore::new(home.sessions(), home.trash(), home.blobs())
}

/// The models of this run: a script where one is played, else the configured server.
pub(super) fn services(
    ground: &RunContext,
    config: &ResolvedConfig,
    script: Option<&Option<PathBuf>>,
    redactor: &Redactor,
) -> anyhow::Result<AgentProviderSet> {
    let servers = ServerConnector::new(ground, config, redactor);
    if let Some(script) = script {
        let provider = demo(script.as_ref())?;
        let first = AgentProvider { name: "demo".to_owned(), ..service(&config.server, provider) };
        return Ok(AgentProviderSet::new(first, []));
    }
    let first = service(&config.server, servers.connect(&config.server)?);
    let others = config.others.iter().map(|it| service(it, servers.connect_or_tell(it)));
    Ok(AgentProviderSet::new(first, others))
}

fn service(server: &ModelServerConfig, provider: Arc<dyn Provider>) -> AgentProvider {
    AgentProvider {
        name: server.name.value.to_string(),
        provider,
        model: match &server.model.value {
            ModelChoice::Named(name) => Some(name.clone()),
            ModelChoice::Served => None,
        },
        max_tokens: server.max_tokens.value,
        window: server.context_window.value,
        effort: server.effort.as_ref().map(|effort| effort.value),
    }
}

/// Whether the configured model was named for this very run.
fn model_pin(config: &ResolvedConfig) -> ModelPin {
    let ModelServerConfig { name, model, endpoint, .. } = &config.server;
    let named = [&model.origin, &name.origin, &endpoint.origin];
    if named
        .iter()
        .any(|origin| matches!(origin, ConfigOrigin::Flag(_) | ConfigOrigin::Environment(_)))
    {
        ModelPin::Explicit
    } else {
        ModelPin::Default
    }
}

/// The scripted model of `--demo`.
fn demo(script: Option<&PathBuf>) -> anyhow::Result<Arc<dyn Provider>> {
    let script = match script {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("Cannot read the script {}", file.display()))?;
            DemoScript::parse(&text, file)?
        }
        None => demo::built_in()?,
    };
    Ok(Arc::new(DemoProvider::new(script, DemoSpeed::AsWritten)))
}
