//! The supervisor of each command is there to try the ways out on Linux alone.

use std::path::Path;

use crate::doctor::SandboxTrialResult;
use crate::domain::{SandboxBackendKind, SandboxNetwork};
use crate::launch::run_context::RunContext;
use crate::permissions::RuleSet;
use crate::permissions::sandbox::{HostSandboxDisk, SandboxPolicy};
use crate::platform::environment::{ChildEnvironment, EnvironmentRules};
use crate::platform::process::{HostPrograms, ProcessHost};
use crate::platform::sandbox::{self, SandboxBackend};

/// Starts what tries them, inside a sandbox of folders made for it.
pub(super) async fn try_out(
    ground: &RunContext,
    changeable: &Path,
    means: &SandboxBackend,
    network: &SandboxNetwork,
) -> SandboxTrialResult {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let rules = EnvironmentRules::default();
    let environment = ChildEnvironment::from_variables(std::env::vars_os(), &rules);
    let host = HostPrograms::find(&path, changeable)
        .and_then(|programs| ProcessHost::new(programs, environment));
    let host = match host {
        Ok(host) => host,
        Err(error) => return SandboxTrialResult::Failed(error.to_string()),
    };
    // A sandbox has folders of its own under the system's one for temporary files.
    let temporary = std::env::temp_dir();
    let base = ground.user_home.as_deref().unwrap_or(&temporary);
    let network = match network {
        SandboxNetwork::Hosts(_) if means.method() == SandboxBackendKind::Bubblewrap => {
            network.clone()
        }
        SandboxNetwork::Hosts(_) | SandboxNetwork::Off | SandboxNetwork::On => SandboxNetwork::Off,
    };
    let looking = |dir: &Path, home: &Path, slug_home: &Path| {
        SandboxPolicy::around(dir, Some(home), slug_home, network.clone())
            .and_then(|sandbox| sandbox.profile(&HostSandboxDisk, &RuleSet::new()))
            .map_err(|error| error.to_string())
    };
    let tried = sandbox::trial(&host, means, base, &looking).await;
    host.end_all().await;
    match tried {
        Ok(attempts) => {
            let of = |came_to| {
                let those = attempts.iter().filter(move |it| it.outcome == came_to);
                those.map(|it| it.what).collect()
            };
            SandboxTrialResult::Ran {
                refused: of(sandbox::EscapeOutcome::Nothing),
                escaped: of(sandbox::EscapeOutcome::Escape),
            }
        }
        Err(why) => SandboxTrialResult::Failed(why),
    }
}
