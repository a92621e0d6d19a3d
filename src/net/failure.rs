//! What a failure on the way means: a connection that is refused or breaks, TLS, a proxy, a time
//! limit. Each becomes a sentence with a remedy, without secrets and control characters.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rustls::pki_types::{InvalidDnsNameError, UnixTime};
use secrecy::{ExposeSecret, SecretString};

/// The most characters of a server's own words that are shown.
const SHOWN: usize = 600;

/// Shorter header values are not redacted: they are no secrets and occur in many words.
const SHORTEST_SECRET: usize = 8;

/// The server that a request goes to, with what is sent to it and must not be shown.
#[derive(Debug, Clone, Default)]
pub struct HttpTarget {
    /// The endpoint as the user configured it.
    pub server: String,
    /// The key that is sent, which messages must not show.
    pub key: Option<SecretString>,
    /// The header that carries the key.
    pub key_header: KeyHeader,
    /// The proxy on the way, without credentials; `None` for a direct connection.
    pub proxy: Option<String>,
    /// Other secret header values that messages must not show.
    pub secrets: Arc<[SecretString]>,
}

impl HttpTarget {
    /// `text` on one line, capped, without control characters and without secrets.
    pub(crate) fn plain_line(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(key) = &self.key
            && !key.expose_secret().is_empty()
        {
            text = text.replace(key.expose_secret(), "[the key]");
        }
        for secret in self.secrets.iter().map(ExposeSecret::expose_secret) {
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

/// Why a request did not get through or its response broke off: a sentence with a remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    /// A sentence for the user, with a remedy.
    pub message: String,
    /// Whether sending the request again can help.
    pub persistence: FailurePersistence,
}

/// How long a failure is likely to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePersistence {
    /// The same request may succeed after a pause.
    Passing,
    /// Nothing listens there: the server may be starting, else it has to be started.
    NotListening,
    /// It lasts until the user changes something.
    Lasting,
    /// The request was given up at a limit, and would be again.
    Final,
}

impl TransportError {
    pub(super) fn passing(message: String) -> Self {
        Self { message, persistence: FailurePersistence::Passing }
    }

    pub(super) fn lasting(message: String) -> Self {
        Self { message, persistence: FailurePersistence::Lasting }
    }
}

/// The meaning of a request that did not get through.
pub(super) fn of_transport(target: &HttpTarget, error: &reqwest::Error) -> TransportError {
    let server = &target.server;
    let chain = target.plain_line(&chain(error));
    if causes(error).any(|it| it.is::<InvalidDnsNameError>()) {
        return TransportError::lasting(format!(
            "The host name of {server} is not valid, so no certificate can be for it. \
                 Check `endpoint` in ~/.slug/config.toml."
        ));
    }
    let tls = tls_error(error);
    if let Some(message) = tls.and_then(|tls| lasting_tls_error(tls, target)) {
        return TransportError::lasting(message);
    }
    if !error.is_connect() {
        // The libraries' own words are for the log.
        tracing::info!(chain, "the connection broke");
        let when = match error.is_body() || error.is_decode() {
            true => "before the answer was complete",
            false => "before an answer came",
        };
        return TransportError::passing(format!("The connection to {server} broke {when}."));
    }
    if let Some(proxy) = target.proxy.as_ref().filter(|_| tls.is_none()) {
        return by_proxy(target, proxy, error);
    }
    if error.is_timeout() {
        return TransportError::passing(format!("Cannot reach {server}: no answer within 10 s."));
    }
    if was_refused(error) {
        return TransportError {
            message: format!(
                "No server answers at {server}. Start one, or set `endpoint` in \
                 ~/.slug/config.toml."
            ),
            persistence: FailurePersistence::NotListening,
        };
    }
    if error.is_dns() {
        return TransportError::passing(format!(
            "The host of {server} was not found. Check `endpoint` in ~/.slug/config.toml and \
             the network."
        ));
    }
    TransportError::passing(format!("Cannot reach {server}: {chain}."))
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
fn lasting_tls_error(error: &rustls::Error, target: &HttpTarget) -> Option<String> {
    use rustls::AlertDescription as Alert;
    let server = &target.server;
    let why = target.plain_line(&error.to_string());
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
            "{server} rejects slug's client certificate: {why}. Check `client_certificate` and \
             `client_key` in ~/.slug/config.toml."
        ),
        rustls::Error::PeerIncompatible(_)
        | rustls::Error::AlertReceived(
            Alert::HandshakeFailure
            | Alert::ProtocolVersion
            | Alert::InsufficientSecurity
            | Alert::UnrecognisedName,
        ) => format!(
            "{server} and slug have no encryption in common: {why}. slug supports TLS 1.2 and \
             1.3. Check `endpoint` in ~/.slug/config.toml, and the server."
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
fn by_proxy(target: &HttpTarget, proxy: &str, error: &reqwest::Error) -> TransportError {
    const CHECK: &str = "Check `proxy` in ~/.slug/config.toml, or HTTPS_PROXY and NO_PROXY.";
    let server = &target.server;
    let chain = target.plain_line(&chain(error));
    let (message, persistence) = if chain.contains("authorization required") {
        let message = format!(
            "The proxy {proxy} on the way to {server} requires a name and a password, or \
             rejects those it got. {CHECK}"
        );
        (message, FailurePersistence::Lasting)
    } else if was_refused(error) || chain.contains("underlying connection") {
        let message = format!("No proxy answers at {proxy}, on the way to {server}. {CHECK}");
        (message, FailurePersistence::NotListening)
    } else {
        let message = format!("The proxy {proxy} cannot reach {server}: {chain}. {CHECK}");
        (message, FailurePersistence::Passing)
    };
    TransportError { message, persistence }
}

/// An error with all its causes, without URLs, which may hold secrets.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
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
    if parts.is_empty() { "no reason given".to_owned() } else { parts.join(": ") }
}

pub(super) fn was_refused(error: &reqwest::Error) -> bool {
    let refused = |io: &io::Error| io.kind() == io::ErrorKind::ConnectionRefused;
    causes(error).filter_map(|it| it.downcast_ref()).any(refused)
}

/// An error and all its causes.
pub(super) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_certificate_error_gets_its_own_advice() {
        use rustls::CertificateError as Wrong;
        let day = |days: u64| UnixTime::since_unix_epoch(Duration::from_secs(days * 86_400));
        let expired = Wrong::ExpiredContext { time: day(20_000), not_after: day(19_000) };
        let early = Wrong::NotValidYetContext { time: day(10), not_before: day(19_000) };
        let target = HttpTarget { server: "https://h".to_owned(), ..HttpTarget::default() };
        for (error, parts, is_about_authority) in [
            (
                rustls::Error::InvalidCertificate(expired),
                vec!["has expired since 2022-01-08", "clock says 2024-10-04", "renew"],
                false,
            ),
            (
                rustls::Error::InvalidCertificate(Wrong::Expired),
                vec!["has expired.", "renew"],
                false,
            ),
            (
                rustls::Error::InvalidCertificate(early),
                vec!["not valid yet before 2022-01-08", "clock says 1970-01-11"],
                false,
            ),
            (rustls::Error::InvalidCertificate(Wrong::UnknownIssuer), vec!["`ca_file`"], true),
            (
                rustls::Error::InvalidCertificate(Wrong::NotValidForName),
                vec!["another name"],
                false,
            ),
            (rustls::Error::InvalidCertificate(Wrong::Revoked), vec!["revoked"], false),
            (
                rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired),
                vec!["`client_certificate`"],
                false,
            ),
            (
                rustls::Error::AlertReceived(rustls::AlertDescription::ProtocolVersion),
                vec!["TLS 1.2 and 1.3"],
                false,
            ),
        ] {
            let message = lasting_tls_error(&error, &target).unwrap();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
            assert!(message.contains("https://h"), "{message}");
            assert_eq!(message.contains("ca_file"), is_about_authority, "{message}");
        }
        let passing = rustls::Error::AlertReceived(rustls::AlertDescription::InternalError);
        assert_eq!(lasting_tls_error(&passing, &target), None);
    }
}
