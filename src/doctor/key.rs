//! Whether there is a key when the server wants one. The key itself is never shown.

use super::DoctorFinding;
use super::endpoint::EndpointProbe;
use crate::config::{ConfigKeySource, EndpointSecurity, ModelServerConfig};

const SUBJECT: &str = "key";

pub(super) fn check(server: &ModelServerConfig, answer: &EndpointProbe) -> DoctorFinding {
    let ModelServerConfig { api_key, withheld_key, endpoint, .. } = server;
    let server = endpoint.value.origin();
    let is_refused = match answer {
        EndpointProbe::Refused { status, .. } => matches!(status, 401 | 403),
        EndpointProbe::Models(_) | EndpointProbe::NoAnswer(_) => false,
    };
    match (api_key, withheld_key) {
        (Some(key), _) if is_refused => DoctorFinding::fail(
            SUBJECT,
            format!("{server} does not accept the key from {}.", key.origin),
            "Check that the key is complete and still valid.",
        ),
        (Some(key), _) if endpoint.value.security() == EndpointSecurity::PlainRemote => {
            DoctorFinding::warn(
                SUBJECT,
                format!("The key from {} would be sent to {server} unencrypted.", key.origin),
                "Use https, or a key that you can afford to lose.",
            )
        }
        (Some(key), _) => match &key.value {
            ConfigKeySource::Value(_) => {
                DoctorFinding::ok(SUBJECT, format!("Set for {server} ({}).", key.origin))
            }
            source @ (ConfigKeySource::Variable(_)
            | ConfigKeySource::Command(_)
            | ConfigKeySource::Keyring(_)) => {
                DoctorFinding::ok(SUBJECT, format!("For {server}, {source} ({}).", key.origin))
            }
        },
        (None, Some(withheld)) if is_refused => DoctorFinding::fail(
            SUBJECT,
            format!(
                "The key from {} belongs to {} and is not sent to {server}, which needs one.",
                withheld.origin, withheld.belongs_to
            ),
            "Set the key and the endpoint in the same place.",
        ),
        (None, None) if is_refused => DoctorFinding::fail(
            SUBJECT,
            format!("{server} needs a key, and there is none."),
            "Set `api_key` in the configuration, or SLUG_API_KEY.",
        ),
        (None, Some(_) | None) => DoctorFinding::ok(
            SUBJECT,
            match answer {
                EndpointProbe::NoAnswer(_) => {
                    "No key is set, and no server answers that may need one."
                }
                EndpointProbe::Models(_) | EndpointProbe::Refused { .. } => {
                    "No key is sent, and the server asked for none."
                }
            },
        ),
    }
}

/// The finding for a key that could not be fetched. `why` is a sentence.
pub(super) fn missing(server: &ModelServerConfig, why: &str) -> DoctorFinding {
    let origin = server.api_key.as_ref().map(|key| key.origin.to_string()).unwrap_or_default();
    DoctorFinding::fail(
        SUBJECT,
        format!("There is no key for {}. {why}", server.endpoint.value.origin()),
        format!("Correct {origin}."),
    )
}
