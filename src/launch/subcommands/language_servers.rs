//! Looks for language servers, for `slug doctor`.

use std::sync::Arc;

use crate::config::ResolvedConfig;
use crate::launch::run_context::RunContext;
use crate::launch::{build, completion_files, lsp, sandbox_setup};
use crate::lsp::{LspSurveyRow, survey_servers};
use crate::permissions::store::ProjectSettingsTrust;
use crate::platform::process::{HostPrograms, ProcessHost};
use crate::platform::redact::Redactor;

/// Looks which servers are installed for the files of the folder, and asks these for their versions.
///
/// # Errors
///
/// When no program can be started at all.
pub(super) async fn survey(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
) -> anyhow::Result<Vec<LspSurveyRow>> {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let programs =
        HostPrograms::find(&search_path, &sandbox_setup::changeable(run_context, config))?;
    let environment = build::child_environment(config, &Redactor::default());
    let processes = Arc::new(ProcessHost::new(programs, environment)?);
    let cwd = run_context.cwd.clone();
    let paths = move || completion_files::paths_of(&cwd).iter().map(|it| cwd.join(it)).collect();
    let files = tokio::task::spawn_blocking(paths).await?;
    let (definitions, _) = lsp::definitions(run_context, config, project);
    let ports = lsp::ports(run_context, config, processes.clone());
    let rows = survey_servers(definitions, &run_context.cwd, files, &ports).await;
    processes.end_all().await;
    Ok(rows)
}
