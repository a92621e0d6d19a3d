//! Sets up the sandbox of a run: around which folder, with which backend, or why it is not
//! possible.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::SandboxInForce;
use crate::config::{ConfigOrigin, ResolvedConfig};
use crate::disk;
use crate::domain::{SandboxBackendKind, SandboxNetwork, SandboxSummary, ScanExtent};
use crate::permissions::sandbox::{HostSandboxDisk, ReadRules, SandboxPolicy, SandboxPolicyError};
use crate::permissions::store::{ProjectSettingsTrust, SettingsFiles};
use crate::platform::process::ProcessHost;
use crate::platform::sandbox::{self, SandboxUnavailable};

use super::run_context::RunContext;

/// A sandbox that is in force.
pub(super) struct SandboxSetup {
    /// Runs scripts inside the sandbox; for everything that is executed from the workspace.
    pub(super) inside: Arc<ProcessHost>,
    /// The sandbox, and how to run an approved command outside of it.
    pub(super) escalation: SandboxInForce,
    /// Warnings about the sandbox for the user, as sentences.
    pub(super) notices: Vec<String>,
}

/// Why the requested sandbox is not possible. slug does not start without it.
#[derive(Debug, thiserror::Error)]
pub(super) enum SandboxSetupError {
    /// There can be no sandbox around this folder.
    #[error("{origin}: {source}")]
    Folder { origin: ConfigOrigin, source: SandboxPolicyError },
    /// The working folder is outside of the sandbox's folder.
    #[error(
        "{origin}: slug works in {cwd}, which is not in the sandbox's folder {dir}. Add \
         --directory {dir}, or name another folder"
    )]
    OutsideFolder { origin: ConfigOrigin, cwd: PathBuf, dir: PathBuf },
    /// This machine has no backend for a sandbox.
    #[error(transparent)]
    Unavailable(#[from] SandboxUnavailable),
}

/// Sets up the sandbox that the configuration requests; `None` when it requests none.
pub(super) fn establish(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    host: &Arc<ProcessHost>,
) -> Result<Option<SandboxSetup>, SandboxSetupError> {
    let Some(requested) = &config.sandbox else { return Ok(None) };
    let network = network(config);
    let given = match &requested.value {
        Some(dir) => absolute_path(dir, run_context, &requested.origin),
        None => run_context.cwd.clone(),
    };
    let origin = || requested.origin.clone();
    let sandbox = SandboxPolicy::around(
        &given,
        run_context.user_home.as_deref(),
        run_context.home.root(),
        network.clone(),
    )
    .map_err(|source| SandboxSetupError::Folder { origin: origin(), source })?;
    let dir = sandbox.dir().to_owned();
    if !run_context.cwd.starts_with(&dir) {
        return Err(SandboxSetupError::OutsideFolder {
            origin: origin(),
            cwd: run_context.cwd.clone(),
            dir,
        });
    }
    let sandbox = sandbox.with_work_in(run_context.cwd.clone());
    let sandbox = match &run_context.named_config {
        Some(file) => sandbox.with_config_file(file),
        None => sandbox,
    };
    // Problems with paths in the folder are reported before anything runs.
    let (read_rules, workspace) = (Arc::new(ReadRules::default()), run_context.workspace(project));
    read_rules.set(&SettingsFiles::read(&workspace, project).rules(&workspace));
    let (_, extent) = sandbox
        .survey(&HostSandboxDisk, &read_rules.current())
        .map_err(|source| SandboxSetupError::Folder { origin: origin(), source })?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let backend = sandbox::find(config.sandbox_method.value, &path, &dir)?;
    let mut boundary = SandboxSummary { backend: backend.method(), dir, network, extent };
    let mut notices = Vec::new();
    if given != boundary.dir {
        let (given, real) = (given.display(), boundary.dir.display());
        notices.push(format!("{given} is a link to {real}, so the sandbox is around that folder."));
    }
    if extent == ScanExtent::Part {
        notices.push(format!(
            "{} has too many files to check before each command: in its deepest folders commands \
             can change protected files and read denied ones. Use a smaller folder with --sandbox.",
            boundary.dir.display()
        ));
    }
    let sandbox = match boundary.network {
        SandboxNetwork::Hosts(_) if boundary.backend != SandboxBackendKind::Bubblewrap => {
            notices.push(no_hosts(boundary.backend));
            boundary.network = SandboxNetwork::Off;
            sandbox.without_network()
        }
        SandboxNetwork::Hosts(_) | SandboxNetwork::Off | SandboxNetwork::On => sandbox,
    };
    let rules = read_rules.clone();
    let profile = move || {
        sandbox
            .later_profile(&HostSandboxDisk, &rules.current(), extent)
            .map_err(|error| error.to_string())
    };
    let inside = Arc::new(host.with_sandbox(backend, Arc::new(profile)));
    let escalation = SandboxInForce { boundary, processes: host.clone(), read_rules };
    Ok(Some(SandboxSetup { inside, escalation, notices }))
}

/// A sandbox around a folder in which nothing can be changed and that has no network, for a run that has
/// no other sandbox.
#[derive(Clone)]
pub(super) struct ReadingSandbox {
    run_context: RunContext,
    folder: PathBuf,
    project: ProjectSettingsTrust,
    method: Option<SandboxBackendKind>,
}

/// The reading sandbox of this run around `folder`.
pub(super) fn reading(
    run_context: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    folder: PathBuf,
) -> ReadingSandbox {
    let (run_context, method) = (run_context.clone(), config.sandbox_method.value);
    ReadingSandbox { run_context, folder, project, method }
}

impl ReadingSandbox {
    /// `host` with this sandbox, in which only `scratch` can be changed. What deny rules of the settings
    /// files hide stays hidden; they are read for each command. Blocks.
    ///
    /// # Errors
    ///
    /// When there can be none around the folder, or this machine has none; a phrase.
    pub(super) fn around(
        &self,
        host: &ProcessHost,
        scratch: PathBuf,
    ) -> Result<ProcessHost, String> {
        let Self { run_context, folder, project, method } = self;
        let (home, own) = (run_context.user_home.as_deref(), run_context.home.root());
        let policy = SandboxPolicy::around(folder, home, own, SandboxNetwork::Off)
            .map_err(|error| error.to_string())?
            .with_work_in(run_context.cwd.clone());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let backend = sandbox::find(*method, &path, folder);
        let backend = backend.map_err(|_| "this machine has no sandbox that works".to_owned())?;
        let (workspace, project) = (run_context.workspace(*project), *project);
        let profile = move || {
            let rules = SettingsFiles::read(&workspace, project).rules(&workspace);
            let profile = policy.profile(&HostSandboxDisk, &rules);
            let profile = profile.map_err(|error| error.to_string())?;
            match profile.denied {
                ScanExtent::Whole => Ok(profile.into_read_only(scratch.clone())),
                ScanExtent::Part => Err("the folder has too many files to find those that deny \
                                         rules hide"
                    .into()),
            }
        };
        Ok(host.with_sandbox(backend, Arc::new(profile)))
    }
}

/// The folder that commands can change without a question, else the working folder; the top of the
/// project that it belongs to. slug does not run its own helper programs from it.
pub(super) fn changeable(run_context: &RunContext, config: &ResolvedConfig) -> PathBuf {
    let folder =
        config.sandbox.as_ref().and_then(|requested| requested.value.as_ref().zip(Some(requested)));
    let folder = folder.map(|(dir, requested)| absolute_path(dir, run_context, &requested.origin));
    let real = folder.and_then(|folder| folder.canonicalize().ok());
    // A sandbox that does not hold the working folder is refused later.
    let real = real.filter(|real| run_context.cwd.starts_with(real));
    let folder = real.as_deref().unwrap_or(&run_context.cwd);
    disk::project_top(folder, run_context.user_home.as_deref())
}

/// What commands in a sandbox may reach on the network.
pub(super) fn network(config: &ResolvedConfig) -> SandboxNetwork {
    match &config.sandbox_hosts {
        Some(hosts) if hosts.value.is_empty() => SandboxNetwork::Off,
        Some(hosts) => SandboxNetwork::Hosts(hosts.value.clone()),
        None if config.sandbox_network.value => SandboxNetwork::On,
        None => SandboxNetwork::Off,
    }
}

/// Why the list of hosts does not work: only a separate network, which bubblewrap makes, can have a
/// single way out.
fn no_hosts(method: SandboxBackendKind) -> String {
    format!(
        "Commands have no network: `sandbox.hosts` lists hosts, but {method} cannot filter by \
         host. Install bubblewrap for that."
    )
}

/// A relative folder on the command line starts from the folder that slug was started in, one in
/// the configuration from the working folder.
fn absolute_path(dir: &Path, run_context: &RunContext, origin: &ConfigOrigin) -> PathBuf {
    let from = match origin {
        ConfigOrigin::Flag(_) => {
            std::env::current_dir().unwrap_or_else(|_| run_context.cwd.clone())
        }
        ConfigOrigin::Default | ConfigOrigin::File { .. } | ConfigOrigin::Environment(_) => {
            run_context.cwd.clone()
        }
    };
    match (dir.strip_prefix("~"), &run_context.user_home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_), None) | (Err(_), _) => from.join(dir).components().collect(),
    }
}
