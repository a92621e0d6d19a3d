//! Checks of the environment, each with a remedy: `slug doctor`.
//!
//! Each file checks one subject. A check only reads and reports; it changes nothing. Everything it
//! needs is in [`DoctorInput`], so that tests can run each check in any environment.

mod config;
mod connection;
mod endpoint;
mod file_modes;
mod git;
mod key;
mod language_servers;
mod local_model;
mod mcp;
mod model;
mod other_servers;
mod package;
mod report;
mod rules;
mod sandbox;
mod space;
mod terminal;

use std::path::Path;

use model::CatalogueLookup;
pub use package::BinaryPlace;
pub use report::{write_json, write_text};
pub use sandbox::{SandboxTrial, SandboxTrialResult};
pub use terminal::DoctorTerminal;

use crate::catalogue::CatalogueCache;
use crate::config::{ConfigError, ResolvedConfig};
use crate::context::GitExecutable;
use crate::domain::{SandboxNetwork, ScanExtent};
use crate::lsp::LspSurveyRow;
use crate::mcp::McpServerStatus;
use crate::permissions::RuleSet;
use crate::providers::Provider;

/// Everything that the checks look at.
#[derive(Clone)]
pub struct DoctorInput<'a> {
    /// The configuration, or what is wrong with it.
    pub config: Result<&'a ResolvedConfig, &'a [ConfigError]>,
    /// The provider of the configured server; `None` when the configuration is wrong.
    pub provider: Option<&'a dyn Provider>,
    /// The model whose server slug runs: what would be started, or why it cannot be; `None` where
    /// another server is asked.
    pub local: Option<Result<String, String>>,
    /// Whether the provider's key could be fetched; the error is a sentence.
    pub key: Result<(), String>,
    /// What is known about models without a request.
    pub catalogue: &'a CatalogueCache,
    /// Where the running binary is; `None` when the system does not say.
    pub binary: Option<BinaryPlace<'a>>,
    /// slug's home folder.
    pub home: &'a Path,
    /// The permission rules that apply in the working folder.
    pub rules: &'a RuleSet,
    /// The working folder.
    pub cwd: &'a Path,
    /// The user's home folder; `None` when there is none.
    pub user_home: Option<&'a Path>,
    /// The git that slug would use; `None` when there is none outside the workspace.
    pub git: Option<&'a GitExecutable>,
    /// The terminal's properties and environment variables.
    pub terminal: &'a DoctorTerminal,
    /// The test results of all sandbox backends.
    pub sandboxes: &'a [SandboxTrial],
    /// What commands in a sandbox may reach on the network.
    pub network: &'a SandboxNetwork,
    /// The MCP servers, once those that may start have started or failed.
    pub mcp_servers: &'a [McpServerStatus],
    /// What is wrong with definitions of MCP servers, as sentences.
    pub mcp_problems: &'a [String],
    /// The language servers for the files of the working folder.
    pub language_servers: &'a [LspSurveyRow],
    /// Whether the user trusts the working folder, so that these may start.
    pub is_trusted: bool,
    /// Whether a sandbox around the working folder finds all paths that it has to protect.
    pub extent: ScanExtent,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoctorFinding {
    /// The subject of the check, in a word.
    pub subject: &'static str,
    pub state: DoctorStatus,
    /// What was found, in a sentence.
    pub text: String,
    /// What to do about it; `None` exactly when the state is `Ok`.
    pub remedy: Option<String>,
}

/// The state of a subject. A worse state is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DoctorStatus {
    /// As it should be.
    Ok,
    /// slug works, but not as well as it could.
    Warn,
    /// slug does not work.
    Fail,
}

/// Runs all checks. Sends one request to the endpoint and waits at most a few seconds for it.
pub async fn examine(input: &DoctorInput<'_>) -> Vec<DoctorFinding> {
    let mut findings = config::check(input.config);
    findings.extend(local_model::check(input.local.as_ref()));
    if let (Ok(config), Some(provider)) = (input.config, input.provider) {
        let answer = endpoint::ask(provider).await;
        findings.push(endpoint::check(&config.server, &answer));
        let known = CatalogueLookup { catalogue: input.catalogue, host: provider.host() };
        findings.extend(model::check(&config.server, &answer, known));
        findings.push(match &input.key {
            Ok(()) => key::check(&config.server, &answer),
            Err(why) => key::missing(&config.server, why),
        });
    }
    if let Ok(config) = input.config {
        findings.extend(connection::check(&config.server, input.user_home));
        findings.extend(other_servers::check(&config.others));
    }
    findings.extend(rules::check(input.rules));
    findings.extend(mcp::check(input.mcp_servers, input.mcp_problems));
    findings.extend(language_servers::check(input.language_servers, input.is_trusted));
    findings.extend(input.binary.map(package::check));
    findings.push(git::check(input.git, input.cwd));
    findings.extend(terminal::check(input.terminal));
    findings.extend(file_modes::check(input.home, input.cwd, input.user_home));
    findings.extend(sandbox::check(input.sandboxes, input.network));
    findings.extend(sandbox::check_extent(input.extent));
    findings.push(space::check(input.home));
    findings
}

/// The worst of all states, which decides the exit status.
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
