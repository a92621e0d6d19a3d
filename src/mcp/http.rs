//! The ways to servers over HTTP: streamable HTTP by the library, HTTP+SSE by `sse`.

use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use rmcp::service::ClientInitializeError;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{AuthClient, AuthError};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};

use crate::net::{HttpClient, HttpEndpoint, PlainHttp};

use super::connection::{MAX_MESSAGE, McpError, unreachable};
use super::login::McpLoginTarget;
use super::sse::{SseTransport, SseTransportError};

/// How often a broken stream of answers is opened again, and the longest pause before that.
const RECONNECTS: usize = 5;
const MAX_RECONNECT_PAUSE: Duration = Duration::from_secs(30);

/// Streamable HTTP to `url`. Nothing is sent yet.
///
/// # Errors
///
/// When the address or a header cannot be used.
pub(super) fn http_transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    http: &HttpClient,
) -> Result<StreamableHttpClientTransport<Client>, McpError> {
    let client = client(url, http)?.clone();
    Ok(StreamableHttpClientTransport::with_client(client, transport_config(url, headers)?))
}

/// The same with the tokens of a login, which are renewed when they run out. Without a login requests go
/// out as they are.
///
/// # Errors
///
/// When the address or a header cannot be used, or the login cannot.
pub(super) async fn login_transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    http: &HttpClient,
    login: &McpLoginTarget,
) -> Result<StreamableHttpClientTransport<AuthClient<Client>>, McpError> {
    let manager =
        login.authorised().await.map_err(|error| McpError::NotStarted(error.to_string()))?;
    let client = AuthClient::new(client(url, http)?.clone(), manager);
    Ok(StreamableHttpClientTransport::with_client(client, transport_config(url, headers)?))
}

fn transport_config(
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransportConfig, McpError> {
    let mut retries = ExponentialBackoff::default();
    retries.max_times = Some(RECONNECTS);
    retries.max_delay = Some(MAX_RECONNECT_PAUSE);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.to_owned())
        .custom_headers(sent_headers(headers)?)
        .max_sse_event_size(MAX_MESSAGE)
        .max_json_response_size(MAX_MESSAGE);
    config.retry_config = Arc::new(retries);
    Ok(config)
}

/// HTTP+SSE to `url`, once its stream is open. The caller bounds the time.
///
/// # Errors
///
/// When the address or a header cannot be used, or there is no such stream.
pub(super) async fn sse_transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    http: &HttpClient,
    login: Option<&McpLoginTarget>,
) -> Result<SseTransport, McpError> {
    let client = client(url, http)?;
    let mut headers = sent_headers(headers)?;
    if let Some(token) = token(login).await? {
        headers.insert(AUTHORIZATION, token);
    }
    let url = Url::parse(url.trim()).map_err(|error| McpError::NotStarted(format!("{error}.")))?;
    let opened = SseTransport::open(client, &url, headers, MAX_MESSAGE).await;
    opened.map_err(|error| match error {
        SseTransportError::NeedsLogin(error) => {
            McpError::NeedsLogin(Some(error.www_authenticate_header))
        }
        SseTransportError::Failed(error) => {
            McpError::NotStarted(format!("{}.", unreachable(&error)))
        }
        other => McpError::NotStarted(format!("It cannot be reached over HTTP+SSE: {other}.")),
    })
}

/// Whether a server that refused streamable HTTP may be one of HTTP+SSE (specification 2025-11-25,
/// basic/transports, "Backwards Compatibility"): it answered, but not to this.
pub(super) fn may_be_older(error: &ClientInitializeError) -> bool {
    match error {
        ClientInitializeError::TransportError { error, .. } => {
            match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
                Some(StreamableHttpError::Client(error)) => {
                    error.status().is_some_and(|status| status.is_client_error())
                }
                Some(
                    StreamableHttpError::UnexpectedServerResponse(_)
                    | StreamableHttpError::UnexpectedContentType(_),
                ) => true,
                Some(_) | None => false,
            }
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => may_be_older(fallback),
        _ => false,
    }
}

/// What goes into the Authorization header of a connection; `None` without a login.
async fn token(login: Option<&McpLoginTarget>) -> Result<Option<HeaderValue>, McpError> {
    let Some(login) = login else { return Ok(None) };
    let not_started = |why: String| McpError::NotStarted(why);
    let manager = login.authorised().await.map_err(|error| not_started(error.to_string()))?;
    match manager.get_access_token().await {
        Ok(token) => {
            let value = HeaderValue::from_str(&format!("Bearer {token}"));
            let mut value = value.map_err(|_| McpError::NeedsLogin(None))?;
            value.set_sensitive(true);
            Ok(Some(value))
        }
        Err(AuthError::AuthorizationRequired) => Ok(None),
        Err(error) => Err(not_started(format!("Its login cannot be used: {error}."))),
    }
}

fn client<'a>(url: &str, http: &'a HttpClient) -> Result<&'a Client, McpError> {
    let wrong = |why: String| McpError::NotStarted(why);
    let endpoint = HttpEndpoint::parse(url, PlainHttp::LoopbackOnly)
        .map_err(|error| wrong(format!("{error}")))?;
    http.client(&endpoint).map_err(|error| wrong(format!("{error}")))
}

fn sent_headers(
    headers: &BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, McpError> {
    let mut sent = HashMap::new();
    for (name, value) in headers {
        let bad = || {
            let why = format!("The header `{name}` cannot be sent. Check it in `headers`.");
            McpError::NotStarted(why)
        };
        let header = HeaderName::from_str(name).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        sent.insert(header, value);
    }
    Ok(sent)
}
