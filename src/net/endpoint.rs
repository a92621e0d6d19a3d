//! The address of a model server: its machine, and the addresses below and beside it.

use std::fmt;

use reqwest::Url;

use crate::domain::is_this_machine;

/// The base address of a model server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpEndpoint {
    url: Url,
    local: bool,
}

/// Where requests over plain http may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainHttp {
    /// To this machine only.
    LoopbackOnly,
    /// Also to this endpoint's origin, because the user agreed to it.
    Allowed,
}

/// Why an address cannot be used as an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpEndpointError {
    /// The text is not an http or https address.
    #[error("`{text}` is not a server address. Example: http://localhost:8000/v1.")]
    Malformed {
        /// The text that was given.
        text: String,
    },
    /// The address contains a name and password.
    #[error(
        "the address of {host} has a password in it. Give the key as `api_key` in \
         ~/.slug/config.toml or in SLUG_API_KEY instead."
    )]
    Password {
        /// The host of the address; the credentials are not repeated.
        host: String,
    },
    /// The address is plain http to another machine, and the user has not agreed.
    #[error(
        "plain http to {origin} would let anyone on the network read the key and the code. Use \
         https, or allow this origin when slug asks."
    )]
    PlainHttp {
        /// The scheme, host and port of the address.
        origin: String,
    },
}

impl HttpEndpoint {
    /// Parses an address as the user wrote it; a trailing slash makes no difference.
    ///
    /// # Errors
    ///
    /// Fails if the text is not an http or https address, contains a password, or is plain http to
    /// another machine without the user's consent. The error is a sentence with a remedy.
    pub fn parse(text: &str, plain: PlainHttp) -> Result<Self, HttpEndpointError> {
        let malformed = || HttpEndpointError::Malformed { text: text.to_owned() };
        let url = Url::parse(text.trim().trim_end_matches('/')).map_err(|_| malformed())?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if host.is_empty() || !matches!(url.scheme(), "http" | "https") {
            return Err(malformed());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(HttpEndpointError::Password { host });
        }
        let local = is_this_machine(&host);
        if url.scheme() == "http" && !local && plain == PlainHttp::LoopbackOnly {
            return Err(HttpEndpointError::PlainHttp {
                origin: url.origin().ascii_serialization(),
            });
        }
        Ok(Self { url, local })
    }

    /// Whether the server runs on this machine.
    pub fn is_local(&self) -> bool {
        self.local
    }

    /// The host name, without a port.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Scheme, host and port: the scope of a key.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// The address of a path below the endpoint.
    pub fn join(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{path}", self.url.path().trim_end_matches('/')));
        url
    }

    /// The address of a path beside the endpoint's `/v1`.
    pub fn beside(&self, path: &str) -> Url {
        let base = self.url.path().trim_end_matches('/');
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{path}", base.strip_suffix("/v1").unwrap_or(base)));
        url.set_query(None);
        url
    }

    /// The address of a path below the endpoint, in which `version` replaces `/v1`, for protocols
    /// with other version names.
    pub fn in_version(&self, version: &str, path: &str) -> Url {
        match self.url.path().trim_end_matches('/') {
            "" => self.join(&format!("{version}/{path}")),
            base if base.ends_with("/v1") => self.beside(&format!("{version}/{path}")),
            _ => self.join(path),
        }
    }
}

impl fmt::Display for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str().trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<HttpEndpoint, HttpEndpointError> {
        HttpEndpoint::parse(text, PlainHttp::LoopbackOnly)
    }

    #[test]
    fn this_machine_is_known_by_all_its_names() {
        let table = [
            ("http://localhost:8000/v1", true),
            ("http://127.0.0.1:8000/v1", true),
            ("http://127.9.9.9/v1", true),
            ("http://[::1]:8000/v1", true),
            ("http://0.0.0.0:8000/v1", true),
            ("http://model.localhost/v1", true),
            ("https://localhost.example.com/v1", false),
            ("https://api.example.com/v1", false),
        ];
        for (text, local) in table {
            assert_eq!(parse(text).map(|endpoint| endpoint.is_local()), Ok(local), "{text}");
        }
    }

    #[test]
    fn plain_http_leaves_the_machine_only_when_allowed() {
        let text = "http://gpu.lan:8000/v1";
        assert_eq!(
            parse(text),
            Err(HttpEndpointError::PlainHttp { origin: "http://gpu.lan:8000".into() })
        );
        assert!(HttpEndpoint::parse(text, PlainHttp::Allowed).is_ok_and(|there| !there.is_local()));
    }

    #[test]
    fn an_invalid_address_is_refused_with_a_remedy() {
        for text in ["localhost:8000/v1", "", "ftp://a/b", "/v1", "http://"] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().contains("http://localhost:8000/v1"), "{text}: {error}");
        }
        let error = parse("https://me:secret@host/v1").unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn addresses_below_and_beside_the_endpoint() {
        let endpoint = parse("http://localhost:8080/v1/").unwrap();
        assert_eq!(endpoint.to_string(), "http://localhost:8080/v1");
        assert_eq!(endpoint.join("models").as_str(), "http://localhost:8080/v1/models");
        assert_eq!(endpoint.beside("props").as_str(), "http://localhost:8080/props");
        let bare = parse("http://localhost:8080").unwrap();
        for (text, expected) in [
            ("https://a.example", "https://a.example/v1beta/models"),
            ("https://a.example/v1", "https://a.example/v1beta/models"),
            ("https://a.example/v1beta", "https://a.example/v1beta/models"),
            ("https://a.example/v1/google", "https://a.example/v1/google/models"),
        ] {
            assert_eq!(parse(text).unwrap().in_version("v1beta", "models").as_str(), expected);
        }
        assert_eq!(bare.join("models").as_str(), "http://localhost:8080/models");
        let query = parse("https://a.example/openai/v1?api-version=1").unwrap();
        assert_eq!(
            query.join("chat/completions").as_str(),
            "https://a.example/openai/v1/chat/completions?api-version=1"
        );
    }
}
