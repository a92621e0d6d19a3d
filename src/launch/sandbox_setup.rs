//! The sandbox of a run: around which folder, by what means, or why there is none.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::SandboxEscalation;
use crate::config::{ConfigOrigin, ResolvedConfig};
use crate::domain::{SandboxBackendKind, SandboxNetwork, SandboxSummary, ScanExtent};
use crate::permissions::sandbox::{HostSandboxDisk, ReadRules, SandboxPolicy, SandboxPolicyError};
use crate::permissions::store::{ProjectSettingsTrust, SettingsFiles};
use crate::platform::process::ProcessHost;
use crate::platform::sandbox::{self, SandboxUnavailable};

use super::run_context::RunContext;

/// A sandbox in force.
pub(super) struct SandboxSetup {
    /// Runs scripts inside: for whatever is executed from the workspace.
    pub(super) inside: Arc<ProcessHost>,
    /// What it is, and the way around it.
    pub(super) escalation: SandboxEscalation,
    /// What the person should know of it.
    pub(super) notices: Vec<String>,
}

/// A sandbox was asked for and there is none. slug does not start without.
#[derive(Debug, thiserror::Error)]
pub(super) enum SandboxSetupError {
    /// Not around this folder.
    #[error("{origin}: {source}")]
    Folder {
        /// Where it was asked for.
        origin: ConfigOrigin,
        /// Why.
        source: SandboxPolicyError,
    },
    /// slug would work outside of it.
    #[error(
        "{origin}: slug works in {cwd}, which is not in the sandbox's folder {dir}. Add \
         --directory {dir}, or name another folder"
    )]
    OutsideFolder {
        /// Where it was asked for.
        origin: ConfigOrigin,
        /// The working folder.
        cwd: PathBuf,
        /// The sandbox's.
        dir: PathBuf,
    },
    /// Not on this machine.
    #[error(transparent)]
    Unavailable(#[from] SandboxUnavailable),
}

/// Sets up the sandbox that the configuration asks for.
pub(super) fn establish(
    ground: &RunContext,
    config: &ResolvedConfig,
    project: ProjectSettingsTrust,
    host: &Arc<ProcessHost>,
) -> Result<Option<SandboxSetup>, SandboxSetupError> {
    let Some(asked) = &config.sandbox else { return Ok(None) };
    let network = network(config);
    let given = match &asked.value {
        Some(dir) => absolute_path(dir, ground, &asked.origin),
        None => ground.cwd.clone(),
    };
    let origin = || asked.origin.clone();
    let sandbox = SandboxPolicy::around(
        &given,
        ground.user_home.as_deref(),
        ground.home.root(),
        network.clone(),
    )
    .map_err(|source| SandboxSetupError::Folder { origin: origin(), source })?;
    let dir = sandbox.dir().to_owned();
    if !ground.cwd.starts_with(&dir) {
        return Err(SandboxSetupError::OutsideFolder {
            origin: origin(),
            cwd: ground.cwd.clone(),
            dir,
        });
    }
    let sandbox = sandbox.with_work_in(ground.cwd.clone());
    // What cannot be held in place is said before anything runs.
    let (readers, workspace) = (Arc::new(ReadRules::default()), ground.workspace(project));
    readers.set(&SettingsFiles::read(&workspace, project).rules(&workspace));
    let (_, extent) = sandbox
        .survey(&HostSandboxDisk, &readers.current())
        .map_err(|source| SandboxSetupError::Folder { origin: origin(), source })?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let means = sandbox::find(config.sandbox_method.value, &path, &dir)?;
    let mut boundary = SandboxSummary { backend: means.method(), dir, network, extent };
    let mut notices = Vec::new();
    if given != boundary.dir {
        let (given, real) = (given.display(), boundary.dir.display());
        notices.push(format!("{given} leads to {real}, which is what the sandbox is around."));
    }
    if extent == ScanExtent::Part {
        notices.push(format!(
            "{} holds too much to be looked through before each command: what takes orders, or is \
             denied to be read, in the deepest of its folders is not held back from commands. A \
             sandbox around a smaller folder has no such end.",
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
    let rules = readers.clone();
    let looking = move || {
        sandbox
            .later_profile(&HostSandboxDisk, &rules.current(), extent)
            .map_err(|error| error.to_string())
    };
    let inside = Arc::new(host.with_sandbox(means, Arc::new(looking)));
    let outside = SandboxEscalation { boundary, processes: host.clone(), read_rules: readers };
    Ok(Some(SandboxSetup { inside, escalation: outside, notices }))
}

/// The folder that commands can change without a question, else the one that slug works in: what
/// is in it is no program of slug's own.
pub(super) fn changeable(ground: &RunContext, config: &ResolvedConfig) -> PathBuf {
    let folder = config.sandbox.as_ref().and_then(|asked| asked.value.as_ref().zip(Some(asked)));
    let folder = folder.map(|(dir, asked)| absolute_path(dir, ground, &asked.origin));
    let real = folder.and_then(|folder| folder.canonicalize().ok());
    // Another is refused.
    real.filter(|real| ground.cwd.starts_with(real)).unwrap_or_else(|| ground.cwd.clone())
}

/// What commands in a sandbox are to reach.
pub(super) fn network(config: &ResolvedConfig) -> SandboxNetwork {
    match &config.sandbox_hosts {
        Some(hosts) if hosts.value.is_empty() => SandboxNetwork::Off,
        Some(hosts) => SandboxNetwork::Hosts(hosts.value.clone()),
        None if config.sandbox_network.value => SandboxNetwork::On,
        None => SandboxNetwork::Off,
    }
}

/// Only a network of its own can have just one way out.
fn no_hosts(method: SandboxBackendKind) -> String {
    format!(
        "Commands reach no network: `sandbox.hosts` lists hosts, and {method} cannot tell hosts \
         apart. Install bubblewrap for that."
    )
}

/// A folder on the command line is meant from where slug was started, one in the configuration
/// from where it works.
fn absolute_path(dir: &Path, ground: &RunContext, origin: &ConfigOrigin) -> PathBuf {
    let from = match origin {
        ConfigOrigin::Flag(_) => std::env::current_dir().unwrap_or_else(|_| ground.cwd.clone()),
        ConfigOrigin::Default | ConfigOrigin::File { .. } | ConfigOrigin::Environment(_) => {
            ground.cwd.clone()
        }
    };
    match (dir.strip_prefix("~"), &ground.user_home) {
        (Ok(below), Some(home)) => home.join(below),
        (Ok(_), None) | (Err(_), _) => from.join(dir).components().collect(),
    }
}
