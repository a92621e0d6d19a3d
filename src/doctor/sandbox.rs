//! Whether the sandbox holds. The escape tests of each backend have run before; this reports them.

use super::DoctorFinding;
use crate::domain::{HostRule, SandboxBackendKind, SandboxNetwork, ScanExtent, pluralise};

const SUBJECT: &str = "sandbox";

/// The test result of one sandbox backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxTrial {
    pub method: SandboxBackendKind,
    pub tried: SandboxTrialResult,
}

/// How the test of a sandbox backend ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxTrialResult {
    /// The backend is not available here. Holds the reason, as a phrase.
    Missing(String),
    /// The test could not run. Holds the reason, as a phrase.
    Failed(String),
    /// All escape tests ran.
    Ran {
        /// The attempts that the sandbox stopped, as phrases.
        refused: Vec<&'static str>,
        /// The attempts that succeeded, as phrases.
        escaped: Vec<&'static str>,
    },
}

pub(super) fn check(trials: &[SandboxTrial], network: &SandboxNetwork) -> Vec<DoctorFinding> {
    let holds = |trial: &SandboxTrial| matches!(&trial.tried, SandboxTrialResult::Ran { escaped, .. } if escaped.is_empty());
    let any = trials.iter().any(holds);
    let mut findings: Vec<DoctorFinding> = trials.iter().map(|trial| finding(trial, any)).collect();
    if let SandboxNetwork::Hosts(hosts) = network {
        let of_its_own =
            |trial: &SandboxTrial| trial.method == SandboxBackendKind::Bubblewrap && holds(trial);
        findings.push(hosts_finding(hosts, trials.iter().any(of_its_own)));
    }
    findings
}

/// Warns when a sandbox around the working folder cannot check all of it.
pub(super) fn check_extent(extent: ScanExtent) -> Option<DoctorFinding> {
    match extent {
        ScanExtent::Whole => None,
        ScanExtent::Part => Some(DoctorFinding::warn(
            SUBJECT,
            "This folder has too many files to check before each command: in its deepest \
             folders the sandbox does not protect files that configure programs.",
            "Use a smaller folder with --sandbox.",
        )),
    }
}

/// Whether commands can reach exactly the hosts of `sandbox.hosts`.
fn hosts_finding(hosts: &[HostRule], can_be: bool) -> DoctorFinding {
    let all: Vec<String> = hosts.iter().map(HostRule::to_string).collect();
    let all = all.join(", ");
    match can_be {
        true => {
            DoctorFinding::ok(SUBJECT, format!("Commands in bwrap can reach only {all}, by HTTP."))
        }
        false => DoctorFinding::warn(
            SUBJECT,
            format!("`sandbox.hosts` lists {all}, but without bwrap commands reach no network."),
            "Install bubblewrap: it gives a command a network of its own with a single way out.",
        ),
    }
}

fn finding(trial: &SandboxTrial, any: bool) -> DoctorFinding {
    let SandboxTrial { method, tried } = trial;
    match tried {
        SandboxTrialResult::Ran { refused, escaped } if escaped.is_empty() => {
            let count = pluralise(refused.len() as u64, "attempt");
            DoctorFinding::ok(SUBJECT, format!("{method} works: it refused {count} to break out."))
        }
        SandboxTrialResult::Ran { escaped, .. } => DoctorFinding::fail(
            SUBJECT,
            format!("{method} does not work. Not refused: {}.", escaped.join(", ")),
            "Do not rely on it on this machine; choose another with `sandbox.method`.",
        ),
        SandboxTrialResult::Missing(why) if any => {
            DoctorFinding::ok(SUBJECT, format!("{method} is not available: {why}."))
        }
        SandboxTrialResult::Missing(why) => DoctorFinding::warn(
            SUBJECT,
            format!("{method} is not available: {why}."),
            "Without a sandbox, slug --sandbox does not start; everything else works.",
        ),
        SandboxTrialResult::Failed(why) => DoctorFinding::warn(
            SUBJECT,
            format!("{method} could not be tested: {why}."),
            "Run `slug doctor` again as the user who runs slug.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::DoctorStatus;

    fn trial(tried: SandboxTrialResult) -> SandboxTrial {
        SandboxTrial { method: SandboxBackendKind::Bubblewrap, tried }
    }

    #[test]
    fn an_escape_is_an_error_and_is_named() {
        let ran = |escaped| SandboxTrialResult::Ran { refused: vec!["a"], escaped };
        let off = SandboxNetwork::Off;
        let held = check(&[trial(ran(Vec::new()))], &off);
        assert_eq!(held[0].state, DoctorStatus::Ok);
        assert_eq!(held[0].text, "bwrap works: it refused 1 attempt to break out.");
        let escaped = check(&[trial(ran(vec!["a TCP connection"]))], &off);
        assert_eq!(escaped[0].state, DoctorStatus::Fail);
        assert!(escaped[0].text.contains("a TCP connection"), "{:?}", escaped[0]);
    }

    #[test]
    fn s117_a_missing_backend_is_a_warning_only_when_no_other_holds() {
        let missing = || trial(SandboxTrialResult::Missing("it is not installed".into()));
        let alone = check(&[missing()], &SandboxNetwork::Off);
        assert_eq!(alone[0].state, DoctorStatus::Warn);
        let ran = trial(SandboxTrialResult::Ran { refused: vec!["a"], escaped: Vec::new() });
        let beside = check(&[missing(), ran], &SandboxNetwork::Off);
        assert_eq!(beside[0].state, DoctorStatus::Ok);
        assert!(beside[0].text.contains("it is not installed"), "{:?}", beside[0]);
    }

    #[test]
    fn s90_listed_hosts_need_a_network_of_their_own() {
        let hosts =
            SandboxNetwork::Hosts(vec!["a.org".parse().unwrap(), "*.b.org".parse().unwrap()]);
        let ran = trial(SandboxTrialResult::Ran { refused: vec!["a"], escaped: Vec::new() });
        let last = |trials: &[SandboxTrial]| check(trials, &hosts).pop().unwrap();
        let held = last(std::slice::from_ref(&ran));
        assert_eq!((held.state, held.text.contains("a.org, *.b.org")), (DoctorStatus::Ok, true));
        let without = last(&[SandboxTrial { method: SandboxBackendKind::Landlock, ..ran }]);
        assert_eq!(without.state, DoctorStatus::Warn);
        assert!(without.text.contains("commands reach no network"), "{without:?}");
    }
}
