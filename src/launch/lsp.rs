//! The language servers of a run. None starts here, and none ever in a folder without trust.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;

use crate::cli::Cli;
use crate::config::ResolvedConfig;
use crate::disk::read_text;
use crate::lsp::{LspDefinitions, LspPorts, LspServerDefinition, LspServers};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::process::ProcessHost;
use crate::platform::server_program::ServerProgramSearch;

use super::run_context::RunContext;
use super::sandbox_setup;

/// The most bytes of a `.lsp.json`.
const MAX_BYTES: u64 = 1024 * 1024;

/// A server that has not been used for so long is ended.
const IDLE_LIMIT: Duration = Duration::from_secs(10 * 60);

/// The servers of this run, `None` where the user does not trust the folder, and what they should know
/// at the start.
pub(super) fn servers(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    processes: Arc<ProcessHost>,
) -> (Option<Arc<LspServers>>, Vec<String>) {
    if !may_start(run_context, project) {
        return (None, Vec::new());
    }
    let (servers, notices) = definitions(run_context, config, project);
    let ports = ports(run_context, config, processes);
    let wait = Duration::from_secs(u64::from(config.lsp_wait.value));
    let servers = LspServers::new(servers, run_context.cwd.clone(), ports, wait);
    (Some(Arc::new(servers)), notices)
}

/// Whether servers may start: one runs code of the folder, also of a folder in which there is nothing
/// else to ask about.
pub(super) fn may_start(run_context: &RunContext, project: ProjectSettingsTrust) -> bool {
    project == ProjectSettingsTrust::Trusted && run_context.is_trusted_by_user()
}

/// The user's servers, those of a folder that may start some, and those of slug's table, with what is
/// wrong in the first two.
pub(super) fn definitions(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
) -> (Vec<LspServerDefinition>, Vec<String>) {
    let own = config.lsp.iter().map(|(name, server)| (name.clone(), server.value.clone()));
    let own: Map<String, serde_json::Value> = own.collect();
    let mut notices = Vec::new();
    let text = match may_start(run_context, project) {
        true => read_text(&project_file(run_context), MAX_BYTES).unwrap_or_else(|error| {
            notices.push(format!("Cannot read .lsp.json: it {error}."));
            None
        }),
        false => None,
    };
    let LspDefinitions { servers, problems } = LspDefinitions::read(&own, text.as_deref());
    notices.extend(problems);
    (servers, notices)
}

/// What the servers of a run share.
pub(super) fn ports(
    run_context: &RunContext,
    config: &ResolvedConfig,
    processes: Arc<ProcessHost>,
) -> LspPorts {
    LspPorts {
        processes,
        programs: ServerProgramSearch {
            path: std::env::var_os("PATH").unwrap_or_default(),
            project: sandbox_setup::changeable(run_context, config),
        },
        memory_limit: u64::from(config.lsp_memory.value) << 20,
        idle_limit: IDLE_LIMIT,
    }
}

/// Whether the user has set up language servers, so that each folder is asked about.
pub(super) fn is_configured(cli: &Cli, run_context: &RunContext) -> bool {
    // Errors are told when the configuration is read for the run.
    let config = run_context.config(cli, ProjectSettingsTrust::Untrusted);
    config.is_ok_and(|config| !config.lsp.is_empty())
}

/// The folder's own definitions.
fn project_file(run_context: &RunContext) -> PathBuf {
    run_context.cwd.join(".lsp.json")
}
