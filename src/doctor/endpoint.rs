//! Whether a server answers at the endpoint.

use std::time::Duration;

use super::DoctorFinding;
use crate::config::{EndpointSecurity, ModelServerConfig};
use crate::providers::{ModelInfo, Provider, ProviderError};

const SUBJECT: &str = "endpoint";
/// How long `slug doctor` waits for the server.
const TIME_LIMIT: Duration = Duration::from_secs(8);

/// The answer to the request for the models.
#[derive(Debug)]
pub(super) enum EndpointProbe {
    /// The server listed them.
    Models(Vec<ModelInfo>),
    /// The server answered with an error.
    Refused { status: u16, message: String },
    /// No server answered.
    NoAnswer(String),
}

pub(super) async fn ask(provider: &dyn Provider) -> EndpointProbe {
    match tokio::time::timeout(TIME_LIMIT, provider.models()).await {
        Ok(Ok(models)) => EndpointProbe::Models(models),
        Ok(Err(ProviderError { message, status: Some(status), .. })) => {
            EndpointProbe::Refused { status, message }
        }
        Ok(Err(ProviderError { message, status: None, .. })) => EndpointProbe::NoAnswer(message),
        Err(_) => {
            EndpointProbe::NoAnswer(format!("No answer within {} seconds.", TIME_LIMIT.as_secs()))
        }
    }
}

pub(super) fn check(server: &ModelServerConfig, answer: &EndpointProbe) -> DoctorFinding {
    let endpoint = &server.endpoint.value;
    let origin = &server.endpoint.origin;
    match (answer, endpoint.security()) {
        (EndpointProbe::NoAnswer(message), _) => DoctorFinding::fail(
            SUBJECT,
            format!("{endpoint} ({origin}): {message}"),
            "Run slug: /connect finds and sets up a server.",
        ),
        (
            EndpointProbe::Models(_) | EndpointProbe::Refused { .. },
            EndpointSecurity::PlainRemote,
        ) => DoctorFinding::warn(
            SUBJECT,
            format!("{endpoint} ({origin}) answers, but the connection is not encrypted."),
            "Use https, unless you trust the network.",
        ),
        (
            EndpointProbe::Models(_) | EndpointProbe::Refused { .. },
            EndpointSecurity::Loopback | EndpointSecurity::Encrypted,
        ) => DoctorFinding::ok(SUBJECT, format!("{endpoint} ({origin}) answers.")),
    }
}
