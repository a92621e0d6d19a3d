//! Rules on the host of a request: `WebFetch(domain:example.org)`.

use crate::domain::{HostRule, NetworkHost};

/// The name that rules on hosts have, whichever tool asks them.
pub(super) const FETCH_RULE: &str = "WebFetch";
/// What stands before the host in a rule.
const DOMAIN: &str = "domain:";

/// The host that the pattern of a rule names.
///
/// # Errors
///
/// When the pattern names no host; the text says what to write.
pub(super) fn domain_of(pattern: &str) -> Result<HostRule, String> {
    let host = pattern.strip_prefix(DOMAIN).ok_or_else(|| {
        format!("its pattern is a host: write `{FETCH_RULE}({DOMAIN}example.org)`")
    })?;
    host.trim().parse().map_err(|error| format!("`{host}` {error}"))
}

/// The host in a rule on one, for the user.
pub fn domain_in(rule: &str) -> Option<&str> {
    rule.strip_prefix(FETCH_RULE)?.strip_prefix('(')?.strip_prefix(DOMAIN)?.strip_suffix(')')
}

/// The rule on all requests to a host.
pub(super) fn rule_on(host: &NetworkHost) -> String {
    format!("{FETCH_RULE}({DOMAIN}{host})")
}
