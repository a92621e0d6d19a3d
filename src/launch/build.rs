//! Puts an agent's setup together from the command line, the configuration and the trust in the
//! folder. Nothing runs yet when this returns; see `crate::agent::spawn`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use chrono::Local;

use crate::agent::{
    AgentProvider, AgentProviderSet, AgentSetup, Interactivity, ModelPin, UnnamedModel,
};
use crate::catalogue::CatalogueCache;
use crate::cli::{Cli, DemoChoice};
use crate::commands::CommandRegistry;
use crate::config::{ConfigOrigin, ModelChoice, ModelServerConfig, ResolvedConfig};
use crate::context::{self, GitExecutable};
use crate::domain::{AgentBudgets, MessageImage};
use crate::lsp::LspServers;
use crate::mcp::McpServers;
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::debug_log::DebugLog;
use crate::platform::environment::{ChildEnvironment, EnvironmentRules};
use crate::platform::files::DiskFiles;
use crate::platform::image;
use crate::platform::poppler::PopplerReader;
use crate::platform::process::{HostPrograms, ProcessHost};
use crate::platform::reader_process::ReaderProcess;
use crate::platform::redact::Redactor;
use crate::platform::scratch::ScratchRoot;
use crate::platform::supervisor;
use crate::providers::Provider;
use crate::providers::demo::{self, DemoProvider, DemoScript, DemoSpeed};
use crate::session::{LastModels, SessionStore};
use crate::skills::PromptPlaces;
use crate::subagents::FoundSubagents;
use crate::tools::{
    LanguageServers, NoLanguageServers, ToolNameConflict, ToolPart, ToolRegistry, WorkingDirectory,
};

use super::formatters;
use super::hooks;
use super::local;
use super::lsp;
use super::mcp::{self, McpNote};
use super::run_context::RunContext;
use super::sandbox_setup::{self, SandboxSetup};
use super::servers::ServerConnector;
use super::subagents::{self, SubagentNote};
use super::web;

/// How long the user is idle before the `Notification` hooks run; the same as in other agents.
const IDLE_AFTER: Duration = Duration::from_secs(60);

/// The most rounds of tool calls where nobody can end a turn and nothing is configured: more than a
/// long task takes, and an end for a model that goes in circles.
const HEADLESS_ROUNDS: u32 = 300;

/// The name of the provider that plays the demo.
pub(super) const DEMO_PROVIDER: &str = "demo";

/// An agent's setup, and what the front end needs besides.
pub(super) struct RunParts {
    /// For [`crate::agent::spawn`].
    pub(super) setup: AgentSetup,
    /// Owns the processes that commands have left running.
    pub(super) processes: Arc<ProcessHost>,
    /// `None` unless the working folder is trusted.
    pub(super) git: Option<GitExecutable>,
    /// The MCP servers, none of which has started.
    pub(super) servers: Arc<McpServers>,
    /// The language servers; `None` where the user does not trust the folder.
    pub(super) languages: Option<Arc<LspServers>>,
}

/// The models that answer, the user who is asked, and who writes it down.
pub(super) struct RunParticipants {
    /// The configured providers, one of which is current.
    pub(super) providers: AgentProviderSet,
    /// Whether there is a user to ask.
    pub(super) interactivity: Interactivity,
    /// The file that remembers the model the user chose in each folder; `None` to ignore it.
    pub(super) last_models: Option<PathBuf>,
    /// Where the run is recorded for a bug report.
    pub(super) debug: DebugLog,
    /// What the user should know about the models, as sentences.
    pub(super) notices: Vec<String>,
}

impl RunParticipants {
    /// Those of a run without a screen, in which nobody can be asked.
    pub(super) fn headless(
        cli: &Cli,
        run_context: &RunContext,
        config: &ResolvedConfig,
        redactor: &Redactor,
    ) -> anyhow::Result<Self> {
        let debug = debug_log(cli, run_context, redactor)?;
        let (providers, notices) =
            services(run_context, config, cli.demo_choice().as_ref(), redactor, &debug)?;
        let interactivity = Interactivity::Headless;
        Ok(Self { providers, interactivity, last_models: None, debug, notices })
    }
}

/// The tools of an agent: the parts that this run has.
pub(super) fn tool_registry() -> Result<ToolRegistry, ToolNameConflict> {
    ToolRegistry::from_parts(vec![ToolPart::built_in()])
}

/// Builds the setup of an agent for this run.
pub(super) fn parts(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    participants: RunParticipants,
    redactor: &Redactor,
) -> anyhow::Result<RunParts> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let changeable = sandbox_setup::changeable(run_context, config);
    let programs = HostPrograms::find(&path, &changeable)?;
    let environment = child_environment(config, redactor);
    let processes = Arc::new(ProcessHost::new(programs, environment)?);
    let sandboxed = sandbox_setup::establish(run_context, config, project, &processes)?;
    let (inside, escalation, sandbox_notices) = match sandboxed {
        Some(SandboxSetup { inside, escalation, notices }) => (inside, Some(escalation), notices),
        None => (processes.clone(), None, Vec::new()),
    };
    let (git, instruction_folders) = match project {
        ProjectSettingsTrust::Trusted => {
            let folders: Vec<PathBuf> =
                std::iter::once(&changeable).chain(&run_context.added_folders).cloned().collect();
            let instructions =
                context::project_folders(&run_context.cwd, run_context.user_home.as_deref());
            (GitExecutable::find(&path, &folders), instructions)
        }
        ProjectSettingsTrust::Untrusted => (None, Vec::new()),
    };
    let git = match &escalation {
        Some(_) => git.map(|git| git.inside(inside.clone())),
        None => git,
    };
    let statics = config.statics.iter();
    let mut contexts = context::providers(context::ContextProviderSetup {
        cwd: run_context.cwd.clone(),
        user_home: run_context.user_home.clone(),
        statics: statics.map(|(name, text)| (name.clone(), text.value.clone())).collect(),
        git: git.clone(),
    });
    let registry = Arc::new(tool_registry()?);
    let (servers, server_notices) =
        mcp::servers(run_context, config, project, inside.clone(), redactor, &registry);
    contexts.push(Box::new(McpNote { servers: servers.clone(), registry: registry.clone() }));
    let FoundSubagents { types, warnings: subagent_notices } =
        subagents::subagents(run_context, project);
    let types = Arc::new(types);
    contexts.push(Box::new(SubagentNote(types.clone())));
    let (languages, language_notices) = lsp::servers(run_context, config, project, inside.clone());
    let code: Arc<dyn LanguageServers> = match &languages {
        Some(servers) => servers.clone(),
        None => Arc::new(NoLanguageServers),
    };
    let (formatter, formatter_notices) =
        formatters::formatter(run_context, config, project, (inside.clone(), processes.clone()));
    let store = store(run_context);
    let RunParticipants { mut providers, interactivity, last_models, debug, notices } =
        participants;
    let (mut model, mut effort) = (providers.current().model.clone(), None);
    if let (ModelPin::Default, Some(path)) = (model_pin(config), &last_models)
        && let Some(last) = LastModels::load(path).of(&run_context.cwd)
        && providers.choose(&last.name.provider)
    {
        (model, effort) = (Some(last.name.model.clone()), last.effort);
    }
    let prompt_places = PromptPlaces {
        user_home: run_context.user_home.clone(),
        slug_home: run_context.home.root().to_owned(),
        project: instruction_folders.clone(),
        reserved: reserved_names(),
    };
    // Made once: the look for links in protected places takes a hundred calls to the disk.
    let workspace = run_context.workspace(project).with_readable(prompt_places.readable());
    let hooks = hooks::hooks(
        run_context,
        project,
        workspace.clone(),
        inside.clone(),
        processes.clone(),
        redactor,
    );
    let workspace = match &escalation {
        Some(escalation) => workspace.with_sandbox(&escalation.boundary.dir),
        None => workspace,
    };
    let setup = AgentSetup {
        model,
        providers,
        effort,
        last_models,
        model_pin: model_pin(config),
        fallback_model: config.fallback_model.as_ref().map(|model| model.value.clone()),
        budgets: AgentBudgets {
            turn: config.budget_turn.as_ref().map(|budget| budget.value).unwrap_or_default(),
            session: config.budget_session.as_ref().map(|budget| budget.value).unwrap_or_default(),
        },
        catalogue: Arc::new(CatalogueCache::new(run_context.home.catalogue())),
        temperature: config.temperature.as_ref().map(|temperature| temperature.value),
        max_tool_rounds: tool_rounds(
            config.max_tool_rounds.as_ref().map(|rounds| rounds.value),
            interactivity,
        ),
        system_prompt: config.system_prompt.as_ref().map(|prompt| prompt.value.clone()),
        place: WorkingDirectory {
            cwd: run_context.cwd.clone(),
            home: run_context.user_home.clone(),
        },
        workspace: Arc::new(workspace),
        registry,
        prompts: servers.clone(),
        files: Arc::new(DiskFiles),
        web: web::client(
            config,
            ServerConnector::new(run_context, config, redactor)
                .transport(&config.server.connection.shared()),
        )?,
        code,
        formatter,
        pdfs: Arc::new(PopplerReader::new(
            ReaderProcess::new(supervisor::program()?),
            std::env::var_os("PATH").unwrap_or_default(),
            sandbox_setup::changeable(run_context, config),
        )),
        idle_after: IDLE_AFTER,
        model_titles: config.model_titles.value,
        hooks,
        processes: inside,
        escalation,
        project,
        scratch: ScratchRoot::system(),
        mode: config.mode.value,
        interactivity,
        unnamed_model: UnnamedModel::of(interactivity),
        blobs: store.blobs().clone(),
        store,
        home: run_context.home.root().to_owned(),
        instruction_folders,
        prompt_places,
        git: git.clone(),
        contexts: contexts.into(),
        subagents: types,
        parent: None,
        debug,
        redactor: redactor.clone(),
        notices: run_context
            .notices
            .iter()
            .chain(&config.warnings)
            .chain(&sandbox_notices)
            .chain(&server_notices)
            .chain(&language_notices)
            .chain(&formatter_notices)
            .chain(&notices)
            .chain(&subagent_notices)
            .cloned()
            .collect(),
    };
    Ok(RunParts { setup, processes, git, servers, languages })
}

/// The names of slug's own commands.
fn reserved_names() -> Vec<String> {
    let commands = CommandRegistry::built_in();
    let names =
        commands.all().flat_map(|command| [&command.name].into_iter().chain(&command.aliases));
    names.cloned().collect()
}

/// The part of slug's environment that the processes it starts get: no keys.
pub(super) fn child_environment(config: &ResolvedConfig, redactor: &Redactor) -> ChildEnvironment {
    let own_keys = config.key_variables.clone();
    let passed = config.bash_environment.as_ref().map(|it| it.value.clone()).unwrap_or_default();
    let rules = EnvironmentRules { own_keys, passed };
    ChildEnvironment::from_variables(std::env::vars_os(), &rules).without_secrets_of(redactor)
}

/// The store of sessions in slug's home.
pub(super) fn store(run_context: &RunContext) -> SessionStore {
    let home = &run_context.home;
    SessionStore::new(home.sessions(), home.trash(), home.blobs())
}

/// Makes an image fit for models and stores its bytes.
///
/// # Errors
///
/// When it is no image that models take, or cannot be stored; a sentence.
pub(super) fn keep_image(
    store: &SessionStore,
    name: &str,
    bytes: Vec<u8>,
) -> Result<MessageImage, String> {
    let prepared = image::fit(name, bytes).map_err(|error| error.to_string())?;
    store.blobs().put(&prepared.bytes).map_err(|error| error.to_string())?;
    Ok(prepared.image)
}

/// The debug log of this run; one that writes nothing where none is asked for.
pub(super) fn debug_log(
    cli: &Cli,
    run_context: &RunContext,
    redactor: &Redactor,
) -> anyhow::Result<DebugLog> {
    if !cli.debug_log {
        return Ok(DebugLog::off());
    }
    DebugLog::start(&run_context.home.debug(), redactor.clone(), Local::now())
        .context("Cannot start the debug log")
}

/// The providers of this run: the demo script if one is given, else the configured servers, a model
/// whose server slug runs first. Also what the user should know about them.
pub(super) fn services(
    run_context: &RunContext,
    config: &ResolvedConfig,
    script: Option<&DemoChoice>,
    redactor: &Redactor,
    debug: &DebugLog,
) -> anyhow::Result<(AgentProviderSet, Vec<String>)> {
    let servers = ServerConnector::new(run_context, config, redactor).recorded(debug);
    if let Some(script) = script {
        let provider = demo(script.file())?;
        let first = AgentProvider {
            name: DEMO_PROVIDER.to_owned(),
            ..agent_provider(&config.server, provider)
        };
        return Ok((AgentProviderSet::new(first, []), Vec::new()));
    }
    if let Some(model) = local::model(run_context, config, redactor, &servers)? {
        let others = config.servers().filter(|it| it.endpoint.origin != ConfigOrigin::Default);
        let others = others.map(|it| agent_provider(it, servers.connect_or_tell(it)));
        return Ok((AgentProviderSet::new(model.provider, others), model.notices));
    }
    let first = agent_provider(&config.server, servers.connect(&config.server)?);
    let others = config.others.iter().map(|it| agent_provider(it, servers.connect_or_tell(it)));
    Ok((AgentProviderSet::new(first, others), Vec::new()))
}

pub(super) fn agent_provider(
    server: &ModelServerConfig,
    provider: Arc<dyn Provider>,
) -> AgentProvider {
    AgentProvider {
        name: server.name.value.to_string(),
        provider,
        model: match &server.model.value {
            ModelChoice::Named(name) => Some(name.clone()),
            ModelChoice::Served => None,
        },
        max_tokens: server.max_tokens.as_ref().map(|limit| limit.value),
        window: server.context_window.value,
        effort: server.effort.as_ref().map(|effort| effort.value),
    }
}

/// The most rounds of tool calls in a turn; `None` for no limit.
fn tool_rounds(configured: Option<u32>, interactivity: Interactivity) -> Option<u32> {
    configured.or(match interactivity {
        // Escape ends a turn.
        Interactivity::Interactive => None,
        Interactivity::Headless => Some(HEADLESS_ROUNDS),
    })
}

/// Whether the model was named for this very run, by a flag or the environment.
fn model_pin(config: &ResolvedConfig) -> ModelPin {
    let ModelServerConfig { name, model, endpoint, .. } = &config.server;
    let named = [&model.origin, &name.origin, &endpoint.origin];
    if config.local_model().is_some()
        || named
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_end_only_where_nobody_can_end_a_turn_or_a_limit_is_set() {
        use Interactivity::{Headless, Interactive};
        assert_eq!(tool_rounds(None, Interactive), None);
        assert_eq!(tool_rounds(None, Headless), Some(300));
        assert_eq!(tool_rounds(Some(7), Interactive), Some(7));
        assert_eq!(tool_rounds(Some(700), Headless), Some(700));
    }
}
