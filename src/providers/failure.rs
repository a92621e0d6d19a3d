//! Interprets a server's error response or a broken connection, and decides what to do about it.
//!
//! Servers agree neither on the shape of an error body nor on its status, so both are read
//! leniently, and the text decides first: at least a dozen different sentences under four statuses
//! mean that the conversation is too long. What a server says reaches the user capped, without
//! control characters and never with the key in it.

mod error_body;

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::RequestBuilder;
use reqwest::header::HeaderMap;

use self::error_body::ServerErrorBody;
use super::{ErrorRecovery, ProviderError};
use crate::net::{
    self, FailurePersistence, HttpFailure, HttpTarget, RefusedResponse, TransportError,
};

/// The server and the model that a request goes to, for error messages.
#[derive(Debug, Clone, Default)]
pub struct RequestTarget {
    /// The server.
    pub http: HttpTarget,
    /// The model; empty for requests that name none.
    pub model: String,
    /// How long the server may send only keep-alives; `None` for no limit.
    pub keep_alives: Option<Duration>,
}

impl From<TransportError> for ProviderError {
    fn from(TransportError { message, persistence }: TransportError) -> Self {
        let recovery = match persistence {
            FailurePersistence::Passing => ErrorRecovery::Retry,
            FailurePersistence::NotListening => ErrorRecovery::RetryBriefly,
            FailurePersistence::Lasting => ErrorRecovery::AskUser,
            FailurePersistence::Final => ErrorRecovery::GiveUp,
        };
        Self { message, status: None, recovery }
    }
}

/// A refused request.
#[derive(Debug)]
pub(super) struct ErrorResponse {
    /// The error with its meaning.
    pub(super) error: ProviderError,
    /// The body of the response; empty if there was none.
    pub(super) body: String,
}

impl From<ProviderError> for ErrorResponse {
    fn from(error: ProviderError) -> Self {
        Self { error, body: String::new() }
    }
}

impl From<TransportError> for ErrorResponse {
    fn from(error: TransportError) -> Self {
        ProviderError::from(error).into()
    }
}

impl From<ErrorResponse> for ProviderError {
    fn from(refusal: ErrorResponse) -> Self {
        refusal.error
    }
}

/// The meaning of a request without a response.
pub(super) fn of(site: &RequestTarget, failure: HttpFailure) -> ErrorResponse {
    match failure {
        HttpFailure::Transport(error) => error.into(),
        HttpFailure::Refused(RefusedResponse { status, headers, body }) => {
            let error = of_response(site, status, &headers, &body, Utc::now());
            ErrorResponse { error, body }
        }
    }
}

/// Sends a request with a short response, and returns its text, cut to `limit` bytes.
///
/// # Errors
///
/// Fails if the request does not get through, is refused, or takes more than 15 seconds in all. The
/// error is a sentence with a remedy.
pub async fn fetch(
    request: RequestBuilder,
    site: &RequestTarget,
    limit: usize,
) -> Result<String, ProviderError> {
    let fetched = net::fetch(request, &site.http, limit).await;
    fetched.map_err(|failure| of(site, failure).error)
}

/// The meaning of a response with an error status.
pub fn of_response(
    site: &RequestTarget,
    status: u16,
    headers: &HeaderMap,
    body: &str,
    now: DateTime<Utc>,
) -> ProviderError {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if (300..400).contains(&status) {
        let target = header("location").unwrap_or("another address");
        return ProviderError {
            message: format!(
                "{} redirects to {}. slug does not follow redirects, to protect the key. If the \
                 new address is right, set it as `endpoint` in ~/.slug/config.toml.",
                site.http.server,
                site.http.plain_line(target)
            ),
            status: Some(status),
            recovery: ErrorRecovery::AskUser,
        };
    }
    let mut server_error = ServerErrorBody::read(body, site);
    server_error.status = Some(status);
    let asked = retry_after(headers, now).or(server_error.delay);
    match header("x-should-retry") {
        Some("true") => server_error.meaning_or(site, Some(transient_recovery(asked))),
        Some("false") => server_error.meaning_or(site, Some(ErrorRecovery::GiveUp)),
        Some(_) | None if server_error.is_transient() => {
            server_error.meaning_or(site, Some(transient_recovery(asked)))
        }
        Some(_) | None => server_error.meaning_or(site, None),
    }
}

/// The meaning of an error that came instead of a response, or within one.
pub fn of_stream(site: &RequestTarget, payload: &str) -> ProviderError {
    let server_error = ServerErrorBody::read(payload, site);
    let passing = server_error.is_transient().then_some(transient_recovery(server_error.delay));
    server_error.meaning_or(site, passing)
}

/// The pause that the server asks for. Zero means none: some servers send `retry-after-ms: 0`
/// beside a rounded-up header in seconds.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    let pause = match header("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        Some(milliseconds) => seconds(milliseconds / 1000.0),
        None => {
            let text = header("retry-after")?;
            match text.parse::<f64>() {
                Ok(count) => seconds(count),
                Err(_) => {
                    let date = DateTime::parse_from_rfc2822(text).ok()?;
                    (date.with_timezone(&Utc) - now).to_std().ok()
                }
            }
        }
    };
    pause.filter(|wait| !wait.is_zero())
}

fn transient_recovery(pause: Option<Duration>) -> ErrorRecovery {
    pause.map_or(ErrorRecovery::Retry, ErrorRecovery::RetryAfter)
}

#[cfg(test)]
mod tests;
