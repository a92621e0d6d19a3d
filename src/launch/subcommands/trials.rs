//! The ways out of each kind of sandbox, tried for `slug doctor`.

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

/// `network` is what commands are to reach, all of it aside: with that nothing holds them. What is
/// in `changeable` is no program of slug's own.
pub(super) async fn run(
    ground: &RunContext,
    changeable: &Path,
    network: &SandboxNetwork,
) -> Vec<SandboxTrial> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut trials = Vec::new();
    for method in sandbox::methods() {
        let tried = match sandbox::find(Some(*method), &path, changeable) {
            Ok(means) => try_out(ground, changeable, &means, network).await,
            Err(SandboxUnavailable(lacks)) => {
                SandboxTrialResult::Missing(lacks.into_iter().map(|(_, why)| why).collect())
            }
        };
        trials.push(SandboxTrial { method: *method, tried });
    }
    trials
}

/// Whether a sandbox around the working folder would find all that it has to hold back there. A
/// folder that there can be none around is another matter.
pub(super) fn extent(ground: &RunContext) -> ScanExtent {
    let (home, slug_home) = (ground.user_home.as_deref(), ground.home.root());
    let sandbox = SandboxPolicy::around(&ground.cwd, home, slug_home, SandboxNetwork::Off);
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
