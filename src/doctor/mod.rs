//! Checks of the environment, each with a remedy: `slug doctor`.
//!
//! One file a subject. A check looks and reports; it changes nothing. All it needs is handed in
//! with [`DoctorInput`], so that each can be tried with any environment.

mod config;
mod connection;
mod endpoint;
mod file_modes;
mod git;
mod key;
mod model;
mod other_servers;
mod report;
mod sandbox;
mod space;
mod terminal;

use std::path::Path;

use model::CatalogueLookup;
pub use report::{write_json, write_text};
pub use sandbox::{SandboxTrial, SandboxTrialResult};
pub use terminal::DoctorTerminal;

use crate::catalogue::CatalogueCache;
use crate::config::{ConfigError, ResolvedConfig};
use crate::context::GitExecutable;
use crate::domain::{SandboxNetwork, ScanExtent};
use crate::providers::Provider;

/// What is looked at.
#[derive(Clone)]
pub struct DoctorInput<'a> {
    /// The configuration, or what is wrong with it.
    pub config: Result<&'a ResolvedConfig, &'a [ConfigError]>,
    /// The provider made from it; none where the configuration is wrong.
    pub provider: Option<&'a dyn Provider>,
    /// Whether its key could be had; why not is a sentence.
    pub key: Result<(), String>,
    /// What is known of models without asking.
    pub catalogue: &'a CatalogueCache,
    /// slug's home folder.
    pub home: &'a Path,
    /// The working folder.
    pub cwd: &'a Path,
    /// The person's home folder.
    pub user_home: Option<&'a Path>,
    /// The git that slug would use.
    pub git: Option<&'a GitExecutable>,
    /// What the terminal says of itself.
    pub terminal: &'a DoctorTerminal,
    /// The kinds of sandbox that there are, tried.
    pub sandboxes: &'a [SandboxTrial],
    /// What commands in one are to reach.
    pub network: &'a SandboxNetwork,
    /// Whether one around the working folder finds all that it has to hold back.
    pub extent: ScanExtent,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// What was looked at, in a word.
    pub subject: &'static str,
    /// How it is.
    pub state: DoctorStatus,
    /// What was found, in a sentence.
    pub text: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// How something is; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DoctorStatus {
    /// As it should be.
    Ok,
    /// slug works, but not as well as it could.
    Warn,
    /// slug does not work.
    Fail,
}

/// Makes all the checks. Asks the endpoint once, and waits no longer than a few seconds for it.
pub async fn examine(checkup: &DoctorInput<'_>) -> Vec<DoctorFinding> {
    let mut findings = config::check(checkup.config);
    if let (Ok(config), Some(provider)) = (checkup.config, checkup.provider) {
        let answer = endpoint::ask(provider).await;
        findings.push(endpoint::check(&config.server, &answer));
        let known = CatalogueLookup { catalogue: checkup.catalogue, host: provider.host() };
        findings.extend(model::check(&config.server, &answer, known));
        findings.push(match &checkup.key {
            Ok(()) => key::check(&config.server, &answer),
            Err(why) => key::missing(&config.server, why),
        });
    }
    if let Ok(config) = checkup.config {
        findings.extend(connection::check(&config.server, checkup.user_home));
        findings.extend(other_servers::check(&config.others));
    }
    findings.push(git::check(checkup.git, checkup.cwd));
    findings.extend(terminal::check(checkup.terminal));
    findings.extend(file_modes::check(checkup.home, checkup.cwd, checkup.user_home));
    findings.extend(sandbox::check(checkup.sandboxes, checkup.network));
    findings.extend(sandbox::check_extent(checkup.extent));
    findings.push(space::check(checkup.home));
    findings
}

/// The worst of all states: what the exit status tells.
pub fn worst(findings: &[DoctorFinding]) -> DoctorStatus {
    findings.iter().map(|finding| finding.state).max().unwrap_or(DoctorStatus::Ok)
}

impl DoctorFinding {
    fn ok(subject: &'static str, text: impl Into<String>) -> Self {
        Self { subject, state: DoctorStatus::Ok, text: text.into(), remedy: None }
    }

    fn warn(subject: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { subject, state: DoctorStatus::Warn, text: text.into(), remedy: Some(remedy.into()) }
    }

    fn fail(subject: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: DoctorStatus::Fail, ..Self::warn(subject, text, remedy) }
    }
}

#[cfg(test)]
mod tests;
