//! Decides a request for an address, by its host: `WebFetch(domain:example.org)`.
//!
//! A rule names a host, its subdomains (`*.example.org`), or an address. This machine and private
//! networks are refused in every mode unless an allow rule names that very host: no rule on all hosts,
//! no mode and no answer opens them. Where a name leads is only known when it is resolved, so that the
//! fetching side refuses private addresses once more.

use crate::domain::{PermissionOutcome, RuleKind, WebAddress};

use super::check::{DecisionContext, PartVerdict};
use super::domain_rule::rule_on;

impl DecisionContext<'_> {
    /// Decides a request for an address.
    pub(super) fn fetch(&self, url: &str) -> PartVerdict {
        let address = match WebAddress::parse(url) {
            Ok(address) => address,
            Err(error) => {
                let reason = format!("This address {error}.");
                return PartVerdict::new(url, PermissionOutcome::Deny, reason);
            }
        };
        let (host, port, text) = (address.host(), address.port(), address.to_string());
        let rule = |kind| self.rules.on_host(kind, |rule| rule.covers(host, port));
        if let Some(rule) = rule(RuleKind::Deny) {
            return PartVerdict::denied_by(text, rule);
        }
        let is_private = address.is_private();
        let opening = self.rules.on_host(RuleKind::Allow, |rule| rule.names(host, port));
        if is_private && (opening.is_none() || !address.is_definite()) {
            let remedy = match address.is_definite() {
                true => format!("`{}` in the user's settings", rule_on(host)),
                false => "send its address in place of the name, once a rule names that".to_owned(),
            };
            let reason = format!(
                "{host} is this machine or in a private network, which slug fetches from only by a \
                 rule that names the address: {remedy}."
            );
            return PartVerdict::new(text, PermissionOutcome::Deny, reason);
        }
        if let Some(rule) = rule(RuleKind::Ask) {
            return PartVerdict::asked_by(text, rule).refusable(Some(rule_on(host)));
        }
        if let Some(rule) = rule(RuleKind::Allow) {
            return PartVerdict::allowed_by(text, rule);
        }
        let verdict = self.beyond_sight(text, true, format!("Asks the server {host}."));
        match verdict.outcome {
            PermissionOutcome::Ask => {
                verdict.offering(rule_on(host)).refusable(Some(rule_on(host)))
            }
            PermissionOutcome::Allow | PermissionOutcome::Deny => verdict,
        }
    }
}
