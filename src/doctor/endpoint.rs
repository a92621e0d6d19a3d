//! Whether a server answers at the endpoint.

use std::time::Duration;

use super::Finding;
use crate::config::{EndpointSecurity, ModelServerConfig};
use crate::providers::{ModelInfo, Provider, ProviderError};

const SUBJECT: &str = "endpoint";
const TIME_LIMIT: Duration = Duration::from_secs(8);

/// What came of asking for the models.
#[derive(Debug)]
pub(super) enum Answer {
    /// These.
    Models(Vec<ModelInfo>),
    /// The server answered with an error.
    Refused { status: u16, message: String },
    /// No server answered.
    Silence(String),
}

pub(super) async fn ask(provider: &dyn Provider) -> Answer {
    match tokio::time::timeout(TIME_LIMIT, provider.models()).await {
        Ok(Ok(models)) => Answer::Models(models),
        Ok(Err(ProviderError { message, status: Some(status), .. })) => {
            Answer::Refused { status, message }
        }
        Ok(Err(ProviderError { message, status: None, .. })) => Answer::Silence(message),
        Err(_) => Answer::Silence(format!("No answer within {} seconds.", TIME_LIMIT.as_secs())),
    }
}

pub(super) fn check(server: &ModelServerConfig, answer: &Answer) -> Finding {
    let endpoint = &server.endpoint.value;
    let origin = &server.endpoint.origin;
    match (answer, endpoint.security()) {
        (Answer::Silence(message), _) => Finding::fail(
            SUBJECT,
            format!("{endpoint} ({origin}): {message}"),
            "Start the server, or set `endpoint` in the configuration.",
        ),
        (Answer::Models(_) | Answer::Refused { .. }, EndpointSecurity::PlainRemote) => {
            Finding::warn(
                SUBJECT,
                format!("{endpoint} ({origin}) answers, and can be overheard on the way."),
                "Use https, unless you trust the network in between.",
            )
        }
        (
            Answer::Models(_) | Answer::Refused { .. },
            EndpointSecurity::Loopback | EndpointSecurity::Encrypted,
        ) => Finding::ok(SUBJECT, format!("{endpoint} ({origin}) answers.")),
    }
}
