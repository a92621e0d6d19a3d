//! Interprets a server's error response or a broken connection, and decides what to do about it.
//!
//! Servers agree neither on the shape of an error body nor on its status, so both are read
//! leniently, and the text decides first: at least a dozen different sentences under four statuses
//! mean that the conversation is too long. What a server says reaches the user capped, without
//! control characters and never with the key in it.

mod error_body;

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::HeaderMap;
use rustls::pki_types::{InvalidDnsNameError, UnixTime};
use secrecy::{ExposeSecret, SecretString};

use self::error_body::ServerErrorBody;
use super::{ErrorRecovery, ProviderError};

/// The most characters of a server's own words that are shown.
const SHOWN: usize = 600;

/// Shorter header values are not redacted: they are no secrets and occur in many words.
const SHORTEST_SECRET: usize = 8;

/// The server that a request goes to, for error messages.
#[derive(Debug, Clone, Default)]
pub struct RequestTarget {
    /// The endpoint as the user configured it.
    pub server: String,
    /// The model; empty for requests that name none.
    pub model: String,
    /// The key that is sent, which messages must not show.
    pub key: Option<SecretString>,
    /// The header that carries the key.
    pub key_header: KeyHeader,
    /// The proxy on the way, without credentials; `None` for a direct connection.
    pub proxy: Option<String>,
    /// Other secret header values that messages must not show.
    pub secrets: Arc<[SecretString]>,
    /// How long the server may send only keep-alives; `None` for no limit.
    pub keep_alives: Option<Duration>,
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

impl From<ErrorResponse> for ProviderError {
    fn from(refusal: ErrorResponse) -> Self {
        refusal.error
    }
}

/// The header that carries a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer`
    #[default]
    Bearer,
    /// A header with this name, which holds the key alone.
    Named(Cow<'static, str>),
}

impl KeyHeader {
    /// The header with this name. `Authorization` puts the word `Bearer` before the key.
    pub fn named(name: impl Into<Cow<'static, str>>) -> Self {
        let name = name.into();
        if name.eq_ignore_ascii_case("authorization") { Self::Bearer } else { Self::Named(name) }
    }
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
        return user_action_error(
            Some(status),
            format!(
                "{} redirects to {}, which slug does not follow, for the key's sake. If that is \
                 right, set `endpoint` in ~/.slug/config.toml to it.",
                site.server,
                plain(target, site)
            ),
        );
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

/// The meaning of an error that came instead of an answer, or within one.
pub fn of_stream(site: &RequestTarget, payload: &str) -> ProviderError {
    let server_error = ServerErrorBody::read(payload, site);
    let passing = server_error.is_transient().then_some(transient_recovery(server_error.delay));
    server_error.meaning_or(site, passing)
}

/// The meaning of a request that did not get through.
pub fn of_transport(site: &RequestTarget, error: &reqwest::Error) -> ProviderError {
    let server = &site.server;
    let chain = plain(&chain(error), site);
    let retry = |message| ProviderError { message, status: None, recovery: ErrorRecovery::Retry };
    if causes(error).any(|it| it.is::<InvalidDnsNameError>()) {
        return user_action_error(
            None,
            format!(
                "No certificate can be for the host of {server}: its name is too long, or is none. \
                 Check `endpoint` in ~/.slug/config.toml."
            ),
        );
    }
    let tls = tls_error(error);
    if let Some(message) = tls.and_then(|tls| lasting_tls_error(tls, site)) {
        return user_action_error(None, message);
    }
    if !error.is_connect() {
        return retry(format!("The connection to {server} broke: {chain}."));
    }
    if let Some(proxy) = site.proxy.as_ref().filter(|_| tls.is_none()) {
        return by_proxy(site, proxy, error);
    }
    if error.is_timeout() {
        return retry(format!("{server} cannot be reached: no answer within 10 s."));
    }
    if was_refused(error) {
        return ProviderError {
            message: format!(
                "No server answers at {server}. Start one, or set `endpoint` in \
                 ~/.slug/config.toml."
            ),
            status: None,
            recovery: ErrorRecovery::RetryBriefly,
        };
    }
    if error.is_dns() {
        return retry(format!(
            "The host of {server} cannot be found. Check `endpoint` in ~/.slug/config.toml and \
             the network."
        ));
    }
    retry(format!("{server} cannot be reached: {chain}."))
}

/// The TLS error behind a failed request, if there is one.
fn tls_error(error: &reqwest::Error) -> Option<&rustls::Error> {
    causes(error).find_map(within)
}

/// `source()` skips an error that is wrapped in an I/O error, at any depth.
fn within<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    match error.downcast_ref::<io::Error>() {
        Some(io) => within(io.get_ref()?),
        None => error.downcast_ref(),
    }
}

/// The message for a TLS failure that another try does not fix; `None` for any other failure.
fn lasting_tls_error(error: &rustls::Error, site: &RequestTarget) -> Option<String> {
    use rustls::AlertDescription as Alert;
    let server = &site.server;
    let why = plain(&error.to_string(), site);
    Some(match error {
        rustls::Error::InvalidCertificate(wrong) => bad_certificate(wrong, &why, server),
        rustls::Error::InvalidMessage(_) => format!(
            "{server} does not answer in TLS: {why}. If it speaks plain HTTP, write `http://` in \
             `endpoint` in ~/.slug/config.toml."
        ),
        rustls::Error::AlertReceived(
            Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied,
        ) => format!(
            "{server} wants another certificate from slug: {why}. Check `client_certificate` and \
             `client_key` in ~/.slug/config.toml."
        ),
        rustls::Error::PeerIncompatible(_)
        | rustls::Error::AlertReceived(
            Alert::HandshakeFailure
            | Alert::ProtocolVersion
            | Alert::InsufficientSecurity
            | Alert::UnrecognisedName,
        ) => format!(
            "{server} and slug agree on no encryption: {why}. slug speaks TLS 1.2 and 1.3. Check \
             `endpoint` in ~/.slug/config.toml, and the server."
        ),
        _ => return None,
    })
}

fn bad_certificate(wrong: &rustls::CertificateError, why: &str, server: &str) -> String {
    use rustls::CertificateError as Wrong;
    match wrong {
        Wrong::Expired | Wrong::ExpiredContext { .. } => {
            let (since, clock) = match wrong {
                Wrong::ExpiredContext { time, not_after } => {
                    (format!(" since {}", date(*not_after)), clock(*time))
                }
                _ => (String::new(), String::new()),
            };
            format!(
                "The certificate of {server} has expired{since}{clock}. If this machine's clock \
                 is right, whoever runs the server has to renew it."
            )
        }
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
            let (until, clock) = match wrong {
                Wrong::NotValidYetContext { time, not_before } => {
                    (format!(" before {}", date(*not_before)), clock(*time))
                }
                _ => (String::new(), String::new()),
            };
            format!(
                "The certificate of {server} is not valid yet{until}{clock}. Check this machine's \
                 clock. If it is right, whoever runs the server has to replace the certificate."
            )
        }
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => format!(
            "The certificate of {server} is for another name: {why}. Check the host of `endpoint` \
             in ~/.slug/config.toml."
        ),
        Wrong::Revoked => format!(
            "The certificate of {server} has been revoked. Whoever runs the server has to replace \
             it."
        ),
        _ => format!(
            "The certificate of {server} is not trusted: {why}. Add its authority to the system's \
             certificates, or name its file as `ca_file` in ~/.slug/config.toml."
        ),
    }
}

fn clock(time: UnixTime) -> String {
    format!(", and this machine's clock says {}", date(time))
}

fn date(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or_default();
    let date = DateTime::<Utc>::from_timestamp(seconds, 0).unwrap_or_default();
    date.format("%Y-%m-%d").to_string()
}

/// The meaning of a request that did not get through its proxy.
fn by_proxy(site: &RequestTarget, proxy: &str, error: &reqwest::Error) -> ProviderError {
    const CHECK: &str = "Check `proxy` in ~/.slug/config.toml, or HTTPS_PROXY and NO_PROXY.";
    let server = &site.server;
    let chain = plain(&chain(error), site);
    let (message, recovery) = if chain.contains("authorization required") {
        let message = format!(
            "The proxy {proxy}, on the way to {server}, wants a name and a password, or refuses \
             those it got. {CHECK}"
        );
        (message, ErrorRecovery::AskUser)
    } else if was_refused(error) || chain.contains("underlying connection") {
        let message = format!("No proxy answers at {proxy}, on the way to {server}. {CHECK}");
        (message, ErrorRecovery::RetryBriefly)
    } else {
        let message = format!("The proxy {proxy} does not lead to {server}: {chain}. {CHECK}");
        (message, ErrorRecovery::Retry)
    };
    ProviderError { message, status: None, recovery }
}

/// An error with all its causes, without URLs, which may hold secrets.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    for error in causes(error) {
        let text = match error.downcast_ref::<reqwest::Error>() {
            Some(outer) if outer.is_builder() => "the client cannot be built".to_owned(),
            Some(_) => String::new(),
            None => error.to_string(),
        };
        if !text.is_empty() && !parts.iter().any(|part| part.contains(&text)) {
            parts.push(text);
        }
    }
    if parts.is_empty() { "no reason is given".to_owned() } else { parts.join(": ") }
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

fn user_action_error(status: Option<u16>, message: String) -> ProviderError {
    ProviderError { message, status, recovery: ErrorRecovery::AskUser }
}

fn was_refused(error: &reqwest::Error) -> bool {
    let refused = |io: &io::Error| io.kind() == io::ErrorKind::ConnectionRefused;
    causes(error).filter_map(|it| it.downcast_ref()).any(refused)
}

/// An error and all its causes.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// `text` on one line, capped, without control characters and without secrets.
fn plain(text: &str, site: &RequestTarget) -> String {
    let mut text = text.to_owned();
    if let Some(key) = &site.key
        && !key.expose_secret().is_empty()
    {
        text = text.replace(key.expose_secret(), "[the key]");
    }
    for secret in site.secrets.iter().map(ExposeSecret::expose_secret) {
        if secret.len() >= SHORTEST_SECRET {
            text = text.replace(secret, "[hidden]");
        }
    }
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let mut line = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    match line.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
