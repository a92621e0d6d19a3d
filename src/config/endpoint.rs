//! The address of a model server, and which origin a key belongs to.

use std::fmt;

use reqwest::Url;

use super::services::ProtocolService;
use crate::domain::is_this_machine;

/// The base address of chat completions: `http://localhost:8000/v1`.
///
/// It never ends in a slash and never holds a user name, a password, a query or a fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEndpoint {
    text: String,
    origin: ServerOrigin,
    security: EndpointSecurity,
}

/// Scheme, host and port. A key belongs to one origin and is sent to no other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerOrigin(String);

/// How safe the way to the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointSecurity {
    /// The server is on this machine.
    Loopback,
    Encrypted,
    /// Plain http to another machine: whoever is in between can read everything, keys included.
    PlainRemote,
}

/// Why a text is no endpoint. Where the text may hold a password, it is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigEndpointError {
    /// The text is no http or https address.
    #[error("`{0}` is not an address: write it like http://localhost:8000/v1")]
    NotAnAddress(String),
    /// A user name or a password stands before the host.
    #[error("an endpoint cannot contain a user name or a password: set `api_key` for a key")]
    UserInformation,
    #[error("an endpoint cannot contain `?` or `#`: write it like http://localhost:8000/v1")]
    QueryOrFragment,
}

impl ConfigEndpoint {
    /// Reads an address as a user writes it. Where it has no path, `/v1` is added.
    ///
    /// # Errors
    ///
    /// Fails when the text is no http or https address, or holds a user name, a password, a query
    /// or a fragment.
    pub fn parse(text: &str) -> Result<Self, ConfigEndpointError> {
        let text = text.trim();
        let url =
            Url::parse(text).map_err(|_| ConfigEndpointError::NotAnAddress(text.to_owned()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ConfigEndpointError::UserInformation);
        }
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(ConfigEndpointError::NotAnAddress(text.to_owned()));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(ConfigEndpointError::QueryOrFragment);
        }
        let origin = ServerOrigin(url.origin().ascii_serialization());
        let path = match url.path().trim_end_matches('/') {
            "" => "/v1",
            path => path,
        };
        let security = match (url.host_str().is_some_and(is_this_machine), url.scheme()) {
            (true, _) => EndpointSecurity::Loopback,
            (false, "https") => EndpointSecurity::Encrypted,
            (false, _) => EndpointSecurity::PlainRemote,
        };
        Ok(Self { text: format!("{}{path}", origin.0), origin, security })
    }

    /// The address, to which `/chat/completions` and `/models` are appended.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The origin that a key for this endpoint belongs to.
    pub fn origin(&self) -> &ServerOrigin {
        &self.origin
    }

    /// How safe the way to the server is.
    pub fn security(&self) -> EndpointSecurity {
        self.security
    }
}

impl ServerOrigin {
    /// The only origin that the key in the service's variable is sent to.
    pub fn of(service: &ProtocolService) -> Self {
        Self(service.origin.to_owned())
    }

    /// The origin as browsers write it, without a port that the scheme implies:
    /// `https://api.openai.com`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConfigEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for ServerOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_one_way() {
        for (written, meant) in [
            ("http://localhost:8000/v1", "http://localhost:8000/v1"),
            (" http://LOCALHOST:8000/v1/ ", "http://localhost:8000/v1"),
            ("http://localhost:11434", "http://localhost:11434/v1"),
            ("https://api.openai.com:443/v1", "https://api.openai.com/v1"),
            ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
            ("http://[::1]:8080/", "http://[::1]:8080/v1"),
        ] {
            assert_eq!(ConfigEndpoint::parse(written).unwrap().as_str(), meant, "{written}");
        }
    }

    #[test]
    fn texts_that_are_no_endpoint_are_refused() {
        for text in ["", "localhost:8000", "example.org/v1", "ftp://h/v1", "file:///v1", "http://"]
        {
            let refused = ConfigEndpoint::parse(text);
            assert!(
                matches!(refused, Err(ConfigEndpointError::NotAnAddress(_))),
                "{text}: {refused:?}"
            );
        }
        for text in ["http://h/v1?key=1", "http://h/v1#x"] {
            assert_eq!(ConfigEndpoint::parse(text), Err(ConfigEndpointError::QueryOrFragment));
        }
    }

    #[test]
    fn a_password_in_an_address_is_refused_and_not_repeated() {
        let error = ConfigEndpoint::parse("https://me:CANARY@example.org/v1").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("CANARY"));
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (address, security) in [
            ("http://localhost:1/v1", EndpointSecurity::Loopback),
            ("http://127.9.9.9:1/v1", EndpointSecurity::Loopback),
            ("http://[::1]:1/v1", EndpointSecurity::Loopback),
            ("http://[::ffff:127.0.0.1]:1/v1", EndpointSecurity::Loopback),
            ("http://model.localhost/v1", EndpointSecurity::Loopback),
            ("http://0.0.0.0:8000/v1", EndpointSecurity::Loopback),
            ("https://api.openai.com/v1", EndpointSecurity::Encrypted),
            ("http://192.168.1.5:8000/v1", EndpointSecurity::PlainRemote),
            ("http://localhost.evil.example/v1", EndpointSecurity::PlainRemote),
            ("http://127.0.0.1.evil.example/v1", EndpointSecurity::PlainRemote),
        ] {
            assert_eq!(ConfigEndpoint::parse(address).unwrap().security(), security, "{address}");
        }
    }
}
