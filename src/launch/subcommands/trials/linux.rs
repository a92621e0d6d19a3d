//! Tests a sandbox backend. Only Linux has the supervisor that this needs.

use std::path::Path;

use crate::doctor::SandboxTrialResult;
use crate::domain::{SandboxBackendKind, SandboxNetwork};
use crate::launch::run_context::RunContext;
use crate::permissions::RuleSet;
use crate::permissions::sandbox::{HostSandboxDisk, SandboxPolicy};
use crate::platform::environment::{ChildEnvironment, EnvironmentRules};
use crate::platform::process::{HostPrograms, ProcessHost};
use crate::platform::sandbox::{self, SandboxBackend};

/// Runs the escape tests in a sandbox around folders that are made for the test.
pub(super) async fn try_out(
    run_context: &RunContext,
    changeable: &Path,
    backend: &SandboxBackend,
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
    // Prefers the home folder, because a sandbox has its own folders in place of the temporary one.
    let temporary = std::env::temp_dir();
    let base = run_context.user_home.as_deref().unwrap_or(&temporary);
    let network = match network {
        SandboxNetwork::Hosts(_) if backend.method() == SandboxBackendKind::Bubblewrap => {
            network.clone()
        }
        SandboxNetwork::Hosts(_) | SandboxNetwork::Off | SandboxNetwork::On => SandboxNetwork::Off,
    };
    let profile = |dir: &Path, home: &Path, slug_home: &Path| {
        SandboxPolicy::around(dir, Some(home), slug_home, network.clone())
            .and_then(|sandbox| sandbox.profile(&HostSandboxDisk, &RuleSet::new()))
            .map_err(|error| error.to_string())
    };
    let result = sandbox::trial(&host, backend, base, &profile).await;
    host.end_all().await;
    match result {
        Ok(attempts) => {
            let of = |outcome| {
                let matching = attempts.iter().filter(move |it| it.outcome == outcome);
                matching.map(|it| it.what).collect()
            };
            SandboxTrialResult::Ran {
                refused: of(sandbox::EscapeOutcome::Nothing),
                escaped: of(sandbox::EscapeOutcome::Escape),
            }
        }
        Err(why) => SandboxTrialResult::Failed(why),
    }
}
