//! The MCP servers of a run: those of the user's configuration, and those of a trusted folder's
//! `.mcp.json`.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Map;

use crate::cli::Cli;
use crate::config::ResolvedConfig;
use crate::context::ContextProvider;
use crate::disk::read_text;
use crate::mcp::{
    AlwaysLoadedTools, McpDefinitionSource, McpDefinitions, McpLoginStore, McpPorts,
    McpServerDefinition, McpServers, McpStore, McpSurroundings, McpTransport,
};
use crate::net::HttpClient;
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::process::ProcessHost;
use crate::platform::redact::Redactor;
use crate::platform::server_program::ServerProgramSearch;
use crate::tools::{DeniedTools, ToolRegistry};

use super::run_context::RunContext;
use super::sandbox_setup;

/// The most bytes of a `.mcp.json`.
const MAX_BYTES: u64 = 1024 * 1024;

/// The servers that are defined for this run. One of the user's comes before one of the folder's with
/// the same name.
pub(super) fn definitions(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
) -> McpDefinitions {
    let own = config.mcp.iter().map(|(name, server)| (name.clone(), server.value.clone()));
    let own: Map<String, serde_json::Value> = own.collect();
    let mut found = McpDefinitions::read_table(&own, McpDefinitionSource::User, "config.toml");
    match project {
        ProjectSettingsTrust::Trusted => match read_text(&project_file(run_context), MAX_BYTES) {
            Ok(Some(text)) => found = found.with(McpDefinitions::read_file(&text)),
            Ok(None) => {}
            Err(error) => found.problems.push(format!("Cannot read .mcp.json: it {error}.")),
        },
        ProjectSettingsTrust::Untrusted => {}
    }
    found
}

/// Whether servers of the user's own are programs that start in the working folder, where `npx` or
/// `python3 -m` run what they find.
pub(super) fn starts_own_programs(cli: &Cli, run_context: &RunContext) -> bool {
    let project = ProjectSettingsTrust::Untrusted;
    // Errors are told when the configuration is read for the run.
    let Ok(config) = run_context.config(cli, project) else { return false };
    let starts_here = |server: &McpServerDefinition| {
        server.is_enabled && matches!(server.transport, McpTransport::Stdio { cwd: None, .. })
    };
    definitions(run_context, &config, project).servers.iter().any(starts_here)
}

/// What the servers of this run share. Variables of definitions never hold slug's own keys.
pub(super) fn surroundings(
    run_context: &RunContext,
    config: &ResolvedConfig,
    processes: Arc<ProcessHost>,
    redactor: &Redactor,
    project: ProjectSettingsTrust,
    denied: DeniedTools,
) -> McpSurroundings {
    // `npx` and `python3 -m` run what they find in the folder that they start in.
    let neutral = || run_context.user_home.clone().unwrap_or_else(|| "/".into());
    let folder = match project {
        ProjectSettingsTrust::Trusted => run_context.cwd.clone(),
        ProjectSettingsTrust::Untrusted => neutral(),
    };
    let keys = config.key_variables.clone();
    let own_keys = redactor.clone();
    McpSurroundings {
        folder,
        ports: McpPorts {
            processes,
            programs: ServerProgramSearch {
                path: std::env::var_os("PATH").unwrap_or_default(),
                project: sandbox_setup::changeable(run_context, config),
            },
            http: Arc::new(HttpClient::new()),
        },
        store: McpStore::new(run_context.home.root()),
        logins: McpLoginStore::new(run_context.home.root()),
        denied,
        lookup: Arc::new(move |name| {
            let is_own = name.starts_with("SLUG_") || keys.iter().any(|key| key == name);
            let value = (!is_own).then(|| std::env::var(name).ok()).flatten();
            // A copy of a key under another name is a key.
            value.filter(|value| !own_keys.holds_own_key(value))
        }),
        redactor: redactor.clone(),
    }
}

/// The servers of this run, whose tools `registry` gets as they come, and what the user should know at
/// the start. None has started.
pub(super) fn servers(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    processes: Arc<ProcessHost>,
    redactor: &Redactor,
    registry: &Arc<ToolRegistry>,
) -> (Arc<McpServers>, Vec<String>) {
    let McpDefinitions { servers, problems: mut notices } =
        definitions(run_context, config, project);
    let surroundings =
        surroundings(run_context, config, processes, redactor, project, registry.denied());
    let waits = |server: &&McpServerDefinition| {
        let (store, folder) = (&surroundings.store, &surroundings.folder);
        server.is_enabled
            && server.source == McpDefinitionSource::Project
            && !matches!(store.is_allowed(folder, server), Ok(true))
    };
    let waiting: Vec<&str> = servers.iter().filter(waits).map(|it| it.name.as_str()).collect();
    if let Some(first) = waiting.first() {
        notices.push(format!(
            "This folder has MCP servers that you have not allowed, or that have changed since: {}. Open /mcp to \
             review them, or run slug mcp get {first} and slug mcp allow {first}",
            waiting.join(", ")
        ));
    }
    let tools_of = Arc::downgrade(registry);
    let servers = McpServers::new(servers, &surroundings, move |servers| {
        if let Some(registry) = tools_of.upgrade() {
            registry.set_server_tools(servers.tools());
        }
    });
    let AlwaysLoadedTools { specs, notices: deferred } = servers.always_loaded();
    if !specs.is_empty() {
        // Until their servers have started, too.
        registry.set_server_tools(servers.tools());
        registry.set_always_loaded(specs);
        registry.begin_session();
    }
    notices.extend(deferred);
    (servers, notices)
}

/// Tells models which servers have tools besides those of the tools array.
pub(super) struct McpNote {
    pub(super) servers: Arc<McpServers>,
    pub(super) registry: Arc<ToolRegistry>,
}

#[async_trait]
impl ContextProvider for McpNote {
    fn name(&self) -> &str {
        "mcp_servers"
    }

    async fn collect(&self) -> Option<String> {
        self.servers.note(&self.registry.listed_server_tools())
    }
}

/// The folder's own definitions.
pub(super) fn project_file(run_context: &RunContext) -> PathBuf {
    run_context.cwd.join(".mcp.json")
}
