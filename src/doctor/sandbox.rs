//! Whether what the sandbox refuses is refused: each way out was tried in each kind of sandbox.

use super::Finding;
use crate::domain::{Extent, HostRule, Method, Network};

const SUBJECT: &str = "sandbox";

/// One kind of sandbox, tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Which kind.
    pub method: Method,
    /// What came of it.
    pub tried: Tried,
}

/// What came of trying a kind of sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// It cannot be had here; why, as a phrase.
    Missing(String),
    /// It could not be tried; why, as a phrase.
    Failed(String),
    /// Each way out was taken.
    Ran {
        /// What was refused.
        refused: Vec<&'static str>,
        /// What got through.
        escaped: Vec<&'static str>,
    },
}

pub(super) fn check(trials: &[Trial], network: &Network) -> Vec<Finding> {
    let holds =
        |trial: &Trial| matches!(&trial.tried, Tried::Ran { escaped, .. } if escaped.is_empty());
    let any = trials.iter().any(holds);
    let mut findings: Vec<Finding> = trials.iter().map(|trial| finding(trial, any)).collect();
    if let Network::Hosts(hosts) = network {
        let of_its_own = |trial: &Trial| trial.method == Method::Bubblewrap && holds(trial);
        findings.push(hosts_finding(hosts, trials.iter().any(of_its_own)));
    }
    findings
}

/// Whether a sandbox around the working folder has an end.
pub(super) fn check_extent(extent: Extent) -> Option<Finding> {
    match extent {
        Extent::Whole => None,
        Extent::Part => Some(Finding::warn(
            SUBJECT,
            "This folder holds too much to be looked through before each command: in the deepest \
             of its folders a sandbox does not hold back what takes orders.",
            "Name a smaller folder with --sandbox.",
        )),
    }
}

/// Whether the hosts that are listed can be reached, and no others.
fn hosts_finding(hosts: &[HostRule], can_be: bool) -> Finding {
    let all: Vec<String> = hosts.iter().map(HostRule::to_string).collect();
    let all = all.join(", ");
    match can_be {
        true => {
            Finding::ok(SUBJECT, format!("Commands in bwrap reach {all} by HTTP, and no more."))
        }
        false => Finding::warn(
            SUBJECT,
            format!("`sandbox.hosts` lists {all}, and without bwrap commands reach no network."),
            "Install bubblewrap: only in a network of its own can a command have just one way out.",
        ),
    }
}

fn finding(trial: &Trial, any: bool) -> Finding {
    let Trial { method, tried } = trial;
    match tried {
        Tried::Ran { refused, escaped } if escaped.is_empty() => {
            let all = refused.join(", ");
            Finding::ok(SUBJECT, format!("{method} holds. Tried and refused: {all}."))
        }
        Tried::Ran { escaped, .. } => Finding::fail(
            SUBJECT,
            format!("{method} does not hold. What got through: {}.", escaped.join(", ")),
            "Do not rely on --sandbox with it on this machine; another is chosen with \
             `sandbox.method`.",
        ),
        Tried::Missing(why) if any => {
            Finding::ok(SUBJECT, format!("{method} cannot be had here: {why}."))
        }
        Tried::Missing(why) => Finding::warn(
            SUBJECT,
            format!("{method} cannot be had here: {why}."),
            "Without one slug --sandbox does not start; everything else works.",
        ),
        Tried::Failed(why) => Finding::warn(
            SUBJECT,
            format!("{method} could not be tried: {why}."),
            "Try `slug doctor` again as the user who runs slug.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    fn trial(tried: Tried) -> Trial {
        Trial { method: Method::Bubblewrap, tried }
    }

    #[test]
    fn what_gets_through_is_an_error_and_is_named() {
        let ran = |escaped| Tried::Ran { refused: vec!["a"], escaped };
        let off = Network::Off;
        let held = check(&[trial(ran(Vec::new()))], &off);
        assert_eq!((held[0].state, held[0].text.contains("refused: a.")), (State::Ok, true));
        let escaped = check(&[trial(ran(vec!["a TCP connection"]))], &off);
        assert_eq!(escaped[0].state, State::Fail);
        assert!(escaped[0].text.contains("a TCP connection"), "{:?}", escaped[0]);
    }

    #[test]
    fn s117_what_is_missing_is_said_and_weighs_more_where_nothing_else_holds() {
        let missing = || trial(Tried::Missing("it is not installed".into()));
        let alone = check(&[missing()], &Network::Off);
        assert_eq!(alone[0].state, State::Warn);
        let ran = trial(Tried::Ran { refused: vec!["a"], escaped: Vec::new() });
        let beside = check(&[missing(), ran], &Network::Off);
        assert_eq!(beside[0].state, State::Ok);
        assert!(beside[0].text.contains("it is not installed"), "{:?}", beside[0]);
    }

    #[test]
    fn s90_listed_hosts_need_a_network_of_their_own() {
        let hosts = Network::Hosts(vec!["a.org".parse().unwrap(), "*.b.org".parse().unwrap()]);
        let ran = trial(Tried::Ran { refused: vec!["a"], escaped: Vec::new() });
        let last = |trials: &[Trial]| check(trials, &hosts).pop().unwrap();
        let held = last(std::slice::from_ref(&ran));
        assert_eq!((held.state, held.text.contains("a.org, *.b.org")), (State::Ok, true));
        let without = last(&[Trial { method: Method::Landlock, ..ran }]);
        assert_eq!(without.state, State::Warn);
        assert!(without.text.contains("reach no network"), "{without:?}");
    }
}
