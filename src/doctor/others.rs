//! Which other servers could be switched to. They are named, and not asked.

use super::Finding;
use crate::config::Server;

pub(super) fn check(others: &[Server]) -> Option<Finding> {
    let names: Vec<String> = others
        .iter()
        .map(|Server { name, endpoint, .. }| format!("{} at {}", name.value, endpoint.value))
        .collect();
    let text = format!("Can be chosen, too: {}.", names.join(", "));
    (!names.is_empty()).then(|| Finding::ok("providers", text))
}
