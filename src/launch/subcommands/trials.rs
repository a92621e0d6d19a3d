//! The ways out of each kind of sandbox, tried for `slug doctor`.

#[cfg(target_os = "linux")]
mod linux;

use std::path::Path;

use crate::doctor::{Trial, Tried};
use crate::domain::{Extent, Network};
use crate::launch::ground::Ground;
use crate::permissions::RuleSet;
use crate::permissions::sandbox::{HostSandboxDisk, SandboxPolicy};
use crate::platform::sandbox::{self, SandboxUnavailable};

#[cfg(target_os = "linux")]
use linux::try_out;

/// `network` is what commands are to reach, all of it aside: with that nothing holds them. What is
/// in `changeable` is no program of slug's own.
pub(super) async fn run(ground: &Ground, changeable: &Path, network: &Network) -> Vec<Trial> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut trials = Vec::new();
    for method in sandbox::methods() {
        let tried = match sandbox::find(Some(*method), &path, changeable) {
            Ok(means) => try_out(ground, changeable, &means, network).await,
            Err(SandboxUnavailable(lacks)) => {
                Tried::Missing(lacks.into_iter().map(|(_, why)| why).collect())
            }
        };
        trials.push(Trial { method: *method, tried });
    }
    trials
}

/// Whether a sandbox around the working folder would find all that it has to hold back there. A
/// folder that there can be none around is another matter.
pub(super) fn extent(ground: &Ground) -> Extent {
    let (home, slug_home) = (ground.user_home.as_deref(), ground.home.root());
    let sandbox = SandboxPolicy::around(&ground.cwd, home, slug_home, Network::Off);
    let surveyed = sandbox.and_then(|sandbox| sandbox.survey(&HostSandboxDisk, &RuleSet::new()));
    surveyed.map_or(Extent::Whole, |(_, extent)| extent)
}

#[cfg(not(target_os = "linux"))]
async fn try_out(_: &Ground, _: &Path, _: &sandbox::SandboxBackend, _: &Network) -> Tried {
    Tried::Failed("slug knows how to try it on Linux alone".to_owned())
}
