//! The ways out of each kind of sandbox, tried for `slug doctor`.

use std::path::Path;

use crate::doctor::{Trial, Tried};
use crate::domain::{Extent, Method, Network};
use crate::launch::ground::Ground;
use crate::permissions::RuleSet;
use crate::permissions::sandbox::{Disk, Sandbox};
use crate::platform::environment::{ChildEnvironment, EnvironmentRules};
use crate::platform::process::{ProcessHost, Programs};
use crate::platform::sandbox::{self, Means, Unavailable};

/// `network` is what commands are to reach, all of it aside: with that nothing holds them.
pub(super) async fn run(ground: &Ground, network: &Network) -> Vec<Trial> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut trials = Vec::new();
    for method in sandbox::methods() {
        let tried = match sandbox::find(Some(*method), &path, &ground.cwd) {
            Ok(means) => try_out(ground, &means, network).await,
            Err(Unavailable(lacks)) => {
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
    let sandbox = Sandbox::around(&ground.cwd, home, slug_home, Network::Off);
    let surveyed = sandbox.and_then(|sandbox| sandbox.survey(&Disk, &RuleSet::new()));
    surveyed.map_or(Extent::Whole, |(_, extent)| extent)
}

#[cfg(target_os = "linux")]
async fn try_out(ground: &Ground, means: &Means, network: &Network) -> Tried {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let rules = EnvironmentRules::default();
    let environment = ChildEnvironment::from_variables(std::env::vars_os(), &rules);
    let host = Programs::find(&path, &ground.cwd)
        .and_then(|programs| ProcessHost::new(programs, environment));
    let host = match host {
        Ok(host) => host,
        Err(error) => return Tried::Failed(error.to_string()),
    };
    // A sandbox has folders of its own under the system's one for temporary files.
    let temporary = std::env::temp_dir();
    let base = ground.user_home.as_deref().unwrap_or(&temporary);
    let network = match network {
        Network::Hosts(_) if means.method() == Method::Bubblewrap => network.clone(),
        Network::Hosts(_) | Network::Off | Network::On => Network::Off,
    };
    let looking = |dir: &Path, home: &Path, slug_home: &Path| {
        Sandbox::around(dir, Some(home), slug_home, network.clone())
            .and_then(|sandbox| sandbox.view(&Disk, &RuleSet::new()))
            .map_err(|error| error.to_string())
    };
    let tried = sandbox::trial(&host, means, base, &looking).await;
    host.end_all().await;
    match tried {
        Ok(attempts) => {
            let of = |came_to| {
                let those = attempts.iter().filter(move |it| it.came_to == came_to);
                those.map(|it| it.what).collect()
            };
            Tried::Ran {
                refused: of(sandbox::CameTo::Nothing),
                escaped: of(sandbox::CameTo::Escape),
            }
        }
        Err(why) => Tried::Failed(why),
    }
}

#[cfg(not(target_os = "linux"))]
async fn try_out(_ground: &Ground, _means: &Means, _network: &Network) -> Tried {
    Tried::Failed("slug knows how to try it on Linux alone".to_owned())
}
