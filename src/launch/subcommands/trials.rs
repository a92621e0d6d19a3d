//! Tests each sandbox backend for `slug doctor`: a process inside tries to escape.

#[cfg(target_os = "linux")]
mod linux;

use std::path::Path;

use crate::doctor::{SandboxTrial, SandboxTrialResult};
use crate::domain::{SandboxNetwork, ScanExtent};
use crate::launch::run_context::RunContext;
use crate::permissions::RuleSet;
use crate::permissions::sandbox::{HostSandboxDisk, SandboxPolicy};
use crate::platform::sandbox::{self, SandboxUnavailable};

#[cfg(target_os = "linux")]
use linux::try_out;

/// Tests all backends. `network` is what commands may reach; full access is tested as none, because
/// it would let everything through. slug does not run its own programs from `changeable`.
pub(super) async fn run(
    run_context: &RunContext,
    changeable: &Path,
    network: &SandboxNetwork,
) -> Vec<SandboxTrial> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut trials = Vec::new();
    for method in sandbox::methods() {
        let tried = match sandbox::find(Some(*method), &path, changeable) {
            Ok(backend) => try_out(run_context, changeable, &backend, network).await,
            Err(SandboxUnavailable(missing)) => {
                SandboxTrialResult::Missing(missing.into_iter().map(|(_, why)| why).collect())
            }
        };
        trials.push(SandboxTrial { method: *method, tried });
    }
    trials
}

/// Whether a sandbox around the working folder would find all paths that it has to protect. Returns
/// `Whole` when there can be no sandbox around the folder, because that is reported elsewhere.
pub(super) fn extent(run_context: &RunContext) -> ScanExtent {
    let (home, slug_home) = (run_context.user_home.as_deref(), run_context.home.root());
    let sandbox = SandboxPolicy::around(&run_context.cwd, home, slug_home, SandboxNetwork::Off);
    let surveyed = sandbox.and_then(|sandbox| sandbox.survey(&HostSandboxDisk, &RuleSet::new()));
    surveyed.map_or(ScanExtent::Whole, |(_, extent)| extent)
}

#[cfg(not(target_os = "linux"))]
async fn try_out(
    _: &RunContext,
    _: &Path,
    _: &sandbox::SandboxBackend,
    _: &SandboxNetwork,
) -> SandboxTrialResult {
    SandboxTrialResult::Failed("slug knows how to try it on Linux alone".to_owned())
}
