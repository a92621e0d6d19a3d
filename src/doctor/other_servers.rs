//! Names the other servers that the user can switch to. No request is sent to them.

use super::DoctorFinding;
use crate::config::ModelServerConfig;

pub(super) fn check(others: &[ModelServerConfig]) -> Option<DoctorFinding> {
    let names: Vec<String> = others
        .iter()
        .map(|ModelServerConfig { name, endpoint, .. }| {
            format!("{} at {}", name.value, endpoint.value)
        })
        .collect();
    let text = format!("You can also choose: {}.", names.join(", "));
    (!names.is_empty()).then(|| DoctorFinding::ok("providers", text))
}
