//! Recognises the output of a command that failed because of its sandbox.

use crate::domain::{SandboxBackendKind, SandboxNetwork, SandboxSummary};

/// The most bytes at the end of the output that are searched.
const LOOKED_AT: usize = 16 << 10;

/// The most characters of a line that are repeated.
const LONGEST: usize = 200;

/// Messages in any sandbox, in lower case.
const DENIAL_PATTERNS: [&str; 4] =
    ["read-only file system", "operation not permitted", "erofs", "outside of the sandbox"];

/// Messages where the network is off or limited, in lower case.
const OF_NETWORK: [&str; 10] = [
    "the sandbox refused",
    "network is unreachable",
    "network unreachable",
    "temporary failure in name resolution",
    "could not resolve host",
    "name or service not known",
    "nodename nor servname",
    "connection refused",
    "eai_again",
    "enetunreach",
];

/// Messages where the kernel refuses files that can still be seen, in lower case.
const OF_REFUSAL: [&str; 2] = ["permission denied", "eacces"];

/// The last line of a failed command's output that suggests the sandbox as the reason; `None` where
/// no line does.
pub fn denial_line(printed: &str, boundary: &SandboxSummary) -> Option<String> {
    let from = printed.ceil_char_boundary(printed.len().saturating_sub(LOOKED_AT));
    let is_denial = |line: &str| {
        let line = line.to_ascii_lowercase();
        let has = |patterns: &[&str]| patterns.iter().any(|pattern| line.contains(pattern));
        has(&DENIAL_PATTERNS)
            || (boundary.network != SandboxNetwork::On && has(&OF_NETWORK))
            || (boundary.backend != SandboxBackendKind::Bubblewrap && has(&OF_REFUSAL))
    };
    let line = printed[from..].lines().rev().find(|line| is_denial(line))?.trim();
    Some(match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use crate::domain::ScanExtent;

    use super::*;

    #[test]
    fn denials_are_told_from_other_failures() {
        let at = |method, network| SandboxSummary {
            backend: method,
            dir: "/w".into(),
            network,
            extent: ScanExtent::Whole,
        };
        let bwrap = at(SandboxBackendKind::Bubblewrap, SandboxNetwork::Off);
        let landlock = at(SandboxBackendKind::Landlock, SandboxNetwork::Off);
        let open = at(SandboxBackendKind::Bubblewrap, SandboxNetwork::On);
        let listed = at(
            SandboxBackendKind::Bubblewrap,
            SandboxNetwork::Hosts(vec!["a.org".parse().unwrap()]),
        );
        let refused = "[the sandbox refused the network to b.org:443. …]";
        let rofs = "touch: cannot touch '/etc/x': Read-only file system";
        let denied = "bash: /etc/x: Permission denied";
        let dns = "curl: (6) Could not resolve host: example.com";
        for (boundary, printed, found) in [
            (&bwrap, rofs, true),
            (&landlock, rofs, true),
            (&bwrap, denied, false),
            (&landlock, denied, true),
            (&bwrap, dns, true),
            (&open, dns, false),
            (&listed, refused, true),
            (&listed, dns, true),
            (&bwrap, "error[E0308]: mismatched types", false),
            (&bwrap, "", false),
        ] {
            let text = format!("one\n{printed}\nlast");
            let mark = denial_line(&text, boundary);
            assert_eq!(mark.as_deref(), found.then_some(printed), "{boundary:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_and_only_the_end_counts() {
        let boundary = SandboxSummary {
            backend: SandboxBackendKind::Bubblewrap,
            dir: "/w".into(),
            network: SandboxNetwork::Off,
            extent: ScanExtent::Whole,
        };
        let line = format!("{} Operation not permitted", "ä".repeat(9));
        assert_eq!(denial_line(&line, &boundary), Some(line.clone()));
        let long = format!("EPERM: Operation not permitted {}", "ä".repeat(500));
        assert_eq!(denial_line(&long, &boundary).unwrap().chars().count(), LONGEST + 1);
        let early = format!("{line}\n{}", "ä".repeat(LOOKED_AT));
        assert_eq!(denial_line(&early, &boundary), None);
    }
}
